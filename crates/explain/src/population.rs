//! Candidates of one kind of path during the search.

use firstflight_capture::summary::Summary;

use super::candidate::{Candidate, Tried};
use super::kernel::Kernel;
use super::kinds::{PLACES, PathKind, Place};
use super::range::{Range, reflected_density};
use super::reordering::{PARAMETERS, Pair};
use super::senders::Senders;
use super::surface::Surface;

/// Distance below which candidates are equally good: all statistics differ by what hosts alone cause.
pub(super) const EQUAL: f64 = 0.1;
/// Candidates kept of each kind during the approach.
pub(super) const KEPT: usize = 24;

/// One kind of path during the search.
pub(super) struct Population {
    pub(super) kind: PathKind,
    /// Whether packets overtake each other; the last two ranges are then those of reordering.
    pub(super) reorders: bool,
    pub(super) ranges: Vec<Range>,
    pub(super) tried: Vec<Tried>,
    pub(super) kernel: Kernel,
    /// Mean statistics of each target, if runs on the same path differ.
    pub(super) surfaces: Option<Vec<Surface>>,
}

impl Population {
    /// Statistics of each target to expect on the path of a candidate: those of the surface, or `own` without one.
    pub(super) fn expected(&self, candidate: &Candidate, own: impl Fn() -> Vec<Summary>) -> Vec<Summary> {
        let Some(surfaces) = &self.surfaces else { return own() };
        let mean = |(surface, scheme): (&Surface, usize)| {
            let mean = surface.at(&candidate.place, scheme);
            Summary(std::array::from_fn(|index| mean[index]))
        };
        surfaces.iter().zip(candidate.schemes).map(mean).collect()
    }

    /// Whether runs on the same path differ.
    pub(super) fn is_random(&self) -> bool {
        self.kind.model().is_random() || self.reorders
    }

    /// Values of the kind that its times show.
    pub(super) fn values(&self, place: &Place) -> Vec<f64> {
        let own = self.ranges.len() - if self.reorders { PARAMETERS } else { 0 };
        self.ranges.iter().zip(place).take(own).map(|(range, place)| range.at(*place)).collect()
    }

    /// Values of the lanes, if packets overtake each other.
    pub(super) fn lanes(&self, place: &Place) -> Option<Pair> {
        let first = self.ranges.len().checked_sub(PARAMETERS)?;
        self.reorders
            .then(|| std::array::from_fn(|index| self.ranges[first + index].at(place[first + index])))
    }

    /// Keeps the `most` nearest candidates.
    pub(super) fn keep(&mut self, most: usize) {
        let key = |one: &Tried| (one.distance.max(EQUAL), one.candidate.seed);
        self.tried.sort_by(|a, b| key(a).partial_cmp(&key(b)).expect("distances are numbers"));
        self.tried.truncate(most);
    }

    /// Whether as many candidates as are kept equal the capture but for what hosts change.
    pub(super) fn is_near(&self) -> bool {
        self.tried.iter().filter(|one| one.distance <= EQUAL).count() >= KEPT
    }

    /// Equal weights.
    pub(super) fn equal(&self) -> Vec<f64> {
        vec![1.0 / self.tried.len() as f64; self.tried.len()]
    }

    /// Standard deviation of the moves of each parameter: the weighted one of the population, times the square root of
    /// two (Beaumont et al. 2009).
    pub(super) fn steps(&self, weights: &[f64]) -> [f64; PLACES] {
        /// Of the logarithm of a value: less changes nothing that can be seen.
        const LEAST: f64 = 0.001;
        let mut steps = [0.0; PLACES];
        for (index, (step, range)) in steps.iter_mut().zip(&self.ranges).enumerate() {
            let each =
                || self.tried.iter().zip(weights).map(|(one, weight)| (one.candidate.place[index], weight));
            let mean: f64 = each().map(|(value, weight)| weight * value).sum();
            let variance: f64 = each().map(|(value, weight)| weight * (value - mean) * (value - mean)).sum();
            *step = libm::sqrt(2.0 * variance).max(LEAST / range.span());
        }
        steps
    }

    /// Density with which `Search::moved` proposes a candidate, relative to the prior.
    pub(super) fn proposed(
        &self,
        candidate: &Candidate,
        weights: &[f64],
        steps: &[f64; PLACES],
        senders: Senders<'_>,
    ) -> f64 {
        let dimensions = self.ranges.len();
        let density = |one: &Tried| {
            let each = (0..dimensions).map(|index| {
                let (to, from, step) = (candidate.place[index], one.candidate.place[index], steps[index]);
                reflected_density(to, from, step)
            });
            each.product::<f64>() * senders.proposed(&one.candidate.schemes, &candidate.schemes)
        };
        self.tried
            .iter()
            .zip(weights)
            .filter(|(_, weight)| **weight > 1e-9)
            .map(|(one, weight)| weight * density(one))
            .sum()
    }
}
