//! Weights of the paths that explain a capture, from the likelihoods of the candidates of the last generation.

use firstflight_contract::Nanos;
use firstflight_scenario::{Reorder, Scenario};

use super::kind::Kind;
use super::losses::Shares;
use super::reordering;
use super::senders::Schemes;

/// Weight below which a path is left out.
const NEGLIGIBLE: f64 = 1e-4;
/// Number of equally weighted candidates to which those of the last generation should be equivalent (Kish).
pub(super) const ENOUGH: f64 = 16.0;

/// A path with its weight among those of every kind.
#[derive(Clone, Debug)]
pub(super) struct Weighed {
    pub(super) kind: Kind,
    pub(super) values: Vec<f64>,
    /// Whether the last values are those of reordering.
    pub(super) reorders: bool,
    pub(super) schemes: Schemes,
    pub(super) weight: f64,
    /// Root mean square difference from the capture, in standard deviations.
    pub(super) misfit: f64,
}

impl Weighed {
    /// Lanes on which packets overtake each other, if they do.
    pub(super) fn lanes(&self) -> Option<Reorder> {
        self.reorders.then(|| reordering::lanes(&self.values))
    }

    /// The scenario `base`, whose first flow is the transfer, on this path; `seed` draws what differs from one transfer to
    /// the next. `late` is the time from the handshake to the first data; of `None` it is drawn.
    pub(super) fn scenario(&self, base: &Scenario, late: Option<Nanos>, seed: u64) -> Scenario {
        scenario(self.kind, &self.values, self.reorders, base, late, seed)
    }
}

/// The scenario `base` on a path of this kind and these values, the last ones of which are those of reordering if it `reorders`.
pub(super) fn scenario(
    kind: Kind,
    values: &[f64],
    reorders: bool,
    base: &Scenario,
    late: Option<Nanos>,
    seed: u64,
) -> Scenario {
    let mut scenario = kind.scenario(values, base, late, seed);
    if reorders {
        reordering::add(&mut scenario, values);
    }
    scenario
}

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
/// The kinds that differ only by the rule that drops packets have the weight of all of them together, divided as `losses` asks for.
pub(super) fn settled(kinds: Vec<Vec<Final>>, losses: &Shares) -> Vec<Weighed> {
    let evidence = |last: &Vec<Final>| log_sum(last.iter().map(|one| one.comparable + one.prior));
    let kinds: Vec<Vec<Final>> = kinds.into_iter().filter(|last| !last.is_empty()).collect();
    let mut shares = normalised(&kinds.iter().map(evidence).collect::<Vec<_>>());
    losses.divide(&kinds.iter().map(|last| last[0].weighed.kind).collect::<Vec<_>>(), &mut shares);
    let mut weighed: Vec<Weighed> = vec![];
    for (last, share) in kinds.into_iter().zip(shares) {
        let weights = spread_out(&last);
        let own = last.into_iter().zip(weights);
        weighed.extend(own.map(|(one, weight)| Weighed { weight: share * weight, ..one.weighed }));
    }
    weighed.retain(|one| one.weight > NEGLIGIBLE);
    let sum: f64 = weighed.iter().map(|one| one.weight).sum();
    for one in &mut weighed {
        one.weight /= sum;
    }
    let mut weighed = losses.settle(weighed);
    weighed.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    weighed
}

/// Weights of the candidates of one kind.
fn spread_out(last: &[Final]) -> Vec<f64> {
    flattened(&last.iter().map(|one| one.likelihood + one.prior).collect::<Vec<_>>(), ENOUGH)
}

/// Weights from their logarithms, which add up to one; of a power below one if fewer than `enough` would count.
pub(super) fn flattened(logs: &[f64], enough: f64) -> Vec<f64> {
    const HALVINGS: u32 = 20;
    let weights = |power: f64| normalised(&logs.iter().map(|log| power * log).collect::<Vec<_>>());
    let effective = |weights: &[f64]| 1.0 / weights.iter().map(|weight| weight * weight).sum::<f64>();
    let (mut low, mut high) = (0.0, 1.0);
    if effective(&weights(high)) >= enough {
        return weights(high);
    }
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        match effective(&weights(middle)) < enough {
            true => high = middle,
            false => low = middle,
        }
    }
    weights(low)
}

/// Weights from their logarithms; they add up to one.
pub(super) fn normalised(logs: &[f64]) -> Vec<f64> {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|log| libm::exp(log - most)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

/// Index at which the weights up to it exceed `share` of all.
pub(super) fn drawn(weights: &[f64], share: f64) -> usize {
    let mut sum = 0.0;
    let at = weights.iter().position(|weight| {
        sum += weight;
        sum > share
    });
    at.unwrap_or(weights.len() - 1)
}

/// Logarithm of a sum, from the logarithms of its terms.
pub(super) fn log_sum(logs: impl IntoIterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = logs.into_iter().collect();
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !most.is_finite() {
        return most;
    }
    most + libm::log(logs.iter().map(|log| libm::exp(log - most)).sum::<f64>())
}
