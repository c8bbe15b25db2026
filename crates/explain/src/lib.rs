//! Explanation of a capture by simulation: the paths on which the captured connections, run again, look as they did.
//!
//! A path estimated value by value is one path with independent intervals; real paths are of many kinds, and their
//! values depend on each other. Here candidate paths of every kind are simulated with the captured sender's own scheme,
//! and those that resemble the capture are kept with their weights. Forecasts are drawn from these.

#[cfg(test)]
mod aggregated;
mod anchors;
mod candidate;
mod ends;
mod entry;
mod handshake;
mod kernel;
mod kinds;
mod linear;
mod loss;
mod losses;
mod population;
mod prior;
mod range;
#[cfg(test)]
mod recognised;
mod reordering;
mod rerun;
mod rules;
mod scale;
mod search;
mod senders;
mod settled;
mod spread;
#[cfg(test)]
mod starts;
mod surface;
mod weighed;
mod weights;

use std::cmp::Ordering;

use firstflight_capture::{Connection, PathEstimate, weighted_quantile};
use firstflight_contract::Nanos;
use firstflight_scenario::{Candidate, Reorder, Scenario};

use anchors::Anchors;
pub use anchors::Given;
use firstflight_hosts::host::Host;
use firstflight_hosts::progress::Progress;
use kinds::PathKind;
pub use kinds::Value;
pub use loss::RandomLoss;
pub use prior::PriorPath;
use rerun::Transfer;
use search::{Search, Target, thresholds};
use senders::{MOST, Sender};
pub use senders::{SENDERS, Shown};
use weighed::Weighed;

/// Longest time of a re-run, over that of the captured connection. On a path whose rate varies, transfers that take ten times as
/// long are common: without them the mean of its runs would be too fast, and paths that are too slow would resemble the
/// capture. A hundred times is beyond what any kind of path does by chance.
const LONGEST: f64 = 100.0;

/// Misfit above which no kind of path explains the capture: the capture lies this many standard deviations from the
/// re-runs, in the root mean square over the statistics.
const UNLIKE: f64 = 4.0;

/// The paths that explain a capture, with their weights, the heaviest first.
#[derive(Clone, Debug)]
pub struct Explanation {
    paths: Vec<Weighed>,
    senders: Vec<Sender>,
    /// Indices of the explained connections, in the order of the schemes of each path.
    connections: Vec<usize>,
}

/// Paths of an explanation from which forecasts are drawn: fewer than all show how much of a range comes from the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Breadth {
    /// All paths, by their weights: a forecast.
    #[default]
    All,
    /// The paths of the kind with most weight.
    Kind,
    /// The path with most weight.
    Path,
}

/// One of the paths.
#[derive(Clone, Copy, Debug)]
pub struct Drawn<'a> {
    explanation: &'a Explanation,
    path: &'a Weighed,
}

/// Measurements that a path is to explain.
pub struct Question<'a> {
    /// Host of the re-runs.
    pub host: &'a dyn Host,
    /// Scenario whose first flow is the transfer, with the packet sizes and the receiver of the capture.
    pub base: &'a Scenario,
    /// Estimates of the path's values.
    pub path: &'a PathEstimate,
    /// Captured connections of one path, with their indices.
    pub connections: Vec<(usize, &'a Connection)>,
    /// Values that the user knows.
    pub given: Given,
    /// The scheme of the sender, if its stack was identified.
    pub shown: Option<Shown>,
    /// Size of a simulated full packet over that of a captured one.
    pub longer: f64,
    /// Seed of all draws.
    pub seed: u64,
    /// Candidate paths of each kind at first.
    pub candidates: u32,
    /// Most connections that are explained: those with most data. Those beyond [`Explanation::MOST`] are not.
    pub together: usize,
    /// Paths that are kept.
    pub breadth: Breadth,
}

impl Explanation {
    /// Number of steps of progress.
    pub const STEPS: u64 = search::STEPS;

    /// Connections that are explained together. Each is re-run on every candidate path.
    pub const TOGETHER: usize = 3;

