//! TCP SPAND: Y. Zhang, L. Qiu, S. Keshav, "Speeding Up Short Data Transfers: Theory, Architectural Support, and
//! Simulation Results", NOSSDAV 2000.
//!
//! Instead of slow start the sender enters congestion avoidance at once, with the window that completes the transfer
//! soonest (in the plan), sent through a token bucket. When that window has been paced out it is standard TCP again.

use crate::scheme::{Info, Param, ParamKind, Value};
use crate::startup::planned::Follows;
use firstflight_contract::{Role, Signals};

/// The best first window for the transfer's size, through a token bucket, then congestion avoidance.
#[derive(Clone, Debug)]
pub struct Spand {
    /// Parameter, segments.
    depth: u64,
}

impl Default for Spand {
    fn default() -> Self {
        Self { depth: 4 }
    }
}

impl Follows for Spand {
    const INFO: Info = Info {
        label: "spand",
        role: Role::Startup,
        source: "Zhang, Qiu, Keshav, NOSSDAV 2000",
        summary: "the first window that completes a transfer of this size soonest, paced, then congestion avoidance",
        needs: Signals::PLAN.and(Signals::PACING),
        params: &[
            Param {
                name: "window",
                kind: ParamKind::Time,
                default: "300 s",
                doc: "how long a report of another connection counts (the paper: a sliding window of minutes)",
            },
            Param {
                name: "estimate",
                kind: ParamKind::Choice(&["sliding", "fading", "decaying"]),
                default: "sliding",
                doc: "the mean of the window; the same, halving for every window without reports; or a mean with weights that decay",
            },
            Param {
                name: "b",
                kind: ParamKind::Packets,
                default: "1 packets",
                doc: "packets per ACK, the round trips in which congestion avoidance adds a packet",
            },
            Param {
                name: "shift",
                kind: ParamKind::Flag,
                default: "true",
                doc: "the smallest window that needs as many round trips (shift optimization)",
            },
            Param {
                name: "avoid_loss",
                kind: ParamKind::Flag,
                default: "false",
                doc: "end one packet below the window that met the loss",
            },
            Param {
                name: "depth",
                kind: ParamKind::Packets,
                default: "4 packets",
                doc: "depth of the token bucket",
            },
        ],
    };

    const AFTER_IDLE: bool = true;

    fn depth(&self) -> u64 {
        self.depth
    }

    fn set(&mut self, name: &str, value: Value) {
        if let ("depth", Value::Packets(n)) = (name, value) {
            self.depth = n;
        }
    }
}
