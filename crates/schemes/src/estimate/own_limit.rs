//! Segments that left while the scheme itself held the sender back: their rate samples show the scheme's limit, not the path's.

/// Totals of delivered data between which such segments left.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnLimit(Option<(u64, u64)>);

impl OwnLimit {
    /// The limit begins when `delivered` is the total.
    pub(crate) fn begin(&mut self, delivered: u64) {
        self.0 = Some((delivered, delivered));
    }

    /// The limit still holds when `delivered` is the total and `in_flight` is out.
    pub(crate) fn hold(&mut self, delivered: u64, in_flight: u64) {
        self.0 = self.0.map(|(from, _)| (from, delivered + in_flight));
    }

    /// Whether a segment that left at the total `prior_delivered` was held back.
    pub(crate) fn covers(&self, prior_delivered: u64) -> bool {
        self.0.is_some_and(|(from, to)| (from..=to).contains(&prior_delivered))
    }
}
