//! Ratios of the times of bystanders, with their intervals.

use firstflight_results::{Ci95, Harm};

use super::scene::Times;
use firstflight_hosts::stats::t_975;

/// Ratio of two means, with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratio {
    pub(super) value: f64,
    pub(super) error: f64,
}

impl Ratio {
    /// The ratio of the means over pairs, each of a numerator and a denominator, in the order of a variable over which they
    /// are spread evenly. With residuals e = y - r x the standard error is sqrt(sum (e - e before)^2 / (2 n (n - 1))) / mean x.
    /// `None` if the denominators add up to zero, or for a single pair.
    fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let n = pairs.len() as f64;
        let sum = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
        let below = sum(&|pair| pair.1);
        if below <= 0.0 || pairs.len() < 2 {
            return None;
        }
        let value = sum(&|pair| pair.0) / below;
        let residual = |(y, x): (f64, f64)| y - value * x;
        let apart = pairs.windows(2).map(|two| residual(two[1]) - residual(two[0]));
        let squares = apart.map(|apart| apart * apart).sum::<f64>();
        Some(Self { value, error: (squares / (2.0 * n * (n - 1.0))).sqrt() / (below / n) })
    }

    /// 95 % interval by Student's t; a time cannot be negative. The mean square of n - 1 successive differences has
    /// 2 (n - 1)^2 / (3 n - 4) degrees of freedom (J. von Neumann et al., "The Mean Square Successive Difference", Annals of
    /// Mathematical Statistics 12(2), 1941).
    fn ci95(self, pairs: usize) -> Ci95 {
        let freedom = 2 * (pairs - 1) * (pairs - 1) / (3 * pairs - 4);
        let half = t_975(freedom.max(1)) * self.error;
        [(self.value - half).max(0.0), self.value + half]
    }
}

/// Harm to both bystanders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratios {
    bulk: Ratio,
    request_response: Ratio,
    replications: usize,
}

impl Ratios {
    /// Times of the first replications beside a candidate, over those beside the present scheme; `None` if a bystander did
    /// not end in one of them.
    pub(super) fn of(beside: &[Option<Times>], present: &[Option<Times>]) -> Option<Self> {
        let pairs: Option<Vec<(Times, Times)>> =
            beside.iter().zip(present).map(|(a, b)| Some(((*a)?, (*b)?))).collect();
        let mut pairs = pairs?;
        pairs.sort_by(|a, b| a.1.age.total_cmp(&b.1.age));
        let of = |time: fn(&Times) -> f64| {
            Ratio::of(
                &pairs.iter().map(|(beside, present)| (time(beside), time(present))).collect::<Vec<_>>(),
            )
        };
        Some(Self {
            bulk: of(|times| times.bulk)?,
            request_response: of(|times| times.request_response)?,
            replications: pairs.len(),
        })
    }

    pub(super) fn both(self) -> [Ratio; 2] {
        [self.bulk, self.request_response]
    }

    pub(super) fn shown(&self) -> Harm {
        Harm {
            bulk: self.bulk.value,
            bulk_ci95: self.bulk.ci95(self.replications),
            request_response: self.request_response.value,
            request_response_ci95: self.request_response.ci95(self.replications),
            replications: self.replications as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use firstflight_random::Stream;

    use super::*;

    fn times(age: f64, bulk: f64, request_response: f64) -> Option<Times> {
        Some(Times { age, bulk, request_response })
    }

    #[test]
    fn harm_is_the_ratio_of_the_times_of_all_replications_with_the_interval_of_a_ratio_of_means() {
        // (2 + 3 + 4) / (1 + 2 + 3) = 1.5. The residuals 2 - 1.5, 3 - 3 and 4 - 4.5, in the order of age, differ by 0.5 each time;
        // the standard error is sqrt(0.5 / (2 * 3 * 2)) / 2 = 0.102062. 2 * 2^2 / (3 * 3 - 4) = 1 degree of freedom, rounded
        // down: t(1, 97.5 %) = 12.70620, and 1.5 +- 1.296822.
        let present = [times(0.2, 1.0, 2.0), times(0.8, 3.0, 2.0), times(0.5, 2.0, 2.0)];
        let beside = [times(0.2, 2.0, 2.0), times(0.8, 4.0, 2.0), times(0.5, 3.0, 2.0)];
        let harm = Ratios::of(&beside, &present).expect("all ended").shown();
        assert_eq!((harm.bulk, harm.request_response, harm.replications), (1.5, 1.0, 3));
        let [low, high] = harm.bulk_ci95;
        assert!((low - 0.203_178).abs() < 1e-5 && (high - 2.796_822).abs() < 1e-5, "{low} {high}");
        assert_eq!(harm.request_response_ci95, [1.0, 1.0]);
        // Of a candidate that stopped earlier the first pairs count: (2 + 4) / (1 + 3).
        let harm = Ratios::of(&beside[..2], &present).expect("all ended").shown();
        assert!((harm.bulk - 1.5).abs() < 1e-12 && harm.replications == 2);
        assert_eq!(Ratios::of(&[None, beside[1]], &present), None);
        assert_eq!(Ratios::of(&beside[..1], &present), None, "one pair has no interval");
    }

    #[test]
    fn a_harm_that_follows_the_age_smoothly_is_known_better_than_from_random_ages() {
        // Sixteen ages, spread evenly and in any order: the numerator is 1 + age, and its mean is known to the steps between
        // ages, 1 / 16, of which the standard error is 1 / 16 / sqrt(2 * 16). Random ages would have one of
        // sqrt(1 / 12 / 16) = 0.072.
        let age = |index: usize| (index * 5 % 16) as f64 / 16.0;
        let beside: Vec<_> = (0..16).map(|index| times(age(index), 1.0 + age(index), 1.0)).collect();
        let present: Vec<_> = (0..16).map(|index| times(age(index), 1.0, 1.0)).collect();
        let [bulk, _] = Ratios::of(&beside, &present).expect("all ended").both();
        assert!((bulk.error - 1.0 / 16.0 / 32_f64.sqrt()).abs() < 1e-12, "{bulk:?}");
    }

    #[test]
    fn the_interval_contains_the_true_ratio_in_95_of_100_experiments() {
        // Both times share a part with an exponential distribution of mean 1 and have parts of their own: means of
        // 1 + 1.2 + 0.3 and 1 + 1 + 0.3.
        let mut stream = Stream::named(1, "test");
        let mut pair = move || {
            let mut exponential = || -libm::log(1.0 - stream.unit());
            let (common, own, other) = (exponential(), exponential(), exponential());
            (1.0 + 1.2 * common + 0.3 * own, 1.0 + common + 0.3 * other)
        };
        let truth = 2.5 / 2.3;
        let hits = (0..1000).filter(|_| {
            let pairs: Vec<(f64, f64)> = (0..16).map(|_| pair()).collect();
            let [low, high] = Ratio::of(&pairs).expect("positive").ci95(pairs.len());
            low <= truth && truth <= high
        });
        // Three standard deviations of a binomial: 3 * sqrt(1000 * 0.95 * 0.05) = 21.
        let hits = hits.count();
        assert!(hits >= 950 - 21, "{hits} of 1000");
    }
}
