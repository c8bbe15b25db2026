//! The event loop: stages take turns, each as far ahead of the others as [`crate::lookahead`] allows, with the timers
//! in between.

use crate::config::{Network, QueueConfig};
use crate::lookahead::Lookahead;
use crate::observe::{Observer, Seen};
use crate::packet::{self, Packet};
use crate::receiver::{AckOut, Receiver};
use crate::route::{End, Leg, Routes};
use crate::schedule::{Feed, WinnerTree};
use crate::sender::app::{App, Tail};
use crate::sender::{AckIn, Port, Sender};
use firstflight_net::link::{Link, Passage};
use firstflight_net::queue::Queue;
use firstflight_net::queue::drop_tail::{DropTailBytes, DropTailPackets};
use firstflight_net::queue::red::Red;
use firstflight_net::random::Stream;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A handshake's packet, in place of a segment number.
const SYN: u32 = u32::MAX;

/// Whether hops are computed together where that changes nothing, or each as an event of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As few events as possible.
    Fused,
    /// One event per hop: slower, and the same result.
    PerHop,
}

/// One connection: both ends, and what is counted of it.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    receiver: Receiver,
    /// The earliest entry in the timer heap for each end.
    receiver_armed: u64,
    sender_armed: u64,
    grid_at: u64,
    header: u32,
    counted_finished: bool,
    pub(crate) sender: Sender,
    tail: Tail,
    pub(crate) grid: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Udp {
    interval: u64,
    size: u32,
    on: Vec<(u64, u64)>,
    period: usize,
}

/// Who set a timer; at equal times the smaller acts first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Sender(u32),
    Receiver(u32),
    Udp(u32),
}

/// Feeds that one clock serves.
struct Stage {
    tree: WinnerTree,
    feeds: Vec<Feed>,
    /// The number of the first feed.
    first: u32,
}

/// The network: everything but the endpoints.
struct Wire<O> {
    links: Vec<Link>,
    stages: Vec<Stage>,
    legs: Vec<Leg>,
    /// What would happen from here on does not.
    end: u64,
    /// Data packets that links refused or lost, per flow.
    lost: Vec<u64>,
    observer: O,
}

/// What a packet says, wherever it is.
#[derive(Clone, Copy)]
struct Content {
    seq: u32,
    low: u64,
    high: u64,
}

impl<O: Observer> Wire<O> {
    /// The leg of this number.
    #[inline(always)]
    fn leg(&self, leg: u32) -> Leg {
        debug_assert!((leg as usize) < self.legs.len());
        // SAFETY: legs are numbered by `Routes::compile`; `Routes::check` verified every number it gave out when
        // the engine was built, and packets only ever carry those.
        unsafe { *self.legs.get_unchecked(leg as usize) }
    }

    /// Carries a packet over a leg. Returns when it reaches an endpoint; `None` if it waits, is lost or is done.
    #[inline(always)]
    fn carry(&mut self, mut at: u64, leg: &Leg, content: &mut Content) -> Option<u64> {
        let is_data = leg.ack_size == 0;
        let size = if is_data { content.low as u32 } else { leg.ack_size.into() };
        let ecn_capable = is_data && content.low & packet::ECT != 0;
        for &link in leg.links.iter().take(leg.len.into()) {
            if at >= self.end {
                return None;
            }
            debug_assert!((link as usize) < self.links.len());
            // SAFETY: `Routes::check` verified that every leg's links exist.
            let passage = unsafe { self.links.get_unchecked_mut(link as usize) }.offer(at, size, ecn_capable);
            if O::ON {
                self.observer.offered(at, link, seen(leg, content, size), passage);
            }
            match passage {
                Passage::Arrives(then) => at = then,
                Passage::Marked(then) => {
                    at = then;
                    content.low |= packet::CE;
                }
                Passage::Dropped | Passage::LostOnWire => {
                    self.lost[leg.flow as usize] += u64::from(is_data && content.seq != SYN);
                    return None;
                }
            }
        }
        match leg.end {
            End::Receiver | End::Sender => Some(at),
            End::Feed => {
                let Content { seq, low, high } = *content;
                self.enqueue(leg, Packet { at, seq, leg: leg.next, low, high });
                None
            }
            End::Sink => None,
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, leg: &Leg, packet: Packet) {
        debug_assert!((leg.stage as usize) < self.stages.len());
        // SAFETY: `Routes::check` verified that the leg's stage exists and has its feed.
        let (tree, feed, place) = unsafe {
            let stage = self.stages.get_unchecked_mut(leg.stage as usize);
            let place = (leg.feed - stage.first) as usize;
            debug_assert!(place < stage.feeds.len());
            (&mut stage.tree, stage.feeds.get_unchecked_mut(place), place)
        };
        if feed.push(packet) {
            tree.insert(place, packet.at);
        }
    }
}

fn seen(leg: &Leg, packet: &Content, size: u32) -> Seen {
    match leg.ack_size {
        0 => Seen::data(leg.flow, packet.seq, size),
        _ if packet.seq == SYN && packet.high == UDP_MARK => Seen::udp(packet.low as u32, size),
        _ => Seen::ack(leg.flow, packet.seq, size, (packet.low, packet.high)),
    }
}

/// Marks a datagram, whose low word is its source: no ACK has this one.
const UDP_MARK: u64 = u64::MAX;

/// Puts a sender's packets onto its first leg.
struct FlowPort<'a, O> {
    wire: &'a mut Wire<O>,
    leg: u32,
    flow: u32,
    header: u32,
    mss: u32,
    tail: Tail,
}

