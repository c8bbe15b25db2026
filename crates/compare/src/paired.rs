//! Difference between the medians of two schemes whose replications met the same randomness.
//!
//! The interval is a bootstrap over pairs: replications are drawn with replacement, both schemes keep the same ones,
//! and the interval holds the middle 95 % of the differences of medians (percentile interval; B. Efron and
//! R. Tibshirani, "An Introduction to the Bootstrap", 1993, chapters 8 and 13). Effects of the path on both schemes
//! alike thus leave the difference as it is.

use firstflight_random::Stream;
use firstflight_results::{Ci95, PairedDifference};

use firstflight_quantile::type_7;

/// Resamples of an interval. Efron and Tibshirani take a thousand for percentile intervals (chapter 13).
const RESAMPLES: usize = 2000;
/// Least number of resamples, for very many replications, whose resamples differ little.
const LEAST_RESAMPLES: usize = 200;
/// Draws of replications in one interval, so that no interval takes more than about a second.
const DRAWS: usize = 100_000_000;

/// Difference of `these` from `baseline`: completion times in seconds, by replication, `None` of one that did not
/// finish. `seed` is that of the resamples.
///
/// `None` without finished replications of both, and for a baseline whose median is zero, of which no value is a share.
///
/// # Panics
/// If one has more replications than the other.
pub(crate) fn paired(these: &[Option<f64>], baseline: &[Option<f64>], seed: u64) -> Option<PairedDifference> {
    let replications = these.len();
    assert_eq!(replications, baseline.len(), "the replications are pairs");
    let (these, baseline) = (Ascending::of(these), Ascending::of(baseline));
    let every = vec![1; replications];
    let (this, base) = (these.median(&every)?, baseline.median(&every)?);
    if base == 0.0 {
        return None;
    }
    let difference = |[this, base]: [f64; 2]| [this - base, this / base - 1.0];
    let [seconds, relative] = difference([this, base]);
    let mut stream = Stream::named(seed, "resample");
    let mut times = vec![0; replications];
    let resamples = (DRAWS / replications.max(1)).clamp(LEAST_RESAMPLES, RESAMPLES);
    let differences: Vec<[f64; 2]> = (0..resamples)
        .filter_map(|_| {
            times.fill(0);
            for _ in 0..replications {
                times[(stream.unit() * replications as f64) as usize] += 1;
            }
            Some([these.median(&times)?, baseline.median(&times).filter(|&base| base > 0.0)?])
        })
        .map(difference)
        .collect();
    let interval = |of: usize, value| middle(differences.iter().map(|it| it[of]).collect(), value);
    Some(PairedDifference {
        seconds,
        seconds_ci95: interval(0, seconds),
        relative,
        relative_ci95: interval(1, relative),
    })
}

/// Middle 95 % of the resampled values, and `value` in any case.
pub(crate) fn middle(mut resampled: Vec<f64>, value: f64) -> Ci95 {
    if resampled.is_empty() {
        return [value, value];
    }
    resampled.sort_by(f64::total_cmp);
    [type_7(&resampled, 0.025).min(value), type_7(&resampled, 0.975).max(value)]
}

/// Finished replications, ascending by time, and the number of all.
pub(crate) struct Ascending {
    finished: Vec<(f64, usize)>,
    all: usize,
}

impl Ascending {
    pub(crate) fn of(times: &[Option<f64>]) -> Self {
        let finished = times.iter().enumerate().filter_map(|(at, time)| Some(((*time)?, at)));
        let mut finished: Vec<(f64, usize)> = finished.collect();
        finished.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { finished, all: times.len() }
    }

    /// Median time if replication `i` occurs `times[i]` times; `None` if no finished one occurs.
    fn median(&self, times: &[u32]) -> Option<f64> {
        let occurs: u64 = self.finished.iter().map(|&(_, at)| u64::from(times[at])).sum();
        let (lower, upper) = (occurs.checked_sub(1)? / 2, occurs / 2);
        let mut before = 0;
        let mut first = None;
        for &(time, at) in &self.finished {
            before += u64::from(times[at]);
            if before > lower && first.is_none() {
                first = Some(time);
            }
            if before > upper {
                return first.map(|first| first + 0.5 * (time - first));
            }
        }
        None
    }

    /// Quantile `p` of all replications, of which those that did not finish are the last (type 7 of Hyndman and Fan, 1996), if replication `i` occurs
    /// `times[i]` times; `None` if it is that of one that did not finish, or of none.
    pub(crate) fn quantile(&self, times: &[u32], p: f64) -> Option<f64> {
        let occurs: u64 = times[..self.all].iter().map(|&count| u64::from(count)).sum();
        let place = p * occurs.checked_sub(1)? as f64;
        let (lower, share) = (place.floor(), place.fract());
        let upper = if share > 0.0 { lower + 1.0 } else { lower };
        let (mut before, mut first) = (0.0, None);
        for &(time, at) in &self.finished {
            before += f64::from(times[at]);
            if before > lower && first.is_none() {
                first = Some(time);
            }
            if before > upper {
                return first.map(|first| first + share * (time - first));
            }
        }
        None
    }

