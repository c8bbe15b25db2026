//! Replications of a comparison.

/// Replication for which a path is drawn.
#[derive(Clone, Copy)]
pub(crate) struct Replication {
    pub(super) index: u32,
    pub(super) of: u32,
    /// Seed of the whole comparison.
    pub(super) seed: u64,
}

impl Replication {
    /// Seed of the run.
    pub(crate) fn own_seed(self) -> u64 {
        self.seed.wrapping_add(self.index.into())
    }

    /// Its place among all, from 0 to 1: all are spread evenly.
    pub(super) fn share(self) -> f64 {
        (f64::from(self.index) + 0.5) / f64::from(self.of)
    }
}
