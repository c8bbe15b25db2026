//! Helpers: connections with packets of 1000 bytes and an RTT of 100 ms, and times in seconds.

#![allow(dead_code, reason = "each test program uses its own part")]

use firstflight_contract::{Nanos, Plan};
use firstflight_paths::{Cluster, Destination, Key, Policy, Sample, Transfer};
use firstflight_schemes::scheme::Value;

pub(crate) const MSS: u64 = 1000;
pub(crate) const RTT: Nanos = Nanos::from_millis(100);

pub(crate) fn at(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9) as u64)
}

/// An unlimited transfer to destination 1.
pub(crate) fn transfer(seconds: f64) -> Transfer {
    Transfer { now: at(seconds), destination: Destination(1), rtt: RTT, bytes: u64::MAX, mss: MSS as u32 }
}

pub(crate) fn sample(seconds: f64, packets: u64, avoiding: bool) -> Sample {
    Sample { now: at(seconds), cwnd: packets * MSS, ssthresh: 16 * MSS, srtt: RTT, min_rtt: RTT, avoiding }
}

/// Opens a connection with this window in this phase.
pub(crate) fn open(cluster: &mut Cluster, seconds: f64, packets: u64, avoiding: bool) -> Key {
    cluster.open(&transfer(seconds), &sample(seconds, packets, avoiding))
}

pub(crate) fn policy(label: &str, params: &[(&str, Value)]) -> Policy {
    Policy::new(label, params).expect("a policy")
}

/// Plan for an unlimited transfer.
pub(crate) fn plan(policy: &Policy, cluster: &Cluster, seconds: f64) -> Plan {
    policy.plan(cluster, &transfer(seconds))
}
