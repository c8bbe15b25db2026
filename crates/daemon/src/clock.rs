//! The clocks of the daemon: one that never steps for decisions, and the wall clock for the age of a snapshot.

use firstflight_contract::Nanos;

/// Time since the machine started, with its time in suspension: the kernel's program reads the same clock.
pub(crate) fn since_boot() -> Nanos {
    Nanos(read(libc::CLOCK_BOOTTIME))
}

/// Nanoseconds since 1970 by the wall clock, which may step.
pub(crate) fn wall() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// Least difference of the two clocks that is a step, seconds: a clock that is slewed gains at most 0.0005 in a tick.
const STEP: f64 = 1.0;
/// Longest time between the readings of the two clocks, nanoseconds.
const APART: u64 = 100_000_000;

/// Steps of the wall clock against the time since boot.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// The wall clock less the time since boot, nanoseconds, at the look before.
    before: Option<i64>,
}

impl Steps {
    /// The step since the look before, seconds, forward if it is above zero; [`None`] without one.
    pub(crate) fn look(&mut self) -> Option<f64> {
        let (early, wall, late) = (since_boot(), wall(), since_boot());
        // A process that was held up between the readings looks again later.
        if late.0.saturating_sub(early.0) > APART {
            return None;
        }
        self.step(late, wall)
    }

    fn step(&mut self, boot: Nanos, wall: u64) -> Option<f64> {
        let now = wall.wrapping_sub(boot.0).cast_signed();
        let before = self.before.replace(now)?;
        let step = now.wrapping_sub(before) as f64 / 1e9;
        (step.abs() >= STEP).then_some(step)
    }
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    assert_eq!(result, 0, "both clocks exist since Linux 2.6.39");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_the_wall_clock_is_found_once_with_its_direction() {
        let (hour, year) = (3600_u64, 365 * 86_400_u64);
        let mut steps = Steps::default();
        let mut at = |boot: u64, wall: u64| steps.step(Nanos::from_secs(boot), wall * 1_000_000_000);
        let wall = 1_700_000_000;
        assert_eq!(at(10, wall), None);
        assert_eq!(at(11, wall + 1), None);
        assert_eq!((at(12, wall + 2 + hour), at(13, wall + 3 + hour)), (Some(3600.0), None));
        assert_eq!((at(14, wall + 4), at(15, wall + 5)), (Some(-3600.0), None));
        assert_eq!(at(16, wall + 6 + year), Some(31_536_000.0));
        assert_eq!(at(17, wall + 7), Some(-31_536_000.0));
        // A suspension of the machine is in both clocks; a time before 1970 is no error.
        assert_eq!(at(17 + year, wall + 7 + year), None);
        assert_eq!(at(18 + year, 0), Some(-((wall + 8 + year) as f64)));
    }
}
