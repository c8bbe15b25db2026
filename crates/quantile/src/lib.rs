//! Sample quantiles by the types of R. Hyndman and Y. Fan, "Sample Quantiles in Statistical Packages", The American Statistician
//! 50(4), 1996.

/// Quantile `p` of ascending values by type 7: linear interpolation between two of them.
///
/// # Panics
/// If there is no value.
pub fn type_7(ascending: &[f64], p: f64) -> f64 {
    let place = p * (ascending.len() - 1) as f64;
    let (low, share) = (place.floor() as usize, place.fract());
    let high = (low + 1).min(ascending.len() - 1);
    ascending[low] + share * (ascending[high] - ascending[low])
}

/// Quantile `p` of ascending values with weights by type 1: the smallest value up to which this share of the weight lies. `None` for no
/// values.
pub fn type_1<T>(ascending: impl Iterator<Item = (T, f64)> + Clone, p: f64) -> Option<T> {
    let total: f64 = ascending.clone().map(|(_, weight)| weight).sum();
    let mut sum = 0.0;
    let mut last = None;
    for (value, weight) in ascending {
        sum += weight;
        if sum >= p * total {
            return Some(value);
        }
        last = Some(value);
    }
    // Rounding may leave the sum below the total.
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_7_interpolates() {
        let ascending = [10.0, 20.0, 30.0, 40.0];
        assert_eq!(type_7(&ascending, 0.5), 25.0);
        // 0.95 * 3 = 2.85: 30 + 0.85 * 10.
        assert!((type_7(&ascending, 0.95) - 38.5).abs() < 1e-9);
    }

    #[test]
    fn type_1_is_a_value_of_the_sample() {
        // Weights 1, 1, 8: half of the total lies at or below 3.
        let weighted = [(1.0, 1.0), (2.0, 1.0), (3.0, 8.0)];
        assert_eq!(type_1(weighted.into_iter(), 0.5), Some(3.0));
        // R: quantile(c(10, 20, 30, 40), c(0.5, 0.51), type = 1) is 20 and 30.
        let equal = || [10, 20, 30, 40].into_iter().map(|value| (value, 1.0));
        assert_eq!((type_1(equal(), 0.5), type_1(equal(), 0.51)), (Some(20), Some(30)));
        assert_eq!(type_1(equal().take(0), 0.5), None);
    }

    #[test]
    fn type_1_of_a_count_times_a_round_share_is_exact() {
        // 95 of 100 values are at or below the 95th.
        for count in (20..=2000).step_by(20) {
            let values = (1..=count).map(|value| (value, 1.0));
            assert_eq!(type_1(values, 0.95), Some(count / 20 * 19), "{count}");
        }
    }
}
