//! A link: a queue, a rate, a delay. Work per packet is constant and needs no event of the link's own.

use crate::queue::{Arrival, Queue, Verdict};
use crate::random::{Stream, probability};
use crate::readings::Readings;
use crate::router::Header;
use crate::trace::Tape;
use firstflight_contract::{Nanos, Rate, mul_div_round};

/// Serialisation times are kept as nanoseconds per byte with this many fractional bits.
const FRACTION: u32 = 24;

/// What became of a packet offered to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It reaches the far end at this time, nanoseconds.
    Arrives(u64),
    /// The same, with its ECN mark set by this link.
    Marked(u64),
    /// The queue had no room for it.
    Dropped,
    /// It was transmitted and lost on the wire.
    LostOnWire,
}

/// What a link counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Packets transmitted.
    pub packets: u64,
    /// Bytes transmitted.
    pub bytes: u64,
    /// Packets the queue refused.
    pub drops: u64,
    /// Packets lost on the wire.
    pub wire_losses: u64,
    /// Packets marked.
    pub marks: u64,
    /// Sum of all waiting times, nanoseconds: divided by the run's length it is the mean queue (Little's law).
    pub waiting_ns: u64,
    /// Packets that waited when the wait was longest.
    pub max_queue: u32,
    /// Packets that wait when the count ends; zero where nothing limits them and nobody reads the link.
    pub waiting: u32,
}

/// Random loss on the wire: each packet on its own.
#[derive(Clone, Debug)]
struct WireLoss {
    probability: u64,
    stream: Stream,
}

/// One direction of a link. What every packet touches fills one cache line; the rest is behind `guard`.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Link {
    free_at: u64,
    packets: u64,
    // Apart from each other, or the compiler adds to both as one vector, at three times the cost.
    ns_per_byte: u64,
    bytes: u64,
    delay: u64,
    waiting_ns: u64,
    /// `None` where nothing can happen to a packet but to wait its turn.
    guard: Option<Box<Guard>>,
}

/// What may refuse, mark or lose a packet, and what must be known for that.
#[derive(Clone, Debug)]
struct Guard {
    /// Behind fewer waiting packets than this a packet is accepted, however many of those have left meanwhile:
    /// then nobody needs to count them. Zero where every packet must be looked at.
    certain: u32,
    longest_wait: u64,
    backlog: Backlog,
    queue: Queue,
    loss: Option<WireLoss>,
    /// What the rate is, where it changes with time.
    tape: Option<Tape>,
    readings: Readings,
    drops: u64,
    wire_losses: u64,
    marks: u64,
    max_queue: u32,
}

impl Link {
    /// A link of this rate and propagation delay behind `queue`. Rates lie between 10 kbit/s and 100 Gbit/s.
    pub fn new(rate: Rate, delay: Nanos, queue: Queue) -> Self {
        let guard = (!matches!(queue, Queue::Unlimited)).then(|| Box::new(Guard::new(queue, None)));
        Self {
            free_at: 0,
            ns_per_byte: mul_div_round(8_000_000_000, 1 << FRACTION, rate.0.max(1)),
            delay: delay.0,
            packets: 0,
            bytes: 0,
            waiting_ns: 0,
            guard,
        }
    }

    /// Loses each packet with probability `p` after its transmission.
    #[must_use]
    pub fn with_loss(mut self, p: f64, stream: Stream) -> Self {
        if p > 0.0 {
            let queue = self.guard.take().map_or(Queue::Unlimited, |guard| guard.queue);
            let loss = WireLoss { probability: probability(p), stream };
            self.guard = Some(Box::new(Guard::new(queue, Some(loss))));
        }
        self
    }

    /// Carries packets as `tape` says, in place of the constant rate.
    #[must_use]
    pub fn with_trace(mut self, tape: Tape) -> Self {
        let guard = self.guard.get_or_insert_with(|| Box::new(Guard::new(Queue::Unlimited, None)));
        guard.tape = Some(tape);
        guard.certain = guard.certainty();
        self
    }

    /// Notes what it has counted by each of these times, nanoseconds, which ascend: see [`Link::readings`].
    #[must_use]
    pub fn with_readings(mut self, times: Vec<u64>) -> Self {
        if !times.is_empty() {
            let guard = self.guard.get_or_insert_with(|| Box::new(Guard::new(Queue::Unlimited, None)));
            guard.readings = Readings::at(times);
            guard.certain = guard.certainty();
        }
        self
    }

