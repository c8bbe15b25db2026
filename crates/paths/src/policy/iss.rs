//! Informed Slow Start: I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks 55 (2011),
//! section 3.

use firstflight_contract::Plan;
use firstflight_schemes::scheme::Value;

use super::fair::Fair;
use crate::settings::Settings;
use crate::{Cluster, Transfer};

/// As [`Liss`](super::Liss), by the moving average of that window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iss {
    /// Weight of one ACK's window in the average.
    pub alpha: f64,
}

impl Default for Iss {
    fn default() -> Self {
        // Section 5: "the EWMA weight parameter alpha of awnd is set to 0.002 by default", as ns-2 has it.
        Self { alpha: 0.002 }
    }
}

impl Iss {
    pub(super) fn set(&mut self, name: &str, value: Value) -> bool {
        match (name, value) {
            ("alpha", Value::Number(alpha)) => self.alpha = alpha,
            _ => return false,
        }
        true
    }

    pub(super) fn settings(&self) -> Settings {
        Settings { alpha: Some(self.alpha), ..Settings::default() }
    }

    pub(super) fn plan(&self, cluster: &Cluster, transfer: &Transfer) -> Plan {
        // "if awnd is taken for w_o ..., then slow start would be ISS"
        Fair::of(cluster, |oldest| libm::round(oldest.awnd) as u64)
            .map_or(Plan::default(), |fair| fair.plan(transfer))
    }
}
