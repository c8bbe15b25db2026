//! How long work tells how far it is, without knowing who watches.

/// Somebody who may be watching.
pub trait Progress: Sync {
    /// Work begins: `total` steps of `what`.
    fn begin(&self, what: &str, total: u64);
    /// `by` more steps are done; called from any thread.
    fn advance(&self, by: u64);
    /// The work is over.
    fn finish(&self);
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn finish(&self) {}
}
