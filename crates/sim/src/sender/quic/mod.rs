//! The sender of QUIC: loss detection and congestion control of RFC 9002, over the packets in the order of their numbers.
//!
//! Windows, and all that is in flight, count bytes of UDP payload. The data is a stream, which is cut into datagrams as they
//! leave, so that their size can change. The data of a lost datagram is retransmitted in a packet with a new number.
//!
//! Simplifications: a datagram without data (a probe of the path MTU, tickets) has a place in the order of the stream; where it is
//! lost, a packet of [`datagrams::STUB`] bytes takes the place. A lost datagram leaves again as it was cut. The delay that an ACK reports is not on the wire: of an ACK of one packet
//! the longest delay of the peer is taken off its round-trip time, where that leaves more than the smallest one.

mod ack;
mod datagrams;
mod loss;
mod send;
mod tokens;

use super::app::App;
use super::common::{Common, Flight};
use super::connection::{Connection, SenderKind};
use super::info::{CaState, Status};
use super::prr::Prr;
use super::rto::Rto;
use super::stack::{Datagrams, Pacing, Stack};
use super::stamps::Ring;
use super::{AckIn, Port};
use crate::alike::Alike;
use datagrams::Sizes;
use firstflight_contract::{Lost, Nanos, Rate, Signals};
use firstflight_host::chain::Chain;
use firstflight_host::episode::Episodes;
use firstflight_host::rate_sampler::{RateSampler, Stamp};
use firstflight_schemes::registry::AnyPhase;
use loss::Purpose;
use std::collections::{BTreeSet, VecDeque};
use tokens::Bucket;

/// Fate of a packet, as far as the sender knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Out,
    Delivered,
    Lost,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Packet {
    segment: u32,
    /// Its UDP payload, as far as windows count it.
    bytes: u32,
    /// Time at which it left, nanoseconds.
    at: u64,
    fate: Fate,
    /// State of the delivery when it left, where a scheme asks for rates.
    stamp: Stamp,
    /// What was lost and in flight when it left.
    flight: Flight,
}

/// The state in a box: it is larger than that of the sender by the RFCs, which would take as much memory.
pub(crate) type Quic = Box<State>;

/// The state of one connection. Times are nanoseconds, amounts bytes of UDP payload.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct State {
    /// The stack's datagrams.
    rules: Box<Datagrams>,
    /// Packets from the oldest one in flight on, in the order of their numbers.
    packets: VecDeque<Packet>,
    /// Number of the first of them.
    oldest: u64,
    /// Number of the newest packet of each segment.
    newest: Ring<u64>,
    /// Largest packet number that was acknowledged.
    acknowledged: Option<u64>,
    in_flight: u64,
    /// Segments whose newest packet was declared lost.
    lost: BTreeSet<u32>,
    /// Segments beyond the cumulative ACK that have arrived.
    beyond: u32,
    episodes: Episodes,
    /// First packet number after the beginning of the last episode.
    recovers: u64,
    /// Bytes declared lost in that episode.
    lost_bytes: u64,
    /// The reduction of that episode, where it is proportional, and what it lets leave beside the window.
    prr: Prr,
    allowed: u64,
    /// The state before that reduction, if it may be undone.
    before: Option<Before>,
    /// Packets declared lost.
    losses: u64,
    /// Purpose of the timer.
    purpose: Purpose,
    /// Probe timeouts since the last ACK of something new.
    timeouts: u32,
    /// Packets that leave whatever the window, because a probe timeout passed.
    probes: u32,
    /// The newest sample of the round-trip time.
    latest: u64,
    /// Departure of the first packet after the first sample of the round-trip time: persistent congestion begins no earlier.
    sampled_at: u64,
    /// The window or the pacer ended the last attempt to send.
    blocked: bool,
    /// The window alone ended it.
    full: bool,
    sizes: Sizes,
    bucket: Bucket,
    /// The sampler of delivery rates, where a scheme asks for it.
    sampler: Option<Box<RateSampler>>,
    /// Losses that a scheme asks for and has not been told, without time and delivered bytes; and what was lost and in flight when the
    /// newest packet of the present ACK left.
    waiting: Option<Vec<Lost>>,
    flight: Flight,
}

/// The state before a reduction.
#[derive(Clone, Copy, Debug)]
struct Before {
    episodes: Episodes,
    recovers: u64,
    window: u64,
    losses: u64,
}

impl State {
    /// Number of the next packet.
    fn next(&self) -> u64 {
        self.oldest + self.packets.len() as u64
    }
}

