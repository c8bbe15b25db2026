//! Paths that explain a capture, with their weights.

use firstflight_contract::Nanos;
use firstflight_scenario::{Reorder, Scenario};

use crate::kinds::PathKind;
use crate::reordering;
use crate::senders::Schemes;

/// A path with its weight among those of every kind.
#[derive(Clone, Debug)]
pub(super) struct Weighed {
    pub(super) kind: PathKind,
    pub(super) values: Vec<f64>,
    /// Whether the last values are those of reordering.
    pub(super) reorders: bool,
    pub(super) schemes: Schemes,
    pub(super) weight: f64,
    /// Root mean square difference from the capture, in standard deviations.
    pub(super) misfit: f64,
}

impl Weighed {
    /// Lanes on which packets overtake each other, if they do.
    pub(super) fn lanes(&self) -> Option<Reorder> {
        self.reorders.then(|| reordering::lanes(&self.values))
    }

    /// The scenario `base`, whose first flow is the transfer, on this path; `seed` draws what differs from one transfer to
    /// the next. `late` is the time from the handshake to the first data; of `None` it is drawn.
    pub(super) fn scenario(&self, base: &Scenario, late: Option<Nanos>, seed: u64) -> Scenario {
        scenario(self.kind, &self.values, self.reorders, base, late, seed)
    }
}

/// The scenario `base` on a path of this kind and these values, the last ones of which are those of reordering if it `reorders`.
pub(super) fn scenario(
    kind: PathKind,
    values: &[f64],
    reorders: bool,
    base: &Scenario,
    late: Option<Nanos>,
    seed: u64,
) -> Scenario {
    let mut scenario = kind.model().scenario(values, base, late, seed);
    if reorders {
        reordering::add(&mut scenario, values);
    }
    scenario
}
