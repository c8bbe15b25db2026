//! Mean of a likelihood over the prior of several values by importance sampling: draws from the prior, then around the best of them (O. Cappé et
//! al., "Population Monte Carlo", Journal of Computational and Graphical Statistics 13(4), 2004).

use firstflight_random::Stream;

use super::{Judged, Losses};
use crate::range::{Range, normal, reflected, reflected_density};
use crate::weights::{drawn, flattened, log_sum};
use firstflight_hosts::parallel::map;

/// Draws of the first round and of each later one.
const FIRST: usize = 800;
const LATER: usize = 500;

/// Share of the later draws that come from the prior.
const DEFENSIVE: f64 = 0.2;

/// Number of equally weighted draws around which the next ones lie.
const CENTRES: f64 = 10.0;

/// Values over which to integrate.
pub(super) struct Space<'a, const N: usize> {
    pub(super) ranges: [Range; N],
    /// Place with its deviation around which half of the first draws lie.
    pub(super) start: Option<[(f64, f64); N]>,
    /// Least step, as a share of a range.
    pub(super) least: f64,
    /// Widths of the moves, over the spread of the best draws: wide ones leave a peak beside the highest.
    pub(super) scales: &'static [f64],
    /// Rounds after the first one.
    pub(super) rounds: usize,
    /// Name and seed of the draws.
    pub(super) stream: (&'a str, u64),
}

impl<const N: usize> Space<'_, N> {
    /// The evidence of `logs`, the logarithms of the likelihood for each random loss.
    pub(super) fn judged(&self, losses: &Losses, logs: impl Fn([f64; N]) -> Vec<f64> + Sync) -> Judged {
        let (name, seed) = self.stream;
        let mut stream = Stream::named(seed, name);
        let values = |place: &[f64; N]| -> [f64; N] {
            std::array::from_fn(|index| self.ranges[index].at(place[index]))
        };
        let first = |index: usize, stream: &mut Stream| -> [f64; N] {
            std::array::from_fn(|value| match self.start.filter(|_| index.is_multiple_of(2)) {
                Some(start) => reflected(start[value].0 + start[value].1 * normal(stream)),
                None => stream.unit(),
            })
        };
        let around_start = |place: &[f64; N]| {
            let own = |start: &[(f64, f64); N]| {
                (0..N)
                    .map(|value| reflected_density(place[value], start[value].0, start[value].1))
                    .product::<f64>()
            };
            self.start.as_ref().map_or(0.0, |start| libm::log(0.5 + 0.5 * own(start)))
        };
        let mut places: Vec<[f64; N]> = (0..FIRST).map(|index| first(index, &mut stream)).collect();
        let mut found: Vec<(Vec<f64>, f64)> =
            map(&places, |place| (logs(values(place)), around_start(place)));
        for _ in 0..self.rounds {
            let own: Vec<f64> =
                found.iter().map(|(logs, proposed)| log_sum(logs.iter().copied()) - proposed).collect();
            let weights = flattened(&own, CENTRES);
            let centres: Vec<([f64; N], f64)> =
                places.iter().copied().zip(weights.iter().copied()).filter(|one| one.1 > 1e-6).collect();
            let steps: [f64; N] = std::array::from_fn(|index| {
                let mean: f64 = centres.iter().map(|(place, weight)| weight * place[index]).sum();
                let apart = |place: &[f64; N]| (place[index] - mean) * (place[index] - mean);
                libm::sqrt(centres.iter().map(|(place, weight)| weight * apart(place)).sum()).max(self.least)
            });
            let mut draw = |_| -> [f64; N] {
                if stream.unit() < DEFENSIVE {
                    return std::array::from_fn(|_| stream.unit());
                }
                let from = places[drawn(&weights, stream.unit())];
                let scale = self.scales[(stream.unit() * self.scales.len() as f64) as usize];
                std::array::from_fn(|index| {
                    reflected(from[index] + scale * steps[index] * normal(&mut stream))
                })
            };
            let next: Vec<[f64; N]> = (0..LATER).map(&mut draw).collect();
            found = map(&next, |place| {
                let of_scale = |from: &[f64; N], scale: f64| {
                    (0..N)
                        .map(|index| reflected_density(place[index], from[index], scale * steps[index]))
                        .product::<f64>()
                };
                let density = |from: &[f64; N]| {
                    let each = self.scales.iter().map(|scale| of_scale(from, *scale));
                    each.sum::<f64>() / self.scales.len() as f64
                };
                let around: f64 = centres.iter().map(|(from, weight)| weight * density(from)).sum();
                (logs(values(place)), libm::log(DEFENSIVE + (1.0 - DEFENSIVE) * around))
            });
            places = next;
        }
        let each = libm::log(places.len() as f64);
        let tried = places.iter().zip(found).map(|(place, (logs, proposed))| {
            (values(place).to_vec(), logs.into_iter().map(|log| log - proposed - each).collect())
        });
        Judged::of(tried.collect(), losses)
    }
}
