//! Differences of the candidates: one row for each at each size, with its median, interval, rank and difference from the others.

use std::collections::BTreeMap;

use firstflight_contract::Exit;
use firstflight_hosts::parallel::map;
use firstflight_hosts::stats;
use firstflight_quantile::type_7;
use firstflight_results::{
    Ci95, Completion, Mean, PairedDifference, Sample, SampleSet, SchemeResult, StartupExit, TypicalExit,
};
use firstflight_scenario::{Candidate, Settings};

use crate::costs::Costs;
use crate::paired::paired;
use crate::request::Request;
use crate::statistic::{self, AtSize, Statistic};
use crate::transfers::{Cell, TransferRun};
use crate::weights::Weights;

/// Description of the intervals, for provenance.
pub(crate) const INTERVAL_METHOD: &str = "medians and percentiles: binomial intervals of order statistics; means: \
    Student's t; differences of medians: bootstrap over pairs of replications; on a path inferred from a capture, the \
    replications draw the unknown values of the path anew, and the interval of the median holds 95 % of them, and \
    it and the differences are widened by the departure of the re-runs of the captured connections";

/// Labels of the schemes from which the others are measured, if they are compared.
pub(crate) struct References {
    /// Slow start with the settings of its stack.
    pub(crate) baseline: Option<String>,
    /// The scheme that the stack has now.
    pub(crate) present: Option<String>,
}

impl References {
    pub(crate) fn of(request: &Request) -> Self {
        let is_baseline =
            |it: &&Candidate| it.scheme.startup() == "slow-start" && it.settings == Settings::default();
        let present = request.present().label();
        Self {
            baseline: request.schemes.iter().find(is_baseline).map(Candidate::label),
            present: request.place(&present).map(|_| present),
        }
    }
}

/// The rows of a comparison, and the replications behind them.
pub(crate) struct Differences {
    pub(crate) references: References,
    /// One row for each cell, by size and rank. None has costs: these are measured for the rows.
    pub(crate) rows: Vec<SchemeResult>,
    /// Number of the cell of each row.
    pub(crate) order: Vec<usize>,
    /// Replications of each row.
    pub(crate) samples: Vec<SampleSet>,
    /// Share by which medians may be wrong, by size: the departure of the re-runs of captured connections. Empty without a capture.
    departures: BTreeMap<u64, f64>,
    by: Statistic,
}