    /// Time to put `size` bytes on the wire, nanoseconds, rounded to the nearest.
    #[inline]
    pub fn serialisation(&self, size: u32) -> u64 {
        (u64::from(size) * self.ns_per_byte + (1 << (FRACTION - 1))) >> FRACTION
    }

    /// Propagation delay.
    pub fn delay(&self) -> Nanos {
        Nanos(self.delay)
    }

    /// Offers a packet of `size` bytes at `now`. Arrivals must come in order of time.
    #[inline]
    pub fn offer(&mut self, now: u64, size: u32, ecn_capable: bool) -> Passage {
        match self.pass(now, size) {
            Some(arrival) => Passage::Arrives(arrival),
            None => self.examine(now, size, ecn_capable, &mut Header::None),
        }
    }

    /// The same for a packet that is certain to arrive: `None`, and nothing done, if it is not. Then
    /// [`Link::examine`] is to decide.
    #[inline(always)]
    pub fn pass(&mut self, now: u64, size: u32) -> Option<u64> {
        if let Some(guard) = &mut self.guard {
            if guard.backlog.len >= guard.certain {
                return None;
            }
            guard.wait(now, self.free_at, size);
        }
        Some(self.transmit(now, size))
    }

    /// Transmits a packet that is not refused; returns its arrival at the far end.
    #[inline(always)]
    fn transmit(&mut self, now: u64, size: u32) -> u64 {
        let start = self.free_at.max(now);
        self.occupy(now, start, start + self.serialisation(size), size)
    }

    /// A packet that came at `now` is transmitted from `start` until `end`; returns its arrival at the far end.
    #[inline(always)]
    fn occupy(&mut self, now: u64, start: u64, end: u64, size: u32) -> u64 {
        self.packets += 1;
        self.bytes += u64::from(size);
        self.waiting_ns += start - now;
        self.free_at = end;
        end + self.delay
    }

    /// Asks the queue, and chance, about a packet that [`Link::pass`] did not take. A router's queue may change its
    /// header.
    #[inline(never)]
    pub fn examine(&mut self, now: u64, size: u32, ecn_capable: bool, header: &mut Header) -> Passage {
        if self.guard.as_ref().is_some_and(|guard| guard.readings.due() <= now) {
            self.read(now);
        }
        let Some(guard) = &mut self.guard else { return Passage::Arrives(self.transmit(now, size)) };
        guard.backlog.forget_started(now);
        let arrival = Arrival {
            now,
            free_at: self.free_at,
            waiting_packets: guard.backlog.len,
            waiting_bytes: guard.backlog.bytes,
            size,
            ecn_capable,
        };
        let verdict = guard.queue.admit(&arrival, header);
        if verdict == Verdict::Drop {
            guard.drops += 1;
            return Passage::Dropped;
        }
        guard.wait(now, self.free_at, size);
        match self.send(now, now, size) {
            Passage::Arrives(arrival) if verdict == Verdict::Mark => {
                self.guard.as_mut().expect("it gave the verdict").marks += 1;
                Passage::Marked(arrival)
            }
            passage => passage,
        }
    }

    /// Transmits a packet as soon as the link is free, at `now` or later; it has been there since `since`. It may be
    /// lost on the wire.
    pub(crate) fn send(&mut self, now: u64, since: u64, size: u32) -> Passage {
        let Some(guard) = &mut self.guard else { return Passage::Arrives(self.transmit(now, size)) };
        let mut lost = false;
        if let Some(loss) = &mut guard.loss {
            lost = loss.stream.happens(loss.probability);
        }
        guard.wire_losses += u64::from(lost);
        let arrival = match guard.tape.as_mut().map(|tape| tape.carry(since, size)) {
            None => self.transmit(now, size),
            Some(end) => self.occupy(now, self.free_at.max(now), end, size),
        };
        if lost { Passage::LostOnWire } else { Passage::Arrives(arrival) }
    }

    /// When the transmissions end that are known so far, nanoseconds.
    pub fn free_at(&self) -> u64 {
        self.free_at
    }

