//! The averaged method of I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks 55 (2011),
//! section 5.4: their model of SPAND's network monitor.

use firstflight_contract::Plan;
use firstflight_schemes::scheme::Value;

use crate::settings::{Sampling, Settings};
use crate::{Cluster, Transfer};

/// The threshold is the mean of all windows of the last minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Averaged {
    /// When windows are sampled and averaged.
    pub sampling: Sampling,
}

impl Averaged {
    pub(super) fn set(&mut self, name: &str, value: Value) -> bool {
        match (name, value) {
            ("sample", Value::Time(t)) => self.sampling.every = t,
            ("window", Value::Time(t)) => self.sampling.window = t,
            ("refresh", Value::Time(t)) => self.sampling.refresh = t,
            _ => return false,
        }
        true
    }

    pub(super) fn settings(&self) -> Settings {
        Settings { sampling: Some(self.sampling), ..Settings::default() }
    }

    pub(super) fn plan(&self, cluster: &Cluster, transfer: &Transfer) -> Plan {
        // "This average value is updated every minute and then it is used as ssthresh for a new connection."
        cluster.sampled(transfer.now).map_or(Plan::default(), |average| Plan {
            ssthresh: average.cwnd,
            age: average.age,
            samples: average.samples,
            ..Plan::default()
        })
    }
}
