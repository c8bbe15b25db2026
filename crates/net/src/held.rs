//! A link whose queue keeps its packets: unlike [`crate::link::Link`] it must be called when it is free.

use std::collections::VecDeque;

use crate::link::{Link, LinkStats, Passage};
use crate::queue::held::{HeldQueue, Item};
use crate::readings::Readings;

/// One direction of a link with a discipline that decides when the link is free.
#[derive(Clone, Debug)]
pub struct HeldLink<T> {
    /// What carries the packets, one after the other; nothing ever waits there.
    line: Link,
    queue: HeldQueue<T>,
    dropped: VecDeque<Item<T>>,
    drops: u64,
    marks: u64,
    waiting_ns: u64,
    /// Until when the waiting is counted.
    counted_at: u64,
    max_queue: u32,
    readings: Readings,
}

/// What came of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer<T> {
    /// Whether the packet joined the queue.
    pub taken: bool,
    /// What leaves at once, for the link was idle.
    pub departure: Option<Departure<T>>,
}

/// A packet that has left the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure<T> {
    /// The packet.
    pub item: Item<T>,
    /// What became of it: it arrives, with a mark or without, or is lost on the wire.
    pub passage: Passage,
}

impl<T: Copy> HeldLink<T> {
    /// Puts `queue` in front of `line`, which has no queue of its own.
    pub fn new(line: Link, queue: HeldQueue<T>) -> Self {
        Self {
            line,
            queue,
            dropped: VecDeque::new(),
            drops: 0,
            marks: 0,
            waiting_ns: 0,
            counted_at: 0,
            max_queue: 0,
            readings: Readings::default(),
        }
    }

    /// Notes what it has counted by each of these times, nanoseconds, which ascend: see [`HeldLink::readings`].
    #[must_use]
    pub fn with_readings(mut self, times: Vec<u64>) -> Self {
        self.readings = Readings::at(times);
        self
    }

    /// Offers a packet at its time, no earlier than whatever was done before. Others may be dropped for it: see
    /// [`HeldLink::take_dropped`].
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

    /// When [`HeldLink::depart`] is to be called; packets that come at that very instant come first, as in [`Link`].
    /// `None` while nothing waits.
    pub fn due(&self) -> Option<u64> {
        (self.queue.len() > 0).then(|| self.line.free_at())
    }

    /// The link, free by `now`, takes the next packet, if the queue lets any go.
    pub fn depart(&mut self, now: u64) -> Option<Departure<T>> {
        debug_assert!(self.line.free_at() <= now);
        self.count(now);
        let before = self.dropped.len();
        let out = self.queue.dequeue(now, &mut self.dropped);
        self.drops += (self.dropped.len() - before) as u64;
        let out = out?;
        let mut passage = self.line.send(now, out.item.at, out.item.size);
        if let (true, Passage::Arrives(arrival)) = (out.marked, passage) {
            self.marks += 1;
            passage = Passage::Marked(arrival);
        }
        Some(Departure { item: out.item, passage })
    }

    /// A packet that the last calls dropped from the queue, the first one first.
    pub fn take_dropped(&mut self) -> Option<Item<T>> {
        self.dropped.pop_front()
    }

    /// What was counted so far, as of `end`.
    pub fn stats_until(&self, end: u64) -> LinkStats {
        let since_counted = end.saturating_sub(self.counted_at);
        LinkStats {
            drops: self.drops,
            marks: self.marks,
            waiting_ns: self.waiting_ns + self.queue.len() as u64 * since_counted,
            max_queue: self.max_queue,
            waiting: self.queue.len() as u32,
            ..self.line.stats_until(end)
        }
    }

    /// What was counted by each time of [`HeldLink::with_readings`], as of `end` where that lies before it.
    pub fn readings(&self, end: u64) -> Vec<LinkStats> {
        self.readings.all(|at| self.stats_until(at.min(end)))
    }

