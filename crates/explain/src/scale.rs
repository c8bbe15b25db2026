//! Rate and round trip of a path, and the ranges of other parameters that depend on them.

use crate::range::Range;

/// Rate of a bottleneck, bit/s: from a slow DSL line to a fast access line. Its ends matter to no weight, since every kind has the same.
pub(crate) const RATE: (f64, f64) = (1e6, 200e6);

/// Two-way propagation, seconds: from a server nearby to one on the far side of the earth. The same holds.
pub(crate) const RTT: (f64, f64) = (5e-3, 0.3);

/// Least number of packets that can wait, and the most: four bandwidth-delay products, and [`LEAST_MOST`] where these are few.
pub(crate) const LEAST_BUFFER: f64 = 4.0;
const PRODUCTS: f64 = 4.0;
const LEAST_MOST: f64 = 50.0;

/// Sizes on which the ranges of other parameters depend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Rate of the bottleneck, bit/s, and two-way propagation, seconds.
    pub(crate) rate: f64,
    pub(crate) rtt: f64,
    /// Bits of a full packet, and of an acknowledgement.
    pub(crate) packet: f64,
    pub(crate) ack: f64,
}

impl Scale {
    /// Range of the rate of the bottleneck.
    pub(crate) fn rate(&self) -> Range {
        Range::new(self.rate, self.rate)
    }

    /// Range of the two-way propagation.
    pub(crate) fn rtt(&self) -> Range {
        Range::new(self.rtt, self.rtt)
    }

    /// Range of the packets that can wait.
    pub(crate) fn buffer(&self) -> Range {
        Range::new(LEAST_BUFFER, self.most_buffer())
    }

    /// Most packets that can wait.
    pub(crate) fn most_buffer(&self) -> f64 {
        (PRODUCTS * self.rate * self.rtt / self.packet).max(LEAST_MOST)
    }
}
