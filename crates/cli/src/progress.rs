//! A progress bar with the remaining time, shown only on a terminal.

use firstflight_hosts::progress::Progress;
use firstflight_report::printable;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::interrupt;

/// Progress bar on standard error; invisible if standard error is not a terminal.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// A bar that is invisible until work begins.
    pub(crate) fn new() -> Self {
        Self::with_template("{msg} {wide_bar} {pos}/{len}, {eta} left")
    }

    /// The bar of work that a Ctrl-C ends, with the answer so far.
    pub(crate) fn of_networks() -> Self {
        Self::with_template("{msg} {wide_bar} {pos}, {eta} left; Ctrl-C: answer so far")
    }

    fn with_template(template: &str) -> Self {
        let style = ProgressStyle::with_template(template).expect("a valid template");
        Self(ProgressBar::hidden().with_style(style))
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

    fn stopped(&self) -> bool {
        interrupt::stopped()
    }
}

/// Progress of reading files, on standard error; invisible if that is not a terminal. The remaining time is shown if the
/// number of bytes is known. A Ctrl-C ends the reading.
pub(crate) struct Bytes(ProgressBar);

impl Bytes {
    /// A bar that is invisible until the reading begins.
    pub(crate) fn new() -> Self {
        Self(ProgressBar::hidden())
    }
}

impl Progress for Bytes {
    fn begin(&self, _: &str, total: u64) {
        let template = match total {
            0 => "reading {bytes}, {binary_bytes_per_sec}; Ctrl-C: answer so far",
            // No wider than 60 columns, so that a narrow terminal does not break the line.
            _ => "reading {wide_bar} {bytes}, {eta} left; Ctrl-C: answer so far",
        };
        self.0.set_style(ProgressStyle::with_template(template).expect("a valid template"));
        if total > 0 {
            self.0.set_length(total);
        }
        self.0.set_draw_target(ProgressDrawTarget::stderr());
        self.0.reset();
    }

    fn advance(&self, by: u64) {
        self.0.inc(by);
    }

    fn finish(&self) {
        self.0.finish_and_clear();
    }

    fn stopped(&self) -> bool {
        interrupt::stopped()
    }
}
