//! Links whose packets overtake each other.

use crate::common::{Case, MS, audited, line_of_routers, network, run};
use firstflight_contract::Nanos;
use firstflight_net::lanes::LanesConfig;
use firstflight_net::queue::Room;
use firstflight_net::queue::codel::CodelConfig;
use firstflight_sim::audit::{Event, Rule, audit};
use firstflight_sim::config::{Network, QueueConfig};
use firstflight_sim::engine::Mode;
use firstflight_sim::observe::Kind;
use firstflight_sim::sender::stack::Recovery;

fn lanes(share: f64, ms: u64) -> Option<LanesConfig> {
    Some(LanesConfig { share, burst: 1.0, delay: Nanos(ms * MS) })
}

/// Segments in the order of their arrival at the receiver of the first flow.
fn arrivals(log: &[Event]) -> Vec<u32> {
    let data = log.iter().filter_map(|event| match event {
        Event::Arrived { packet, .. } if packet.kind == Kind::Data && packet.flow == 0 => Some(packet.seq),
        _ => None,
    });
    data.collect()
}

fn reordered(network: &Network) -> usize {
    let (_, log) = audited(network, Mode::Fused);
    arrivals(&log.log).windows(2).filter(|pair| pair[1] < pair[0]).count()
}

#[test]
fn modes_agree_on_links_that_reorder_in_both_directions() {
    let codel = CodelConfig { target: 5 * MS, interval: 100 * MS, ecn: false };
    for recovery in
        [Recovery::NewReno, Recovery::Sack, Recovery::Rack { sack: true }, Recovery::Rack { sack: false }]
    {
        for queue in [None, Some(QueueConfig::Codel(codel, Room::Packets(60)))] {
            let case =
                Case { recovery, queue, flows: 4, udp_mbit_s: 1, loss: 0.001, seconds: 8, ..Case::default() };
            let mut network = network(&case);
            network.links[0].lanes = lanes(0.05, 3);
            network.links[1].lanes = lanes(0.2, 7);
            let outcome = run(&network);
            assert!(outcome.flows.iter().all(|flow| flow.delivered > 50), "{recovery:?}");
            assert!(reordered(&network) > 10, "{recovery:?}");
        }
    }
}

#[test]
fn stages_agree_where_two_links_of_a_path_reorder() {
    let case = Case { udp_mbit_s: 1, every: 2, buffer: 30, ..Case::default() };
    let spans = [(0, 3), (3, 0), (0, 1), (1, 2), (2, 3)];
    let mut network = line_of_routers(&case, &[10_000, 25_000, 1_000], &spans);
    for link in network.links.iter_mut().filter(|link| link.queue != QueueConfig::Unlimited) {
        link.lanes = lanes(0.1, 2);
    }
    assert!(run(&network).flows.iter().all(|flow| flow.delivered > 50));
    assert!(reordered(&network) > 10);
}

#[test]
fn packets_further_apart_than_the_lanes_keep_their_order() {
    // At 10 Mbit/s full packets follow each other by 0.8 ms at the least: a lane that takes 0.7 ms longer reorders none. The
    // buffer holds all that is sent, so that a smaller number is no retransmission.
    let reorders = |us: u64| {
        let mut network =
            network(&Case { flows: 1, mbit_s: 10, buffer: 10_000, seconds: 5, ..Case::default() });
        network.links[0].lanes = Some(LanesConfig { share: 0.3, burst: 1.0, delay: Nanos(us * 1000) });
        reordered(&network)
    };
    assert_eq!(reorders(700), 0);
    assert!(reorders(900) > 100);
}

#[test]
fn the_auditor_finds_a_packet_that_overtakes_where_the_link_keeps_the_order() {
    let mut network = network(&Case { flows: 1, seconds: 2, ..Case::default() });
    network.links[0].lanes = lanes(0.1, 3);
    let (outcome, recorder) = audited(&network, Mode::Fused);
    network.links[0].lanes = None;
    let violations = audit(&network, &outcome, &recorder.log);
    assert!(violations.iter().any(|violation| violation.rule == Rule::Capacity), "{violations:?}");
}
