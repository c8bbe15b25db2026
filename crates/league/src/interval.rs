//! Means with intervals.

use firstflight_hosts::stats::mean_ci95;
use serde::{Deserialize, Serialize};

/// A mean and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Mean.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Quantile of the normal distribution for 95 %.
const Z: f64 = 1.959_963_985;

impl Interval {
    /// Mean of independent values by Student's t; `None` for fewer than two.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        if values.len() < 2 {
            return None;
        }
        let (mean, ends) = mean_ci95(values);
        ends.map(|[low, high]| Self { mean, low, high })
    }

    /// The mean of means of independent strata, each with the same weight: the variance is the mean of theirs, over their number.
    pub(crate) fn stratified(strata: &[Self]) -> Option<Self> {
        let count = strata.len() as f64;
        if strata.is_empty() {
            return None;
        }
        let mean = strata.iter().map(|one| one.mean).sum::<f64>() / count;
        let variance = |one: &Self| ((one.high - one.low) / (2.0 * Z)).powi(2);
        let half = Z * strata.iter().map(variance).sum::<f64>().sqrt() / count;
        Some(Self { mean, low: mean - half, high: mean + half })
    }

    /// The same of the exponentials: geometric means of ratios.
    pub(crate) fn exp(self) -> Self {
        Self { mean: libm::exp(self.mean), low: libm::exp(self.low), high: libm::exp(self.high) }
    }

    /// The same of the logarithms.
    pub(crate) fn ln(self) -> Self {
        Self { mean: libm::log(self.mean), low: libm::log(self.low), high: libm::log(self.high) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strata_of_equal_weight_add_their_variances() {
        // Half-widths 3 and 4 of two strata: sqrt(9 + 16) / 2 = 2.5.
        let strata =
            [Interval { mean: 1.0, low: -2.0, high: 4.0 }, Interval { mean: 3.0, low: -1.0, high: 7.0 }];
        let joined = Interval::stratified(&strata).expect("two strata");
        assert_eq!(joined.mean, 2.0);
        assert!((joined.high - 4.5).abs() < 1e-12 && (joined.low + 0.5).abs() < 1e-12, "{joined:?}");
    }
}
