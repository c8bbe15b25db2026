//! A C compiler lays out the types of the C header as Rust does.

use std::fmt::Write as _;
use std::mem::{offset_of, size_of};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Load, Lost, Nanos, Plan, Rate, Sent, StartupExit, Step, Trigger,
    Why,
};

/// Size, offset and name of a struct's fields.
struct Layout {
    c_name: &'static str,
    size: usize,
    align: usize,
    /// Bytes of padding, all at the end.
    padding: usize,
    fields: Vec<(&'static str, usize, usize)>,
}

/// The layout of a struct in Rust. A field that is missing in the list does not compile.
macro_rules! layout {
    ($type:ident as $c_name:literal, padding $padding:literal: $($field:ident),+) => {{
        fn sizes($type { $($field),+ }: &$type) -> Vec<usize> {
            vec![$(size_of_val($field)),+]
        }
        let value = example::<$type>();
        let names = [$(stringify!($field)),+];
        let offsets = [$(offset_of!($type, $field)),+];
        let fields = names.into_iter().zip(offsets).zip(sizes(&value));
        Layout {
            c_name: concat!("struct ", $c_name),
            size: size_of::<$type>(),
            align: align_of::<$type>(),
            padding: $padding,
            fields: fields.map(|((name, offset), size)| (name, offset, size)).collect(),
        }
    }};
}

trait Example {
    fn example() -> Self;
}

fn example<T: Example>() -> T {
    T::example()
}

macro_rules! default_is_example {
    ($($type:ident),+) => {
        $(impl Example for $type {
            fn example() -> Self {
                Self::default()
            }
        })+
    };
}

default_is_example!(Ack, Sent, Lost, Congestion, Entry, Plan, Control);

impl Example for StartupExit {
    fn example() -> Self {
        Self { at: Nanos::ZERO, cwnd: 0, reason: Exit::Loss }
    }
}

fn layouts() -> Vec<Layout> {
    vec![
        layout!(Ack as "ff_ack", padding 0:
            now, rtt, min_rtt, srtt, acked, growth, delivered, sent, lost, retransmitted, in_flight, pipe, ce, rate,
            prior_delivered, prior_lost, prior_in_flight, granted, feedback, load, round, flags, mss),
        layout!(Sent as "ff_sent", padding 4: now, bytes, mss),
        layout!(Lost as "ff_lost", padding 0:
            now, bytes, number, delivered, lost, prior_delivered, prior_lost, prior_in_flight, flags, mss),
        layout!(Congestion as "ff_congestion", padding 0: now, in_flight, base, lost, min_rtt, trigger, mss),
        layout!(Entry as "ff_entry", padding 0:
            now, rtt, in_flight, flow_size, receive_window, window, plan, granted, mss, why),
        layout!(Plan as "ff_plan", padding 0: cwnd, ssthresh, rtt, age, samples),
        layout!(Control as "ff_control", padding 6: cwnd, ssthresh, pacing, ask, burst, droppable, provisional),
        layout!(StartupExit as "ff_startup_exit", padding 4: at, cwnd, reason),
    ]
}

/// Constants of the header with their values in Rust.
fn constants() -> Vec<(String, u64)> {
    fn name(prefix: &str, variant: &impl std::fmt::Debug) -> String {
        let mut name = format!("FF_{prefix}");
        for letter in format!("{variant:?}").chars() {
            name.extend(letter.is_uppercase().then_some('_'));
            name.push(letter.to_ascii_uppercase());
        }
        name
    }
    let mut all: Vec<(String, u64)> = [
        ("FF_ACK_ROUND_START", Ack::ROUND_START.into()),
        ("FF_ACK_APP_LIMITED", Ack::APP_LIMITED.into()),
        ("FF_ACK_RECOVERY", Ack::RECOVERY.into()),
        ("FF_ACK_RATE_LIMITED", Ack::RATE_LIMITED.into()),
        ("FF_ACK_MAYBE_DELAYED", Ack::MAYBE_DELAYED.into()),
        ("FF_LOST_RATE_LIMITED", Lost::RATE_LIMITED.into()),
        ("FF_NANOS_NEVER", Nanos::NEVER.0),
        ("FF_NANOS_ZERO", Nanos::ZERO.0),
        ("FF_RATE_NONE", Rate::NONE.0),
        ("FF_STEP_STAY", 0),
        ("FF_STEP_OVER", 1),
        ("FF_STEP_EXIT", 2),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    all.extend(Exit::ALL.iter().map(|exit| (name("EXIT", exit), *exit as u64)));
    all.extend(
        [Load::Unknown, Load::Low, Load::High, Load::Over].map(|load| (name("LOAD", &load), load as u64)),
    );
    all.extend([Trigger::Loss, Trigger::Mark, Trigger::Timeout].map(|t| (name("TRIGGER", &t), t as u64)));
    let causes = [Why::Connect, Why::Handover, Why::Idle, Why::Migrate, Why::Timeout];
    all.extend(causes.map(|why| (name("WHY", &why), why as u64)));
    all
}

/// The layout of every type and the value of every constant, one per line, as Rust has them.
fn in_rust() -> String {
    let mut text = String::new();
    for layout in layouts() {
        writeln!(text, "{} {} {}", layout.c_name, layout.size, layout.align).unwrap();
        for (field, offset, size) in layout.fields {
            writeln!(text, "{}.{field} {offset} {size}", layout.c_name).unwrap();
        }
    }
    // The payload of a variant of `Step` lies behind its tag.
    writeln!(text, "struct ff_step {} {}", size_of::<Step>(), align_of::<Step>()).unwrap();
    for field in ["tag", "over", "exit"] {
        let offset = if field == "tag" { 0 } else { size_of::<u32>() };
        writeln!(text, "struct ff_step.{field} {offset} {}", size_of::<u32>()).unwrap();
    }
    for (name, value) in constants() {
        writeln!(text, "{name} {value}").unwrap();
    }
    text
}

/// A C program that prints the same lines.
fn program() -> String {
    let mut lines = String::new();
    for line in in_rust().lines() {
        let name =
            line.split(' ').take(1 + usize::from(line.starts_with("struct"))).collect::<Vec<_>>().join(" ");
        if let Some((of, field)) = name.split_once('.') {
            let (offset, size) =
                (format!("offsetof({of}, {field})"), format!("sizeof((({of} *)0)->{field})"));
            writeln!(lines, "    printf(\"{name} %zu %zu\\n\", {offset}, {size});").unwrap();
        } else if name.starts_with("struct") {
            writeln!(lines, "    printf(\"{name} %zu %zu\\n\", sizeof({name}), _Alignof({name}));").unwrap();
        } else {
            writeln!(lines, "    printf(\"{name} %llu\\n\", (unsigned long long){name});").unwrap();
        }
    }
    format!(
        "#include <stddef.h>\n#include <stdio.h>\n#include \"firstflight.h\"\n\nint main(void) {{\n{lines}    return 0;\n}}\n"
    )
}

#[test]
fn padding_is_at_the_end_of_a_struct_and_as_documented() {
    for layout in layouts() {
        let mut end = 0;
        for (field, offset, size) in &layout.fields {
            assert_eq!(*offset, end, "padding before {}.{field}", layout.c_name);
            end += size;
        }
        assert_eq!(layout.size - end, layout.padding, "{}", layout.c_name);
    }
}

#[test]
fn a_step_is_its_tag_and_its_reason() {
    let words = |step: Step| {
        // SAFETY: both variants with a payload are two `u32` without padding.
        unsafe { std::mem::transmute::<Step, [u32; 2]>(step) }
    };
    for exit in Exit::ALL {
        assert_eq!(words(Step::Over(exit)), [1, exit as u32]);
        assert_eq!(words(Step::Exit(exit)), [2, exit as u32]);
    }
}

#[test]
fn a_c_compiler_lays_out_every_type_as_rust_does() {
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    if Command::new(&compiler).arg("--version").output().is_err() {
        firstflight_skip::skip(format_args!("there is no C compiler {}", compiler.display()));
        return;
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (source, binary) = (folder.join("layout.c"), folder.join("layout"));
    fs::write(&source, program()).unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    for standard in ["c11", "gnu17"] {
        let compiled = Command::new(&compiler)
            .args([&format!("-std={standard}"), "-Wall", "-Wextra", "-Werror", "-I"])
            .args([&include, &source])
            .arg("-o")
            .arg(&binary)
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let output = Command::new(&binary).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), in_rust(), "{standard}");
    }
}
