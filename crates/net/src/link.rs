//! One direction of a link: a queue, a rate and a propagation delay. The work per packet is constant, and a
//! link schedules no events of its own.

use crate::chosen::Chosen;
use crate::lanes::Lanes;
use crate::queue::{Arrival, Queue, Verdict};
use crate::rate_trace::TracePlayer;
use crate::readings::{LinkStats, Readings};
use crate::router::Header;
use crate::serialisation::{LATEST, Serialisation};
use crate::shaper::Shaper;
use crate::two_state::TwoState;
use firstflight_contract::{Nanos, Rate, Sum};
use firstflight_random::Stream;

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
    /// Losses by number, if the link has them.
    chosen: Option<Chosen>,
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
        let guard = match queue {
            Queue::Unlimited => None,
            queue => Some(Box::new(Guard::new(queue))),
        };
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
    pub fn with_loss(self, mean: f64, burst: f64, stream: Stream) -> Self {
        if mean > 0.0 {
            return self.with(|guard| guard.loss = Some(TwoState::new(mean, burst, stream)));
        }
        self
    }

    /// Loses the packets that `chosen` states, after their transmission.
    #[must_use]
    pub fn with_chosen(self, chosen: Chosen) -> Self {
        self.with(|guard| guard.chosen = Some(chosen))
    }

    /// Replaces the constant rate by a recorded one.
    #[must_use]
    pub fn with_trace(self, player: TracePlayer) -> Self {
        self.with(|guard| guard.player = Some(player))
    }

    /// Lets packets of the queue wait for the tokens of `shaper`. The queue must decide on arrival.
    #[must_use]
    pub fn with_shaper(self, shaper: Shaper) -> Self {
        self.with(|guard| guard.shaper = Some(Box::new(shaper)))
    }

    /// Lets packets take `lanes` behind the line, so that they may overtake each other.
    #[must_use]
    pub fn with_lanes(self, lanes: Lanes) -> Self {
        self.with(|guard| guard.lanes = Some(Box::new(lanes)))
    }

    /// Whether the last packet that was transmitted took the slower lane. Packets of one lane arrive in order.
    pub fn took_slow_lane(&self) -> bool {
        self.guard.as_ref().and_then(|guard| guard.lanes.as_ref()).is_some_and(|lanes| lanes.is_slow())
    }

    /// Records the counters at each of these ascending times, nanoseconds; see [`Link::readings`].
    #[must_use]
    pub fn with_readings(self, times: Vec<u64>) -> Self {
        if times.is_empty() {
            return self;
        }
        self.with(|guard| guard.readings = Readings::at(times))
    }

    /// The same with one more part. Every part that the link has stays, so that parts may be added in any order.
    fn with(mut self, add: impl FnOnce(&mut Guard)) -> Self {
        let guard = self.guard.get_or_insert_with(|| Box::new(Guard::new(Queue::Unlimited)));
        add(guard);
        guard.certain = guard.certainty();
        self
    }

    /// Whether packets wait in front of it: a queue that decides at dequeue time needs a line where none does.
    pub(crate) fn makes_wait(&self) -> bool {
        self.guard
            .as_ref()
            .is_some_and(|guard| !matches!(guard.queue, Queue::Unlimited) || guard.shaper.is_some())
    }

    /// Propagation delay.
    pub fn delay(&self) -> Nanos {
        Nanos(self.delay)
    }

    /// Offers a packet of `size` bytes of no flow at `now`. Calls must be in order of time.
    #[inline]
    pub fn offer(&mut self, now: u64, size: u32, ecn_capable: bool) -> Passage {
        match self.pass(now, size) {
            Some(arrival) => Passage::Arrives(arrival),
            None => self.examine(now, size, ecn_capable, &mut Header::None, None),
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
    /// router may change the header. `data_of` is the number of the flow whose data the packet carries, if it carries data.
    #[inline(never)]
    pub fn examine(
        &mut self,
        now: u64,
        size: u32,
        ecn_capable: bool,
        header: &mut Header,
        data_of: Option<u32>,
    ) -> Passage {
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
        match self.send(if start > idle_from { start } else { now }, size, data_of) {
            Passage::Arrives(arrival) if verdict == Verdict::Mark => {
                self.guard.as_mut().expect("the guard gave the verdict").marks += 1;
                Passage::Marked(arrival)
            }
            passage => passage,
        }
    }

    /// Transmits a packet that came at `since` as soon as the link is free. The packet may be lost on the wire, or take the
    /// slower of two lanes.
    pub(crate) fn send(&mut self, since: u64, size: u32, data_of: Option<u32>) -> Passage {
        let Some(guard) = &mut self.guard else { return Passage::Arrives(self.transmit(since, size)) };
        let mut lost = false;
        if let Some(loss) = &mut guard.loss {
            lost = loss.takes_next();
        }
        if let (Some(chosen), Some(flow)) = (&mut guard.chosen, data_of) {
            lost |= chosen.takes_next(flow);
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
    fn new(queue: Queue) -> Self {
        let mut guard = Self {
            certain: 0,
            waiting_ns: Sum::default(),
            backlog: Backlog::new(),
            queue,
            loss: None,
            chosen: None,
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
    /// constant rate and a packet limit; losses, traces, shapers, lanes and readings need the full path.
    fn certainty(&self) -> u32 {
        // Every field is named, so that none that decides about packets is passed over.
        let Self {
            queue,
            loss,
            chosen,
            player,
            shaper,
            lanes,
            readings,
            certain: _,
            waiting_ns: _,
            backlog: _,
            drops: _,
            wire_losses: _,
            marks: _,
            max_queue: _,
        } = self;
        let is_plain = loss.is_none()
            && chosen.is_none()
            && player.is_none()
            && shaper.is_none()
            && lanes.is_none()
            && readings.due() == u64::MAX;
        match queue {
            Queue::Packets(queue) if is_plain => queue.limit,
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
mod tests;
