//! Paths are found again from transfers that the simulator made on them, where no capture of a kernel shows the like; the others are
//! tests of `compare` (`tests/recognition.rs`).

use firstflight_capture::summary::{NAMES, Summary};
use firstflight_capture::{Aggregates, FirstRoundTrip, Source, weighted_quantile};
use firstflight_contract::{Nanos, Rate};
use firstflight_document::quantity::Amount;
use firstflight_net::lanes::{Lanes, LanesConfig};
use firstflight_net::link::Link;
use firstflight_net::queue::Queue;
use firstflight_random::Stream;
use firstflight_scenario::build::{Flow, Path};
use firstflight_scenario::{Candidate, Limit, Profile, Scenario, limits};

use super::UNLIKE;
use super::anchors::Anchors;
use super::kinds::PathKind;
use super::loss::RandomLoss;
use super::reordering::Pair;
use super::rerun::{Transfer, run};
use super::search::{Search, Target, thresholds};
use super::senders::{Schemes, Sender, senders};
use super::weighed::Weighed;
use firstflight_hosts::progress::Silent;
use firstflight_hosts::simulator::Simulator;

/// Seed of a transfer.
pub(super) const SEED: u64 = 7;

/// Scenario whose first flow is a transfer of `bytes`.
pub(super) fn base(bytes: u64) -> Scenario {
    let path =
        Path::new(Rate(10_000_000), Nanos::from_millis(40), Limit::Packets(100)).access_rate("100 Gbit/s");
    let flow = Flow::new().name("transfer").profile(Profile::Linux).size(Amount::Bytes(bytes));
    Scenario::builder().path(path).flow(flow).build().expect("a scenario")
}

/// A simulated transfer.
pub(super) struct Made<'a> {
    pub(super) kind: PathKind,
    pub(super) values: &'a [f64],
    /// Lanes on which packets overtake each other, and random loss.
    pub(super) beside: (Option<Pair>, Option<RandomLoss>),
    /// Scheme of the sender.
    pub(super) scheme: &'a str,
    pub(super) bytes: u64,
    /// Time from the handshake to the first data.
    pub(super) late: Nanos,
    pub(super) seed: u64,
}

impl Made<'_> {
    /// The transfer in the form of a captured one, with its aggregates; `first` is the first round trip, if there is one.
    pub(super) fn seen(&self, first: Option<FirstRoundTrip>) -> (Target, Option<Aggregates>) {
        let &Self { kind, values, beside: (lanes, loss), scheme, bytes, late, seed } = self;
        let sender = Candidate::parse(scheme).expect("a scheme");
        let (values, schemes) = (values.to_vec(), Schemes::default());
        let path =
            Weighed { kind, values, idle: false, lanes, loss, schemes, weight: 1.0, misfit: 0.0, times: 0.0 };
        let scenario = path.scenario(&base(bytes), Some(late), seed);
        let transfer = Transfer { bytes, acked: bytes, source: Source::Segments, longest: limits::RUN };
        let seen = run(&Simulator, scenario, &sender, &transfer, seed).expect("the transfer ran");
        let summary = seen.summary().expect("data was delivered");
        let end = seen.unexplained_end();
        let (offered, dropped) = (seen.offered(), seen.dropped().into());
        let target = Target { summary, transfer, late: Some(late), first, end, offered, dropped };
        (target, seen.aggregates())
    }
}

/// Senders and paths that explain transfers of `base`.
pub(super) fn explained_by(
    targets: &[Target],
    base: &Scenario,
    anchors: Anchors,
) -> (Vec<Sender>, Vec<Weighed>) {
    let schemes = senders(&thresholds(targets), false, None);
    let (host, seed, first) = (&Simulator, 1, 160);
    let paths = Search { host, base, anchors, targets, schemes: &schemes, seed, first }.run(&Silent);
    (schemes, paths)
}

/// Paths that explain transfers of `bytes`.
fn explained(targets: &[Target], bytes: u64, anchors: Anchors) -> Vec<Weighed> {
    explained_by(targets, &base(bytes), anchors).1
}

/// Paths that explain a simulated transfer; the estimate of the rate, bit/s, and the first round trip, where there are any.
pub(super) fn found(
    made: &Made<'_>,
    (rate, first): (Option<f64>, Option<FirstRoundTrip>),
) -> (Vec<Weighed>, Summary) {
    let (target, aggregates) = made.seen(first);
    let summary = target.summary;
    let anchors = Anchors::of_summary(&summary, made.bytes as f64, rate).with(aggregates);
    (explained(&[target], made.bytes, anchors), summary)
}

/// Weight of a kind in the answer to a transfer on a path of it, and the weights of all kinds.
fn weight(
    kind: PathKind,
    values: &[f64],
    scheme: &str,
    bytes: u64,
    (rate, first): (Option<f64>, Option<FirstRoundTrip>),
) -> (f64, Vec<(PathKind, f64)>) {
    let made = Made { kind, values, beside: (None, None), scheme, bytes, late: Nanos::ZERO, seed: SEED };
    of_kinds(kind, found(&made, (rate, first)).0)
}

