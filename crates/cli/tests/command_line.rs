//! Errors on the command line have one line; nothing that the program prints controls the terminal; a full or closed
//! output is no crash.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use firstflight_scenario::Profile;

use crate::common::Scratch;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_firstflight"))
}

/// Runs `arguments`, and expects exit code 2 and exactly this line.
fn refused(arguments: &[&str], line: &str) {
    let scratch = Scratch::new();
    let run = scratch.run(arguments);
    assert_eq!((run.code, &*run.out), (2, ""), "{arguments:?}: {run:?}");
    assert_eq!(run.err, format!("error: {line}\n"), "{arguments:?}");
}

#[test]
fn an_unknown_command_or_option_is_refused_with_the_nearest_name() {
    let commands = "one of: compare, capture, connections, identify, effect, run, sweep, lab, gateway, reproduce, league, log, algorithms, presets, doctor, sender, conform, schema, completions, manual, help";
    refused(
        &["comprae"],
        &format!("comprae: no such command; expected {commands}; did you mean \"compare\"?"),
    );
    refused(
        &["--verson"],
        "--verson: no such option; expected one of: --help, --version; did you mean \"--version\"?",
    );
    refused(&["-x"], "-x: no such option; expected one of: --help, --version");
    let log = "one of: --window, --network, --network6, --format, --pages, --json, --help";
    let near = format!("--widnow: no such option; expected {log}; did you mean \"--window\"?");
    refused(&["log", "a.log", "--widnow", "3 s"], &near);
    refused(&["log", "a.log", "--widnow=3 s"], &near);
    refused(&["log", "a.log", "-z"], &format!("-z: no such option; expected {log}"));
}

#[test]
fn doctor_names_a_remedy_for_what_does_not_work_here() {
    let run = Scratch::new().run(&["doctor", "--json"]);
    assert_eq!((run.code, &*run.err), (0, ""));
    let found: serde_json::Value = serde_json::from_str(&run.out).expect("one JSON object");
    let checks = found["checks"].as_array().expect("a list");
    let names: Vec<&str> = checks.iter().filter_map(|check| check["command"].as_str()).collect();
    assert!(names.len() == checks.len() && names.contains(&"compare, run, reproduce"), "{names:?}");
    for check in checks {
        assert!(check["found"].as_str().is_some_and(|text| !text.is_empty()), "{check}");
        assert_eq!(check["ok"].as_bool().expect("yes or no"), check["remedy"].is_null(), "{check}");
    }
    // Python is in no folder of root's programs.
    let bare = program().args(["doctor", "--json"]).env("PATH", "").output().expect("the program runs");
    let bare: serde_json::Value = serde_json::from_slice(&bare.stdout).expect("one JSON object");
    let python =
        bare["checks"].as_array().expect("a list").iter().find(|it| it["command"] == "Python package");
    assert_eq!(
        python.map(|it| (&it["ok"], &it["remedy"])),
        Some((&serde_json::json!(false), &serde_json::json!("install Python 3.10 or later")))
    );
}

#[test]
fn values_that_an_option_does_not_take_are_refused_with_what_it_takes() {
    let runs =
        |value| format!("--runs \"{value}\": not a valid value; expected a whole number from 1 to 100000");
    for value in ["0", "x", "-1", "1e3", "100001", "99999999999999999999999999", "+1", " 1", "\u{663}"] {
        refused(&["run", "a.toml", "--runs", value], &runs(value));
    }
    refused(
        &["run", "a.toml", "--seed=-1"],
        "--seed \"-1\": not a valid value; expected a whole number from 0 to 9223372036854775807",
    );
    refused(
        &["log", "x", "--network", "33"],
        "--network \"33\": not a valid value; expected a whole number from 0 to 32",
    );
    refused(
        &["reproduce", "--replications", "1"],
        "--replications \"1\": not a valid value; expected a whole number from 2 to 10000",
    );
    refused(
        &["completions", "bahs"],
        "SHELL \"bahs\": no such value; expected one of: bash, elvish, fish, powershell, zsh; did you mean \"bash\"?",
    );
    refused(&["compare", "cable", "--rate"], "--rate: the value is missing; expected --rate <RATE>");
    refused(&["compare", "cable", "--json=3"], "--json \"3\": the option takes no value; expected --json");
    let long = "9".repeat(5000);
    refused(&["run", "a.toml", "--runs", &long], &runs(&format!("{}… (5000 characters)", "9".repeat(61))));
    let size = format!(
        "--size \"{}… (5002 characters): the unit is missing; expected sizes such as 30KB,300KB,3MB",
        "9".repeat(60)
    );
    refused(&["compare", "cable", "--size", &long], &size);
}

