//! NewReno's transmissions during the recovery of six losses in one window, packet by packet:
//! `tests/ns2/scripts/idle.tcl` with a single write, against the same sender in this simulator. Times are
//! compared as whole milliseconds, as in `idle.rs`.

use crate::common::MS;
use crate::common::line::Line;
use crate::common::stacks;
use crate::reference;
use firstflight_host::chain::Chain;
use firstflight_schemes::registry::AnyPhase;
use firstflight_schemes::scheme::Value;
use firstflight_sim::sender::app::AppConfig;
use firstflight_sim::sender::rto::RtoConfig;
use firstflight_sim::sender::stack::{PartialAcks, Recovery, Stack};

/// Lost packets, of the 25 sent at 600 ms. Retransmitting one per round trip of 100 ms takes longer than the
/// minimum timeout, which is 250 ms here so that it never fires together with an ACK.
const LOST: [u32; 6] = [60, 62, 64, 66, 70, 75];
/// Length of the comparison, milliseconds.
const UNTIL: u64 = 3000;

/// Options of `idle.tcl`, and the equivalent rule of this simulator.
const CASES: [(&[&str], PartialAcks); 3] = [
    (&[], PartialAcks::Impatient),
    (&["steady", "1"], PartialAcks::SlowButSteady),
    (&["steady", "1", "deflate", "0"], PartialAcks::Ns2Of2002),
];

/// Packets sent: time, milliseconds, and number.
type Left = Vec<(u64, u32)>;

fn in_ns2(options: &[&str]) -> Left {
    let lost = LOST.map(|number| number.to_string()).join(" ");
    let until = (UNTIL as f64 / 1e3).to_string();
    let run = [
        "first", "0", "idle", "0", "again", "1000", "until", &until, "ssthresh", "24", "minrto", "0.25",
        "drop", &lost,
    ];
    let answer = reference::answer("idle.tcl", run.into_iter().chain(options.iter().copied()));
    let left = answer.lines().map(|line| {
        let mut fields = line.split(' ').map(|field| field.parse::<f64>().expect("a number"));
        let mut next = || fields.next().expect("a time and a number");
        (next() as u64, next() as u32)
    });
    left.filter(|left| left.0 < UNTIL).collect()
}

fn here(partial_acks: PartialAcks) -> Left {
    let startup = AnyPhase::by_label("slow-start").expect("registered");
    let mut reno = AnyPhase::by_label("reno").expect("registered");
    reno.set("growth", Value::Choice(1)).expect("ns-2 grows by 1/cwnd for every ACK");
    let mut line = Line::with(Recovery::NewReno, 1, Some(24)).losing(&LOST.map(|number| (number, 0)));
    line.chain = Chain::new(vec![startup, reno]).expect("a chain");
    line.stack = Stack {
        partial_acks,
        rules: stacks::NS2,
        rto: RtoConfig { granularity: 10 * MS, min: 250 * MS, ..line.stack.rto },
        ..line.stack
    };
    line.app = AppConfig { start: 0, bytes: Some(1_000_000), ..AppConfig::default() };
    line.sends(UNTIL - 1)
}

#[test]
fn newreno_recovers_from_several_losses_like_ns_2_under_each_rule_for_partial_acks() {
    if !reference::installed() {
        return;
    }
    println!("| partial ACKs | options | packets | timer fires |");
    println!("|---|---|---|---|");
    let mut sent = vec![];
    for (options, partial_acks) in CASES {
        let left = here(partial_acks);
        assert_eq!(left, in_ns2(options), "{partial_acks:?}: left this simulator, right ns-2");
        // A hole is retransmitted twice only if the timer makes the sender restart.
        let retransmitted = |hole: &u32| left.iter().filter(|left| left.1 == *hole).count() > 2;
        println!(
            "| {partial_acks:?} | `{}` | {} | {} |",
            options.join(" "),
            left.len(),
            LOST.iter().any(retransmitted)
        );
        sent.push(left.len());
    }
    // The counts of ns-2.
    assert_eq!(sent, [342, 484, 439]);
}
