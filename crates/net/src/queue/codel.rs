//! Controlled delay (CoDel): K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, "Controlled Delay Active Queue
//! Management", RFC 8289, section 5.
//!
//! Once packets have waited longer than `target` throughout an `interval`, CoDel drops a packet at dequeue,
//! then another after each `interval / sqrt(n)`, until a packet has waited less than `target`.

use std::collections::VecDeque;

use super::dequeue::{Fifo, Item, Outgoing};
use super::red::ECN;
use super::settings::{self, Domain, Field, Key};
use super::{Info, Place, QueueConfig, Room, Site};
use firstflight_contract::Nanos;

pub(super) const TARGET: Key = Key::new("target", Domain::Time, "`\"5 ms\"`", "acceptable waiting time");
pub(super) const INTERVAL: Key = Key::new(
    "interval",
    Domain::Time,
    "`\"100 ms\"`",
    "time for which waits must exceed `target`, about a long round trip",
);

/// Description.
pub const INFO: Info = Info::queue(
    "codel",
    "RFC 8289",
    "drops or marks when packets have waited too long throughout an interval",
    &[TARGET, INTERVAL, ECN],
);

/// Controlled delay (RFC 8289).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Acceptable standing waiting time.
    pub target: Nanos,
    /// Time for which waits must exceed `target`.
    pub interval: Nanos,
    /// Packets are marked instead of dropped, except if there is no room.
    pub ecn: bool,
}

impl Settings {
    /// The settings of RFC 8289, section 4.
    pub const STANDARD: Self =
        Self { target: Nanos::from_millis(5), interval: Nanos::from_millis(100), ecn: false };

    /// Parameters of a queue.
    pub(super) fn config(self) -> CodelConfig {
        CodelConfig { target: self.target.0, interval: self.interval.0, ecn: self.ecn }
    }
}

impl settings::Settings for Settings {
    fn usual(_bdp: f64) -> Self {
        Self::STANDARD
    }

    fn fields(&mut self) -> Vec<(&'static str, Field<'_>)> {
        let Self { target, interval, ecn } = self;
        vec![("target", Field::Time(target)), ("interval", Field::Time(interval)), ("ecn", Field::Flag(ecn))]
    }

    fn draws(&self) -> bool {
        false
    }

    fn marks(&self) -> bool {
        self.ecn
    }
}

pub(super) fn configure(settings: &Settings, place: &Place) -> QueueConfig {
    QueueConfig::Codel(settings.config(), place.room)
}

pub(super) fn room(_config: CodelConfig, room: Room) -> Room {
    room
}

pub(super) fn build<T: Copy>(config: CodelConfig, room: Room, _site: &Site<'_>) -> Codel<T> {
    Codel::new(config, room)
}

/// Parameters of CoDel. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelConfig {
    /// Acceptable standing wait.
    pub target: u64,
    /// Time for which a wait must last to count as standing: about the longest usual round trip.
    pub interval: u64,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl CodelConfig {
    /// Section 4: 5 ms and 100 ms.
    pub const STANDARD: Self = Self { target: 5_000_000, interval: 100_000_000, ecn: false };

    /// Section 5, `control_law`: time of the drop that follows the `count`th drop at `t`.
    fn next(&self, t: u64, count: u32) -> u64 {
        t + (self.interval as f64 / f64::from(count).sqrt()).round() as u64
    }
}

/// The law by which packets are dropped or marked, in the order in which they leave a queue (section 5, `dodequeue` and `dequeue`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Law {
    /// Time at which packets will have waited too long throughout an interval.
    first_above: Option<u64>,
    dropping: bool,
    drop_next: u64,
    /// Whether `drop_next` is the time of the last drop: the packet after it decides whether dropping goes on.
    reached: bool,
    /// Drops since dropping began, and the value with which `count` started.
    count: u32,
    last_count: u32,
}