    fn count(&mut self, now: u64) {
        while self.readings.due() <= now {
            let stats = self.stats_until(self.readings.due());
            self.readings.note(stats);
        }
        self.waiting_ns += self.queue.len() as u64 * (now - self.counted_at);
        self.counted_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::drop_tail::DropTailPackets;
    use crate::queue::priority::Priority;
    use crate::queue::{Queue, Room};
    use crate::random::Stream;
    use crate::trace::{Tape, Trace};
    use firstflight_contract::{Nanos, Rate};
    use std::sync::Arc;

    const MS: u64 = 1_000_000;

    fn line() -> Link {
        Link::new(Rate(8_000_000), Nanos::from_millis(10), Queue::Unlimited)
    }

    fn packet(at: u64, load: u32) -> Item<u32> {
        Item { at, size: 1000, flow: 0, ecn_capable: false, droppable: false, load }
    }

    fn held(line: Link, limit: u32) -> HeldLink<u32> {
        HeldLink::new(line, HeldQueue::Priority(Priority::new(Room::Packets(limit))))
    }

    /// Offers packets of 1000 bytes at these times and lets the link work between them; what became of each.
    fn run(link: &mut HeldLink<u32>, times: &[u64]) -> Vec<Passage> {
        let mut fates = vec![Passage::Dropped; times.len()];
        let mut tell = |out: Option<Departure<u32>>| {
            if let Some(out) = out {
                fates[out.item.load as usize] = out.passage;
            }
        };
        for (number, &at) in (0..).zip(times) {
            while let Some(due) = link.due().filter(|&due| due < at) {
                tell(link.depart(due));
            }
            tell(link.offer(packet(at, number)).departure);
        }
        while let Some(due) = link.due() {
            tell(link.depart(due));
        }
        fates
    }

    /// Arrivals in bunches and gaps, now faster and now slower than the link, and some at the very instant when a
    /// transmission ends.
    fn times() -> Vec<u64> {
        (0..500_u64)
            .map(|i| (i * i % 7 + i - i % 5) * MS / 2)
            .scan(0, |at, t| {
                *at = t.max(*at);
                Some(*at)
            })
            .collect()
    }

    /// What a link of the first kind makes of the same packets.
    fn reference(mut line: Link, times: &[u64]) -> (Vec<Passage>, LinkStats) {
        let fates = times.iter().map(|&at| line.offer(at, 1000, false)).collect();
        (fates, line.stats_until(u64::MAX))
    }

    #[test]
    fn first_in_first_out_is_what_a_link_does_that_needs_no_call() {
        let times = times();
        for limit in [1, 5, 1000] {
            let drop_tail = Queue::Packets(DropTailPackets { limit });
            let link = Link::new(Rate(8_000_000), Nanos::from_millis(10), drop_tail);
            let (fates, stats) = reference(link, &times);
            let mut link = held(line(), limit);
            assert_eq!(run(&mut link, &times), fates);
            assert_eq!(link.stats_until(u64::MAX), stats);
            assert_eq!(stats.drops > 0, limit < 1000);
        }
    }

    #[test]
    fn on_a_link_whose_rate_changes_as_well_and_with_losses_on_the_wire() {
        // Nothing comes at the very instant of an opportunity, where those before it have left one link and not yet the
        // other.
        let times: Vec<u64> = times().into_iter().map(|at| at + 1).collect();
        let rates =
            Trace::rates(vec![(0, 12_000_000), (9 * MS, 0), (20 * MS, 3_000_000), (70 * MS, 9_000_000)]);
        for trace in [rates, Trace::opportunities(vec![MS, MS, 4 * MS])] {
            let trace = Arc::new(trace);
            let build = |queue| {
                let link = Link::new(Rate(8_000_000), Nanos::from_millis(10), queue);
                link.with_loss(0.1, Stream::named(1, "loss")).with_trace(Tape::new(Arc::clone(&trace)))
            };
            let (fates, stats) = reference(build(Queue::Packets(DropTailPackets { limit: 4 })), &times);
            let mut link = held(build(Queue::Unlimited), 4);
            assert_eq!(run(&mut link, &times), fates);
            assert_eq!(link.stats_until(u64::MAX), stats);
            assert!(stats.drops > 0 && stats.wire_losses > 0);
        }
    }

    #[test]
    fn what_still_waits_at_the_end_has_waited_until_then() {
        let mut link = held(line(), 10);
        for number in 0..4 {
            link.offer(packet(0, number));
        }
        assert_eq!(link.due(), Some(MS));
        link.depart(MS);
        // By 1.5 ms the second has waited 1 ms, the third and fourth 1.5 ms each.
        let stats = link.stats_until(3 * MS / 2);
        assert_eq!((stats.packets, stats.bytes, stats.waiting_ns, stats.max_queue), (2, 2000, 4 * MS, 3));
    }
}
