//! Statistics used by the estimators.

use firstflight_quantile::type_1;

/// A value with its weight.
pub(super) type Weighted = (f64, f64);

/// Quantile `share` by type 1 of Hyndman and Fan; `None` for no values. Sorts its input.
pub fn quantile(values: &mut [Weighted], share: f64) -> Option<f64> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    type_1(values.iter().copied(), share)
}

/// Standard deviation from the median distance to `center`, which outliers do not affect (the factor 1.4826
/// applies to a normal distribution).
pub(super) fn robust_deviation(values: &[Weighted], center: f64) -> f64 {
    let mut distances: Vec<_> =
        values.iter().map(|(value, weight)| ((value - center).abs(), *weight)).collect();
    1.4826 * quantile(&mut distances, 0.5).unwrap_or(0.0)
}

/// Number of equally weighted values equivalent to these weights (Kish).
pub(super) fn effective_count(values: &[Weighted]) -> f64 {
    let sum: f64 = values.iter().map(|(_, weight)| weight).sum();
    let squares: f64 = values.iter().map(|(_, weight)| weight * weight).sum();
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

/// 95 % interval of a probability after `hits` in `trials` (Wilson, 1927).
pub(super) fn wilson(hits: u64, trials: u64) -> (f64, f64) {
    const Z: f64 = 1.959_964;
    if trials == 0 {
        return (0.0, 1.0);
    }
    let (n, p) = (trials as f64, hits as f64 / trials as f64);
    let center = p + Z * Z / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    // at both ends centre and half are equal up to rounding
    let low = if hits == 0 { 0.0 } else { (center - half) / scale };
    let high = if hits == trials { 1.0 } else { (center + half) / scale };
    (low, high)
}

/// Upper bound of the probability of at least `hits` in `trials` independent events of probability `p`
/// (Chernoff's, with the relative entropy).
pub(super) fn chance_of_at_least(hits: u64, trials: u64, p: f64) -> f64 {
    let (n, share) = (trials as f64, hits as f64 / trials.max(1) as f64);
    if share <= p || trials == 0 {
        return 1.0;
    }
    if p <= 0.0 {
        return 0.0;
    }
    let term = |a: f64, b: f64| if a > 0.0 { a * libm::log(a / b) } else { 0.0 };
    libm::exp(-n * (term(share, p) + term(1.0 - share, 1.0 - p)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_follow_the_weights() {
        // weights 1, 1, 8: half of the total lies at or below 3
        assert_eq!(quantile(&mut [(3.0, 8.0), (1.0, 1.0), (2.0, 1.0)], 0.5), Some(3.0));
        assert_eq!(quantile(&mut [(3.0, 1.0), (1.0, 1.0), (2.0, 1.0)], 0.5), Some(2.0));
        assert_eq!(quantile(&mut [], 0.5), None);
    }

    #[test]
    fn one_outlier_does_not_move_the_deviation() {
        // distances from 10: 1, 0, 1, 90; the weighted median of them is 1
        let values = [(9.0, 1.0), (10.0, 1.0), (11.0, 1.0), (100.0, 1.0)];
        assert_eq!(robust_deviation(&values, 10.0), 1.4826);
    }

    #[test]
    fn no_loss_in_1000_packets_bounds_the_probability_at_0_38_percent() {
        // z^2 / (n + z^2) = 3.8415 / 1003.8415 = 0.0038268
        let (low, high) = wilson(0, 1000);
        assert_eq!(low, 0.0);
        assert!((high - 0.003_826_8).abs() < 1e-6, "{high}");
    }

    #[test]
    fn wilson_gives_the_textbook_interval_for_15_of_50() {
        // z^2 = 3.84146: (0.3 + 0.0384146 -+ 1.959964 sqrt(0.3 * 0.7 / 50 + 3.84146 / 10000)) / 1.0768292
        // = (0.3384146 -+ 0.1327012) / 1.0768292
        let (low, high) = wilson(15, 50);
        assert!((low - 0.191_036).abs() < 1e-5 && (high - 0.437_503).abs() < 1e-5, "{low} {high}");
    }

    #[test]
    fn ten_heads_in_ten_throws_have_a_probability_of_one_in_1024() {
        // for share = 1 Chernoff's bound is exact: 0.5^10
        assert!((chance_of_at_least(10, 10, 0.5) - 1.0 / 1024.0).abs() < 1e-12);
        assert_eq!(chance_of_at_least(3, 10, 0.5), 1.0);
    }

    #[test]
    fn values_of_unequal_weights_count_as_fewer() {
        // Kish: (1 + 2 + 3)^2 / (1 + 4 + 9).
        let count = effective_count(&[(7.0, 1.0), (7.0, 2.0), (7.0, 3.0)]);
        assert!((count - 18.0 / 7.0).abs() < 1e-12, "{count}");
    }
}
