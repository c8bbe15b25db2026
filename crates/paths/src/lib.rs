//! Shared measurements of connections that share a bottleneck, and start plans derived from them.
//!
//! A [`Cluster`] holds the state of connections that share a bottleneck: of live ones the phase, age, window,
//! RTT and drop times, of closed ones their final state. A host reports to it: [`open`](Cluster::open),
//! [`observe`](Cluster::observe) at every ACK, [`lost`](Cluster::lost), [`close`](Cluster::close). A
//! [`Policy`] is a pure function of a cluster and a transfer about to start; it returns a
//! [`Plan`](firstflight_contract::Plan), all zero if nothing is known. A [`Memory`] holds the clusters of all
//! peers of a host, grouped by address.
//!
//! The crate uses no clock, no I/O and no random numbers. An observation allocates nothing, except the first
//! one per minute in a cluster with sampled windows.

mod averages;
mod cluster;
mod group;
mod intervals;
pub mod macroflow;
mod memory;
pub mod policy;
mod recent;
mod roster;
#[cfg(feature = "serde")]
mod saved;
mod settings;

pub use averages::Average;
pub use cluster::Cluster;
pub use group::{Group, Grouping, Prefix};
pub use intervals::Intervals;
pub use memory::{Handle, Limits, Memory};
pub use policy::Policy;
pub use recent::Closed;
pub use roster::{Connection, Key};
#[cfg(feature = "serde")]
pub use saved::{Saved, Unfit};
pub use settings::{Conflict, Drops, Reporting, Sampling, Settings};

use core::net::IpAddr;
use firstflight_contract::Nanos;

/// Destination of a connection: an address, or any number that represents one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Destination(pub u128);

impl From<IpAddr> for Destination {
    /// An IPv4 address and its IPv4-mapped IPv6 address are the same destination.
    fn from(address: IpAddr) -> Self {
        Self(match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
            IpAddr::V6(v6) => v6.to_bits(),
        })
    }
}

/// A transfer about to start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Current time.
    pub now: Nanos,
    /// Destination.
    pub destination: Destination,
    /// RTT of the connection's own handshake; zero if unknown.
    pub rtt: Nanos,
    /// Size in bytes; `u64::MAX` if unknown or unlimited.
    pub bytes: u64,
    /// Payload bytes of a full segment.
    pub mss: u32,
}

/// State of a connection at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Time.
    pub now: Nanos,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; `u64::MAX` is infinite.
    pub ssthresh: u64,
    /// Smoothed RTT; zero if unknown.
    pub srtt: Nanos,
    /// Smallest RTT of the connection; zero if unknown.
    pub min_rtt: Nanos,
    /// Whether the connection is in congestion avoidance (the AIMD phase) rather than slow start.
    pub avoiding: bool,
}
