//! Sizes and times of a scenario.

use proptest::prelude::*;

use crate::text::magnitudes;

/// Sizes and times of a scenario, from which those of all its parts follow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Rate of the bottleneck, bit/s.
    pub(crate) rate: u64,
    /// Full packet, bytes on the wire.
    pub(crate) packet: u64,
    /// Round-trip time, nanoseconds.
    pub(crate) rtt: u64,
    /// Length of the run, nanoseconds.
    pub(crate) duration: u64,
}

/// Longest time of the format, nanoseconds.
const LONGEST: u64 = 100_000_000_000_000_000;
/// Longest delay of the format, nanoseconds.
pub(crate) const LONGEST_DELAY: u64 = 3_600_000_000_000;

/// Scales of every magnitude.
pub(crate) fn scale() -> impl Strategy<Value = Scale> {
    let rate = prop_oneof![2 => magnitudes(100_000_000_000_000), 3 => 100_000..1_000_000_000_u64];
    let packet = prop_oneof![3 => Just(1500_u64), 1 => Just(1000), 2 => 64..9001_u64, 1 => Just(65_535)];
    // The round trip as a number of packets, and the run as a number of packets or of round trips.
    (rate, packet, -2.0..2.5_f64, 1..400_u64, 0..9_u64).prop_map(|(rate, packet, bdp, packets, trips)| {
        let each = packet as f64 * 8e9 / rate as f64;
        let rtt = (each * 10_f64.powf(bdp)).clamp(1.0, LONGEST_DELAY as f64) as u64;
        let duration = (each * packets as f64).max((rtt * trips) as f64).clamp(1000.0, LONGEST as f64);
        Scale { rate, packet, rtt, duration: duration as u64 }
    })
}