    /// Most connections that can be explained together.
    pub const MOST: usize = MOST;

    /// Searches the paths that explain the connections; `None` if none delivered data with acknowledgements, or the
    /// host can run none of the candidates.
    pub fn find(question: &Question<'_>, progress: &dyn Progress) -> Option<Self> {
        let mut largest = question.connections.clone();
        largest.sort_by_key(|(_, one)| std::cmp::Reverse(one.observed.delivered_bytes));
        largest.truncate(question.together.min(MOST));
        let of: Vec<&Connection> = largest.iter().map(|(_, one)| *one).collect();
        let anchors = Anchors::of(question.path, &of, question.longer, question.given)?;
        let target = |&(index, one): &(usize, &Connection)| {
            let seen = &one.observed;
            // A capture that stops early shows only the front of a longer transfer.
            let bytes = if seen.completion.is_some() { seen.bytes } else { 2 * seen.bytes };
            let summary = one.summary()?;
            let longest = Nanos((LONGEST * libm::exp(summary.get("time of all")) * 1e9) as u64);
            let transfer = Transfer { bytes, acked: seen.delivered_bytes, source: one.form(), longest };
            let (late, first, offered) = (late(one), one.first_round_trip(), one.offered());
            let end = one.slow_start_end();
            let dropped = one.dropped().into();
            Some((index, Target { summary, transfer, late, first, end, offered, dropped }))
        };
        let (connections, targets): (Vec<usize>, Vec<Target>) = largest.iter().filter_map(target).unzip();
        if targets.is_empty() {
            return None;
        }
        let quic = question.base.flows[0].profile.stack().is_quic();
        let senders = senders::senders(&thresholds(&targets), quic, question.shown.as_ref());
        let (host, base, seed) = (question.host, question.base, question.seed);
        let first = question.candidates as usize;
        let search = Search { host, base, anchors, targets: &targets, schemes: &senders, seed, first };
        let mut paths = search.run(progress);
        narrow(&mut paths, question.breadth);
        (!paths.is_empty()).then_some(Self { paths, senders, connections })
    }

    /// Whether the capture resembles re-runs on these paths.
    pub fn resembles(&self) -> bool {
        self.misfit() <= UNLIKE
    }

    /// Mean difference of the capture from its re-runs, in standard deviations.
    pub fn misfit(&self) -> f64 {
        self.paths.iter().map(|path| path.weight * path.misfit).sum()
    }

