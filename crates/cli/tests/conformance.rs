//! The `linux` profile against the kernel: `firstflight sender` answers the scripts of `tests/conformance/`, and every
//! answer must be the one that a Linux kernel gave to the same line (`docs/conformance.md`).

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::Scratch;
use serde_json::Value;

/// Registers that are compared at every line, beside the segments sent.
const FIELDS: [&str; 8] = ["cwnd", "ssthresh", "state", "unacked", "sacked", "lost", "retrans", "in_flight"];
/// The kernel's clock ticks: a timer counts whole ticks, rounded up, and is seen to in the tick after.
const TICK_US: u64 = 4000;
/// Greatest lateness of an event of a script.
const LATE_US: u64 = 3000;

/// A script and the kernel's answers.
struct Case {
    name: String,
    options: Vec<String>,
    lines: Vec<Value>,
    kernel: Vec<Value>,
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let entries =
        fs::read_dir(folder).expect("the folder of scripts").map(|entry| entry.expect("an entry").path());
    let mut scripts: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "script")).collect();
    scripts.sort();
    scripts
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

impl Case {
    fn read(path: &Path) -> Self {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let script = fs::read_to_string(path).expect("a script");
        let recording = path.with_extension("kernel");
        let recording = fs::read_to_string(&recording).unwrap_or_else(|error| panic!("{name}: {error}"));
        let options = script.lines().find_map(|line| line.strip_prefix("# options:")).expect("options");
        Self {
            options: options.split_whitespace().map(str::to_owned).collect(),
            lines: script.lines().filter(|line| !line.starts_with('#')).map(parse).collect(),
            // The first line is the provenance of the recording.
            kernel: recording.lines().skip(1).map(parse).collect(),
            name,
        }
    }

    /// The answers of `firstflight sender`.
    fn ours(&self) -> Vec<Value> {
        let mut arguments = vec!["sender", "--profile", "linux"];
        arguments.extend(self.options.iter().map(String::as_str));
        let input: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        let run = Scratch::new().run_with(&arguments, &input);
        assert_eq!((run.code, &*run.err), (0, ""), "{}", self.name);
        run.out.lines().map(parse).collect()
    }

    /// A row for each difference between `ours` and the kernel's answers.
    fn differences(&self, ours: &[Value]) -> String {
        let mut rows = String::new();
        assert_eq!((self.lines.len(), ours.len()), (self.kernel.len(), self.kernel.len()), "{}", self.name);
        for (number, (line, (kernel, ours))) in
            self.lines.iter().zip(self.kernel.iter().zip(ours)).enumerate()
        {
            let armed = self.lines[..number].iter().rev().find(|line| line["do"] != "advance").map_or(0, at);
            for (field, kernel, ours) in differences(armed, kernel, ours) {
                let (name, at) = (&self.name, at(line) as f64 / 1000.0);
                let _ =
                    writeln!(rows, "{name:<24} {:>3} {at:>8.1} {field:<9} {kernel:<28} {ours}", number + 1);
            }
        }
        rows
    }
}

fn at(line: &Value) -> u64 {
    line["at_us"].as_u64().expect("a time")
}

/// Field, the kernel's value, ours; `armed` is when something happened last, before.
fn differences(armed: u64, kernel: &Value, ours: &Value) -> Vec<(&'static str, String, String)> {
    let mut found = vec![];
    for field in FIELDS {
        // The kernel's windows are whole; ours may carry a fraction of growth.
        let value = |answer: &Value| match &answer["info"][field] {
            Value::Number(number) => number.as_f64().expect("a number").floor().to_string(),
            other => other.to_string(),
        };
        let [kernel, ours] = [kernel, ours].map(value);
        if kernel != ours {
            found.push((field, kernel, ours));
        }
    }
    let segments = |answer: &Value| -> Vec<Value> { answer["sent"].as_array().expect("a list").clone() };
    let [kernel, ours] = [kernel, ours].map(segments);
    let which = |sent: &[Value]| sent.iter().map(segment).collect::<Vec<_>>().join(" ");
    if which(&kernel) != which(&ours) {
        found.push(("sent", which(&kernel), which(&ours)));
    } else if let Some((kernel, ours)) =
        kernel.iter().zip(&ours).find(|(kernel, ours)| !near(armed, kernel, ours))
    {
        found.push(("at_us", at(kernel).to_string(), at(ours).to_string()));
    }
    found
}

/// First byte and length, with an R where it was sent before.
fn segment(sent: &Value) -> String {
    let again = if sent["retransmit"] == Value::Bool(true) { "R" } else { "" };
    format!("{again}{}+{}", sent["seq"], sent["len"])
}

/// Whether the kernel sent when we did: as late as its timers may be. They never fire early, and the timer wheel lets
/// a long one wait for an eighth of its time more.
fn near(armed: u64, kernel: &Value, ours: &Value) -> bool {
    let [kernel, ours] = [kernel, ours].map(at);
    let waited = ours.saturating_sub(armed);
    (ours.saturating_sub(LATE_US)..=ours + LATE_US + 2 * TICK_US + waited / 8).contains(&kernel)
}

#[test]
fn the_linux_profile_answers_every_script_as_the_kernel_did() {
    let scripts = scripts();
    assert!(scripts.len() >= 89, "{} scripts", scripts.len());
    let (mut rows, mut apart) = (String::new(), 0);
    for path in &scripts {
        let case = Case::read(path);
        let differences = case.differences(&case.ours());
        apart += usize::from(!differences.is_empty());
        rows += &differences;
    }
    let head = "script                  line       ms field     kernel                       ours";
    assert!(rows.is_empty(), "{apart} of {} scripts differ\n{head}\n{rows}", scripts.len());
}

#[test]
fn every_way_to_differ_is_seen() {
    let answer = |cwnd: f64, at: u64, again: bool| {
        serde_json::json!({ "sent": [{ "at_us": at, "seq": 1, "len": 1000, "retransmit": again }],
            "info": { "cwnd": cwnd, "ssthresh": null, "state": "open", "unacked": 1, "sacked": 0, "lost": 0,
                "retrans": 0, "in_flight": 1 } })
    };
    let fields = |kernel: &Value, ours: &Value| -> Vec<&str> {
        differences(100_000, kernel, ours).into_iter().map(|(field, ..)| field).collect()
    };
    let kernel = answer(10.0, 400_000, false);
    assert_eq!(fields(&kernel, &answer(10.9, 400_000, false)), [""; 0], "a fraction of growth");
    assert_eq!(fields(&kernel, &answer(11.0, 400_000, false)), ["cwnd"]);
    assert_eq!(fields(&kernel, &answer(10.0, 400_000, true)), ["sent"]);
    // 3 ms late, two ticks, an eighth of the 252 ms since the event before: 42.5 ms.
    assert_eq!(fields(&kernel, &answer(10.0, 358_000, false)), [""; 0]);
    assert_eq!(fields(&kernel, &answer(10.0, 356_000, false)), ["at_us"]);
    assert_eq!(fields(&kernel, &answer(10.0, 403_500, false)), ["at_us"], "the kernel is never early");
    let mut open = answer(10.0, 400_000, false);
    open["info"]["ssthresh"] = 5.into();
    assert_eq!(fields(&kernel, &open), ["ssthresh"]);
}
