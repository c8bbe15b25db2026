//! Mean statistics of a random kind of path as a smooth function of its parameters, and the spread around them.
//!
//! One run on a random path says little about the mean: candidates that are compared by a few runs each are chosen by
//! chance. A regression over all candidates has the mean from hundreds of runs (M. Beaumont, W. Zhang, D. Balding,
//! "Approximate Bayesian Computation in Population Genetics", Genetics 162(4), 2002, section on local regression; as a
//! surrogate of a likelihood: E. Meeds, M. Welling, "GPS-ABC", UAI 2014). It is quadratic in each parameter, with an
//! own level for each scheme of the sender.

use super::kinds::Place;
use super::linear::Factor;

/// Weight of the prior that no parameter has an effect, in runs: it decides only where there are hardly any.
const PRIOR_RUNS: f64 = 1.0;

/// A fitted surface.
#[derive(Debug)]
pub(super) struct Surface {
    /// Mean and standard deviation of each parameter over the runs.
    scales: Vec<(f64, f64)>,
    schemes: usize,
    /// Coefficients of each statistic, in the order of [`Surface::features`].
    coefficients: Vec<Vec<f64>>,
    /// Runs, and coefficients that they determine.
    runs: usize,
}

impl Surface {
    /// The surface of `dimensions` parameters and `schemes` schemes through runs: place, scheme and statistics of each.
    pub(super) fn through(runs: &[(Place, usize, Vec<f64>)], dimensions: usize, schemes: usize) -> Self {
        let count = runs.len().max(1) as f64;
        let scale = |index: usize| {
            let mean = runs.iter().map(|run| run.0[index]).sum::<f64>() / count;
            let squares = runs.iter().map(|run| (run.0[index] - mean) * (run.0[index] - mean)).sum::<f64>();
            (mean, libm::sqrt(squares / count))
        };
        let scales = (0..dimensions).map(scale).collect();
        let mut surface = Self { scales, schemes, coefficients: vec![], runs: runs.len() };
        let rows: Vec<Vec<f64>> = runs.iter().map(|run| surface.features(&run.0, run.1)).collect();
        let width = rows.first().map_or(0, Vec::len);
        // The constant has no prior.
        let prior = |column: usize| if column == 0 { 1e-9 } else { PRIOR_RUNS };
        let squares = |row: usize, column: usize| {
            let sum: f64 = rows.iter().map(|one| one[row] * one[column]).sum();
            if row == column { sum + prior(row) } else { sum }
        };
        let factor = Factor::of(width, squares);
        let statistics = runs.first().map_or(0, |run| run.2.len());
        let fitted = |statistic: usize| {
            let along = |column: usize| {
                rows.iter().zip(runs).map(|(row, run)| row[column] * run.2[statistic]).sum::<f64>()
            };
            factor.solved(&(0..width).map(along).collect::<Vec<_>>())
        };
        surface.coefficients = (0..statistics).map(fitted).collect();
        surface
    }

    /// Mean statistics at a place under a scheme.
    pub(super) fn at(&self, place: &Place, scheme: usize) -> Vec<f64> {
        let features = self.features(place, scheme);
        let product = |own: &Vec<f64>| own.iter().zip(&features).map(|(a, b)| a * b).sum();
        self.coefficients.iter().map(product).collect()
    }

    /// Variance of a further run around the surface over that around the true mean: each coefficient adds its own error.
    pub(super) fn inflation(&self) -> f64 {
        let width = (1 + 2 * self.scales.len() + self.schemes) as f64;
        1.0 + width / (self.runs as f64).max(width)
    }

    /// One, each parameter in standard deviations, its square, and a one for the scheme.
    fn features(&self, place: &Place, scheme: usize) -> Vec<f64> {
        let mut features = vec![1.0];
        for (value, (mean, deviation)) in place.iter().zip(&self.scales) {
            let scaled = if *deviation > 0.0 { (value - mean) / deviation } else { 0.0 };
            features.extend([scaled, scaled * scaled]);
        }
        features.extend((0..self.schemes).map(|one| f64::from(u8::from(one == scheme))));
        features
    }
}

#[cfg(test)]
mod tests {
    use super::super::kinds::PLACES;
    use super::*;

    fn place(value: f64) -> Place {
        let mut place = [0.5; PLACES];
        place[0] = value;
        place
    }

    #[test]
    fn a_surface_goes_through_runs_on_a_parabola_with_a_level_for_each_scheme() {
        // 1 + 2 x + 3 x^2, and one more under the second scheme, at 400 places from 0 to 1.
        let value = |x: f64, scheme: usize| 1.0 + 2.0 * x + 3.0 * x * x + scheme as f64;
        let runs: Vec<_> = (0..400)
            .map(|index| (f64::from(index) / 399.0, index as usize % 2))
            .map(|(x, scheme)| (place(x), scheme, vec![value(x, scheme)]))
            .collect();
        let surface = Surface::through(&runs, 1, 2);
        for (x, scheme) in [(0.1, 0), (0.5, 1), (0.9, 0)] {
            let fitted = surface.at(&place(x), scheme)[0];
            // The prior has the weight of one run in 400.
            assert!((fitted - value(x, scheme)).abs() < 0.02, "{x} {scheme}: {fitted}");
        }
        // Two schemes, a constant, a slope and a square: five coefficients from 400 runs.
        assert!((surface.inflation() - 1.0125).abs() < 1e-12);
    }

    #[test]
    fn noise_around_a_surface_averages_out() {
        // Values of 5 that are one too high and one too low by turns: the mean of 200 runs is 5.
        let runs: Vec<_> =
            (0..200).map(|index: i32| (place(0.3), 0, vec![5.0 + f64::from(1 - 2 * (index % 2))])).collect();
        let surface = Surface::through(&runs, 1, 1);
        assert!((surface.at(&place(0.3), 0)[0] - 5.0).abs() < 1e-6);
    }
}
