//! A link with a dequeue-time queue. The caller must run [`DequeueLink::depart`] whenever the link becomes
//! free; a plain [`crate::link::Link`] needs no such call.

use std::collections::VecDeque;

use crate::link::{Link, Passage};
use crate::queue::DequeueQueue;
use crate::queue::dequeue::Item;
use crate::readings::LinkStats;
use crate::readings::Readings;
use firstflight_contract::Sum;

/// One direction of a link whose queue decides at dequeue time.
#[derive(Clone, Debug)]
pub struct DequeueLink<T> {
    /// Transmits the packets one after the other; no packet waits here.
    line: Link,
    queue: DequeueQueue<T>,
    dropped: VecDeque<Item<T>>,
    drops: u64,
    marks: u64,
    waiting_ns: Sum,
    /// Time up to which `waiting_ns` is counted, nanoseconds.
    counted_at: u64,
    max_queue: u32,
    readings: Readings,
}

/// Result of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer<T> {
    /// Whether the packet joined the queue.
    pub taken: bool,
    /// Packet that leaves at once because the link was idle.
    pub departure: Option<Departure<T>>,
}

/// A packet that has left the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure<T> {
    /// The packet.
    pub item: Item<T>,
    /// Outcome: the packet arrives, with or without a mark, or is lost on the wire.
    pub passage: Passage,
}

impl<T: Copy> DequeueLink<T> {
    /// Puts `queue` in front of `line`.
    ///
    /// # Panics
    /// If `line` has a queue or a shaper of its own, which no packet would meet.
    pub fn new(line: Link, queue: DequeueQueue<T>) -> Self {
        assert!(!line.makes_wait(), "a line behind a queue has no other queue and no shaper");
        Self {
            line,
            queue,
            dropped: VecDeque::new(),
            drops: 0,
            marks: 0,
            waiting_ns: Sum::default(),
            counted_at: 0,
            max_queue: 0,
            readings: Readings::default(),
        }
    }

    /// Records the counters at each of these ascending times, nanoseconds; see [`DequeueLink::readings`].
    #[must_use]
    pub fn with_readings(mut self, times: Vec<u64>) -> Self {
        self.readings = Readings::at(times);
        self
    }

    /// Offers a packet at time `item.at`, which must not precede any earlier call. The queue may drop other
    /// packets to make room; see [`DequeueLink::take_dropped`].
    pub fn offer(&mut self, item: Item<T>) -> Offer<T> {
        self.count(item.at);
        let free_at = self.line.free_at();
        let idle = free_at <= item.at && self.queue.len() == 0;
        let before = self.dropped.len();
        let taken = self.queue.enqueue(item, free_at, &mut self.dropped);
        self.drops += (self.dropped.len() - before) as u64 + u64::from(!taken);
        if idle {
            return Offer { taken, departure: self.depart(item.at) };
        }
        self.max_queue = self.max_queue.max(self.queue.len() as u32);
        Offer { taken, departure: None }
    }

    /// Time at which [`DequeueLink::depart`] is due, nanoseconds; `None` if no packet waits. A packet that
    /// arrives at exactly this time is offered first, as in [`Link`].
    pub fn due(&self) -> Option<u64> {
        (self.queue.len() > 0).then(|| self.line.free_at())
    }

    /// End of the last transmission, nanoseconds.
    pub fn free_at(&self) -> u64 {
        self.line.free_at()
    }

    /// Whether the packet that left last took the slower of two lanes; see [`Link::with_lanes`].
    pub fn took_slow_lane(&self) -> bool {
        self.line.took_slow_lane()
    }

    /// Sends the next packet, if the queue releases one. The link must be free by `now`.
    pub fn depart(&mut self, now: u64) -> Option<Departure<T>> {
        debug_assert!(self.line.free_at() <= now);
        self.count(now);
        let before = self.dropped.len();
        let out = self.queue.dequeue(now, &mut self.dropped);
        self.drops += (self.dropped.len() - before) as u64;
        let out = out?;
        let mut passage = self.line.send(out.item.at, out.item.size, out.item.data_of);
        if let (true, Passage::Arrives(arrival)) = (out.marked, passage) {
            self.marks += 1;
            passage = Passage::Marked(arrival);
        }
        Some(Departure { item: out.item, passage })
    }

    /// Next packet dropped from the queue by earlier calls, oldest first.
    pub fn take_dropped(&mut self) -> Option<Item<T>> {
        self.dropped.pop_front()
    }

    /// Counters as of `end`.
    pub fn stats_until(&self, end: u64) -> LinkStats {
        let mut waiting_ns = self.waiting_ns;
        waiting_ns.add_product(self.queue.len() as u64, end.saturating_sub(self.counted_at));
        LinkStats {
            drops: self.drops,
            marks: self.marks,
            waiting_ns,
            max_queue: self.max_queue,
            waiting: self.queue.len() as u32,
            ..self.line.stats_until(end)
        }
    }

    /// Counters at each time of [`DequeueLink::with_readings`], or at `end` if that is earlier.
    pub fn readings(&self, end: u64) -> Vec<LinkStats> {
        self.readings.all(|at| self.stats_until(at.min(end)))
    }