impl Differences {
    /// The differences between the cells. `widened_by` are the unknown values of the path.
    pub(crate) fn of(
        cells: &[Cell<'_>],
        references: References,
        widened_by: &[String],
        departures: BTreeMap<u64, f64>,
        (by, seed): (Statistic, u64),
    ) -> Self {
        let completion = |cell: &Cell<'_>| completion(cell, departures.get(&cell.size).copied());
        let completions: Vec<Option<Completion>> = cells.iter().map(completion).collect();
        let median = |cell: usize| completions[cell].map_or(f64::INFINITY, |completion| completion.median);
        let key = |&cell: &usize| (cells[cell].size, median(cell));
        let mut order: Vec<usize> = (0..cells.len()).collect();
        order.sort_by(|a, b| key(a).partial_cmp(&key(b)).expect("medians are numbers"));
        let mut rows = vec![];
        for of_size in order.chunk_by(|&a, &b| cells[a].size == cells[b].size) {
            let ranked: Vec<(Cell<'_>, Option<Completion>)> =
                of_size.iter().map(|&cell| (cells[cell], completions[cell])).collect();
            let departure = departures.get(&ranked[0].0.size).copied().unwrap_or(0.0);
            rows.extend(rows_of_size(&ranked, &references, widened_by, departure, seed));
        }
        let samples = order.iter().map(|&cell| sample_set(&cells[cell])).collect();
        Self { references, rows, order, samples, departures, by }
    }

    /// The rows with the costs of each, from the row and the number of its cell.
    pub(crate) fn with_costs(&self, costs: impl Fn(&SchemeResult, usize) -> Costs) -> Vec<SchemeResult> {
        let rows = self.rows.iter().zip(&self.order);
        let costs: Vec<Costs> = rows.map(|(row, &cell)| costs(row, cell)).collect();
        Costs::beside(&self.rows, costs)
    }

    pub(crate) fn replications(&self) -> Replications<'_> {
        Replications { samples: &self.samples, departures: &self.departures, weights: None, by: self.by }
    }
}

fn sample_set(cell: &Cell<'_>) -> SampleSet {
    SampleSet {
        scheme: cell.scheme.label(),
        size_bytes: cell.size,
        samples: cell.runs.iter().map(|run| run.sample).collect(),
    }
}

/// Distribution of the completion times of a cell; `None` if no replication finished. With a capture, whose re-runs have this
/// `departure`, its intervals are those of a further transfer.
fn completion(cell: &Cell<'_>, departure: Option<f64>) -> Option<Completion> {
    let sorted = cell.times();
    let completion = stats::completion(&sorted)?;
    let Some(departure) = departure else { return Some(completion) };
    let quantiles = further_transfer(&sorted, departure);
    let (p95, [low, high]) = (quantiles[4], completion.p95_ci95);
    Some(Completion {
        ci95: widened(prediction95(&sorted), departure),
        quantiles,
        p95,
        p95_ci95: [low, high.max(p95)],
        ..completion
    })
}

/// The rows of one size, from its cells by rank. Each is compared with the references and with the first. Every median may be
/// wrong by the share `departure`.
fn rows_of_size(
    ranked: &[(Cell<'_>, Option<Completion>)],
    references: &References,
    widened_by: &[String],
    departure: f64,
    seed: u64,
) -> Vec<SchemeResult> {
    let samples: Vec<Vec<Sample>> = ranked.iter().map(|(cell, _)| sample_set(cell).samples).collect();
    let times: Vec<Vec<Option<f64>>> =
        samples.iter().map(|samples| samples.iter().map(|sample| sample.completion_s).collect()).collect();
    let schemes: Vec<String> = ranked.iter().map(|(cell, _)| cell.scheme.label()).collect();
    let place_of = |label: &Option<String>| schemes.iter().position(|scheme| Some(scheme) == label.as_ref());
    let (baseline, present) = (place_of(&references.baseline), place_of(&references.present));
    let from = |place: usize, other: Option<usize>| -> Option<PairedDifference> {
        let other = other.filter(|&other| other != place)?;
        let difference = paired(&times[place], &times[other], seed)?;
        let median = ranked[other].1.map_or(0.0, |completion| completion.median);
        // Schemes that are equal in every replication are equal in real stacks, too.
        let departure = if times[place] == times[other] { 0.0 } else { departure };
        Some(widened_difference(difference, median, departure))
    };
    let stand_ins = stand_ins(&samples, &[present, baseline]);
    let places: Vec<usize> = (0..ranked.len()).collect();
    map(&places, |&place| {
        let (Cell { scheme, size, runs }, completion_s) = ranked[place];
        let of = |value: &dyn Fn(&TransferRun) -> f64| {
            stats::mean_ci95(&runs.iter().map(value).collect::<Vec<_>>())
        };
        let (drops, drops_ci95) = of(&|run| run.sample.drops as f64);
        // The normal approximation for a small mean may extend below zero; a count cannot.
        let drops_ci95 = drops_ci95.map(|[low, high]| [low.max(0.0), high]);
        let finished = times[place].iter().flatten().count();
        let stand_in = Some(stand_ins[place]).filter(|&other| other != place);
        let from_best = from(place, Some(0));
        SchemeResult {
            scheme: schemes[place].clone(),
            size_bytes: size,
            completion_s,
            retransmits_mean: of(&|run| run.sample.retransmits as f64).0,
            startup_exit: typical_exit(runs),
            rank: place as u32 + 1,
            same_as: stand_in.map(|other| schemes[other].clone()),
            ties_with_best: place == 0 || from_best.is_some_and(|it| !it.worth_avoiding()),
            replications: runs.len() as u32,
            unfinished: (runs.len() - finished) as u32,
            against_baseline: from(place, baseline),
            against_present: from(place, present),
            drops: Mean { mean: drops, ci95: drops_ci95 },
            others_drops_mean: of(&|run| run.others_drops as f64).0,
            timeouts_mean: of(&|run| run.sample.timeouts as f64).0,
            widened_by: widened_by.to_vec(),
            initial_window_packets: scheme.settings.initial_window,
            harm: None,
            how: vec![],
            risks: vec![],
        }
    })
}

/// The replications behind the rows, for what rows alone do not show.
#[derive(Clone, Copy)]
pub(crate) struct Replications<'a> {
    pub(crate) samples: &'a [SampleSet],
    /// Share by which medians may be wrong, by size; absent where it is zero.
    pub(crate) departures: &'a BTreeMap<u64, f64>,
    /// Weights of the sizes where several count together; `None` if all count alike.
    pub(crate) weights: Option<&'a Weights>,
    /// Statistic by which candidates are chosen.
    pub(crate) by: Statistic,
}

impl<'a> Replications<'a> {
    /// The same replications with weights of the sizes.
    pub(crate) fn weighed<'b>(&self, weights: &'b Weights) -> Replications<'b>
    where
        'a: 'b,
    {
        Replications { weights: Some(weights), ..*self }
    }
}

impl Replications<'_> {
    fn of(&self, scheme: &str, size_bytes: u64) -> Option<&[Sample]> {
        let own = self.samples.iter().find(|set| set.scheme == scheme && set.size_bytes == size_bytes)?;
        Some(&own.samples)
    }

