//! Candidates of the search: one path and the senders of the captured connections.

use firstflight_capture::SlowStartEnd;
use firstflight_capture::summary::Summary;

use crate::kinds::Place;
use crate::senders::Schemes;

/// A candidate: the parameters of a kind of path, and the scheme of each captured sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) place: Place,
    pub(super) schemes: Schemes,
    pub(super) seed: u64,
}

/// A candidate with the summaries of its run, one for each target.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    pub(super) candidate: Candidate,
    pub(super) summaries: Vec<Summary>,
    /// End of slow start in its run, for each target.
    pub(super) ends: Vec<Option<SlowStartEnd>>,
    /// Mean distance from the capture over its runs.
    pub(super) distance: f64,
    pub(super) runs: u32,
}
