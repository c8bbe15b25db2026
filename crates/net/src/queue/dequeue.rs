//! Dequeue-time queues: disciplines that store their packets because they choose the next packet, or drop
//! one, only when the link is free.

use std::collections::VecDeque;

use super::choke::Choke;
use super::codel::Codel;
use super::fq_codel::FqCodel;
use super::priority::Priority;

/// A waiting packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<T> {
    /// Arrival time, nanoseconds.
    pub at: u64,
    /// Size on the wire, bytes.
    pub size: u32,
    /// Flow number: one for all packets of one direction of one connection.
    pub flow: u32,
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

/// The disciplines that decide at dequeue time.
#[derive(Clone, Debug)]
pub enum DequeueQueue<T> {
    /// First in, first out; droppable packets are dropped first.
    Priority(Priority<T>),
    /// RED preceded by a comparison with a random queued packet.
    Choke(Box<Choke<T>>),
    /// Controlled delay.
    Codel(Codel<T>),
    /// Flow queues with CoDel.
    FqCodel(Box<FqCodel<T>>),
}

impl<T: Copy> DequeueQueue<T> {
    /// Offers a packet and returns whether it joined the queue. The link is or was free at `free_at`. Packets
    /// dropped to make room are appended to `dropped`.
    pub(crate) fn enqueue(&mut self, item: Item<T>, free_at: u64, dropped: &mut VecDeque<Item<T>>) -> bool {
        match self {
            Self::Priority(queue) => queue.enqueue(item, dropped),
            Self::Choke(queue) => queue.enqueue(item, free_at, dropped),
            Self::Codel(queue) => queue.enqueue(item),
            Self::FqCodel(queue) => queue.enqueue(item, dropped),
        }
    }

    /// Packet that leaves at `now`; packets dropped instead are appended to `dropped`.
    pub(crate) fn dequeue(&mut self, now: u64, dropped: &mut VecDeque<Item<T>>) -> Option<Outgoing<T>> {
        match self {
            Self::Priority(queue) => queue.dequeue().map(|item| Outgoing { item, marked: false }),
            Self::Choke(queue) => queue.dequeue().map(|(item, marked)| Outgoing { item, marked }),
            Self::Codel(queue) => queue.dequeue(now, dropped),
            Self::FqCodel(queue) => queue.dequeue(now, dropped),
        }
    }

    /// Number of waiting packets.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Priority(queue) => queue.len(),
            Self::Choke(queue) => queue.len(),
            Self::Codel(queue) => queue.len(),
            Self::FqCodel(queue) => queue.len(),
        }
    }
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
