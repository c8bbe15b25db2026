//! Invariants of every start-up scheme in front of every avoidance scheme under any events of a legal host, and a proof
//! that the suite detects violations.

mod faults;
mod model;
mod standalone;

use faults::{FAULTS, Faulty};
use firstflight_contract::{Ack, Beginning, Control, Declared, Nanos, Rate, Role, Signals, Trigger};
use firstflight_host::chain::Chain;
use firstflight_schemes::avoidance::cubic::Cubic;
use firstflight_schemes::registry::{AnyPhase, SCHEMES};
use firstflight_schemes::scheme::{ParamKind, Value};
use firstflight_schemes::startup::smooth_start::SmoothStart;
use model::{Begin, Event, Host, Op, Subject, begin, op};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// The same cases on every run and machine.
fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

fn phases(labels: &[&str]) -> Vec<AnyPhase> {
    AnyPhase::chain(labels).unwrap_or_else(|| panic!("{labels:?} are not registered"))
}

fn chain(phases: Vec<AnyPhase>) -> Chain<AnyPhase> {
    Chain::new(phases).expect("a start-up scheme, then avoidance")
}

fn labels(role: Role) -> impl Iterator<Item = &'static str> {
    SCHEMES.iter().filter(move |s| s.role == role).map(|s| s.label)
}

/// Permissions of a chain.
#[derive(Clone, Copy)]
struct Limits {
    paces: bool,
    /// Routers may say by how much the window grows.
    fed: bool,
}

/// Runs the operations and judges each step; returns the registers after each.
fn run(
    subject: &mut impl Subject,
    limits: Limits,
    start: Begin,
    ops: &[Op],
) -> Result<Vec<Control>, TestCaseError> {
    let mut host = Host::begin(start, subject);
    let mss = u64::from(start.mss);
    let mut trace = vec![];
    prop_assert!(subject.control().cwnd >= mss, "starts below one segment");
    for &op in ops {
        let before = *subject.control();
        let (exit_before, avoiding_before) = (subject.exit(), subject.in_avoidance());
        let event = host.perform(op, subject);
        let after = *subject.control();
        trace.push(after);

        prop_assert!(after.cwnd >= mss, "{event:?}: window {} below one segment", after.cwnd);
        prop_assert!(limits.paces || after.pacing == Rate::NONE, "{event:?}: paces without needing pacing");
        match &event {
            Event::Ack(ack) => {
                // The bound of every scheme: one ACK adds no more than it acknowledges, or the one segment
                // that linear growth has saved up. A window may jump only where what it lets out is paced.
                let allowed = match ack {
                    _ if ack.growth == 0 || ack.is(Ack::RECOVERY) => 0,
                    _ if after.pacing != Rate::NONE => u64::MAX,
                    _ if limits.fed => (ack.feedback.max(0) >> 16) as u64 + 1,
                    _ => ack.acked.max(mss),
                };
                prop_assert!(
                    after.cwnd <= before.cwnd.saturating_add(allowed),
                    "{ack:?}: window {} -> {}, allowed {allowed}",
                    before.cwnd,
                    after.cwnd
                );
                if avoiding_before {
                    prop_assert!(subject.in_avoidance(), "{ack:?}: avoidance ended");
                }
            }
            Event::Congestion(congestion) => {
                prop_assert!(
                    after.cwnd <= before.cwnd.max(2 * mss),
                    "{congestion:?}: window {} -> {}",
                    before.cwnd,
                    after.cwnd
                );
                prop_assert!(after.ssthresh >= 2 * mss, "{congestion:?}: threshold {}", after.ssthresh);
                prop_assert!(after.ssthresh != u64::MAX, "{congestion:?}: the threshold is still infinite");
                if congestion.trigger == Trigger::Timeout {
                    prop_assert!(after.cwnd == mss, "{congestion:?}: window {}", after.cwnd);
                    prop_assert!(after.pacing == Rate::NONE, "{congestion:?}: still paces");
                }
                prop_assert!(subject.exit().is_some(), "{congestion:?}: start-up did not end");
            }
            Event::Spurious => {
                prop_assert!(after.cwnd >= before.cwnd, "undoing a reduction lowered the window");
            }
            Event::Idle | Event::Nothing => {}
        }
        if exit_before.is_some() {
            prop_assert!(subject.exit() == exit_before, "{event:?}: a second exit {:?}", subject.exit());
        }
    }
    Ok(trace)
}

