//! TCP SPAND: Y. Zhang, L. Qiu, S. Keshav, "Speeding Up Short Data Transfers: Theory, Architectural Support, and
//! Simulation Results", NOSSDAV 2000.

use firstflight_contract::Plan;
use firstflight_schemes::startup::spand::Parameters;

use super::Rule;
use super::optimum::Epoch;
use crate::settings::Settings;
use crate::{Cluster, Transfer};

/// The first window is the smallest one with which the transfer takes the fewest possible round trips, given the mean of the
/// windows that other connections reported.
impl Rule for Parameters {
    fn settings(&self) -> Settings {
        Settings { reporting: Some(self.into()), ..Settings::default() }
    }

    fn plan(&self, cluster: &Cluster, transfer: &Transfer) -> Plan {
        let mss = u64::from(transfer.mss.max(1));
        // Without reports in the window the gateway directs senders to slow start (section "Information aggregation").
        let Some(average) = cluster.reported(transfer.now).filter(|average| average.cwnd >= mss) else {
            return Plan::default();
        };
        let wc = average.cwnd / mss - u64::from(self.avoid_loss);
        let epoch = Epoch::new(wc, self.b);
        let w = match transfer.bytes {
            // An unlimited transfer has no last epoch: it begins with a whole epoch.
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
