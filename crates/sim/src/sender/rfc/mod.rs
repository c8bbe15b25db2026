//! The sender by the RFCs, and by ns-2's rules where the stack asks for them: one file for each kind of recovery.

mod ack;
mod duplicates;
mod newreno;
mod ns2;
mod sack;
mod sack1;
mod timeout;
mod validation;
mod window;

use super::app::App;
use super::common::Common;
use super::connection::{Connection, SenderKind};
use super::info::{CaState, Status};
use super::rto::Rto;
use super::scoreboard::Scoreboard;
use super::stack::{IdleRestart, RecoveryRule, Stack};
use super::{AckIn, Port};
use crate::alike::Alike;
use firstflight_contract::{Nanos, Signals, Trigger};
use firstflight_host::chain::Chain;
use firstflight_host::episode::OncePerWindow;
use firstflight_schemes::registry::AnyPhase;
use validation::Validation;

/// Duplicate ACKs that count as a loss (RFC 5681's DupThresh).
const DUP_THRESH: u32 = 3;

/// State of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossState {
    /// No segment is known to be lost.
    Open,
    /// Fast recovery.
    Recovery,
    /// After a timeout, until everything sent before it is acknowledged.
    Loss,
}

/// The state of the RFC sender.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Rfc {
    /// The segment being timed, `u32::MAX` if none, and its departure.
    timed: u32,
    timed_at: u64,
    /// The last attempt to send ended at the window, not at the application's end: all that was in flight then used the window.
    pub(crate) limited: bool,
    /// One past the last segment that was in flight when an attempt to send last ended at the window, unless `limited`.
    used_window: u32,
    /// Bytes of the window that other connections have in flight, where it is shared (`shared/window.rs`).
    pub(crate) elsewhere: u64,
    // The fields below are touched only out of order, or rarely.
    pub(crate) loss_state: LossState,
    board: Scoreboard,
    dup_acks: u32,
    /// Segments outstanding when the first of them came.
    flight_at_dup: u32,
    /// Segments above `una` that duplicate ACKs without SACK stand for, and one past the highest that they can be.
    early: u32,
    early_end: u32,
    /// Segments by which duplicate ACKs inflate the window (RFC 5681 section 3.2).
    inflation: u32,
    /// ns-2's running pipe; RFC 6675's is computed.
    pipe: i64,
    /// One past the highest segment sent when the last episode began.
    recover: u32,
    partial_seen: bool,
    rescued: bool,
    after_timeout: bool,
    marks: OncePerWindow,
    /// The last reduction of the window (ns-2's `last_cwnd_action_`).
    reduced_for: Option<Trigger>,
    /// The ACK at hand echoes a mark, and may not enlarge the window.
    echoed: bool,
    validation: Validation,
    /// The first segment not acknowledged when sending resumed after the last idle time.
    resumed: u32,
    /// Slow start that a timeout began has not ended.
    slow_after_timeout: bool,
}

impl Connection<Rfc> {
    /// A connection that will begin when its application says so.
    pub(super) fn new(stack: Alike<Stack>, chain: Chain<AnyPhase>, app: App) -> Self {
        let stamped = stack.rules.rtt_per_ack || chain.needs().has(Signals::RTT);
        let own = Rfc {
            timed: u32::MAX,
            timed_at: 0,
            limited: false,
            used_window: 0,
            elsewhere: 0,
            loss_state: LossState::Open,
            board: Scoreboard::default(),
            dup_acks: 0,
            flight_at_dup: 0,
            early: 0,
            early_end: 0,
            inflation: 0,
            pipe: 0,
            recover: 0,
            partial_seen: false,
            rescued: false,
            after_timeout: false,
            marks: OncePerWindow::default(),
            reduced_for: None,
            echoed: false,
            validation: Validation::default(),
            resumed: 0,
            slow_after_timeout: false,
        };
        Self { common: Common::new(stack.clone(), chain, app, Rto::new(stack.rto), stamped), own }
    }
}

