//! Quantities whose type is their unit: integer nanoseconds and integer bits per second.

use core::ops::{Add, AddAssign, Sub};

use crate::{mul_div, mul_div_round};

/// Nanoseconds: a time on the host's clock, or a duration. Zero means "not known" in the contract's events.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Later than every event.
    pub const NEVER: Self = Self(u64::MAX);
    /// The start of the host's clock, an empty duration, or "not known".
    pub const ZERO: Self = Self(0);

    /// Duration of whole microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// Duration of whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// Duration of whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// `self - other`, or zero if `other` is later.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self + other`, at most [`Nanos::NEVER`].
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

/// A time on the host's clock at which something happened, or "never" while it has not. Time zero is a time like any other.
///
/// One word. The type has no order, because "never" is neither earlier nor later than a time.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(Nanos);

impl Moment {
    /// It has not happened.
    pub const NEVER: Self = Self(Nanos::NEVER);

    /// It happened at `time`, which is not [`Nanos::NEVER`].
    pub const fn at(time: Nanos) -> Self {
        Self(time)
    }

    /// The time; `None` if it has not happened.
    pub const fn time(self) -> Option<Nanos> {
        if self.0.0 == Nanos::NEVER.0 { None } else { Some(self.0) }
    }

    /// Time that has passed by `now`, zero if `now` is earlier; `None` if it has not happened.
    pub const fn elapsed(self, now: Nanos) -> Option<Nanos> {
        match self.time() {
            Some(time) => Some(now.saturating_sub(time)),
            None => None,
        }
    }
}

impl Default for Moment {
    fn default() -> Self {
        Self::NEVER
    }
}

/// Bits per second. Zero means "none" or "not known".
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

impl Rate {
    /// No rate: no pacing, or not known.
    pub const NONE: Self = Self(0);

    /// Rate that carries `bytes` in `span`, rounded down; [`Rate::NONE`] for an empty span.
    pub const fn of(bytes: u64, span: Nanos) -> Self {
        if span.0 == 0 {
            return Self::NONE;
        }
        Self(mul_div(bytes, 8_000_000_000, span.0))
    }

    /// Bytes carried in `span`, rounded down.
    pub const fn bytes_in(self, span: Nanos) -> u64 {
        mul_div(self.0, span.0, 8_000_000_000)
    }

    /// Time to carry `bytes`, rounded to the nearest nanosecond; [`Nanos::NEVER`] at no rate.
    pub const fn time_for(self, bytes: u64) -> Nanos {
        if self.0 == 0 {
            return Nanos::NEVER;
        }
        Nanos(mul_div_round(bytes, 8_000_000_000, self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_happened_has_no_time_and_what_happened_at_zero_has() {
        let now = Nanos::from_secs(10);
        assert_eq!((Moment::default().time(), Moment::NEVER.elapsed(now)), (None, None));
        let first = Moment::at(Nanos::ZERO);
        assert_eq!((first.time(), first.elapsed(now)), (Some(Nanos::ZERO), Some(now)));
        assert_eq!(Moment::at(now).elapsed(Nanos::ZERO), Some(Nanos::ZERO));
        assert_eq!(size_of::<Moment>(), 8);
    }

    #[test]
    fn a_1000_byte_packet_takes_80_us_at_100_mbit_s() {
        // 8000 bit / 100e6 bit/s = 80 us
        assert_eq!(Rate(100_000_000).time_for(1000), Nanos::from_micros(80));
    }

    #[test]
    fn a_bdp_of_40_mbit_s_and_100_ms_is_500_packets_of_1000_bytes() {
        // 40e6 * 0.1 / 8 = 500 000 bytes (the Adaptive Start paper's base case)
        assert_eq!(Rate(40_000_000).bytes_in(Nanos::from_millis(100)), 500_000);
    }

    #[test]
    fn the_rate_of_a_window_per_round_trip_is_its_inverse() {
        assert_eq!(Rate::of(500_000, Nanos::from_millis(100)), Rate(40_000_000));
        assert_eq!(Rate::of(1, Nanos::ZERO), Rate::NONE);
    }
}