#[test]
fn every_profile_is_named_where_one_is_chosen() {
    let help = |arguments: &[&str]| {
        let output = program().args(arguments).output().expect("the program runs");
        String::from_utf8(output.stdout).expect("UTF-8").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let all = ": rfc, ns2, linux, quinn, quiche, quiche-pmtud, quic-go, s2n-quic, ngtcp2, aioquic, picoquic, nginx-1.26, nginx-1.30, haproxy-3.0 or haproxy-3.4";
    assert!(help(&["compare", "--help"]).contains(all));
    assert!(help(&["sender", "--help"]).contains(": rfc, ns2 or linux"));
    let schema = help(&["schema", "grid"]);
    for profile in Profile::WORDS {
        assert!(schema.contains(&format!("\"{profile}\"")), "{profile}: grids");
    }
}

#[test]
fn missing_repeated_and_conflicting_arguments_are_refused() {
    refused(&["run"], "SCENARIO: missing; expected firstflight run [OPTIONS] <SCENARIO>");
    refused(&["run", "a", "b"], "b: one argument too many; expected firstflight run [OPTIONS] <SCENARIO>");
    refused(&["identify"], "CAPTURE: missing; expected firstflight identify [OPTIONS] <CAPTURE>...");
    refused(&["completions"], "SHELL: missing; expected firstflight completions <SHELL>");
    refused(&["run", "a", "--seed", "1", "--seed", "2"], "--seed: given twice; expected one --seed");
    refused(&["presets", "cable", "--json"], "NAME: cannot be combined with --json; expected one of the two");
    refused(
        &["reproduce", "--results", "x", "--quick"],
        "--results: cannot be combined with --quick; expected one of the two",
    );
}

#[test]
fn an_argument_that_is_not_utf_8_is_refused_by_name() {
    let output =
        program().args([OsStr::new("presets"), OsStr::from_bytes(b"ca\xffble")]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stderr).expect("UTF-8"),
        "error: ca\u{fffd}ble: the argument is not UTF-8; expected UTF-8\n"
    );
}

#[test]
fn help_and_version_go_to_standard_output() {
    let scratch = Scratch::new();
    for arguments in [
        &["--help"][..],
        &["-h"],
        &["--version"],
        &["run", "--help"],
        &["compare", "-h"],
        &["help"],
        &["help", "run"],
    ] {
        let run = scratch.run(arguments);
        assert_eq!((run.code, &*run.err), (0, ""), "{arguments:?}");
        assert!(!run.out.is_empty(), "{arguments:?}");
    }
    let bare = scratch.run(&[]);
    assert_eq!((bare.code, &*bare.out), (2, ""));
    assert!(bare.err.contains("Usage: firstflight <COMMAND>"), "{}", bare.err);
}

/// Erases the screen, rings, reorders and ends the line, by C0, C1 and bidirectional characters; then plain text.
const HOSTILE: &str =
    "a\u{1b}[2J\u{7}\u{9b}31m\u{85}\u{202e}\u{2066}\u{61c}\u{2028}\r\nWrote it.\u{7f} Café ❤️ हिन्दी";

/// Fails if `text` has a character that controls a terminal or reorders a line, apart from line breaks.
fn assert_harmless(text: &str) {
    let bidirectional = |c: char| {
        "\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}".contains(c)
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || ('\u{2066}'..='\u{2069}').contains(&c)
    };
    let wrong = text.chars().find(|&c| (c.is_control() && c != '\n') || bidirectional(c));
    assert_eq!(wrong, None, "{text:?}");
    assert!(!text.lines().any(|line| line.starts_with("Wrote it.")), "{text:?}");
}