    /// What was counted so far, as of `end`: transmissions and waits that lie beyond it are not included.
    pub fn stats_until(&self, end: u64) -> LinkStats {
        let mut stats = LinkStats {
            packets: self.packets,
            bytes: self.bytes,
            waiting_ns: self.waiting_ns,
            ..LinkStats::default()
        };
        let Some(guard) = &self.guard else { return stats };
        for (start, size) in guard.backlog.iter() {
            if start >= end {
                stats.packets -= 1;
                stats.bytes -= u64::from(size);
                // One that came after the end waited less than that, and all of it is left out.
                stats.waiting_ns = stats.waiting_ns.saturating_sub(start - end);
                stats.waiting += 1;
            }
        }
        let Guard { drops, wire_losses, marks, max_queue, .. } = **guard;
        LinkStats { drops, wire_losses, marks, max_queue, ..stats }
    }

    /// What was counted by each time of [`Link::with_readings`], as of `end` where that lies before it.
    pub fn readings(&self, end: u64) -> Vec<LinkStats> {
        let until = |at: u64| self.stats_until(at.min(end));
        self.guard.as_ref().map_or(vec![], |guard| guard.readings.all(until))
    }

    /// Notes what was counted by all times that have come by `now`.
    #[cold]
    #[inline(never)]
    fn read(&mut self, now: u64) {
        while let Some(guard) = &self.guard
            && guard.readings.due() <= now
        {
            let stats = self.stats_until(guard.readings.due());
            let guard = self.guard.as_mut().expect("it has just been there");
            guard.readings.note(stats);
            guard.certain = guard.certainty();
        }
    }

    /// Packets waiting at `now`, which must not lie before the last arrival; zero where nothing limits them and
    /// nobody counts.
    pub fn waiting(&mut self, now: u64) -> u32 {
        let Some(guard) = &mut self.guard else { return 0 };
        guard.backlog.forget_started(now);
        guard.backlog.len
    }
}

impl Guard {
    fn new(queue: Queue, loss: Option<WireLoss>) -> Self {
        let mut guard = Self {
            certain: 0,
            longest_wait: 0,
            backlog: Backlog::new(),
            queue,
            loss,
            tape: None,
            readings: Readings::default(),
            drops: 0,
            wire_losses: 0,
            marks: 0,
            max_queue: 0,
        };
        guard.certain = guard.certainty();
        guard
    }

    /// Behind how many waiting packets the short path may accept one: it knows a constant rate and a limit, but
    /// nothing of chance, traces and readings.
    fn certainty(&self) -> u32 {
        match &self.queue {
            Queue::Packets(queue)
                if self.loss.is_none() && self.tape.is_none() && self.readings.due() == u64::MAX =>
            {
                queue.limit
            }
            _ => 0,
        }
    }

