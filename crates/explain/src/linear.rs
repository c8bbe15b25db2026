//! Cholesky factor of a symmetric positive matrix.

/// Lower triangle L of a matrix L L^T, row by row.
#[derive(Debug)]
pub(super) struct Factor(Vec<Vec<f64>>);

impl Factor {
    /// Factor of the matrix of this many rows with the entries `entry(row, column)`, of which the lower triangle counts.
    /// A matrix that is positive but for rounding is taken as positive.
    pub(super) fn of(rows: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let mut factor: Vec<Vec<f64>> = (0..rows).map(|row| vec![0.0; row + 1]).collect();
        for row in 0..rows {
            for column in 0..=row {
                let known: f64 = (0..column).map(|k| factor[row][k] * factor[column][k]).sum();
                let rest = entry(row, column) - known;
                factor[row][column] =
                    if row == column { libm::sqrt(rest.max(1e-12)) } else { rest / factor[column][column] };
            }
        }
        Self(factor)
    }

    /// x with L x = `values`.
    pub(super) fn forward(&self, values: &[f64]) -> Vec<f64> {
        let mut solved: Vec<f64> = Vec::with_capacity(values.len());
        for (row, value) in self.0.iter().zip(values) {
            let known: f64 = row.iter().zip(&solved).map(|(a, b)| a * b).sum();
            solved.push((value - known) / row[solved.len()]);
        }
        solved
    }

    /// x with L L^T x = `values`.
    pub(super) fn solved(&self, values: &[f64]) -> Vec<f64> {
        let mut solved = self.forward(values);
        for row in (0..solved.len()).rev() {
            let known: f64 = (row + 1..solved.len()).map(|below| self.0[below][row] * solved[below]).sum();
            solved[row] = (solved[row] - known) / self.0[row][row];
        }
        solved
    }

    /// Half the logarithm of the determinant.
    pub(super) fn half_log_determinant(&self) -> f64 {
        self.0.iter().filter_map(|row| row.last()).map(|own| libm::log(*own)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_of_two_rows_is_factored_and_solved() {
        // [[4, 2], [2, 5]] = L L^T with L = [[2, 0], [1, 2]]; its determinant is 16.
        let matrix = [[4.0, 2.0], [2.0, 5.0]];
        let factor = Factor::of(2, |row, column| matrix[row][column]);
        assert_eq!(factor.0, [vec![2.0], vec![1.0, 2.0]]);
        assert!((factor.half_log_determinant() - libm::log(4.0)).abs() < 1e-12);
        // L x = (2, 5): x = (1, 2). The matrix times (1, 2) is (8, 12).
        assert_eq!(factor.forward(&[2.0, 5.0]), [1.0, 2.0]);
        assert_eq!(factor.solved(&[8.0, 12.0]), [1.0, 2.0]);
    }
}
