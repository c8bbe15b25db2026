//! TCP SPAND: Y. Zhang, L. Qiu, S. Keshav, "Speeding Up Short Data Transfers: Theory, Architectural Support, and
//! Simulation Results", NOSSDAV 2000.
//!
//! Instead of slow start the sender enters congestion avoidance at once, with the window that completes the transfer
//! soonest (in the plan), sent through a token bucket. When that window has been paced out it is standard TCP again.

use crate::startup::planned::{Follows, Planned};
use crate::{choice, scheme};
use firstflight_contract::{Nanos, Role, Signals};

/// The best first window for the transfer's size, through a token bucket, then congestion avoidance.
pub type Spand = Planned<Parameters>;

scheme! {
    impl Scheme for Spand {
        label: "spand",
        role: Role::Startup,
        source: "Zhang, Qiu, Keshav, NOSSDAV 2000",
        summary: "the first window that completes a transfer of this size soonest, paced, then congestion avoidance",
        needs: Signals::PLAN.union(Signals::PACING),
    }

    pub struct Parameters {
        /// how long a report of another connection counts (the paper: a sliding window of minutes)
        window: Nanos = 300 s,
        /// the mean of the window; the same, halving for every window without reports; or a mean with weights that
        /// decay
        estimate: Estimate = Sliding,
        /// packets per ACK, the round trips in which congestion avoidance adds a packet
        b: u64 = 1 packets,
        /// the smallest window that needs as many round trips (shift optimization)
        shift: bool = true,
        /// end one packet below the window that met the loss
        avoid_loss: bool = false,
        /// depth of the token bucket
        depth: u64 = 4 packets,
    }
}

choice! {
    /// Values of the parameter `estimate`.
    pub enum Estimate {
        /// The mean of a sliding window; none when the window is empty.
        Sliding = "sliding",
        /// The mean of a sliding window; once the window is empty, the last mean halves with each further length of
        /// the window.
        Fading = "fading",
        /// A mean in which the weight of a report falls by 1/e with each length of the window; none once the newest
        /// report is older than that.
        Decaying = "decaying",
    }
}

impl Follows for Parameters {
    const PACES: bool = true;
    const AFTER_IDLE: bool = true;

    fn depth(&self) -> u64 {
        self.depth
    }
}
