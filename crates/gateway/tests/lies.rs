//! Clients that lie: at most a third of a prefix's hosts.

use crate::common::{self, *};
use firstflight_contract::Nanos;
use firstflight_gateway::{Connection, Gateway, STOCK};
use proptest::prelude::*;

/// Reports of a server about a lying client.
#[derive(Clone, Copy, Debug)]
struct Lie {
    who: u8,
    rate: u64,
    rtt: u64,
    bytes: u64,
    limited: bool,
    lost: u32,
    planned: bool,
    retransmits: u32,
}

fn lie() -> impl Strategy<Value = Lie> {
    let rate = prop_oneof![Just(1u64), 1..100_000u64, 1_000_000..2_000_000_000u64, Just(u64::MAX)];
    let rtt = prop_oneof![1..1_000_000u64, 1_000_000..10_000_000_000u64];
    (any::<u8>(), rate, rtt, 1..100_000_000u64, any::<bool>(), 0..100u32, any::<bool>(), 0..1000u32).prop_map(
        |(who, rate, rtt, bytes, limited, lost, planned, retransmits)| Lie {
            who,
            rate,
            rtt,
            bytes,
            limited,
            lost,
            planned,
            retransmits,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(18),
        cases: 300,
        ..ProptestConfig::default()
    })]
    /// Between two reports of its honest hosts, each of the liars may report any number of times. The window stays between
    /// half of the least and the greatest window that honest hosts measure: one step, a halving, below what they justify.
    #[test]
    fn a_third_of_the_hosts_moves_the_window_by_one_step_at_most(
        honest in 2..=7u8,
        window in 12..=40u32,
        lies in proptest::collection::vec(lie(), 1..200),
        spread in 0..=20u32,
    ) {
        let liars = honest / 2;
        let honest = honest.max(3);
        let measured = |number: u8, turn: u32| window + (u32::from(number) * 7 + turn * 3) % (window * spread / 100 + 1);
        let (least, most) = (window, window + window * spread / 100);
        let mut gateway = Gateway::new(enforcing());
        let mut now = 1.0;
        // Honest hosts alone lead to the whole window.
        for turn in 0..8 {
            for number in 1..=honest {
                let connection = exact(now, host(number), measured(number, turn));
                let plan = common::window(&gateway);
                report(&mut gateway, &plan.map_or(connection, |plan| planned(connection, plan)));
                now += 0.1;
            }
        }
        let before = common::window(&gateway).expect("a plan");
        prop_assert!((least * 7 / 8..=most).contains(&before), "{before}");
        let check = |gateway: &Gateway, what: &str| {
            let plan = gateway.explain(host(1)).plan;
            let now = plan.map_or(STOCK, |plan| plan.window);
            let low = (least / 2).max(STOCK).min(least);
            prop_assert!((low..=most).contains(&now), "{what}: {now} outside {low} to {most}");
            if let Some(plan) = plan {
                prop_assert!(plan.rtt.0 < RTT && RTT < plan.rtt.1, "{what}: {:?}", plan.rtt);
            }
            Ok(())
        };
        for (turn, lie) in lies.iter().enumerate() {
            if liars > 0 {
                let peer = host(100 + lie.who % liars);
                let connection = Connection {
                    rate: lie.rate,
                    min_rtt: Nanos(lie.rtt),
                    bytes: lie.bytes,
                    limited: lie.limited,
                    retransmits: lie.retransmits,
                    first_window_lost: lie.lost,
                    ..exact(now, peer, window)
                };
                let plan = common::window(&gateway).unwrap_or(STOCK);
                let connection = if lie.planned { planned(connection, plan) } else { connection };
                for _ in 0..1 + lie.who % 5 {
                    report(&mut gateway, &connection);
                    check(&gateway, "after a lie")?;
                }
            }
            for number in 1..=honest {
                let connection = exact(now, host(number), measured(number, turn as u32));
                let plan = common::window(&gateway);
                report(&mut gateway, &plan.map_or(connection, |plan| planned(connection, plan)));
                check(&gateway, "after an honest report")?;
            }
            now += 20.0;
        }
    }
}
