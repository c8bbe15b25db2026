//! The shares of the kinds are calibrated: among the cases in which a kind has a share of 30 %, it is the true one in 30 %, to two
//! percentage points more than chance gives. The rules know the queue only by round trips, so that no share is exactly right.

use firstflight_capture::Source;
use firstflight_contract::{Nanos, Rate};
use firstflight_document::quantity::Amount;
use firstflight_random::Stream;
use firstflight_scenario::build::{Flow, Path};
use firstflight_scenario::{Candidate, Limit, Profile, Scenario, limits};

use super::super::anchors::Given;
use super::super::entry;
use super::super::kinds::Value;
use super::super::loss::{LOSSY, RandomLoss};
use super::super::range::Range;
use super::super::recognised::Made;
use super::super::rerun::{Transfer, run};
use super::*;
use firstflight_hosts::parallel::try_map;
use firstflight_hosts::simulator::Simulator;

/// Kinds of path, and whether packets are lost at random there.
const KINDS: [(PathKind, bool); 4] = [
    (PathKind::DropTail, false),
    (PathKind::DropTail, true),
    (PathKind::Red, false),
    (PathKind::Codel, false),
];

/// Values of a path of a kind, log-uniform as the priors are: 5 to 30 Mbit/s, 20 to 80 ms, and the parameters of its queue.
fn drawn_path((kind, lossy): (PathKind, bool), stream: &mut Stream) -> (Vec<f64>, Option<RandomLoss>) {
    let mut between = |low, high| Range::new(low, high).at(stream.unit());
    let mut values = vec![between(5e6, 30e6), between(0.02, 0.08)];
    let mut loss = None;
    match kind {
        _ if lossy => {
            values.push(between(100.0, 400.0));
            loss = Some(RandomLoss { probability: between(0.002, 0.02), burst: between(1.0, 5.0) });
        }
        PathKind::Red => {
            values.extend([between(3.0, 30.0), between(1.5, 5.0), between(0.02, 0.5), between(0.0005, 0.01)])
        }
        PathKind::Codel => values.extend([between(1e-3, 30e-3), between(200.0, 2000.0)]),
        _ => values.push(between(5.0, 100.0)),
    }
    (values, loss)
}

/// Shares of [`KINDS`], each with the same prior, by the losses of a transfer on a path of a kind, and the number of these; `None` if
/// nothing was lost.
fn shares(kind: (PathKind, bool), seed: u64) -> Option<([f64; 4], usize)> {
    let mut stream = Stream::named(seed, &format!("path {kind:?}"));
    let path =
        Path::new(Rate(10_000_000), Nanos::from_millis(40), Limit::Packets(100)).access_rate("100 Gbit/s");
    let bytes = Range::new(3e5, 3e6).at(stream.unit()) as u64;
    let flow = Flow::new().name("transfer").profile(Profile::Linux).size(Amount::Bytes(bytes));
    let base: Scenario = Scenario::builder().path(path).flow(flow).build().expect("a scenario");
    let scheme = ["hystart-linux+cubic", "slow-start+reno", "bbr"][(stream.unit() * 3.0) as usize];
    let (values, loss) = drawn_path(kind, &mut stream);
    let scheme = Candidate::parse(scheme).expect("a scheme");
    let transfer = Transfer { bytes, acked: bytes, source: Source::Segments, longest: limits::RUN };
    let mut scenario = kind.0.model().scenario(&values, &base, Some(Nanos::ZERO), seed);
    if let Some(loss) = loss {
        entry::lose(&mut scenario, loss);
    }
    let seen = run(&Simulator, scenario, &scheme, &transfer, seed)?;
    let summary = seen.summary()?;
    let anchors = Anchors::of_summary(&summary, bytes as f64, Some(values[0]));
    let offered = seen.offered();
    let lost = offered.iter().filter(|packet| !packet.passed).count();
    let fates = Fates::of(&[&offered], values[0], &anchors, seed);
    // Evidence with and without random loss of a full buffer. That of the others has random loss beside them, which takes what they cannot
    // explain.
    let logs = KINDS.map(|(kind, lossy)| {
        let judged = fates.judged(kind.model().rule());
        if kind != PathKind::DropTail {
            return judged.evidence;
        }
        let own = judged.rules.iter().filter(|one| one.loss.is_some() == lossy).map(|one| one.weight);
        let before = if lossy { LOSSY } else { 1.0 - LOSSY };
        judged.evidence + libm::log(own.sum::<f64>() / before)
    });
    let shares = normalised(&logs);
    (lost > 0).then(|| (std::array::from_fn(|index| shares[index]), lost))
}

