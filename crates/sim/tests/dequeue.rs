//! Dequeue-time queues give the same simulation in both modes, and a discipline equivalent to drop-tail gives
//! the same result as drop-tail.

use crate::common::{Case, MS, line_of_routers, network, run, stacks};
use firstflight_contract::Rate;
use firstflight_net::queue::Room;
use firstflight_net::queue::codel::CodelConfig;
use firstflight_net::queue::fq_codel::FqCodelConfig;
use firstflight_net::queue::red::RedConfig;
use firstflight_net::rate_trace::RateTrace;
use firstflight_sim::config::{Network, QueueConfig, UdpConfig};
use firstflight_sim::outcome::Outcome;
use firstflight_sim::sender::stack::Recovery;
use std::sync::Arc;

/// Asserts that `net` has the same outcome with drop-tail queues and with equivalent dequeue-time queues.
fn same_as_drop_tail(net: &Network) -> Outcome {
    let on_arrival = run(net);
    let mut at_dequeue = net.clone();
    for link in &mut at_dequeue.links {
        link.queue = match link.queue {
            QueueConfig::Packets(limit) => QueueConfig::Priority(Room::Packets(limit)),
            QueueConfig::Bytes(limit) => QueueConfig::Priority(Room::Bytes(limit)),
            other => other,
        };
    }
    let mut outcome = run(&at_dequeue);
    for (other, link) in outcome.links.iter_mut().zip(&on_arrival.links) {
        // A drop-tail link counts the packets that wait when the wait is longest, which need not be the
        // maximum.
        assert!(other.stats.max_queue >= link.stats.max_queue);
        other.stats.max_queue = link.stats.max_queue;
    }
    assert_eq!(outcome, on_arrival);
    assert!(on_arrival.flows.iter().any(|flow| flow.delivered > 0));
    on_arrival
}

#[test]
fn without_droppable_packets_a_priority_queue_equals_drop_tail() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack { sack: true }] {
        for loss in [0.0, 0.002] {
            let case = Case { recovery, flows: 8, buffer: 30, every: 2, loss, seconds: 8, ..Case::default() };
            let outcome = same_as_drop_tail(&network(&case));
            assert!(outcome.links[0].stats.drops > 0);
        }
    }
}

