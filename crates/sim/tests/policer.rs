//! A bottleneck behind a token-bucket policer.

mod common;

use common::{Case, MS, audited, network, run};
use firstflight_contract::{Nanos, Rate};
use firstflight_net::queue::Room;
use firstflight_net::queue::policer::PolicerConfig;
use firstflight_sim::audit::{Rule, audit};
use firstflight_sim::config::{Network, QueueConfig, UdpConfig};
use firstflight_sim::engine::Mode;
use firstflight_sim::sender::stack::Recovery;

fn policer(rate: u64, burst: u64, room: Room) -> QueueConfig {
    QueueConfig::Policer(PolicerConfig { rate: Rate(rate), burst }, room)
}

fn policed(case: Case) -> Network {
    let room = Room::Packets(case.buffer);
    network(&Case { mbit_s: 50, queue: Some(policer(8_000_000, 60_000, room)), ..case })
}

#[test]
fn a_constant_rate_source_gets_the_burst_and_the_rate() {
    // A packet of 1000 bytes every 0.5 ms for a second. The bucket is full only before the first packet, so that tokens for
    // 60 000 + 999.5 ms x 1000 B/ms = 1 059 500 bytes pass 1059 of 2000 packets.
    let mut network = policed(Case { flows: 1, bytes: Some(1), seconds: 2, ..Case::default() });
    network.flows.clear();
    network.until_finished = false;
    network.udp = vec![UdpConfig {
        name: "cbr".into(),
        path: vec![0],
        size: 1000,
        rate: Rate(16_000_000),
        on: vec![(Nanos(0), Nanos(1000 * MS))],
    }];
    let stats = run(&network).links[0].stats;
    assert_eq!((stats.packets, stats.drops), (1059, 941));
}

#[test]
fn modes_agree_behind_a_policer_with_losses_in_bursts() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Rack { sack: true }] {
        for (room, loss) in [(Room::Packets(60), 0.0), (Room::Bytes(20_000), 0.001)] {
            let mut network =
                policed(Case { recovery, flows: 5, loss, udp_mbit_s: 2, seconds: 8, ..Case::default() });
            network.links[0].queue = policer(8_000_000, 60_000, room);
            network.links[0].loss_burst = 3.0;
            let outcome = run(&network);
            assert!(outcome.links[0].stats.drops > 0);
            assert!(outcome.flows.iter().all(|flow| flow.delivered > 50));
        }
    }
}

#[test]
fn the_auditor_finds_another_rate_and_another_burst() {
    let network = policed(Case { flows: 2, seconds: 5, ..Case::default() });
    let (outcome, recorder) = audited(&network, Mode::Fused);
    let rules = |rate, burst| {
        let mut other = network.clone();
        other.links[0].queue = policer(rate, burst, Room::Packets(60));
        let violations = audit(&other, &outcome, &recorder.log);
        violations.into_iter().map(|violation| violation.rule).collect::<Vec<_>>()
    };
    assert_eq!(rules(8_000_000, 60_000), []);
    assert!(rules(8_000_000, 59_000).contains(&Rule::Policing));
    assert!(rules(7_900_000, 60_000).contains(&Rule::Policing));
    assert!(rules(8_000_000, 61_000).contains(&Rule::Buffer));
    assert!(rules(8_100_000, 60_000).contains(&Rule::Buffer));
}
