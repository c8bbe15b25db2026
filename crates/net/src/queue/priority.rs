//! Drop-tail that drops droppable packets first, which TCP Fast Start requires of routers: V. Padmanabhan, R.
//! Katz, "TCP Fast Start: A Technique For Speeding Up Web Transfers", IEEE Globecom Internet Mini-Conference,
//! 1998. Packets leave in order of arrival; the droppable bit affects only the choice of the packet to drop.
//!
//! The last of several droppable packets is dropped first, as in the queue that the scheme's author wrote for
//! ns-2 (`PacketQueue/Semantic` with `priority_drop_`): among themselves, droppable packets meet a drop-tail
//! queue.

use std::collections::VecDeque;

use super::dequeue::{Fifo, Item, Outgoing};
use super::{Info, Place, QueueConfig, Room, Site};

/// Description.
pub const INFO: Info = Info::queue(
    "priority",
    "Padmanabhan, Katz, Globecom Internet Mini-Conference, 1998",
    "drop-tail that drops droppable packets first",
    &[],
);

/// The discipline has no settings.
pub type Settings = ();

pub(super) fn configure(_settings: &Settings, place: &Place) -> QueueConfig {
    QueueConfig::Priority(place.room)
}

pub(super) fn room(room: Room) -> Room {
    room
}

pub(super) fn build<T: Copy>(room: Room, _site: &Site<'_>) -> Priority<T> {
    Priority::new(room)
}

/// A drop-tail queue with two drop priorities.
#[derive(Clone, Debug)]
pub struct Priority<T> {
    room: Room,
    waiting: Fifo<T>,
    /// Number and bytes of the droppable packets among them.
    droppable: usize,
    droppable_bytes: u64,
}

impl<T: Copy> Priority<T> {
    /// Creates an empty queue.
    pub fn new(room: Room) -> Self {
        Self { room, waiting: Fifo::new(), droppable: 0, droppable_bytes: 0 }
    }

    pub(super) fn enqueue(&mut self, item: Item<T>, _free_at: u64, dropped: &mut VecDeque<Item<T>>) -> bool {
        // Packets that may be dropped for this one: none if it is droppable itself.
        let (packets, bytes) = if item.droppable { (0, 0) } else { (self.droppable, self.droppable_bytes) };
        let staying = (self.waiting.len() - packets, self.waiting.bytes - bytes);
        if !self.room.has(staying.0, staying.1, item.size) {
            return false;
        }
        while !self.room.has(self.waiting.len(), self.waiting.bytes, item.size) {
            let last = self.waiting.items.iter().rposition(|item| item.droppable);
            dropped.extend(last.and_then(|place| self.take(place)));
        }
        self.droppable += usize::from(item.droppable);
        self.droppable_bytes += if item.droppable { item.size.into() } else { 0 };
        self.waiting.push(item);
        true
    }

    pub(super) fn dequeue(&mut self, _now: u64, _dropped: &mut VecDeque<Item<T>>) -> Option<Outgoing<T>> {
        self.take(0).map(|item| Outgoing { item, marked: false })
    }

    fn take(&mut self, place: usize) -> Option<Item<T>> {
        let item = self.waiting.remove(place)?;
        if item.droppable {
            self.droppable -= 1;
            self.droppable_bytes -= u64::from(item.size);
        }
        Some(item)
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(load: u32, size: u32, droppable: bool) -> Item<u32> {
        Item { at: 0, size, flow: 0, data_of: None, ack: None, ecn_capable: false, droppable, load }
    }

    /// Offers packets numbered from 0. Returns the dropped ones in order, then the ones that leave.
    fn offer(room: Room, packets: &[(u32, bool)]) -> (Vec<u32>, Vec<u32>) {
        let mut queue = Priority::new(room);
        let (mut lost, mut dropped) = (vec![], VecDeque::new());
        for (number, &(size, droppable)) in (0..).zip(packets) {
            let taken = queue.enqueue(packet(number, size, droppable), 0, &mut dropped);
            lost.extend(dropped.drain(..).map(|item| item.load));
            lost.extend((!taken).then_some(number));
        }
        let left = std::iter::from_fn(|| queue.dequeue(0, &mut dropped)).map(|out| out.item.load).collect();
        assert_eq!((queue.waiting.bytes, queue.droppable, queue.droppable_bytes), (0, 0, 0));
        (lost, left)
    }

    #[test]
    fn a_full_queue_drops_its_last_droppable_packets_before_it_drops_arrivals() {
        let (yes, no) = ((1000, true), (1000, false));
        // Room for three packets: 0, 1 and 2, of which 1 and 2 are droppable. 3 replaces 2, 4 replaces 1, 5
        // is dropped.
        let (lost, left) = offer(Room::Packets(3), &[no, yes, yes, no, no, no]);
        assert_eq!((lost, left), (vec![2, 1, 5], vec![0, 3, 4]));
    }

    #[test]
    fn a_droppable_packet_replaces_no_other() {
        let (lost, left) = offer(Room::Packets(2), &[(1000, true), (1000, false), (1000, true)]);
        assert_eq!((lost, left), (vec![2], vec![0, 1]));
    }

    #[test]
    fn without_droppable_packets_it_is_drop_tail() {
        let (lost, left) = offer(Room::Packets(3), &[(1000, false); 5]);
        assert_eq!((lost, left), (vec![3, 4], vec![0, 1, 2]));
    }

    #[test]
    fn with_a_byte_limit_a_large_packet_replaces_several_small_ones_or_none() {
        let small = (400, true);
        // 1000 + 400 + 400 of 2000 bytes wait. 900 more make 2700: both small packets are dropped, and then
        // 1900 wait.
        let (lost, left) = offer(Room::Bytes(2000), &[(1000, false), small, small, (900, false)]);
        assert_eq!((lost, left), (vec![2, 1], vec![0, 3]));
        // 1100 do not fit even without the small packets, so they stay.
        let (lost, left) = offer(Room::Bytes(2000), &[(1000, false), small, small, (1100, false)]);
        assert_eq!((lost, left), (vec![3], vec![0, 1, 2]));
    }
}
