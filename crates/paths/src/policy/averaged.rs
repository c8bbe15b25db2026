//! The averaged method of I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks 55 (2011),
//! section 5.4: their model of SPAND's network monitor.

use firstflight_contract::Plan;
use firstflight_schemes::startup::averaged::Parameters;

use super::Rule;
use crate::settings::Settings;
use crate::{Cluster, Transfer};

/// The threshold is the mean of all windows of the last minutes.
impl Rule for Parameters {
    fn settings(&self) -> Settings {
        Settings { sampling: Some(self.into()), ..Settings::default() }
    }

    fn plan(&self, cluster: &Cluster, transfer: &Transfer) -> Plan {
        // "This average value is updated every minute and then it is used as ssthresh for a new connection."
        cluster.sampled(transfer.now).map_or(Plan::default(), |average| Plan {
            ssthresh: average.cwnd,
            age: average.age,
            samples: average.samples,
            ..Plan::default()
        })
    }
}
