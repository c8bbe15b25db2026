//! SIGINT (Ctrl-C), SIGTERM and SIGHUP (the terminal was closed): the process ends by the signal, and leaves neither temporary files nor half a set of files.
//! While captures are read, or networks answered one after another, the first Ctrl-C ends that instead, and the answer is made
//! from what was read or answered. A service ends in order after the first two, and reads its configuration again after SIGHUP.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;

use firstflight_report::discard_unfinished;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Work that a Ctrl-C ends.
static WORK: AtomicU8 = AtomicU8::new(NONE);
/// There is none, so a Ctrl-C ends the process.
const NONE: u8 = 0;
/// It goes on.
const RUNNING: u8 = 1;
/// A Ctrl-C has ended it.
const STOPPED: u8 = 2;
/// A service runs, which SIGTERM ends as a Ctrl-C does.
const SERVING: u8 = 3;

/// A SIGHUP that a service has not answered.
static HUNG_UP: AtomicBool = AtomicBool::new(false);

/// Waits for the signals in a thread of its own. Without such a thread, a signal ends the process at once, as usual.
pub(crate) fn clean_up_on_signals() {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    if hangs_up() {
        let _ = signals.add_signal(SIGHUP);
    }
    thread::spawn(move || {
        for signal in signals.forever() {
            let stops =
                |work| WORK.compare_exchange(work, STOPPED, Ordering::Relaxed, Ordering::Relaxed).is_ok();
            if signal == SIGHUP && WORK.load(Ordering::Relaxed) == SERVING {
                HUNG_UP.store(true, Ordering::Relaxed);
                continue;
            }
            if stops(SERVING) || signal == SIGINT && stops(RUNNING) {
                continue;
            }
            discard_unfinished(|| {
                // The default of each ends the process, so that a shell sees 130, 143 or 129.
                let _ = emulate_default_handler(signal);
            });
        }
    });
}

/// Whether SIGHUP ends this process, as it does unless `nohup` started it. Only Linux shows it.
fn hangs_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (SIGHUP - 1)) == 0)
}

/// Runs `work`, which is to end soon after [`stopped`] is true: after a Ctrl-C. A second one ends the process.
pub(crate) fn while_stoppable<T>(work: impl FnOnce() -> T) -> T {
    WORK.store(RUNNING, Ordering::Relaxed);
    let result = work();
    WORK.store(NONE, Ordering::Relaxed);
    result
}

/// Runs the service `work`, which is to end soon after [`stopped`] is true: after SIGINT or SIGTERM. A second one ends the
/// process.
#[cfg(all(target_os = "linux", feature = "gateway"))]
pub(crate) fn while_serving<T>(work: impl FnOnce() -> T) -> T {
    WORK.store(SERVING, Ordering::Relaxed);
    let result = work();
    WORK.store(NONE, Ordering::Relaxed);
    result
}

/// Whether a service got a SIGHUP since the last call.
#[cfg(all(target_os = "linux", feature = "gateway"))]
pub(crate) fn hung_up() -> bool {
    HUNG_UP.swap(false, Ordering::Relaxed)
}

/// Whether a signal has ended the work of [`while_stoppable`] or [`while_serving`].
pub(crate) fn stopped() -> bool {
    WORK.load(Ordering::Relaxed) == STOPPED
}