    /// The path at this share of all weight, from 0 to 1: evenly spread shares draw each path as often as its weight asks
    /// for (systematic resampling: G. Kitagawa, Journal of Computational and Graphical Statistics 5(1), 1996).
    pub fn at(&self, share: f64) -> Drawn<'_> {
        let mut sum = 0.0;
        let found = self.paths.iter().find(|path| {
            sum += path.weight;
            sum > share
        });
        let path = found.or(self.paths.last()).expect("an explanation has paths");
        Drawn { explanation: self, path }
    }

    /// Place of the connection with this index among those that are explained.
    fn target(&self, connection: usize) -> Option<usize> {
        self.connections.iter().position(|index| *index == connection)
    }

    /// The sender with most weight over all paths of the connection with this index; `None` if it is not among those that are explained.
    pub fn likeliest_sender(&self, connection: usize) -> Option<&Candidate> {
        let target = self.target(connection)?;
        let mut weights = vec![0.0; self.senders.len()];
        self.paths.iter().for_each(|path| weights[path.schemes[target]] += path.weight);
        let heaviest = (0..weights.len()).rev().max_by(|&a, &b| weights[a].total_cmp(&weights[b]))?;
        Some(&self.senders[heaviest].candidate)
    }

    /// Whether a constant rate with a drop-tail queue and without random loss has most of the weight.
    pub fn is_plain(&self) -> bool {
        let is_plain = |path: &&Weighed| path.kind == PathKind::DropTail && path.loss.is_none();
        let plain = self.paths.iter().filter(is_plain);
        plain.map(|path| path.weight).sum::<f64>() >= 0.5
    }

    /// Labels of the kinds of path with their weights, the heaviest first.
    pub fn kinds(&self) -> Vec<(&'static str, f64)> {
        let mut kinds: Vec<(&'static str, f64)> = vec![];
        let mut add = |label: &'static str, weight: f64| match kinds.iter_mut().find(|(own, _)| *own == label)
        {
            Some((_, sum)) => *sum += weight,
            None => kinds.push((label, weight)),
        };
        for path in &self.paths {
            let labels = path.kind.model().labels();
            labels.iter().for_each(|label| add(label, path.weight / labels.len() as f64));
        }
        // A sum of weights may exceed one by a rounding error.
        kinds.iter_mut().for_each(|(_, weight)| *weight = weight.min(1.0));
        kinds.sort_by(|a, b| b.1.total_cmp(&a.1));
        kinds
    }

    /// Share of the packets on the slower lane, and its further delay in milliseconds, in the median over the paths; `None` if
    /// packets keep their order.
    pub fn reordering(&self) -> Option<(f64, f64)> {
        let median = |of: fn(&Reorder) -> f64| {
            let lanes = self.paths.iter().filter_map(|path| Some((of(&path.lanes()?), path.weight)));
            weighted_quantile(&mut Vec::from_iter(lanes), 0.5)
        };
        Some((median(|lanes| lanes.share)?, median(|lanes| lanes.delay.0 as f64)? / 1e6))
    }

    /// Share of the weight whose paths have less of a value than `than`, and half of that of the paths that have as much; `None` if no path has
    /// such a value. It is uniformly distributed over draws from the prior.
    pub fn rank(&self, value: Value, than: f64) -> Option<f64> {
        let (mut below, mut all) = (0.0, 0.0);
        for path in &self.paths {
            let Some(own) = path.value(value) else { continue };
            // Whole packets wait.
            let own = if value == Value::Buffer { own.round() } else { own };
            all += path.weight;
            below += match own.total_cmp(&than) {
                Ordering::Less => path.weight,
                Ordering::Equal => path.weight / 2.0,
                Ordering::Greater => 0.0,
            };
        }
        (all > 0.0).then(|| below / all)
    }

    /// Probability that one of this many packets is lost at random, over the paths.
    pub fn random_loss(&self, packets: f64) -> f64 {
        let one = |loss: RandomLoss| {
            // Packets of a run are lost together.
            let begins = loss.probability / loss.burst.max(1.0);
            1.0 - libm::pow(1.0 - begins.min(1.0), packets)
        };
        self.paths.iter().map(|path| path.weight * path.loss.map_or(0.0, one)).sum()
    }

    /// Quantiles 2.5, 50 and 97.5 % of a value over the paths that have it and whose value the capture shows; `None` if less than half of
    /// the weight does.
    pub fn value(&self, value: Value) -> Option<[f64; 3]> {
        let having = self.paths.iter().filter_map(|path| Some((path.seen(value)?, path.weight)));
        let mut having: Vec<(f64, f64)> = having.collect();
        if having.iter().map(|(_, weight)| weight).sum::<f64>() < 0.5 {
            return None;
        }
        Some([0.025, 0.5, 0.975].map(|share| weighted_quantile(&mut having, share).unwrap_or_default()))
    }
}

/// Time from the handshake of a connection to its first data; `None` if the capture lacks the handshake.
pub fn late(connection: &Connection) -> Option<Nanos> {
    let seen = &connection.observed;
    seen.handshake_rtt.map(|_| seen.first_data)
}

/// Keeps the paths that are asked for, the heaviest first, with weights that add up to one.
fn narrow(paths: &mut Vec<Weighed>, breadth: Breadth) {
    match breadth {
        Breadth::All => return,
        Breadth::Kind => {
            let of =
                |kind: PathKind| paths.iter().filter(|path| path.kind == kind).map(|path| path.weight).sum();
            let sums = PathKind::ALL.map(|kind| (kind, of(kind)));
            let heaviest = sums.into_iter().max_by(|a: &(PathKind, f64), b| a.1.total_cmp(&b.1));
            paths.retain(|path| heaviest.is_some_and(|(kind, _)| path.kind == kind));
        }
        Breadth::Path => paths.truncate(1),
    }
    let sum: f64 = paths.iter().map(|path| path.weight).sum();
    paths.iter_mut().for_each(|path| path.weight /= sum);
}

