//! Kernel in which the statistics of a run are compared with those of a capture: the spread of runs on the same path.

use firstflight_capture::summary::Statistic;

use super::candidate::Tried;
use super::spread::Spread;

/// Re-runs of each candidate whose spread is measured.
pub(super) const REPEATS: u64 = 5;
/// Number of independent ways in which hosts change the statistics: rate, round trip and start of the clock, and the
/// place of each of a few losses.
const HOST_EFFECTS: f64 = 6.0;

/// Spread of the statistics of each target over runs on the same path.
#[derive(Debug, Default)]
pub(super) struct Kernel(pub(super) Vec<Spread>);

impl Kernel {
    /// From groups of [`REPEATS`] re-runs on the same path.
    pub(super) fn of(runs: &[Option<Tried>], targets: usize, names: &[Statistic]) -> Self {
        let floor = floors(names);
        let of_target = |target: usize| {
            let mut deviations: Vec<Vec<f64>> = vec![];
            for group in runs.chunks(REPEATS as usize) {
                let group: Vec<&Tried> = group.iter().flatten().collect();
                let count = group.len() as f64;
                if group.len() < 2 {
                    continue;
                }
                let mean = |index: usize| {
                    group.iter().map(|run| run.summaries[target].0[index]).sum::<f64>() / count
                };
                let means: Vec<f64> = (0..names.len()).map(mean).collect();
                let unbiased = libm::sqrt(count / (count - 1.0));
                let apart = |run: &&Tried| {
                    run.summaries[target]
                        .0
                        .iter()
                        .zip(&means)
                        .map(|(value, mean)| (value - mean) * unbiased)
                        .collect()
                };
                deviations.extend(group.iter().map(apart));
            }
            Spread::of(&deviations, &floor, 2.0)
        };
        Self((0..targets).map(of_target).collect())
    }
}

/// Standard deviation that hosts give each statistic. What hosts change moves neighbouring statistics together.
pub(super) fn floors(names: &[Statistic]) -> Vec<f64> {
    let shared = libm::sqrt(names.len() as f64 / HOST_EFFECTS);
    names.iter().map(|statistic| shared * statistic.floor).collect()
}
