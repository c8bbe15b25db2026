//! Time to put packets on the wire at a constant rate. Time is whole nanoseconds, and rounding errors do not accumulate: a
//! transmission ends at the first nanosecond by which the link can have carried it and all earlier ones of its busy period.

use firstflight_contract::{Rate, mul_div_ceil};

/// Bits per byte times nanoseconds per second: converts bytes to rate times nanoseconds.
pub(crate) const PER_BYTE: u64 = 8_000_000_000;

/// Latest end of a transmission, nanoseconds: 292 years. Later ends count as this one, and no run lasts so long.
pub const LATEST: u64 = 1 << 63;

/// Rate in bit/s below which the transmission of a backlog can last longer than [`LATEST`]. At higher rates so many packets
/// do not fit any memory.
const SLOW: u64 = 1_000_000;

/// Minimum time, nanoseconds, from the arrival of a packet of `size` bytes to the end of its transmission.
pub fn transmission(rate: Rate, size: u32) -> u64 {
    mul_div_ceil(size.into(), PER_BYTE, rate.0)
}

/// A constant rate, and the fraction of a nanosecond that the last transmission left unused.
///
/// The time per byte is exact if it is a whole number of nanoseconds, or of their binary fractions. Otherwise it is rounded
/// up in the 46th significant bit: the link is never faster than its rate, and slower by less than one part in 2^45. An end
/// that exact arithmetic puts on a whole nanosecond therefore comes one nanosecond later.
#[derive(Clone, Debug)]
pub struct Serialisation {
    /// Time per byte in units of `2^-bits` nanoseconds.
    per_byte: u64,
    /// Unused part of the nanosecond in which the last transmission ended, in the same unit.
    unused: i64,
    /// Zero if whole nanoseconds are exact and no backlog lasts too long.
    bits: u32,
}

impl Serialisation {
    /// A link of this rate, from 1 bit/s to 100 Tbit/s, that has carried nothing.
    pub fn at(rate: Rate) -> Self {
        let rate = rate.0.max(1);
        if rate >= SLOW && PER_BYTE.is_multiple_of(rate) {
            return Self { per_byte: PER_BYTE / rate, unused: 0, bits: 0 };
        }
        // The time per byte takes 46 to 48 bits, and that of a packet of 2^16 bytes fits 63: PER_BYTE is almost 2^33.
        let bits = 14 + rate.ilog2();
        Self { per_byte: mul_div_ceil(PER_BYTE, 1 << bits, rate), unused: 0, bits }
    }

    /// Time of the next packet, nanoseconds, of a source that sends at this rate without pause and has sent a packet of `size`
    /// bytes at `at`.
    pub fn after(&mut self, at: u64, size: u32) -> u64 {
        self.end(0, at, size)
    }

