//! Paths that explain a capture, with their weights.

use firstflight_contract::Nanos;
use firstflight_scenario::{Reorder, Scenario};

use crate::entry;
use crate::kinds::{PathKind, Value};
use crate::loss::RandomLoss;
use crate::reordering::{self, Pair};
use crate::senders::Schemes;

/// A path with its weight among those of every kind.
#[derive(Clone, Debug)]
pub(super) struct Weighed {
    pub(super) kind: PathKind,
    /// Values of the kind: those that the times show and, behind the search, those of its rule.
    pub(super) values: Vec<f64>,
    /// Whether it has a policer that dropped no packet of the capture, so that the capture does not show the policer's rate.
    pub(super) idle: bool,
    /// Share of the packets on the slower lane, and its delay, if packets overtake each other.
    pub(super) lanes: Option<Pair>,
    /// Random loss, if there is any.
    pub(super) loss: Option<RandomLoss>,
    pub(super) schemes: Schemes,
    pub(super) weight: f64,
    /// Root mean square difference from the capture, in standard deviations.
    pub(super) misfit: f64,
    /// Logarithm of the likelihood of its times, with the fates of the capture.
    pub(super) times: f64,
}

impl Weighed {
    /// A value of the path; `None` if its kind does not have it.
    pub(super) fn value(&self, value: Value) -> Option<f64> {
        match value {
            Value::Loss => Some(self.loss.map_or(0.0, |loss| loss.probability)),
            _ => self.kind.model().value(value, &self.values),
        }
    }

    /// The same; `None` also if the capture does not show it.
    pub(super) fn seen(&self, value: Value) -> Option<f64> {
        self.value(value).filter(|_| value != Value::Rate || !self.idle)
    }

    /// Lanes on which packets overtake each other, if they do.
    pub(super) fn lanes(&self) -> Option<Reorder> {
        self.lanes.map(reordering::lanes)
    }

    /// The scenario `base`, whose first flow is the transfer, on this path; `seed` draws what differs from one transfer to
    /// the next. `late` is the time from the handshake to the first data; of `None` it is drawn.
    pub(super) fn scenario(&self, base: &Scenario, late: Option<Nanos>, seed: u64) -> Scenario {
        let mut scenario = self.kind.model().scenario(&self.values, base, late, seed);
        if let Some(lanes) = self.lanes {
            reordering::add(&mut scenario, lanes);
        }
        if let Some(loss) = self.loss {
            entry::lose(&mut scenario, loss);
        }
        scenario
    }
}