    /// Ratio of the times of a scheme to those of another one at `sizes`, at least one, with its 95 % interval.
    ///
    /// The ratio is the weighed geometric mean over the sizes of the ratios of the statistic. By default that is the geometric mean over the replications that end with both schemes at every size. `None`
    /// without such replications. The interval is that of Student's t for the logarithms, widened by the departure.
    ///
    /// Every replication counts for its ratio. A path that is ten times as slow as another one counts no more than that one. A few
    /// transfers that wait for a timeout count, which a median does not see. A replication has the same path at every size: its
    /// sizes are one observation.
    pub(crate) fn ratio(&self, scheme: &str, other: &str, sizes: &[u64]) -> Option<(f64, Ci95)> {
        let weighed = sizes.iter().map(|&size| (size, self.weight(size, sizes)));
        let weighed: Vec<(u64, f64)> = weighed.filter(|&(_, weight)| weight > 0.0).collect();
        let pairs = |&(size, weight)| Some((self.of(scheme, size)?, self.of(other, size)?, weight));
        let pairs: Vec<(&[Sample], &[Sample], f64)> = weighed.iter().map(pairs).collect::<Option<_>>()?;
        if self.by != Statistic::GeometricMean {
            let times = |samples: &[Sample]| samples.iter().map(|sample| sample.completion_s).collect();
            let at_size = |&(own, other, weight): &(&[Sample], &[Sample], f64)| AtSize {
                own: times(own),
                other: times(other),
                weight,
            };
            let sizes: Vec<AtSize> = pairs.iter().map(at_size).collect();
            let same = sizes.iter().all(|size| size.own == size.other);
            let (ratio, interval) = statistic::ratio(&sizes, self.by)?;
            return Some((ratio, widened(interval, self.departure(&weighed, same))));
        }
        let replications = pairs.iter().map(|(own, other, _)| own.len().min(other.len())).min()?;
        let logarithm = |own: &Sample, other: &Sample| {
            let ratio = own.completion_s? / other.completion_s.filter(|&time| time > 0.0)?;
            (ratio > 0.0).then(|| libm::log(ratio))
        };
        let mean = |index: usize| -> Option<f64> {
            let each = pairs
                .iter()
                .map(|(own, other, weight)| Some(weight * logarithm(&own[index], &other[index])?));
            let weights: f64 = pairs.iter().map(|(.., weight)| weight).sum();
            Some(each.sum::<Option<f64>>()? / weights)
        };
        let logarithms: Vec<f64> = (0..replications).filter_map(mean).collect();
        if logarithms.is_empty() {
            return None;
        }
        let (mean, interval) = stats::mean_ci95(&logarithms);
        let same = logarithms.iter().all(|&one| one == 0.0);
        let departure = self.departure(&weighed, same);
        Some((libm::exp(mean), widened(interval.unwrap_or([mean; 2]).map(libm::exp), departure)))
    }

