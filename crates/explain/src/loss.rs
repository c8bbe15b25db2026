//! Random loss, and the prior of it.

/// Probability that packets are lost at random on a path, whatever its queue.
pub(crate) const LOSSY: f64 = 0.2;

/// Probability of a random loss, where there is any.
pub(crate) const LOSS: (f64, f64) = (1e-4, 0.1);

/// Mean number of packets that are lost in a row.
pub(crate) const BURST: (f64, f64) = (1.0, 5.0);

/// Random loss: its probability, and the mean number of packets that are lost in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomLoss {
    /// Probability.
    pub probability: f64,
    /// Mean number of packets in a row.
    pub burst: f64,
}
