//! Ranges of parameters, and the draws and densities over them.

use firstflight_random::Stream;

/// A parameter: log-uniform between two values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    low: f64,
    high: f64,
    /// Estimate, and its standard deviation in the logarithm, around which half of the first proposals lie.
    guess: Option<(f64, f64)>,
}

impl Range {
    pub(crate) fn new(low: f64, high: f64) -> Self {
        Self { low, high: high.max(low * 1.001), guess: None }
    }

    pub(crate) fn around(self, guess: Option<(f64, f64)>) -> Self {
        let inside = |(value, _): &(f64, f64)| (self.low..=self.high).contains(value);
        Self { guess: guess.filter(inside), ..self }
    }

    /// Value at a place.
    pub(crate) fn at(&self, place: f64) -> f64 {
        self.low * libm::pow(self.high / self.low, place)
    }

    /// Width of the range in the logarithm.
    pub(crate) fn span(&self) -> f64 {
        libm::log(self.high / self.low)
    }

    /// Place of the guess and its standard deviation.
    pub(crate) fn guess(&self) -> Option<(f64, f64)> {
        let span = self.span();
        self.guess.map(|(value, deviation)| (libm::log(value / self.low) / span, deviation / span))
    }
}

/// A normally distributed number (G. Box, M. Muller, 1958).
pub(crate) fn normal(stream: &mut Stream) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - stream.unit()));
    radius * libm::cos(2.0 * core::f64::consts::PI * stream.unit())
}

/// A place that left its range, reflected at the end.
pub(crate) fn reflected(place: f64) -> f64 {
    let folded = libm::fmod(place.abs(), 2.0);
    if folded > 1.0 { 2.0 - folded } else { folded }
}

/// Density at a place of a normal move from another, of this standard deviation, that is reflected at the ends.
pub(crate) fn reflected_density(to: f64, from: f64, step: f64) -> f64 {
    // It may have come from beyond either end.
    let normal = |apart: f64| libm::exp(-0.5 * (apart / step) * (apart / step));
    (normal(to - from) + normal(-to - from) + normal(2.0 - to - from))
        / (step * libm::sqrt(2.0 * core::f64::consts::PI))
}

/// The nearest whole number from one to `most`.
pub(crate) fn whole(value: f64, most: u64) -> u64 {
    (value.round().max(1.0) as u64).min(most)
}
