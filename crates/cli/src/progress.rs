//! A progress bar with the remaining time, shown only on a terminal.

use firstflight_report::printable;
use firstflight_study::progress::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Progress bar on standard error; invisible if standard error is not a terminal.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// A bar that is invisible until work begins.
    pub(crate) fn new() -> Self {
        let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}, {eta} left");
        Self(ProgressBar::hidden().with_style(style.expect("a valid template")))
    }
}

impl Progress for Bar {
    fn begin(&self, what: &str, total: u64) {
        self.0.set_length(total);
        self.0.set_message(printable(what));
        // Draws nothing if standard error is not a terminal.
        self.0.set_draw_target(ProgressDrawTarget::stderr());
        self.0.reset();
    }

    fn advance(&self, by: u64) {
        self.0.inc(by);
    }

    fn finish(&self) {
        self.0.finish_and_clear();
    }
}
