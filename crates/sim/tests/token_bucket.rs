//! A bottleneck behind a token bucket: a policer or a shaper.

use crate::common::{Case, MS, RED, audited, network, run};
use firstflight_contract::{Nanos, Rate};
use firstflight_net::queue::Room;
use firstflight_net::queue::red::RedConfig;
use firstflight_net::token_bucket::BucketConfig;
use firstflight_sim::audit::{Rule, audit};
use firstflight_sim::config::{Network, QueueConfig, UdpConfig};
use firstflight_sim::engine::Mode;
use firstflight_sim::sender::stack::Recovery;

fn policer(rate: u64, burst: u64, room: Room) -> QueueConfig {
    QueueConfig::Policer(BucketConfig { rate: Rate(rate), burst }, room)
}

fn policed(case: Case) -> Network {
    let room = Room::Packets(case.buffer);
    network(&Case { mbit_s: 50, queue: Some(policer(8_000_000, 60_000, room)), ..case })
}

/// A packet of 1000 bytes every 0.5 ms for a second.
fn source() -> UdpConfig {
    UdpConfig {
        name: "cbr".into(),
        path: vec![0],
        size: 1000,
        rate: Rate(16_000_000),
        on: vec![(Nanos(0), Nanos(1000 * MS))],
    }
}

#[test]
fn a_constant_rate_source_gets_the_burst_and_the_rate() {
    // The bucket is full only before the first packet, so that tokens for
    // 60 000 + 999.5 ms x 1000 B/ms = 1 059 500 bytes pass 1059 of 2000 packets.
    let mut network = policed(Case { flows: 1, bytes: Some(1), seconds: 2, ..Case::default() });
    network.flows.clear();
    network.until_finished = false;
    network.udp = vec![source()];
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

fn shaped(case: Case, queue: QueueConfig) -> Network {
    let mut network = network(&Case { mbit_s: 50, queue: Some(queue), ..case });
    network.links[0].shaper = Some(BucketConfig { rate: Rate(8_000_000), burst: 60_000 });
    network
}

#[test]
fn a_constant_rate_source_waits_for_the_tokens_beyond_its_burst() {
    // 2000 packets of 1000 bytes in a second. Tokens for the last of them are there after (2 000 000 - 60 000) B / 1 MB/s
    // = 1.94 s, and it takes 0.16 ms.
    let case = Case { flows: 1, bytes: Some(1), seconds: 3, ..Case::default() };
    let mut network = shaped(case, QueueConfig::Packets(10_000));
    network.flows.clear();
    network.until_finished = false;
    network.udp = vec![source()];
    let stats = run(&network).links[0].stats;
    assert_eq!((stats.packets, stats.drops, stats.busy_until), (2000, 0, 1_940_160_000));
}

#[test]
fn modes_agree_behind_a_shaper() {
    let bucket = BucketConfig { rate: Rate(20_000_000), burst: 30_000 };
    for queue in [
        QueueConfig::Packets(60),
        QueueConfig::Bytes(20_000),
        QueueConfig::Red(RedConfig { typical_ns: 160_000, ..RED }),
        QueueConfig::Policer(bucket, Room::Packets(60)),
    ] {
        for (mbit_s, recovery) in [(50, Recovery::Sack), (97, Recovery::Rack { sack: true })] {
            let case = Case { recovery, flows: 5, loss: 0.001, udp_mbit_s: 2, seconds: 8, ..Case::default() };
            let mut network = shaped(case, queue);
            // A rate at which a byte takes no whole number of nanoseconds.
            network.links[0].rate = Rate(mbit_s * 1_000_000);
            let outcome = run(&network);
            assert!(outcome.links[0].stats.drops > 0);
            let delivered: u32 = outcome.flows.iter().map(|flow| flow.delivered).sum();
            // At most the burst and the rate: 60 + 8000 packets, less the UDP source's.
            assert!((3000..=8060).contains(&delivered), "{delivered}");
        }
    }
}

#[test]
fn the_auditor_finds_another_shaper() {
    let network = shaped(Case { flows: 2, seconds: 5, ..Case::default() }, QueueConfig::Packets(60));
    let (outcome, recorder) = audited(&network, Mode::Fused);
    for (rate, burst) in [(8_000_000, 59_000), (8_000_000, 61_000), (7_999_999, 60_000), (8_000_001, 60_000)]
    {
        let mut other = network.clone();
        other.links[0].shaper = Some(BucketConfig { rate: Rate(rate), burst });
        let violations = audit(&other, &outcome, &recorder.log);
        assert!(violations.iter().any(|violation| violation.rule == Rule::Capacity), "{rate} {burst}");
    }
}
