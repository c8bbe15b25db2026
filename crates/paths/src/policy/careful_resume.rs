//! The saved parameters of Careful Resume, RFC 9959 section 4.1.

use firstflight_contract::Plan;
use firstflight_schemes::startup::careful_resume::Parameters;

use super::Rule;
use super::cached::DESTINATIONS;
use crate::settings::Settings;
use crate::{Cluster, Transfer};

/// Section 4.1: of a window below four initial windows nothing need be saved.
const LEAST: u64 = 4;
/// Segments of an initial window.
const INITIAL_WINDOW: u64 = 10;

/// The plan has the window and the smallest round trip that the last connection to the destination left.
impl Rule for Parameters {
    fn settings(&self) -> Settings {
        Settings { destinations: DESTINATIONS, ..Settings::default() }
    }

    fn plan(&self, cluster: &Cluster, transfer: &Transfer) -> Plan {
        // Section 4.2: one connection at a time uses the saved values.
        if cluster.starting() > 0 {
            return Plan::default();
        }
        let Some(closed) = cluster.closed(transfer.destination) else { return Plan::default() };
        let age = transfer.now.saturating_sub(closed.at);
        // Section 4.5: a retreat deletes the saved values.
        if closed.overrun {
            return Plan::default();
        }
        let small = closed.cwnd < LEAST * INITIAL_WINDOW * u64::from(transfer.mss);
        if small || age > self.lifetime {
            return Plan::default();
        }
        Plan { cwnd: closed.cwnd, ssthresh: 0, rtt: closed.min_rtt, age, samples: 1 }
    }
}
