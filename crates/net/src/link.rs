//! One direction of a link: a queue, a rate and a propagation delay. The work per packet is constant, and a
//! link schedules no events of its own.

use crate::lanes::Lanes;
use crate::queue::{Arrival, Queue, Verdict};
use crate::random::Stream;
use crate::rate_trace::TracePlayer;
use crate::readings::Readings;
use crate::router::Header;
use crate::serialisation::{LATEST, Serialisation};
use crate::shaper::Shaper;
use crate::two_state::TwoState;
use firstflight_contract::{Nanos, Rate, Sum};

/// Outcome of offering a packet to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// The packet reaches the far end at this time, nanoseconds.
    Arrives(u64),
    /// As `Arrives`, with the ECN mark set by this link.
    Marked(u64),
    /// The queue dropped the packet.
    Dropped,
    /// The packet was transmitted and lost on the wire.
    LostOnWire,
}

/// Counters of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Packets transmitted.
    pub packets: u64,
    /// Bytes transmitted.
    pub bytes: u64,
    /// Packets dropped by the queue.
    pub drops: u64,
    /// Packets lost on the wire.
    pub wire_losses: u64,
    /// Packets marked.
    pub marks: u64,
    /// Sum of all waiting times, nanoseconds; zero on an unlimited link without readings. Divided by the length of the run
    /// it is the mean queue (Little's law).
    pub waiting_ns: Sum,
    /// End of the last transmission counted, nanoseconds.
    pub busy_until: u64,
    /// Most packets that waited at once; zero on an unlimited link without readings.
    pub max_queue: u32,
    /// Packets waiting when the count ends; zero on an unlimited link without readings.
    pub waiting: u32,
}

/// One direction of a link. The fields that every packet touches fill one cache line; all others are behind
/// `guard`.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Link {
    free_at: u64,
    packets: u64,
    // Not adjacent: next to each other the compiler adds to both as one vector, at three times the cost.
    serialisation: Serialisation,
    bytes: u64,
    delay: u64,
    /// `None` if packets can neither be dropped, marked nor lost, and only wait their turn.
    guard: Option<Box<Guard>>,
}

/// State needed to drop, mark or lose a packet.
#[derive(Clone, Debug)]
struct Guard {
    /// A packet is accepted unseen if fewer packets than this are queued, counting packets that have started
    /// service since: the queue then need not be updated. Zero if every packet must be examined.
    certain: u32,
    waiting_ns: Sum,
    backlog: Backlog,
    queue: Queue,
    loss: Option<TwoState>,
    /// Time-varying rate, if the link follows a trace.
    player: Option<TracePlayer>,
    /// Token bucket, aggregation or policer between the queue and the line, if the link has one.
    shaper: Option<Box<Shaper>>,
    /// Lanes behind the line, if packets overtake each other.
    lanes: Option<Box<Lanes>>,
    readings: Readings,
    drops: u64,
    wire_losses: u64,
    marks: u64,
    max_queue: u32,
}

impl Link {
    /// Creates a link of this rate and propagation delay behind `queue`. Rates lie between 1 bit/s and 100 Tbit/s.
    pub fn new(rate: Rate, delay: Nanos, queue: Queue) -> Self {
        let guard = (!matches!(queue, Queue::Unlimited)).then(|| Box::new(Guard::new(queue, None)));
        Self {
            free_at: 0,
            serialisation: Serialisation::at(rate),
            delay: delay.0,
            packets: 0,
            bytes: 0,
            guard,
        }
    }

    /// Loses packets after their transmission: the share `mean`, in runs of `burst` packets in the mean; see
    /// [`TwoState::new`].
    #[must_use]
    pub fn with_loss(mut self, mean: f64, burst: f64, stream: Stream) -> Self {
        if mean > 0.0 {
            let queue = self.guard.take().map_or(Queue::Unlimited, |guard| guard.queue);
            let loss = TwoState::new(mean, burst, stream);
            self.guard = Some(Box::new(Guard::new(queue, Some(loss))));
        }
        self
    }

    /// Replaces the constant rate by a recorded one.
    #[must_use]
    pub fn with_trace(mut self, player: TracePlayer) -> Self {
        let guard = self.guard.get_or_insert_with(|| Box::new(Guard::new(Queue::Unlimited, None)));
        guard.player = Some(player);
        guard.certain = guard.certainty();
        self
    }

