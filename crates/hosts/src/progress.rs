//! Progress reports of long work, independent of their display.

/// Receiver of progress reports.
pub trait Progress: Sync {
    /// Work of `total` steps begins.
    fn begin(&self, what: &str, total: u64);
    /// `by` more steps are done; called from any thread.
    fn advance(&self, by: u64);
    /// The work is done.
    fn finish(&self);
    /// Whether the answer so far is asked for. Work that has no answer until its end goes on.
    fn stopped(&self) -> bool {
        false
    }
}

/// Ignores progress reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn finish(&self) {}
}