fn limits(chain: &Chain<AnyPhase>) -> Limits {
    Limits { paces: chain.needs().has(Signals::PACING), fed: chain.needs().has(Signals::FEEDBACK) }
}

#[test]
fn every_pair_keeps_the_invariants_and_is_deterministic() {
    for startup in labels(Role::Startup) {
        for avoidance in labels(Role::Avoidance)
            .filter(|label| phases(&[label])[0].declaration().beginning != Beginning::Alone)
        {
            // Hundreds of pairs: each scheme meets a case some twenty times over.
            runner(40)
                .run(&(begin(), prop::collection::vec(op(), 1..300)), |(start, ops)| {
                    let mut first = chain(phases(&[startup, avoidance]));
                    let mut second = first.clone();
                    let limits = limits(&first);
                    let trace = run(&mut first, limits, start, &ops)?;
                    prop_assert!(trace == run(&mut second, limits, start, &ops)?, "two runs differ");
                    Ok(())
                })
                .unwrap_or_else(|e| panic!("{startup}+{avoidance}: {e}"));
        }
    }
}

#[test]
fn a_scheme_stored_as_an_object_keeps_the_invariants() {
    let objects = || vec![AnyPhase::custom(SmoothStart::default()), AnyPhase::custom(Cubic::default())];
    runner(96)
        .run(&(begin(), prop::collection::vec(op(), 1..300)), |(start, ops)| {
            let (mut object, mut built_in) = (chain(objects()), chain(phases(&["smooth-start", "cubic"])));
            let limits = limits(&object);
            let trace = run(&mut object, limits, start, &ops)?;
            prop_assert!(trace == run(&mut built_in, limits, start, &ops)?, "the object differs");
            Ok(())
        })
        .unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn avoidance_alone_keeps_the_invariants() {
    for avoidance in labels(Role::Avoidance) {
        runner(96)
            .run(&(begin(), prop::collection::vec(op(), 1..300)), |(start, ops)| {
                let mut alone = chain(phases(&[avoidance]));
                let limits = Limits { paces: false, ..limits(&alone) };
                // Without a start-up phase there is no exit to report.
                let mut alone = faults::Unreported(&mut alone);
                run(&mut alone, limits, start, &ops).map(|_| ())
            })
            .unwrap_or_else(|e| panic!("{avoidance}: {e}"));
    }
}

/// The ends of a parameter's range, and what lies just inside the surprising ones.
fn bounds(kind: ParamKind) -> Vec<Value> {
    match kind {
        ParamKind::Number { min, max } => vec![Value::Number(min), Value::Number(max)],
        ParamKind::Time => [0, 1, u64::MAX].map(|t| Value::Time(Nanos(t))).to_vec(),
        ParamKind::Packets => [0, 1, u64::MAX].map(Value::Packets).to_vec(),
        ParamKind::Rate => [0, 1, u64::MAX].map(|r| Value::Rate(Rate(r))).to_vec(),
        ParamKind::Flag => [false, true].map(Value::Flag).to_vec(),
        ParamKind::Choice(words) => (0..words.len()).map(Value::Choice).collect(),
    }
}

#[test]
fn parameters_at_their_bounds_keep_the_invariants() {
    for scheme in SCHEMES.iter().filter(|s| s.role != Role::Standalone) {
        for param in scheme.params {
            for value in bounds(param.kind) {
                runner(24)
                    .run(&(begin(), prop::collection::vec(op(), 1..200)), |(start, ops)| {
                        let (labels, at) = match scheme.role {
                            Role::Startup => ([scheme.label, "reno"], 0),
                            _ => (["slow-start", scheme.label], 1),
                        };
                        let mut phases = phases(&labels);
                        prop_assert_eq!(phases[at].set(param.name, value), Ok(()));
                        let mut chain = chain(phases);
                        let limits = limits(&chain);
                        run(&mut chain, limits, start, &ops).map(|_| ())
                    })
                    .unwrap_or_else(|e| panic!("{} {} = {value:?}: {e}", scheme.label, param.name));
            }
        }
    }
}

#[test]
fn the_suite_notices_each_of_these_faults() {
    for fault in FAULTS {
        let found = runner(96).run(&(begin(), prop::collection::vec(op(), 1..300)), |(start, ops)| {
            let mut broken = Faulty::new(chain(phases(&["slow-start", "reno"])), fault);
            run(&mut broken, Limits { paces: false, fed: false }, start, &ops).map(|_| ())
        });
        assert!(found.is_err(), "{fault:?} went unnoticed");
    }
}