    /// Largest departure at these sizes. Schemes that are the `same` in every replication are so in real stacks, too.
    fn departure(&self, sizes: &[(u64, f64)], same: bool) -> f64 {
        let departures = sizes.iter().filter(|_| !same).filter_map(|(size, _)| self.departures.get(size));
        departures.copied().fold(0.0, f64::max)
    }

    /// Probability that a transfer ends sooner with a scheme than with another one on the same path: the share of the replications whose times
    /// differ, the weighed mean over those of `sizes` that have some. `None` without any.
    pub(crate) fn sooner(&self, scheme: &str, other: &str, sizes: &[u64]) -> Option<f64> {
        let (mut sum, mut weights) = (0.0, 0.0);
        for &size in sizes {
            let (own, other, weight) =
                (self.of(scheme, size)?, self.of(other, size)?, self.weight(size, sizes));
            let (mut sooner, mut later) = (0, 0);
            for (own, other) in own.iter().zip(other) {
                // A transfer that does not end is later than any other.
                let [own, other] = [own, other].map(|one| one.completion_s.unwrap_or(f64::INFINITY));
                sooner += u32::from(own < other);
                later += u32::from(own > other);
            }
            if sooner + later > 0 {
                sum += weight * f64::from(sooner) / f64::from(sooner + later);
                weights += weight;
            }
        }
        (weights > 0.0).then(|| sum / weights)
    }

    /// Weight of a size among `sizes`: a single one counts whatever its weight.
    fn weight(&self, size: u64, sizes: &[u64]) -> f64 {
        self.weights.filter(|_| sizes.len() > 1).map_or(1.0, |weights| weights.share(size, sizes))
    }

    /// Mean number of packets that a scheme drops beyond `limit` of the packets that the `other` drops in the same replication,
    /// and its 95 % interval; `None` without replications.
    pub(crate) fn drops_beyond(
        &self,
        scheme: &str,
        other: &str,
        size: u64,
        limit: impl Fn(f64) -> f64,
    ) -> Option<(f64, Option<Ci95>)> {
        let pairs = self.of(scheme, size)?.iter().zip(self.of(other, size)?);
        let beyond: Vec<f64> =
            pairs.map(|(own, other)| own.drops as f64 - limit(other.drops as f64)).collect();
        (!beyond.is_empty()).then(|| stats::mean_ci95(&beyond))
    }
}

/// For each of `samples`, the place of the equal ones that stands for them: the first of `known` that is one of them, or else the first
/// of them.
fn stand_ins(samples: &[Vec<Sample>], known: &[Option<usize>]) -> Vec<usize> {
    let stand_in = |own: &Vec<Sample>| {
        let known = known.iter().flatten().copied().find(|&place| samples[place] == *own);
        known.or_else(|| samples.iter().position(|other| other == own)).expect("each equals itself")
    };
    samples.iter().map(stand_in).collect()
}

