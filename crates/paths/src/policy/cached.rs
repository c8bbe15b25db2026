//! The cached method of I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks 55 (2011),
//! section 5.4, after TCP Fast Start; and the sharing of windows between connections of RFC 9040 (RFC 2140).

use firstflight_contract::{Nanos, Plan};
use firstflight_schemes::startup::cached::{Parameters, Sharing};

use super::Rule;
use crate::settings::Settings;
use crate::{Closed, Cluster, Transfer};

/// Maximum number of destinations that a cluster remembers: bounds the memory of each of a million clusters.
pub(super) const DESTINATIONS: u32 = 8;

/// The plan copies the state of another live connection, or the final state of a closed one.
impl Rule for Parameters {
    fn settings(&self) -> Settings {
        Settings { destinations: DESTINATIONS, ..Settings::default() }
    }

    fn plan(&self, cluster: &Cluster, transfer: &Transfer) -> Plan {
        let age = if self.max_age == Nanos::ZERO { Nanos::NEVER } else { self.max_age };
        let plan = match self.sharing {
            Sharing::Threshold => active(cluster, transfer).or_else(|| cached(cluster, transfer, age)),
            Sharing::Temporal => left(cluster, transfer, age).map(|closed| Plan {
                cwnd: closed.cwnd,
                ssthresh: finite(closed.ssthresh),
                rtt: closed.srtt,
                age: transfer.now.saturating_sub(closed.at),
                samples: 1,
            }),
            Sharing::Ensemble => ensemble(cluster, transfer),
        };
        plan.unwrap_or_default()
    }
}

/// "when there is an active connection sharing the same subnet with a new connection, the ssthresh value of the active
/// connection is chosen": the oldest steady one, else the oldest.
fn active(cluster: &Cluster, transfer: &Transfer) -> Option<Plan> {
    let connection = cluster.oldest_avoiding().or(cluster.oldest_starting())?;
    (connection.ssthresh != u64::MAX).then(|| Plan {
        cwnd: 0,
        ssthresh: connection.ssthresh,
        rtt: connection.srtt,
        age: transfer.now.saturating_sub(connection.seen),
        samples: 1,
    })
}

/// "when there is a cached ssthresh value having the same destination with a new connection, the cached value is used."
pub(super) fn cached(cluster: &Cluster, transfer: &Transfer, max_age: Nanos) -> Option<Plan> {
    let closed = left(cluster, transfer, max_age).filter(|closed| closed.ssthresh != u64::MAX)?;
    let age = transfer.now.saturating_sub(closed.at);
    Some(Plan { cwnd: 0, ssthresh: closed.ssthresh, rtt: closed.srtt, age, samples: 1 })
}

fn left<'a>(cluster: &'a Cluster, transfer: &Transfer, max_age: Nanos) -> Option<&'a Closed> {
    cluster.closed(transfer.destination).filter(|c| transfer.now.saturating_sub(c.at) <= max_age)
}

/// An infinite threshold is none.
fn finite(ssthresh: u64) -> u64 {
    if ssthresh == u64::MAX { 0 } else { ssthresh }
}

fn ensemble(cluster: &Cluster, transfer: &Transfer) -> Option<Plan> {
    let connection = cluster.oldest_avoiding().or(cluster.oldest_starting())?;
    let count = u64::from(cluster.avoiding()) + u64::from(cluster.starting());
    let cwnd = (cluster.avoiding_cwnd() + cluster.starting_cwnd()) / (count + 1);
    Some(Plan {
        cwnd,
        ssthresh: finite(connection.ssthresh),
        rtt: connection.srtt,
        age: transfer.now.saturating_sub(connection.seen),
        samples: count,
    })
}
