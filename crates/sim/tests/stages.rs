//! Stages that run ahead of each other give the same results as per-hop execution on every kind of topology.

use std::sync::Arc;

use crate::common::{Case, MS, line_of_routers, network, run};
use firstflight_contract::Nanos;
use firstflight_net::rate_trace::RateTrace;
use firstflight_paths::Policy;
use firstflight_sim::config::{LinkConfig, Network, UdpConfig};

fn delivers(net: &Network) {
    let outcome = run(net);
    assert!(outcome.flows.iter().any(|flow| flow.delivered > 100), "{:?}", outcome.flows);
    assert!(outcome.links.iter().any(|link| link.stats.drops > 0));
}

#[test]
fn stages_agree_on_a_parking_lot_with_two_way_and_cross_traffic() {
    let case = Case { udp_mbit_s: 1, every: 2, buffer: 30, ..Case::default() };
    delivers(&line_of_routers(
        &case,
        &[10_000, 25_000, 5_000, 1_000],
        &[(0, 4), (4, 0), (0, 1), (1, 2), (2, 3), (3, 4), (3, 1), (2, 0)],
    ));
}

#[test]
fn stages_agree_where_links_are_too_short_to_run_ahead() {
    // An ACK of 40 bytes takes 0.32 ms at 1 Mbit/s, and 32 ns at 10 Gbit/s, less than the minimum turn.
    for (mbit_s, end) in [(1, 20_000 * MS), (10_000, 20 * MS)] {
        let case = Case { mbit_s, buffer: 10, ..Case::default() };
        let mut net = line_of_routers(&case, &[0, 0, 0], &[(0, 3), (3, 0), (0, 2), (1, 3)]);
        net.end = Nanos(end);
        net.flows.iter_mut().for_each(|flow| flow.app.start /= 100);
        delivers(&net);
    }
}

#[test]
fn stages_agree_with_one_long_hop_among_short_ones() {
    let case = Case { mbit_s: 5, buffer: 20, loss: 0.001, ..Case::default() };
    delivers(&line_of_routers(&case, &[1, 60_000, 1], &[(0, 3), (0, 3), (3, 0), (1, 2)]));
}

#[test]
fn stages_agree_with_paced_senders_and_pauses() {
    for startup in ["jump-start", "hybrid-slow-start"] {
        let bytes = Some(300_000);
        let case = Case {
            schemes: vec![startup, "reno"],
            bytes,
            pauses: vec![0, 500],
            initial_window: 10,
            buffer: 20,
            ..Case::default()
        };
        delivers(&line_of_routers(&case, &[2_000, 30_000], &[(0, 2), (0, 1), (1, 2), (2, 0)]));
    }
}

#[test]
fn stages_agree_when_senders_share_state() {
    let spans = [(0, 3), (3, 0), (0, 1), (0, 2), (1, 3), (0, 3)];
    // Second case: no time between the senders and the first stage. Third case: links too short for stages to
    // take turns.
    for (delays_us, mbit_s) in [([10_000, 25_000, 5_000], 10), ([0, 0, 0], 5), ([0, 0, 0], 10_000)] {
        for startup in ["js", "miss", "spand", "congestion-manager"] {
            let case = Case {
                schemes: vec![startup, "reno"],
                bytes: Some(200_000),
                pauses: vec![0, 500],
                handshake: true,
                every: 2,
                mbit_s,
                udp_mbit_s: 1,
                buffer: 20,
                ..Case::default()
            };
            let mut net = line_of_routers(&case, &delays_us, &spans);
            net.flows.iter_mut().for_each(|flow| flow.sharing.policy = Policy::new(startup, &[]).ok());
            delivers(&net);
        }
    }
}

#[test]
fn stages_agree_on_a_path_with_more_links_than_a_leg_holds() {
    let delays: Vec<u64> = (1..24).map(|i| i * 1000).collect();
    delivers(&line_of_routers(&Case { buffer: 15, ..Case::default() }, &delays, &[(0, 23)]));
}