    fn count(&mut self, now: u64) {
        while self.readings.due() <= now {
            let stats = self.stats_until(self.readings.due());
            self.readings.note(stats);
        }
        self.waiting_ns.add_product(self.queue.len() as u64, now - self.counted_at);
        self.counted_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::drop_tail::DropTailPackets;
    use crate::queue::priority::Priority;
    use crate::queue::{Queue, Room};
    use crate::rate_trace::{RateTrace, TracePlayer};
    use firstflight_contract::{Nanos, Rate};
    use firstflight_random::Stream;
    use std::sync::Arc;

    const MS: u64 = 1_000_000;

    fn line() -> Link {
        Link::new(Rate(8_000_000), Nanos::from_millis(10), Queue::Unlimited)
    }

    fn packet(at: u64, load: u32) -> Item<u32> {
        Item { at, size: 1000, flow: 0, data_of: None, ack: None, ecn_capable: false, droppable: false, load }
    }

    fn dequeue_link(line: Link, limit: u32) -> DequeueLink<u32> {
        DequeueLink::new(line, DequeueQueue::Priority(Box::new(Priority::new(Room::Packets(limit)))))
    }

    /// Offers packets of 1000 bytes at these times and runs the link in between; returns the outcome of each
    /// packet.
    fn run(link: &mut DequeueLink<u32>, times: &[u64]) -> Vec<Passage> {
        let mut fates = vec![Passage::Dropped; times.len()];
        let mut record = |out: Option<Departure<u32>>| {
            if let Some(out) = out {
                fates[out.item.load as usize] = out.passage;
            }
        };
        for (number, &at) in (0..).zip(times) {
            while let Some(due) = link.due().filter(|&due| due < at) {
                record(link.depart(due));
            }
            record(link.offer(packet(at, number)).departure);
        }
        while let Some(due) = link.due() {
            record(link.depart(due));
        }
        fates
    }

    /// Arrival times in bunches with gaps, sometimes faster and sometimes slower than the link; some coincide
    /// with the end of a transmission.
    fn times() -> Vec<u64> {
        (0..500_u64)
            .map(|i| (i * i % 7 + i - i % 5) * MS / 2)
            .scan(0, |at, t| {
                *at = t.max(*at);
                Some(*at)
            })
            .collect()
    }

    /// Outcomes and counters of a plain [`Link`] for the same packets.
    fn reference(mut line: Link, times: &[u64]) -> (Vec<Passage>, LinkStats) {
        let fates = times.iter().map(|&at| line.offer(at, 1000, false)).collect();
        (fates, line.stats_until(u64::MAX))
    }

    #[test]
    fn a_dequeue_time_fifo_matches_a_plain_drop_tail_link() {
        let times = times();
        for limit in [1, 5, 1000] {
            let drop_tail = Queue::Packets(DropTailPackets { limit });
            let link = Link::new(Rate(8_000_000), Nanos::from_millis(10), drop_tail);
            let (fates, stats) = reference(link, &times);
            let mut link = dequeue_link(line(), limit);
            assert_eq!(run(&mut link, &times), fates);
            assert_eq!(link.stats_until(u64::MAX), stats);
            assert_eq!(stats.drops > 0, limit < 1000);
        }
    }

    #[test]
    fn a_dequeue_time_fifo_matches_drop_tail_on_a_traced_link_with_wire_loss() {
        // No packet arrives exactly at an opportunity: at that instant the packets before it have left one of
        // the two links but not yet the other.
        let times: Vec<u64> = times().into_iter().map(|at| at + 1).collect();
        let rates =
            RateTrace::rates(vec![(0, 12_000_000), (9 * MS, 0), (20 * MS, 3_000_000), (70 * MS, 9_000_000)]);
        for trace in [rates, RateTrace::opportunities(vec![MS, MS, 4 * MS])] {
            let trace = Arc::new(trace);
            let build = |queue| {
                let link = Link::new(Rate(8_000_000), Nanos::from_millis(10), queue);
                link.with_loss(0.1, 1.0, Stream::named(1, "loss"))
                    .with_trace(TracePlayer::new(Arc::clone(&trace)))
            };
            let (fates, stats) = reference(build(Queue::Packets(DropTailPackets { limit: 4 })), &times);
            let mut link = dequeue_link(build(Queue::Unlimited), 4);
            assert_eq!(run(&mut link, &times), fates);
            assert_eq!(link.stats_until(u64::MAX), stats);
            assert!(stats.drops > 0 && stats.wire_losses > 0);
        }
    }

    #[test]
    fn packets_still_queued_at_the_end_count_their_wait_up_to_the_end() {
        let mut link = dequeue_link(line(), 10);
        for number in 0..4 {
            link.offer(packet(0, number));
        }
        assert_eq!(link.due(), Some(MS));
        link.depart(MS);
        // At 1.5 ms the second packet has waited 1 ms, the third and fourth 1.5 ms each.
        let stats = link.stats_until(3 * MS / 2);
        assert_eq!(
            (stats.packets, stats.bytes, stats.waiting_ns, stats.max_queue),
            (2, 2000, (4 * MS).into(), 3)
        );
    }
}
