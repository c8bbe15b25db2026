//! Links that hold their packets until they are free are the same simulation in both modes, and under a discipline that
//! drop-tail could have stood in for, the same as drop-tail.

mod common;

use common::{Case, MS, network, run};
use firstflight_control::units::{Nanos, Rate};
use firstflight_net::queue::Room;
use firstflight_net::trace::Trace;
use firstflight_sim::config::{LinkConfig, Network, QueueConfig, UdpConfig};
use firstflight_sim::outcome::Outcome;
use firstflight_sim::sender::stack::Recovery;
use std::sync::Arc;

/// Runs `net` with its drop-tail queues as they are, and then with queues that hold their packets: the same outcome.
fn same_as_drop_tail(net: &Network) -> Outcome {
    let on_arrival = run(net);
    let mut held = net.clone();
    for link in &mut held.links {
        link.queue = match link.queue {
            QueueConfig::Packets(limit) => QueueConfig::Priority(Room::Packets(limit)),
            QueueConfig::Bytes(limit) => QueueConfig::Priority(Room::Bytes(limit)),
            other => other,
        };
    }
    let mut outcome = run(&held);
    for (held, link) in outcome.links.iter_mut().zip(&on_arrival.links) {
        // A link that is not called counts what waited when the wait was longest, which need not be the most packets.
        assert!(held.stats.max_queue >= link.stats.max_queue);
        held.stats.max_queue = link.stats.max_queue;
    }
    assert_eq!(outcome, on_arrival);
    assert!(on_arrival.flows.iter().any(|flow| flow.delivered > 0));
    on_arrival
}

#[test]
fn a_dumbbell_without_droppable_packets_is_one_of_drop_tail() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack { sack: true }] {
        for loss in [0.0, 0.002] {
            let case = Case { recovery, flows: 8, buffer: 30, every: 2, loss, seconds: 8, ..Case::default() };
            let outcome = same_as_drop_tail(&network(&case));
            assert!(outcome.links[0].stats.drops > 0);
        }
    }
}

#[test]
fn finite_flows_that_pause_beside_datagrams_and_a_handshake() {
    let case = Case {
        bytes: Some(200_000),
        pauses: vec![300, 1000],
        handshake: true,
        flows: 5,
        buffer: 10,
        ..Case::default()
    };
    same_as_drop_tail(&network(&case));
    same_as_drop_tail(&network(&Case { udp_mbit_s: 5, ..case }));
}

/// A chain of routers in which every link has a queue.
fn chain(case: &Case, delays_us: &[u64], spans: &[(usize, usize)]) -> Network {
    let mut net = network(&Case { flows: spans.len(), ..case.clone() });
    let link = |i: usize, us: u64| LinkConfig {
        name: format!("link{i}"),
        rate: Rate(case.mbit_s * 1_000_000),
        trace: None,
        delay: Nanos(us * 1000),
        queue: QueueConfig::Packets(case.buffer),
        loss: case.loss,
    };
    let hops = delays_us.len();
    net.links = (0..2 * hops).map(|i| link(i, delays_us[i % hops])).collect();
    for (flow, &(from, to)) in net.flows.iter_mut().zip(spans) {
        flow.forward = (from..to).collect();
        flow.reverse = (from..to).rev().map(|i| hops + i).collect();
    }
    for udp in &mut net.udp {
        udp.path = (0..hops).collect();
    }
    net
}

#[test]
fn queues_that_hold_in_a_row_with_traffic_across() {
    let case = Case { udp_mbit_s: 1, every: 2, buffer: 30, seconds: 10, ..Case::default() };
    let spans = [(0, 4), (0, 1), (1, 2), (2, 3), (3, 4), (1, 3)];
    same_as_drop_tail(&chain(&case, &[10_000, 25_000, 5_000, 1_000], &spans));
    // So close that no stage may go ahead of another.
    same_as_drop_tail(&chain(&case, &[1, 1, 1, 1], &spans));
}

#[test]
fn one_flow_alone_whose_path_ends_with_a_queue_that_holds() {
    let case = Case { buffer: 20, seconds: 5, udp_mbit_s: 3, ..Case::default() };
    let mut net = chain(&case, &[20_000], &[(0, 1)]);
    net.udp = vec![UdpConfig { path: vec![0], ..net.udp[0].clone() }];
    same_as_drop_tail(&net);
}

#[test]
fn room_in_bytes_and_a_rate_that_changes() {
    let rates = (0..100).map(|i| (i * 100 * MS, [20_000_000, 2_000_000, 0][i as usize % 3]));
    let trace = Trace::rates(rates.chain([(10_000 * MS, 10_000_000)]).collect());
    let case = Case { flows: 4, every: 2, seconds: 10, ..Case::default() };
    let mut net = network(&case);
    net.links[0].queue = QueueConfig::Bytes(30_000);
    same_as_drop_tail(&net);
    net.links[0].trace = Some(Arc::new(trace));
    same_as_drop_tail(&net);
}
