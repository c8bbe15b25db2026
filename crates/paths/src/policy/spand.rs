//! TCP SPAND: Y. Zhang, L. Qiu, S. Keshav, "Speeding Up Short Data Transfers: Theory, Architectural Support, and
//! Simulation Results", NOSSDAV 2000.

use firstflight_contract::Plan;
use firstflight_schemes::scheme::Value;

use super::optimum::Epoch;
use crate::settings::{Estimate, Reporting, Settings};
use crate::{Cluster, Transfer};

/// The first window is the smallest with which the transfer takes as few round trips as it can, given what others found
/// the path to hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spand {
    /// How reports of other connections become the estimate of `Wc`.
    pub reporting: Reporting,
    /// `b`: segments per ACK, the round trips in which the window grows by a segment.
    pub b: u64,
    /// Whether the window is shifted down as far as the number of round trips allows.
    pub shift: bool,
    /// Whether to end one segment below the window that meets the loss.
    pub avoid_loss: bool,
}

impl Default for Spand {
    fn default() -> Self {
        Self { reporting: Reporting::default(), b: 1, shift: true, avoid_loss: false }
    }
}

impl Spand {
    pub(super) fn set(&mut self, name: &str, value: Value) -> bool {
        match (name, value) {
            ("window", Value::Time(t)) => self.reporting.window = t,
            ("estimate", Value::Choice(0)) => self.reporting.estimate = Estimate::Sliding,
            ("estimate", Value::Choice(1)) => self.reporting.estimate = Estimate::Fading,
            ("estimate", Value::Choice(2)) => self.reporting.estimate = Estimate::Decaying,
            ("b", Value::Packets(b)) => self.b = b,
            ("shift", Value::Flag(on)) => self.shift = on,
            ("avoid_loss", Value::Flag(on)) => self.avoid_loss = on,
            // The depth of the token bucket is the sender's.
            ("depth", Value::Packets(_)) => {}
            _ => return false,
        }
        true
    }

    pub(super) fn settings(&self) -> Settings {
        Settings { reporting: Some(self.reporting), ..Settings::default() }
    }

    pub(super) fn plan(&self, cluster: &Cluster, transfer: &Transfer) -> Plan {
        let mss = u64::from(transfer.mss.max(1));
        // Without reports in the window the gateway tells senders to slow start (section "Information aggregation").
        let Some(average) = cluster.reported(transfer.now).filter(|average| average.cwnd >= mss) else {
            return Plan::default();
        };
        let wc = average.cwnd / mss - u64::from(self.avoid_loss);
        let epoch = Epoch::new(wc, self.b);
        let w = match transfer.bytes {
            // Of what has no end no last epoch can be aimed at: it begins with a whole one.
            u64::MAX => epoch.optimum(0),
            bytes if self.shift => epoch.shifted(bytes.div_ceil(mss).max(1)),
            bytes => epoch.optimum(bytes.div_ceil(mss).max(1)),
        };
        Plan {
            cwnd: w * mss,
            // Straight to congestion avoidance: ssthresh = cwnd.
            ssthresh: w * mss,
            rtt: if transfer.rtt.0 > 0 { transfer.rtt } else { average.rtt },
            age: average.age,
            samples: average.samples,
        }
    }
}
