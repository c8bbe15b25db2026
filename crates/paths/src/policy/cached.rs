//! The cached method of I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks 55 (2011),
//! section 5.4, after TCP Fast Start; and the sharing of windows between connections of RFC 9040 (RFC 2140).

use firstflight_contract::{Nanos, Plan};
use firstflight_schemes::scheme::Value;

use crate::settings::Settings;
use crate::{Closed, Cluster, Transfer};

/// How many destinations a cluster remembers: bounds what one of a million clusters may take.
pub(super) const DESTINATIONS: u32 = 8;

/// What another connection has, or left.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cached {
    /// What is shared.
    pub sharing: Sharing,
    /// Up to which age what a closed connection left counts; zero for any age.
    pub max_age: Nanos,
}

/// What is shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// The threshold of a live connection of the cluster, else of the last closed one to the same destination.
    #[default]
    Threshold,
    /// RFC 9040 section 6: window and threshold of the last closed connection to the same destination.
    Temporal,
    /// RFC 9040 section 7: an equal share of the windows of the live connections.
    Ensemble,
}

impl Cached {
    pub(super) fn set(&mut self, name: &str, value: Value) -> bool {
        match (name, value) {
            ("sharing", Value::Choice(0)) => self.sharing = Sharing::Threshold,
            ("sharing", Value::Choice(1)) => self.sharing = Sharing::Temporal,
            ("sharing", Value::Choice(2)) => self.sharing = Sharing::Ensemble,
            ("max_age", Value::Time(t)) => self.max_age = t,
            _ => return false,
        }
        true
    }

    pub(super) fn settings(&self) -> Settings {
        Settings { destinations: DESTINATIONS, ..Settings::default() }
    }

    pub(super) fn plan(&self, cluster: &Cluster, transfer: &Transfer) -> Plan {
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
