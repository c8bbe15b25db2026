//! The network between the endpoints: links, feeds, and packets in transit over legs.

mod dequeue;

use crate::ahead::touch;
use crate::calendar::Calendar;
use crate::clocks::Clocks;
use crate::config::Network;
use crate::header;
use crate::hop;
use crate::lookahead::NEVER;
use crate::observe::{Observer, Seen};
use crate::packet::{self, Packet};
use crate::route::{End, Leg, Routes};
use crate::schedule::{Feed, WinnerTree};
use firstflight_net::link::{Link, Passage};
use firstflight_net::readings::LinkStats;
use firstflight_net::router::Header;
use std::ops::Range;

use dequeue::DequeueHop;

/// Sequence number of a SYN, in place of a segment number.
pub(crate) const SYN: u32 = u32::MAX;

/// High word that marks a datagram, whose low word is its source; no ACK has this high word.
pub(crate) const UDP_MARK: u64 = u64::MAX;

/// Contents of a packet.
#[derive(Clone, Copy)]
pub(crate) struct Content {
    pub(crate) seq: u32,
    pub(crate) low: u64,
    pub(crate) high: u64,
}

/// A packet for a stage that another thread processes.
#[derive(Clone, Copy)]
pub(crate) struct Away {
    pub(crate) stage: u32,
    feed: u32,
    pub(crate) packet: Packet,
}

/// Feeds that share one clock.
#[derive(Clone)]
struct Stage {
    tree: WinnerTree,
    /// Number of the first feed; the others follow.
    first: u32,
    /// The packets that wait, instead of the feeds and their tree.
    calendar: Option<Box<Calendar>>,
}

impl Stage {
    /// A stage with these feeds, or a calendar in their place.
    fn new(feeds: &Range<u32>, in_calendar: bool) -> Self {
        Self {
            tree: WinnerTree::new(if in_calendar { 0 } else { feeds.len() }),
            first: feeds.start,
            calendar: in_calendar.then(|| Box::new(Calendar::new(feeds.len()))),
        }
    }

    /// Last time that can be scheduled, nanoseconds.
    fn horizon(&self) -> u64 {
        self.calendar.as_ref().map_or_else(|| self.tree.horizon(), |calendar| calendar.horizon())
    }
}

/// Links, feeds and stages of a run.
#[derive(Clone)]
pub(crate) struct Wire<'r, O> {
    pub(crate) legs: &'r [Leg],
    links: Vec<Link>,
    /// Links with a dequeue-time queue; their entries in `links` stay idle.
    pub(crate) dequeue_hops: Vec<DequeueHop>,
    feeds: Vec<Feed>,
    stages: Vec<Stage>,
    /// Clocks of the stages.
    pub(crate) clocks: Clocks,
    /// End of the run: nothing happens at or after this time.
    pub(crate) end: u64,
    /// Data packets dropped by queues or lost on wires, per flow.
    pub(crate) lost: Vec<u64>,
    /// Segments below `first_lost_below` whose first transmission was dropped by a queue or lost on a wire, per flow.
    pub(crate) first_lost: Vec<Vec<u32>>,
    /// First segment that was not sent when start-up ended, per flow; `u32::MAX` until it is known.
    pub(crate) first_lost_below: Vec<u32>,
    /// Latest drop, and latest ACK that a sender did not expect.
    late: u64,
    /// Packets for stages of other threads.
    pub(crate) away: Vec<Away>,
    pub(crate) observer: O,
}

impl<'r, O: Observer> Wire<'r, O> {
    /// Creates the idle links of `network` and the feeds of `routes`; nothing ends the run.
    pub(crate) fn new(network: &Network, routes: &'r Routes, observer: O) -> Self {
        routes.check(network.links.len());
        let stages = routes
            .stages
            .iter()
            .zip(&routes.calendars)
            .map(|(feeds, &in_calendar)| Stage::new(feeds, in_calendar));
        let stages: Vec<Stage> = stages.collect();
        Self {
            legs: &routes.legs,
            links: network.links.iter().map(|link| hop::link(link, network.seed)).collect(),
            dequeue_hops: routes
                .dequeue_links
                .iter()
                .map(|&(link, leg)| DequeueHop::new(network, link, leg, routes.numbers.clone()))
                .collect(),
            feeds: vec![Feed::default(); routes.feeds()],
            clocks: Clocks::new(stages.len()),
            stages,
            end: u64::MAX,
            lost: vec![0; network.flows.len().max(1)],
            first_lost: vec![vec![]; network.flows.len().max(1)],
            first_lost_below: vec![u32::MAX; network.flows.len().max(1)],
            late: 0,
            away: vec![],
            observer,
        }
    }

