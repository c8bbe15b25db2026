//! Test bench: one sender and one receiver on a line with a fixed delay, no serialisation time, and the
//! losses that a test chooses. Every window can be computed by hand, and every time is a multiple of half the
//! round trip.

use super::{MS, stacks};
use firstflight_host::chain::Chain;
use firstflight_schemes::registry::AnyPhase;
use firstflight_sim::packet::DROPPABLE;
use firstflight_sim::receiver::{AckOut, AckPolicy, Receiver, Reports};
use firstflight_sim::sender::app::{App, AppConfig};
use firstflight_sim::sender::stack::{DataInSyn, Recovery, Stack};
use firstflight_sim::sender::{AckIn, Port, Segment, Sender};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Two-way delay of the line, milliseconds.
pub(crate) const RTT: u64 = 100;

/// Sequence number of a SYN, in place of a segment number.
pub(crate) const SYN: u32 = u32::MAX;

/// A packet in transit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Carried {
    Data { segment: u32, flags: u64 },
    Ack { seq: u32, low: u64, high: u64 },
    Established,
}

/// Configuration of the line and its endpoints.
pub(crate) struct Line {
    pub(crate) stack: Stack,
    pub(crate) app: AppConfig,
    pub(crate) acks: AckPolicy,
    pub(crate) chain: Chain<AnyPhase>,
    /// Lost copies: a segment, and the number of its earlier copies.
    pub(crate) lost: Vec<(u32, usize)>,
}

/// Chain of the schemes with these labels.
pub(crate) fn chain(labels: &[&str]) -> Chain<AnyPhase> {
    Chain::new(labels.iter().map(|label| AnyPhase::by_label(label).expect("registered")).collect())
        .expect("a chain")
}

/// A packet sent: time, milliseconds, and segment.
pub(crate) type Sent = (u64, u32);

impl Default for Line {
    /// RFC stack: unlimited data in segments of 1000 bytes, slow start and Reno, one ACK per segment.
    fn default() -> Self {
        Self {
            stack: stacks::rfc(),
            app: AppConfig::default(),
            acks: AckPolicy { every: 1, quick: 0, timer: 0 },
            chain: chain(&["slow-start", "reno"]),
            lost: vec![],
        }
    }
}

/// Port that records what the sender sends and carries packets that are not lost.
struct Wire<'a> {
    lost: &'a [(u32, usize)],
    sent: Vec<Sent>,
    /// For each packet, whether it was marked droppable.
    marked: Vec<bool>,
    in_transit: BinaryHeap<Reverse<(u64, usize, Carried)>>,
    count: usize,
}

impl Wire<'_> {
    fn carry(&mut self, now: u64, what: Carried) {
        self.count += 1;
        // The answer to a SYN is part of it: the pair takes a whole round trip.
        let delay = if what == Carried::Established { RTT } else { RTT / 2 };
        self.in_transit.push(Reverse((now + delay * MS, self.count, what)));
    }

    fn send(&mut self, now: u64, segment: u32, what: Carried) {
        let before = self.sent.iter().filter(|sent| sent.1 == segment).count();
        self.sent.push((now / MS, segment));
        if !self.lost.contains(&(segment, before)) {
            self.carry(now, what);
        }
    }
}

impl Port for Wire<'_> {
    fn transmit(&mut self, now: u64, segment: Segment, (flags, _): (u64, u64), _: bool) {
        self.marked.push(flags & DROPPABLE != 0);
        let segment = segment.number;
        self.send(now, segment, Carried::Data { segment, flags });
    }

    fn transmit_syn(&mut self, now: u64, _: (u64, u64)) {
        self.marked.push(false);
        self.send(now, SYN, Carried::Established);
    }
}

impl Line {
    /// Default line with this recovery, initial window and initial threshold.
    pub(crate) fn with(recovery: Recovery, initial_window: u32, ssthresh: Option<u32>) -> Self {
        let mut line = Self::default();
        line.stack = Stack { recovery, initial_window, initial_ssthresh: ssthresh, ..line.stack };
        line
    }

    /// Loses these copies.
    pub(crate) fn losing(mut self, lost: &[(u32, usize)]) -> Self {
        self.lost = lost.to_vec();
        self
    }

    /// Runs until `end`, milliseconds; returns the sender and the packets that it sent.
    pub(crate) fn run(&self, end: u64) -> (Sender, Vec<Sent>) {
        let (sender, wire) = self.go(end);
        (sender, wire.sent)
    }

    fn go(&self, end: u64) -> (Sender, Wire<'_>) {
        let mut sender = Sender::new(self.stack, self.chain.clone(), App::of(&self.app, &self.stack));
        let mut receiver = Receiver::new(self.acks, Reports::to(self.stack.recovery))
            .reading(self.stack.receive_window)
            .opened_by_data(self.stack.handshake && self.stack.data_in_syn != DataInSyn::Never);
        let mut wire =
            Wire { lost: &self.lost, sent: vec![], marked: vec![], in_transit: BinaryHeap::new(), count: 0 };
        loop {
            let arrival = wire.in_transit.peek().map_or(u64::MAX, |Reverse(next)| next.0);
            let now = arrival.min(sender.next_check()).min(receiver.due());
            if now > end * MS {
                return (sender, wire);
            }
            if now == sender.next_check() {
                sender.advance(now, &mut wire);
            } else if now == receiver.due() {
                let AckOut { seq, low, high } = receiver.on_timer();
                wire.carry(now, Carried::Ack { seq, low, high });
            } else if let Some(Reverse((_, _, carried))) = wire.in_transit.pop() {
                match carried {
                    Carried::Data { segment, flags } => {
                        if let Some(AckOut { seq, low, high }) = receiver.on_data(now, segment, (flags, 0)) {
                            wire.carry(now, Carried::Ack { seq, low, high });
                        }
                    }
                    Carried::Ack { seq, low, high } => {
                        sender.on_ack(now, AckIn { seq, low, high }, &mut wire);
                    }
                    Carried::Established => sender.on_handshake(now, 0, &mut wire),
                }
            }
        }
    }

    /// Packets sent until `end`, each with its droppable flag.
    pub(crate) fn sends_marked(&self, end: u64) -> Vec<(u64, u32, bool)> {
        let wire = self.go(end).1;
        wire.sent.into_iter().zip(wire.marked).map(|((at, segment), marked)| (at, segment, marked)).collect()
    }

    /// Packets sent until `end`, milliseconds.
    pub(crate) fn sends(&self, end: u64) -> Vec<Sent> {
        self.run(end).1
    }
}

/// Packets by time as a flat list: `[(100, &[1, 2])]` becomes `[(100, 1), (100, 2)]`.
pub(crate) fn at(times: &[(u64, &[u32])]) -> Vec<Sent> {
    times.iter().flat_map(|&(time, segments)| segments.iter().map(move |&segment| (time, segment))).collect()
}
