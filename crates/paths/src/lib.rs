//! What several connections that share a bottleneck know together, and the start plans made of it.
//!
//! A [`Cluster`] holds what is known of connections that share a bottleneck: the live ones with their phase, age, window,
//! RTT and drop times, and what the closed ones left. A host reports to it: [`open`](Cluster::open),
//! [`observe`](Cluster::observe) at every ACK, [`lost`](Cluster::lost), [`close`](Cluster::close). A [`Policy`] is a pure
//! function of a cluster and a transfer about to start; it answers with a
//! [`Plan`](firstflight_contract::Plan), all zero where nothing is known. A [`Memory`] holds the clusters of all
//! of a host's peers, grouped by address.
//!
//! No clock, no I/O, no randomness. An observation allocates nothing, but for the first of a minute in a cluster whose
//! windows are sampled.

mod averages;
mod cluster;
mod group;
mod intervals;
pub mod macroflow;
mod memory;
pub mod policy;
mod recent;
mod roster;
mod settings;
mod table;

pub use averages::Average;
pub use cluster::Cluster;
pub use group::{Group, Grouping, Prefix};
pub use intervals::Intervals;
pub use memory::{Handle, Limits, Memory};
pub use policy::Policy;
pub use recent::Closed;
pub use roster::{Connection, Key};
pub use settings::{Conflict, Drops, Reporting, Sampling, Settings};
pub use table::{PrefixTable, TableError};

use core::net::IpAddr;
use firstflight_contract::Nanos;

/// Whom a connection sends to: an address, or any number that stands for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Destination(pub u128);

impl From<IpAddr> for Destination {
    /// An IPv4 address and the IPv6 address that maps it are the same destination.
    fn from(address: IpAddr) -> Self {
        Self(match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
            IpAddr::V6(v6) => v6.to_bits(),
        })
    }
}

/// A transfer that is about to start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Now.
    pub now: Nanos,
    /// Whom it goes to.
    pub destination: Destination,
    /// The connection's own RTT, from its handshake; zero if not known.
    pub rtt: Nanos,
    /// How much is to be sent; `u64::MAX` if that is not known or without end.
    pub bytes: u64,
    /// Payload bytes of a full segment.
    pub mss: u32,
}

/// A connection as it is at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub now: Nanos,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; `u64::MAX` is infinite.
    pub ssthresh: u64,
    /// Smoothed RTT; zero if not known.
    pub srtt: Nanos,
    /// Whether it is in congestion avoidance (the AIMD phase), not in slow start.
    pub avoiding: bool,
}