impl<O: Observer> Port for FlowPort<'_, O> {
    #[inline(always)]
    fn transmit(&mut self, now: u64, segment: u32, flags: u64, retransmission: bool) {
        let payload =
            if flags & packet::PUSH_SYN == 0 { self.mss } else { self.tail.bytes(segment, self.mss) };
        let size = payload + self.header;
        if O::ON {
            let seen = Seen::data(self.flow, segment, size);
            self.wire.observer.sent(now, seen, retransmission);
        }
        let mut content = Content { seq: segment, low: u64::from(size) | flags, high: 0 };
        let leg = self.wire.leg(self.leg);
        self.wire.carry(now, &leg, &mut content);
    }

    fn transmit_syn(&mut self, now: u64) {
        if O::ON {
            let seen = Seen::data(self.flow, SYN, self.header);
            self.wire.observer.sent(now, seen, false);
        }
        let mut content = Content { seq: SYN, low: self.header.into(), high: 0 };
        let leg = self.wire.leg(self.leg);
        self.wire.carry(now, &leg, &mut content);
    }
}

/// A run in progress.
pub struct Engine<O> {
    wire: Wire<O>,
    pub(crate) flows: Vec<Flow>,
    udp: Vec<Udp>,
    routes: Routes,
    timers: BinaryHeap<Reverse<(u64, Owner)>>,
    /// The earliest of them.
    timer_at: u64,
    grid: u64,
    /// Finite flows that have not finished; `None` if the run does not wait for them.
    unfinished: Option<usize>,
    /// Whether nothing is left to happen once they have.
    drains: bool,
    finished_at: u64,
}

