//! Controlled delay: K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, "Controlled Delay Active Queue Management", RFC
//! 8289, section 5. When packets have waited longer than `target` throughout an `interval`, one is dropped as it is about
//! to leave, and then another each `interval / sqrt(n)`, until a packet has waited less.

use std::collections::VecDeque;

use super::Room;
use super::held::{Fifo, Item, Outgoing};

/// Parameters of CoDel. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelConfig {
    /// The standing wait that is acceptable.
    pub target: u64,
    /// How long a wait must last to be a standing one: about the longest usual round trip.
    pub interval: u64,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl CodelConfig {
    /// Section 4: 5 ms and 100 ms.
    pub const STANDARD: Self = Self { target: 5_000_000, interval: 100_000_000, ecn: false };

    /// Section 5, `control_law`: the drop after the `count`th at `t`.
    fn next(&self, t: u64, count: u32) -> u64 {
        t + (self.interval as f64 / f64::from(count).sqrt()).round() as u64
    }
}

/// What CoDel remembers of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    /// When packets will have waited too long throughout an interval.
    first_above: Option<u64>,
    dropping: bool,
    drop_next: u64,
    /// Drops since dropping began, and what it began with.
    count: u32,
    last_count: u32,
    /// The largest packet seen: a queue of no more than that is none (section 5, `maxpacket`).
    largest: u32,
}

impl State {
    pub(super) fn saw(&mut self, size: u32) {
        self.largest = self.largest.max(size);
    }

    /// Section 5.5: the packet at the head of `queue`, or the first behind it that is not to be dropped.
    pub(super) fn dequeue<T: Copy>(
        &mut self,
        config: &CodelConfig,
        now: u64,
        queue: &mut Fifo<T>,
        dropped: &mut VecDeque<Item<T>>,
    ) -> Option<Outgoing<T>> {
        let (mut item, over) = self.take(config, now, queue);
        let marks = |item: &Item<T>| config.ecn && item.ecn_capable;
        if self.dropping {
            self.dropping = over;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                if let Some(item) = item.filter(marks) {
                    self.drop_next = config.next(self.drop_next, self.count);
                    return Some(Outgoing { item, marked: true });
                }
                dropped.extend(item);
                (item, self.dropping) = self.take(config, now, queue);
                if self.dropping {
                    self.drop_next = config.next(self.drop_next, self.count);
                }
            }
        } else if over {
            // A rate of drops that was right a short while ago is a better beginning than one per interval.
            let delta = self.count.saturating_sub(self.last_count);
            let recent = now < self.drop_next + 16 * config.interval;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.last_count = self.count;
            self.dropping = true;
            self.drop_next = config.next(now, self.count);
            if let Some(item) = item.filter(marks) {
                return Some(Outgoing { item, marked: true });
            }
            dropped.extend(item);
            (item, _) = self.take(config, now, queue);
        }
        item.map(|item| Outgoing { item, marked: false })
    }

    /// Section 5, `dodequeue`: the next packet, and whether packets have waited too long for an interval.
    fn take<T: Copy>(
        &mut self,
        config: &CodelConfig,
        now: u64,
        queue: &mut Fifo<T>,
    ) -> (Option<Item<T>>, bool) {
        let Some(item) = queue.pop() else {
            self.first_above = None;
            return (None, false);
        };
        if now - item.at < config.target || queue.bytes <= self.largest.into() {
            self.first_above = None;
            return (Some(item), false);
        }
        let first_above = *self.first_above.get_or_insert(now + config.interval);
        (Some(item), now >= first_above)
    }
}

/// One queue under CoDel.
#[derive(Clone, Debug)]
pub struct Codel<T> {
    config: CodelConfig,
    room: Room,
    state: State,
    waiting: Fifo<T>,
}

impl<T: Copy> Codel<T> {
    /// An empty queue.
    pub fn new(config: CodelConfig, room: Room) -> Self {
        Self { config, room, state: State::default(), waiting: Fifo::new() }
    }

    pub(super) fn enqueue(&mut self, item: Item<T>) -> bool {
        let fits = self.room.has(self.waiting.len(), self.waiting.bytes, item.size);
        if fits {
            self.state.saw(item.size);
            self.waiting.push(item);
        }
        fits
    }