/// Groups of two or more schemes whose replications are equal at every size, in the order of `schemes`.
pub(crate) fn same(schemes: &[String], samples: &[SampleSet]) -> Vec<Vec<String>> {
    let of = |scheme: &str| -> BTreeMap<u64, &[Sample]> {
        let sets = samples.iter().filter(|set| set.scheme == scheme);
        sets.map(|set| (set.size_bytes, &set.samples[..])).collect()
    };
    let mut groups: Vec<Vec<String>> = vec![];
    for scheme in schemes {
        let own = of(scheme);
        match groups.iter_mut().find(|group| !own.is_empty() && of(&group[0]) == own) {
            Some(group) if group.contains(scheme) => {}
            Some(group) => group.push(scheme.clone()),
            None => groups.push(vec![scheme.clone()]),
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

/// Range of a further transfer: the quantiles 5, 25, 50, 75 and 95 %, the outer two widened by the departure of the
/// re-runs.
fn further_transfer(sorted: &[f64], departure: f64) -> [f64; 5] {
    let quantiles = [0.05, 0.25, 0.5, 0.75, 0.95].map(|p| further(sorted, p));
    let [low, high] = widened([quantiles[0], quantiles[4]], departure);
    [low, quantiles[1], quantiles[2], quantiles[3], high]
}

/// Time before which a further transfer ends with probability `p`: of n values, the one at place `p (n + 1)`, because a
/// further value lies below the k-th smallest with probability k / (n + 1) (type 6 of Hyndman and Fan, 1996). Beyond the
/// ends it is the smallest or the largest.
fn further(sorted: &[f64], p: f64) -> f64 {
    let n = sorted.len();
    let place = (p * (n + 1) as f64).clamp(1.0, n as f64) - 1.0;
    let (low, share) = (place.floor() as usize, place.fract());
    sorted[low] + share * (sorted[(low + 1).min(n - 1)] - sorted[low])
}

/// Interval that contains 95 % of further transfers: between the order statistics that exclude one in forty
/// on either side (S. Wilks, "Determination of Sample Sizes for Setting Tolerance Limits", 1941). Fewer than
/// 39 values cannot exclude any.
fn prediction95(sorted: &[f64]) -> [f64; 2] {
    let outside = ((sorted.len() + 1) as f64 * 0.025).floor().max(1.0) as usize;
    [sorted[outside - 1], sorted[sorted.len() - outside]]
}

/// Widens an interval whose ends may be wrong by `share`.
fn widened([low, high]: [f64; 2], share: f64) -> [f64; 2] {
    [low / (1.0 + share), high * (1.0 + share)]
}

/// Widens the intervals of a difference from a scheme with the median `base`, whose ratio of medians may be wrong by
/// `share`: what departs from the simulator, even on a path of which the capture shows all, differs between two schemes.
fn widened_difference(difference: PairedDifference, base: f64, share: f64) -> PairedDifference {
    let [from, to] = difference.relative_ci95;
    let [low, high] = widened([1.0 + from, 1.0 + to], share);
    let [earlier, later] = difference.seconds_ci95;
    PairedDifference {
        seconds_ci95: [earlier - base * (1.0 + from - low), later + base * (high - 1.0 - to)],
        relative_ci95: [low - 1.0, high - 1.0],
        ..difference
    }
}

/// Typical end of start-up; `None` if start-up outlasted the transfer in more than half the replications.
fn typical_exit(runs: &[TransferRun]) -> Option<TypicalExit> {
    let exits: Vec<_> = runs.iter().filter_map(|run| run.sample.startup_exit).collect();
    if 2 * exits.len() < runs.len() || exits.is_empty() {
        return None;
    }
    let count = |reason: Exit| exits.iter().filter(|exit| exit.reason == reason).count();
    let reason = Exit::ALL.into_iter().max_by_key(|&reason| (count(reason), std::cmp::Reverse(reason)))?;
    let median = |value: &dyn Fn(&StartupExit) -> f64| {
        let mut values: Vec<f64> = exits.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        type_7(&values, 0.5)
    };
    Some(TypicalExit {
        time_s: median(&|exit| exit.time_s),
        cwnd_packets: median(&|exit| exit.cwnd_packets),
        reason,
        bdp_packets: median(&|exit| exit.bdp_packets),
        overshoot_packets: median(&|exit| exit.overshoot_packets as f64),
        lost_before_exit_packets: median(&|exit| exit.lost_before_exit_packets as f64),
        exited: exits.len() as f64 / runs.len() as f64,
        agreed: count(reason) as f64 / exits.len() as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(time: f64) -> Sample {
        Sample {
            seed: 1,
            completion_s: Some(time),
            retransmits: 0,
            timeouts: 0,
            drops: 0,
            startup_exit: None,
        }
    }

    #[test]
    fn the_present_scheme_the_baseline_or_the_first_of_equal_schemes_stands_for_them() {
        let samples = [1.0, 1.0, 2.0, 1.0].map(|time| vec![sample(time)]);
        assert_eq!(stand_ins(&samples, &[Some(1), Some(3)]), [1, 1, 2, 1]);
        assert_eq!(stand_ins(&samples, &[None, Some(3)]), [3, 3, 2, 3]);
        assert_eq!(stand_ins(&samples, &[Some(2), Some(3)]), [3, 3, 2, 3]);
        assert_eq!(stand_ins(&samples, &[None, Some(2)]), [0, 0, 2, 0]);
        assert_eq!(stand_ins(&samples, &[None, None]), [0, 0, 2, 0]);
    }

    #[test]
    fn schemes_are_the_same_if_every_replication_of_every_size_is() {
        let set = |scheme: &str, size_bytes, times: [f64; 2]| SampleSet {
            scheme: scheme.into(),
            size_bytes,
            samples: times.map(sample).into(),
        };
        let samples = [
            set("a", 30, [1.0, 2.0]),
            set("b", 30, [1.0, 2.0]),
            set("c", 30, [1.0, 2.0]),
            // In another order than above, as rows are ranked by size.
            set("c", 300, [4.0, 5.0]),
            set("a", 300, [4.0, 5.0]),
            set("b", 300, [4.0, 5.1]),
        ];
        let schemes = ["b", "c", "a", "c"].map(String::from);
        assert_eq!(same(&schemes, &samples), [["c", "a"].map(String::from)]);
        // Without replications nothing is known to be the same.
        assert_eq!(same(&schemes, &[]), [[""; 0]; 0]);
    }

    #[test]
    fn a_further_transfer_lies_between_the_5_and_95_percent_quantiles_of_19_with_a_probability_of_90_percent()
    {
        // It is as likely to be in any of the 20 gaps between and beyond 19 values: 18 of them lie inside the ends.
        let sorted: Vec<f64> = (1..=19).map(f64::from).collect();
        assert_eq!(further_transfer(&sorted, 0.0), [1.0, 5.0, 10.0, 15.0, 19.0]);
        assert_eq!(further_transfer(&sorted, 0.25), [0.8, 5.0, 10.0, 15.0, 23.75]);
        assert_eq!(further_transfer(&[3.0], 0.0), [3.0; 5]);
    }

    #[test]
    fn a_difference_is_widened_by_what_departs_from_the_simulator() {
        // A scheme that takes 0.8 of 10 s, from 0.75 to 0.84, if medians may be wrong by a quarter: from 0.6 to 1.05.
        let difference = PairedDifference {
            seconds: -2.0,
            seconds_ci95: [-2.5, -1.6],
            relative: -0.2,
            relative_ci95: [-0.25, -0.16],
        };
        let wide = widened_difference(difference, 10.0, 0.25);
        let close = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).abs() < 1e-12 && (a[1] - b[1]).abs() < 1e-12;
        assert!(close(wide.relative_ci95, [-0.4, 0.05]), "{wide:?}");
        assert!(close(wide.seconds_ci95, [-4.0, 0.5]), "{wide:?}");
        assert_eq!((wide.seconds, wide.relative), (-2.0, -0.2));
        assert!(close(widened_difference(difference, 10.0, 0.0).seconds_ci95, [-2.5, -1.6]));
    }

    #[test]
    fn at_least_39_values_are_needed_for_a_95_percent_prediction_interval() {
        // A further value falls below the smallest of 39, or above the largest, with a probability of 1 in 40
        // each.
        let sorted: Vec<f64> = (1..=79).map(f64::from).collect();
        assert_eq!(prediction95(&sorted[..39]), [1.0, 39.0]);
        assert_eq!(prediction95(&sorted), [2.0, 78.0]);
        assert_eq!(prediction95(&sorted[..1]), [1.0, 1.0]);
    }
}