    /// End, nanoseconds, of the transmission of a packet of `size` bytes that comes at `now` to a link whose last
    /// transmission ends at `free_at`.
    #[inline(always)]
    pub(crate) fn end(&mut self, now: u64, free_at: u64, size: u32) -> u64 {
        debug_assert!(size <= 1 << 16, "a packet of {size} bytes");
        let start = free_at.max(now);
        let need = u64::from(size) * self.per_byte;
        if self.bits == 0 {
            return start + need;
        }
        // A busy link starts the next transmission at the exact end of the last one, which `free_at` rounds up.
        let unused = if free_at <= now { 0 } else { self.unused };
        // Both below zero: shifts round down, so that the end is rounded up.
        let rest = unused - need as i64;
        let time = rest >> self.bits;
        self.unused = rest - (time << self.bits);
        start.wrapping_add_signed(-time).min(LATEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate_trace::{RateTrace, TracePlayer};
    use proptest::prelude::*;
    use std::sync::Arc;

    /// Ends of the transmissions of packets that all come at 0.
    fn ends(rate: u64, sizes: &[u32]) -> Vec<u64> {
        let mut link = Serialisation::at(Rate(rate));
        let next = |free_at: &mut u64, &size: &u32| {
            *free_at = link.end(0, *free_at, size);
            Some(*free_at)
        };
        sizes.iter().scan(0, next).collect()
    }

    #[test]
    fn slow_and_fast_links_take_the_times_of_exact_arithmetic() {
        // 8000 bits at 7 bit/s: 1142 6/7 s; two packets 2285 5/7 s.
        assert_eq!(ends(7, &[1000, 1000]), [1_142_857_142_858, 2_285_714_285_715]);
        // 12,000 bits at 900 Gbit/s: 13 1/3 ns.
        assert_eq!(ends(900_000_000_000, &[1500; 3])[..2], [14, 27]);
        // 576 bits at 400 Gbit/s: 1.44 ns; 25 packets take 36 ns.
        assert_eq!(ends(400_000_000_000, &[72; 24])[23], 35);
        // 12,000 bits at 25 Tbit/s: 0.48 ns, so that two packets end in the first nanosecond.
        assert_eq!(ends(25_000_000_000_000, &[1500; 4]), [1, 1, 2, 2]);
        // 320 bits at 100 Tbit/s: 0.0032 ns. At 1 bit/s a byte takes 8 s.
        assert_eq!(ends(100_000_000_000_000, &[40; 300])[299], 1);
        assert_eq!(ends(1, &[1, 65_535]), [8_000_000_000, 65_536 * 8_000_000_000]);
    }

    #[test]
    fn an_idle_link_starts_with_the_arrival_and_forgets_the_fraction() {
        // 7 Gbit/s: 1000 bytes take 1142 6/7 ns.
        let mut link = Serialisation::at(Rate(7_000_000_000));
        assert_eq!(link.end(0, 0, 1000), 1143);
        // The last seventh of the nanosecond is of use to a packet that waits, not to one that comes with its end.
        assert_eq!(link.clone().end(1142, 1143, 1000), 2286);
        assert_eq!(link.clone().end(1143, 1143, 1000), 2286);
        // Twenty packets that wait for each other take 22,857 1/7 ns, not 20 * 1143 = 22,860.
        assert_eq!(ends(7_000_000_000, &[1000; 20])[19], 22_858);
    }

    #[test]
    fn a_source_keeps_its_mean_rate() {
        // 7 Gbit/s in packets of 1000 bytes: 1142 6/7 ns each. The first at 0, seven gaps later 8000 (rounded up: 8001).
        let mut source = Serialisation::at(Rate(7_000_000_000));
        let times: Vec<u64> =
            (0..20).scan(0, |at, _| Some(std::mem::replace(at, source.after(*at, 1000)))).collect();
        assert_eq!(&times[..8], &[0, 1143, 2286, 3429, 4572, 5715, 6858, 8001]);
        assert_eq!(times[19], 21_715);
        // At 0 the source sends although the time is that of an idle link: the gap is never zero.
        assert_eq!(Serialisation::at(Rate(8_000_000)).after(0, 1000), 1_000_000);
    }

    #[test]
    fn the_end_of_a_backlog_beyond_292_years_is_the_latest_one() {
        let ends = ends(1, &[65_535; 20_000]);
        assert_eq!(ends.last(), Some(&LATEST));
        assert!(ends.is_sorted());
    }

    proptest! {
        #[test]
        fn no_link_is_faster_than_its_rate_nor_slower_by_more_than_a_nanosecond(
            (rate, shift) in (1..=100_000_000_000_000_u64, 0..46_u32),
            packets in prop::collection::vec((0..3_000_u64, 1..=65_535_u32), 1..200),
        ) {
            let rate = (rate >> shift).max(1);
            let mut link = Serialisation::at(Rate(rate));
            // `TracePlayer` divides exactly.
            let mut exact = TracePlayer::new(Arc::new(RateTrace::rates(vec![(0, rate)])));
            let (mut now, mut free_at) = (0, 0);
            for (later, size) in packets {
                // Some packets come at the very end of a transmission.
                now = if later == 0 { now.max(free_at) } else { now + later };
                let least = now + transmission(Rate(rate), size);
                free_at = link.end(now, free_at, size);
                let end = exact.carry(now, size);
                prop_assert!(free_at >= end && free_at >= least, "{free_at} {end} {least}");
                prop_assert!(free_at - end <= 1 + (end >> 45), "{free_at} {end}");
            }
        }
    }
}
