//! Statistic of the times by which candidates are chosen, over all paths that the capture leaves possible.
//!
//! A decision under uncertainty minimises an expected loss over what is not known, here the time over the weighted paths (L. J. Savage, "The
//! Foundations of Statistics", 1954; J. Berger, "Statistical Decision Theory and Bayesian Analysis", 1985, chapter 1). The loss is the user's choice:
//! the logarithm of the time, so that each path counts by its ratio; the time itself, so that slow paths count most; or a percentile,
//! for promises such as "95 of 100 transfers end within".

use std::fmt;

use firstflight_random::Stream;
use firstflight_results::Ci95;

use crate::paired::{Ascending, middle};

/// Resamples of an interval. Its ends decide which candidates are as fast, and are not shown beyond a per cent.
const RESAMPLES: usize = 500;

/// Statistic of the times of a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Statistic {
    /// Geometric mean: the expected logarithm of the time.
    #[default]
    GeometricMean,
    /// Mean: the expected time.
    Mean,
    /// Percentile, from 1 to 99.
    Percentile(u8),
}

impl Statistic {
    /// Forms of its words, for messages.
    pub const FORMS: &'static str = "geometric-mean, mean, or a percentile from p1 to p99";

    /// The statistic of a word: `geometric-mean`, `mean`, `p95`; `None` of any other.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "geometric-mean" => Some(Self::GeometricMean),
            "mean" => Some(Self::Mean),
            _ => {
                let digits = word.strip_prefix('p').filter(|digits| !digits.starts_with(['0', '+']))?;
                digits.parse().ok().filter(|percent| (1..=99).contains(percent)).map(Self::Percentile)
            }
        }
    }

    /// The statistic as words of a sentence: `the 95th percentile of its times`.
    pub(crate) fn of_its_times(self) -> String {
        match self {
            Self::GeometricMean => "the geometric mean of its times".into(),
            Self::Mean => "the mean of its times".into(),
            Self::Percentile(percent) => {
                let ending = match (percent / 10 % 10, percent % 10) {
                    (1, _) => "th",
                    (_, 1) => "st",
                    (_, 2) => "nd",
                    (_, 3) => "rd",
                    _ => "th",
                };
                format!("the {percent}{ending} percentile of its times")
            }
        }
    }
}

impl fmt::Display for Statistic {
    /// The word that [`Statistic::from_word`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GeometricMean => f.write_str("geometric-mean"),
            Self::Mean => f.write_str("mean"),
            Self::Percentile(percent) => write!(f, "p{percent}"),
        }
    }
}

/// Times of two candidates at one size, by replication; `None` of one that did not end.
pub(crate) struct AtSize {
    pub(crate) own: Vec<Option<f64>>,
    pub(crate) other: Vec<Option<f64>>,
    pub(crate) weight: f64,
}

