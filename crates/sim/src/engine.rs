//! The event loop.

use crate::config::{Network, QueueConfig};
use crate::observe::{Kind, Observer, Seen};
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
pub(crate) struct Flow {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    header: u32,
    tail: Tail,
    grid_at: u64,
    pub(crate) grid: Vec<u32>,
    pub(crate) lost: u64,
    counted_finished: bool,
    /// The earliest entry in the timer heap for each end.
    sender_armed: u64,
    receiver_armed: u64,
}

#[derive(Clone, Debug)]
struct Udp {
    interval: u64,
    size: u32,
    on: Vec<(u64, u64)>,
    period: usize,
    sent: u32,
}

/// Who set a timer; at equal times the smaller acts first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Sender(u32),
    Receiver(u32),
    Udp(u32),
}

/// The network: everything but the endpoints.
struct Wire<O> {
    links: Vec<Link>,
    feeds: Vec<Feed>,
    tree: WinnerTree,
    legs: Vec<Leg>,
    /// What would happen from here on does not.
    end: u64,
    observer: O,
}

/// Where a packet got to.
enum Got {
    /// It waits in a feed, or is in a sink.
    Away,
    /// A link refused or lost it.
    Lost,
    /// It is at the receiver at this time.
    Receiver(u64),
    /// It is at the sender at this time.
    Sender(u64),
}

impl<O: Observer> Wire<O> {
    /// Carries a packet over a leg.
    #[inline(always)]
    fn carry(&mut self, mut at: u64, leg: u32, mut packet: Packet) -> (Got, Packet) {
        let leg = &self.legs[leg as usize];
        let is_data = leg.ack_size == 0;
        let size = if is_data { packet.low as u32 } else { leg.ack_size };
        let ecn_capable = is_data && packet.low & packet::ECT != 0;
        for &link in &leg.links[..leg.len as usize] {
            if at >= self.end {
                return (Got::Away, packet);
            }
            let passage = self.links[link as usize].offer(at, size, ecn_capable);
            if O::ON {
                self.observer.offered(at, link, seen(leg, &packet, size), passage);
            }
            match passage {
                Passage::Arrives(then) => at = then,
                Passage::Marked(then) => {
                    at = then;
                    packet.low |= packet::CE;
                }
                Passage::Dropped | Passage::LostOnWire => return (Got::Lost, packet),
            }
        }
        match leg.end {
            End::Feed => {
                packet.at = at;
                packet.leg = leg.next;
                let feed = leg.feed as usize;
                if self.feeds[feed].push(packet) {
                    self.tree.insert(feed, at);
                }
                (Got::Away, packet)
            }
            End::Receiver => (Got::Receiver(at), packet),
            End::Sender => (Got::Sender(at), packet),
            End::Sink => (Got::Away, packet),
        }
    }
}

fn seen(leg: &Leg, packet: &Packet, size: u32) -> Seen {
    let kind = match (leg.ack_size, leg.end) {
        (0, _) => Kind::Data,
        _ if packet.seq == SYN && packet.high == UDP_MARK => Kind::Udp,
        _ => Kind::Ack,
    };
    Seen { flow: leg.flow, seq: packet.seq, size, kind }
}

/// Marks a datagram: no ACK has these words.
const UDP_MARK: u64 = u64::MAX;

/// Puts a sender's packets onto its first leg.
struct FlowPort<'a, O> {
    wire: &'a mut Wire<O>,
    leg: u32,
    flow: u32,
    header: u32,
    mss: u32,
    tail: Tail,
    lost: &'a mut u64,
}

impl<O: Observer> Port for FlowPort<'_, O> {
    #[inline]
    fn transmit(&mut self, now: u64, segment: u32, flags: u64, retransmission: bool) {
        let payload = if flags & packet::PUSH_SYN == 0 { self.mss } else { self.tail.bytes(segment, self.mss) };
        let size = payload + self.header;
        if O::ON {
            let seen = Seen { flow: self.flow, seq: segment, size, kind: Kind::Data };
            self.wire.observer.sent(now, seen, retransmission);
        }
        let packet = Packet { seq: segment, low: u64::from(size) | flags, ..Packet::default() };
        if let (Got::Lost, _) = self.wire.carry(now, self.leg, packet) {
            *self.lost += 1;
        }
    }

    fn transmit_syn(&mut self, now: u64) {
        if O::ON {
            let seen = Seen { flow: self.flow, seq: SYN, size: self.header, kind: Kind::Data };
            self.wire.observer.sent(now, seen, false);
        }
        let packet = Packet { seq: SYN, low: self.header.into(), ..Packet::default() };
        self.wire.carry(now, self.leg, packet);
    }
}

