//! A connection as the kernel reports it.

use core::net::IpAddr;

use firstflight_contract::Nanos;
use serde::{Deserialize, Serialize};

use crate::serial;
use crate::settings::STOCK;

/// One TCP connection of this host, measured by its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// Time of the report, `CLOCK_BOOTTIME`.
    #[serde(with = "serial::nanos")]
    pub at: Nanos,
    /// Address of the peer. An IPv4-mapped address is an IPv4 address.
    pub peer: IpAddr,
    /// Its start.
    pub arm: Arm,
    /// Whether it has ended.
    pub stage: Stage,
    /// Time since it was established.
    #[serde(with = "serial::nanos")]
    pub age: Nanos,
    /// Time during which data waited for an acknowledgement or for the window (`tcpi_busy_time`): the completion
    /// time of all its transfers together.
    #[serde(with = "serial::nanos")]
    pub busy: Nanos,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Payload bytes acknowledged by the peer.
    pub bytes: u64,
    /// Round-trip time of the handshake; zero if the kernel took no sample.
    #[serde(with = "serial::nanos")]
    pub handshake_rtt: Nanos,
    /// Least round-trip time; zero if unknown.
    #[serde(with = "serial::nanos")]
    pub min_rtt: Nanos,
    /// Smoothed round-trip time; zero if unknown.
    #[serde(with = "serial::nanos")]
    pub srtt: Nanos,
    /// Greatest delivery rate, bytes per second; zero if unknown.
    pub rate: u64,
    /// Whether the application limited the sample of `rate`, which is then a lower bound.
    pub limited: bool,
    /// Whether other connections of its prefix had data in flight during the sample of `rate`, which is then its share of the path.
    pub shared: bool,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow-start threshold, segments; [`None`] is infinite.
    pub ssthresh: Option<u32>,
    /// Receive window that the peer offered last, bytes.
    pub receive_window: u64,
    /// Data segments sent, with retransmissions.
    pub sent: u32,
    /// Retransmitted segments.
    pub retransmits: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Segments of its first window that were retransmitted.
    pub first_window_lost: u32,
}

impl Connection {
    /// Segments of its first window that it sent.
    pub(crate) fn first_window_sent(&self) -> u32 {
        self.sent.saturating_sub(self.retransmits).min(self.arm.window())
    }

    /// Of these, segments that were retransmitted. A segment may be more than once.
    pub(crate) fn first_window_lost(&self) -> u32 {
        self.first_window_lost.min(self.first_window_sent())
    }
}

/// Start of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// As the stack starts it: no plan was in force.
    Stock,
    /// As the stack starts it although a plan was in force, to measure the plan's effect. The plan would have given it this first
    /// window, segments.
    Holdout(u32),
    /// With this first window, segments.
    Planned(u32),
}

impl Arm {
    /// First window, segments.
    pub fn window(self) -> u32 {
        match self {
            Self::Stock | Self::Holdout(_) => STOCK,
            Self::Planned(window) => window,
        }
    }

    /// Whether the first window is larger than the stack's own. Other connections may have left no more than the stack's.
    pub fn is_larger(self) -> bool {
        self.window() > STOCK
    }

    /// The first window that a plan gave or would have given, segments; [`None`] without a plan.
    pub fn offered(self) -> Option<u32> {
        match self {
            Self::Stock => None,
            Self::Holdout(window) | Self::Planned(window) => Some(window),
        }
    }

    /// Whether the plan made a difference, or would have made one. Only such connections are compared: one that got the stack's
    /// window, because other connections left no more, is like one that is held out.
    pub fn is_compared(self) -> bool {
        self.offered().is_some_and(|window| window > STOCK)
    }
}

/// Whether a connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It lives; a connection older than the gateway is reported once in this way.
    Live,
    /// It has ended.
    Ended,
}