    /// Lets packets of the queue wait for the tokens of `shaper`. The queue must decide on arrival.
    #[must_use]
    pub fn with_shaper(mut self, shaper: Shaper) -> Self {
        let guard = self.guard.get_or_insert_with(|| Box::new(Guard::new(Queue::Unlimited, None)));
        guard.shaper = Some(Box::new(shaper));
        guard.certain = guard.certainty();
        self
    }

    /// Lets packets take `lanes` behind the line, so that they may overtake each other.
    #[must_use]
    pub fn with_lanes(mut self, lanes: Lanes) -> Self {
        let guard = self.guard.get_or_insert_with(|| Box::new(Guard::new(Queue::Unlimited, None)));
        guard.lanes = Some(Box::new(lanes));
        guard.certain = guard.certainty();
        self
    }

    /// Whether the last packet that was transmitted took the slower lane. Packets of one lane arrive in order.
    pub fn took_slow_lane(&self) -> bool {
        self.guard.as_ref().and_then(|guard| guard.lanes.as_ref()).is_some_and(|lanes| lanes.is_slow())
    }

    /// Records the counters at each of these ascending times, nanoseconds; see [`Link::readings`].
    #[must_use]
    pub fn with_readings(mut self, times: Vec<u64>) -> Self {
        if !times.is_empty() {
            let guard = self.guard.get_or_insert_with(|| Box::new(Guard::new(Queue::Unlimited, None)));
            guard.readings = Readings::at(times);
            guard.certain = guard.certainty();
        }
        self
    }

    /// Propagation delay.
    pub fn delay(&self) -> Nanos {
        Nanos(self.delay)
    }

    /// Offers a packet of `size` bytes at `now`. Calls must be in order of time.
    #[inline]
    pub fn offer(&mut self, now: u64, size: u32, ecn_capable: bool) -> Passage {
        match self.pass(now, size) {
            Some(arrival) => Passage::Arrives(arrival),
            None => self.examine(now, size, ecn_capable, &mut Header::None),
        }
    }

    /// Short path: accepts a packet that is certain to arrive and returns its arrival time. Otherwise returns
    /// `None` and changes nothing; [`Link::examine`] must then decide.
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

    /// Transmits an accepted packet that came at `now`; returns its arrival at the far end.
    #[inline(always)]
    fn transmit(&mut self, now: u64, size: u32) -> u64 {
        let end = self.serialisation.end(now, self.free_at, size);
        self.occupy(end, size)
    }

    /// Counts a packet whose transmission ends at `end`; returns its arrival at the far end.
    #[inline(always)]
    fn occupy(&mut self, end: u64, size: u32) -> u64 {
        self.packets += 1;
        self.bytes += u64::from(size);
        self.free_at = end;
        end + self.delay
    }