#[test]
fn stages_agree_for_a_flow_that_shares_no_link() {
    let case = Case { buffer: 20, udp_mbit_s: 3, seconds: 5, ..Case::default() };
    let mut net = line_of_routers(&case, &[20_000], &[(0, 1)]);
    delivers(&net);
    // Adds a UDP source with a link of its own.
    let own = LinkConfig { name: "own".into(), ..net.links[0].clone() };
    net.links.push(own);
    net.udp = vec![UdpConfig { path: vec![2], on: vec![(Nanos(0), Nanos(4000 * MS))], ..net.udp[0].clone() }];
    delivers(&net);
}

/// 10 Mbit/s on average as bunched opportunities: five at once every 6 ms.
fn bunches() -> Option<Arc<RateTrace>> {
    Some(Arc::new(RateTrace::opportunities(vec![6 * MS; 5])))
}

/// 10 Mbit/s as rates: 20, 2 and 0 Mbit/s for 40 ms each in turn, and finally a constant 10.
fn steps() -> Option<Arc<RateTrace>> {
    let rates = (0..300).map(|i| (i * 40 * MS, [20_000_000, 2_000_000, 0][i as usize % 3]));
    Some(Arc::new(RateTrace::rates(rates.chain([(12_000 * MS, 10_000_000)]).collect())))
}

#[test]
fn stages_agree_on_links_whose_rate_changes() {
    for (near, far) in [(bunches(), None), (steps(), None), (bunches(), steps())] {
        for loss in [0.0, 0.01] {
            let case = Case { udp_mbit_s: 1, every: 2, buffer: 30, loss, ..Case::default() };
            let mut net =
                line_of_routers(&case, &[10_000, 0, 5_000], &[(0, 3), (3, 0), (0, 2), (1, 3), (2, 0)]);
            (net.links[0].trace, net.links[1].trace) = (near.clone(), far.clone());
            (net.links[3].trace, net.links[4].trace) = (far.clone(), near.clone());
            delivers(&net);
        }
    }
}

#[test]
fn stages_agree_with_marks_on_a_link_whose_rate_changes() {
    for trace in [bunches(), steps()] {
        let case = Case { red: true, ecn: true, flows: 4, ..Case::default() };
        let mut net = network(&case);
        net.links[0].trace = trace;
        let outcome = run(&net);
        assert!(outcome.links[0].stats.marks > 0 && outcome.flows.iter().all(|flow| flow.delivered > 100));
    }
}

#[test]
fn a_saturated_link_uses_the_capacity_of_its_trace() {
    // Packets of 1000 bytes, 1004 with mahimahi's header, over 1504 bytes per millisecond: 1000 / 1004 of
    // 1504 is 1498 of the 1500 bytes of a full packet. Rates are used to the last byte. Both miss a little at
    // the start.
    let steady = RateTrace::opportunities(vec![MS]);
    let rates = RateTrace::rates((0..400).map(|i| (i * 50 * MS, 11_000_000 + (i % 3) * 1_000_000)).collect());
    for (trace, share) in [(steady, 1504.0 / 1004.0 / 1.5), (rates, 1.0)] {
        let mut net = network(&Case { mbit_s: 12, flows: 4, buffer: 400, ..Case::default() });
        net.links[0].trace = Some(Arc::new(trace));
        let used = run(&net).links[0].utilization;
        assert!((share - used) / share < 0.03 && used <= share, "{used} of {share}");
    }
}

/// Small enough for Miri, which checks every unchecked access of the wire and the feeds in this test.
#[test]
fn twenty_segments_each_way_pass_a_buffer_of_three() {
    let case = Case { bytes: Some(20_000), buffer: 3, initial_window: 4, seconds: 5, ..Case::default() };
    let outcome = run(&line_of_routers(&case, &[5_000, 5_000], &[(0, 2), (2, 0), (0, 1)]));
    assert!(outcome.flows.iter().all(|flow| flow.delivered_bytes == 20_000));
}
