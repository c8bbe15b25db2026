//! Queueing disciplines.
//!
//! Most disciplines decide when a packet arrives. Their link needs no event at the end of a transmission: the
//! service start of every packet is known on arrival, and so is the backlog that later arrivals find.
//! Disciplines that decide later, or drop queued packets, store their packets: [`dequeue`].

pub mod choke;
pub mod codel;
pub mod dequeue;
pub mod drop_tail;
pub mod fq_codel;
pub mod policer;
pub mod priority;
pub mod red;

use crate::router::{Header, Router};
use drop_tail::{DropTailBytes, DropTailPackets};
use policer::Policer;
use red::Red;

/// Decision of a discipline on an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet joins the queue.
    Accept,
    /// The packet joins the queue with its ECN mark set.
    Mark,
    /// The packet is dropped.
    Drop,
}

/// State of the link and queue at the arrival of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Current time, nanoseconds.
    pub now: u64,
    /// Time at which the link is or was free, nanoseconds; before `now` if the link is idle.
    pub free_at: u64,
    /// Packets waiting, without the one in transmission.
    pub waiting_packets: u32,
    /// Bytes waiting.
    pub waiting_bytes: u64,
    /// Size of the arriving packet on the wire, bytes.
    pub size: u32,
    /// Whether the packet may be marked instead of dropped.
    pub ecn_capable: bool,
}

/// Capacity of a queue: at least one full packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// This many packets.
    Packets(u32),
    /// This many bytes.
    Bytes(u64),
}

impl Room {
    /// Whether a packet of `size` bytes fits beside `packets` packets of `bytes` bytes in total.
    pub fn has(self, packets: usize, bytes: u64, size: u32) -> bool {
        match self {
            Self::Packets(limit) => packets < limit as usize,
            Self::Bytes(limit) => bytes + u64::from(size) <= limit,
        }
    }

    /// Whether `packets` packets of `bytes` bytes in total fit.
    pub fn holds(self, packets: usize, bytes: u64) -> bool {
        match self {
            Self::Packets(limit) => packets <= limit as usize,
            Self::Bytes(limit) => bytes <= limit,
        }
    }

    /// Decision of a drop-tail queue of this capacity.
    pub(crate) fn admit(self, arrival: &Arrival) -> Verdict {
        match self {
            Self::Packets(limit) => DropTailPackets { limit }.admit(arrival),
            Self::Bytes(limit) => DropTailBytes { limit }.admit(arrival),
        }
    }
}

/// The disciplines that decide on arrival.
#[derive(Clone, Debug)]
pub enum Queue {
    /// No limit: an access link, or a path without loss.
    Unlimited,
    /// Drop-tail counted in packets.
    Packets(DropTailPackets),
    /// Drop-tail counted in bytes.
    Bytes(DropTailBytes),
    /// Random early detection (RED).
    Red(Box<Red>),
    /// A token-bucket policer in front of drop-tail.
    Policer(Box<Policer>),
    /// A router that takes part in congestion control.
    Router(Box<Router>),
}

impl Queue {
    /// Decision on an arriving packet; a router may change its header.
    #[inline]
    pub(crate) fn admit(&mut self, arrival: &Arrival, header: &mut Header) -> Verdict {
        match self {
            Self::Unlimited => Verdict::Accept,
            Self::Packets(queue) => queue.admit(arrival),
            Self::Bytes(queue) => queue.admit(arrival),
            Self::Red(queue) => queue.admit(arrival),
            Self::Policer(queue) => queue.admit(arrival),
            Self::Router(router) => router.admit(arrival, header),
        }
    }
}
