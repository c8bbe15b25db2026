//! Flows over routers that take part in congestion control, in both modes and with the auditor.

use crate::common::{Case, MS, network, run};
use firstflight_contract::{Nanos, Rate};
use firstflight_net::queue::Room;
use firstflight_net::router::RouterConfig;
use firstflight_net::router::quick_start::QuickStartConfig;
use firstflight_net::router::vcp::VcpConfig;
use firstflight_net::router::xcp::XcpConfig;
use firstflight_sim::config::{LinkConfig, Network, QueueConfig};

fn granting() -> QueueConfig {
    QueueConfig::Router(RouterConfig::QuickStart(QuickStartConfig::default()), Room::Packets(60))
}

/// A dumbbell of 10 Mbit/s, 90 ms for a single flow, whose flows begin with a handshake; segments have 960
/// bytes, 1000 on the wire.
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
    network.links.push(LinkConfig::new("before", Rate(mbit_s * 1_000_000), Nanos(0), queue));
    let added = network.links.len() - 1;
    network.flows[0].forward.insert(1, added);
}

#[test]
fn the_first_flight_follows_the_granted_rate() {
    // 0.85 of 10 Mbit/s encodes as 5.12. Over the handshake's 90.08 ms (90 ms, and 40 bytes each way over 10
    // Mbit/s and over faster links) that is 5.12e6 * 0.09008 / 8 = 57 651 bytes, 57 segments of 1000.
    let outcome = run(&quick_start(Case::default()));
    assert_eq!(outcome.flows[0].first_flight, 57);
    let slow = run(&dumbbell(Case::default()));
    assert_eq!(slow.flows[0].first_flight, 3);
}

#[test]
fn first_flights_equal_those_of_ns2() {
    // tests/ns2/scripts/quick_start.tcl: Mbit/s, ms, Mbit/s of cross traffic from two seconds earlier,
    // whether the router takes part, and the packets sent before the first ACK of data.
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
        // `network` gives a single flow nine tenths of the round trip, and its cross traffic pauses.
        for link in &mut network.links {
            link.delay = Nanos(link.delay.0 * 10 / 9);
        }
        network.udp.iter_mut().for_each(|udp| udp.on = vec![(Nanos(0), network.end)]);
        network.flows[0].app.start = 2000 * MS;
        assert_eq!(run(&network).flows[0].first_flight, flight, "{mbit_s} {rtt} {busy} {takes_part}");
    }
}

#[test]
fn a_short_transfer_with_quick_start_ends_within_two_round_trips() {
    // All 51 segments (48 960 bytes in 50 ms: 7.8 Mbit/s, so 5.12) leave within one round trip, and the last
    // one is acknowledged within another. Slow start from 3 sends 3, 6, 12, 24 and 6 in five.
    let bytes = Some(48_960);
    let outcome = run(&quick_start(Case { bytes, ..Case::default() }));
    let slow = run(&dumbbell(Case { bytes, ..Case::default() }));
    let round_trips = |ns: u64| ns as f64 / (90 * MS) as f64;
    assert!((1.7..2.0).contains(&round_trips(outcome.flows[0].completions[0])), "{:?}", outcome.flows[0]);
    assert!((5.0..5.5).contains(&round_trips(slow.flows[0].completions[0])), "{:?}", slow.flows[0]);
}

#[test]
fn each_router_lowers_the_request_to_its_own_rate() {
    for (mbit_s, segments) in [(2, 14), (20, 57)] {
        // 0.85 of 2 Mbit/s encodes as 1.28 Mbit/s, 14 440 bytes in 90.25 ms. 20 Mbit/s leaves the
        // bottleneck's 5.12.
        let mut network = quick_start(Case::default());
        before_the_bottleneck(&mut network, mbit_s, granting());
        assert_eq!(run(&network).flows[0].first_flight, segments, "{mbit_s} Mbit/s");
    }
}

#[test]
fn one_router_without_quick_start_makes_the_request_fail() {
    let mut asking = quick_start(Case::default());
    let mut slow = dumbbell(Case::default());
    for network in [&mut asking, &mut slow] {
        before_the_bottleneck(network, 20, QueueConfig::Packets(1000));
    }
    assert_eq!(run(&asking), run(&slow));
}

#[test]
fn an_unlimited_queue_need_not_support_quick_start() {
    let mut network = quick_start(Case::default());
    before_the_bottleneck(&mut network, 20, QueueConfig::Unlimited);
    assert_eq!(run(&network).flows[0].first_flight, 57);
}

