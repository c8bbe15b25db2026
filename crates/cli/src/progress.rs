//! Progress with the remaining time: a bar on a terminal, lines elsewhere.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use firstflight_hosts::progress::Progress;
use firstflight_report::printable;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::interrupt;
use crate::output::complain;

/// Seconds between two lines of progress where there is no terminal.
const EVERY: u64 = 10;

/// Progress on standard error: a bar on a terminal, elsewhere a line each ten seconds.
pub(crate) struct Bar {
    bar: ProgressBar,
    /// Work that is done, in words.
    work: Mutex<String>,
    /// Seconds since the work began after which the last line was written.
    written: AtomicU64,
}

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
        let bar = ProgressBar::hidden().with_style(style);
        Self { bar, work: Mutex::default(), written: AtomicU64::new(0) }
    }

    /// The line for now, if one is due.
    fn line(&self, elapsed: u64) -> Option<String> {
        let last = self.written.load(Ordering::Relaxed);
        let due = elapsed >= last + EVERY;
        // Of several threads one writes.
        let mine =
            || self.written.compare_exchange(last, elapsed, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        (due && mine()).then(|| {
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
            let work = self.work.lock().unwrap_or_else(PoisonError::into_inner).clone();
            // The hidden bar estimates no time.
            let left = elapsed.saturating_mul(all.saturating_sub(done)).div_ceil(done.max(1));
            format!("{work}: {done} of {all} after {elapsed} s, about {left} s left")
        })
    }
}

impl Progress for Bar {
    fn begin(&self, what: &str, total: u64) {
        let what = printable(what);
        self.work.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&what);
        self.written.store(0, Ordering::Relaxed);
        self.bar.set_length(total);
        self.bar.set_message(what);
        // Draws nothing if standard error is not a terminal.
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
        self.bar.reset();
    }

    fn advance(&self, by: u64) {
        self.bar.inc(by);
        if self.bar.is_hidden()
            && let Some(line) = self.line(self.bar.elapsed().as_secs())
        {
            complain(line);
        }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_terminal_a_line_is_due_each_ten_seconds() {
        let bar = Bar::new();
        bar.begin("simulations", 40);
        bar.bar.inc(10);
        assert_eq!(bar.line(9), None);
        let line = bar.line(10).expect("ten seconds have passed");
        // A quarter took ten seconds.
        assert_eq!(line, "simulations: 10 of 40 after 10 s, about 30 s left");
        assert_eq!((bar.line(10), bar.line(19)), (None, None));
        assert!(bar.line(31).is_some() && bar.line(40).is_none());
        // Other work begins anew.
        bar.begin("bystanders", 4);
        assert_eq!(bar.line(9), None);
        assert!(bar.line(12).expect("a line").starts_with("bystanders: 0 of 4 after 12 s"));
    }
}
