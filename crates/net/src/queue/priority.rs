//! Drop-tail that drops droppable packets first, as TCP Fast Start asks of routers: V. Padmanabhan, R. Katz, "TCP Fast
//! Start: A Technique For Speeding Up Web Transfers", IEEE Globecom Internet Mini-Conference, 1998. Packets leave in the
//! order in which they came, whatever they are: only who is dropped differs.
//!
//! Of several droppable packets the last to come goes, as in the queue that the scheme's author wrote for ns-2
//! (`PacketQueue/Semantic` with `priority_drop_`): among themselves the droppable meet a drop-tail queue.

use std::collections::VecDeque;

use super::Room;
use super::held::{Fifo, Item};

/// A drop-tail queue with two levels of protection.
#[derive(Clone, Debug)]
pub struct Priority<T> {
    room: Room,
    waiting: Fifo<T>,
    /// How many of them are droppable, and their bytes.
    droppable: usize,
    droppable_bytes: u64,
}

impl<T: Copy> Priority<T> {
    /// An empty queue.
    pub fn new(room: Room) -> Self {
        Self { room, waiting: Fifo::new(), droppable: 0, droppable_bytes: 0 }
    }

    pub(super) fn enqueue(&mut self, item: Item<T>, dropped: &mut VecDeque<Item<T>>) -> bool {
        // What may go for this packet: nothing for one that is droppable itself.
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

    pub(super) fn dequeue(&mut self) -> Option<Item<T>> {
        self.take(0)
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
        Item { at: 0, size, flow: 0, ecn_capable: false, droppable, load }
    }

    /// Offers packets numbered from 0; those refused or pushed out in that order, and then those that leave.
    fn offer(room: Room, packets: &[(u32, bool)]) -> (Vec<u32>, Vec<u32>) {
        let mut queue = Priority::new(room);
        let (mut lost, mut dropped) = (vec![], VecDeque::new());
        for (number, &(size, droppable)) in (0..).zip(packets) {
            let taken = queue.enqueue(packet(number, size, droppable), &mut dropped);
            lost.extend(dropped.drain(..).map(|item| item.load));
            lost.extend((!taken).then_some(number));
        }
        let left = std::iter::from_fn(|| queue.dequeue()).map(|item| item.load).collect();
        assert_eq!((queue.waiting.bytes, queue.droppable, queue.droppable_bytes), (0, 0, 0));
        (lost, left)
    }

    #[test]
    fn a_full_queue_gives_up_its_last_droppable_packets_and_then_refuses() {
        let (yes, no) = ((1000, true), (1000, false));
        // Three places: 0, 1 and 2, of which 1 and 2 are droppable. 3 pushes out 2, 4 pushes out 1, 5 finds nothing.
        let (lost, left) = offer(Room::Packets(3), &[no, yes, yes, no, no, no]);
        assert_eq!((lost, left), (vec![2, 1, 5], vec![0, 3, 4]));
    }

    #[test]
    fn a_droppable_packet_pushes_nobody_out() {
        let (lost, left) = offer(Room::Packets(2), &[(1000, true), (1000, false), (1000, true)]);
        assert_eq!((lost, left), (vec![2], vec![0, 1]));
    }

    #[test]
    fn without_droppable_packets_it_is_drop_tail() {
        let (lost, left) = offer(Room::Packets(3), &[(1000, false); 5]);
        assert_eq!((lost, left), (vec![3, 4], vec![0, 1, 2]));
    }

    #[test]
    fn in_bytes_a_large_packet_pushes_out_several_small_ones_or_none() {
        let small = (400, true);
        // 1000 + 400 + 400 wait of 2000. 900 bytes more make 2700: both small ones must go, and then 1900 wait.
        let (lost, left) = offer(Room::Bytes(2000), &[(1000, false), small, small, (900, false)]);
        assert_eq!((lost, left), (vec![2, 1], vec![0, 3]));
        // 1100 do not fit even without them: they stay.
        let (lost, left) = offer(Room::Bytes(2000), &[(1000, false), small, small, (1100, false)]);
        assert_eq!((lost, left), (vec![3], vec![0, 1, 2]));
    }
}
