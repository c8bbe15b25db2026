//! Any text as the `results.json` of a reproduction: an error, or verdicts and pages without a script.

use std::path::Path;
use std::sync::OnceLock;

use firstflight_report::reproduction::{html, pages, results};
use firstflight_reproduce::evidence::Evidence;
use firstflight_reproduce::judge::judge;
use firstflight_reproduce::library::Library;

use crate::scratch::holding;
use crate::{Form, Target, refused, text};

pub(crate) const TARGET: Target = Target {
    name: "results",
    about: "text as the results of a reproduction: judged, and written as pages that run nothing",
    run,
    longest: 8 << 10,
    form: Form::Text(&[
        "null",
        "[]",
        "{}",
        "\"definition\"",
        "\"replications\"",
        "\"metrics\"",
        "\"values\"",
        "\"samples\"",
        "\"axes\"",
        "\"points\"",
        "\"x\"",
        "1e308",
        "-0.0",
        "1e-308",
        "<script>",
        "</pre><script>alert(1)</script>",
        "18446744073709551615",
    ]),
};

const SCENARIO: &str = r#"
duration = "200 ms"
[path]
rate = "10 Mbit/s"
rtt = "10 ms"
buffer = "20 packets"
[[flow]]
name = "short"
size = "10 packets"
[[udp]]
name = "cbr"
rate = "2 Mbit/s"
"#;

const EXPERIMENT: &str = r#"
title = "A short link"
scenario = "short.toml"
replications = 2
quick = true
[[axis]]
name = "rate"
key = "udp.cbr.rate"
values = ["2.5 Mbit/s", "5 Mbit/s"]
[metric.used]
title = "used"
link = "bottleneck"
take = "utilization"
[metric.completion]
title = "completion, s"
flows = "short"
take = "completion_s"
over = "mean"
[metric.cwnd]
title = "window"
flow = "short.0"
take = "cwnd_packets"
every = "50 ms"
"#;

const CLAIMS: &str = r#"
[[claim]]
id = "XX-01"
[[claim.statement]]
that = "short.used"
is = [0.25, 0.5]
word = "counted"
[[claim.statement]]
that = "short.completion[5 Mbit/s] > short.completion[2.5 Mbit/s]"
[[claim.statement]]
that = "short.cwnd[5 Mbit/s, time=0.1]"
is = 20
word = "points"
[[claim]]
id = "XX-02"
cause = "The link is short."
[[claim.statement]]
that = "max(short.used) < 0.01"
[[claim.because]]
that = "mean(short.used)"
is = 0.5
word = "counted"
"#;

/// A paper of one experiment whose runs take no time.
pub(crate) fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let about = include_str!("../../../crates/reproduce/testdata/paper.toml");
        let targets = include_str!("../../../crates/reproduce/testdata/targets.psv");
        let folder = holding(&[]).join("papers");
        for inner in ["xx/scenarios", "xx/experiments"] {
            std::fs::create_dir_all(folder.join(inner)).expect("a temporary folder can be made");
        }
        for (name, text) in [
            ("targets.psv", targets),
            ("xx/paper.toml", about),
            ("xx/claims.toml", CLAIMS),
            ("xx/scenarios/short.toml", SCENARIO),
            ("xx/experiments/short.toml", EXPERIMENT),
        ] {
            std::fs::write(Path::new(&folder).join(name), text).expect("a temporary file can be written");
        }
        Library::open(&folder).expect("the paper is valid")
    })
}

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    match serde_json::from_str::<Evidence>(text) {
        Ok(evidence) => presented(&evidence),
        Err(error) => refused(error),
    }
}

/// Judges the results and writes their pages.
pub(crate) fn presented(evidence: &Evidence) {
    let again: Evidence = serde_json::from_str(&results(evidence)).expect("written results are results");
    assert_eq!(results(&again), results(evidence));
    let rows = judge(library(), evidence, "not run");
    match pages(library(), evidence, &rows) {
        Ok(files) => {
            let page = html(&files).to_lowercase();
            assert!(!page.contains("<script"), "the page runs a script");
        }
        Err(why) => refused(why),
    }
}