    /// Full path for a packet that [`Link::pass`] did not accept: asks the queue and the loss process. A
    /// router may change the header.
    #[inline(never)]
    pub fn examine(&mut self, now: u64, size: u32, ecn_capable: bool, header: &mut Header) -> Passage {
        if self.guard.as_ref().is_some_and(|guard| guard.readings.due() <= now) {
            self.read(now);
        }
        let Some(guard) = &mut self.guard else { return Passage::Arrives(self.transmit(now, size)) };
        guard.backlog.forget_started(now);
        let idle_from = self.free_at.max(now);
        let start = match &mut guard.shaper {
            None => Some(idle_from),
            Some(shaper) => shaper.start(idle_from, size),
        };
        let Some(start) = start else {
            guard.drops += 1;
            return Passage::Dropped;
        };
        let arrival = Arrival {
            now,
            // A packet that waits for tokens finds the link as busy as one that waits for a transmission.
            free_at: if start > now { start } else { self.free_at },
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
        guard.wait(now, start, size);
        if let Some(shaper) = &mut guard.shaper {
            shaper.take(start, size);
        }
        // To the line, a packet comes when it has its tokens.
        match self.send(if start > idle_from { start } else { now }, size) {
            Passage::Arrives(arrival) if verdict == Verdict::Mark => {
                self.guard.as_mut().expect("the guard gave the verdict").marks += 1;
                Passage::Marked(arrival)
            }
            passage => passage,
        }
    }

    /// Transmits a packet that came at `since` as soon as the link is free. The packet may be lost on the wire, or take the
    /// slower of two lanes.
    pub(crate) fn send(&mut self, since: u64, size: u32) -> Passage {
        let Some(guard) = &mut self.guard else { return Passage::Arrives(self.transmit(since, size)) };
        let mut lost = false;
        if let Some(loss) = &mut guard.loss {
            lost = loss.takes_next();
        }
        guard.wire_losses += u64::from(lost);
        let longer = guard.lanes.as_mut().map_or(0, |lanes| lanes.take());
        let arrival = match guard.player.as_mut().map(|player| player.carry(since, size)) {
            None => self.transmit(since, size),
            Some(end) => self.occupy(end.min(LATEST), size),
        };
        if lost { Passage::LostOnWire } else { Passage::Arrives(arrival + longer) }
    }

    /// End of the last scheduled transmission, nanoseconds.
    pub fn free_at(&self) -> u64 {
        self.free_at
    }

    /// Counters as of `end`, without transmissions and waits beyond it. Of the transmissions that begin at `end`, those of
    /// packets that arrive then and need not wait are counted.
    pub fn stats_until(&self, end: u64) -> LinkStats {
        let mut stats = LinkStats {
            packets: self.packets,
            bytes: self.bytes,
            busy_until: self.free_at,
            ..LinkStats::default()
        };
        let Some(guard) = &self.guard else { return stats };
        stats.waiting_ns = guard.waiting_ns;
        for (start, size) in guard.backlog.iter().filter(|(start, _)| *start >= end) {
            stats.packets -= 1;
            stats.bytes -= u64::from(size);
            // A packet that arrived after `end` waited for less than this; its whole wait is left out.
            stats.waiting_ns.subtract(start - end);
            stats.waiting += 1;
            stats.busy_until = stats.busy_until.min(start);
        }
        let Guard { drops, wire_losses, marks, max_queue, .. } = **guard;
        LinkStats { drops, wire_losses, marks, max_queue, ..stats }
    }

    /// Counters at each time of [`Link::with_readings`], or at `end` if that is earlier.
    pub fn readings(&self, end: u64) -> Vec<LinkStats> {
        let until = |at: u64| self.stats_until(at.min(end));
        self.guard.as_ref().map_or(vec![], |guard| guard.readings.all(until))
    }

    /// Records the counters for every reading due by `now`.
    #[cold]
    #[inline(never)]
    fn read(&mut self, now: u64) {
        while let Some(guard) = &self.guard
            && guard.readings.due() <= now
        {
            let stats = self.stats_until(guard.readings.due());
            let guard = self.guard.as_mut().expect("the loop condition matched it");
            guard.readings.note(stats);
            guard.certain = guard.certainty();
        }
    }

    /// Packets waiting at `now`, which must not precede the last arrival; zero on an unlimited link without
    /// readings.
    pub fn waiting(&mut self, now: u64) -> u32 {
        let Some(guard) = &mut self.guard else { return 0 };
        guard.backlog.forget_started(now);
        guard.backlog.len
    }
}

impl Guard {
    fn new(queue: Queue, loss: Option<TwoState>) -> Self {
        let mut guard = Self {
            certain: 0,
            waiting_ns: Sum::default(),
            backlog: Backlog::new(),
            queue,
            loss,
            player: None,
            shaper: None,
            lanes: None,
            readings: Readings::default(),
            drops: 0,
            wire_losses: 0,
            marks: 0,
            max_queue: 0,
        };
        guard.certain = guard.certainty();
        guard
    }

    /// Number of waiting packets below which [`Link::pass`] may accept one more. The short path handles a
    /// constant rate and a packet limit; random loss, traces, shapers, lanes and readings need the full path.
    fn certainty(&self) -> u32 {
        match &self.queue {
            Queue::Packets(queue)
                if self.loss.is_none()
                    && self.player.is_none()
                    && self.shaper.is_none()
                    && self.lanes.is_none()
                    && self.readings.due() == u64::MAX =>
            {
                queue.limit
            }
            _ => 0,
        }
    }

