//! The end of a run: what happens before it does not depend on it.

use super::{Held, hold};
use firstflight_contract::Nanos;
use firstflight_sim::config::Network;
use firstflight_sim::outcome::{FlowOutcome, LinkOutcome, simulate};
use proptest::{prop_assert, prop_assert_eq};

/// The counters of a flow, none of which falls.
fn counts(flow: &FlowOutcome) -> [u64; 6] {
    [flow.delivered_bytes, flow.delivered.into(), flow.sent, flow.retransmits, flow.timeouts, flow.lost]
}

/// The counters of a link, none of which falls.
fn crossings(link: &LinkOutcome) -> [u64; 4] {
    let stats = &link.stats;
    [stats.packets, stats.drops, stats.wire_losses, stats.max_queue.into()]
}

#[test]
fn what_happens_before_the_end_of_a_run_does_not_depend_on_the_end() {
    hold(300, 150, |case| -> Held {
        let network = case.network;
        if network.flows.len() > 500 {
            return Ok(Some("with many connections the simulator's clock is shorter"));
        }
        let end = Nanos(network.end.0.saturating_mul(2));
        let long = simulate(&Network { end, ..network.clone() });
        for (short, long) in case.base.flows.iter().zip(&long.flows) {
            prop_assert!(short.start.is_none() || short.start == long.start, "{short:?}\n{long:?}");
            prop_assert!(long.completions.starts_with(&short.completions), "{short:?}\n{long:?}");
            prop_assert!(long.delivered_at.starts_with(&short.delivered_at), "{short:?}\n{long:?}");
            let fell = counts(short).into_iter().zip(counts(long)).any(|(short, long)| short > long);
            prop_assert!(!fell, "{short:?}\n{long:?}");
            // Data with a SYN that is lost counts for nothing: start-up then begins anew.
            if short.delivered > 0 && short.startup_exit.is_some() {
                prop_assert_eq!(&short.startup_exit, &long.startup_exit);
            }
        }
        for (short, long) in case.base.links.iter().zip(&long.links) {
            let fell = crossings(short).into_iter().zip(crossings(long)).any(|(short, long)| short > long);
            prop_assert!(!fell, "{short:?}\n{long:?}");
        }
        Ok(None)
    });
}
