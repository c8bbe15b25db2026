//! Queueing disciplines.
//!
//! Most decide when a packet arrives. Such a link needs no event when a transmission ends: the service start of every
//! packet is known on its arrival, and with it the backlog any later arrival finds. A discipline sees that backlog and
//! answers. Those that decide later, or change their mind, keep their packets ([`held`]).

pub mod choke;
pub mod codel;
pub mod drop_tail;
pub mod fq_codel;
pub mod held;
pub mod priority;
pub mod red;

use crate::router::{Header, Router};
use drop_tail::{DropTailBytes, DropTailPackets};
use red::Red;

/// What a discipline says to an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It joins the queue.
    Accept,
    /// It joins the queue with its ECN mark set.
    Mark,
    /// It is lost.
    Drop,
}

/// What an arriving packet finds.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Now, nanoseconds.
    pub now: u64,
    /// When the link is or was free, nanoseconds; before `now` if it is idle.
    pub free_at: u64,
    /// Packets waiting, the one in transmission not counted.
    pub waiting_packets: u32,
    /// Their bytes.
    pub waiting_bytes: u64,
    /// Size of the arriving packet on the wire, bytes.
    pub size: u32,
    /// Whether it may be marked instead of dropped.
    pub ecn_capable: bool,
}

/// How much a queue holds: at least one full packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// This many packets.
    Packets(u32),
    /// This many bytes.
    Bytes(u64),
}

impl Room {
    /// Whether a packet of `size` bytes fits beside `packets` that have `bytes` together.
    pub fn has(self, packets: usize, bytes: u64, size: u32) -> bool {
        match self {
            Self::Packets(limit) => packets < limit as usize,
            Self::Bytes(limit) => bytes + u64::from(size) <= limit,
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
    /// Random early detection.
    Red(Box<Red>),
    /// A router that takes part in congestion control.
    Router(Box<Router>),
}

impl Queue {
    /// The verdict on an arriving packet, whose header a router may change.
    #[inline]
    pub(crate) fn admit(&mut self, arrival: &Arrival, header: &mut Header) -> Verdict {
        match self {
            Self::Unlimited => Verdict::Accept,
            Self::Packets(queue) => queue.admit(arrival),
            Self::Bytes(queue) => queue.admit(arrival),
            Self::Red(queue) => queue.admit(arrival),
            Self::Router(router) => router.admit(arrival, header),
        }
    }
}