impl<'a> Drawn<'a> {
    /// Number of the path among those that explain the capture.
    pub fn number(&self) -> usize {
        let number = self.explanation.paths.iter().position(|path| std::ptr::eq(path, self.path));
        number.expect("a path of the explanation")
    }

    /// Scheme of the sender of the connection with this index on this path, with its threshold. If the connection is not among those
    /// that are explained, its scheme is not known: that of one of them, by turns of `number`.
    pub fn sender(&self, connection: usize, number: u32) -> &'a Candidate {
        let Explanation { senders, connections, .. } = self.explanation;
        let target = self.explanation.target(connection).unwrap_or(number as usize % connections.len());
        &senders[self.path.schemes[target]].candidate
    }

    /// The scenario `base`, whose first flow is the transfer, on this path; `seed` draws what differs from one transfer to
    /// the next. `late` is the time from the handshake to the first data; of `None` it is drawn.
    pub fn scenario(&self, base: &Scenario, late: Option<Nanos>, seed: u64) -> Scenario {
        self.path.scenario(base, late, seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths of a plain queue with these weights, buffers and losses.
    fn explanation(paths: &[(f64, f64, Option<RandomLoss>)]) -> Explanation {
        let path = |&(weight, buffer, loss): &(f64, f64, Option<RandomLoss>)| Weighed {
            kind: PathKind::DropTail,
            values: vec![10e6, 0.05, buffer],
            idle: false,
            lanes: None,
            loss,
            schemes: [0; MOST],
            weight,
            misfit: 0.0,
            times: 0.0,
        };
        Explanation { paths: paths.iter().map(path).collect(), senders: vec![], connections: vec![] }
    }

    #[test]
    fn a_random_loss_meets_a_transfer_as_often_as_the_paths_say() {
        let loss = |probability, burst| Some(RandomLoss { probability, burst });
        let paths = [(0.7, 20.0, None), (0.2, 20.0, loss(0.01, 1.0)), (0.1, 20.0, loss(0.01, 2.0))];
        // 0.2 (1 - 0.99^100) + 0.1 (1 - 0.995^100) = 0.2 x 0.63397 + 0.1 x 0.39423 = 0.16622.
        let chance = explanation(&paths).random_loss(100.0);
        assert!((chance - 0.166_217).abs() < 1e-5, "{chance}");
    }

    #[test]
    fn a_rank_is_the_weight_below_a_value_and_half_of_that_at_it() {
        let found = explanation(&[(0.5, 19.8, None), (0.3, 20.3, None), (0.2, 31.0, None)]);
        // Buffers are whole packets: 20, 20 and 31.
        assert_eq!(found.rank(Value::Buffer, 20.0), Some(0.4));
        assert_eq!(found.rank(Value::Buffer, 30.0), Some(0.8));
        assert_eq!(found.rank(Value::Loss, 0.0), Some(0.5));
        assert_eq!(found.rank(Value::Rate, 9e6), Some(0.0));
    }

    #[test]
    fn a_policer_that_dropped_nothing_shows_no_rate() {
        let with = |plain: f64, idle: bool| {
            let mut found = explanation(&[(plain, 20.0, None), (1.0 - plain, 0.0, None)]);
            let other = &mut found.paths[1];
            (other.kind, other.values, other.idle) = (PathKind::Policer, vec![40e6, 0.05, 2e6, 60e3], idle);
            found
        };
        assert_eq!(with(0.9, false).value(Value::Rate), Some([2e6, 10e6, 10e6]));
        assert_eq!(with(0.9, true).value(Value::Rate), Some([10e6; 3]));
        assert_eq!(with(0.4, true).value(Value::Rate), None);
        assert_eq!(with(0.4, true).value(Value::Rtt), Some([0.05; 3]));
    }
}
