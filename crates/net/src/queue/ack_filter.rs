//! Drop-tail that drops acknowledgements which a later one of the same flow makes redundant: H. Balakrishnan, V. Padmanabhan, G.
//! Fairhurst, M. Sooriyabandara, RFC 3449 section 5.2.2, 2002. The rule is that of CAKE's aggressive filter (T. Hoeiland-Joergensen, D.
//! Taht, J. Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways", IEEE LANMAN, 2018).
//!
//! When an acknowledgement arrives, the oldest plain one of its flow that acknowledges less is dropped. The new one joins at the end.
//! Duplicates, and acknowledgements with SACK blocks or marks, stay.

use std::collections::VecDeque;

use super::dequeue::{Fifo, Item, Outgoing};
use super::{Info, Place, QueueConfig, Room, Site};

/// Description.
pub const INFO: Info = Info::queue(
    "ack-filter",
    "RFC 3449, section 5.2.2",
    "drop-tail that drops acknowledgements which a later one makes redundant",
    &[],
);

/// The discipline has no settings.
pub type Settings = ();

pub(super) fn configure(_settings: &Settings, place: &Place) -> QueueConfig {
    QueueConfig::AckFilter(place.room)
}

pub(super) fn room(room: Room) -> Room {
    room
}

pub(super) fn build<T: Copy>(room: Room, _site: &Site<'_>) -> AckFilter<T> {
    AckFilter::new(room)
}

/// A drop-tail queue that drops redundant acknowledgements.
#[derive(Clone, Debug)]
pub struct AckFilter<T> {
    room: Room,
    waiting: Fifo<T>,
}

impl<T: Copy> AckFilter<T> {
    /// Creates an empty queue.
    pub fn new(room: Room) -> Self {
        Self { room, waiting: Fifo::new() }
    }

    pub(super) fn enqueue(&mut self, item: Item<T>, _free_at: u64, dropped: &mut VecDeque<Item<T>>) -> bool {
        let redundant = item.ack.and_then(|new| {
            let is_less = |old: &Item<T>| {
                old.flow == item.flow && old.ack.is_some_and(|old| old.is_plain && new.exceeds(old))
            };
            self.waiting.items.iter().position(is_less)
        });
        let (packets, bytes) = redundant.map_or((0, 0), |place| (1, self.waiting.items[place].size.into()));
        if !self.room.has(self.waiting.len() - packets, self.waiting.bytes - bytes, item.size) {
            return false;
        }
        dropped.extend(redundant.and_then(|place| self.waiting.remove(place)));
        self.waiting.push(item);
        true
    }

    pub(super) fn dequeue(&mut self, _now: u64, _dropped: &mut VecDeque<Item<T>>) -> Option<Outgoing<T>> {
        self.waiting.pop().map(|item| Outgoing { item, marked: false })
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::dequeue::Ack;

    const DATA: Option<Ack> = None;

    fn plain(number: u32) -> Option<Ack> {
        Some(Ack { number, is_plain: true })
    }

    fn with_blocks(number: u32) -> Option<Ack> {
        Some(Ack { number, is_plain: false })
    }

    /// Offers packets of 100 bytes, each with its flow, numbered from 0. Returns the dropped ones in order, then those that leave.
    fn offer(room: Room, packets: &[(u32, Option<Ack>)]) -> (Vec<u32>, Vec<u32>) {
        let mut queue = AckFilter::new(room);
        let (mut lost, mut dropped) = (vec![], VecDeque::new());
        for (load, &(flow, ack)) in (0..).zip(packets) {
            let (ecn_capable, droppable) = (false, false);
            let item = Item { at: 0, size: 100, flow, data_of: None, ack, ecn_capable, droppable, load };
            let taken = queue.enqueue(item, 0, &mut dropped);
            lost.extend(dropped.drain(..).map(|item| item.load));
            lost.extend((!taken).then_some(load));
        }
        let left = std::iter::from_fn(|| queue.dequeue(0, &mut dropped)).map(|out| out.item.load).collect();
        assert_eq!(queue.waiting.bytes, 0);
        (lost, left)
    }

    #[test]
    fn the_newest_acknowledgement_of_each_flow_stays() {
        let packets =
            [(1, plain(10)), (2, plain(90)), (1, plain(12)), (1, DATA), (1, plain(14)), (2, plain(91))];
        // 2 replaces 0, 4 replaces 2, and 5 replaces 1 of the other flow.
        assert_eq!(offer(Room::Packets(9), &packets), (vec![0, 2, 1], vec![3, 4, 5]));
    }

    #[test]
    fn duplicates_and_acknowledgements_with_blocks_stay() {
        // 1 and 2 acknowledge no more than 0. 3 has blocks: 0 is redundant behind it. 4 acknowledges more: of 1, 2 and 3 the oldest
        // plain one is redundant. 5 drops the next one, and 3 stays.
        let packets = [
            (1, plain(10)),
            (1, plain(10)),
            (1, plain(10)),
            (1, with_blocks(11)),
            (1, plain(12)),
            (1, plain(13)),
        ];
        assert_eq!(offer(Room::Packets(9), &packets), (vec![0, 1, 2], vec![3, 4, 5]));
    }

    #[test]
    fn numbers_start_again_behind_the_last_one() {
        let packets = [(1, plain(u32::MAX)), (1, plain(3)), (1, plain(u32::MAX - 5))];
        assert_eq!(offer(Room::Packets(9), &packets), (vec![0], vec![1, 2]));
    }

    #[test]
    fn a_full_queue_takes_an_acknowledgement_for_one_that_leaves_and_drops_other_arrivals() {
        // Room for two packets: 2 finds none, 3 takes the place of 1.
        let packets = [(1, DATA), (1, plain(10)), (1, DATA), (1, plain(11)), (2, plain(5))];
        assert_eq!(offer(Room::Packets(2), &packets), (vec![2, 1, 4], vec![0, 3]));
        assert_eq!(offer(Room::Bytes(200), &packets), (vec![2, 1, 4], vec![0, 3]));
    }
}
