//! Event loop. Stages take turns, each running ahead of the others as far as [`crate::lookahead`] allows;
//! timers fire in between.

mod group;
mod plan;

use crate::ahead::touch;
use crate::config::Network;
use crate::flow::Flow;
use crate::header;
use crate::hop::Source;
use crate::observe::{Observer, Seen};
use crate::packet::{self, Packet};
use crate::receiver::AckOut;
use crate::route::{End, Leg, Routes};
use crate::sender::AckIn;
use crate::shared::Shared;
use crate::wire::{Content, SYN, UDP_MARK, Wire};
use firstflight_net::readings::LinkStats;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(crate) use plan::Plan;
use plan::{AfterLast, Share};

/// Whether consecutive hops are computed together or each as an event of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As few events as possible.
    Fused,
    /// One event per hop: slower, with the same result.
    PerHop,
}

/// Packets that leave a calendar together.
const GROUP: usize = 16;

/// Owner of a timer. Of timers due at the same time, the smaller owner's fires first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Sender(u32),
    Receiver(u32),
    Udp(u32),
}

/// A run in progress.
#[derive(Clone)]
pub(crate) struct Engine<'r, O> {
    wire: Wire<'r, O>,
    pub(crate) flows: Vec<Flow>,
    udp: Vec<Source>,
    routes: &'r Routes,
    /// Stages that this run processes.
    own: Vec<u32>,
    share: Option<Share>,
    /// Time before which nothing comes from other threads.
    limit: u64,
    timers: BinaryHeap<Reverse<(u64, Owner)>>,
    /// Time of the earliest timer.
    timer_at: u64,
    grid: u64,
    /// State shared between connections, if any.
    shared: Option<Box<Shared>>,
    /// Finite flows not yet finished; `None` if the run does not end with them.
    unfinished: Option<usize>,
    after_last: AfterLast,
    /// Whether the run is left.
    left: bool,
    finished_at: u64,
    /// Ends the run soon after it becomes true.
    stop: Option<Arc<AtomicBool>>,
    /// Sender before whose next timer the run pauses, if any.
    pause: Option<u32>,
}

impl<'r, O: Observer> Engine<'r, O> {
    /// Creates a run of `network` in which nothing has been sent. `until` is the end of its last flow, if that is known: the
    /// run then ends after that instant.
    pub(crate) fn new(network: &Network, plan: &'r Plan, until: Option<u64>, observer: O) -> Self {
        let mut wire = Wire::new(network, &plan.routes, observer);
        wire.end_with(network, until);
        let mut engine = Self {
            wire,
            flows: network.flows.iter().map(|flow| Flow::new(flow, network)).collect(),
            udp: network.udp.iter().map(Source::new).collect(),
            routes: &plan.routes,
            own: vec![],
            share: plan.share.clone(),
            limit: u64::MAX,
            timers: BinaryHeap::new(),
            timer_at: u64::MAX,
            grid: network.grid.0,
            shared: Shared::is_needed(network).then(|| Box::new(Shared::of(network))),
            unfinished: plan.finite.filter(|_| until.is_none()),
            after_last: plan.after_last,
            left: false,
            finished_at: 0,
            stop: network.stop.clone(),
            pause: None,
        };
        let share = plan.share.as_ref();
        let stages = 0..engine.wire.clocks.stages() as u32;
        engine.own = stages.filter(|&stage| Share::has(share, |of| &of.stages, stage as usize)).collect();
        for flow in (0..engine.flows.len()).filter(|&flow| Share::has(share, |of| &of.senders, flow)) {
            engine.arm_sender(flow);
        }
        for source in (0..engine.udp.len()).filter(|&source| Share::has(share, |of| &of.udp, source)) {
            if let Some(from) = engine.udp[source].first() {
                engine.set_timer(from, Owner::Udp(source as u32));
            }
        }
        engine
    }

    /// Runs to the end; returns the end time, nanoseconds.
    pub(crate) fn run(&mut self) -> u64 {
        self.run_events();
        self.ended_at()
    }

    /// Time at which a run that is over has ended.
    pub(crate) fn ended_at(&self) -> u64 {
        match self.unfinished {
            Some(0) => self.finished_at,
            _ => self.wire.end,
        }
    }

