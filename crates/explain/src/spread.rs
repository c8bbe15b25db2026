//! Distribution of statistics around their mean: a multivariate t distribution with a covariance from few samples.

use super::linear::Factor;

/// Degrees of freedom: heavy tails, so that what a simulator misses does not decide everything (K. Lange, R. Little, J.
/// Taylor, "Robust Statistical Modeling Using the t Distribution", JASA 84(408), 1989).
const FREEDOM: f64 = 4.0;

/// Weight of the diagonal in the covariance: fewer samples than statistics do not determine it (J. Schaefer, K.
/// Strimmer, Statistical Applications in Genetics and Molecular Biology 4(1), 2005).
const DIAGONAL: f64 = 0.2;

/// Squared deviation of a single statistic, in variances, above which it counts by its logarithm. A host that stalls once for some
/// milliseconds changes one or two statistics by dozens of standard deviations; a path of another kind changes many.
const LARGE: f64 = 25.0;

/// A distribution around zero.
#[derive(Debug)]
pub(super) struct Spread {
    /// Factor of the covariance.
    factor: Factor,
}

impl Spread {
    /// From deviations from the mean, one row for each sample, and the standard deviation that every statistic has
    /// besides. The covariance of the deviations counts `times`: twice for the difference between two samples.
    pub(super) fn of(deviations: &[Vec<f64>], floor: &[f64], times: f64) -> Self {
        let count = deviations.len().max(1) as f64;
        let factor = Factor::of(floor.len(), |row, column| {
            let shared = times * deviations.iter().map(|one| one[row] * one[column]).sum::<f64>() / count;
            // The diagonal is raised.
            if row == column { shared + floor[row] * floor[row] } else { (1.0 - DIAGONAL) * shared }
        });
        Self { factor }
    }

    /// Logarithm of the density at a difference, up to a constant, and its squared distance in standard deviations.
    /// Large deviations of single statistics count by their logarithm.
    pub(super) fn density(&self, apart: &[f64]) -> (f64, f64) {
        let square: f64 = self.factor.forward(apart).iter().map(|one| bounded(one * one)).sum();
        let n = apart.len() as f64;
        let tail = 0.5 * (FREEDOM + n) * libm::log(1.0 + square / FREEDOM);
        (-self.factor.half_log_determinant() - tail, square)
    }
}

/// Squared deviation as it counts.
fn bounded(square: f64) -> f64 {
    if square <= LARGE { square } else { LARGE * (1.0 + libm::log(square / LARGE)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_of_independent_statistics_is_the_sum_of_squares() {
        // No deviations: standard deviations 1 and 2. (3 / 1)^2 + (4 / 2)^2 = 13.
        let spread = Spread::of(&[], &[1.0, 2.0], 2.0);
        let (density, square) = spread.density(&[3.0, 4.0]);
        assert!((square - 13.0).abs() < 1e-12);
        // -ln 2 - (4 + 2) / 2 * ln(1 + 13 / 4) = -0.6931 - 3 * 1.4469 = -5.0339.
        assert!((density + 5.0339).abs() < 1e-3, "{density}");
    }

    #[test]
    fn statistics_that_move_together_count_less_than_twice() {
        // Deviations (1, 1) and (-1, -1): covariance 2 with a floor of 0.1: [[2.01, 1.6], [1.6, 2.01]]. For (1, 1) the
        // distance is 2 / (2.01 + 1.6) = 0.5540; for (1, -1) it is 2 / (2.01 - 1.6) = 4.878.
        let spread = Spread::of(&[vec![1.0, 1.0], vec![-1.0, -1.0]], &[0.1, 0.1], 2.0);
        assert!((spread.density(&[1.0, 1.0]).1 - 0.5540).abs() < 1e-3);
        assert!((spread.density(&[1.0, -1.0]).1 - 4.878).abs() < 1e-3);
    }

    #[test]
    fn a_single_large_deviation_counts_by_its_logarithm() {
        // 50 standard deviations: 25 (1 + ln(2500 / 25)) = 140.13. Five count in full: 25.
        let spread = Spread::of(&[], &[1.0, 1.0], 2.0);
        assert!((spread.density(&[50.0, 0.0]).1 - 140.13).abs() < 0.01);
        assert!((spread.density(&[5.0, 0.0]).1 - 25.0).abs() < 1e-12);
    }
}
