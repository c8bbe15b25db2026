//! Distributions as data, and their quantiles. A host draws a value as the quantile of one uniform number: the same
//! replication has the same random numbers, whatever else differs, and a larger number always gives a larger value.

use firstflight_contract::Nanos;

use crate::normal;

/// A value or the distribution it is drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dist<T> {
    /// Always this value.
    Fixed(T),
    /// Uniform between the two.
    Uniform(T, T),
    /// Exponential with this mean.
    Exponential(T),
    /// Pareto: P(X > x) = (x_min / x)^shape with x_min = mean (shape - 1) / shape.
    Pareto {
        /// Mean.
        mean: T,
        /// Shape; above 1, since the mean is infinite up to 1.
        shape: f64,
    },
    /// Pareto of the second kind (Lomax): P(X > x) = (1 + x / s)^-shape with s = mean (shape - 1).
    ParetoII {
        /// Mean.
        mean: T,
        /// Shape; above 1.
        shape: f64,
    },
    /// Lognormal; above `from`, a Pareto tail: P(X > x) = P(X > from) (from / x)^shape.
    Lognormal {
        /// Median.
        median: T,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// Beginning of the tail, and its shape.
        tail: Option<(T, f64)>,
    },
}

/// A type of values that a distribution may have.
pub trait Quantity: Copy {
    /// As a real number.
    fn real(self) -> f64;
    /// Largest value that a distribution gives.
    const MOST: Self;
    /// The value nearest to a real number that is not negative, at most [`Quantity::MOST`].
    fn nearest(x: f64) -> Self;
}

impl Quantity for u64 {
    const MOST: Self = 1_000_000_000_000_000;
    fn real(self) -> f64 {
        self as f64
    }
    fn nearest(x: f64) -> Self {
        (libm::round(x) as u64).min(Self::MOST)
    }
}

impl Quantity for Nanos {
    const MOST: Self = Self::from_secs(100_000_000);
    fn real(self) -> f64 {
        self.0 as f64
    }
    fn nearest(x: f64) -> Self {
        Self(libm::round(x) as u64).min(Self::MOST)
    }
}

impl Quantity for f64 {
    const MOST: Self = 1e6;
    fn real(self) -> f64 {
        self
    }
    fn nearest(x: f64) -> Self {
        x.min(Self::MOST)
    }
}

impl<T: Quantity> Dist<T> {
    /// Mean; of a lognormal, without the tail.
    pub fn mean(self) -> f64 {
        match self {
            Self::Fixed(value) => value.real(),
            Self::Uniform(low, high) => (low.real() + high.real()) / 2.0,
            Self::Exponential(mean) | Self::Pareto { mean, .. } | Self::ParetoII { mean, .. } => mean.real(),
            Self::Lognormal { median, sigma, .. } => median.real() * libm::exp(sigma * sigma / 2.0),
        }
    }

    /// The value below which a share `p` of all values lies; `p` is in `[0, 1)`. A value above [`Quantity::MOST`]
    /// counts as it.
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
