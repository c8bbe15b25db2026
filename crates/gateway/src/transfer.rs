//! Plans for one transfer whose size the application knows: TCP SPAND's first window (`firstflight_paths`), within what the
//! gateway plans for the prefix.

use core::net::IpAddr;

use firstflight_contract::mul_div;
use firstflight_paths::Policy as Shared;
use firstflight_paths::policy::Epoch;
use firstflight_schemes::startup::spand::Parameters;

use crate::decision::WhyNot;
use crate::gateway::Gateway;
use crate::plan::Plan;
use crate::settings::{Mode, Override, Policy, STOCK};

/// Pacing rate of a first window, in windows of the path per round-trip time. Linux has the same factor in slow start. The
/// pacer's timers are late by part of a millisecond, and by more on a busy machine. The pacer does not make up for lost time.
/// In exchange for the factor, the queue of a bottleneck holds half of the window.
const PACE: u64 = 2;

/// A transfer about to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Address of the peer.
    pub destination: IpAddr,
    /// Size, bytes.
    pub bytes: u64,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Choice between the windows that take the same number of round trips.
    pub rule: Rule,
}

/// Which of the first windows with the fewest round trips. SPAND counts time in whole round trips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// The one that ends the transfer soonest within its last round trip.
    #[default]
    Optimal,
    /// The smallest one.
    Shifted,
}

/// A start for one transfer, on a new connection or after an idle time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferPlan {
    /// Window, from the stack's own to that of the prefix's plan. The threshold is SPAND's: the sender enters congestion
    /// avoidance at its first window. A transfer that fits into the first window has no threshold.
    pub plan: Plan,
    /// Pacing rate of the first window, bytes per second: [`PACE`] windows of the path in its least round-trip time. Zero
    /// leaves the stack's rate.
    pub rate: u64,
}

impl Gateway {
    /// The start for a transfer. It changes nothing.
    ///
    /// # Errors
    /// The reason for which it starts as the stack starts it.
    pub fn transfer(&self, transfer: &Transfer) -> Result<TransferPlan, WhyNot> {
        let Transfer { destination, bytes, mss, rule } = *transfer;
        let found = self.explain(destination);
        if self.settings().mode == Mode::Observe {
            return Err(WhyNot::Observing);
        }
        if found.order == Some(Override::Off) {
            return Err(WhyNot::Operator);
        }
        let plan = found.plan.ok_or(found.why_not.unwrap_or(WhyNot::Unknown))?;
        // A window that the operator sets or keeps does not follow the estimate.
        let path = match (found.order, found.estimate) {
            (None, Some(estimate)) => estimate.segments().max(STOCK),
            _ => plan.window,
        };
        let segments = bytes.div_ceil(u64::from(mss.max(1))).max(1);
        let best = match (&self.knowledge.paths, &self.settings().policy, found.order) {
            (Some(paths), Policy::Shared(Shared::Spand(parameters)), None) => {
                let shift = rule == Rule::Shifted;
                let policy = Shared::Spand(Parameters { shift, ..*parameters });
                paths.planned(&policy, &plan.prefix, self.knowledge.clock, bytes).window
            }
            _ => {
                let epoch = Epoch::new(path.into(), 1);
                let best =
                    if rule == Rule::Shifted { epoch.shifted(segments) } else { epoch.optimum(segments) };
                best as u32
            }
        };
        let window = best.min(plan.window).max(STOCK);
        let ssthresh = (segments > u64::from(window)).then_some(best.max(window));
        let rate = found.estimate.map_or(0, |estimate| {
            mul_div(PACE * u64::from(path) * u64::from(mss), 1_000_000_000, estimate.rtt.0.0.max(1))
        });
        Ok(TransferPlan { plan: Plan { window, ssthresh, paced: false, ..plan }, rate })
    }
}
