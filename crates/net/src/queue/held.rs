//! Disciplines that keep their packets: which one leaves next, and whether it leaves at all, is known only when the
//! link is free.

use std::collections::VecDeque;

use super::choke::Choke;
use super::codel::Codel;
use super::fq_codel::FqCodel;
use super::priority::Priority;

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<T> {
    /// When it came, nanoseconds.
    pub at: u64,
    /// Its size on the wire, bytes.
    pub size: u32,
    /// What it belongs to: one number for all packets of one direction of one connection.
    pub flow: u32,
    /// Whether it may be marked instead of dropped.
    pub ecn_capable: bool,
    /// Whether its sender would have it dropped before others.
    pub droppable: bool,
    /// The packet itself, or how its owner finds it.
    pub load: T,
}

/// What leaves a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing<T> {
    /// The packet.
    pub item: Item<T>,
    /// Whether its ECN mark is to be set.
    pub marked: bool,
}

/// The disciplines that keep their packets.
#[derive(Clone, Debug)]
pub enum HeldQueue<T> {
    /// First in, first out; the droppable are dropped first.
    Priority(Priority<T>),
    /// RED before which flows meet themselves.
    Choke(Box<Choke<T>>),
    /// Controlled delay.
    Codel(Codel<T>),
    /// Flow queues under controlled delay.
    FqCodel(Box<FqCodel<T>>),
}

impl<T: Copy> HeldQueue<T> {
    /// Takes a packet in, and says whether it did; the link is or was free at `free_at`. Packets that had to go for it
    /// are added to `dropped`.
    pub(crate) fn enqueue(&mut self, item: Item<T>, free_at: u64, dropped: &mut VecDeque<Item<T>>) -> bool {
        match self {
            Self::Priority(queue) => queue.enqueue(item, dropped),
            Self::Choke(queue) => queue.enqueue(item, free_at, dropped),
            Self::Codel(queue) => queue.enqueue(item),
            Self::FqCodel(queue) => queue.enqueue(item, dropped),
        }
    }

    /// The packet that leaves at `now`; those that are dropped instead are added to `dropped`.
    pub(crate) fn dequeue(&mut self, now: u64, dropped: &mut VecDeque<Item<T>>) -> Option<Outgoing<T>> {
        match self {
            Self::Priority(queue) => queue.dequeue().map(|item| Outgoing { item, marked: false }),
            Self::Choke(queue) => queue.dequeue().map(|(item, marked)| Outgoing { item, marked }),
            Self::Codel(queue) => queue.dequeue(now, dropped),
            Self::FqCodel(queue) => queue.dequeue(now, dropped),
        }
    }

    /// How many packets wait.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Priority(queue) => queue.len(),
            Self::Choke(queue) => queue.len(),
            Self::Codel(queue) => queue.len(),
            Self::FqCodel(queue) => queue.len(),
        }
    }
}

/// Packets in the order in which they came.
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

    /// Takes out the packet of this place.
    pub(super) fn remove(&mut self, place: usize) -> Option<Item<T>> {
        let item = self.items.remove(place)?;
        self.bytes -= u64::from(item.size);
        Some(item)
    }
}
