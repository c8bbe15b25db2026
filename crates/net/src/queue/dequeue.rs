//! Dequeue-time queues: disciplines that store their packets because they choose the next packet, or drop
//! one, only when the link is free.

use std::collections::VecDeque;

/// Acknowledgement that a queue can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Everything before this number is acknowledged. Numbers of a flow start again behind the last one.
    pub number: u32,
    /// Whether it reports nothing else: no SACK block and no mark.
    pub is_plain: bool,
}

impl Ack {
    /// Whether it acknowledges more than another one of its flow.
    pub fn exceeds(self, other: Self) -> bool {
        (self.number.wrapping_sub(other.number) as i32) > 0
    }
}

/// A waiting packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<T> {
    /// Arrival time, nanoseconds.
    pub at: u64,
    /// Size on the wire, bytes.
    pub size: u32,
    /// Flow number: one for all packets of one direction of one connection.
    pub flow: u32,
    /// Number of the connection whose data it carries, if it carries data.
    pub data_of: Option<u32>,
    /// Acknowledgement of TCP without data; `None` for all other packets.
    pub ack: Option<Ack>,
    /// Whether the packet may be marked instead of dropped.
    pub ecn_capable: bool,
    /// Whether the sender prefers this packet to be dropped before others.
    pub droppable: bool,
    /// The packet, or the owner's reference to it.
    pub load: T,
}

/// A packet that leaves a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing<T> {
    /// Packet.
    pub item: Item<T>,
    /// Whether its ECN mark must be set.
    pub marked: bool,
}

/// Packets in order of arrival.
#[derive(Clone, Debug)]
pub(super) struct Fifo<T> {
    pub(super) items: VecDeque<Item<T>>,
    pub(super) bytes: u64,
}

impl<T: Copy> Fifo<T> {
    pub(super) fn new() -> Self {
        Self { items: VecDeque::new(), bytes: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn push(&mut self, item: Item<T>) {
        self.bytes += u64::from(item.size);
        self.items.push_back(item);
    }

    pub(super) fn pop(&mut self) -> Option<Item<T>> {
        let item = self.items.pop_front()?;
        self.bytes -= u64::from(item.size);
        Some(item)
    }

    /// Removes the packet at this position.
    pub(super) fn remove(&mut self, place: usize) -> Option<Item<T>> {
        let item = self.items.remove(place)?;
        self.bytes -= u64::from(item.size);
        Some(item)
    }
}
