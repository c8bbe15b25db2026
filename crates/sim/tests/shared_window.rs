//! RFC 3124: connections to one destination share one congestion window.

use crate::common::{Case, MS, network, run};
use firstflight_sim::config::Network;
use firstflight_sim::engine::Mode;
use firstflight_sim::observe::Observer;
use firstflight_sim::outcome::{Outcome, simulate_observed};
use firstflight_sim::sender::Sender;

/// Two connections at 10 Mbit/s and 100 ms; the second begins at `second`, milliseconds.
fn pair(startup: &'static str, second: u64, buffer: u32) -> Network {
    let case = Case {
        flows: 2,
        schemes: vec![startup, "reno"],
        handshake: true,
        buffer,
        seconds: 4,
        ..Case::default()
    };
    let mut network = network(&case);
    network.flows[0].app.start = 0;
    network.flows[1].app.start = second * MS;
    network
}

#[test]
fn a_second_connection_begins_with_its_share_of_the_common_window() {
    let alone = run(&pair("slow-start", 700, 5000));
    let together = run(&pair("congestion-manager", 700, 5000));
    // After seven round trips of doubling from 2 the first has about 128 segments in flight, which fills the
    // path (125). Each of their ACKs releases two segments, one of each connection, until the second gets its
    // first ACK.
    assert_eq!(alone.flows[1].first_flight, 2);
    assert!(together.flows[1].first_flight > 60, "{}", together.flows[1].first_flight);
    let first_second = |outcome: &Outcome| outcome.flows[1].delivered_at[0];
    assert!(first_second(&together) > first_second(&alone));
}

/// Observer of the segments that the connections have in flight together, and of their common window.
#[derive(Clone, Default)]
struct Together {
    flight: [u64; 2],
    /// Largest excess of the flight over the window, segments.
    beyond: i64,
    fullest: u64,
}

impl Observer for Together {
    const ON: bool = true;
    fn acted(&mut self, _: u64, flow: u32, sender: &Sender) {
        self.flight[flow as usize] = sender.flight().into();
        let total: u64 = self.flight.iter().sum();
        // Before the handshake is answered a sender has no window.
        let window = (sender.chain.control.cwnd / sender.mss()).max(1);
        self.beyond = self.beyond.max(total as i64 - window as i64);
        self.fullest = self.fullest.max(total * 100 / window);
    }
}

#[test]
fn together_the_connections_fill_the_window_and_never_exceed_it() {
    let network = pair("congestion-manager", 300, 5000);
    let (_, seen) = simulate_observed(&network, Mode::Fused, Together::default());
    assert_eq!((seen.beyond, seen.fullest), (0, 100));
    let (_, seen) = simulate_observed(&pair("slow-start", 300, 5000), Mode::PerHop, Together::default());
    assert!(seen.beyond > 100, "separate windows: {}", seen.beyond);
}

#[test]
fn connections_that_take_turns_get_equal_shares() {
    let outcome = run(&pair("congestion-manager", 0, 5000));
    let [a, b] = [outcome.flows[0].delivered, outcome.flows[1].delivered].map(f64::from);
    assert!((a / b - 1.0).abs() < 0.02, "{a} and {b}");
}

#[test]
fn connections_of_other_clusters_share_nothing() {
    let mut network = pair("congestion-manager", 1500, 5000);
    network.flows[1].sharing.cluster = 1;
    assert_eq!(run(&network).flows[1].first_flight, 2);
}

#[test]
fn a_single_managed_connection_equals_slow_start_and_reno() {
    let one = |startup| {
        let case = Case { schemes: vec![startup, "reno"], handshake: true, loss: 0.005, ..Case::default() };
        run(&network(&case)).flows[0].clone()
    };
    let (plain, managed) = (one("slow-start"), one("congestion-manager"));
    assert_eq!((plain.delivered, plain.sent), (managed.delivered, managed.sent));
}

#[test]
fn the_largest_window_of_a_connection_is_that_of_the_common_window() {
    let outcome = run(&pair("congestion-manager", 0, 5000));
    let alone = run(&pair("slow-start", 0, 5000));
    for (flow, other) in outcome.flows.iter().zip(&alone.flows) {
        assert!(flow.final_cwnd <= flow.max_cwnd && other.final_cwnd <= other.max_cwnd);
    }
    // Both had the window at its largest; the last to act may have enlarged it by a segment more.
    let [first, second] = [0, 1].map(|n: usize| outcome.flows[n].max_cwnd / 1000);
    assert!(first.abs_diff(second) <= 1, "{first} {second}");
}