#[test]
fn hostile_names_are_printed_escaped_and_ordinary_ones_unchanged() {
    let name: String = HOSTILE
        .chars()
        .flat_map(|c| match c.is_control() {
            true => format!("\\u{:04x}", u32::from(c)).chars().collect::<Vec<_>>(),
            false => vec![c],
        })
        .collect();
    let scenario = format!(
        "title = \"{name}\"\nduration = \"1 s\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"10 ms\"\nbuffer = \"9 packets\"\n\
         [[flow]]\nsize = \"3 KB\"\n"
    );
    let scratch = Scratch::new();
    scratch.write("s.toml", &scenario);
    let run = scratch.run(&["run", "s.toml"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_harmless(&run.out);
    assert!(
        run.out.contains("a\\u{1b}[2J\\u{7}\\u{9b}31m") && run.out.contains("Café ❤️ हिन्दी"),
        "{}",
        run.out
    );
    let several = scratch.run(&["run", "s.toml", "--runs", "2"]);
    assert_eq!(several.code, 0);
    assert_harmless(&several.out);
    let folder = HOSTILE.replace('/', "");
    for arguments in [
        &["run", "s.toml"][..],
        &["compare", "cable", "--runs", "2", "--size", "3KB", "--startup", "slow-start"],
    ] {
        let written = scratch.run(&[arguments, &["--out", &folder]].concat());
        assert_eq!(written.code, 0, "{written:?}");
        assert_harmless(&written.out);
        assert!(written.out.contains("Wrote a\\u{1b}[2J"), "{}", written.out);
    }
}

#[test]
fn hostile_arguments_are_escaped_in_errors() {
    let scratch = Scratch::new();
    scratch.write(&format!("{HOSTILE}.toml"), "[path]\nrat = 1\n");
    let file = format!("{HOSTILE}.toml");
    let option = format!("--{HOSTILE}");
    for arguments in [
        &["run", HOSTILE][..],
        &["run", &file],
        &["compare", HOSTILE],
        &["compare", "cable", "--rate", HOSTILE],
        &["compare", "cable", "--size", HOSTILE],
        &["compare", "cable", "--scheme", HOSTILE],
        &["compare", "cable", &option],
        &["compare", "cable", HOSTILE],
        &["run", "x", "--runs", HOSTILE],
        &["run", "x", "--grid", HOSTILE],
        &["completions", HOSTILE],
        &["presets", HOSTILE],
        &["log", HOSTILE],
        &["log", HOSTILE, "--window", HOSTILE],
        &["reproduce", HOSTILE],
        &["reproduce", "--papers", HOSTILE],
        &["reproduce", "--results", HOSTILE],
        &["sender", "--profile", HOSTILE],
        &["sweep", HOSTILE],
        &["sweep", HOSTILE, "--dispatch", HOSTILE],
        &[HOSTILE],
    ] {
        let run = scratch.run(arguments);
        assert_eq!((run.code, &*run.out), (2, ""), "{arguments:?}");
        assert!(run.err.starts_with("error: ") && run.err.lines().count() == 1, "{arguments:?}: {}", run.err);
        assert_harmless(&run.err);
    }
}

fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").expect("the full device").into()
}

fn assert_code(status: ExitStatus, code: i32, what: &str) {
    assert_eq!((status.signal(), status.code()), (None, Some(code)), "{what}");
}

#[test]
fn a_full_standard_error_keeps_the_exit_code() {
    let scratch = Scratch::new();
    scratch.write("bad.toml", "[path\n");
    scratch.write("out/runs.jsonl", "damaged\n");
    for (arguments, code) in [
        (&["run", "bad.toml"][..], 2),
        (&["--rtae"], 2),
        (&[], 2),
        (&["presets"], 0),
        // Its store is damaged, which gives a warning.
        (&["reproduce", "YN-32", "--out", "out"], 0),
    ] {
        let status = program()
            .args(arguments)
            .current_dir(scratch.path())
            .stderr(full())
            .stdout(Stdio::null())
            .status();
        assert_code(status.expect("it runs"), code, &format!("{arguments:?}"));
    }
}

#[test]
fn a_full_standard_output_is_an_error() {
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["run", "--help"],
        &["completions", "bash"],
        &["presets"],
        &["schema"],
    ] {
        let output = program().args(arguments).stdout(full()).output().expect("it runs");
        assert_code(output.status, 2, &format!("{arguments:?}"));
        let message = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(message.starts_with("error: cannot write to standard output: "), "{arguments:?}: {message}");
        let both = program().args(arguments).stdout(full()).stderr(full()).status().expect("it runs");
        assert_code(both, 2, &format!("{arguments:?}"));
    }
}

