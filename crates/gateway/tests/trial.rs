//! The trial: false alarms, and how soon harm is found.

use std::collections::BTreeSet;

use crate::common::*;
use firstflight_contract::Nanos;
use firstflight_gateway::{Arm, Connection, Decision, Gateway, HarmKind, Override, Settings, WhyNot};

/// A linear congruential generator: numbers from 0 to 1, neither included.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Pareto of shape 1.2: its variance is infinite.
    fn heavy(&mut self) -> f64 {
        self.next().powf(-1.0 / 1.2)
    }
}

/// Effect of a plan on a connection.
type Effect = fn(Connection, &mut Random) -> Connection;

/// A gateway whose operator gives every prefix a window of 30 segments, so that each has a plan from its first report.
fn gateway(false_alarm: (f64, f64)) -> Gateway {
    let all = "0.0.0.0/0".parse().expect("a prefix");
    let overrides = vec![(all, Override::Window(30))];
    Gateway::new(Settings { overrides, false_alarm, ..enforcing() })
}

/// Number of connections of one prefix until its trial finds harm; [`None`] if it finds none in as many as `most`. Sizes
/// are from 1 to 1000 segments, and every `holdout`-th connection is held out by lot.
fn until_harm(seed: u64, most: u32, holdout: f64, level: f64, effect: Effect) -> Option<(u32, HarmKind)> {
    let mut random = Random(seed);
    let mut gateway = gateway((level, 1e-12));
    let mut out = vec![];
    for number in 1..=most {
        let segments = 1000f64.powf(random.next()) as u64;
        let busy = Nanos((1e8 * (1.0 + segments as f64 / 30.0) * random.heavy()) as u64);
        let bytes = segments * u64::from(MSS);
        let connection = exact(f64::from(number) / 100.0, host(1), 30);
        let connection = Connection { busy, bytes, retransmits: 0, ..connection };
        let connection = if random.next() < holdout {
            Connection { arm: Arm::Holdout(20), ..connection }
        } else {
            effect(planned(connection, 30), &mut random)
        };
        gateway.report(&connection, &mut out);
        for decision in out.drain(..) {
            if let Decision::Remove { why: WhyNot::Harm { harm, .. }, .. } = decision {
                return Some((number, harm.kind));
            }
        }
    }
    None
}

fn slower(connection: Connection, by: f64) -> Connection {
    Connection { busy: Nanos((connection.busy.0 as f64 * by) as u64), ..connection }
}

#[test]
fn without_an_effect_a_trial_reverts_no_more_often_than_its_level() {
    // A level of 5 %: of 400 trials at most 20 on average. More than 36 would happen once in 2000 times if the level were
    // exactly met (binomial distribution). Each trial is looked at after each of its blocks.
    let none: Effect = |connection, _| connection;
    let reverts = (0..400).filter(|seed| until_harm(*seed, 5000, 0.05, 0.05, none).is_some()).count();
    println!("A/A: {reverts} of 400 trials reverted at a level of 5 %");
    assert!(reverts <= 36, "{reverts} reverts");
}

#[test]
fn a_plan_that_helps_is_never_reverted() {
    let helps: Effect = |connection, _| slower(connection, 0.75);
    let reverts = (0..100).filter(|seed| until_harm(*seed, 5000, 0.05, 0.05, helps).is_some()).count();
    assert_eq!(reverts, 0);
}

#[test]
fn harm_is_found() {
    let rows: [(&str, Effect, HarmKind, u32); 4] = [
        ("twice as long", |connection, _| slower(connection, 2.0), HarmKind::Slower, 1000),
        ("half as long again", |connection, _| slower(connection, 1.5), HarmKind::Slower, 3000),
        (
            "a timeout in every third connection",
            |connection, random| Connection { timeouts: u32::from(random.next() < 0.33), ..connection },
            HarmKind::Lossier,
            1000,
        ),
        (
            "four retransmissions more",
            |connection, _| Connection { retransmits: connection.retransmits + 4, ..connection },
            HarmKind::Lossier,
            500,
        ),
    ];
    for (name, effect, kind, most) in rows {
        let mut found: Vec<u32> = (0..50)
            .map(|seed| {
                let (number, found) = until_harm(seed, 40_000, 0.1, 0.01, effect).expect("harm is found");
                assert_eq!(found, kind, "{name}");
                number
            })
            .collect();
        found.sort_unstable();
        let (median, last) = (found[25], found[47]);
        println!("{name}: found after {median} connections in the median, {last} in 95 %, a tenth held out");
        assert!(median <= most, "{name}: {median}");
    }
}