fn of_kinds(kind: PathKind, paths: Vec<Weighed>) -> (f64, Vec<(PathKind, f64)>) {
    let mut kinds: Vec<(PathKind, f64)> = vec![];
    for path in paths {
        match kinds.iter_mut().find(|(own, _)| *own == path.kind) {
            Some((_, sum)) => *sum += path.weight,
            None => kinds.push((path.kind, path.weight)),
        }
    }
    (kinds.iter().find(|(own, _)| *own == kind).map_or(0.0, |(_, weight)| *weight), kinds)
}

fn recognised(kind: PathKind, values: &[f64], scheme: &str, bytes: u64, rate: Option<f64>) {
    let (weight, kinds) = weight(kind, values, scheme, bytes, (rate, None));
    assert!(weight > 0.5, "{kind:?}: {kinds:?}");
}

/// A receiving host that wakes 5 ms late acknowledges the packets of these 5 ms at once. The only statistics that this changes are
/// the fastest 16 packets, here within the 250 us in which hosts join packets, and the fastest 64: half of them take their time.
#[test]
fn a_constant_rate_behind_a_host_that_stalled() {
    let (bytes, scheme, values) = (600_000, "hystart-linux+cubic", [20e6, 0.05, 200.0]);
    let (kind, late, seed) = (PathKind::DropTail, Nanos::ZERO, SEED);
    let made = Made { kind, values: &values, beside: (None, None), scheme, bytes, late, seed };
    let (mut target, _) = made.seen(None);
    for (name, faster) in
        [("fastest 16 packets", 16.0 * 1448.0 / 250e-6 / (20e6 / 8.0)), ("fastest 64 packets", 2.0)]
    {
        let index = NAMES.iter().position(|statistic| statistic.name == name).expect("a statistic");
        target.summary.0[index] += libm::log(faster);
    }
    let anchors = Anchors::of_summary(&target.summary, bytes as f64, Some(20e6));
    let paths = explained(&[target], bytes, anchors);
    let misfit: f64 = paths.iter().map(|path| path.weight * path.misfit).sum();
    assert!(misfit < UNLIKE, "{misfit}");
    let (weight, kinds) = of_kinds(PathKind::DropTail, paths);
    assert!(weight > 0.5, "{kinds:?}");
}

#[test]
fn a_token_bucket() {
    // A burst of 60 kB at 40 Mbit/s, then 5 Mbit/s behind a queue of 100 packets.
    let values = [40e6, 0.03, 5e6, 60e3, 100.0];
    recognised(PathKind::TokenBucket, &values, "hystart-linux+cubic", 600_000, Some(5e6));
}

#[test]
fn thinned_acknowledgements() {
    // One acknowledgement of four packets arrives.
    recognised(
        PathKind::ThinnedReturn,
        &[12e6, 0.04, 4.0, 150.0],
        "hystart-linux+cubic",
        600_000,
        Some(12e6),
    );
}

#[test]
fn three_transfers_leave_a_varying_rate_as_uncertain_as_three_draws_do() {
    let values = [12e6, 0.05, 0.6, 0.2, 0.5, 5.0, 500.0];
    let (kind, scheme, bytes) = (PathKind::VaryingRate, "hystart-linux+cubic", 600_000);
    // The spread of sixteen paths is known to 18 %: the mean square of four sets of transfers.
    const SETS: u64 = 4;
    let spread = |set: u64| {
        let first = SEED + 3 * set;
        let made = |seed| {
            Made { kind, values: &values, beside: (None, None), scheme, bytes, late: Nanos::ZERO, seed }
                .seen(None)
                .0
        };
        let targets = [first, first + 1, first + 2].map(made);
        let anchors = Anchors::of_summary(&targets[0].summary, bytes as f64, None);
        let paths = explained(&targets, bytes, anchors);
        let mean = |of: &dyn Fn(&Weighed) -> f64| {
            let own = || paths.iter().filter(|path| path.kind == kind);
            own().map(|path| path.weight * of(path)).sum::<f64>() / own().map(|path| path.weight).sum::<f64>()
        };
        let middle = mean(&|path| libm::log(path.values[0]));
        let square = mean(&|path| libm::pow(libm::log(path.values[0]) - middle, 2.0));
        println!("{:.2} Mbit/s, give or take {:.2} of it", libm::exp(middle) / 1e6, libm::sqrt(square));
        square
    };
    let deviation = libm::sqrt((0..SETS).map(spread).sum::<f64>() / SETS as f64);
    // The rates of transfers differ by a standard deviation of 0.5 in the logarithm: even if that were known, the mean of three would be
    // known to 0.5 / sqrt(3).
    assert!(deviation > 0.5 / libm::sqrt(3.0), "{deviation}");
}

