//! Arrival of a packet at a link, and the decision on it.

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
    #[inline]
    pub(crate) fn admit(self, arrival: &Arrival) -> Verdict {
        let full = match self {
            Self::Packets(limit) => arrival.waiting_packets >= limit,
            Self::Bytes(limit) => arrival.waiting_bytes + u64::from(arrival.size) > limit,
        };
        match full && arrival.free_at > arrival.now {
            true => Verdict::Drop,
            false => Verdict::Accept,
        }
    }
}
