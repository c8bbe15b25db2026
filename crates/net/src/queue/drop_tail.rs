//! Drop-tail: first in, first out, and what finds no room is lost.
//!
//! The limit counts waiting packets; the one in transmission has left the queue. A packet that finds the link
//! idle therefore always passes. (ns-2's limit includes the packet in service: its `queue-limit` of N is N - 1 here.)

use super::{Arrival, Verdict};

/// Room for a number of packets.
#[derive(Clone, Debug)]
pub struct DropTailPackets {
    /// Most packets that may wait.
    pub limit: u32,
}

impl DropTailPackets {
    #[inline]
    pub(crate) fn admit(&mut self, arrival: &Arrival) -> Verdict {
        if arrival.waiting_packets >= self.limit && arrival.free_at > arrival.now {
            return Verdict::Drop;
        }
        Verdict::Accept
    }
}

/// Room for a number of bytes.
#[derive(Clone, Debug)]
pub struct DropTailBytes {
    /// Most bytes that may wait.
    pub limit: u64,
}

impl DropTailBytes {
    #[inline]
    pub(crate) fn admit(&mut self, arrival: &Arrival) -> Verdict {
        let full = arrival.waiting_bytes + u64::from(arrival.size) > self.limit;
        if full && arrival.free_at > arrival.now {
            return Verdict::Drop;
        }
        Verdict::Accept
    }
}
