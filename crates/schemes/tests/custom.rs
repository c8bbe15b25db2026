//! A scheme outside the registry runs in the same chain as the built-in schemes.

use firstflight_contract::{Ack, Congestion, Control, Entry, Nanos, Phase, Role, Step, Trigger, slow_start};
use firstflight_host::chain::Chain;
use firstflight_schemes::catalogue::{LabelError, Schemes};
use firstflight_schemes::registry::{AnyPhase, ParamError, SCHEMES};
use firstflight_schemes::scheme;
use firstflight_schemes::scheme::{ParamKind, Value};

const MSS: u64 = 1000;

/// Slow start that adds a fraction of what an ACK allows.
#[derive(Clone, Debug, Default)]
struct Gentle {
    parameters: Parameters,
}

scheme! {
    impl Scheme for Gentle {
        label: "gentle",
        role: Role::Startup,
        source: "this test",
        summary: "slow start with a fraction of its growth",
    }

    pub struct Parameters {
        /// growth of slow start over growth of this scheme
        divisor: u64 in 1..=16 = 2,
    }
}

impl Phase for Gentle {
    fn enter(&mut self, _: &Entry, _: &mut Control) {}

    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        slow_start(&Ack { growth: ack.growth / self.parameters.divisor, ..*ack }, control)
    }

    fn on_congestion(&mut self, event: &Congestion, _: &mut Control) -> Step {
        Step::Exit(event.trigger.into())
    }
}

fn ack(at_ms: u64) -> Ack {
    Ack { now: Nanos::from_millis(at_ms), acked: MSS, growth: MSS, mss: MSS as u32, ..Ack::default() }
}

fn window_after_one_ack(phases: Vec<AnyPhase>) -> u64 {
    let mut chain = Chain::new(phases).expect("a start-up scheme, then avoidance");
    chain.start(&Entry { mss: MSS as u32, ..Entry::default() }, 10 * MSS, u64::MAX);
    chain.on_ack(&ack(100));
    let grown = chain.control.cwnd;
    let loss = Congestion { trigger: Trigger::Loss, base: grown, mss: MSS as u32, ..Congestion::default() };
    chain.on_congestion(&loss);
    assert!(chain.in_avoidance() && chain.label() == "gentle+reno");
    grown
}

#[test]
fn a_catalogue_finds_a_scheme_of_its_user_beside_the_built_in_ones() {
    let schemes = Schemes::built_in().with(Gentle::default()).expect("a free label");
    // 10 segments, and half of the segment that the ACK allows.
    assert_eq!(window_after_one_ack(schemes.chain(&["gentle", "reno"]).expect("both")), 10 * MSS + MSS / 2);
    let labels: Vec<_> = schemes.labels().collect();
    assert_eq!(labels.last(), Some(&"gentle"));
    // `vegas` is both a start-up scheme and an avoidance scheme.
    assert_eq!((labels.len(), schemes.infos().count()), (SCHEMES.len(), SCHEMES.len() + 1));
    assert!(schemes.by_label("gentle", Role::LAST).is_none(), "a start-up scheme is no last phase");
    assert!(Schemes::built_in().by_label("gentle", Role::LEADING).is_none());
}

#[test]
fn parameters_of_a_custom_scheme_are_checked_like_those_of_a_built_in_one() {
    let schemes =
        Schemes::built_in().with(Gentle { parameters: Parameters { divisor: 5 } }).expect("a free label");
    let phases = |set: Option<f64>| {
        let mut phases = schemes.chain(&["gentle", "reno"]).expect("both");
        if let Some(x) = set {
            phases[0].set("divisor", Value::Number(x)).expect("in range");
        }
        phases
    };
    assert_eq!(window_after_one_ack(phases(None)), 10 * MSS + MSS / 5);
    assert_eq!(window_after_one_ack(phases(Some(4.0))), 10 * MSS + MSS / 4);
    let mut gentle = schemes.by_label("gentle", Role::LEADING).expect("known");
    assert_eq!(gentle.set("factor", Value::Number(1.0)), Err(ParamError::Unknown(vec!["divisor"])));
    let expected = ParamKind::Number { min: 1.0, max: 16.0 };
    assert_eq!(gentle.set("divisor", Value::Number(17.0)), Err(ParamError::Invalid { expected }));
}

#[test]
fn a_label_that_is_taken_in_its_role_is_refused() {
    let schemes = Schemes::built_in().with(Gentle::default()).expect("a free label");
    let again = schemes.with(Gentle::default()).map(|_| ());
    assert_eq!(again, Err(LabelError::Taken("gentle", Role::Startup)));
    assert_eq!(again.unwrap_err().to_string(), "there is already a startup scheme \"gentle\"");
}

#[test]
fn a_built_in_scheme_stored_as_an_object_gives_the_same_registers() {
    let run = |startup: AnyPhase| {
        let reno = AnyPhase::by_label("reno").expect("registered");
        let mut chain = Chain::new(vec![startup, reno]).expect("a chain");
        chain.start(&Entry { mss: MSS as u32, ..Entry::default() }, 10 * MSS, 64 * MSS);
        let after = |n: u64| {
            let flags = if n.is_multiple_of(20) { Ack::ROUND_START } else { 0 };
            chain.on_ack(&Ack { flags, rtt: Nanos::from_millis(50 + n), ..ack(50 * n) });
            chain.control
        };
        (0..200).map(after).collect::<Vec<_>>()
    };
    use firstflight_schemes::startup::{hystart_pp::HystartPp, smooth_start::SmoothStart};
    for (label, object) in [
        ("smooth-start", AnyPhase::custom(SmoothStart::default())),
        ("hystart++", AnyPhase::custom(HystartPp::default())),
    ] {
        assert_eq!(run(object), run(AnyPhase::by_label(label).expect("registered")), "{label}");
    }
}

#[test]
fn a_phase_takes_no_more_memory_than_its_largest_inline_scheme_did() {
    // A connection holds its phases inline. 216 bytes is the size before schemes outside the registry were possible.
    assert!(size_of::<AnyPhase>() <= 216, "{} bytes", size_of::<AnyPhase>());
}
