//! The paths that explain a capture, from the candidates of the last generation.

use crate::kinds::PathKind;
use crate::losses::Fates;
use crate::weighed::Weighed;
use crate::weights::{ENOUGH, flattened, log_sum, normalised};

/// Weight below which a path is left out.
const NEGLIGIBLE: f64 = 1e-4;

/// A candidate of the last generation.
pub(super) struct Final {
    pub(super) weighed: Weighed,
    /// Logarithm of its likelihood among the candidates of its kind.
    pub(super) likelihood: f64,
    /// The same, comparable with those of other kinds.
    pub(super) comparable: f64,
    /// Logarithm of its prior over its proposal.
    pub(super) prior: f64,
}

/// Paths whose weights are not negligible, the heaviest first, with weights that add up to one.
///
/// If few candidates have nearly all the weight, a power of the likelihood below one spreads it until [`ENOUGH`] count
/// (annealed importance sampling: R. Neal, Statistics and Computing 11(2), 2001): a handful of candidates would
/// understate the uncertainty.
///
/// The weight of a family of kinds is its probability before the capture, times that of the fates, times that of the times given the fates.
pub(super) fn settled(kinds: Vec<(PathKind, Vec<Final>)>, fates: &Fates) -> Vec<Weighed> {
    let evidence = |(kind, last): &(PathKind, Vec<Final>)| {
        fates.evidence(*kind) + log_sum(last.iter().map(|one| one.comparable + one.prior))
    };
    let kinds: Vec<(PathKind, Vec<Final>)> = kinds.into_iter().filter(|(_, last)| !last.is_empty()).collect();
    let shares = normalised(&kinds.iter().map(evidence).collect::<Vec<_>>());
    let mut weighed: Vec<Weighed> = vec![];
    for ((_, last), share) in kinds.into_iter().zip(shares) {
        let weights = spread_out(&last);
        let own = last.into_iter().zip(weights);
        weighed.extend(own.map(|(one, weight)| Weighed { weight: share * weight, ..one.weighed }));
    }
    weighed.retain(|one| one.weight > NEGLIGIBLE);
    let sum: f64 = weighed.iter().map(|one| one.weight).sum();
    for one in &mut weighed {
        one.weight /= sum;
    }
    let mut weighed = fates.settle(weighed);
    weighed.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    weighed
}

/// Weights of the candidates of one kind.
fn spread_out(last: &[Final]) -> Vec<f64> {
    flattened(&last.iter().map(|one| one.likelihood + one.prior).collect::<Vec<_>>(), ENOUGH)
}