    /// An accepted packet waits until `start`, if that lies ahead.
    #[inline(always)]
    fn wait(&mut self, now: u64, start: u64, size: u32) {
        if start > now {
            self.backlog.push(now, start, size);
            if start - now > self.longest_wait {
                self.on_longest_wait(now, start);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn on_longest_wait(&mut self, now: u64, start: u64) {
        self.longest_wait = start - now;
        self.backlog.forget_started(now);
        self.max_queue = self.max_queue.max(self.backlog.len);
    }
}

/// Service starts of the packets that wait, oldest first: a ring that grows by doubling.
#[derive(Clone, Debug)]
struct Backlog {
    ring: Vec<(u64, u32)>,
    head: u32,
    len: u32,
    bytes: u64,
}

impl Backlog {
    fn new() -> Self {
        Self { ring: vec![(0, 0); 16], head: 0, len: 0, bytes: 0 }
    }

    #[inline]
    fn slot(&self, i: u32) -> usize {
        // The ring's length is a power of two, so the mask keeps every index inside it.
        (self.head.wrapping_add(i) as usize) & (self.ring.len() - 1)
    }

    #[inline]
    fn forget_started(&mut self, now: u64) {
        while self.len > 0 {
            let (start, size) = self.ring[self.slot(0)];
            // What arrives at the instant a transmission ends finds the queue as it was before: ns-2's order of
            // the two, and the one that counts, for ACK-clocked packets arrive at just such instants.
            if start >= now {
                return;
            }
            self.bytes -= u64::from(size);
            self.head = self.head.wrapping_add(1);
            self.len -= 1;
        }
    }

    #[inline(always)]
    fn push(&mut self, now: u64, start: u64, size: u32) {
        if self.len as usize == self.ring.len() {
            self.make_room(now);
        }
        let slot = self.slot(self.len);
        self.ring[slot] = (start, size);
        self.len += 1;
        self.bytes += u64::from(size);
    }

    /// The ring is full: those that have begun by `now` leave it, and it grows if they were few.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, now: u64) {
        self.forget_started(now);
        if self.len as usize > self.ring.len() / 2 {
            let mut ring: Vec<(u64, u32)> = self.iter().collect();
            ring.resize(2 * self.ring.len(), (0, 0));
            self.ring = ring;
            self.head = 0;
        }
    }

    fn iter(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        (0..self.len).map(|i| self.ring[self.slot(i)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::drop_tail::{DropTailBytes, DropTailPackets};

    const MS: u64 = 1_000_000;

    /// 8 Mbit/s: a 1000-byte packet takes 1 ms; 10 ms of propagation.
    fn link(queue: Queue) -> Link {
        Link::new(Rate(8_000_000), Nanos::from_millis(10), queue)
    }

    #[test]
    fn packets_leave_one_after_the_other_and_then_propagate() {
        let mut link = link(Queue::Unlimited);
        assert_eq!(link.offer(0, 1000, false), Passage::Arrives(11 * MS));
        assert_eq!(link.offer(0, 1000, false), Passage::Arrives(12 * MS));
        assert_eq!(link.offer(5 * MS, 500, false), Passage::Arrives(15 * MS + MS / 2));
    }

    #[test]
    fn a_buffer_of_two_holds_two_beside_the_one_in_transmission() {
        let mut link = link(Queue::Packets(DropTailPackets { limit: 2 }));
        let at_once: Vec<_> = (0..4).map(|_| link.offer(0, 1000, false)).collect();
        use Passage::{Arrives, Dropped};
        assert_eq!(at_once, [Arrives(11 * MS), Arrives(12 * MS), Arrives(13 * MS), Dropped]);
        // At 1 ms the first waiting packet enters service: from then on one place is free, for one packet.
        assert_eq!(link.offer(MS, 1000, false), Dropped);
        assert_eq!(link.offer(MS + 1, 1000, false), Arrives(14 * MS));
        assert_eq!(link.offer(MS + 1, 1000, false), Dropped);
        // Waits: 1 + 2 ms, and 2 ms for the one that came after 1 ms.
        let stats = link.stats_until(100 * MS);
        assert_eq!((stats.packets, stats.drops, stats.waiting_ns, stats.max_queue), (4, 3, 5 * MS - 1, 2));
    }

    #[test]
    fn a_buffer_in_bytes_counts_what_waits() {
        let mut link = link(Queue::Bytes(DropTailBytes { limit: 1500 }));
        let at_once: Vec<_> = [1000, 1000, 400, 200, 100].map(|size| link.offer(0, size, false)).to_vec();
        // Waiting: 1000, then 1400; 1400 + 200 > 1500 is dropped, 1400 + 100 fits.
        let dropped: Vec<bool> = at_once.iter().map(|p| *p == Passage::Dropped).collect();
        assert_eq!(dropped, [false, false, false, true, false]);
    }

    #[test]
    fn what_has_not_begun_when_the_run_ends_is_not_counted() {
        let mut link = link(Queue::Packets(DropTailPackets { limit: 10 }));
        for _ in 0..4 {
            link.offer(0, 1000, false);
        }
        // By 1.5 ms two transmissions have begun; the other two have waited 1.5 ms each, the second one 1 ms.
        let stats = link.stats_until(3 * MS / 2);
        assert_eq!((stats.packets, stats.bytes, stats.waiting_ns), (2, 2000, 4 * MS));
        assert_eq!(stats.waiting, 2);
    }

    #[test]
    fn one_packet_in_ten_is_lost_on_the_wire_and_still_uses_it() {
        let mut link = link(Queue::Unlimited).with_loss(0.1, Stream::named(1, "loss"));
        for i in 0..10_000 {
            link.offer(i * MS, 1000, false);
        }
        let stats = link.stats_until(u64::MAX);
        assert_eq!(stats.packets, 10_000);
        // Five standard deviations: 5 * sqrt(1e4 * 0.09) = 150.
        assert!(stats.wire_losses.abs_diff(1000) < 150, "{}", stats.wire_losses);
    }

    #[test]
    fn a_long_backlog_keeps_its_order_while_the_ring_grows() {
        let mut link = link(Queue::Packets(DropTailPackets { limit: 1000 }));
        for i in 0..1000 {
            assert_eq!(link.offer(0, 1000, false), Passage::Arrives((11 + i) * MS));
        }
        // Packet 0 is in service and 999 wait; at 500 ms those that began before are gone.
        assert_eq!(link.waiting(0), 999);
        assert_eq!(link.waiting(500 * MS), 500);
    }
}
