//! Clocks behind TCP time stamps (RFC 7323).

use firstflight_contract::Nanos;

/// Ticks in use (RFC 7323, section 5.4: 1 ms to 1 s; Linux may count microseconds).
pub(crate) const TICKS: [Nanos; 5] =
    [Nanos(1_000), Nanos(1_000_000), Nanos(4_000_000), Nanos(10_000_000), Nanos(100_000_000)];

/// Nominal tick of a clock that `seems` to need this many nanoseconds per tick. `None` if it is like none of them.
pub(crate) fn tick_like(seems: f64) -> Option<Nanos> {
    const LIKE: f64 = 1.5;
    TICKS.into_iter().find(|tick| (1.0 / LIKE..LIKE).contains(&(seems / tick.0 as f64)))
}

/// Time from stamp `first` to `stamp`, nanoseconds; negative if `stamp` is older.
pub(crate) fn since(first: u32, stamp: u32, tick: Nanos) -> i128 {
    i128::from(ticks(first, stamp)) * i128::from(tick.0)
}

/// Ticks from stamp `first` to `stamp`; negative if `stamp` is older.
pub(crate) fn ticks(first: u32, stamp: u32) -> i32 {
    stamp.wrapping_sub(first) as i32
}
