//! Hooks for whoever wants to see every packet: traces, audits, plots. Off, they cost nothing.

use crate::packet::{self, Blocks};
use crate::sender::Sender;
use firstflight_net::link::Passage;

/// A packet as an observer sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The flow, or the UDP source where `kind` says so.
    pub flow: u32,
    /// Data: the segment. ACK: the next segment expected.
    pub seq: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// What it is.
    pub kind: Kind,
    /// The flags it carries here: [`packet::ECT`] and those after it.
    pub flags: u64,
    /// ACK: what lies beyond `seq` and has arrived, `[start, end)`; an empty block ends the list.
    pub blocks: Blocks,
}

impl Seen {
    /// A data segment with the word of its size and flags.
    pub(crate) fn data(flow: u32, seq: u32, low: u64) -> Self {
        let size = (low & packet::SIZE_MASK) as u32;
        let flags = low & (packet::FLAGS | packet::DROPPABLE);
        Self { flow, seq, size, kind: Kind::Data, flags, blocks: Blocks::default() }
    }

    /// An ACK with the two words of its SACK blocks.
    pub(crate) fn ack(flow: u32, seq: u32, size: u32, (low, high): (u64, u64)) -> Self {
        let blocks = packet::unpack_blocks(seq, low, high);
        Self { flow, seq, size, kind: Kind::Ack, flags: low & packet::FLAGS, blocks }
    }

    /// A datagram of this source.
    pub(crate) fn udp(source: u32, size: u32) -> Self {
        Self { flow: source, seq: u32::MAX, size, kind: Kind::Udp, flags: 0, blocks: Blocks::default() }
    }
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A data segment, or a SYN where `seq` is `u32::MAX`.
    Data,
    /// An ACK.
    Ack,
    /// A datagram.
    Udp,
}

/// Sees what happens. Calls come in each component's own order of time, not in one global order: every call
/// says when.
pub trait Observer {
    /// Whether anything is observed at all.
    const ON: bool;
    /// A packet leaves an endpoint.
    fn sent(&mut self, _at: u64, _packet: Seen, _retransmission: bool) {}
    /// A packet is offered to a link.
    fn offered(&mut self, _at: u64, _link: u32, _packet: Seen, _passage: Passage) {}
    /// A packet joins the queue of a link that decides later what becomes of it.
    fn queued(&mut self, _at: u64, _link: u32, _packet: Seen) {}
    /// A packet that joined such a queue at `since` leaves it, by one way or another.
    fn left(&mut self, _at: u64, _link: u32, _packet: Seen, _since: u64, _passage: Passage) {}
    /// A packet reaches an endpoint.
    fn arrived(&mut self, _at: u64, _packet: Seen) {}
    /// A sender has acted at `at`.
    fn acted(&mut self, _at: u64, _flow: u32, _sender: &Sender) {}
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Observer for Nobody {
    const ON: bool = false;
}
