//! Less Informed Slow Start: I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks 55 (2011),
//! section 3, equation (2).

use firstflight_contract::{Nanos, Plan};
use firstflight_schemes::startup::liss::Parameters;

use super::Rule;
use super::cached::{DESTINATIONS, cached};
use super::fair::Fair;
use crate::settings::Settings;
use crate::{Cluster, Transfer};

/// The threshold is the fair share by the window of the oldest steady connection.
impl Rule for Parameters {
    fn settings(&self) -> Settings {
        let destinations = if self.fallback > Nanos::ZERO { DESTINATIONS } else { 0 };
        Settings { destinations, ..Settings::default() }
    }

    fn plan(&self, cluster: &Cluster, transfer: &Transfer) -> Plan {
        // "we take cwnd of an existing TCP connection in the AIMD phase ... cwnd of the oldest connection is taken"
        match Fair::of(cluster, |oldest| oldest.cwnd) {
            Some(fair) => fair.plan(transfer),
            // "LISS also can benefit from adopting the cached ssthresh values when these values are not too old."
            None => cached(cluster, transfer, self.fallback).unwrap_or_default(),
        }
    }
}
