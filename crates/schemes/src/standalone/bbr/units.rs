//! The kernel's integer units: bandwidths, gains, and amounts calculated from them.

use firstflight_contract::{Rate, mul_add_shift, mul_div, mul_shift};

/// A bandwidth in segments a microsecond, shifted left by [`SCALE`]: about 715 bit/s a unit at 1500 bytes.
pub(super) type Bandwidth = u64;

/// The gain of one: gains are counted in 256ths.
pub(super) const ONE: u64 = 256;

const SCALE: u32 = 24;
const UNIT: u64 = 1 << SCALE;

/// Initial window (the kernel's `TCP_INIT_CWND`), segments.
pub(super) const INITIAL_WINDOW: u64 = 10;

/// The bandwidth that delivers `segments` in `us` microseconds.
pub(super) fn over(segments: u64, us: u64) -> Bandwidth {
    mul_div(segments, UNIT, us.max(1))
}

/// A delivery rate in segments of `mss` bytes; rates above 2^40 bit/s count as 2^40.
pub(super) fn bandwidth(rate: Rate, mss: u64) -> Bandwidth {
    (rate.0.min((1 << (64 - SCALE)) - 1) << SCALE) / (8_000_000 * mss)
}

/// Whole segments delivered in `us` microseconds.
pub(super) fn delivered_in(bandwidth: Bandwidth, us: u64) -> u64 {
    mul_shift(bandwidth, us, SCALE)
}

/// `gain` times the segments delivered in `us` microseconds, rounded up so that rounding cannot lower the estimate.
pub(super) fn product(bandwidth: Bandwidth, us: u64, gain: u64) -> u64 {
    // The kernel divides by ONE, then rounds up the division by UNIT: the same as one division with this addend.
    let addend = (UNIT - 1) * ONE;
    mul_add_shift(bandwidth, us.saturating_mul(gain), addend, SCALE + ONE.ilog2()).0
}

/// Payload bytes a second at `gain`, less the margin of 1 % that keeps the bottleneck's queue from growing.
pub(super) fn bytes_per_second(bandwidth: Bandwidth, gain: u64, mss: u64) -> u64 {
    let gained = mul_shift(bandwidth, mss * gain, ONE.ilog2());
    // A product beyond 64 bits stays at the limit.
    if gained == u64::MAX { gained } else { mul_shift(gained, 1_000_000 / 100 * 99, SCALE) }
}

/// The pacing rate for this bandwidth and gain; never [`Rate::NONE`], which would disable pacing.
pub(super) fn pacing(bandwidth: Bandwidth, gain: u64, mss: u64) -> Rate {
    Rate(bytes_per_second(bandwidth, gain, mss).max(1).saturating_mul(8))
}

/// Segments of `mss` bytes that the kernel sends in one piece at this pacing rate: about a millisecond's worth, at
/// least two except below 1.2 Mbit/s, at most 127 (`bbr_tso_segs_goal`).
pub(super) fn segments_at_once(pacing: Rate, mss: u64) -> u64 {
    /// `GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER`, the header being 320 bytes on most builds.
    const MOST_BYTES: u64 = 65_536 - 1 - 320;
    let bytes_per_second = pacing.0 / 8;
    let least = if bytes_per_second < 1_200_000 / 8 { 1 } else { 2 };
    // The kernel's "pacing shift" of 10: a 1024th of a second.
    ((bytes_per_second >> 10).min(MOST_BYTES) / mss).max(least).min(127)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_mbit_s_are_14483_units_of_1448_bytes() {
        // 1e7 / (8 x 1448) = 863.26 segments a second; x 2^24 / 1e6 = 14483.1
        assert_eq!(bandwidth(Rate(10_000_000), 1448), 14_483);
        // 863 segments in a second: 863 x 16.777216 = 14478.7
        assert_eq!(over(863, 1_000_000), 14_478);
    }

    #[test]
    fn a_bdp_is_rounded_up() {
        // 14483 units are 863.25 segments a second: 86.3 in 100 ms, 172.6 at a gain of two.
        assert_eq!(product(14_483, 100_000, ONE), 87);
        assert_eq!(product(14_483, 100_000, 2 * ONE), 173);
        assert_eq!(delivered_in(14_483, 100_000), 86);
    }

    #[test]
    fn pacing_stays_one_percent_below() {
        // 2^24 units are a segment a microsecond: 1448e6 bytes a second, less 1 %.
        assert_eq!(bytes_per_second(1 << 24, ONE, 1448), 1_433_520_000);
        assert_eq!(pacing(0, ONE, 1448), Rate(8));
    }

    #[test]
    fn a_millisecond_of_data_leaves_at_once() {
        for (rate, segments) in [
            (1_199_999, 1),
            (1_200_000, 2),
            (10_000_000, 2),
            // 50 Mbit/s: 6.25e6 / 1024 = 6103 bytes = 4.2 segments
            (50_000_000, 4),
            // 1 Gbit/s: 122070 bytes, cut to 65215 = 45 segments
            (1_000_000_000, 45),
        ] {
            assert_eq!(segments_at_once(Rate(rate), 1448), segments, "{rate}");
        }
    }

    #[test]
    fn nothing_overflows() {
        assert_eq!(over(u64::MAX, 0), u64::MAX);
        assert_eq!(product(u64::MAX, u64::MAX, 739), u64::MAX);
        assert_eq!(pacing(u64::MAX, 739, 9000), Rate(u64::MAX));
        assert_eq!(bandwidth(Rate(u64::MAX), 1448), bandwidth(Rate((1 << 40) - 1), 1448));
    }
}
