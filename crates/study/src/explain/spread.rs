//! Distribution of statistics around their mean: a multivariate t distribution with a covariance from few samples.

/// Degrees of freedom: heavy tails, so that what a simulator misses does not decide everything (K. Lange, R. Little, J.
/// Taylor, "Robust Statistical Modeling Using the t Distribution", JASA 84(408), 1989).
const FREEDOM: f64 = 4.0;

/// Weight of the diagonal in the covariance: fewer samples than statistics do not determine it (J. Schaefer, K.
/// Strimmer, Statistical Applications in Genetics and Molecular Biology 4(1), 2005).
const DIAGONAL: f64 = 0.2;

/// A distribution around zero.
#[derive(Debug)]
pub(super) struct Spread {
    /// Lower triangle of the Cholesky factor of the covariance, row by row.
    factor: Vec<Vec<f64>>,
}

impl Spread {
    /// From deviations from the mean, one row for each sample, and the standard deviation that every statistic has
    /// besides. That of the difference between two samples is asked for, so the covariance counts twice.
    pub(super) fn of(deviations: &[Vec<f64>], floor: &[f64]) -> Self {
        let (n, count) = (floor.len(), deviations.len().max(1) as f64);
        let mut factor: Vec<Vec<f64>> = (0..n).map(|row| vec![0.0; row + 1]).collect();
        for row in 0..n {
            for column in 0..=row {
                let shared = 2.0 * deviations.iter().map(|one| one[row] * one[column]).sum::<f64>() / count;
                let covariance =
                    if row == column { shared + floor[row] * floor[row] } else { (1.0 - DIAGONAL) * shared };
                let known: f64 = (0..column).map(|k| factor[row][k] * factor[column][k]).sum();
                let rest = covariance - known;
                factor[row][column] = if row == column {
                    // The diagonal has been raised, so the rest is positive but for rounding.
                    libm::sqrt(rest.max(1e-12))
                } else {
                    rest / factor[column][column]
                };
            }
        }
        Self { factor }
    }

    /// Logarithm of the density at a difference, up to a constant, and its squared distance in standard deviations.
    pub(super) fn density(&self, apart: &[f64]) -> (f64, f64) {
        let (mut solved, mut log, mut square) = (Vec::with_capacity(apart.len()), 0.0, 0.0);
        for (row, value) in self.factor.iter().zip(apart) {
            let known: f64 = row.iter().zip(&solved).map(|(a, b): (&f64, &f64)| a * b).sum();
            let own = row[solved.len()];
            let next = (value - known) / own;
            log -= libm::log(own);
            square += next * next;
            solved.push(next);
        }
        let n = apart.len() as f64;
        (log - 0.5 * (FREEDOM + n) * libm::log(1.0 + square / FREEDOM), square)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_of_independent_statistics_is_the_sum_of_squares() {
        // No deviations: standard deviations 1 and 2. (3 / 1)^2 + (4 / 2)^2 = 13.
        let spread = Spread::of(&[], &[1.0, 2.0]);
        let (density, square) = spread.density(&[3.0, 4.0]);
        assert!((square - 13.0).abs() < 1e-12);
        // -ln 2 - (4 + 2) / 2 * ln(1 + 13 / 4) = -0.6931 - 3 * 1.4469 = -5.0339.
        assert!((density + 5.0339).abs() < 1e-3, "{density}");
    }

    #[test]
    fn statistics_that_move_together_count_less_than_twice() {
        // Deviations (1, 1) and (-1, -1): covariance 2 with a floor of 0.1: [[2.01, 1.6], [1.6, 2.01]]. For (1, 1) the
        // distance is 2 / (2.01 + 1.6) = 0.5540; for (1, -1) it is 2 / (2.01 - 1.6) = 4.878.
        let spread = Spread::of(&[vec![1.0, 1.0], vec![-1.0, -1.0]], &[0.1, 0.1]);
        assert!((spread.density(&[1.0, 1.0]).1 - 0.5540).abs() < 1e-3);
        assert!((spread.density(&[1.0, -1.0]).1 - 4.878).abs() < 1e-3);
    }
}
