//! Congestion window validation (RFC 2861): a window that was not filled for a timeout is reduced.

use super::{LossState, Rfc};
use crate::sender::connection::Connection;
use crate::sender::stack::IdleRestart;
use firstflight_contract::{Moment, Nanos};

/// State of the validation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Validation {
    /// Time at which the window was last full, or last taken back (`T_prev`).
    since: Moment,
    /// Most that was in flight since then (`W_used`), segments.
    used: u32,
}

impl Connection<Rfc> {
    /// Whether this sender validates.
    pub(super) fn validates(&self) -> bool {
        self.stack.idle_restart == IdleRestart::Validate && !self.chain.is_standalone()
    }

    /// The window counts as filled until now.
    pub(super) fn begin_validation(&mut self, now: u64) {
        self.own.validation = Validation { since: Moment::at(Nanos(now)), used: 0 };
    }

    /// "The sender has been idle": half the window for each timeout that passed, with a threshold that remembers it.
    pub(super) fn decay_after_idle(&mut self, now: u64, idle: u64) {
        // ssthresh = max (ssthresh, 3*cwnd/4)
        self.remember_window();
        // For i = 1 to (tcpnow - T_last)/RTO: win = min (cwnd, receiver's window); cwnd = max (win/2, MSS)
        let mut window = self.chain.control.cwnd;
        for _ in 0..(idle / self.rto.timeout()).min(64) {
            window = (window.min(self.offered()) / 2).max(self.mss);
        }
        self.chain.control.cwnd = window;
        self.begin_validation(now);
    }

    /// A segment has left: was that all the window had room for, or all there was to send?
    pub(super) fn validate(&mut self, now: u64) {
        let in_flight = self.nxt - self.una;
        let window = self.chain.control.cwnd.min(self.offered());
        if (u64::from(in_flight) + 1) * self.mss > window {
            return self.begin_validation(now);
        }
        if self.nxt < self.available || self.own.loss_state != LossState::Open {
            return;
        }
        self.own.validation.used = self.own.validation.used.max(in_flight);
        let unfilled = self.own.validation.since.elapsed(Nanos(now));
        if unfilled.is_some_and(|unfilled| unfilled.0 >= self.rto.timeout()) {
            // "The sender has been application-limited": cwnd = (win + W_used)/2
            self.remember_window();
            self.chain.control.cwnd = (window + u64::from(self.own.validation.used) * self.mss) / 2;
            self.begin_validation(now);
        }
    }

    fn remember_window(&mut self) {
        let control = &mut self.chain.control;
        control.ssthresh = control.ssthresh.max(control.cwnd.saturating_mul(3) / 4);
    }
}
