//! CHOKe: R. Pan, B. Prabhakar, K. Psounis, "CHOKe, a stateless active queue management scheme for
//! approximating fair bandwidth allocation", IEEE INFOCOM 2000, section II.
//!
//! RED preceded by one comparison: while the average queue is above `min`, an arriving packet is compared
//! with a random packet from the queue, and both are dropped if they belong to the same flow. Flows that fill
//! the queue are hit most often.

use std::collections::VecDeque;

use super::dequeue::{Fifo, Item, Outgoing};
pub use super::red::Settings;
pub(super) use super::red::room;
use super::red::{self, Red, RedConfig};
use super::{Arrival, Info, Place, QueueConfig, Site, Verdict};
use firstflight_random::Stream;

/// Description.
pub const INFO: Info = Info::queue(
    "choke",
    "Pan, Prabhakar, Psounis, INFOCOM 2000, section II",
    "RED; an arrival of the same flow as a random queued packet is dropped with it",
    &[red::MIN, red::MAX, red::WEIGHT, red::MAX_P, red::GENTLE, red::ECN],
);

pub(super) fn configure(settings: &Settings, place: &Place) -> QueueConfig {
    QueueConfig::Choke(red::config(settings, place))
}

pub(super) fn build<T: Copy>(config: RedConfig, site: &Site<'_>) -> Choke<T> {
    Choke::new(config, (site.stream)("red"), (site.stream)("choke"))
}

/// A CHOKe queue.
#[derive(Clone, Debug)]
pub struct Choke<T> {
    red: Red,
    min: f64,
    /// Random stream that selects the packets to compare with.
    draws: Stream,
    /// Waiting packets, and for each whether it leaves with a mark.
    waiting: Fifo<T>,
    marked: VecDeque<bool>,
}

impl<T: Copy> Choke<T> {
    /// Creates an empty queue. RED draws from `stream`, comparisons from `draws`.
    pub fn new(config: RedConfig, stream: Stream, draws: Stream) -> Self {
        let red = Red::new(config, stream);
        Self { red, min: config.min, draws, waiting: Fifo::new(), marked: VecDeque::new() }
    }

    pub(super) fn enqueue(&mut self, item: Item<T>, free_at: u64, dropped: &mut VecDeque<Item<T>>) -> bool {
        let arrival = Arrival {
            now: item.at,
            free_at,
            waiting_packets: self.waiting.len() as u32,
            waiting_bytes: self.waiting.bytes,
            size: item.size,
            ecn_capable: item.ecn_capable,
        };
        self.red.sample(&arrival);
        if self.red.average() > self.min && self.waiting.len() > 0 {
            let place = (self.draws.unit() * self.waiting.len() as f64) as usize;
            if self.waiting.items[place].flow == item.flow {
                dropped.extend(self.waiting.remove(place));
                self.marked.remove(place);
                return false;
            }
        }
        let verdict = self.red.decide(&arrival);
        if verdict != Verdict::Drop {
            self.waiting.push(item);
            self.marked.push_back(verdict == Verdict::Mark);
        }
        verdict != Verdict::Drop
    }

    pub(super) fn dequeue(&mut self, _now: u64, _dropped: &mut VecDeque<Item<T>>) -> Option<Outgoing<T>> {
        Some(Outgoing { item: self.waiting.pop()?, marked: self.marked.pop_front()? })
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a weight of 1 the average equals the queue. RED itself drops practically nothing below 1000
    /// packets.
    const CONFIG: RedConfig = RedConfig {
        min: 3.0,
        max: 1000.0,
        weight: 1.0,
        max_p: 1e-9,
        gentle: true,
        ecn: false,
        wait: false,
        limit: 2000,
        mean_bytes: None,
        typical_ns: 1000,
    };

    fn choke() -> Choke<u32> {
        Choke::new(CONFIG, Stream::named(1, "red"), Stream::named(1, "choke"))
    }

    fn offer(queue: &mut Choke<u32>, flow: u32, load: u32) -> (bool, Vec<u32>) {
        let mut dropped = VecDeque::new();
        let item = Item {
            at: 1000,
            size: 1000,
            flow,
            data_of: None,
            ack: None,
            ecn_capable: false,
            droppable: false,
            load,
        };
        let taken = queue.enqueue(item, 2000, &mut dropped);
        (taken, dropped.iter().map(|item| item.load).collect())
    }

    #[test]
    fn above_min_an_arrival_and_the_matching_packet_of_its_flow_are_both_dropped() {
        let mut queue = choke();
        // No comparison up to `min`, even if all packets belong to one flow.
        for load in 0..4 {
            assert_eq!(offer(&mut queue, 1, load), (true, vec![]));
        }
        let (taken, dropped) = offer(&mut queue, 1, 4);
        assert!(!taken && dropped.len() == 1 && dropped[0] < 4);
        // Three packets are left, which is not above `min`.
        assert_eq!(offer(&mut queue, 1, 5), (true, vec![]));
        let rest: Vec<u32> =
            std::iter::from_fn(|| queue.dequeue(0, &mut VecDeque::new())).map(|out| out.item.load).collect();
        let expected: Vec<u32> = (0..4).filter(|load| *load != dropped[0]).chain([5]).collect();
        assert_eq!(rest, expected);
    }

    #[test]
    fn packets_of_another_flow_are_accepted() {
        let mut queue = choke();
        for load in 0..4 {
            offer(&mut queue, 1, load);
        }
        for flow in 2..100 {
            assert_eq!(offer(&mut queue, flow, flow), (true, vec![]));
        }
    }

    #[test]
    fn a_flow_is_hit_in_proportion_to_its_share_of_the_queue() {
        // Three of ten packets belong to flow 1. Five standard deviations: 5 * sqrt(20 000 * 0.3 * 0.7) =
        // 324.
        let mut full = choke();
        (0..10).for_each(|load| {
            full.waiting.push(Item {
                at: 0,
                data_of: None,
                ack: None,
                size: 1000,
                flow: u32::from(load < 3),
                ecn_capable: false,
                droppable: false,
                load,
            })
        });
        full.marked = vec![false; 10].into();
        let mut met: u32 = 0;
        for _ in 0..20_000 {
            let mut queue = Choke { draws: full.draws.clone(), ..full.clone() };
            met += u32::from(!offer(&mut queue, 1, 10).0);
            full.draws = queue.draws;
        }
        assert!(met.abs_diff(6000) < 324, "{met}");
    }
}