impl SenderKind for Connection<Rfc> {
    const OFFERED: Signals = Signals::RTT
        .union(Signals::PACING)
        .union(Signals::SENT)
        .union(Signals::HANDSHAKE)
        .union(Signals::START_OVER);

    #[inline(always)]
    fn on_next_ack(&mut self, now: u64, ack: u32, port: &mut impl Port) {
        self.acknowledge_in_order(now, ack, port);
    }

    fn on_other_ack(&mut self, now: u64, ack: AckIn, port: &mut impl Port) {
        self.on_ack_out_of_order(now, ack, port);
    }

    fn send(&mut self, now: u64, port: &mut impl Port) {
        self.send_some(now, u32::MAX, port);
    }

    fn on_retransmission_timer(&mut self, now: u64, port: &mut impl Port) {
        self.on_timeout(now, port);
    }

    fn take_rtt(&mut self, sent: u64, now: u64) {
        self.rto.sample(sent, now);
    }

    fn pace(&mut self, now: u64) {
        let (rate, mss) = (self.chain.control.pacing, self.mss);
        self.pacer.on_sent(Nanos(now), rate, mss);
    }

    fn on_noted_departure(&mut self, now: u64, _segment: u32) {
        if self.validates() {
            self.validate(now);
        }
    }

    fn on_window(&mut self, now: u64) {
        self.begin_validation(now);
    }

    fn resume(&mut self) -> bool {
        self.own.slow_after_timeout = false;
        self.own.elsewhere == 0
    }

    fn shrink_after_idle(&mut self, now: u64, idle: u64) {
        if self.stack.idle_restart == IdleRestart::Validate {
            self.decay_after_idle(now, idle);
        } else {
            self.shrink_to_restart_window();
        }
        self.own.resumed = self.una;
    }

    fn discard_timed_segment(&mut self) {
        self.own.timed = u32::MAX;
    }

    fn send_opening(&mut self, now: u64, port: &mut impl Port) {
        self.send_next(now, port);
    }

    fn forget_opening(&mut self) {
        // As after any timeout, until all that was sent before is acknowledged.
        self.own.timed = u32::MAX;
        (self.own.loss_state, self.own.recover, self.own.after_timeout) = (LossState::Loss, self.max, true);
    }

    fn retransmit_opening(&mut self, _now: u64, _port: &mut impl Port) {
        // The next segment to send is the first again.
    }

    fn is_window_update(&self, old: u64, new: u64) -> bool {
        new != old
    }

    fn on_window_update(&mut self, now: u64, port: &mut impl Port) {
        let by_pipe = self.own.loss_state == LossState::Recovery
            && self.stack.recovery.is_selective()
            && self.stack.rules.recovery == RecoveryRule::Rfc;
        if by_pipe {
            // An ACK without blocks counts nothing there, and sends as far as the pipe has room.
            self.on_ack(now, AckIn { seq: self.una, low: 0, high: 0 }, port);
        } else {
            self.send(now, port);
        }
    }

    fn status(&self) -> Status {
        let lost = match self.own.loss_state {
            LossState::Loss => self.max - self.nxt,
            _ => self.own.board.lost_below(self.una, DUP_THRESH).1,
        };
        Status {
            state: match self.own.loss_state {
                LossState::Recovery => CaState::Recovery,
                LossState::Loss => CaState::Loss,
                LossState::Open if self.own.marks.is_open(self.una.into()) => CaState::Cwr,
                LossState::Open if self.own.dup_acks > 0 || self.own.board.sacked() > 0 => CaState::Disorder,
                LossState::Open => CaState::Open,
            },
            inflation: self.own.inflation,
            sacked: self.own.board.sacked(),
            lost,
            retrans: self.own.board.retransmitted(),
            reordering: DUP_THRESH,
            rto: self.rto.timeout(),
        }
    }
}
