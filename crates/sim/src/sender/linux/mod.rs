//! The sender of Linux 6.x: RACK-TLP (RFC 8985), PRR (RFC 6937), F-RTO (RFC 5682), and undo of spurious reductions
//! (RFC 4015, RFC 3708), over a mark for every segment in flight.
//!
//! An ACK is processed in the kernel's order, on which the window depends: delivered segments, lost segments, the state, the
//! window, then sending. `ack.rs` has that order; each other file is one step of it.

mod ack;
mod delivery;
mod detect;
mod initial_pace;
mod marks;
mod pacing;
mod probe;
mod reno;
mod split;
mod state;
mod timeout;
mod transmit;
mod undo;
mod usage;
mod wheel;

use super::app::App;
use super::common::Common;
use super::connection::{Connection, SenderKind};
use super::info::{CaState, Status};
use super::prr::Prr;
use super::rto::Rto;
use super::stack::Stack;
use super::stamps::Ring;
use super::{AckIn, Port};
use crate::alike::Alike;
use crate::packet::Blocks;
use delivery::DeliveryRate;
use detect::Detector;
use firstflight_contract::{Moment, Nanos, Signals};
use firstflight_host::chain::Chain;
use firstflight_schemes::registry::AnyPhase;
use initial_pace::InitialPace;
use std::collections::VecDeque;
use usage::Usage;

/// Duplicate ACKs, or SACKed segments, that mean a loss while nothing has been reordered.
const DUP_THRESH: u32 = 3;

/// Purpose of the armed timer. The kernel has one timer for all three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Armed {
    /// Retransmission (RFC 6298).
    Timeout,
    /// Tail loss probe (RFC 8985 section 7).
    Probe,
    /// End of the reordering window (RFC 8985 section 6.3).
    Reordering,
}

/// The part of a loss episode that may still be undone.
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    /// First unacknowledged segment when the window was reduced; `None` if there is nothing to undo.
    marker: Option<u32>,
    /// Retransmissions since then that have not been reported as duplicates; -1 before the first.
    retransmissions: i64,
    /// Departure of the first retransmission of the episode.
    first_retransmission: Moment,
    /// The threshold before; `None` if the reduction was for an ECN mark and stands.
    ssthresh: Option<u64>,
}

/// The state in a box: it is larger than that of the sender by the RFCs, which would take as much memory.
pub(crate) type Linux = Box<State>;

/// The state of one connection. Amounts are segments, times nanoseconds.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct State {
    pub(crate) state: CaState,
    /// Purpose of the sender's retransmission timer.
    pub(crate) armed: Armed,
    /// Time for which the timer was armed; zero once its lateness is counted in.
    wait: u64,
    /// Whether timers fire exactly when they are due. The kernel's fire late, by a time that depends on the phase of its
    /// clock, which a script cannot contain.
    pub(crate) punctual: bool,
    /// Segments the receiver reported to hold; without SACK, duplicate ACKs.
    pub(crate) sacked: u32,
    /// Segments declared lost and not acknowledged since, whether retransmitted or not.
    pub(crate) lost: u32,
    /// Retransmissions of these in flight.
    pub(crate) retrans: u32,
    pub(super) usage: Usage,
    pub(super) detector: Detector,
    /// The segment that last left with nothing outstanding: a short one's ACK may have been delayed.
    lone: u32,
    /// One past the highest SACKed segment, while there is one.
    highest: u32,
    /// The blocks of the last ACK: repeated blocks cost nothing.
    last: Blocks,
    /// Duplicate ACKs, or the distance in segments, below which disorder is no loss.
    pub(crate) reordering: u32,
    /// `snd_nxt` when the episode began (`high_seq`).
    high: u32,
    /// No lost segment below this waits for its retransmission.
    hint: u32,
    /// One past the highest segment ever declared lost.
    lost_end: u32,
    prr: Prr,
    undo: Undo,
    /// One past the tail that a probe tests; zero without a probe.
    probe_end: u32,
    /// Whether the probe was a retransmission.
    probe_retransmits: bool,
    /// A timeout may have been spurious (F-RTO).
    frto: bool,
    /// The receiver has reneged, and not everything has arrived again: there are no samples of the delivery rate.
    reneged: bool,
    /// Timeouts since the cumulative ACK last moved.
    timeouts: u32,
    /// The delivery-rate sampler, where a scheme asks for it.
    delivery: Option<Box<DeliveryRate>>,
    /// Retransmissions in order of time: the segment and its departure.
    retransmissions: VecDeque<(u32, u64)>,
    /// First departure of each segment that was retransmitted.
    first_left: Ring<u64>,
    /// Retransmissions since the connection began.
    total_retransmitted: u64,
    duplicates: u64,
    /// Largest window that the receiver has offered, segments.
    pub(crate) widest_window: u32,
    /// Bytes that the receiver has room for beyond the last whole segment.
    pub(crate) window_part: u32,
    initial_pace: InitialPace,
}

