//! SIGINT (Ctrl-C) and SIGTERM: the process ends by the signal, and leaves neither temporary files nor half a set of files.

use std::thread;

use firstflight_report::discard_unfinished;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Waits for the signals in a thread of its own. Without such a thread, a signal ends the process at once, as usual.
pub(crate) fn clean_up_on_signals() {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    thread::spawn(move || {
        for signal in signals.forever() {
            discard_unfinished(|| {
                // The default of both ends the process, so that a shell sees 130 or 143.
                let _ = emulate_default_handler(signal);
            });
        }
    });
}
