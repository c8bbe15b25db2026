//! Lateness of the kernel's timers: its timer wheel sorts them into buckets that widen with their distance, and never fires
//! one early. Measured on Linux 6.18 at HZ = 250: a timeout of 304 ms fires after 315 to 343 ms.

/// Buckets of a level.
const LEVEL: u64 = 64;
/// Each level's buckets are eight times as wide as those of the one below.
const WIDER: u64 = 8;

/// Time at which a timer set at `now` for `wait` fires, all nanoseconds, on a clock of ticks of `tick` that began at zero.
pub(super) fn fires_at(now: u64, wait: u64, tick: u64) -> u64 {
    let distance = wait.div_ceil(tick);
    let expires = now / tick + distance;
    let mut width = 1;
    while distance >= (LEVEL - 1) * width {
        width *= WIDER;
    }
    // The bucket after the one that the moment falls into.
    (expires / width + 1) * width * tick
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn near_timers_fire_within_a_tick_and_far_ones_within_their_bucket() {
        // 51 ticks of 4 ms from 0: with the 52nd.
        assert_eq!(fires_at(0, 204 * MS, 4 * MS), 208 * MS);
        assert_eq!(fires_at(3 * MS, 204 * MS, 4 * MS), 208 * MS);
        // 76 ticks: buckets of eight ticks, 32 ms; 76 falls into the one from 72, which fires with 80.
        assert_eq!(fires_at(0, 304 * MS, 4 * MS), 320 * MS);
        // 4 ticks later it falls into the next.
        assert_eq!(fires_at(16 * MS, 304 * MS, 4 * MS), 352 * MS);
        // 600 ticks: buckets of 64 ticks; 600 falls into the one from 576, which fires with 640.
        assert_eq!(fires_at(0, 2400 * MS, 4 * MS), 2560 * MS);
    }
}
