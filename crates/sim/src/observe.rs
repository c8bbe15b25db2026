//! Observer hooks for every packet: traces, audits, plots. An inactive observer costs nothing.

use crate::packet::{self, Blocks};
use crate::sender::Sender;
use firstflight_net::link::Passage;

/// A packet as reported to an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Flow number, or UDP source number if `kind` is [`Kind::Udp`].
    pub flow: u32,
    /// Data: segment number. ACK: next expected segment.
    pub seq: u32,
    /// Size on the wire, bytes.
    pub size: u32,
    /// Data segment that leaves its sender: data of the application in it, bytes. Zero everywhere else.
    pub payload: u32,
    /// Kind of packet.
    pub kind: Kind,
    /// Flags at this point of the path: [`packet::ECT`] and the flags after it.
    pub flags: u64,
    /// ACK: SACK blocks `[start, end)`; an empty block ends the list.
    pub blocks: Blocks,
    /// ACK that arrives: the window that it offers, segments. Zero everywhere else.
    pub offered: u32,
}

impl Seen {
    /// Whether a packet of data carries any. A datagram of QUIC need not.
    pub fn carries_data(&self) -> bool {
        packet::carries_data(self.flags)
    }

    /// Data segment with the word that holds its size and flags.
    pub(crate) fn data(flow: u32, seq: u32, low: u64) -> Self {
        let size = (low & packet::SIZE_MASK) as u32;
        let control = packet::control(!packet::carries_data(low));
        let flags = low & (packet::FLAGS | packet::DROPPABLE) | control;
        let blocks = Blocks::default();
        Self { flow, seq, size, payload: 0, kind: Kind::Data, flags, blocks, offered: 0 }
    }

    /// ACK with the two words that hold its SACK blocks.
    pub(crate) fn ack(flow: u32, seq: u32, size: u32, (low, high): (u64, u64)) -> Self {
        let blocks = packet::unpack_blocks(seq, low, high);
        Self { flow, seq, size, payload: 0, kind: Kind::Ack, flags: low & packet::FLAGS, blocks, offered: 0 }
    }

    /// Datagram of this UDP source.
    pub(crate) fn udp(source: u32, size: u32) -> Self {
        Self {
            flow: source,
            seq: u32::MAX,
            size,
            payload: 0,
            kind: Kind::Udp,
            flags: 0,
            blocks: Blocks::default(),
            offered: 0,
        }
    }
}

/// Kind of packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A data segment, or a SYN if `seq` is `u32::MAX`.
    Data,
    /// An ACK.
    Ack,
    /// A datagram.
    Udp,
}

/// Receives the events of a run. Calls come in the order of time of each component, not in one global order;
/// every call carries its time, nanoseconds.
pub trait Observer {
    /// Whether events are observed at all.
    const ON: bool;
    /// A packet leaves an endpoint.
    fn sent(&mut self, _at: u64, _packet: Seen, _retransmission: bool) {}
    /// A packet is offered to a link.
    fn offered(&mut self, _at: u64, _link: u32, _packet: Seen, _passage: Passage) {}
    /// A packet joins a dequeue-time queue.
    fn queued(&mut self, _at: u64, _link: u32, _packet: Seen) {}
    /// A packet that joined a dequeue-time queue at `since` leaves it or is dropped from it.
    fn left(&mut self, _at: u64, _link: u32, _packet: Seen, _since: u64, _passage: Passage) {}
    /// A packet reaches an endpoint.
    fn arrived(&mut self, _at: u64, _packet: Seen) {}
    /// A sender has processed an event.
    fn acted(&mut self, _at: u64, _flow: u32, _sender: &Sender) {}
    /// Whether the observer has no room for more: the run then stops, and its outcome is that of a part.
    fn is_full(&self) -> bool {
        false
    }
}

/// An observer that need not be there.
impl<O: Observer> Observer for Option<O> {
    const ON: bool = O::ON;

    fn sent(&mut self, at: u64, packet: Seen, retransmission: bool) {
        self.iter_mut().for_each(|one| one.sent(at, packet, retransmission));
    }

    fn offered(&mut self, at: u64, link: u32, packet: Seen, passage: Passage) {
        self.iter_mut().for_each(|one| one.offered(at, link, packet, passage));
    }

    fn queued(&mut self, at: u64, link: u32, packet: Seen) {
        self.iter_mut().for_each(|one| one.queued(at, link, packet));
    }

    fn left(&mut self, at: u64, link: u32, packet: Seen, since: u64, passage: Passage) {
        self.iter_mut().for_each(|one| one.left(at, link, packet, since, passage));
    }

    fn arrived(&mut self, at: u64, packet: Seen) {
        self.iter_mut().for_each(|one| one.arrived(at, packet));
    }

    fn acted(&mut self, at: u64, flow: u32, sender: &Sender) {
        self.iter_mut().for_each(|one| one.acted(at, flow, sender));
    }

    fn is_full(&self) -> bool {
        self.as_ref().is_some_and(O::is_full)
    }
}

/// Two observers of the same run.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const ON: bool = A::ON || B::ON;

    fn sent(&mut self, at: u64, packet: Seen, retransmission: bool) {
        self.0.sent(at, packet, retransmission);
        self.1.sent(at, packet, retransmission);
    }

    fn offered(&mut self, at: u64, link: u32, packet: Seen, passage: Passage) {
        self.0.offered(at, link, packet, passage);
        self.1.offered(at, link, packet, passage);
    }

    fn queued(&mut self, at: u64, link: u32, packet: Seen) {
        self.0.queued(at, link, packet);
        self.1.queued(at, link, packet);
    }

    fn left(&mut self, at: u64, link: u32, packet: Seen, since: u64, passage: Passage) {
        self.0.left(at, link, packet, since, passage);
        self.1.left(at, link, packet, since, passage);
    }

    fn arrived(&mut self, at: u64, packet: Seen) {
        self.0.arrived(at, packet);
        self.1.arrived(at, packet);
    }

    fn acted(&mut self, at: u64, flow: u32, sender: &Sender) {
        self.0.acted(at, flow, sender);
        self.1.acted(at, flow, sender);
    }

    fn is_full(&self) -> bool {
        self.0.is_full() || self.1.is_full()
    }
}

/// Observer that ignores every event.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    const ON: bool = false;
}