    pub(super) fn dequeue(&mut self, now: u64, dropped: &mut VecDeque<Item<T>>) -> Option<Outgoing<T>> {
        self.state.dequeue(&self.config, now, &mut self.waiting, dropped)
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn packet(at: u64, ecn_capable: bool) -> Item<()> {
        Item { at, size: 1000, flow: 0, ecn_capable, droppable: false, load: () }
    }

    /// A packet leaves each millisecond of `times`, each with the wait that `wait` says; when packets were dropped or
    /// marked, milliseconds.
    fn signals(queue: &mut Codel<()>, times: std::ops::Range<u64>, wait: u64) -> Vec<u64> {
        let ecn = queue.config.ecn;
        let mut signals = vec![];
        for ms in times {
            queue.waiting = Fifo::new();
            for _ in 0..10 {
                assert!(queue.enqueue(packet((ms - wait) * MS, ecn)));
            }
            let mut dropped = VecDeque::new();
            let out = queue.dequeue(ms * MS, &mut dropped).expect("ten wait");
            assert!(dropped.len() <= 1);
            if out.marked || dropped.len() == 1 {
                signals.push(ms);
            }
        }
        signals
    }

    /// Above the target from 10 ms on: at 110 ms an interval is over. Then 100 / sqrt(n) ms from one to the next: 210, and
    /// with 70.711 more 280.711, with 57.735 more 338.446, with 50 more 388.446, with 44.721 more 433.167, with 40.825 more
    /// 473.992; a packet leaves at each whole millisecond.
    const CONTROL_LAW: [u64; 7] = [110, 210, 281, 339, 389, 434, 474];

    #[test]
    fn drops_follow_each_other_by_the_interval_over_the_root_of_their_number() {
        for ecn in [false, true] {
            let config = CodelConfig { ecn, ..CodelConfig::STANDARD };
            let mut queue = Codel::new(config, Room::Packets(100));
            assert_eq!(signals(&mut queue, 10..500, 6), CONTROL_LAW);
        }
    }

    #[test]
    fn a_wait_below_the_target_at_any_moment_of_an_interval_is_no_standing_queue() {
        let mut queue = Codel::new(CodelConfig::STANDARD, Room::Packets(100));
        assert_eq!(signals(&mut queue, 10..109, 6), []);
        assert_eq!(signals(&mut queue, 109..110, 4), []);
        // The interval begins anew at 110 ms.
        assert_eq!(signals(&mut queue, 110..220, 6), [210]);
    }

    #[test]
    fn dropping_resumes_near_the_rate_at_which_it_stopped() {
        let mut queue = Codel::new(CodelConfig::STANDARD, Room::Packets(100));
        assert_eq!(signals(&mut queue, 10..500, 6), CONTROL_LAW);
        assert_eq!(signals(&mut queue, 500..600, 4), []);
        // Seven drops, the first not counted: it resumes with the sixth. 700 + 40.825 = 740.825, + 100 / sqrt(7) = 37.796
        // = 778.621.
        assert_eq!(signals(&mut queue, 600..780, 6), [700, 741, 779]);
        // 16 intervals after the drop that would have been next all is forgotten.
        assert_eq!(signals(&mut queue, 780..2500, 4), []);
        assert_eq!(signals(&mut queue, 2500..2800, 6), [2600, 2700, 2771]);
    }

    #[test]
    fn a_queue_of_one_packet_is_none() {
        let mut queue = Codel::new(CodelConfig::STANDARD, Room::Packets(100));
        for ms in 100..1000 {
            // Both have waited long, but behind the one that leaves there is one packet only.
            while queue.len() < 2 {
                queue.enqueue(packet((ms - 50) * MS, false));
            }
            let mut dropped = VecDeque::new();
            assert!(queue.dequeue(ms * MS, &mut dropped).is_some() && dropped.is_empty());
        }
    }

    #[test]
    fn a_full_queue_refuses() {
        let mut queue = Codel::new(CodelConfig::STANDARD, Room::Packets(2));
        assert_eq!([0, 1, 2].map(|at| queue.enqueue(packet(at, false))), [true, true, false]);
    }
}