impl Law {
    /// Time, nanoseconds, from which a packet that leaves at `now` is dropped or marked, given all packets before it and their
    /// fates ([`Law::chose`]); `None` if the packet is not. `standing`: it waited for the target or longer, and a queue is left.
    pub fn due(&mut self, config: &CodelConfig, now: u64, standing: bool) -> Option<u64> {
        if !standing {
            (self.first_above, self.dropping) = (None, false);
            return None;
        }
        let first_above = *self.first_above.get_or_insert(now + config.interval);
        self.dropping &= now >= first_above;
        if !self.dropping {
            return Some(first_above);
        }
        self.go_on(config);
        Some(self.drop_next)
    }

    /// A packet that left at `now` was dropped or marked.
    pub fn chose(&mut self, config: &CodelConfig, now: u64) {
        if self.dropping {
            self.count += 1;
            self.reached = true;
            return;
        }
        // Resume near the recent drop rate instead of starting again at one drop per interval.
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now < self.drop_next + 16 * config.interval;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.last_count = self.count;
        self.dropping = true;
        self.drop_next = config.next(now, self.count);
        self.reached = false;
        // A drop that is given may be ahead of its time: the interval is over.
        self.first_above = self.first_above.map(|first| first.min(now));
    }

    /// Sets the time of the drop after the last one.
    fn go_on(&mut self, config: &CodelConfig) {
        if self.reached {
            self.drop_next = config.next(self.drop_next, self.count);
            self.reached = false;
        }
    }
}

/// CoDel state of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    law: Law,
    /// Largest packet seen. A queue of at most this many bytes does not count as a queue (section 5,
    /// `maxpacket`).
    largest: u32,
}

impl State {
    pub(super) fn saw(&mut self, size: u32) {
        self.largest = self.largest.max(size);
    }

    /// Section 5.5: dequeues the first packet at the head of `queue` that is not to be dropped.
    pub(super) fn dequeue<T: Copy>(
        &mut self,
        config: &CodelConfig,
        now: u64,
        queue: &mut Fifo<T>,
        dropped: &mut VecDeque<Item<T>>,
    ) -> Option<Outgoing<T>> {
        loop {
            let item = queue.pop();
            let standing =
                item.is_some_and(|item| now - item.at >= config.target && queue.bytes > self.largest.into());
            let due = self.law.due(config, now, standing);
            let item = item?;
            if due.is_none_or(|due| now < due) {
                return Some(Outgoing { item, marked: false });
            }
            self.law.chose(config, now);
            if config.ecn && item.ecn_capable {
                self.law.go_on(config);
                return Some(Outgoing { item, marked: true });
            }
            dropped.push_back(item);
        }
    }
}

/// One queue managed by CoDel.
#[derive(Clone, Debug)]
pub struct Codel<T> {
    config: CodelConfig,
    room: Room,
    state: State,
    waiting: Fifo<T>,
}

impl<T: Copy> Codel<T> {
    /// Creates an empty queue.
    pub fn new(config: CodelConfig, room: Room) -> Self {
        Self { config, room, state: State::default(), waiting: Fifo::new() }
    }

    pub(super) fn enqueue(&mut self, item: Item<T>, _free_at: u64, _dropped: &mut VecDeque<Item<T>>) -> bool {
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
        Item { at, size: 1000, flow: 0, data_of: None, ack: None, ecn_capable, droppable: false, load: () }
    }