/// Ratio of the statistic of a candidate to that of another one, the weighed geometric mean over the sizes, with the 95 % interval of a bootstrap over
/// the replications. A replication has the same path at every size: its sizes are drawn together. `None` if the statistic of one of them is not known,
/// because too many of its transfers did not end, or is zero.
pub(crate) fn ratio(sizes: &[AtSize], statistic: Statistic) -> Option<(f64, Ci95)> {
    let replications = sizes.iter().map(|size| size.own.len().min(size.other.len())).min()?;
    let sorted: Vec<[Ascending; 2]> = sizes
        .iter()
        .map(|size| [&size.own, &size.other].map(|times| Ascending::of(&times[..replications])))
        .collect();
    let weights: f64 = sizes.iter().map(|size| size.weight).sum();
    let value = |times: &[u32]| -> Option<f64> {
        let logarithm = |(size, pair): (&AtSize, &[Ascending; 2])| {
            let [own, other] = pair.each_ref().map(|one| match statistic {
                Statistic::Percentile(percent) => one.quantile(times, f64::from(percent) / 100.0),
                _ => one.mean(times),
            });
            let ratio = own? / other.filter(|&time| time > 0.0)?;
            (ratio > 0.0).then(|| size.weight * libm::log(ratio))
        };
        let sum: f64 = sizes.iter().zip(&sorted).map(logarithm).sum::<Option<f64>>()?;
        Some(libm::exp(sum / weights))
    };
    let ratio = value(&vec![1; replications])?;
    // Every pair of candidates meets the same resamples.
    let mut stream = Stream::named(1, "resamples of ratios");
    let mut times = vec![0; replications];
    let resample = |_| {
        times.fill(0);
        for _ in 0..replications {
            times[(stream.unit() * replications as f64) as usize] += 1;
        }
        value(&times)
    };
    let resampled: Vec<f64> = (0..RESAMPLES).filter_map(resample).collect();
    Some((ratio, middle(resampled, ratio)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(own: &[f64], other: &[f64], weight: f64) -> AtSize {
        let finished = |times: &[f64]| times.iter().copied().map(Some).collect();
        AtSize { own: finished(own), other: finished(other), weight }
    }

    #[test]
    fn a_statistic_is_read_as_it_is_written() {
        for word in ["geometric-mean", "mean", "p1", "p50", "p99"] {
            assert_eq!(Statistic::from_word(word).map(|it| it.to_string()).as_deref(), Some(word));
        }
        for word in ["", "median", "p", "p0", "p100", "p05", "p+5", "p9.5", "P95", "Mean"] {
            assert_eq!(Statistic::from_word(word), None, "{word}");
        }
        let words = |percent| Statistic::Percentile(percent).of_its_times();
        let ordinals = [1, 2, 3, 4, 11, 12, 13, 21, 52, 93].map(words);
        let expected = ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "52nd", "93rd"];
        assert_eq!(ordinals, expected.map(|it| format!("the {it} percentile of its times")));
    }

    #[test]
    fn one_timeout_among_ten_decides_by_mean_and_percentile_and_not_by_the_median() {
        // Sooner by a tenth in nine of ten; the tenth waits for a timeout.
        let own = [0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 3.0];
        let sizes = [at(&own, &[1.0; 10], 1.0)];
        let of = |statistic| ratio(&sizes, statistic).expect("all ended").0;
        // (9 * 0.9 + 3) / 10; the median; place 0.95 * 9 = 8.55: 0.9 + 0.55 * 2.1.
        assert!((of(Statistic::Mean) - 1.11).abs() < 1e-12);
        assert!((of(Statistic::Percentile(50)) - 0.9).abs() < 1e-12);
        assert!((of(Statistic::Percentile(95)) - 2.055).abs() < 1e-12);
    }

    #[test]
    fn sizes_count_by_their_weight_in_the_logarithm() {
        // Half the time at a weight of three, twice the time at a weight of one: 2^(-3/4 + 1/4).
        let sizes = [at(&[1.0, 1.0], &[2.0, 2.0], 3.0), at(&[4.0, 4.0], &[2.0, 2.0], 1.0)];
        let (ratio, [low, high]) = ratio(&sizes, Statistic::Mean).expect("all ended");
        let expected = libm::sqrt(0.5);
        // Equal replications leave no room.
        assert!([ratio, low, high].iter().all(|it| (it - expected).abs() < 1e-12), "{ratio} {low} {high}");
    }

    #[test]
    fn a_percentile_among_transfers_that_did_not_end_is_not_known() {
        let sizes = [AtSize {
            own: vec![Some(1.0), Some(1.0), Some(1.0), None],
            other: vec![Some(2.0); 4],
            weight: 1.0,
        }];
        // Place 0.5 * 3 = 1.5 is among the three that ended, place 0.9 * 3 = 2.7 is not.
        assert_eq!(ratio(&sizes, Statistic::Percentile(50)).map(|it| it.0), Some(0.5));
        assert_eq!(ratio(&sizes, Statistic::Percentile(90)), None);
        assert_eq!(ratio(&sizes, Statistic::Mean), None);
    }
}