impl<O: Observer> Engine<O> {
    /// A run of `network`, nothing sent yet.
    pub fn new(network: &Network, mode: Mode, observer: O) -> Self {
        // A run that ends with its last finite flow must not have run ahead of that moment; where nothing else
        // is left to happen it simply drains.
        let finite =
            network.flows.iter().filter(|f| f.app.bytes.is_some() || f.app.lifetime.is_some()).count();
        let waits = network.until_finished && finite > 0;
        let drains = waits && finite == network.flows.len() && network.udp.is_empty();
        let routes = Routes::compile(network, mode == Mode::Fused && (drains || !waits));
        routes.check(network.links.len());
        let stages = routes.stages.iter().map(|feeds| Stage {
            tree: WinnerTree::new(feeds.len()),
            feeds: vec![Feed::default(); feeds.len()],
            first: feeds.start,
        });
        let stages: Vec<Stage> = stages.collect();
        let horizon = stages.iter().map(|stage| stage.tree.horizon()).min().unwrap_or(u64::MAX);
        let end = network.end.0.min(horizon);
        let links = network.links.iter().map(|link| {
            let stream = |what: &str| Stream::named(network.seed, &format!("{what} {}", link.name));
            let queue = match link.queue {
                QueueConfig::Unlimited => Queue::Unlimited,
                QueueConfig::Packets(limit) => Queue::Packets(DropTailPackets { limit }),
                QueueConfig::Bytes(limit) => Queue::Bytes(DropTailBytes { limit }),
                QueueConfig::Red(config) => Queue::Red(Box::new(Red::new(config, stream("red")))),
            };
            Link::new(link.rate, link.delay, queue).with_loss(link.loss, stream("loss"))
        });
        let wire = Wire {
            links: links.collect(),
            stages,
            legs: routes.legs.clone(),
            end,
            lost: vec![0; network.flows.len().max(1)],
            observer,
        };
        let flows: Vec<Flow> = network.flows.iter().map(Flow::new).collect();
        let udp = network.udp.iter().map(|config| Udp {
            interval: config.rate.time_for(config.size.into()).0,
            size: config.size.into(),
            on: config.on.iter().map(|(from, until)| (from.0, until.0)).collect(),
            period: 0,
        });
        let mut engine = Self {
            wire,
            flows,
            udp: udp.collect(),
            routes,
            timers: BinaryHeap::new(),
            timer_at: u64::MAX,
            grid: network.grid.0,
            unfinished: waits.then_some(finite),
            drains,
            finished_at: 0,
        };
        for flow in 0..engine.flows.len() {
            engine.arm_sender(flow);
        }
        for source in 0..engine.udp.len() {
            if let Some(&(from, _)) = engine.udp[source].on.first() {
                engine.set_timer(from, Owner::Udp(source as u32));
            }
        }
        engine
    }

    /// Runs to the end; returns when that was, nanoseconds.
    pub fn run(&mut self) -> u64 {
        self.run_events();
        match self.unfinished {
            Some(0) => self.finished_at,
            _ => self.wire.end,
        }
    }

    fn run_events(&mut self) {
        loop {
            let next = self.wire.stages.iter().map(|stage| stage.tree.earliest()).min().unwrap_or(u64::MAX);
            if self.timer_at <= next {
                if self.timer_at >= self.wire.end {
                    return;
                }
                self.fire();
                continue;
            }
            if next >= self.wire.end {
                return;
            }
            // Everything before `next` has been seen. Before this moment nothing more can arrive at any stage than
            // what its feeds hold already: neither from what other stages are about to do, nor from timers.
            let Lookahead { stops, ends } = self.routes.ahead;
            let until = next.saturating_add(stops).min(self.timer_at.saturating_add(ends)).min(self.wire.end);
            for stage in 0..self.wire.stages.len() {
                self.take_turn(stage, until);
            }
        }
    }

    /// A stage works through what arrives there before `until`.
    #[inline(never)]
    fn take_turn(&mut self, stage: usize, until: u64) {
        loop {
            let Stage { tree, feeds, .. } = &mut self.wire.stages[stage];
            let Some((at, feed)) = tree.next_before(until) else { return };
            let (packet, next) = feeds[feed].pop();
            tree.replace(feed, next);
            self.go_on(at, &packet);
        }
    }

    #[cold]
    fn set_timer(&mut self, at: u64, owner: Owner) {
        self.timers.push(Reverse((at, owner)));
        self.timer_at = self.timer_at.min(at);
    }

    /// A packet that waited goes on at `at`.
    #[inline(always)]
    fn go_on(&mut self, at: u64, packet: &Packet) {
        let leg = self.wire.leg(packet.leg);
        let mut content = Content { seq: packet.seq, low: packet.low, high: packet.high };
        let Some(at) = self.wire.carry(at, &leg, &mut content) else { return };
        if leg.end == End::Receiver {
            self.at_receiver(at, &leg, content);
        } else {
            self.at_sender(at, &leg, content);
        }
    }

