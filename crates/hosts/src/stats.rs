//! Confidence intervals. Start-up is a transient: neither a single run nor a mean without an interval is
//! evidence.

use statrs::distribution::{ContinuousCDF, StudentsT};

use firstflight_quantile::type_7;
use firstflight_results::{Ci95, Completion};

/// Mean of `values` and its 95 % interval by Student's t; no interval for fewer than two values.
///
/// # Panics
/// If `values` is empty.
pub fn mean_ci95(values: &[f64]) -> (f64, Option<Ci95>) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() < 2 {
        return (mean, None);
    }
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    let half = t_975(values.len() - 1) * (variance / n).sqrt();
    (mean, Some([mean - half, mean + half]))
}

/// 97.5 % quantile of Student's t with `freedom` degrees of freedom, to 11 decimals: the search for it takes logarithms of
/// the system, whose last bits differ between machines.
pub fn t_975(freedom: usize) -> f64 {
    let t =
        StudentsT::new(0.0, 1.0, freedom as f64).expect("at least one degree of freedom").inverse_cdf(0.975);
    (t * 1e11).round() / 1e11
}

/// 95 % interval of the quantile `p` without assumptions on the distribution: the order statistics between
/// which it lies, by the binomial distribution of the number of values below it (H. David and H. Nagaraja,
/// "Order Statistics", 3rd ed. 2003, section 7.1). With few values it is the whole range, whose coverage is
/// lower.
pub fn quantile_ci95(sorted: &[f64], p: f64) -> Ci95 {
    let n = sorted.len();
    let (first, weights) = binomial(n, p);
    let total: f64 = weights.iter().sum();
    let (mut low, mut high) = (0, n - 1);
    let mut below = 0.0;
    for (k, weight) in (first..).zip(weights) {
        below += weight;
        if below <= 0.025 * total {
            low = k;
        }
        if below >= 0.975 * total {
            high = k.min(n - 1);
            break;
        }
    }
    [sorted[low], sorted[high]]
}

/// Share of the largest probability below which a term of the binomial distribution is left out. Even all terms of
/// 10^6 trials together then change a sum by less than its rounding does.
const NEGLIGIBLE: f64 = 1e-24;

/// Binomial distribution of `n` trials, as multiples of its largest probability: the smallest number of successes
/// that counts, and the weight of it and of every number after it. Terms are computed from the largest one outwards,
/// so none underflows that counts.
fn binomial(n: usize, p: f64) -> (usize, Vec<f64>) {
    let mode = (((n + 1) as f64 * p) as usize).min(n);
    let odds = p / (1.0 - p);
    let falling = |steps: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
        let terms = steps.scan(1.0, |weight, ratio| {
            *weight *= ratio;
            Some(*weight)
        });
        terms.take_while(|&weight| weight > NEGLIGIBLE).collect()
    };
    let mut weights = falling(&mut (1..=mode).rev().map(|k| k as f64 / (n - k + 1) as f64 / odds));
    let first = mode - weights.len();
    weights.reverse();
    weights.push(1.0);
    weights.extend(falling(&mut (mode..n).map(|k| (n - k) as f64 / (k + 1) as f64 * odds)));
    (first, weights)
}

/// Distribution of completion times; `None` for no times.
pub fn completion(times: &[f64]) -> Option<Completion> {
    if times.is_empty() {
        return None;
    }
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (mean, ci) = mean_ci95(&sorted);
    Some(Completion {
        median: type_7(&sorted, 0.5),
        p95: type_7(&sorted, 0.95),
        ci95: quantile_ci95(&sorted, 0.5),
        p95_ci95: quantile_ci95(&sorted, 0.95),
        quantiles: [0.05, 0.25, 0.5, 0.75, 0.95].map(|p| type_7(&sorted, p)),
        mean,
        mean_ci95: ci.unwrap_or([mean, mean]),
    })
}

/// Jain's index `(sum x)^2 / (n sum x^2)`: R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984. One for no flows.
pub(crate) fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    // Rounding may lift the index of equal shares above one.
    if squares == 0.0 { 1.0 } else { (sum * sum / (shares.len() as f64 * squares)).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_four_has_the_interval_of_the_t_table() {
        // Mean 5, variance (9 + 1 + 1 + 9) / 3 = 20/3; t(3, 97.5 %) = 3.182: half-width 3.182 * sqrt(5/3) = 4.108.
        let (mean, ci) = mean_ci95(&[2.0, 4.0, 6.0, 8.0]);
        let [low, high] = ci.expect("four values");
        assert_eq!(mean, 5.0);
        assert!((low - 0.892).abs() < 0.001 && (high - 9.108).abs() < 0.001, "{low} {high}");
        assert_eq!(mean_ci95(&[7.0]), (7.0, None));
    }

    #[test]
    fn the_median_of_twenty_lies_between_the_6th_and_the_15th() {
        // The classic table of binomial limits: n = 20, 95 % interval of the median = (x6, x15), coverage 0.9586.
        let sorted: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(quantile_ci95(&sorted, 0.5), [6.0, 15.0]);
        // Of five values not even the whole range covers the median with 95 %: 1 - 2/32 = 0.9375.
        assert_eq!(quantile_ci95(&sorted[..5], 0.5), [1.0, 5.0]);
    }

    #[test]
    fn intervals_of_many_values_are_between_the_order_statistics_of_the_exact_distribution() {
        // Sums of the binomial probabilities in decimal arithmetic of 50 digits (Python, module `decimal`).
        for (n, median, p95) in [
            (30, [10, 21], [26, 30]),
            (100, [40, 61], [90, 100]),
            (250, [110, 141], [230, 245]),
            (1_000, [469, 532], [936, 964]),
            (1_075, [505, 571], [1_007, 1_036]),
            (1_100, [518, 583], [1_030, 1_060]),
            (10_000, [4_902, 5_099], [9_457, 9_543]),
            (100_000, [49_690, 50_311], [94_864, 95_136]),
            (1_000_000, [499_020, 500_981], [949_572, 950_428]),
        ] {
            let sorted: Vec<f64> = (1..=n).map(f64::from).collect();
            assert_eq!(quantile_ci95(&sorted, 0.5), median.map(f64::from), "median of {n}");
            assert_eq!(quantile_ci95(&sorted, 0.95), p95.map(f64::from), "95th percentile of {n}");
        }
    }

    #[test]
    fn jains_index_is_one_for_equal_shares_and_1_over_n_for_one_taker() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), 1.0);
        assert_eq!(jain(&[5.0, 0.0, 0.0, 0.0]), 0.25);
        assert_eq!(jain(&[]), 1.0);
        // Without a bound 1.0000000000000002.
        assert_eq!(jain(&[0.3; 6]), 1.0);
    }
}