    /// Whether anything has happened after `end`, the end of the run. The end of a last flow is known only when it comes:
    /// a network that drains goes on, and a host that wakes or processes ACKs has sent its answer ahead of the clock.
    pub(crate) fn has_run_past(&self, end: u64) -> bool {
        let ahead =
            || self.flows.iter().any(|flow| flow.receiver.awake_at() > end || flow.processes_until() > end);
        self.unfinished == Some(0)
            && (ahead() || self.after_last == AfterLast::Drains && self.wire.has_run_past(end))
    }

    /// Whether the run ends with its last finite flow, so that its end is known only then.
    pub(crate) fn ends_with_flows(&self) -> bool {
        self.unfinished.is_some()
    }

    /// Whether the last finite flow, with which the run ends, has finished.
    pub(crate) fn has_finished(&self) -> bool {
        self.unfinished == Some(0)
    }

    /// Whether connections share state.
    pub(crate) fn shares_state(&self) -> bool {
        self.shared.is_some()
    }

    /// Runs until the first timer of `flow` is the next event; whether that comes before the end of the run.
    pub(crate) fn run_until_it_begins(&mut self, flow: u32) -> bool {
        self.pause = Some(flow);
        self.run_events();
        let paused = self.is_paused();
        self.pause = None;
        paused
    }

    /// Whether the run pauses before the timer that is due.
    fn is_paused(&self) -> bool {
        let of = |Reverse((_, owner)): &Reverse<(u64, Owner)>| *owner;
        self.pause.is_some_and(|flow| self.timers.peek().map(of) == Some(Owner::Sender(flow)))
    }

    /// Goes on as a run of `network`: flows that have not begun are made anew, those that have may write another amount, and
    /// the end of the run is that of `network`.
    pub(crate) fn become_run_of(&mut self, network: &Network) {
        for (flow, config) in self.flows.iter_mut().zip(&network.flows) {
            if flow.has_begun() {
                flow.go_on_as(config);
            } else {
                *flow = flow.anew(config, network);
            }
        }
        self.wire.end_with(network, None);
        self.stop.clone_from(&network.stop);
    }

