//! Distributions as data, and their quantiles: what a host draws is the quantile of one uniform number, so that the
//! same replication meets the same randomness whatever else differs, and a larger number always means a larger value.

use firstflight_contract::Nanos;

use crate::normal;

/// A value or the distribution it is drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dist<T> {
    /// Always this.
    Fixed(T),
    /// Uniform between the two.
    Uniform(T, T),
    /// Exponential with this mean.
    Exponential(T),
    /// Pareto: P(X > x) = (x_min / x)^shape with x_min = mean (shape - 1) / shape.
    Pareto {
        /// Its mean.
        mean: T,
        /// Its shape; above 1, below which there is no mean.
        shape: f64,
    },
    /// Pareto of the second kind (Lomax): P(X > x) = (1 + x / s)^-shape with s = mean (shape - 1).
    ParetoII {
        /// Its mean.
        mean: T,
        /// Its shape; above 1.
        shape: f64,
    },
    /// Lognormal, above `from` with a Pareto tail in place of its own: P(X > x) = P(X > from) (from / x)^shape.
    Lognormal {
        /// Its median.
        median: T,
        /// Deviation of its logarithm.
        sigma: f64,
        /// Where the tail begins, and its shape.
        tail: Option<(T, f64)>,
    },
}

/// What a distribution may be of.
pub trait Quantity: Copy {
    /// As a real number.
    fn real(self) -> f64;
    /// The nearest to a real number that is not negative.
    fn nearest(x: f64) -> Self;
}

impl Quantity for u64 {
    fn real(self) -> f64 {
        self as f64
    }
    fn nearest(x: f64) -> Self {
        libm::round(x) as u64
    }
}

impl Quantity for Nanos {
    fn real(self) -> f64 {
        self.0 as f64
    }
    fn nearest(x: f64) -> Self {
        Self(libm::round(x) as u64)
    }
}

impl Quantity for f64 {
    fn real(self) -> f64 {
        self
    }
    fn nearest(x: f64) -> Self {
        x
    }
}

impl<T: Quantity> Dist<T> {
    /// Its mean; of a lognormal without its tail.
    pub fn mean(self) -> f64 {
        match self {
            Self::Fixed(value) => value.real(),
            Self::Uniform(low, high) => (low.real() + high.real()) / 2.0,
            Self::Exponential(mean) | Self::Pareto { mean, .. } | Self::ParetoII { mean, .. } => mean.real(),
            Self::Lognormal { median, sigma, .. } => median.real() * libm::exp(sigma * sigma / 2.0),
        }
    }

    /// What a share `p` of all values lies below; `p` is in `[0, 1)`.
    pub fn quantile(self, p: f64) -> T {
        T::nearest(match self {
            Self::Fixed(value) => return value,
            Self::Uniform(low, high) => low.real() + p * (high.real() - low.real()),
            Self::Exponential(mean) => -libm::log(1.0 - p) * mean.real(),
            Self::Pareto { mean, shape } => {
                let smallest = mean.real() * (shape - 1.0) / shape;
                smallest * libm::pow(1.0 - p, -1.0 / shape)
            }
            Self::ParetoII { mean, shape } => {
                mean.real() * (shape - 1.0) * (libm::pow(1.0 - p, -1.0 / shape) - 1.0)
            }
            Self::Lognormal { median, sigma, tail } => {
                let body = |p| median.real() * libm::exp(sigma * normal::quantile(p));
                match tail {
                    None => body(p),
                    Some((from, shape)) => {
                        let above = normal::above(libm::log(from.real() / median.real()) / sigma);
                        match 1.0 - p {
                            rest if rest < above => from.real() * libm::pow(above / rest, 1.0 / shape),
                            _ => body(p),
                        }
                    }
                }
            }
        })
    }
}
