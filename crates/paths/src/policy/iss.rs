//! Informed Slow Start: I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks 55 (2011),
//! section 3.

use firstflight_contract::Plan;
use firstflight_schemes::startup::iss::Parameters;

use super::Rule;
use super::fair::Fair;
use crate::settings::Settings;
use crate::{Cluster, Transfer};

/// As LISS, by the moving average of that window.
impl Rule for Parameters {
    fn settings(&self) -> Settings {
        Settings { alpha: Some(self.alpha), ..Settings::default() }
    }

    fn plan(&self, cluster: &Cluster, transfer: &Transfer) -> Plan {
        // "if awnd is taken for w_o ..., then slow start would be ISS"
        Fair::of(cluster, |oldest| libm::round(oldest.awnd) as u64)
            .map_or(Plan::default(), |fair| fair.plan(transfer))
    }
}
