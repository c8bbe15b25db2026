//! Jump Start as Yu and Newman have it: I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks
//! 55 (2011), section 3. Not Liu's Jump Start.

use firstflight_contract::Plan;
use firstflight_schemes::scheme::Value;

use super::fair::Fair;
use crate::settings::Settings;
use crate::{Cluster, Transfer};

/// The fair share is threshold and first window in one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Js;

impl Js {
    pub(super) fn set(&mut self, name: &str, value: Value) -> bool {
        // How the window leaves is the sender's.
        matches!((name, value), ("paced", Value::Flag(_)))
    }

    pub(super) fn settings(&self) -> Settings {
        Settings::default()
    }

    pub(super) fn plan(&self, cluster: &Cluster, transfer: &Transfer) -> Plan {
        let Some(fair) = Fair::of(cluster, |oldest| oldest.cwnd) else { return Plan::default() };
        let plan = fair.plan(transfer);
        // "JS uses ssthresh obtained in LISS for both initial cwnd and ssthresh values"
        Plan { cwnd: plan.ssthresh, ..plan }
    }
}
