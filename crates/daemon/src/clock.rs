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

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    assert_eq!(result, 0, "both clocks exist since Linux 2.6.39");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
