//! What every start-up scheme does, in front of Reno and of CUBIC, in six small scenarios: a few integers each, in
//! tables under `tests/snapshots` that a change of behaviour has to change. A test that finds another table writes it
//! beside the build and says how to accept it.

mod common;

use common::{Case, network, run};
use firstflight_control::registry::SCHEMES;
use firstflight_control::scheme::Role;
use firstflight_sim::outcome::FlowOutcome;
use firstflight_sim::sender::Sender;
use std::fmt::Write;
use std::path::Path;

/// The schemes that this host can run.
fn startups() -> impl Iterator<Item = &'static str> {
    let runs_here = |info: &&firstflight_control::scheme::Info| {
        info.role == Role::Startup && Sender::OFFERED.has(info.needs)
    };
    SCHEMES.iter().filter(runs_here).map(|info| info.label)
}

fn milliseconds(nanoseconds: u64) -> String {
    (nanoseconds / 1_000_000).to_string()
}

fn row(scheme: &str, flow: &FlowOutcome) -> String {
    let (exit, window, reason) = flow.startup_exit.map_or(("-".into(), "-".into(), "-"), |exit| {
        (milliseconds(exit.at.0), (exit.cwnd / 960).to_string(), exit.reason.label())
    });
    let done: Vec<String> = flow.completions.iter().map(|&took| milliseconds(took)).collect();
    let done = if done.is_empty() { "-".into() } else { done.join(" ") };
    let FlowOutcome { delivered, lost, retransmits, timeouts, .. } = flow;
    format!(
        "{scheme:<28} {delivered:>9} {lost:>5} {retransmits:>8} {timeouts:>8} {exit:>7} {window:>6} {reason:<10} {done}"
    )
}

/// Runs `case` under every scheme and compares with the table of that name; shown is the last flow.
fn behaves_as_in(name: &str, case: &Case) {
    let mut table = format!(
        "{:<28} {:>9} {:>5} {:>8} {:>8} {:>7} {:>6} {:<10} done ms\n",
        "scheme", "delivered", "drops", "repeated", "timeouts", "exit ms", "window", "reason"
    );
    for avoidance in ["reno", "cubic"] {
        for startup in startups() {
            let outcome = run(&network(&Case { startup, avoidance, ..case.clone() }));
            let flow = outcome.flows.last().expect("a flow");
            writeln!(table, "{}", row(&format!("{startup}+{avoidance}"), flow)).expect("writing to a string");
        }
    }
    let known =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name).with_extension("txt");
    if std::fs::read_to_string(&known).is_ok_and(|known| known == table) {
        return;
    }
    let found = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).with_extension("txt");
    std::fs::write(&found, &table).expect("the build folder can be written");
    panic!("the behaviour has changed; to accept it: cp {} {}\n{table}", found.display(), known.display());
}

#[test]
fn a_short_transfer_without_loss() {
    behaves_as_in("short", &Case { bytes: Some(60_000), buffer: 200, ..Case::default() });
}

#[test]
fn a_transfer_through_a_sixth_of_a_bandwidth_delay_product_of_buffer() {
    behaves_as_in("shallow-buffer", &Case { bytes: Some(1_000_000), buffer: 20, ..Case::default() });
}

#[test]
fn a_transfer_through_four_bandwidth_delay_products_of_buffer() {
    behaves_as_in("deep-buffer", &Case { bytes: Some(3_000_000), buffer: 500, ..Case::default() });
}

#[test]
fn a_transfer_of_which_one_packet_in_a_hundred_is_lost() {
    let case = Case { bytes: Some(1_000_000), buffer: 200, loss: 0.01, seconds: 60, ..Case::default() };
    behaves_as_in("random-loss", &case);
}

#[test]
fn a_transfer_beside_a_long_one_and_datagrams_over_delayed_acks() {
    let case = Case {
        flows: 2,
        unlimited_too: true,
        bytes: Some(500_000),
        udp_mbit_s: 3,
        every: 2,
        handshake: true,
        seconds: 60,
        ..Case::default()
    };
    behaves_as_in("cross-traffic", &case);
}

#[test]
fn four_writes_with_pauses_between_them() {
    let case = Case { bytes: Some(100_000), pauses: vec![50, 300, 2000], ..Case::default() };
    behaves_as_in("pauses", &case);
}