#[test]
fn the_next_request_is_granted_the_remaining_rate() {
    // 37 ms later 8.5 - 5.12 = 3.38 Mbit/s are left, encoded as 2.56; another 37 ms later 0.82, encoded as
    // 0.64.
    let outcome = run(&quick_start(Case { flows: 3, ..Case::default() }));
    let first: Vec<u32> = outcome.flows.iter().map(|flow| flow.first_flight).collect();
    let granted = |rate: f64, rtt: f64| (rate * rtt / 8.0 / 1000.0) as u32;
    // Propagation is 90, 96.67 and 103.33 ms, transmission 0.08 ms.
    assert_eq!(first, [granted(5.12e6, 0.09008), granted(2.56e6, 0.09675), granted(0.64e6, 0.10341)]);
}

#[test]
fn a_retransmitted_syn_carries_no_request() {
    // Seven of ten packets are lost on the wire; the seed is chosen so that the first SYN is.
    let mut network = quick_start(Case { bytes: Some(96_000), ..Case::default() });
    network.links[0].loss = 0.7;
    network.seed = lost_first_syn(&network);
    let outcome = run(&network);
    assert!(outcome.flows[0].start >= Some(1000 * MS));
    // RFC 5681 section 3.1: one segment after a lost SYN, and no grant.
    assert_eq!(outcome.flows[0].first_flight, 1);
}

/// Finds a seed for which the first SYN is lost.
fn lost_first_syn(network: &Network) -> u64 {
    let lost = |seed: &u64| {
        let network = Network { seed: *seed, ..network.clone() };
        let outcome = firstflight_sim::outcome::simulate(&network);
        outcome.flows[0].start.is_some_and(|start| start >= 1000 * MS)
    };
    (1..100).find(lost).expect("seven of ten are lost")
}

#[test]
fn quick_start_works_with_losses_cross_traffic_and_every_recovery() {
    use firstflight_sim::sender::stack::Recovery;
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack { sack: true }] {
        let case = Case { recovery, flows: 6, loss: 0.01, udp_mbit_s: 3, every: 2, ..Case::default() };
        assert!(run(&quick_start(case)).flows.iter().all(|flow| flow.delivered > 100));
    }
}

/// A dumbbell whose bottleneck is a router of this kind in both directions.
fn ruled(by: RouterConfig, case: Case) -> Network {
    let room = Room::Packets(case.buffer);
    let mut network = network(&Case { handshake: true, initial_window: 2, ..case });
    for link in &mut network.links[..2] {
        link.queue = QueueConfig::Router(by, room);
    }
    network
}

fn xcp(case: Case) -> Network {
    ruled(RouterConfig::Xcp(XcpConfig::default()), Case { schemes: vec!["xcp"], ..case })
}

fn vcp(case: Case) -> Network {
    ruled(RouterConfig::Vcp(VcpConfig::default()), Case { schemes: vec!["vcp"], ..case })
}

/// Packets delivered by each flow between two times, seconds.
fn delivered(outcome: &firstflight_sim::outcome::Outcome, from: usize, until: usize) -> Vec<u32> {
    outcome.flows.iter().map(|flow| flow.delivered_at[until] - flow.delivered_at[from]).collect()
}

#[test]
fn xcp_fills_the_link_without_a_queue_or_a_loss() {
    // The paper's section 5.2: high utilisation, a small queue and no drops for any capacity, delay and
    // number of flows.
    for (mbit_s, rtt, flows) in [(10, 100, 1), (50, 100, 10), (100, 40, 3), (20, 400, 5)] {
        let buffer = (mbit_s * rtt / 8) as u32;
        let outcome = run(&xcp(Case { mbit_s, rtt, flows, buffer, seconds: 20, ..Case::default() }));
        let link = &outcome.links[0];
        assert!(link.utilization > 0.93, "{mbit_s} {rtt} {flows}: {}", link.utilization);
        assert_eq!((link.stats.drops, outcome.flows.iter().map(|f| f.retransmits).sum::<u64>()), (0, 0));
        assert!(link.mean_queue < f64::from(buffer) / 10.0, "{mbit_s} {rtt} {flows}: {}", link.mean_queue);
    }
}

#[test]
fn xcp_flows_of_unequal_round_trips_share_evenly() {
    // The paper's section 5.2.2: round trips from 90 to 110 ms here, and equal shares; flows begin 37 ms
    // apart.
    let outcome = run(&xcp(Case { mbit_s: 50, flows: 8, buffer: 600, seconds: 20, ..Case::default() }));
    let shares = delivered(&outcome, 8, 18);
    let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
    assert!(f64::from(*least) / f64::from(*most) > 0.97, "{shares:?}");
}