    /// Sets the end of the run: that of `network`, or the time after `until`, if that comes first.
    pub(crate) fn end_with(&mut self, network: &Network, until: Option<u64>) {
        let horizon = self.stages.iter().map(Stage::horizon).min().unwrap_or(u64::MAX);
        self.end = network.end.0.min(horizon).min(until.map_or(u64::MAX, |until| until + 1));
    }

    /// The wire without its legs, until [`Self::over`] gives them back.
    pub(crate) fn detached(self) -> Wire<'static, O> {
        let Self { links, dequeue_hops, feeds, stages, clocks, end, .. } = self;
        let Self { lost, first_lost, first_lost_below, late, away, observer, .. } = self;
        let legs = &[];
        Wire {
            legs,
            links,
            dequeue_hops,
            feeds,
            stages,
            clocks,
            end,
            lost,
            first_lost,
            first_lost_below,
            late,
            away,
            observer,
        }
    }

    /// The wire over the legs of `routes`, for which it was made.
    pub(crate) fn over(self, routes: &'r Routes) -> Self {
        Self { legs: &routes.legs, ..self }
    }

    /// Notes an event off the short path, at `at`.
    #[inline]
    pub(crate) fn note_late(&mut self, at: u64) {
        self.late = self.late.max(at);
    }

    /// Whether a link has transmitted, a queue has dropped, or an ACK has come late, after `end`.
    pub(crate) fn has_run_past(&self, end: u64) -> bool {
        let free_at = self.links.iter().map(Link::free_at);
        let mut free_at = free_at.chain(self.dequeue_hops.iter().map(|hop| hop.link.free_at()));
        self.late > end || free_at.any(|at| at > end)
    }

    /// Counters of each link at `end`, and its readings.
    pub(crate) fn link_stats(&self, end: u64) -> impl Iterator<Item = (LinkStats, Vec<LinkStats>)> {
        let of = move |link: &Link| (link.stats_until(end), link.readings(end));
        let mut dequeue_hops = self.dequeue_hops.iter().peekable();
        // The hops are in the order of the links.
        self.links.iter().enumerate().map(move |(number, link)| {
            dequeue_hops
                .next_if(|hop| hop.number == number)
                .map_or_else(|| of(link), |hop| (hop.link.stats_until(end), hop.link.readings(end)))
        })
    }

    /// Gives the memory of the packets on their way back: the run is over.
    pub(crate) fn forget_packets(&mut self) {
        self.feeds = vec![];
        self.stages = vec![];
    }

    /// Ends the turn of `stage`: sets its clock to its next arrival.
    #[inline]
    pub(crate) fn rest(&mut self, stage: usize) {
        let tree = &self.stages[stage].tree;
        let next = tree.earliest();
        self.clocks.set(stage, if next > tree.horizon() { NEVER } else { next });
    }

    /// Removes the next packet that arrives at `stage` before `until`.
    #[inline(always)]
    pub(crate) fn take_before(&mut self, stage: usize, until: u64) -> Option<Packet> {
        let Stage { tree, first, .. } = &mut self.stages[stage];
        let (_, place) = tree.next_before(until)?;
        let (packet, next) = self.feeds[*first as usize + place].pop();
        tree.replace(place, next);
        Some(packet)
    }

    /// Whether the packets of `stage` wait in a calendar.
    #[inline]
    pub(crate) fn has_calendar(&self, stage: usize) -> bool {
        self.stages[stage].calendar.is_some()
    }

    /// Removes packets that arrive at `stage`, which has a calendar, before `until`: at most as many as `group` holds.
    /// Returns their number.
    pub(crate) fn take_group(&mut self, stage: usize, until: u64, group: &mut [Packet]) -> usize {
        let Some(calendar) = &mut self.stages[stage].calendar else { return 0 };
        let mut count = 0;
        while count < group.len()
            && let Some(packet) = calendar.take_before(until)
        {
            touch(&self.legs[packet.leg as usize]);
            group[count] = packet;
            count += 1;
        }
        count
    }

    /// Ends the turn of `stage`, which has a calendar: sets its clock to its next arrival.
    pub(crate) fn rest_in_calendar(&mut self, stage: usize) {
        let Some(calendar) = &self.stages[stage].calendar else { return };
        let next = calendar.earliest();
        self.clocks.set(stage, if next > calendar.horizon() { NEVER } else { next });
    }

    /// Asks for the memory that a packet over `leg` touches: the links of the leg.
    #[inline(always)]
    pub(crate) fn expect_over(&self, leg: &Leg) {
        for &link in leg.links() {
            touch(&self.links[link as usize]);
        }
    }

    /// Leg of this number.
    #[inline(always)]
    pub(crate) fn leg(&self, leg: u32) -> &'r Leg {
        debug_assert!((leg as usize) < self.legs.len());
        // SAFETY: callers use numbers from `Routes::compile`: from its lists, from legs, or from packets that
        // got them from legs. `Routes::check` verified all of them when the wire was built.
        unsafe { self.legs.get_unchecked(leg as usize) }
    }

    /// Carries a packet of `size` bytes over a leg; it must start before the end of the run. Returns its
    /// arrival at an endpoint, or `None` if it waits in a feed or queue, is lost, reaches a sink, or would
    /// arrive after the end.
    #[inline(always)]
    pub(crate) fn carry(&mut self, mut at: u64, leg: &Leg, size: u32, content: &mut Content) -> Option<u64> {
        debug_assert!(at < self.end);
        for &link in leg.links() {
            debug_assert!((link as usize) < self.links.len());
            // SAFETY: `Routes::check` verified that every leg's links exist.
            let passed = unsafe { self.links.get_unchecked_mut(link as usize) }.pass(at, size);
            let then = match passed {
                Some(then) => then,
                None => {
                    let (then, low, high) = self.examine(at, link, leg, size, *content)?;
                    (content.low, content.high) = (low, high);
                    then
                }
            };
            if O::ON && passed.is_some() {
                self.observer.offered(at, link, seen(leg, content, size), Passage::Arrives(then));
            }
            at = then;
            if at >= self.end {
                return None;
            }
        }
        if leg.end == End::Feed {
            let Content { seq, low, high } = *content;
            self.enqueue(leg, Packet { at, seq, leg: leg.next, low, high });
            return None;
        }
        if leg.end >= End::Sink {
            if leg.end == End::Calendar {
                let Content { seq, low, high } = *content;
                self.enter(leg, Packet { at, seq, leg: leg.next, low, high });
            } else if leg.end != End::Sink {
                self.off_the_line(at, leg, size, *content);
            }
            return None;
        }
        Some(at)
    }

    /// Offers a packet to a link that may drop it, mark it, or change its header. Returns its arrival and the
    /// words it then carries.
    #[inline(never)]
    fn examine(
        &mut self,
        at: u64,
        link: u32,
        leg: &Leg,
        size: u32,
        content: Content,
    ) -> Option<(u64, u64, u64)> {
        let is_data = leg.ack_size == 0;
        let ecn_capable = is_data && content.low & packet::ECT != 0;
        let carried = if is_data { header::of_data(content.low, content.high) } else { Header::None };
        let mut header = carried;
        let passage =
            self.links[link as usize].examine(at, size, ecn_capable, &mut header, numbered(leg, &content));
        if O::ON {
            self.observer.offered(at, link, seen(leg, &content, size), passage);
        }
        match passage {
            Passage::Arrives(then) if header == carried => Some((then, content.low, content.high)),
            Passage::Arrives(then) => {
                let (low, high) = header::words(header);
                Some((then, content.low & !header::MASK | low, high))
            }
            Passage::Marked(then) => Some((then, content.low | packet::CE, content.high)),
            Passage::Dropped | Passage::LostOnWire => {
                self.note_late(at);
                self.count_lost(leg, &content);
                None
            }
        }
    }

    /// Counts a packet lost on its way over `leg`.
    pub(crate) fn count_lost(&mut self, leg: &Leg, content: &Content) {
        let Some(flow) = data_of(leg, content).map(|flow| flow as usize) else { return };
        self.lost[flow] += 1;
        if content.low & packet::RETRANSMISSION == 0 && content.seq < self.first_lost_below[flow] {
            self.first_lost[flow].push(content.seq);
        }
    }

    /// A packet at the end of a leg where packets do not keep their order, or that leads to another thread.
    #[cold]
    #[inline(never)]
    fn off_the_line(&mut self, at: u64, leg: &Leg, size: u32, content: Content) {
        let Content { seq, low, high } = content;
        match leg.end {
            End::Lanes => {}
            End::Away => {
                let packet = Packet { at, seq, leg: leg.next, low, high };
                return self.away.push(Away { stage: leg.stage, feed: leg.feed, packet });
            }
            _ => return self.at_queue(at, leg, size, content),
        }
        let last = leg.links()[leg.links().len() - 1];
        let slow = self.links[last as usize].took_slow_lane();
        self.enqueue_in_lane(leg, slow, Packet { at, seq, leg: leg.next, low, high });
    }

    /// Puts a packet into the feed of its lane.
    pub(crate) fn enqueue_in_lane(&mut self, leg: &Leg, slow: bool, packet: Packet) {
        // `Routes::check` verified both feeds.
        self.enqueue(&Leg { feed: leg.feed + u32::from(slow), ..*leg }, packet);
    }

    /// A packet comes from another thread.
    pub(crate) fn arrive(&mut self, &Away { stage, feed, packet }: &Away) {
        let end = if self.has_calendar(stage as usize) { End::Calendar } else { End::Feed };
        self.enqueue(&Leg { stage, feed, end, ..Leg::BLANK }, packet);
    }

    /// Puts a packet into the calendar of its stage.
    fn enter(&mut self, leg: &Leg, packet: Packet) {
        let stage = leg.stage as usize;
        debug_assert!(self.clocks.may_come(stage, packet.at));
        let Stage { first, calendar, .. } = &mut self.stages[stage];
        if let Some(calendar) = calendar
            && calendar.push(leg.feed - *first, packet)
        {
            self.clocks.expect(stage, packet.at);
        }
    }

    #[inline(always)]
    pub(crate) fn enqueue(&mut self, leg: &Leg, packet: Packet) {
        if leg.end == End::Calendar {
            return self.enter(leg, packet);
        }
        debug_assert!((leg.feed as usize) < self.feeds.len());
        // The release events of a dequeue-time link belong to its own stage.
        debug_assert!(leg.end == End::Release || self.clocks.may_come(leg.stage as usize, packet.at));
        // SAFETY: `Routes::check` verified that the feed of every leg that does not end in a calendar exists, and the next one of a
        // leg that ends in lanes.
        if unsafe { self.feeds.get_unchecked_mut(leg.feed as usize) }.push(packet) {
            let Stage { tree, first, .. } = &mut self.stages[leg.stage as usize];
            tree.insert((leg.feed - *first) as usize, packet.at);
            self.clocks.expect(leg.stage as usize, packet.at);
        }
    }
}

/// Flow of which a packet on its way over `leg` is a data packet.
fn data_of(leg: &Leg, packet: &Content) -> Option<u32> {
    (leg.ack_size == 0 && packet.seq != SYN).then_some(leg.flow)
}

/// The same, where losses by number count the packet.
fn numbered(leg: &Leg, packet: &Content) -> Option<u32> {
    data_of(leg, packet).filter(|_| packet::carries_data(packet.low))
}

pub(crate) fn seen(leg: &Leg, packet: &Content, size: u32) -> Seen {
    match leg.ack_size {
        0 => Seen::data(leg.flow, packet.seq, packet.low),
        _ if packet.seq == SYN && packet.high == UDP_MARK => Seen::udp(packet.low as u32, size),
        _ => Seen::ack(leg.flow, packet.seq, size, (packet.low, packet.high)),
    }
}
