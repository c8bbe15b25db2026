//! Invariants of a scheme that controls the whole connection, loss recovery included.

use firstflight_contract::{Rate, Role, Trigger};
use proptest::prelude::*;

use super::model::{Begin, Event, Host, Op, Subject, begin, op};
use super::{chain, labels, phases, runner};

/// Schemes whose window is a rate times a round-trip time as soon as both are measured, and not what was delivered.
const PRODUCTS: [&str; 3] = ["bbr3-picoquic", "c4", "cubic-picoquic"];

/// Schemes that send small windows at once, as their authors' code does.
const BURSTS: [&str; 1] = ["cubic-picoquic"];

/// Runs the operations and judges each step; returns the registers after each.
fn run(label: &str, start: Begin, ops: &[Op]) -> Result<String, TestCaseError> {
    let mut subject = chain(phases(&[label]));
    let mut host = Host::begin(start, &mut subject);
    let mss = u64::from(start.mss);
    let (mut peak, mut delivered) = (subject.control.cwnd, 0);
    let mut trace = String::new();
    for &op in ops {
        let (before, exit_before) = (subject.control, subject.exit());
        let event = host.perform(op, &mut subject);
        let after = subject.control;
        trace += &format!("{after:?}\n");

        prop_assert!(after.cwnd >= mss, "{event:?}: window {} below one segment", after.cwnd);
        prop_assert!(after.pacing != Rate::NONE || BURSTS.contains(&label), "{event:?}: does not pace");
        prop_assert!(subject.in_avoidance(), "{event:?}: ended");
        match &event {
            Event::Ack(ack) => {
                // The window may return to an earlier size after a recovery or a probe. Growth beyond that size needs
                // delivered bytes (during an idle time the model delivers them without an ACK). Four segments are the
                // minimum that keeps delayed ACKs coming.
                let newly = ack.delivered - delivered;
                prop_assert!(
                    PRODUCTS.contains(&label) || after.cwnd <= (peak + newly).max(4 * mss),
                    "{ack:?}: window {} -> {}, at most {peak} before",
                    before.cwnd,
                    after.cwnd
                );
                delivered = ack.delivered;
            }
            Event::Congestion(congestion) => {
                // The smallest window of picoquic is 3072 bytes, whatever a packet has.
                let least = if BURSTS.contains(&label) { (2 * mss).max(3072) } else { 2 * mss };
                prop_assert!(
                    after.cwnd <= before.cwnd.max(least),
                    "{congestion:?}: window {} -> {}",
                    before.cwnd,
                    after.cwnd
                );
                if congestion.trigger == Trigger::Timeout {
                    // picoquic leaves 3072 bytes, and a timeout within a recovery changes nothing.
                    let left = after.cwnd == mss || BURSTS.contains(&label);
                    prop_assert!(left, "{congestion:?}: window {}", after.cwnd);
                }
            }
            Event::Spurious => {
                prop_assert!(after.cwnd >= before.cwnd, "undoing a reduction lowered the window");
            }
            Event::Idle | Event::Nothing => {}
        }
        if exit_before.is_some() {
            prop_assert!(subject.exit() == exit_before, "{event:?}: a second exit {:?}", subject.exit());
        }
        peak = peak.max(after.cwnd);
    }
    Ok(trace)
}

#[test]
fn standalone_schemes_keep_their_invariants_and_are_deterministic() {
    let mut judged = 0;
    for label in labels(Role::Standalone) {
        runner(512)
            .run(&(begin(), prop::collection::vec(op(), 1..400)), |(start, ops)| {
                prop_assert!(run(label, start, &ops)? == run(label, start, &ops)?, "two runs differ");
                Ok(())
            })
            .unwrap_or_else(|e| panic!("{label}: {e}"));
        judged += 1;
    }
    assert!(judged > 0, "no standalone scheme is registered");
}
