//! Time of a run: nanoseconds since its start, on the clock of the kernel's timers.

/// Longest sleep before a waiting thread looks whether the run is over, nanoseconds.
const LOOK: u64 = 20_000_000;

/// The clock of one run. It is zero until the run starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    zero: u64,
}

impl Clock {
    /// A run that starts after `delay` nanoseconds.
    pub(crate) fn starting_in(delay: u64) -> Self {
        Self { zero: monotonic() + delay }
    }

    pub(crate) fn now(self) -> u64 {
        monotonic().saturating_sub(self.zero)
    }

    /// Sleeps until `at`; returns at once when `over` is true, which is asked at least every 20 ms.
    pub(crate) fn sleep_until(self, at: u64, over: impl Fn() -> bool) {
        let due = self.zero.saturating_add(at);
        while !over() {
            let now = monotonic();
            if now >= due {
                return;
            }
            let until = due.min(now + LOOK);
            let time = libc::timespec {
                tv_sec: (until / 1_000_000_000) as libc::time_t,
                tv_nsec: (until % 1_000_000_000) as libc::c_long,
            };
            // SAFETY: the time outlives the call; the time that would be left is not asked for.
            unsafe {
                libc::clock_nanosleep(
                    libc::CLOCK_MONOTONIC,
                    libc::TIMER_ABSTIME,
                    &raw const time,
                    core::ptr::null_mut(),
                )
            };
        }
    }
}

fn monotonic() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place outlives the call, which every Linux answers for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