#[test]
fn harm_that_no_prefix_shows_alone_reverts_the_host() {
    // Each of 2000 prefixes has few connections; planned ones take twice as long.
    let mut random = Random(3);
    let mut gateway = gateway((0.01, 0.001));
    let mut out = vec![];
    let mut reverted = None;
    let mut given = BTreeSet::new();
    for number in 1..=20_000u32 {
        let peer = [10, (number % 2000 / 200) as u8, (number % 200) as u8, 1].into();
        let connection = exact(f64::from(number) / 100.0, peer, 30);
        let connection = Connection { busy: Nanos((1e8 * random.heavy()) as u64), ..connection };
        let connection = if random.next() < 0.1 {
            Connection { arm: Arm::Holdout(20), ..connection }
        } else {
            slower(planned(connection, 30), 2.0)
        };
        gateway.report(&connection, &mut out);
        given.extend(out.iter().filter_map(|decision| match decision {
            Decision::Set { plan, .. } => Some(plan.prefix),
            _ => None,
        }));
        if let Some(at) = out.iter().position(|decision| matches!(decision, Decision::RevertHost { .. })) {
            let Decision::RevertHost { until, .. } = out[at] else { unreachable!("found above") };
            reverted = Some((number, until));
            // Each plan that was given is taken away, once, after the halt.
            let taken: Vec<_> = out[at + 1..]
                .iter()
                .map(|decision| match decision {
                    Decision::Remove { prefix, why: WhyNot::HostReverted { until: end } }
                        if *end == until =>
                    {
                        *prefix
                    }
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(taken.len(), given.len());
            assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), given);
            break;
        }
        assert!(!out.iter().any(|d| matches!(d, Decision::Remove { .. })), "{out:?}");
        out.clear();
    }
    let (number, until) = reverted.expect("the host is reverted");
    println!("over 2000 prefixes: found after {number} connections");
    assert!(number < 2000, "{number}");
    assert_eq!(gateway.plans().count(), 0);
    let peer = [10, 0, 0, 1].into();
    assert_eq!(report(&mut gateway, &exact(f64::from(number) / 100.0, peer, 30)), []);
    let why = gateway.explain(peer).why_not;
    assert!(matches!(why, Some(WhyNot::HostReverted { .. })), "{why:?}");
    assert_eq!(gateway.verdict().reverted, Some(until));
    // After the freeze plans are made again.
    let mut later = vec![];
    gateway.tick(until, &mut later);
    assert!(matches!(later[0], Decision::ResumeHost), "{later:?}");
}

#[test]
fn the_effect_has_an_interval_that_contains_it() {
    // The interval must hold at every block of all of 100 trials but for 5 on average; 12 or more would happen once in 200
    // times.
    let mut missed = 0;
    for seed in 0..100 {
        let mut random = Random(seed);
        let mut gateway = gateway((1e-9, 1e-9));
        let mut out = vec![];
        let mut outside = false;
        for number in 1..=2000u32 {
            let connection = exact(f64::from(number) / 100.0, host(1), 30);
            let connection = Connection { busy: Nanos((1e8 * random.heavy()) as u64), ..connection };
            let connection = if random.next() < 0.1 {
                Connection { arm: Arm::Holdout(20), ..connection }
            } else {
                slower(planned(connection, 30), 0.8)
            };
            gateway.report(&connection, &mut out);
            if let Some(verdict) = gateway.explain(host(1)).trial
                && verdict.blocks >= 20
                && let Some([low, _, high]) = verdict.effect
            {
                outside |= !(low..=high).contains(&0.8);
            }
        }
        missed += u32::from(outside);
    }
    println!("the interval missed the effect in {missed} of 100 trials");
    assert!(missed < 12, "{missed}");
}

/// Their product with a margin of a fiftieth does not fit into 64 bits.
#[test]
fn completion_times_of_centuries_are_compared() {
    let mut gateway = gateway((0.01, 0.001));
    let slowest =
        |arm: Arm| Connection { arm, busy: Nanos::NEVER, min_rtt: Nanos(1), ..exact(1.0, host(1), 40) };
    report(&mut gateway, &slowest(Arm::Holdout(20)));
    for _ in 0..4 {
        report(&mut gateway, &slowest(Arm::Planned(20)));
    }
    let verdict = gateway.verdict().trial;
    assert_eq!((verdict.blocks, verdict.slower), (1, 1.0));
}