    /// Queues an accepted packet until `start`, if that is in the future.
    #[inline(always)]
    fn wait(&mut self, now: u64, start: u64, size: u32) {
        if start > now {
            self.backlog.push(now, start, size);
            self.waiting_ns.add(start - now);
            // The backlog may still hold packets whose service has started.
            if self.backlog.len > self.max_queue {
                self.on_longer_queue(now);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn on_longer_queue(&mut self, now: u64) {
        self.backlog.forget_started(now);
        self.max_queue = self.max_queue.max(self.backlog.len);
    }
}

/// Service start and size of each waiting packet, oldest first: a ring buffer that doubles when full.
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
            // A packet that arrives at the instant a transmission ends finds the queue as it was before. ns-2
            // has the same order, and it matters: ACK-clocked packets arrive at exactly such instants.
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

    /// Makes room in a full ring: removes packets whose service has started by `now`, and doubles the ring if
    /// few were removed.
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
    use crate::token_bucket::BucketConfig;

    const MS: u64 = 1_000_000;

    /// Link of 8 Mbit/s and 10 ms of propagation delay: a packet of 1000 bytes takes 1 ms.
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
    fn the_longest_queue_need_not_be_the_longest_wait() {
        // At 0 a packet begins, and two wait: one of 9000 bytes 1 ms, and one of 100 bytes 10 ms, behind it. At 20 ms a packet
        // begins, and five of 100 bytes wait, none for longer than 1.4 ms.
        for queue in
            [Queue::Packets(DropTailPackets { limit: 9 }), Queue::Bytes(DropTailBytes { limit: 20_000 })]
        {
            let mut link = link(queue);
            for size in [1000, 9000, 100] {
                link.offer(0, size, false);
            }
            assert_eq!(link.stats_until(MS / 2).max_queue, 2);
            for size in [1000, 100, 100, 100, 100, 100] {
                link.offer(20 * MS, size, false);
            }
            let stats = link.stats_until(30 * MS);
            assert_eq!(stats.max_queue, 5);
            // 1 + 10 ms, and 1 + 1.1 + 1.2 + 1.3 + 1.4 ms.
            assert_eq!(stats.waiting_ns, (17 * MS).into());
        }
    }

    #[test]
    fn packets_whose_transmission_has_begun_are_not_in_the_longest_queue() {
        // Packet n comes at 0.9 n ms and begins at n ms. With packet 10 the one before it begins, which still counts as waiting;
        // with packet 20 the two before it.
        let mut link = link(Queue::Packets(DropTailPackets { limit: 99 }));
        let longest: Vec<u32> = (0..30)
            .map(|n| {
                link.offer(n * 9 * MS / 10, 1000, false);
                link.stats_until(n * 9 * MS / 10).max_queue
            })
            .collect();
        assert_eq!([0, 1, 9, 10, 19, 20].map(|n: usize| longest[n]), [0, 1, 1, 2, 2, 3]);
    }

    #[test]
    fn a_buffer_of_two_holds_two_packets_besides_the_one_in_transmission() {
        let mut link = link(Queue::Packets(DropTailPackets { limit: 2 }));
        let at_once: Vec<_> = (0..4).map(|_| link.offer(0, 1000, false)).collect();
        use Passage::{Arrives, Dropped};
        assert_eq!(at_once, [Arrives(11 * MS), Arrives(12 * MS), Arrives(13 * MS), Dropped]);
        // At 1 ms the first waiting packet enters service; after that one place is free.
        assert_eq!(link.offer(MS, 1000, false), Dropped);
        assert_eq!(link.offer(MS + 1, 1000, false), Arrives(14 * MS));
        assert_eq!(link.offer(MS + 1, 1000, false), Dropped);
        // Waits: 1 ms + 2 ms, and 2 ms for the packet that came just after 1 ms.
        let stats = link.stats_until(100 * MS);
        assert_eq!(
            (stats.packets, stats.drops, stats.waiting_ns, stats.max_queue),
            (4, 3, (5 * MS - 1).into(), 2)
        );
    }

    #[test]
    fn a_buffer_in_bytes_counts_the_bytes_waiting() {
        let mut link = link(Queue::Bytes(DropTailBytes { limit: 1500 }));
        let at_once: Vec<_> = [1000, 1000, 400, 200, 100].map(|size| link.offer(0, size, false)).to_vec();
        // Waiting: 1000, then 1400 bytes; 1400 + 200 > 1500 is dropped, 1400 + 100 fits.
        let dropped: Vec<bool> = at_once.iter().map(|p| *p == Passage::Dropped).collect();
        assert_eq!(dropped, [false, false, false, true, false]);
    }

    #[test]
    fn transmissions_not_started_by_the_end_of_the_run_are_not_counted() {
        let mut link = link(Queue::Packets(DropTailPackets { limit: 10 }));
        for _ in 0..4 {
            link.offer(0, 1000, false);
        }
        // By 1.5 ms two transmissions have begun. The second packet has waited 1 ms, the other two 1.5 ms
        // each.
        let stats = link.stats_until(3 * MS / 2);
        assert_eq!((stats.packets, stats.bytes, stats.waiting_ns), (2, 2000, (4 * MS).into()));
        // The second transmission ends at 2 ms.
        assert_eq!(stats.busy_until, 2 * MS);
        assert_eq!(stats.waiting, 2);
    }

    #[test]
    fn a_shaped_burst_crosses_at_the_rate_of_the_line_and_the_rest_at_that_of_the_shaper() {
        // 4 Mbit/s: a packet of 1000 bytes every 2 ms, after a burst of 2500 bytes. The line takes 1 ms for each.
        let config = BucketConfig { rate: Rate(4_000_000), burst: 2500 };
        let queue = Queue::Packets(DropTailPackets { limit: 3 });
        let mut link = link(queue).with_shaper(Shaper::new(config));
        let at_once: Vec<_> = (0..6).map(|_| link.offer(0, 1000, false)).collect();
        use Passage::{Arrives, Dropped};
        // Tokens before and after the packets that leave at 0, 1, 2 and 3 ms: 2500 and 1500, 2000 and 1000, 1500 and 500,
        // 1000 and 0. Three of them wait, so that the other two find no room.
        assert_eq!(
            at_once,
            [Arrives(11 * MS), Arrives(12 * MS), Arrives(13 * MS), Arrives(14 * MS), Dropped, Dropped]
        );
        // At 3 ms the bucket is empty: the next packet leaves at 5 ms. One of 2501 bytes never could.
        assert_eq!(link.offer(4 * MS, 1000, false), Arrives(16 * MS));
        assert_eq!(link.offer(4 * MS, 2501, false), Dropped);
        // After a long pause there is a burst again.
        assert_eq!(link.offer(100 * MS, 1000, false), Arrives(111 * MS));
        let stats = link.stats_until(200 * MS);
        // Waits of 1, 2 and 3 ms, and 1 ms for tokens alone.
        assert_eq!((stats.packets, stats.drops, stats.waiting_ns), (6, 3, (7 * MS).into()));
    }

    #[test]
    fn packets_that_wait_for_tokens_alone_fill_the_buffer() {
        // The line is much faster than the shaper: it is free while packets wait.
        let config = BucketConfig { rate: Rate(8_000), burst: 1000 };
        let queue = Queue::Bytes(DropTailBytes { limit: 1500 });
        let mut link = link(queue).with_shaper(Shaper::new(config));
        let s = 1000 * MS;
        use Passage::{Arrives, Dropped};
        assert_eq!(link.offer(0, 1000, false), Arrives(11 * MS));
        assert_eq!(link.offer(s / 2, 1000, false), Arrives(s + 11 * MS));
        assert_eq!(link.offer(s / 2, 501, false), Dropped);
        assert_eq!(link.offer(s / 2, 500, false), Arrives(s + s / 2 + 10 * MS + MS / 2));
        assert_eq!((link.waiting(s), link.waiting(s + 1), link.waiting(2 * s)), (2, 1, 0));
    }

    #[test]
    fn packets_lost_on_the_wire_still_occupy_the_link() {
        let mut link = link(Queue::Unlimited).with_loss(0.1, 1.0, Stream::named(1, "loss"));
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
        // Packet 0 is in service and 999 wait. At 500 ms the packets whose service began earlier are gone.
        assert_eq!(link.waiting(0), 999);
        assert_eq!(link.waiting(500 * MS), 500);
    }
}