    #[inline(always)]
    fn at_receiver(&mut self, at: u64, leg: &Leg, packet: Content) {
        let flow = leg.flow as usize;
        if at >= self.wire.end {
            return;
        }
        if O::ON {
            let seen = Seen::data(leg.flow, packet.seq, packet.low as u32);
            self.wire.observer.arrived(at, seen);
        }
        if packet.seq == SYN {
            return self.send_ack_late(at, leg.next, AckOut { seq: 0, low: packet::PUSH_SYN, high: 0 });
        }
        let receiver = &mut self.flows[flow].receiver;
        if receiver.due() <= at {
            let due = receiver.due();
            let ack = receiver.on_timer();
            self.send_ack_late(due, leg.next, ack);
        }
        match self.flows[flow].receiver.on_data(at, packet.seq, packet.low) {
            Some(ack) => self.send_ack(at, leg.next, ack),
            None => self.arm_receiver(flow),
        }
    }

    /// The same off the short path.
    #[cold]
    #[inline(never)]
    fn send_ack_late(&mut self, at: u64, leg: u32, ack: AckOut) {
        self.send_ack(at, leg, ack);
    }

    #[inline(always)]
    fn send_ack(&mut self, at: u64, leg: u32, ack: AckOut) {
        let leg = self.wire.leg(leg);
        if O::ON {
            let seen = Seen::ack(leg.flow, ack.seq, leg.ack_size.into(), (ack.low, ack.high));
            self.wire.observer.sent(at, seen, false);
        }
        let mut content = Content { seq: ack.seq, low: ack.low, high: ack.high };
        if let Some(at) = self.wire.carry(at, &leg, &mut content) {
            self.straight_to_sender(at, &leg, content);
        }
    }

    /// An ACK that met no stage on its way.
    #[inline(never)]
    fn straight_to_sender(&mut self, at: u64, leg: &Leg, packet: Content) {
        self.at_sender(at, leg, packet);
    }

    #[inline(always)]
    fn at_sender(&mut self, at: u64, leg: &Leg, packet: Content) {
        let flow = leg.flow as usize;
        if at >= self.wire.end {
            return;
        }
        if O::ON {
            let words = (packet.low, packet.high);
            let seen = Seen::ack(leg.flow, packet.seq, leg.ack_size.into(), words);
            self.wire.observer.arrived(at, seen);
        }
        let target = &mut self.flows[flow];
        if at >= target.grid_at {
            target.record_grid(at, self.grid);
        }
        let ack = AckIn { seq: packet.seq, low: packet.low, high: packet.high };
        let (sender, mut port) = target.split(&mut self.wire, leg.next, flow);
        if ack.low & packet::PUSH_SYN == 0 {
            sender.on_ack(at, ack, &mut port);
        } else {
            sender.on_handshake(at, &mut port);
            target.begin_grid(self.grid);
        }
        self.after_action(at, flow);
    }

    /// What must follow whenever a sender has acted.
    #[inline(always)]
    fn after_action(&mut self, at: u64, flow: usize) {
        let target = &mut self.flows[flow];
        if O::ON {
            self.wire.observer.acted(at, flow as u32, &target.sender);
        }
        if target.sender.next_check() < target.sender_armed {
            self.arm_sender(flow);
        }
        let target = &self.flows[flow];
        if target.sender.finished() && !target.counted_finished {
            self.finish(at, flow);
        }
    }

    #[cold]
    fn finish(&mut self, at: u64, flow: usize) {
        self.flows[flow].counted_finished = true;
        self.finished_at = self.finished_at.max(at);
        let Some(left) = &mut self.unfinished else { return };
        *left -= 1;
        if *left == 0 && !self.drains {
            self.wire.end = self.finished_at + 1;
        }
    }

    #[cold]
    fn arm_sender(&mut self, flow: usize) {
        let target = &mut self.flows[flow];
        target.sender_armed = target.sender.next_check();
        if target.sender_armed != u64::MAX {
            let at = target.sender_armed;
            self.set_timer(at, Owner::Sender(flow as u32));
        }
    }

    #[inline]
    fn arm_receiver(&mut self, flow: usize) {
        let target = &mut self.flows[flow];
        let due = target.receiver.due();
        if due < target.receiver_armed {
            target.receiver_armed = due;
            self.set_timer(due, Owner::Receiver(flow as u32));
        }
    }

