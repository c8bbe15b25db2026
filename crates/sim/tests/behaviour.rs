//! Snapshot of every scheme on a few small paths, as tables in git, so that a change of behaviour shows as a
//! changed line. Every start-up runs before Reno and before CUBIC, and every other avoidance scheme after
//! slow start.
//!
//! The snapshots do not prove the numbers right; they show reviewers which numbers changed. After an intended
//! change, `FIRSTFLIGHT_REWRITE=1 cargo test -p firstflight-sim --test all behaviour` rewrites them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::common::{Case, network, run};
use firstflight_contract::Role;
use firstflight_schemes::registry::SCHEMES;
use firstflight_schemes::scheme::Info;
use firstflight_sim::sender::Sender;
use firstflight_sim::sender::stack::Recovery;

/// Small paths, each of which stresses another part of a start-up.
fn paths() -> Vec<(&'static str, Case)> {
    let one = Case { handshake: true, initial_window: 10, bytes: Some(600_000), ..Case::default() };
    vec![
        ("short-transfer", Case { bytes: Some(30_000), ..one.clone() }),
        ("shallow-buffer", Case { buffer: 20, ..one.clone() }),
        ("deep-buffer", Case { buffer: 1000, bytes: Some(3_000_000), ..one.clone() }),
        ("random-loss", Case { loss: 0.01, ..one.clone() }),
        ("cross-traffic", Case { udp_mbit_s: 8, ..one.clone() }),
        ("pauses", Case { bytes: Some(100_000), pauses: vec![300, 3000], ..one.clone() }),
        (
            "threshold-of-32",
            Case { ssthresh: Some(32), mbit_s: 40, buffer: 500, bytes: Some(3_000_000), ..one.clone() },
        ),
        ("delayed-acks", Case { every: 2, ..one.clone() }),
        ("linux-shallow-buffer", Case { recovery: LINUX, buffer: 20, ..one.clone() }),
        ("linux-random-loss", Case { recovery: LINUX, loss: 0.01, ..one.clone() }),
        ("linux-pauses", Case { recovery: LINUX, bytes: Some(100_000), pauses: vec![300, 3000], ..one }),
    ]
}

const LINUX: Recovery = Recovery::Rack { sack: true };

fn table(case: &Case) -> String {
    // Schemes that need a special path are covered by other tests.
    let runs = |info: &&Info| Sender::OFFERED.has(info.needs);
    let labels =
        |role| SCHEMES.iter().filter(runs).filter(move |info| info.role == role).map(|info| info.label);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:<28} {:>9} {:>9} {:>6} {:>6} {:>4} {:>7} {:>6}  reason",
        "scheme", "last us", "delivered", "lost", "resent", "rto", "exit us", "window"
    );
    // Standalone schemes rule the window during recovery too, which needs a Linux sender.
    let standalone = labels(Role::Standalone).filter(|_| case.recovery == LINUX).map(|label| vec![label]);
    let before = |a: &'static str| labels(Role::Startup).map(move |s| vec![s, a]);
    let after = labels(Role::Avoidance).filter(|a| !["reno", "cubic"].contains(a));
    let pairs = before("reno").chain(before("cubic")).chain(after.map(|a| vec!["slow-start", a]));
    for schemes in pairs.chain(standalone) {
        let label = schemes.join("+");
        let outcome = run(&network(&Case { schemes, ..case.clone() }));
        let flow = &outcome.flows[0];
        let start = flow.start.unwrap_or(0);
        let exit = flow.startup_exit.map_or_else(
            || format!("{:>7} {:>6}  -", "-", "-"),
            |exit| {
                let at = exit.at.0.saturating_sub(start) / 1000;
                format!("{at:>7} {:>6}  {}", exit.cwnd / 960, exit.reason.label())
            },
        );
        let _ = writeln!(
            out,
            "{:<28} {:>9} {:>9} {:>6} {:>6} {:>4} {exit}",
            label,
            flow.completions.last().map_or_else(|| "-".into(), |t| (t / 1000).to_string()),
            flow.delivered,
            flow.lost,
            flow.retransmits,
            flow.timeouts,
        );
    }
    out
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.txt"))
}

#[test]
#[expect(clippy::disallowed_methods, reason = "an environment variable requests the rewrite")]
fn every_scheme_matches_its_snapshot() {
    let rewrite = std::env::var("FIRSTFLIGHT_REWRITE").is_ok();
    let mut changed = vec![];
    for (name, case) in paths() {
        let now = table(&case);
        if rewrite {
            std::fs::create_dir_all(file(name).parent().expect("a folder"))
                .expect("the folder can be created");
            std::fs::write(file(name), &now).expect("the snapshot can be written");
        }
        let recorded = std::fs::read_to_string(file(name)).unwrap_or_default();
        for (i, line) in now.lines().enumerate().filter(|(i, line)| recorded.lines().nth(*i) != Some(line)) {
            changed.push(format!(
                "{name}:{}\n  was {}\n  is  {line}",
                i + 1,
                recorded.lines().nth(i).unwrap_or("")
            ));
        }
        assert_eq!(recorded.lines().count(), now.lines().count(), "{name}: one line per chain of schemes");
    }
    assert!(changed.is_empty(), "{} lines changed:\n{}", changed.len(), changed.join("\n"));
}

#[test]
fn the_deep_buffer_distinguishes_the_schemes() {
    // A deep buffer lets every scheme run until its own rule ends it: loss, twice the delay, pacing, or
    // never.
    let (_, case) = paths().into_iter().find(|(name, _)| *name == "deep-buffer").expect("listed");
    let lines = table(&case);
    let exits: std::collections::BTreeSet<&str> =
        lines.lines().filter(|l| l.contains("+reno")).map(|l| l.split_at(29).1).collect();
    assert!(exits.len() >= 4, "{lines}");
}
