//! Jump Start as Yu and Newman have it: I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks
//! 55 (2011), section 3. Not Liu's Jump Start.

use firstflight_contract::Plan;
use firstflight_schemes::startup::js::Parameters;

use super::Rule;
use super::fair::Fair;
use crate::settings::Settings;
use crate::{Cluster, Transfer};

/// The fair share is both the threshold and the first window.
impl Rule for Parameters {
    fn settings(&self) -> Settings {
        Settings::default()
    }

    fn plan(&self, cluster: &Cluster, transfer: &Transfer) -> Plan {
        let Some(fair) = Fair::of(cluster, |oldest| oldest.cwnd) else { return Plan::default() };
        let plan = fair.plan(transfer);
        // "JS uses ssthresh obtained in LISS for both initial cwnd and ssthresh values"
        Plan { cwnd: plan.ssthresh, ..plan }
    }
}