impl Default for State {
    fn default() -> Self {
        Self {
            state: CaState::Open,
            armed: Armed::Timeout,
            wait: 0,
            punctual: false,
            sacked: 0,
            lost: 0,
            retrans: 0,
            usage: Usage::default(),
            detector: Detector::default(),
            lone: 0,
            highest: 0,
            last: Blocks::default(),
            reordering: DUP_THRESH,
            high: 0,
            hint: 0,
            lost_end: 0,
            prr: Prr::default(),
            undo: Undo::default(),
            probe_end: 0,
            probe_retransmits: false,
            frto: false,
            reneged: false,
            timeouts: 0,
            delivery: None,
            retransmissions: VecDeque::new(),
            first_left: Ring::new(false),
            total_retransmitted: 0,
            duplicates: 0,
            widest_window: 0,
            window_part: 0,
            initial_pace: InitialPace::default(),
        }
    }
}

/// Segments that Linux sends before it begins to pace, the last of them counting already.
const UNPACED: u64 = 10;

impl Connection<Linux> {
    /// A connection that will begin when its application says so.
    pub(super) fn new(stack: Alike<Stack>, chain: Chain<AnyPhase>, app: App) -> Self {
        let needs = chain.needs();
        let delivery =
            needs.has(Signals::RATE).then(|| Box::new(DeliveryRate::new(needs.has(Signals::LOSSES))));
        Self {
            common: Common::new(stack.clone(), chain, app, Rto::linux(stack.rto), true),
            own: Box::new(State { delivery, ..State::default() }),
        }
    }
}

impl SenderKind for Connection<Linux> {
    const OFFERED: Signals = Signals::RTT
        .union(Signals::PACING)
        .union(Signals::SENT)
        .union(Signals::HANDSHAKE)
        .union(Signals::RATE)
        .union(Signals::LOSSES);

    #[inline(always)]
    fn on_next_ack(&mut self, now: u64, ack: u32, port: &mut impl Port) {
        debug_assert!(self.orderly && self.una < ack && ack <= self.max);
        self.acknowledge_in_order(now, ack, port);
    }

    fn on_other_ack(&mut self, now: u64, ack: AckIn, port: &mut impl Port) {
        if ack.seq < self.una {
            self.on_old_ack(now, &ack, port);
        } else {
            self.acknowledge(now, &ack, false, port);
        }
        self.orderly = self.is_orderly();
    }

    fn send(&mut self, now: u64, port: &mut impl Port) {
        self.send_lost_and_new(now, port);
    }

    fn on_retransmission_timer(&mut self, now: u64, port: &mut impl Port) {
        self.on_timer(now, port);
    }

    fn on_timer_started(&mut self) {
        self.own.armed = Armed::Timeout;
        // Not the wait of a timer that was stopped.
        self.own.wait = self.rto.timeout();
    }

    fn take_rtt(&mut self, sent: u64, now: u64) {
        let (una, nxt) = (self.una, self.nxt);
        self.rto.sample_linux(now - sent, una, nxt);
    }

    fn pace(&mut self, now: u64) {
        if self.own.initial_pace.is_kept() {
            self.keep_initial_pace();
        }
        let (rate, mss, begun) = (self.chain.control.pacing, self.mss, self.stats.sent >= UNPACED);
        self.pacer.on_sent_compensating(Nanos(now), rate, mss, begun);
    }

    fn on_noted_departure(&mut self, now: u64, segment: u32) {
        self.stamp_delivery(now, segment);
    }

    fn on_window(&mut self, now: u64) {
        self.own.usage.limited_at = Moment::at(Nanos(now));
    }

    fn on_start_up(&mut self) {
        self.update_pacing();
        self.begin_initial_pace();
    }

    fn on_write(&mut self) {
        self.note_application_limit();
    }

    fn shrink_after_idle(&mut self, now: u64, idle: u64) {
        // A first phase that rules idle times falls back on the restart window.
        if self.chain.resumes() {
            self.shrink_to_restart_window();
        } else {
            self.halve_after_idle(now, idle);
        }
    }

    fn send_opening(&mut self, now: u64, port: &mut impl Port) {
        self.send_one(now, port);
    }

    fn retransmit_opening(&mut self, now: u64, port: &mut impl Port) {
        // The marks of segments cannot go back: the data of the SYN is retransmitted by itself.
        self.nxt = self.max;
        self.note_first_departure(0);
        self.put_on_wire(now, 0, true, port);
    }

    /// `tcp_may_update_window`: a window that only becomes smaller is not believed, one of zero is.
    fn is_window_update(&self, old: u64, new: u64) -> bool {
        new > old || new == 0
    }

    fn on_window_update(&mut self, now: u64, port: &mut impl Port) {
        let ack = AckIn { seq: self.una, low: 0, high: 0 };
        self.acknowledge(now, &ack, true, port);
    }

    fn on_window_set(&mut self, segments: u32, part: u32) {
        self.own.widest_window = self.own.widest_window.max(segments);
        self.own.window_part = part;
    }

    fn become_driven(&mut self) {
        self.own.punctual = true;
    }

    fn status(&self) -> Status {
        Status {
            state: self.own.state,
            inflation: 0,
            sacked: self.own.sacked,
            lost: self.own.lost,
            retrans: self.own.retrans,
            reordering: self.own.reordering,
            rto: self.rto.timeout_in_ticks(),
        }
    }
}
