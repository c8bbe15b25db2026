//! Times in four bytes, for the state of a million prefixes.

use firstflight_contract::Nanos;
use serde::{Deserialize, Serialize};

/// Time on `CLOCK_BOOTTIME` in sixteenths of a second. Times before boot exist: a state that was saved by an earlier
/// boot has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Stamp(u32);

/// Sixteenths of a second from the origin to boot: 776 days.
const ORIGIN: u32 = 1 << 30;
/// Nanoseconds of a sixteenth of a second.
const UNIT: u64 = 1_000_000_000 / 16;

impl Stamp {
    /// The time of boot.
    pub(crate) const BOOT: Self = Self(ORIGIN);

    /// The stamp of a time since boot, rounded down.
    pub(crate) fn of(time: Nanos) -> Self {
        Self(u32::try_from(time.0 / UNIT).map_or(u32::MAX, |units| units.saturating_add(ORIGIN)))
    }

    /// Time since boot; zero for a time before it.
    pub(crate) fn time(self) -> Nanos {
        Nanos(u64::from(self.0.saturating_sub(ORIGIN)) * UNIT)
    }

    /// Time from this stamp to `now`; zero if it is later.
    pub(crate) fn age(self, now: Self) -> Nanos {
        Nanos(u64::from(now.0.saturating_sub(self.0)) * UNIT)
    }

    /// Units from this stamp to the last one: less of a later one.
    pub(crate) fn until_the_last(self) -> u32 {
        u32::MAX - self.0
    }

    /// The stamp this much later.
    pub(crate) fn after(self, time: Nanos) -> Self {
        Self(self.0.saturating_add(u32::try_from(time.0 / UNIT).unwrap_or(u32::MAX)))
    }

    /// The stamp this much earlier.
    pub(crate) fn before(self, time: Nanos) -> Self {
        Self(self.0.saturating_sub(u32::try_from(time.0 / UNIT).unwrap_or(u32::MAX)))
    }

    /// The stamp on a clock that shows `to` when this one's shows `from`.
    pub(crate) fn moved(self, from: Self, to: Self) -> Self {
        let moved = i64::from(self.0) + i64::from(to.0) - i64::from(from.0);
        Self(u32::try_from(moved.max(0)).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_before_boot_keeps_its_age() {
        let now = Stamp::of(Nanos::from_secs(10));
        let early = now.before(Nanos::from_secs(3600));
        assert_eq!(early.age(now), Nanos::from_secs(3600));
        assert_eq!(early.time(), Nanos::ZERO);
        assert_eq!(early.after(Nanos::from_secs(3600)), now);
    }

    #[test]
    fn times_are_clamped_to_the_range_of_the_type() {
        assert_eq!(Stamp::of(Nanos::NEVER), Stamp(u32::MAX));
        assert_eq!(Stamp::default().before(Nanos::NEVER), Stamp(0));
        assert_eq!(Stamp(5).moved(Stamp(9), Stamp(1)), Stamp(0));
        assert_eq!(Stamp(5).moved(Stamp(9), Stamp(19)), Stamp(15));
    }
}