impl Connection<Quic> {
    /// A connection that will begin when its application says so.
    pub(super) fn new(stack: Alike<Stack>, chain: Chain<AnyPhase>, app: App) -> Self {
        let rules =
            stack.rules.datagrams.expect("a stack whose losses are found by packet numbers has datagrams");
        let mut common = Common::new(stack.clone(), chain, app, Rto::new(stack.rto), true);
        // Every ACK takes the long path, and all amounts are bytes.
        (common.orderly, common.has_short_path) = (false, false);
        common.unit = 1;
        let own = Box::new(State {
            sampler: common.chain.needs().has(Signals::RATE).then(Box::default),
            sizes: Sizes::of(&rules, stack.largest_datagram),
            rules: Box::new(rules),
            packets: VecDeque::new(),
            oldest: 0,
            newest: Ring::new(true),
            acknowledged: None,
            in_flight: 0,
            lost: BTreeSet::new(),
            beyond: 0,
            episodes: Episodes::default(),
            recovers: 0,
            lost_bytes: 0,
            prr: Prr::default(),
            allowed: 0,
            before: None,
            losses: 0,
            purpose: Purpose::Probe,
            timeouts: 0,
            probes: 0,
            latest: 0,
            sampled_at: u64::MAX,
            blocked: false,
            full: false,
            waiting: common.chain.needs().has(Signals::LOSSES).then(Vec::new),
            flight: Flight::default(),
            bucket: Bucket::of(&stack),
        });
        Self { common, own }
    }

    /// The rate at which a stack that paces sends now, for its registers.
    fn update_pacing(&mut self) {
        let Pacing::Tokens(rule) = self.stack.rules.pacing else { return };
        let srtt = self.rto.srtt();
        if srtt > 0 {
            let control = &mut self.common.chain.control;
            control.pacing = rule_rate(control.cwnd, rule.percent_at(control.cwnd < control.ssthresh), srtt);
        }
    }
}

fn rule_rate(window: u64, percent: u64, srtt: u64) -> Rate {
    Rate::of(firstflight_contract::mul_div(window, percent, 100), Nanos(srtt)).max(Rate(1))
}

impl SenderKind for Connection<Quic> {
    const OFFERED: Signals = Signals::RTT
        .union(Signals::PACING)
        .union(Signals::RATE)
        .union(Signals::LOSSES)
        .union(Signals::SENT)
        .union(Signals::HANDSHAKE);

    fn on_next_ack(&mut self, now: u64, ack: u32, port: &mut impl Port) {
        self.acknowledge(now, &AckIn { seq: ack, low: 0, high: 0 }, port);
    }

    fn on_other_ack(&mut self, now: u64, ack: AckIn, port: &mut impl Port) {
        self.acknowledge(now, &ack, port);
    }

    fn send(&mut self, now: u64, port: &mut impl Port) {
        self.send_lost_and_new(now, port);
    }

    fn on_retransmission_timer(&mut self, now: u64, port: &mut impl Port) {
        self.on_loss_timer(now, port);
    }

    fn take_rtt(&mut self, sent: u64, now: u64) {
        self.own.latest = now - sent;
        if self.own.sampled_at == u64::MAX {
            self.own.sampled_at = now;
        }
        self.rto.sample(sent, now);
    }

    fn pace(&mut self, _now: u64) {}

    fn on_noted_departure(&mut self, _now: u64, _segment: u32) {}

    fn on_begin(&mut self, now: u64) {
        self.own.bucket.begin(now);
    }

    fn on_window(&mut self, _now: u64) {}

    fn on_start_up(&mut self) {
        self.update_pacing();
        if self.max == 0 {
            let handshake = self.own.rules.handshake;
            self.chain.control.cwnd += handshake;
            self.place_opening();
        }
    }

    fn shrink_after_idle(&mut self, _now: u64, _idle: u64) {
        self.shrink_to_restart_window();
    }

    fn discard_timed_segment(&mut self) {}

    fn send_opening(&mut self, _now: u64, _port: &mut impl Port) {
        unreachable!("no data leaves with the first packet of a QUIC connection");
    }

    fn retransmit_opening(&mut self, _now: u64, _port: &mut impl Port) {
        unreachable!("no data leaves with the first packet of a QUIC connection");
    }

    fn is_window_update(&self, old: u64, new: u64) -> bool {
        new > old
    }

    fn on_window_update(&mut self, now: u64, port: &mut impl Port) {
        self.send_lost_and_new(now, port);
    }

    fn status(&self) -> Status {
        let recovering = self.own.acknowledged.is_some_and(|newest| newest < self.own.recovers);
        Status {
            state: match (self.own.timeouts, recovering) {
                (0, false) if self.own.beyond > 0 => CaState::Disorder,
                (0, false) => CaState::Open,
                (0, true) => CaState::Recovery,
                _ => CaState::Loss,
            },
            inflation: 0,
            sacked: self.own.beyond,
            lost: self.own.lost.len() as u32,
            retrans: 0,
            reordering: self.threshold() as u32,
            rto: self.probe_timeout(),
        }
    }
}