    /// The run without its routes, until [`Self::over`] gives them back.
    pub(crate) fn detached(self) -> Engine<'static, O> {
        static NOWHERE: Routes = Routes::NONE;
        let Self {
            flows,
            udp,
            own,
            share,
            limit,
            timers,
            timer_at,
            grid,
            shared,
            unfinished,
            after_last,
            left,
            finished_at,
            stop,
            ..
        } = self;
        Engine {
            wire: self.wire.detached(),
            flows,
            udp,
            routes: &NOWHERE,
            own,
            share,
            limit,
            timers,
            timer_at,
            grid,
            shared,
            unfinished,
            after_last,
            left,
            finished_at,
            stop,
            pause: self.pause,
        }
    }

    /// The run over the routes of `plan`, for which it was made.
    pub(crate) fn over(self, plan: &'r Plan) -> Self {
        Self { wire: self.wire.over(&plan.routes), routes: &plan.routes, ..self }
    }

    fn run_events(&mut self) {
        loop {
            if self.left || O::ON && self.wire.observer.is_full() {
                return;
            }
            // Once for many packets: a read in every turn costs nothing that can be measured.
            if self.is_stopped() {
                return;
            }
            let next = self.wire.clocks.earliest();
            let end = self.wire.end.min(self.limit);
            if self.timer_at <= next {
                if self.timer_at >= end || self.is_paused() {
                    return;
                }
                self.fire();
                continue;
            }
            if next >= end {
                return;
            }
            for index in 0..self.own.len() {
                let stage = self.own[index] as usize;
                // Before this time nothing arrives at the stage except the packets already in its feeds.
                let first = (self.timer_at, self.limit);
                let bound = self.wire.clocks.look_ahead(stage, &self.routes.ahead, next, first);
                let until = bound.min(end);
                if !self.wire.clocks.is_due(stage, until) {
                    continue;
                }
                if self.routes.senders == Some(stage) {
                    self.take_senders_turn(stage, until);
                } else if self.wire.has_calendar(stage) {
                    self.take_turn_in_groups(stage, until);
                } else {
                    self.take_turn(stage, until);
                }
            }
        }
    }

    /// Senders that share state process their ACKs and timers in order of time: all ACKs of an instant that
    /// has begun, then the timers.
    fn take_senders_turn(&mut self, stage: usize, until: u64) {
        let mut bound = until.min(self.timer_at);
        while let Some(packet) = self.wire.take_before(stage, bound) {
            let content = Content { seq: packet.seq, low: packet.low, high: packet.high };
            self.straight_to_sender(packet.at, self.wire.leg(packet.leg), content);
            bound = until.min(self.timer_at.max(packet.at + 1));
        }
        self.wire.rest(stage);
    }

    /// Processes the arrivals at a stage before `until`.
    #[inline(never)]
    fn take_turn(&mut self, stage: usize, until: u64) {
        while let Some(packet) = self.wire.take_before(stage, until) {
            self.go_on(&packet);
        }
        self.wire.rest(stage);
    }

    /// The same at a stage with a calendar, in groups of packets. Each packet touches a flow that has left the caches since its last
    /// one: the memory for a whole group is asked for at once, and the packets of the group wait for it together.
    #[inline(never)]
    fn take_turn_in_groups(&mut self, stage: usize, until: u64) {
        let mut group = [Packet::default(); GROUP];
        loop {
            let count = self.wire.take_group(stage, until, &mut group);
            for packet in &group[..count] {
                let leg = self.wire.leg(packet.leg);
                self.wire.expect_over(leg);
                touch(self.wire.leg(leg.next));
                let flow = &self.flows[leg.flow as usize];
                match leg.end {
                    End::Receiver => flow.expect_data(),
                    End::Sender => flow.expect_ack(),
                    _ => {}
                }
            }
            for packet in &group[..count] {
                let leg = self.wire.leg(packet.leg);
                if leg.end == End::Receiver || leg.end == End::Sender {
                    self.wire.expect_over(self.wire.leg(leg.next));
                }
            }
            for packet in &group[..count] {
                self.go_on(packet);
            }
            if count < GROUP {
                return self.wire.rest_in_calendar(stage);
            }
        }
    }

    /// Carries a packet that has waited over its next leg.
    #[inline(always)]
    fn go_on(&mut self, packet: &Packet) {
        let leg = self.wire.leg(packet.leg);
        let mut content = Content { seq: packet.seq, low: packet.low, high: packet.high };
        let size = match leg.ack_size {
            0 => content.low as u32,
            bare => packet::ack_size(bare, content.low, content.high),
        };
        let Some(at) = self.wire.carry(packet.at, leg, size, &mut content) else { return };
        if leg.end == End::Receiver {
            self.at_receiver(at, leg, content);
        } else {
            self.at_sender(at, leg, content);
        }
    }

    #[inline(always)]
    fn at_receiver(&mut self, at: u64, leg: &Leg, packet: Content) {
        if O::ON {
            self.wire.observer.arrived(at, Seen::data(leg.flow, packet.seq, packet.low));
        }
        let receiver = &mut self.flows[leg.flow as usize].receiver;
        if receiver.due() <= at || packet.seq == SYN {
            return self.at_receiver_late(at, leg, packet);
        }
        let answers_at = receiver.answers_at(at);
        match receiver.on_data(at, packet.seq, (packet.low, packet.high)) {
            Some(ack) => self.send_ack(answers_at, leg.next, ack),
            None => self.arm_receiver(leg.flow as usize),
        }
    }

    /// Slow path: the packet is a SYN, or a delayed ACK was due before it.
    #[cold]
    #[inline(never)]
    fn at_receiver_late(&mut self, at: u64, leg: &Leg, packet: Content) {
        let flow = leg.flow as usize;
        let due = self.flows[flow].receiver.due();
        if due <= at {
            let ack = self.flows[flow].receiver.on_timer();
            self.send_ack_late(due, leg.next, ack);
        }
        if packet.seq == SYN {
            self.flows[flow].receiver.on_syn(at);
            let high = header::echo_of_syn(packet.low, packet.high);
            return self.send_ack(at, leg.next, AckOut { seq: 0, low: packet::PUSH_SYN, high });
        }
        let answers_at = self.flows[flow].receiver.answers_at(at);
        match self.flows[flow].receiver.on_data(at, packet.seq, (packet.low, packet.high)) {
            Some(ack) => self.send_ack_late(answers_at, leg.next, ack),
            None => self.arm_receiver(flow),
        }
    }

    #[cold]
    #[inline(never)]
    fn send_ack_late(&mut self, at: u64, leg: u32, ack: AckOut) {
        self.send_ack(at, leg, ack);
    }

    #[inline(always)]
    fn send_ack(&mut self, at: u64, leg: u32, ack: AckOut) {
        // A host that wakes may answer after the end of the run.
        if at >= self.wire.end {
            return;
        }
        let leg = self.wire.leg(leg);
        let size = packet::ack_size(leg.ack_size, ack.low, ack.high);
        if O::ON {
            let seen = Seen::ack(leg.flow, ack.seq, size, (ack.low, ack.high));
            self.wire.observer.sent(at, seen, false);
        }
        let mut content = Content { seq: ack.seq, low: ack.low, high: ack.high };
        if let Some(at) = self.wire.carry(at, leg, size, &mut content) {
            self.straight_to_sender(at, leg, content);
        }
    }

    /// Delivers an ACK that passed no stage since its receiver.
    #[inline(never)]
    fn straight_to_sender(&mut self, at: u64, leg: &Leg, packet: Content) {
        self.at_sender(at, leg, packet);
    }

    #[inline(always)]
    fn at_sender(&mut self, at: u64, leg: &Leg, packet: Content) {
        if O::ON {
            self.fire_before(at, leg);
            let size = packet::ack_size(leg.ack_size, packet.low, packet.high);
            let seen = Seen::ack(leg.flow, packet.seq, size, (packet.low, packet.high));
            let offered = self.flows[leg.flow as usize].receiver.offered(packet.seq).at(packet.seq);
            self.wire.observer.arrived(at, Seen { offered, ..seen });
        }
        let target = &mut self.flows[leg.flow as usize];
        target.pass_window(packet.seq);
        target.keep_grid(at, self.grid);
        let ack = AckIn { seq: packet.seq, low: packet.low, high: packet.high };
        if self.shared.is_some() || !target.sender.expects(at, &ack) {
            return self.at_sender_unexpected(at, leg, ack);
        }
        let (sender, mut port) = target.split(&mut self.wire, leg.next);
        sender.on_next_ack(at, ack.seq, &mut port);
        self.acted(at, leg.flow);
    }

    /// Fires the timers that an ACK which arrives at `at` finds due, so that the observer sees the sender's events in order of
    /// time. Without an observer the sender fires them itself, and senders that share state have fired them by now.
    #[inline(always)]
    fn fire_before(&mut self, at: u64, leg: &Leg) {
        let target = &mut self.flows[leg.flow as usize];
        if target.sender.next_check() <= at && self.shared.is_none() {
            let (sender, mut port) = target.split(&mut self.wire, leg.next);
            sender.advance(at, &mut port);
        }
    }

    /// Slow path: anything but the ACK of the next segments.
    #[inline(never)]
    fn at_sender_unexpected(&mut self, at: u64, leg: &Leg, ack: AckIn) {
        // The sender runs ahead of the clock here: no later event changes when the host comes to this ACK.
        let Some(at) = self.flows[leg.flow as usize].processed_at(at, &ack, self.grid) else { return };
        if at >= self.wire.end {
            return;
        }
        self.before(at, leg.flow as usize);
        self.wire.note_late(at);
        let target = &mut self.flows[leg.flow as usize];
        let (sender, mut port) = target.split(&mut self.wire, leg.next);
        if ack.low & packet::PUSH_SYN == 0 {
            sender.on_ack(at, ack, &mut port);
        } else {
            sender.on_handshake(at, ack.high, &mut port);
        }
        target.begin_grid(self.grid);
        self.after(at, leg.flow as usize);
        self.acted(at, leg.flow);
        self.share_out(at, leg.flow as usize);
    }

    /// Gives a sender the shared state before it acts.
    #[inline]
    fn before(&mut self, at: u64, flow: usize) {
        if let Some(shared) = &mut self.shared {
            shared.before(at, flow, &mut self.flows);
        }
    }

    /// Updates the shared state after a sender has acted.
    #[inline]
    fn after(&mut self, at: u64, flow: usize) {
        if let Some(shared) = &mut self.shared {
            shared.after(at, flow, &mut self.flows);
        }
    }

    /// Time of the last event of a run that is left; later than any if it is not.
    pub(crate) fn left_at(&self) -> u64 {
        if self.left { self.finished_at } else { u64::MAX }
    }

    /// Lets the senders that share a window with `flow` use its room.
    #[inline]
    fn share_out(&mut self, at: u64, flow: usize) {
        while let Some(next) = self.shared.as_mut().and_then(|shared| shared.grant(at, flow, &mut self.flows))
        {
            let (sender, mut port) = self.flows[next].split(&mut self.wire, self.routes.data[next]);
            let before = sender.stats().sent;
            sender.sharing().send_some(at, 1, &mut port);
            let sent = sender.stats().sent > before;
            if let Some(shared) = &mut self.shared {
                shared.sent(next, &self.flows);
            }
            self.acted(at, next as u32);
            if !sent {
                return;
            }
        }
    }

    /// Reports that a sender has acted.
    #[inline(always)]
    fn acted(&mut self, at: u64, flow: u32) {
        let target = &self.flows[flow as usize];
        if O::ON {
            self.wire.observer.acted(at, flow, &target.sender);
        }
        if target.sender.next_check() < target.sender_armed
            || target.sender.finished() && !target.counted_finished
        {
            self.settle(flow as usize);
        }
    }

    /// Rearms the timer of a sender that acted, and records the end of its flow.
    #[cold]
    #[inline(never)]
    fn settle(&mut self, flow: usize) {
        let target = &mut self.flows[flow];
        let finishes = target.sender.finished() && !target.counted_finished;
        target.counted_finished |= finishes;
        if target.sender.next_check() < target.sender_armed {
            self.arm_sender(flow);
        }
        if finishes {
            let at = self.flows[flow].sender.finished_at();
            self.finish(at);
        }
    }

    fn finish(&mut self, at: u64) {
        self.finished_at = self.finished_at.max(at);
        let Some(left) = &mut self.unfinished else { return };
        *left -= 1;
        if *left > 0 {
            return;
        }
        match self.after_last {
            AfterLast::Ends => self.wire.end = self.finished_at + 1,
            AfterLast::Drains => {}
            AfterLast::Leaves => self.left = true,
        }
    }

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

    #[cold]
    #[inline(never)]
    fn set_timer(&mut self, at: u64, owner: Owner) {
        self.timers.push(Reverse((at, owner)));
        self.timer_at = self.timer_at.min(at);
    }

    /// Fires the earliest timer. Endpoints that ran ahead have no earlier event left.
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
        let target = &mut self.flows[flow];
        if at != target.sender_armed {
            // This entry has been replaced by an earlier one.
            return;
        }
        target.sender_armed = u64::MAX;
        // A timer fires at least once a timeout: soon after start-up no more drops are kept.
        self.wire.first_lost_below[flow] = target.sender.exit_segment().unwrap_or(u32::MAX);
        let due = target.sender.next_check() <= at;
        if due {
            target.keep_grid(at, self.grid);
            self.before(at, flow);
            let target = &mut self.flows[flow];
            let (sender, mut port) = target.split(&mut self.wire, self.routes.data[flow]);
            sender.advance(at, &mut port);
            target.begin_grid(self.grid);
            self.after(at, flow);
            if O::ON {
                self.wire.observer.acted(at, flow as u32, &self.flows[flow].sender);
            }
        }
        self.settle(flow);
        if due {
            self.share_out(at, flow);
        }
    }

    fn fire_receiver(&mut self, at: u64, flow: usize) {
        let target = &mut self.flows[flow];
        if at != target.receiver_armed {
            return;
        }
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
        let size = udp.size();
        if let Some(next) = udp.after(at) {
            self.set_timer(next, Owner::Udp(source as u32));
        }
        if O::ON {
            self.wire.observer.sent(at, Seen::udp(source as u32, size), false);
        }
        let leg = self.wire.leg(self.routes.udp[source]);
        self.wire.carry(at, leg, size, &mut content);
    }

    /// Data packets of `flow` dropped by queues or lost on wires.
    pub(crate) fn lost(&self, flow: usize) -> u64 {
        self.wire.lost[flow]
    }

    /// Data packets of `flow` dropped by queues or lost on wires, of those first sent before its start-up ended; while
    /// start-up lasts, of all first transmissions. `index` is the number of the flow.
    pub(crate) fn lost_before_exit(&self, index: usize, flow: &Flow) -> u64 {
        let end = flow.sender.exit_segment().unwrap_or(u32::MAX);
        self.wire.first_lost[index].iter().filter(|&&segment| segment < end).count() as u64
    }

    /// Gives the memory of the packets on their way back: the run is over.
    pub(crate) fn forget_packets(&mut self) {
        self.wire.forget_packets();
    }

    /// Counters of each link at `end`, and its readings.
    pub(crate) fn link_stats(&self, end: u64) -> impl Iterator<Item = (LinkStats, Vec<LinkStats>)> {
        self.wire.link_stats(end)
    }

    /// Returns the observer at the end of the run.
    pub(crate) fn into_observer(self) -> O {
        self.wire.observer
    }
}
