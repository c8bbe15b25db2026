//! Flows over routers that take part in congestion control, in both modes and under the auditor.

mod common;

use common::{Case, MS, network, run};
use firstflight_control::units::{Nanos, Rate};
use firstflight_net::queue::Room;
use firstflight_net::router::RouterConfig;
use firstflight_net::router::quick_start::QuickStartConfig;
use firstflight_sim::config::{LinkConfig, Network, QueueConfig};

fn granting() -> QueueConfig {
    QueueConfig::Router(RouterConfig::QuickStart(QuickStartConfig::default()), Room::Packets(60))
}

/// A dumbbell of 10 Mbit/s, 90 ms for a single flow, whose flows begin with a handshake; segments are of 960 bytes, 1000 on the wire.
fn dumbbell(case: Case) -> Network {
    let mut network = network(&Case { handshake: true, initial_window: 3, ..case });
    network.links[0].queue = granting();
    network
}

fn quick_start(case: Case) -> Network {
    dumbbell(Case { schemes: vec!["quick-start", "reno"], ..case })
}

/// Puts another link in front of the bottleneck of the first flow.
fn before_the_bottleneck(network: &mut Network, mbit_s: u64, queue: QueueConfig) {
    network.links.push(LinkConfig {
        name: "before".into(),
        rate: Rate(mbit_s * 1_000_000),
        trace: None,
        delay: Nanos(0),
        queue,
        loss: 0.0,
    });
    let added = network.links.len() - 1;
    network.flows[0].forward.insert(1, added);
}

#[test]
fn the_first_flight_is_what_the_router_granted() {
    // 0.85 of 10 Mbit/s: 5.12 can be said. For the handshake's 90.08 ms (90, and 40 bytes each way over 10 Mbit/s and
    // over faster links) that is 5.12e6 * 0.09008 / 8 = 57 651 bytes, 57 segments of 1000.
    let outcome = run(&quick_start(Case::default()));
    assert_eq!(outcome.flows[0].first_flight, 57);
    let slow = run(&dumbbell(Case::default()));
    assert_eq!(slow.flows[0].first_flight, 3);
}

#[test]
fn first_flights_are_those_of_ns2() {
    // reference/ns2/quick_start.tcl: Mbit/s, ms, Mbit/s of cross traffic from two seconds before, whether the router takes
    // part, and the packets that left before the first ACK of data.
    for (mbit_s, rtt, busy, takes_part, flight) in [
        (10, 100, 0, true, 64),
        (40, 100, 0, true, 256),
        (40, 200, 0, true, 512),
        (10, 100, 4, true, 32),
        (10, 100, 9, true, 3),
        (10, 100, 0, false, 3),
    ] {
        let case = Case { mbit_s, rtt, udp_mbit_s: busy, buffer: 1000, ..Case::default() };
        let mut network = network(&Case {
            handshake: true,
            initial_window: 3,
            schemes: vec!["quick-start", "reno"],
            ..case
        });
        if takes_part {
            network.links[0].queue = granting();
        }
        // `network` gives a single flow nine tenths of the round trip, and cross traffic pauses.
        for link in &mut network.links {
            link.delay = Nanos(link.delay.0 * 10 / 9);
        }
        network.udp.iter_mut().for_each(|udp| udp.on = vec![(Nanos(0), network.end)]);
        network.flows[0].app.start = 2000 * MS;
        assert_eq!(run(&network).flows[0].first_flight, flight, "{mbit_s} {rtt} {busy} {takes_part}");
    }
}

#[test]
fn a_short_transfer_ends_after_two_round_trips() {
    // All 51 segments (48 960 bytes in 50 ms: 7.8 Mbit/s, so 5.12) leave within one round trip, and the
    // last is acknowledged within another; slow start from 3 sends 3, 6, 12, 24 and 6 in five.
    let bytes = Some(48_960);
    let outcome = run(&quick_start(Case { bytes, ..Case::default() }));
    let slow = run(&dumbbell(Case { bytes, ..Case::default() }));
    let round_trips = |ns: u64| ns as f64 / (90 * MS) as f64;
    assert!((1.7..2.0).contains(&round_trips(outcome.flows[0].completions[0])), "{:?}", outcome.flows[0]);
    assert!((5.0..5.5).contains(&round_trips(slow.flows[0].completions[0])), "{:?}", slow.flows[0]);
}

#[test]
fn the_request_is_lowered_hop_by_hop() {
    for (mbit_s, segments) in [(2, 14), (20, 57)] {
        // 0.85 of 2 Mbit/s: 1.28 Mbit/s can be said, 14 440 bytes in 90.25 ms. 20 Mbit/s leave the bottleneck's 5.12.
        let mut network = quick_start(Case::default());
        before_the_bottleneck(&mut network, mbit_s, granting());
        assert_eq!(run(&network).flows[0].first_flight, segments, "{mbit_s} Mbit/s");
    }
}

#[test]
fn one_router_that_does_not_take_part_makes_it_fail() {
    let mut asking = quick_start(Case::default());
    let mut slow = dumbbell(Case::default());
    for network in [&mut asking, &mut slow] {
        before_the_bottleneck(network, 20, QueueConfig::Packets(1000));
    }
    assert_eq!(run(&asking), run(&slow));
}

#[test]
fn a_queue_without_end_holds_nobody_up_and_need_not_agree() {
    let mut network = quick_start(Case::default());
    before_the_bottleneck(&mut network, 20, QueueConfig::Unlimited);
    assert_eq!(run(&network).flows[0].first_flight, 57);
}

#[test]
fn the_next_to_ask_is_granted_what_is_left() {
    // 37 ms later 8.5 - 5.12 = 3.38 Mbit/s are left, of which 2.56 can be said, and another 37 ms later 0.82: 0.64.
    let outcome = run(&quick_start(Case { flows: 3, ..Case::default() }));
    let first: Vec<u32> = outcome.flows.iter().map(|flow| flow.first_flight).collect();
    let granted = |rate: f64, rtt: f64| (rate * rtt / 8.0 / 1000.0) as u32;
    // Propagation is 90, 96.67 and 103.33 ms, transmission 0.08 ms.
    assert_eq!(first, [granted(5.12e6, 0.09008), granted(2.56e6, 0.09675), granted(0.64e6, 0.10341)]);
}

#[test]
fn a_repeated_syn_asks_for_nothing() {
    // Everything offered in the first half second is lost on the wire.
    let mut network = quick_start(Case { bytes: Some(96_000), ..Case::default() });
    network.links[0].loss = 0.7;
    network.seed = lost_first_syn(&network);
    let outcome = run(&network);
    assert!(outcome.flows[0].start >= Some(1000 * MS));
    // RFC 5681 section 3.1: one segment after a lost SYN, and no grant.
    assert_eq!(outcome.flows[0].first_flight, 1);
}

/// A seed under which the opening packet is lost.
fn lost_first_syn(network: &Network) -> u64 {
    let lost = |seed: &u64| {
        let network = Network { seed: *seed, ..network.clone() };
        let outcome = firstflight_sim::outcome::simulate(&network);
        outcome.flows[0].start.is_some_and(|start| start >= 1000 * MS)
    };
    (1..100).find(lost).expect("seven of ten are lost")
}

#[test]
fn granted_starts_survive_losses_cross_traffic_and_every_sender() {
    use firstflight_sim::sender::stack::Recovery;
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack { sack: true }] {
        let case = Case { recovery, flows: 6, loss: 0.01, udp_mbit_s: 3, every: 2, ..Case::default() };
        assert!(run(&quick_start(case)).flows.iter().all(|flow| flow.delivered > 100));
    }
}
