//! Regression of the times of transfers: log(time) = a + c·after + b·log(size) + d·log(round trip).
//!
//! A connection enters as the sums of its transfers, so that connections can be drawn again without their transfers.

/// Coefficients: constant, after the change, logarithm of the size, logarithm of the round trip.
const TERMS: usize = 4;
/// A column is left out if less than this share of it is no combination of those before it.
const SINGULAR: f64 = 1e-9;

/// Sums of products over the transfers of one connection, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    x: [[f64; TERMS]; TERMS],
    y: [f64; TERMS],
}

/// Coefficients that describe the times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fit {
    /// Logarithm of the time before, at a size and a round trip of zero.
    pub(super) before: f64,
    /// Difference after the change, logarithm of the time.
    pub(super) change: f64,
}

impl Sums {
    /// Adds a transfer: whether it was after the change, its size and round trip, and its time, all as logarithms. Without `rtt` the
    /// round trip is no term.
    pub(super) fn add(&mut self, after: bool, size: f64, rtt: Option<f64>, time: f64) {
        let x = [1.0, f64::from(u8::from(after)), size, rtt.unwrap_or(0.0)];
        for i in 0..TERMS {
            for j in 0..TERMS {
                self.x[i][j] += x[i] * x[j];
            }
            self.y[i] += x[i] * time;
        }
    }

    /// Adds other sums `times` times.
    pub(super) fn add_times(&mut self, other: &Self, times: f64) {
        for i in 0..TERMS {
            for j in 0..TERMS {
                self.x[i][j] += times * other.x[i][j];
            }
            self.y[i] += times * other.y[i];
        }
    }

    /// Least squares. `None` without transfers on both sides. A term that does not vary, or only as an earlier one does, has no
    /// coefficient.
    pub(super) fn fit(&self) -> Option<Fit> {
        let (all, after) = (self.x[0][0], self.x[1][1]);
        if after <= 0.0 || after >= all {
            return None;
        }
        let (mut x, mut y) = (self.x, self.y);
        let mut used = [true; TERMS];
        for i in 0..TERMS {
            used[i] = x[i][i] > SINGULAR * self.x[i][i];
            if !used[i] {
                continue;
            }
            let (pivot, right) = (x[i], y[i]);
            for (row, value) in x.iter_mut().zip(&mut y).skip(i + 1) {
                let factor = row[i] / pivot[i];
                row.iter_mut().zip(pivot).skip(i).for_each(|(cell, above)| *cell -= factor * above);
                *value -= factor * right;
            }
        }
        let mut found = [0.0; TERMS];
        for i in (0..TERMS).rev().filter(|&i| used[i]) {
            let rest: f64 = (i + 1..TERMS).map(|j| x[i][j] * found[j]).sum();
            found[i] = (y[i] - rest) / x[i][i];
        }
        (used[1]).then_some(Fit { before: found[0], change: found[1] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_times_give_their_coefficients_back() {
        // log(time) = 2 - 0.3 after + 0.5 size + 0.8 rtt.
        let mut sums = Sums::default();
        for n in 0..20 {
            let (after, size, rtt) = (n % 3 == 0, f64::from(n % 5) - 2.0, f64::from(n % 7) * 0.1 - 0.3);
            let time = 2.0 - 0.3 * f64::from(u8::from(after)) + 0.5 * size + 0.8 * rtt;
            let mut one = Sums::default();
            one.add(after, size, Some(rtt), time);
            sums.add_times(&one, 1.0 + f64::from(n % 2));
        }
        let fit = sums.fit().expect("both sides");
        assert!((fit.before - 2.0).abs() < 1e-9 && (fit.change + 0.3).abs() < 1e-9, "{fit:?}");
    }

    #[test]
    fn without_other_terms_the_change_is_the_difference_of_the_means() {
        // Means of 1 and 3 before, of 5, 6 and 7 after: 2 and 6.
        let mut sums = Sums::default();
        for (after, time) in [(false, 1.0), (false, 3.0), (true, 5.0), (true, 6.0), (true, 7.0)] {
            sums.add(after, 0.0, None, time);
        }
        assert_eq!(sums.fit(), Some(Fit { before: 2.0, change: 4.0 }));
        // One side alone shows no change.
        let mut one = Sums::default();
        one.add(true, 0.0, None, 1.0);
        assert_eq!((one.fit(), Sums::default().fit()), (None, None));
    }

    #[test]
    fn a_size_that_differs_only_between_the_sides_is_no_term() {
        let mut sums = Sums::default();
        for (after, size, time) in [(false, -1.0, 1.0), (false, -1.0, 1.0), (true, 1.0, 2.0)] {
            sums.add(after, size, None, time);
        }
        let fit = sums.fit().expect("both sides");
        assert!((fit.change - 1.0).abs() < 1e-12, "{fit:?}");
    }
}
