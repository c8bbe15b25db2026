//! Each kind of path is recognised from a transfer that the simulator made on it.

use firstflight_capture::FirstRoundTrip;
use firstflight_contract::{Nanos, Rate};
use firstflight_scenario::build::{Flow, Path};
use firstflight_scenario::quantity::Amount;
use firstflight_scenario::{Limit, Profile, Scenario, SchemeSpec};

use super::anchors::Anchors;
use super::kind::Kind;
use super::rerun::rerun;
use super::search::{Search, Target};
use super::senders::senders;
use crate::progress::Silent;
use crate::simulator::Simulator;

/// A transfer on a path of this kind, with its weight in the answer: the path's `values`, the sender's scheme, and the
/// estimate of the rate, bit/s, and the first round trip, where there are any.
fn weight(
    kind: Kind,
    values: &[f64],
    scheme: &str,
    bytes: u64,
    (rate, first): (Option<f64>, Option<FirstRoundTrip>),
) -> (f64, Vec<(Kind, f64)>) {
    let path =
        Path::new(Rate(10_000_000), Nanos::from_millis(40), Limit::Packets(100)).access_rate("100 Gbit/s");
    let flow = Flow::new().name("transfer").profile(Profile::Linux).size(Amount::Bytes(bytes));
    let base: Scenario = Scenario::builder().path(path).flow(flow).build().expect("a scenario");
    let scheme = SchemeSpec::parse(scheme).expect("a scheme");
    let seed = 7;
    let scenario = kind.scenario(values, &base, seed);
    let summary = rerun(&Simulator, scenario, &scheme, bytes, bytes, seed).expect("the transfer ran");
    let anchors = Anchors::of_summary(&summary, bytes as f64, rate);
    let targets = [Target { summary, bytes, acked: bytes, first }];
    let schemes = senders();
    let search = Search {
        host: &Simulator,
        base: &base,
        anchors,
        targets: &targets,
        schemes: &schemes,
        seed: 1,
        first: 160,
    };
    let mut kinds: Vec<(Kind, f64)> = vec![];
    for path in search.run(&Silent) {
        match kinds.iter_mut().find(|(own, _)| *own == path.kind) {
            Some((_, sum)) => *sum += path.weight,
            None => kinds.push((path.kind, path.weight)),
        }
    }
    (kinds.iter().find(|(own, _)| *own == kind).map_or(0.0, |(_, weight)| *weight), kinds)
}

fn recognised(kind: Kind, values: &[f64], scheme: &str, bytes: u64, rate: Option<f64>) {
    let (weight, kinds) = weight(kind, values, scheme, bytes, (rate, None));
    assert!(weight > 0.5, "{kind:?}: {kinds:?}");
}

#[test]
fn a_constant_rate() {
    recognised(Kind::DropTail, &[8e6, 0.05, 200.0], "hystart-linux+cubic", 300_000, Some(8e6));
}

#[test]
fn a_constant_rate_whose_queue_overflows() {
    recognised(Kind::DropTail, &[8e6, 0.05, 25.0], "slow-start+reno", 300_000, Some(8e6));
}

#[test]
fn random_loss() {
    recognised(Kind::RandomLoss, &[20e6, 0.03, 200.0, 0.03, 1.0], "hystart-linux+cubic", 300_000, Some(20e6));
}

#[test]
fn red() {
    recognised(Kind::Red, &[10e6, 0.04, 8.0, 3.0, 0.1, 0.005], "slow-start+reno", 600_000, Some(10e6));
}

#[test]
fn controlled_delay() {
    recognised(Kind::Codel, &[6e6, 0.04, 5e-3, 500.0], "slow-start+reno", 600_000, Some(6e6));
}

#[test]
fn a_policer() {
    recognised(Kind::Policer, &[40e6, 0.03, 5e6, 40e3], "slow-start+reno", 300_000, None);
}

#[test]
fn a_token_bucket() {
    // A burst of 60 kB at 40 Mbit/s, then 5 Mbit/s behind a queue of 100 packets.
    let values = [40e6, 0.03, 100.0, 5e6, 60e3];
    recognised(Kind::TokenBucket, &values, "hystart-linux+cubic", 600_000, Some(5e6));
}

#[test]
fn thinned_acknowledgements() {
    // One acknowledgement of four arrives.
    recognised(Kind::ThinnedReturn, &[12e6, 0.04, 150.0, 4.0], "hystart-linux+cubic", 600_000, Some(12e6));
}

#[test]
fn a_varying_rate() {
    recognised(
        Kind::VaryingRate,
        &[12e6, 0.05, 500.0, 0.6, 0.2, 0.5, 5.0],
        "hystart-linux+cubic",
        600_000,
        None,
    );
}

#[test]
fn aggregates() {
    recognised(Kind::Aggregating, &[30e6, 0.03, 300.0, 8e-3], "hystart-linux+cubic", 300_000, None);
}

#[test]
fn other_traffic() {
    recognised(Kind::OtherTraffic, &[15e6, 0.05, 80.0, 2.0, 0.8, 0.3], "hystart-linux+cubic", 600_000, None);
}

#[test]
fn a_slow_return_path_by_its_handshake() {
    // Acknowledgements of 52 bytes at 0.15 Mbit/s space full packets as a rate of 4.33 Mbit/s would.
    let values = [50e6, 0.04, 300.0, 0.15e6];
    let effect = Some(0.15e6 * 1500.0 / 52.0);
    let of = |longer_by| {
        let first = FirstRoundTrip { longer_by, packets: 1, syn_bytes: 60.0 };
        weight(Kind::LimitedReturn, &values, "hystart-linux+cubic", 300_000, (effect, Some(first)))
    };
    // A packet takes 1440 bytes at 50 Mbit/s longer than a SYN, its answer 8 bytes at 0.15 Mbit/s less: 0.23 - 0.43 ms.
    let (slow_return, kinds) = of(-0.2e-3);
    assert!(slow_return > 0.5, "{kinds:?}");
    // At 4.33 Mbit/s in both directions a packet takes 2.66 ms longer, and its answer 0.01 ms less.
    let (_, kinds) = of(2.65e-3);
    let slow_forward = kinds.iter().find(|(kind, _)| *kind == Kind::DropTail).map_or(0.0, |one| one.1);
    assert!(slow_forward > 0.5, "{kinds:?}");
}
