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

/// The plan has the window and the round trip that the last connection to the destination left.
impl Rule for Parameters {
    fn settings(&self) -> Settings {
        Settings { destinations: DESTINATIONS, ..Settings::default() }
    }

    fn plan(&self, cluster: &Cluster, transfer: &Transfer) -> Plan {
        // Section 4.2: "Only one connection can use a specific set of saved CC parameters."
        if cluster.starting() > 0 {
            return Plan::default();
        }
        let Some(closed) = cluster.closed(transfer.destination) else { return Plan::default() };
        let age = transfer.now.saturating_sub(closed.at);
        let small = closed.cwnd < LEAST * INITIAL_WINDOW * u64::from(transfer.mss);
        if small || age > self.lifetime {
            return Plan::default();
        }
        Plan { cwnd: closed.cwnd, ssthresh: 0, rtt: closed.srtt, age, samples: 1 }
    }
}

#[cfg(test)]
mod tests {
    use firstflight_contract::Nanos;

    use super::*;
    use crate::{Destination, Sample};

    const MSS: u32 = 1000;

    fn transfer(now_s: u64) -> Transfer {
        let (now, destination) = (Nanos::from_secs(now_s), Destination(7));
        Transfer { now, destination, bytes: u64::MAX, mss: MSS, ..Transfer::default() }
    }

    fn sample(now_s: u64, segments: u64, avoiding: bool) -> Sample {
        Sample {
            now: Nanos::from_secs(now_s),
            cwnd: segments * u64::from(MSS),
            ssthresh: u64::MAX,
            srtt: Nanos::from_millis(100),
            avoiding,
        }
    }

    /// A cluster whose last connection left a window of so many segments after a second.
    fn cluster(segments: u64) -> Cluster {
        let mut cluster = Cluster::new(Parameters::default().settings());
        let key = cluster.open(&transfer(0), &sample(0, 10, false));
        cluster.observe(key, &sample(1, segments, true));
        cluster.close(key, Nanos::from_secs(1));
        cluster
    }

    #[test]
    fn the_last_window_and_round_trip_are_the_plan_within_the_lifetime() {
        let rule = Parameters::default();
        let plan = rule.plan(&cluster(200), &transfer(601));
        assert_eq!(
            (plan.cwnd, plan.rtt, plan.age),
            (200_000, Nanos::from_millis(100), Nanos::from_secs(600))
        );
        assert_eq!(rule.plan(&cluster(200), &transfer(602)), Plan::default());
        // Four initial windows are 40 segments.
        assert_eq!(rule.plan(&cluster(39), &transfer(2)), Plan::default());
        assert_ne!(rule.plan(&cluster(40), &transfer(2)), Plan::default());
    }

    #[test]
    fn one_connection_at_a_time_uses_the_saved_values() {
        let mut cluster = cluster(200);
        let rule = Parameters::default();
        let key = cluster.open(&transfer(2), &sample(2, 10, false));
        assert_eq!(rule.plan(&cluster, &transfer(2)), Plan::default());
        cluster.observe(key, &sample(3, 90, true));
        assert_ne!(rule.plan(&cluster, &transfer(3)), Plan::default());
    }
}