    /// Mean if replication `i` occurs `times[i]` times; `None` if one that did not finish occurs, or none does.
    pub(crate) fn mean(&self, times: &[u32]) -> Option<f64> {
        let occurs: u64 = times[..self.all].iter().map(|&count| u64::from(count)).sum();
        let (mut sum, mut finished) = (0.0, 0);
        for &(time, at) in &self.finished {
            sum += f64::from(times[at]) * time;
            finished += u64::from(times[at]);
        }
        (occurs > 0 && finished == occurs).then(|| sum / occurs as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(times: &[f64]) -> Vec<Option<f64>> {
        times.iter().copied().map(Some).collect()
    }

    fn of(these: &[f64], baseline: &[f64]) -> PairedDifference {
        paired(&finished(these), &finished(baseline), 1).expect("both finished")
    }

    #[test]
    fn one_slow_replication_does_not_turn_a_gain_into_a_loss() {
        // The means are 27.2 and 10: 172 % later. The medians are 9 and 10.
        let difference = of(&[9.0, 9.0, 9.0, 9.0, 100.0], &[10.0; 5]);
        assert_eq!(difference.seconds, -1.0);
        assert!((difference.relative + 0.1).abs() < 1e-12, "{}", difference.relative);
    }

    #[test]
    fn no_interval_is_more_than_the_whole_time_sooner() {
        let (these, baseline): (Vec<f64>, Vec<f64>) =
            (0..30).map(|i| (0.01, if i % 3 == 0 { 100.0 } else { 0.1 * f64::from(i) })).unzip();
        let difference = of(&these, &baseline);
        assert!(difference.relative_ci95[0] > -1.0 && difference.relative_ci95[1] < 0.0, "{difference:?}");
    }

    #[test]
    fn pairing_removes_common_variation() {
        // Whatever the path does to both, this one takes a tenth longer.
        let baseline: Vec<f64> = (1..=30).map(f64::from).collect();
        let these: Vec<f64> = baseline.iter().map(|time| 1.1 * time).collect();
        let [low, high] = of(&these, &baseline).relative_ci95;
        assert!((low - 0.1).abs() < 1e-9 && (high - 0.1).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn the_median_of_a_resample_counts_what_occurs_twice() {
        let ascending = Ascending::of(&[Some(4.0), None, Some(1.0), Some(2.0)]);
        assert_eq!(ascending.median(&[1, 1, 1, 1]), Some(2.0));
        // 1, 2, 4, 4.
        assert_eq!(ascending.median(&[2, 0, 1, 1]), Some(3.0));
        assert_eq!(ascending.median(&[0, 4, 0, 0]), None);
    }

    #[test]
    fn nothing_is_a_share_of_a_baseline_that_takes_no_time_or_never_ends() {
        assert_eq!(paired(&finished(&[0.0, 1.0]), &finished(&[0.0, 0.0]), 1), None);
        assert_eq!(paired(&[Some(1.0)], &[None], 1), None);
        assert_eq!(paired(&[], &[], 1), None);
    }

    #[test]
    fn a_single_replication_has_an_interval_without_width() {
        let difference = of(&[3.0], &[4.0]);
        assert_eq!((difference.relative, difference.relative_ci95), (-0.25, [-0.25, -0.25]));
    }

    #[test]
    fn the_interval_contains_the_true_difference_in_95_of_100_experiments() {
        // Baseline: a common part with an exponential distribution of mean 1, and an own one, both shifted by 1. This
        // one: 0.8 times the common part, and an own part. The medians of 10^6 draws are the truth.
        let mut stream = Stream::named(1, "test");
        let mut pair = move || {
            let mut exponential = || -libm::log(1.0 - stream.unit());
            let (common, own, other) = (exponential(), exponential(), exponential());
            (1.0 + 0.8 * common + 0.3 * own, 1.0 + common + 0.3 * other)
        };
        let mut draw = |n: usize| -> (Vec<f64>, Vec<f64>) { (0..n).map(|_| pair()).unzip() };
        let median = |mut times: Vec<f64>| {
            times.sort_by(f64::total_cmp);
            type_7(&times, 0.5)
        };
        let (these, baseline) = draw(1_000_000);
        let truth = median(these) / median(baseline) - 1.0;
        let hits = (0..300)
            .filter(|&seed| {
                let (these, baseline) = draw(30);
                let [low, high] =
                    paired(&finished(&these), &finished(&baseline), seed).expect("finished").relative_ci95;
                low <= truth && truth <= high
            })
            .count();
        // Three standard deviations of a binomial: 3 * sqrt(300 * 0.95 * 0.05) = 11.
        assert!(hits >= 285 - 11, "{hits} of 300");
    }
}