/// A run in progress.
pub struct Engine<O> {
    wire: Wire<O>,
    pub(crate) flows: Vec<Flow>,
    udp: Vec<Udp>,
    routes: Routes,
    timers: BinaryHeap<Reverse<(u64, Owner)>>,
    end: u64,
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
        let finite = network.flows.iter().filter(|f| f.app.bytes.is_some() || f.app.lifetime.is_some()).count();
        let waits = network.until_finished && finite > 0;
        let drains = waits && finite == network.flows.len() && network.udp.is_empty();
        let routes = Routes::compile(network, mode == Mode::Fused && (drains || !waits));
        let tree = WinnerTree::new(routes.feeds);
        let end = network.end.0.min(tree.horizon());
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
            feeds: vec![Feed::default(); routes.feeds],
            tree,
            legs: routes.legs.clone(),
            end,
            observer,
        };
        let flows: Vec<Flow> = network.flows.iter().map(Flow::new).collect();
        let udp = network.udp.iter().map(|config| Udp {
            interval: config.rate.time_for(config.size.into()).0,
            size: config.size,
            on: config.on.iter().map(|(from, until)| (from.0, until.0)).collect(),
            period: 0,
            sent: 0,
        });
        let mut engine = Self {
            wire,
            flows,
            udp: udp.collect(),
            routes,
            timers: BinaryHeap::new(),
            end,
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
                engine.timers.push(Reverse((from, Owner::Udp(source as u32))));
            }
        }
        engine
    }

    /// Runs to the end; returns when that was, nanoseconds.
    pub fn run(&mut self) -> u64 {
        self.run_events();
        match self.unfinished {
            Some(0) => self.finished_at,
            _ => self.end,
        }
    }

    fn run_events(&mut self) {
        let mut timer_at = self.next_timer();
        loop {
            match self.wire.tree.next() {
                Some((at, feed)) if at < timer_at && at < self.end => {
                    self.arrive(at, feed);
                    // The arrival may have armed an earlier timer.
                    if let Some(&Reverse((at, _))) = self.timers.peek() {
                        timer_at = at;
                    }
                }
                _ if timer_at < self.end => {
                    self.fire();
                    timer_at = self.next_timer();
                }
                _ => return,
            }
        }
    }

    fn next_timer(&self) -> u64 {
        self.timers.peek().map_or(u64::MAX, |Reverse((at, _))| *at)
    }

    /// The packet at the head of `feed` goes on.
    #[inline(always)]
    fn arrive(&mut self, at: u64, feed: usize) {
        let (packet, next) = self.wire.feeds[feed].pop();
        self.wire.tree.replace(feed, next);
        let leg = packet.leg;
        let flow = self.wire.legs[leg as usize].flow as usize;
        match self.wire.carry(at, leg, packet) {
            (Got::Away, _) => {}
            (Got::Receiver(at), packet) => self.at_receiver(at, flow, packet),
            (Got::Sender(at), packet) => self.at_sender(at, flow, packet),
            (Got::Lost, packet) => self.lose(leg, packet),
        }
    }

    #[cold]
    fn lose(&mut self, leg: u32, packet: Packet) {
        let leg = &self.wire.legs[leg as usize];
        if leg.ack_size == 0 && packet.seq != SYN {
            self.flows[leg.flow as usize].lost += 1;
        }
    }

    #[inline]
    fn at_receiver(&mut self, at: u64, flow: usize, packet: Packet) {
        if at >= self.end {
            return;
        }
        if O::ON {
            let seen =
                Seen { flow: flow as u32, seq: packet.seq, size: packet.low as u32, kind: Kind::Data };
            self.wire.observer.arrived(at, seen);
        }
        if packet.seq == SYN {
            return self.send_ack(at, flow, AckOut { seq: 0, low: packet::PUSH_SYN, high: 0 });
        }
        let due = self.flows[flow].receiver.due();
        if due <= at {
            let ack = self.flows[flow].receiver.on_timer();
            self.send_ack(due, flow, ack);
        }
        match self.flows[flow].receiver.on_data(at, packet.seq, packet.low) {
            Some(ack) => self.send_ack(at, flow, ack),
            None => self.arm_receiver(flow),
        }
    }

    #[inline]
    fn send_ack(&mut self, at: u64, flow: usize, ack: AckOut) {
        if O::ON {
            let size = self.wire.legs[self.routes.acks[flow] as usize].ack_size;
            let seen = Seen { flow: flow as u32, seq: ack.seq, size, kind: Kind::Ack };
            self.wire.observer.sent(at, seen, false);
        }
        let packet = Packet { seq: ack.seq, low: ack.low, high: ack.high, ..Packet::default() };
        if let (Got::Sender(at), packet) = self.wire.carry(at, self.routes.acks[flow], packet) {
            self.at_sender(at, flow, packet);
        }
    }

    #[inline]
    fn at_sender(&mut self, at: u64, flow: usize, packet: Packet) {
        if at >= self.end {
            return;
        }
        if O::ON {
            let size = self.wire.legs[self.routes.acks[flow] as usize].ack_size;
            let seen = Seen { flow: flow as u32, seq: packet.seq, size, kind: Kind::Ack };
            self.wire.observer.arrived(at, seen);
        }
        let leg = self.routes.data[flow];
        let target = &mut self.flows[flow];
        if at >= target.grid_at {
            target.record_grid(at, self.grid);
        }
        let ack = AckIn { seq: packet.seq, low: packet.low, high: packet.high };
        let (sender, mut port) = target.split(&mut self.wire, leg, flow);
        if ack.low & packet::PUSH_SYN == 0 {
            sender.on_ack(at, ack, &mut port);
        } else {
            sender.on_handshake(at, &mut port);
            target.begin_grid(self.grid);
        }
        self.after_action(at, flow);
    }

    /// What must follow whenever a sender has acted.
    #[inline]
    fn after_action(&mut self, at: u64, flow: usize) {
        let target = &self.flows[flow];
        if O::ON {
            self.wire.observer.acted(at, flow as u32, &target.sender);
        }
        if target.sender.next_check() < target.sender_armed {
            self.arm_sender(flow);
        }
        if target_finished(&self.flows[flow]) {
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
            self.end = self.finished_at + 1;
            self.wire.end = self.end;
        }
    }

    #[cold]
    fn arm_sender(&mut self, flow: usize) {
        let target = &mut self.flows[flow];
        target.sender_armed = target.sender.next_check();
        if target.sender_armed != u64::MAX {
            self.timers.push(Reverse((target.sender_armed, Owner::Sender(flow as u32))));
        }
    }

    #[inline]
    fn arm_receiver(&mut self, flow: usize) {
        let target = &mut self.flows[flow];
        let due = target.receiver.due();
        if due < target.receiver_armed {
            target.receiver_armed = due;
            self.timers.push(Reverse((due, Owner::Receiver(flow as u32))));
        }
    }

    /// The earliest timer fires. Endpoints that ran ahead have nothing left to do then.
    #[cold]
    #[inline(never)]
    fn fire(&mut self) {
        let Some(Reverse((at, owner))) = self.timers.pop() else { return };
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
            self.send_ack(at, flow, ack);
        } else if target.receiver.due() != u64::MAX {
            self.arm_receiver(flow);
        }
    }

    fn fire_udp(&mut self, at: u64, source: usize) {
        let udp = &mut self.udp[source];
        let packet = Packet { seq: SYN, high: UDP_MARK, ..Packet::default() };
        udp.sent += 1;
        let next = at + udp.interval;
        let next = if next < udp.on[udp.period].1 {
            Some(next)
        } else {
            udp.period += 1;
            udp.on.get(udp.period).map(|on| on.0)
        };
        if let Some(next) = next {
            self.timers.push(Reverse((next, Owner::Udp(source as u32))));
        }
        if O::ON {
            let seen = Seen { flow: source as u32, seq: SYN, size: udp.size, kind: Kind::Udp };
            self.wire.observer.sent(at, seen, false);
        }
        self.wire.carry(at, self.routes.udp[source], packet);
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

#[inline]
fn target_finished(flow: &Flow) -> bool {
    !flow.counted_finished && flow.sender.app().finished()
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
            lost: 0,
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
        let port =
            FlowPort { wire, leg, flow: flow as u32, header: self.header, mss, tail: self.tail, lost: &mut self.lost };
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