    /// One packet leaves in each millisecond of `times` after `wait` milliseconds in the queue. Returns the
    /// times of drops or marks, milliseconds.
    fn signals(queue: &mut Codel<()>, times: std::ops::Range<u64>, wait: u64) -> Vec<u64> {
        let ecn = queue.config.ecn;
        let mut signals = vec![];
        for ms in times {
            queue.waiting = Fifo::new();
            for _ in 0..10 {
                assert!(queue.enqueue(packet((ms - wait) * MS, ecn), 0, &mut VecDeque::new()));
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

    /// The wait exceeds the target from 10 ms on, so an interval is over at 110 ms. The gaps are 100 /
    /// sqrt(n) ms: 210, 210 + 70.711 = 280.711, + 57.735 = 338.446, + 50 = 388.446, + 44.721 = 433.167, +
    /// 40.825 = 473.992. Packets leave at whole milliseconds.
    const CONTROL_LAW: [u64; 7] = [110, 210, 281, 339, 389, 434, 474];

    #[test]
    fn gaps_between_drops_are_the_interval_over_the_square_root_of_their_count() {
        for ecn in [false, true] {
            let config = CodelConfig { ecn, ..CodelConfig::STANDARD };
            let mut queue = Codel::new(config, Room::Packets(100));
            assert_eq!(signals(&mut queue, 10..500, 6), CONTROL_LAW);
        }
    }

    #[test]
    fn with_given_drops_the_law_is_due_when_the_queue_drops() {
        let config = CodelConfig::STANDARD;
        let mut law = Law::default();
        let mut due = |ms: u64| law.due(&config, ms * MS, true).map(|due| due as f64 / MS as f64);
        assert_eq!((due(10), due(60)), (Some(110.0), Some(110.0)));
        let mut law = Law::default();
        let drops = (10..500).filter(|ms| {
            let due = law.due(&config, ms * MS, true).is_some_and(|due| ms * MS >= due);
            if due {
                law.chose(&config, ms * MS);
            }
            due
        });
        assert_eq!(drops.collect::<Vec<_>>(), CONTROL_LAW);
        assert_eq!(law.due(&config, 500 * MS, false), None);
    }

    #[test]
    fn a_given_drop_ahead_of_its_time_begins_the_intervals() {
        let config = CodelConfig::STANDARD;
        let mut law = Law::default();
        assert_eq!(law.due(&config, 10 * MS, true), Some(110 * MS));
        law.chose(&config, 108 * MS);
        // 108 + 100 ms, then 100 / sqrt(2) = 70.711 ms more.
        assert_eq!(law.due(&config, 109 * MS, true), Some(208 * MS));
        law.chose(&config, 207 * MS);
        assert_eq!(law.due(&config, 208 * MS, true), Some(278_710_678));
    }

    #[test]
    fn one_wait_below_the_target_restarts_the_interval() {
        let mut queue = Codel::new(CodelConfig::STANDARD, Room::Packets(100));
        assert_eq!(signals(&mut queue, 10..109, 6), []);
        assert_eq!(signals(&mut queue, 109..110, 4), []);
        // The interval starts again at 110 ms.
        assert_eq!(signals(&mut queue, 110..220, 6), [210]);
    }

    #[test]
    fn dropping_resumes_near_the_rate_at_which_it_stopped() {
        let mut queue = Codel::new(CodelConfig::STANDARD, Room::Packets(100));
        assert_eq!(signals(&mut queue, 10..500, 6), CONTROL_LAW);
        assert_eq!(signals(&mut queue, 500..600, 4), []);
        // Seven drops, of which the first does not count: dropping resumes with a count of six. 700 + 40.825
        // = 740.825, + 100 / sqrt(7) = 37.796 = 778.621.
        assert_eq!(signals(&mut queue, 600..780, 6), [700, 741, 779]);
        // 16 intervals after the next scheduled drop the old count is forgotten.
        assert_eq!(signals(&mut queue, 780..2500, 4), []);
        assert_eq!(signals(&mut queue, 2500..2800, 6), [2600, 2700, 2771]);
    }

    #[test]
    fn a_queue_of_one_packet_is_never_a_standing_queue() {
        let mut queue = Codel::new(CodelConfig::STANDARD, Room::Packets(100));
        for ms in 100..1000 {
            // Both packets have waited long, but only one packet is left behind the departing one.
            while queue.len() < 2 {
                queue.enqueue(packet((ms - 50) * MS, false), 0, &mut VecDeque::new());
            }
            let mut dropped = VecDeque::new();
            assert!(queue.dequeue(ms * MS, &mut dropped).is_some() && dropped.is_empty());
        }
    }

    #[test]
    fn a_full_queue_drops_arrivals() {
        let mut queue = Codel::new(CodelConfig::STANDARD, Room::Packets(2));
        assert_eq!(
            [0, 1, 2].map(|at| queue.enqueue(packet(at, false), 0, &mut VecDeque::new())),
            [true, true, false]
        );
    }
}
