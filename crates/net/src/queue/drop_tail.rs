//! Drop-tail: first in, first out; packets that do not fit are dropped.
//!
//! The limit counts waiting packets. The packet in transmission has left the queue, so a packet that finds
//! the link idle always passes. (ns-2's limit includes the packet in service: its `queue-limit` of N is N - 1
//! here.)

use super::{Arrival, Info, Room, Verdict};

/// Description.
pub const INFO: Info = Info::queue(
    "drop-tail",
    "RFC 7567, section 2",
    "first in, first out; packets that do not fit are dropped",
    &[],
);

/// Limit in packets.
#[derive(Clone, Debug)]
pub struct DropTailPackets {
    /// Maximum number of waiting packets.
    pub limit: u32,
}

impl DropTailPackets {
    #[inline]
    pub(crate) fn admit(&mut self, arrival: &Arrival) -> Verdict {
        Room::Packets(self.limit).admit(arrival)
    }
}

/// Limit in bytes.
#[derive(Clone, Debug)]
pub struct DropTailBytes {
    /// Maximum number of waiting bytes.
    pub limit: u64,
}

impl DropTailBytes {
    #[inline]
    pub(crate) fn admit(&mut self, arrival: &Arrival) -> Verdict {
        Room::Bytes(self.limit).admit(arrival)
    }
}