#[test]
fn a_slow_return_path_by_its_handshake() {
    // Acknowledgements of 52 bytes at 0.15 Mbit/s space full packets as a rate of 4.33 Mbit/s would.
    let values = [50e6, 0.04, 0.15e6, 300.0];
    let effect = Some(0.15e6 * 1500.0 / 52.0);
    let of = |longer_by| {
        let first = FirstRoundTrip { longer_by, packets: 1, syn_bytes: 60.0 };
        weight(PathKind::LimitedReturn, &values, "hystart-linux+cubic", 300_000, (effect, Some(first)))
    };
    // A packet takes 1440 bytes at 50 Mbit/s longer than a SYN, its answer 8 bytes at 0.15 Mbit/s less: 0.23 - 0.43 ms.
    let (slow_return, kinds) = of(-0.2e-3);
    assert!(slow_return > 0.5, "{kinds:?}");
    // At 4.33 Mbit/s in both directions a packet takes 2.66 ms longer, and its answer 0.01 ms less.
    let (_, kinds) = of(2.65e-3);
    let slow_forward = kinds.iter().find(|(kind, _)| *kind == PathKind::DropTail).map_or(0.0, |one| one.1);
    assert!(slow_forward > 0.5, "{kinds:?}");
}

/// Checks that reordering of 3 % of the packets by 4 ms is found in four transfers, beside the kind of the path: a constant rate of
/// 8 Mbit/s at which packets are 1.5 ms apart.
fn reordering_is_recognised(kind: PathKind, values: &[f64], loss: Option<RandomLoss>) {
    const TRANSFERS: u64 = 4;
    let beside = (Some([0.03, 4e-3]), loss);
    let (mut late, mut weights, mut away, mut variance) = (0.0, 0.0, 0.0, 0.0);
    for seed in SEED..SEED + TRANSFERS {
        let (scheme, bytes) = ("hystart-linux+cubic", 600_000);
        let made = Made { kind, values, beside, scheme, bytes, late: Nanos::ZERO, seed };
        let (paths, summary) = found(&made, (Some(values[0]), None));
        assert!(paths.iter().all(|path| path.lanes.is_some()), "seed {seed}");
        // Packets that took the slower lane in this transfer, of 415 full ones.
        let config = LanesConfig { share: 0.03, burst: 1.0, delay: Nanos::from_millis(4) };
        let lanes = Lanes::new(config, Stream::named(seed, "lanes bottleneck"));
        let mut link = Link::new(Rate(8_000_000), Nanos::ZERO, Queue::Unlimited).with_lanes(lanes);
        let slow = (0..415).filter(|&packet| {
            link.offer(packet, 1500, false);
            link.took_slow_lane()
        });
        let taken = slow.count() as f64 / 415.0;
        let share = median(&paths, 0);
        let overtaken = summary.get("overtaken packets") * summary.get("overtaken packets");
        assert!(overtaken > 2.5, "seed {seed}: {overtaken}");
        println!("{kind:?}, seed {seed}: {share:.4}, {taken:.4} taken, {overtaken:.0} overtaken");
        away += libm::log(share / taken) / TRANSFERS as f64;
        variance += 1.0 / overtaken / (TRANSFERS * TRANSFERS) as f64;
        late += libm::log(median(&paths, 1) - 1.5e-3) / TRANSFERS as f64;
        weights += of_kinds(kind, paths).0 / TRANSFERS as f64;
    }
    // A capture shows the packets that were overtaken, whose number has a standard deviation of its root: two of these, in the mean of
    // the logarithms of four transfers.
    assert!(away.abs() < 2.0 * libm::sqrt(variance), "{away}, variance {variance}");
    // A packet is late by 4 ms less 1.5 ms, which hosts change by 0.1 x (48 / 6)^0.5 = 0.28 in the logarithm. Two standard
    // deviations of the mean of four are 0.28.
    let late = libm::exp(late);
    assert!((1.89e-3..3.31e-3).contains(&late), "{late}");
    assert!(weights > 0.5, "{weights}");
}

/// Median of a value of the lanes of these paths.
fn median(paths: &[Weighed], value: usize) -> f64 {
    let lanes = paths.iter().filter_map(|path| Some((path.lanes?[value], path.weight)));
    let mut each: Vec<(f64, f64)> = lanes.collect();
    weighted_quantile(&mut each, 0.5).expect("a path")
}

#[test]
fn reordering_on_a_constant_rate() {
    reordering_is_recognised(PathKind::DropTail, &[8e6, 0.05, 200.0], None);
}

#[test]
fn reordering_beside_random_loss() {
    let loss = RandomLoss { probability: 0.01, burst: 1.0 };
    reordering_is_recognised(PathKind::DropTail, &[8e6, 0.03, 200.0], Some(loss));
}
