//! Scaling of time: where every time of a scenario is k times as long and every rate a k-th, every time of the results is k
//! times as long, and all amounts are the same.
//!
//! Exact where whole nanoseconds make it so: a byte takes whole nanoseconds on every link, all timers of hosts scale with the
//! rest, and the schemes have no time of their own. Left out are runs with a retransmission timeout, because the estimator
//! of the timeout rounds to whole nanoseconds (Jacobson's integer arithmetic), and paced schemes, whose rates are whole bit/s.

use super::{Tally, assert_same, draw};
use firstflight_contract::{Nanos, Rate};
use firstflight_hosts::network::build;
use firstflight_scenario::parse;
use firstflight_sim::config::Network;
use firstflight_sim::outcome::{Outcome, simulate};
use proptest::prelude::*;
use proptest::sample::select;

/// A scenario in which scaling is exact.
fn text() -> impl Strategy<Value = String> {
    let flow = (
        select(vec!["slow-start", "limited-slow-start", "smooth-start", "hoe"]),
        select(vec!["reno", "bic", "scalable", "highspeed", "exp"]),
        select(vec!["reno", "newreno", "sack"]),
        select(vec!["ack-every-packet", "delayed-ack"]),
        (1..200_u32, 1..20_u32, 0..50_000_000_u64),
        any::<[bool; 2]>(),
    );
    let flow = flow.prop_map(
        |(startup, avoidance, recovery, receiver, (size, window, start), [handshake, limited])| {
            format!(
                "[[flow]]\nprofile = \"rfc\"\nstartup = \"{startup}\"\navoidance = \"{avoidance}\"\n\
             recovery = \"{recovery}\"\nreceiver = \"{receiver}\"\nsize = \"{size} packets\"\n\
             initial_window = \"{window} packets\"\nstart = \"{start} ns\"\nhandshake = {handshake}\n\
             limited_transmit = {limited}\n"
            )
        },
    );
    // Nanoseconds of a byte on the bottleneck; one on access links.
    let byte = select(vec![2_u64, 4, 5, 8, 10, 16, 20, 25, 40, 50, 80, 100, 200, 500]);
    let queue = prop_oneof![
        (2..100_u32).prop_map(|n| format!("{n} packets")),
        (4..100_u32).prop_map(|n| format!("{n} KB"))
    ];
    (byte, 8..50_000_000_u64, queue, prop::collection::vec(flow, 1..4)).prop_map(|(byte, rtt, buffer, flows)| {
        let rate = 8_000_000_000 / byte;
        format!(
            "duration = \"2 s\"\nseed = 1\n[path]\nrate = \"{rate} bit/s\"\naccess_rate = \"8 Gbit/s\"\nrtt = \"{} ns\"\n\
             buffer = \"{buffer}\"\n{}",
            8 * rtt,
            flows.concat()
        )
    })
}

/// The network with all times `k` times as long.
fn slower(network: &Network, k: u64) -> Network {
    let mut slow = network.clone();
    (slow.end, slow.grid) = (Nanos(slow.end.0 * k), Nanos(slow.grid.0 * k));
    for link in &mut slow.links {
        (link.rate, link.delay) = (Rate(link.rate.0 / k), Nanos(link.delay.0 * k));
    }
    for flow in &mut slow.flows {
        flow.app.start *= k;
        flow.ack_policy.timer *= k;
        let rto = &mut flow.stack.rto;
        (rto.initial, rto.min, rto.max) = (rto.initial * k, rto.min * k, rto.max * k);
    }
    slow
}

/// The results with all times `k` times as long.
fn stretched(outcome: &Outcome, k: u64) -> Outcome {
    let mut long = outcome.clone();
    long.end *= k;
    for flow in &mut long.flows {
        flow.start = flow.start.map(|start| start * k);
        flow.completions.iter_mut().for_each(|time| *time *= k);
        if let Some(exit) = &mut flow.startup_exit {
            exit.at = Nanos(exit.at.0 * k);
        }
    }
    for link in &mut long.links {
        link.stats.busy_until *= k;
        // Times of waiting: a sum of 128 bits, whose ratio to the length of the run is the mean queue.
        link.stats.waiting_ns = firstflight_contract::Sum::default();
    }
    long
}

#[test]
fn a_network_that_is_k_times_slower_takes_k_times_as_long() {
    let tally = Tally::default();
    draw(400, &(text(), select(vec![2_u64, 5, 10])), |(text, k)| {
        let scenario =
            parse(&text, "").map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?.scenario;
        let built = build(&scenario, 1, Nanos::from_millis(10))
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        let base = simulate(&built.network);
        if base.flows.iter().any(|flow| flow.timeouts > 0) {
            tally.count(Some("a retransmission timeout is rounded"));
            return Ok(());
        }
        let mut slow = simulate(&slower(&built.network, k));
        slow.links.iter_mut().for_each(|link| link.stats.waiting_ns = firstflight_contract::Sum::default());
        let expected = stretched(&base, k);
        let means = |outcome: &Outcome| -> Vec<(f64, f64)> {
            outcome.links.iter().map(|link| (link.mean_queue, link.utilization)).collect()
        };
        // Quotients of sums that are k times as large: the last bit of each may differ.
        for (slow, base) in means(&slow).into_iter().zip(means(&expected)) {
            prop_assert!(
                (slow.0 - base.0).abs() <= 1e-12 * base.0 && (slow.1 - base.1).abs() <= 1e-12 * base.1
            );
        }
        for (slow, base) in slow.links.iter_mut().zip(&expected.links) {
            (slow.mean_queue, slow.utilization) = (base.mean_queue, base.utilization);
        }
        assert_same(&slow, &expected)?;
        tally.count(None);
        Ok(())
    });
    tally.assert_enough(250);
}
