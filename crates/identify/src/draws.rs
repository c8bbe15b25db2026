//! Paths that the capture may have crossed: draws from the ranges of its estimates.

use firstflight_capture::{Estimate, Inferred, PathEstimate};
use firstflight_contract::{Nanos, Rate};
use firstflight_random::Stream;

/// A constant rate with a drop-tail queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Path {
    pub(crate) rate: Rate,
    pub(crate) rtt: Nanos,
    pub(crate) buffer: u64,
    /// Probability that a packet is lost for another reason. Tried paths lose none: other packets are lost in every run.
    pub(crate) loss: f64,
}

/// Draws paths. The first one has the middle of each range.
pub(crate) fn paths(inferred: &PathEstimate, rtt: Nanos, count: usize, seed: u64) -> Vec<Path> {
    let mut stream = Stream::named(seed, "paths of a captured stack");
    let mut share = |number: usize| if number == 0 { 0.5 } else { (stream.unit() + stream.unit()) / 2.0 };
    let path = |number: usize| {
        let rate = drawn(&inferred.rate, (1e6, 1e10), share(number));
        let trip = drawn(&inferred.rtt, (0.9e-9 * rtt.0 as f64, 1.05e-9 * rtt.0 as f64), share(number));
        let buffer = drawn(&inferred.buffer, (5.0, 1e6), share(number));
        Path {
            rate: Rate(rate.clamp(1e4, 1e11) as u64),
            rtt: Nanos((trip.clamp(1e-4, 10.0) * 1e9) as u64),
            buffer: buffer.clamp(1.0, 1e6) as u64,
            loss: 0.0,
        }
    };
    (0..count).map(path).collect()
}

/// The value at this share of its range, by its logarithm; half is the estimate. Ends of a range that are further than a factor of two from the
/// estimate are those of captures that show little, and are taken as that factor. A bound alone is one end of a range of a factor of 20; without
/// any the range is `all`.
fn drawn(value: &Inferred<Estimate>, all: (f64, f64), share: f64) -> f64 {
    const FAR: f64 = 2.0;
    const OPEN: f64 = 20.0;
    let (low, middle, high) = match value {
        Inferred::Known(known) => {
            let middle = known.value.max(1e-6);
            (known.low.max(middle / FAR), middle, known.high.min(middle * FAR))
        }
        Inferred::Unknown(bounds) => {
            let (low, high) = match (bounds.low, bounds.high) {
                (Some(low), Some(high)) => (low, high),
                (Some(low), None) => (low, low * OPEN),
                (None, Some(high)) => (high / OPEN, high),
                (None, None) => all,
            };
            (low, libm::sqrt(low.max(1e-6) * high.max(1e-6)), high)
        }
    };
    let [low, middle, high] = [low, middle, high].map(|it| libm::log(it.max(1e-6)));
    libm::exp(if share < 0.5 {
        low + (middle - low) * 2.0 * share
    } else {
        middle + (high - middle) * (2.0 * share - 1.0)
    })
}
