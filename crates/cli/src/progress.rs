//! A bar with the time that is left, on a terminal; elsewhere nothing.

use firstflight_study::progress::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shows progress on standard error, if that is a terminal.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// A bar that is not there before work begins.
    pub(crate) fn new() -> Self {
        let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}, {eta} left");
        Self(ProgressBar::hidden().with_style(style.expect("the template is right")))
    }
}

impl Progress for Bar {
    fn begin(&self, what: &str, total: u64) {
        self.0.set_length(total);
        self.0.set_message(what.to_owned());
        // Draws nothing where standard error is no terminal.
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