#[test]
fn it_equals_drop_tail_with_pauses_datagrams_and_handshakes() {
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

#[test]
fn it_equals_drop_tail_on_a_line_with_cross_traffic() {
    let case = Case { udp_mbit_s: 1, every: 2, buffer: 30, seconds: 10, ..Case::default() };
    let spans = [(0, 4), (0, 1), (1, 2), (2, 3), (3, 4), (1, 3)];
    same_as_drop_tail(&line_of_routers(&case, &[10_000, 25_000, 5_000, 1_000], &spans));
    // Too short for any stage to run ahead of another.
    same_as_drop_tail(&line_of_routers(&case, &[1, 1, 1, 1], &spans));
}

#[test]
fn it_equals_drop_tail_at_the_end_of_the_path_of_a_single_flow() {
    let case = Case { buffer: 20, seconds: 5, udp_mbit_s: 3, ..Case::default() };
    let mut net = line_of_routers(&case, &[20_000], &[(0, 1)]);
    net.udp = vec![UdpConfig { path: vec![0], ..net.udp[0].clone() }];
    same_as_drop_tail(&net);
}

#[test]
fn it_equals_drop_tail_with_a_byte_limit_and_a_changing_rate() {
    let rates = (0..100).map(|i| (i * 100 * MS, [20_000_000, 2_000_000, 0][i as usize % 3]));
    let trace = RateTrace::rates(rates.chain([(10_000 * MS, 10_000_000)]).collect());
    let case = Case { flows: 4, every: 2, seconds: 10, ..Case::default() };
    let mut net = network(&case);
    net.links[0].queue = QueueConfig::Bytes(30_000);
    same_as_drop_tail(&net);
    net.links[0].trace = Some(Arc::new(trace));
    same_as_drop_tail(&net);
}

fn codel(ecn: bool) -> QueueConfig {
    QueueConfig::Codel(CodelConfig { ecn, ..CodelConfig::STANDARD }, Room::Packets(1000))
}

fn fq_codel(ecn: bool, room: Room) -> QueueConfig {
    let codel = CodelConfig { ecn, ..CodelConfig::STANDARD };
    QueueConfig::FqCodel(FqCodelConfig { codel, quantum: 1514, flows: 1024, room })
}

fn choke(ecn: bool) -> QueueConfig {
    QueueConfig::Choke(RedConfig {
        min: 10.0,
        max: 30.0,
        weight: 0.02,
        max_p: 0.1,
        gentle: true,
        ecn,
        wait: true,
        limit: 60,
        mean_bytes: None,
        typical_ns: 800_000,
    })
}

#[test]
fn every_discipline_drops_or_marks_and_agrees_in_both_modes() {
    for ecn in [false, true] {
        for queue in [codel(ecn), fq_codel(ecn, Room::Packets(1000)), choke(ecn)] {
            let case = Case { queue: Some(queue), ecn, flows: 4, every: 2, seconds: 7, ..Case::default() };
            let outcome = run(&network(&case));
            let stats = outcome.links[0].stats;
            // With CHOKe, four flows lose packets to the comparison before RED marks any.
            let marks = ecn && !matches!(queue, QueueConfig::Choke(_));
            assert!(stats.drops > 0 || marks, "{queue:?}");
            assert_eq!(stats.marks > 0, marks, "{queue:?}");
            assert!(outcome.links[0].utilization > 0.7, "{queue:?} {}", outcome.links[0].utilization);
        }
    }
}

#[test]
fn both_modes_agree_on_a_line_of_different_disciplines() {
    let spans = [(0, 4), (0, 1), (1, 2), (2, 3), (3, 4), (1, 3)];
    let case = Case { udp_mbit_s: 6, buffer: 30, loss: 0.001, seconds: 6, ..Case::default() };
    let mut net = line_of_routers(&case, &[10_000, 25_000, 5_000, 1_000], &spans);
    for (link, queue) in
        net.links.iter_mut().zip([codel(false), fq_codel(false, Room::Bytes(20_000)), choke(false)])
    {
        link.queue = queue;
    }
    let outcome = run(&net);
    assert!(outcome.links[..3].iter().all(|link| link.stats.drops > 0), "{:?}", outcome.links);
}

/// Packets that one TCP flow delivers over 10 Mbit/s from second 4 to second 8, beside datagrams at 20 Mbit/s
/// from 3 s on.
fn beside_a_flood(queue: QueueConfig) -> u32 {
    let case = Case { queue: Some(queue), udp_mbit_s: 20, rtt: 40, seconds: 9, ..Case::default() };
    let flow = &run(&network(&case)).flows[0];
    flow.delivered_at[7] - flow.delivered_at[3]
}

#[test]
fn beside_a_flood_flow_queues_give_a_flow_half_the_link_and_drop_tail_almost_nothing() {
    // Half of 10 Mbit/s in packets of 1000 bytes is 625 per second, 2500 in four seconds. CoDel halves the
    // window at times, so at least three quarters of that are expected, and never more than all of it.
    let fair = beside_a_flood(fq_codel(false, Room::Packets(1000)));
    assert!((1875..=2500).contains(&fair), "{fair}");
    let unfair = beside_a_flood(QueueConfig::Packets(60));
    assert!(unfair < 100, "{unfair}");
}

#[test]
fn codel_keeps_a_deep_buffer_nearly_empty() {
    let mean_wait = |queue| {
        let case = Case { queue: Some(queue), rtt: 50, seconds: 20, ..Case::default() };
        let link = run(&network(&case)).links[0].clone();
        // A window that halves without a queue to sustain it uses three quarters of the link.
        assert!(link.utilization > 0.75);
        // A packet takes 0.8 ms.
        link.mean_queue * 0.8
    };
    // RFC 8289 section 4: the standing queue is about the target, 5 ms; a buffer of 500 packets holds 400 ms.
    assert!(mean_wait(codel(false)) < 10.0);
    assert!(mean_wait(QueueConfig::Packets(500)) > 100.0);
}

#[test]
fn a_slow_return_path_that_keeps_the_newest_acknowledgement_carries_the_whole_rate() {
    // Packets of 1000 bytes at 10 Mbit/s are 1250 in a second. 312.5 ACKs of 40 bytes fit into 100 kbit/s: one for four packets.
    let delivered = |queue, recovery| {
        let case = Case { recovery, ssthresh: Some(250), buffer: 300, seconds: 12, ..Case::default() };
        let mut net = network(&case);
        (net.links[1].rate, net.links[1].queue) = (Rate(100_000), queue);
        let outcome = run(&net);
        let flow = &outcome.flows[0];
        (flow.delivered_at[11] - flow.delivered_at[5], outcome.links[1].stats.drops)
    };
    let room = Room::Packets(10_000);
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack { sack: true }] {
        // Every ACK of a drop-tail queue arrives, and each reports one packet.
        let (slow, drops) = delivered(QueueConfig::Packets(10_000), recovery);
        assert!((1860..=1876).contains(&slow) && drops == 0, "{slow} {drops}");
        let (fast, drops) = delivered(QueueConfig::AckFilter(room), recovery);
        assert!((7490..=7510).contains(&fast), "{fast}");
        // Three of four ACKs are dropped.
        assert!(drops > 5000, "{drops}");
    }
}

#[test]
fn a_return_path_that_filters_none_is_drop_tail() {
    // Each ACK leaves before the next one comes.
    let case = Case { buffer: 30, every: 2, seconds: 8, ..Case::default() };
    let plain = network(&case);
    let mut net = plain.clone();
    net.links[1].queue = QueueConfig::AckFilter(Room::Packets(case.buffer));
    let (outcome, expected) = (run(&net), run(&plain));
    assert_eq!(outcome.flows, expected.flows);
    assert_eq!(outcome.links[1].stats.drops, 0);
}

#[test]
fn acknowledgements_of_quic_cannot_be_read_and_all_arrive() {
    let with = |queue| {
        let mut net = network(&Case { buffer: 300, seconds: 6, ..Case::default() });
        net.flows[0].stack = stacks::quic().into();
        (net.links[1].rate, net.links[1].queue) = (Rate(100_000), queue);
        run(&net)
    };
    let (filtered, plain) =
        (with(QueueConfig::AckFilter(Room::Packets(10_000))), with(QueueConfig::Packets(10_000)));
    assert_eq!(filtered.flows, plain.flows);
    assert!(
        filtered.links[1].stats.drops == 0 && filtered.links[1].mean_queue > 10.0,
        "{:?}",
        filtered.links[1]
    );
}

#[test]
fn stages_with_many_feeds_stand_beside_stages_with_few() {
    // The first of three links has 200 flows, whose packets wait in a calendar; the others have two.
    let case = Case { buffer: 300, seconds: 9, mbit_s: 40, ..Case::default() };
    let spans: Vec<(usize, usize)> =
        std::iter::repeat_n((0, 1), 200).chain([(0, 3), (1, 3), (2, 3)]).collect();
    let outcome = run(&line_of_routers(&case, &[10_000, 25_000, 5_000], &spans));
    assert!(outcome.links[..3].iter().all(|link| link.stats.packets > 0), "{:?}", outcome.links);
}