#[test]
fn a_kind_is_the_true_one_as_often_as_its_share_says() {
    let cases: Vec<(usize, u64)> = (0..40).flat_map(|seed| (0..4).map(move |kind| (kind, seed))).collect();
    let judged = try_map(&cases, |&(kind, seed)| {
        Ok::<_, core::convert::Infallible>(
            shares(KINDS[kind], seed).map(|(shares, lost)| (kind, shares, lost)),
        )
    });
    let Ok(judged) = judged;
    let judged: Vec<(usize, [f64; 4], usize)> = judged.into_iter().flatten().collect();
    assert!(judged.len() > 100, "{}", judged.len());
    /// Share of the pairs by which the shares may be wrong.
    const WRONG: f64 = 0.02;
    // Number of true ones among these pairs of share and truth, its expectation and its standard deviation.
    let check = |name: String, pairs: Vec<(f64, bool)>| {
        let expected: f64 = pairs.iter().map(|(share, _)| share).sum();
        let variance: f64 = pairs.iter().map(|(share, _)| share * (1.0 - share)).sum();
        let seen = pairs.iter().filter(|(_, is)| *is).count() as f64;
        eprintln!("{name}: {seen} of {}, expected {expected:.1} +- {:.1}", pairs.len(), libm::sqrt(variance));
        (seen - expected).abs() <= 3.0 * libm::sqrt(variance) + WRONG * pairs.len() as f64
    };
    let of = |most: usize| {
        let few = judged.iter().filter(move |(.., lost)| *lost <= most);
        few.flat_map(|(kind, shares, _)| (0..4).map(move |one| (one, shares[one], one == *kind)))
    };
    let pairs = || of(usize::MAX);
    let mut right = vec![];
    // Captures of few losses, in which a queue's rule may fit by chance: the likeliest kind, and each kind.
    const FEW: usize = 3;
    let few = || judged.iter().filter(|(.., lost)| *lost <= FEW);
    let likeliest = few().map(|(kind, shares, _)| {
        let most = (0..4).max_by(|a, b| shares[*a].total_cmp(&shares[*b])).expect("four kinds");
        (shares[most], most == *kind)
    });
    right.push(check(
        format!("the likeliest of {} with {FEW} losses at most", few().count()),
        likeliest.collect(),
    ));
    for (one, kind) in KINDS.iter().enumerate() {
        let own = of(FEW).filter(|pair| pair.0 == one).map(|(_, share, is)| (share, is)).collect();
        right.push(check(format!("{kind:?}, {FEW} losses at most"), own));
    }
    for (one, kind) in KINDS.iter().enumerate() {
        let own = pairs().filter(|pair| pair.0 == one).map(|(_, share, is)| (share, is)).collect();
        right.push(check(format!("{kind:?}"), own));
    }
    for (low, high) in [(0.0, 0.05), (0.05, 0.3), (0.3, 0.7), (0.7, 0.95), (0.95, 1.1)] {
        let inside =
            pairs().filter(|pair| (low..high).contains(&pair.1)).map(|(_, share, is)| (share, is)).collect();
        right.push(check(format!("{low} to {high}"), inside));
    }
    assert!(right.iter().all(|it| *it), "{right:?}");
}

/// What the user knows is the whole of its range for every rule, and costs no kind weight.
#[test]
fn given_values_are_those_of_every_path() {
    let made = Made {
        kind: PathKind::DropTail,
        values: &[8e6, 0.05, 20.0],
        beside: (None, None),
        scheme: "slow-start+reno",
        bytes: 300_000,
        late: Nanos::ZERO,
        seed: 1,
    };
    let (target, _) = made.seen(None);
    let mut anchors = Anchors::of_summary(&target.summary, 300_000.0, Some(8e6));
    let without = anchors;
    anchors.given = Given { buffer: Some(20.0), loss: Some(0.01), ..Given::default() };
    let fates = Fates::of(&[&target.offered], 8e6, &anchors, 1);
    let known = |kind: PathKind, timed: &[f64]| {
        let path = Weighed {
            kind,
            values: timed.to_vec(),
            idle: false,
            lanes: None,
            loss: None,
            schemes: Default::default(),
            weight: 1.0,
            misfit: 0.0,
            times: 0.0,
        };
        fates.settle(vec![path])
    };
    let plain = known(PathKind::DropTail, &[8e6, 0.05]);
    let others = known(PathKind::OtherTraffic, &[8e6, 0.05, 20.0, 2.0, 0.5, 0.5]);
    for path in plain.iter().chain(&others) {
        assert_eq!(path.value(Value::Loss), Some(0.01), "{:?}", path.kind);
        let buffer = path.value(Value::Buffer);
        assert!(
            buffer.is_none_or(|buffer| (buffer / 20.0 - 1.0).abs() < 0.002),
            "{:?} {buffer:?}",
            path.kind
        );
    }
    let kinds: std::collections::BTreeSet<PathKind> = plain.iter().map(|path| path.kind).collect();
    assert!(kinds.contains(&PathKind::DropTail), "{kinds:?}");
    // The buffer of other traffic is one of the values of its times.
    let volume = |anchors: &Anchors| PathKind::OtherTraffic.model().volume(anchors);
    assert!(volume(&anchors) > volume(&without) - 1.0, "{} {}", volume(&anchors), volume(&without));
}
