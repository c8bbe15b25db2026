//! Decisions that wait to be followed.

use firstflight_gateway::Decision;

/// Decisions in order, of which the first ones were followed. They are kept until the last one is, because requests are answered meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub(crate) all: Vec<Decision>,
    followed: usize,
}

impl Pending {
    /// Number of decisions, with those that were followed.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Forgets the decisions after the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.all.truncate(len);
    }

    /// Takes the next decision, with the number of those that were taken.
    pub(crate) fn next(&mut self) -> Option<(usize, Decision)> {
        let decision = self.all.get(self.followed).copied()?;
        self.followed += 1;
        Some((self.followed, decision))
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.followed = 0;
    }
}