    /// The earliest timer fires. Endpoints that ran ahead have nothing left to do then.
    #[cold]
    #[inline(never)]
    fn fire(&mut self) {
        let Some(Reverse((at, owner))) = self.timers.pop() else { return };
        self.timer_at = self.timers.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
        match owner {
            Owner::Sender(flow) => self.fire_sender(at, flow as usize),
            Owner::Receiver(flow) => self.fire_receiver(at, flow as usize),
            Owner::Udp(source) => self.fire_udp(at, source as usize),
        }
    }

    fn fire_sender(&mut self, at: u64, flow: usize) {
        let leg = self.routes.data[flow];
        let target = &mut self.flows[flow];
        target.sender_armed = u64::MAX;
        if target.sender.next_check() <= at {
            if at >= target.grid_at {
                target.record_grid(at, self.grid);
            }
            let (sender, mut port) = target.split(&mut self.wire, leg, flow);
            sender.advance(at, &mut port);
            target.begin_grid(self.grid);
            self.after_action(at, flow);
        }
        if self.flows[flow].sender_armed == u64::MAX {
            self.arm_sender(flow);
        }
    }

    fn fire_receiver(&mut self, at: u64, flow: usize) {
        let target = &mut self.flows[flow];
        target.receiver_armed = u64::MAX;
        if target.receiver.due() <= at {
            let ack = target.receiver.on_timer();
            self.send_ack_late(at, self.routes.acks[flow], ack);
        } else if target.receiver.due() != u64::MAX {
            self.arm_receiver(flow);
        }
    }

    fn fire_udp(&mut self, at: u64, source: usize) {
        let udp = &mut self.udp[source];
        let mut content = Content { seq: SYN, low: source as u64, high: UDP_MARK };
        let size = udp.size;
        let next = at + udp.interval;
        let next = if next < udp.on[udp.period].1 {
            Some(next)
        } else {
            udp.period += 1;
            udp.on.get(udp.period).map(|on| on.0)
        };
        if let Some(next) = next {
            self.set_timer(next, Owner::Udp(source as u32));
        }
        if O::ON {
            let seen = Seen::udp(source as u32, size);
            self.wire.observer.sent(at, seen, false);
        }
        let leg = self.wire.leg(self.routes.udp[source]);
        self.wire.carry(at, &leg, &mut content);
    }

    /// Data packets of `flow` that links refused or lost.
    pub fn lost(&self, flow: usize) -> u64 {
        self.wire.lost[flow]
    }

    /// The links as they are now.
    pub fn links(&self) -> &[Link] {
        &self.wire.links
    }

    /// The observer, once the run is over.
    pub fn into_observer(self) -> O {
        self.wire.observer
    }
}

impl Flow {
    fn new(config: &crate::config::FlowConfig) -> Self {
        let app = App::new(&config.app, config.stack.mss);
        let sack = config.stack.recovery == crate::sender::stack::Recovery::Sack;
        Self {
            tail: app.tail(config.stack.mss),
            sender: Sender::new(config.stack, config.chain.clone(), app),
            receiver: Receiver::new(config.ack_policy, sack),
            header: config.header,
            grid_at: u64::MAX,
            grid: vec![],
            counted_finished: false,
            sender_armed: u64::MAX,
            receiver_armed: u64::MAX,
        }
    }

    fn split<'a, O>(
        &'a mut self,
        wire: &'a mut Wire<O>,
        leg: u32,
        flow: usize,
    ) -> (&'a mut Sender, FlowPort<'a, O>) {
        let mss = self.sender.mss() as u32;
        let port = FlowPort { wire, leg, flow: flow as u32, header: self.header, mss, tail: self.tail };
        (&mut self.sender, port)
    }

    /// The grid begins when the connection does.
    fn begin_grid(&mut self, step: u64) {
        if self.grid_at == u64::MAX
            && let Some(start) = self.sender.app().established_at()
        {
            self.grid_at = start + step;
        }
    }

    #[cold]
    fn record_grid(&mut self, at: u64, step: u64) {
        while self.grid_at <= at {
            self.grid.push(self.sender.acked());
            self.grid_at += step;
        }
    }

    /// Fills the grid up to the end of the run.
    pub(crate) fn close_grid(&mut self, end: u64, step: u64) {
        if self.grid_at <= end {
            self.record_grid(end, step);
        }
    }
}
