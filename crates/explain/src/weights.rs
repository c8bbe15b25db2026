//! Weights from the logarithms of likelihoods.

/// Number of equally weighted candidates to which those of the last generation should be equivalent (Kish).
pub(super) const ENOUGH: f64 = 16.0;

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