#[test]
fn a_closed_standard_output_is_success() {
    for arguments in [&["--help"][..], &["--version"], &["completions", "bash"], &["presets"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = program().args(arguments).stdout(writer).output().expect("it runs");
        assert_code(output.status, 0, &format!("{arguments:?}"));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn an_output_folder_may_have_a_name_that_is_not_utf_8() {
    let scratch = Scratch::new();
    let out = scratch.path().join(OsStr::from_bytes(b"o\xff"));
    let output = program().args(["reproduce", "YN-32", "--out"]).arg(&out).output().expect("it runs");
    assert_code(output.status, 0, &String::from_utf8_lossy(&output.stderr));
    assert!(out.join("runs.jsonl").exists());
}

#[test]
fn lines_of_the_sender_are_utf_8_and_not_longer_than_a_mebibyte() {
    let scratch = Scratch::new();
    let open = r#"{"at_us":0,"do":"established","mss":1000,"window":65535}"#;
    let advance = r#"{"at_us":0,"do":"advance"}"#;
    let padded = |bytes: usize| format!("{open}\n{advance}{}\n", " ".repeat(bytes - advance.len()));
    let whole = scratch.run_with(&["sender"], &padded(1 << 20));
    assert_eq!((whole.code, whole.out.lines().count()), (0, 2), "{whole:?}");
    let refused = |input: &[u8], line: &str| {
        scratch.write("input", input);
        let input = std::fs::File::open(scratch.path().join("input")).expect("just written");
        let output = program().arg("sender").stdin(input).output().expect("it runs");
        assert_code(output.status, 2, line);
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("error: {line}\n"));
    };
    let long = "standard input:2: the line is longer than 1048576 bytes; expected one event on each line";
    refused(padded((1 << 20) + 1).as_bytes(), long);
    refused(format!("{open}\n{}", "x".repeat(5 << 20)).as_bytes(), long);
    let text = [open.as_bytes(), b"\n\xff\n"].concat();
    refused(&text, "standard input:2: not UTF-8; expected one JSON object on each line");
    let twice = format!("{open}\n{{\"at_us\":0,\"do\":\"advance\",\"at_us\":5}}\n");
    refused(twice.as_bytes(), "standard input:2:27: at_us: given twice; expected each key once");
    // The last line needs no line break.
    assert_eq!(scratch.run_with(&["sender"], &format!("{open}\n{advance}")).out.lines().count(), 2);
}

#[test]
fn quantities_of_options_are_quoted_and_their_nearest_unit_comes_last() {
    let units = "only ns, us, ms, s, min";
    refused(
        &["log", "x", "--window", "5 mn"],
        &format!(
            "--window \"5 mn\": there is no unit \"mn\" here, {units}; expected a time above zero, such as \"5 min\"; did you mean \"5 min\"?"
        ),
    );
    let scratch = Scratch::new();
    scratch.write(
        "s.toml",
        "[path]\nrate = \"1 Mbit/s\"\nrtt = \"10 ms\"\nbuffer = \"9 packets\"\n[[flow]]\nsize = \"3 KB\"\n",
    );
    let run = scratch.run(&["run", "s.toml", "--grid", "1 msec"]);
    assert!(
        run.err.contains("expected a time above zero, such as \"100 ms\"; did you mean \"1 ms\"?"),
        "{}",
        run.err
    );
    refused(
        &["sender", "--mss", ""],
        "--mss \"\": not a number with a unit; expected bytes from 16 to 65483, such as 16 or \"1000 B\"",
    );
    let long = "x".repeat(5000);
    let run = scratch.run(&["reproduce", &long]);
    let place = format!("error: ID \"{}… (5000 characters)\": neither a paper nor a line", "x".repeat(61));
    assert!(run.code == 2 && run.err.starts_with(&place), "{}", run.err);
}

#[test]
fn examples_of_manual_pages_keep_their_lines() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manual");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let output = program().arg("manual").arg(&folder).output().expect("the program runs");
    assert_code(output.status, 0, &String::from_utf8_lossy(&output.stderr));
    let pages: Vec<_> = std::fs::read_dir(&folder).expect("a folder").flatten().collect();
    assert!(pages.len() > 20, "{}", pages.len());
    for page in pages {
        let text = std::fs::read_to_string(page.path()).expect("a page");
        let Some((_, extra)) = text.split_once(".SH EXTRA\n") else { continue };
        let section = extra.split("\n.SH ").next().expect("the section");
        assert!(
            section.starts_with(".nf\n") && section.trim_end().ends_with("\n.fi"),
            "{:?}",
            page.file_name()
        );
        assert_eq!(section.matches("\n.fi").count(), 1, "{:?}", page.file_name());
    }
}

#[test]
fn the_threads_of_a_run_are_shown_with_their_times() {
    let scratch = Scratch::new();
    scratch.write(
        "s.toml",
        "duration = \"1 s\"\n[path]\nrate = \"10 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"1 BDP\"\n[[flow]]\n",
    );
    let plain = scratch.run(&["run", "s.toml"]);
    let timed = scratch.run(&["run", "s.toml", "--timings"]);
    assert_eq!((plain.code, timed.code), (0, 0), "{timed:?}");
    assert!(timed.out.contains("\nOne thread had the whole run.\n"), "{}", timed.out);
    let last = timed.out.lines().last().expect("a row");
    assert!(last.trim_start().starts_with('1') && last.ends_with(" 0.000 s"), "{last}");
    // The tables are the same, up to the line with the time.
    let tables = |text: &str| text.split("\nSimulated").next().map(String::from);
    assert_eq!(tables(&plain.out), tables(&timed.out));
    for other in [&["--json"][..], &["--runs", "2"], &["--out", "o"], &["--trace"]] {
        let run = scratch.run(&[&["run", "s.toml", "--timings"], other].concat());
        assert_eq!((run.code, &*run.out), (2, ""), "{run:?}");
        assert!(run.err.contains("--timings: cannot be combined with"), "{}", run.err);
    }
}