#[test]
fn a_new_flow_gets_its_share_of_an_xcp_link_within_seconds() {
    let mut network = xcp(Case { mbit_s: 20, flows: 2, buffer: 250, seconds: 20, ..Case::default() });
    network.flows[1].app.start = 5000 * MS;
    let outcome = run(&network);
    // From its fourth second on: a tenth of the traffic is shuffled per round trip.
    let of = |flow: usize, from: usize, until: usize| {
        let at = &outcome.flows[flow].delivered_at;
        at[until] - at[from]
    };
    let (old, new) = (of(0, 9, 14), of(1, 4, 9));
    assert!((0.9..1.1).contains(&(f64::from(new) / f64::from(old))), "{old} {new}");
}

#[test]
fn xcp_works_with_losses_cross_traffic_delayed_acks_and_every_recovery() {
    use firstflight_sim::sender::stack::Recovery;
    for recovery in
        [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Rack { sack: true }]
    {
        for every in [1, 2] {
            let bytes = Some(1_000_000);
            let outcome = run(&xcp(Case {
                recovery,
                flows: 4,
                loss: 0.003,
                udp_mbit_s: 3,
                every,
                bytes,
                ..Case::default()
            }));
            assert!(outcome.flows.iter().all(|flow| flow.completions.len() == 1), "{recovery:?}");
        }
    }
}

#[test]
fn vcp_keeps_the_link_busy_and_its_queue_short() {
    // The paper's section 5: utilisation above 90 %, queues below a tenth of the buffer, almost no loss. A
    // single flow needs ln(bdp / 2) / ln(1.0625) spans of 200 ms to fill the link: 82 for 312 packets, 16 s.
    for (mbit_s, rtt, flows) in [(25, 100, 1), (50, 100, 10), (20, 200, 5)] {
        let buffer = (mbit_s * rtt / 8) as u32;
        let outcome = run(&vcp(Case { mbit_s, rtt, flows, buffer, seconds: 60, ..Case::default() }));
        let late: u32 = delivered(&outcome, 30, 55).iter().sum();
        let share = f64::from(late) * 8000.0 / (25.0 * mbit_s as f64 * 1e6);
        assert!(share > 0.88, "{mbit_s} {rtt} {flows}: {share}");
        assert_eq!(outcome.links[0].stats.drops, 0);
        assert!(outcome.links[0].mean_queue < f64::from(buffer) / 10.0, "{}", outcome.links[0].mean_queue);
    }
}

#[test]
fn a_vcp_window_grows_by_one_sixteenth_per_load_period() {
    let outcome = run(&vcp(Case { mbit_s: 25, flows: 1, buffer: 300, seconds: 20, ..Case::default() }));
    // The window grows by 1.0625 per 200 ms from 2 segments: 2 * 1.0625^(5 t) after t seconds, each sent in
    // 90 ms: in the second from 9 to 10 s about 35 segments per round trip, 11 round trips.
    let tenth = delivered(&outcome, 9, 10)[0];
    let expected: f64 = (0..5).map(|i| 2.0 * 1.0625_f64.powi(45 + i) * 200.0 / 90.0).sum();
    assert!((0.85..1.15).contains(&(f64::from(tenth) / expected)), "{tenth} {expected}");
}

#[test]
fn slow_start_before_vcp_ends_at_the_first_overload() {
    use firstflight_contract::Exit;
    let case = Case { mbit_s: 25, schemes: vec!["slow-start", "vcp"], buffer: 600, ..Case::default() };
    for recovery in [
        firstflight_sim::sender::stack::Recovery::Sack,
        firstflight_sim::sender::stack::Recovery::Rack { sack: true },
    ] {
        let outcome = run(&ruled(RouterConfig::Vcp(VcpConfig::default()), Case { recovery, ..case.clone() }));
        let exit = outcome.flows[0].startup_exit.expect("overload ends it");
        assert_eq!(exit.reason, Exit::Mark);
        assert!(exit.at < Nanos(3000 * MS));
    }
}

#[test]
fn vcp_flows_converge_to_even_shares() {
    let outcome = run(&vcp(Case { mbit_s: 20, flows: 4, buffer: 250, seconds: 120, ..Case::default() }));
    let shares = delivered(&outcome, 80, 115);
    let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
    assert!(f64::from(*least) / f64::from(*most) > 0.8, "{shares:?}");
}

#[test]
fn vcp_works_with_losses_cross_traffic_delayed_acks_and_every_recovery() {
    use firstflight_sim::sender::stack::Recovery;
    for recovery in
        [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Rack { sack: true }]
    {
        for every in [1, 2] {
            let bytes = Some(300_000);
            let case = Case {
                recovery,
                flows: 4,
                loss: 0.003,
                udp_mbit_s: 3,
                every,
                bytes,
                seconds: 60,
                ..Case::default()
            };
            assert!(run(&vcp(case)).flows.iter().all(|flow| flow.completions.len() == 1), "{recovery:?}");
        }
    }
}
