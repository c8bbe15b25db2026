//! Sending: lost segments first, then new data, as the window, the receiver, the application and the pacer allow.

use super::ack::Response;
use super::{Armed, Linux};
use crate::sender::Port;
use crate::sender::connection::Connection;
use crate::sender::info::CaState;
use crate::sender::stack::IdleRestart;
use crate::sender::stamps::{LOST, RETRANS, RETRANSMITTED, SACKED, sent};
use firstflight_contract::{Moment, Nanos, Rate};

impl Connection<Linux> {
    /// The window in whole segments.
    #[inline]
    pub(crate) fn cwnd_segments(&self) -> u64 {
        self.chain.control.cwnd / self.mss
    }

    /// Whether the window may grow.
    #[inline(always)]
    pub(super) fn is_window_limited(&self) -> bool {
        let control = &self.chain.control;
        self.own.usage.limits(control.cwnd, self.mss, control.cwnd < control.ssthresh)
    }

    /// Sends new data where nothing is out of order; returns whether any left.
    #[inline(always)]
    pub(super) fn send_in_order(&mut self, now: u64, port: &mut impl Port) -> bool {
        let from = self.nxt;
        if from >= self.available {
            return false;
        }
        let end = self.available.min(self.window_end());
        let window = self.chain.control.cwnd;
        while self.nxt < end && u64::from(self.nxt - self.una + 1) * self.mss <= window {
            if self.chain.control.pacing != Rate::NONE && self.must_wait(now) {
                break;
            }
            self.send_one(now, port);
        }
        self.validate_after(now, self.nxt > from);
        self.nxt > from
    }

    /// Sends lost segments, then new data; called by timers and the application.
    #[inline(never)]
    pub(crate) fn send_lost_and_new(&mut self, now: u64, port: &mut impl Port) {
        if self.own.retrans < self.own.lost {
            self.retransmit_lost(now, port);
        }
        self.push_new(now, port);
    }

    /// New data.
    pub(crate) fn push_new(&mut self, now: u64, port: &mut impl Port) {
        let from = self.nxt;
        if from >= self.available {
            return;
        }
        let end = self.available.min(self.window_end());
        let cwnd = self.cwnd_segments();
        while self.nxt < end && u64::from(self.own.in_flight(self.nxt - self.una)) < cwnd {
            if self.chain.control.pacing != Rate::NONE && self.must_wait(now) {
                break;
            }
            self.send_one(now, port);
            if matches!(self.own.state, CaState::Cwr | CaState::Recovery) {
                self.own.prr.on_sent(1);
            }
        }
        self.validate_after(now, self.nxt > from);
        if self.nxt > from {
            if self.own.armed == Armed::Probe {
                self.rearm_timeout(now);
            }
            if self.may_probe() {
                self.arm_probe(now, false);
            }
        }
    }

    /// The next new segment.
    #[inline(always)]
    pub(super) fn send_one(&mut self, now: u64, port: &mut impl Port) {
        let segment = self.nxt;
        if segment == self.una {
            self.own.lone = segment;
        }
        self.nxt = segment + 1;
        self.max = segment + 1;
        self.count_first_flight();
        self.leave(now, segment, false, port);
    }

    /// Sends the response to an ACK.
    pub(super) fn send_for(&mut self, now: u64, response: Response, port: &mut impl Port) {
        match response {
            Response::Nothing => return,
            Response::NewFirst => {
                self.push_new(now, port);
                if self.frto_waits() {
                    return;
                }
                self.end_frto();
            }
            Response::Lost => {}
        }
        self.retransmit_lost(now, port);
    }

    /// Retransmits lost segments, the earliest first, as far as the window allows.
    pub(super) fn retransmit_lost(&mut self, now: u64, port: &mut impl Port) {
        let cwnd = self.cwnd_segments();
        let mut segment = self.own.hint.max(self.una);
        let mut rearm = false;
        while segment < self.own.lost_end.min(self.nxt) && self.own.retrans < self.own.lost {
            if u64::from(self.own.in_flight(self.nxt - self.una)) >= cwnd {
                break;
            }
            if self.stamps.get(segment) & (LOST | SACKED | RETRANS) == LOST {
                if self.chain.control.pacing != Rate::NONE && self.must_wait(now)
                    || !self.fit_into_window(segment, port)
                {
                    break;
                }
                self.retransmit(now, segment, true, port);
                if matches!(self.own.state, CaState::Cwr | CaState::Recovery) {
                    self.own.prr.on_sent(1);
                }
                rearm |= segment == self.una && self.own.armed != Armed::Reordering;
            }
            segment += 1;
        }
        self.own.hint = segment;
        if rearm {
            self.arm(now, Armed::Timeout, self.rto.timeout());
        }
    }

    /// Retransmits a segment. A probe is not `counted` among the retransmissions in flight.
    pub(super) fn retransmit(&mut self, now: u64, segment: u32, counted: bool, port: &mut impl Port) {
        // The marks stay: a probe may send a tail again that has arrived out of order, or whose copy is in flight.
        let marks = self.stamps.get(segment) & (LOST | SACKED | RETRANS);
        self.note_first_departure(segment);
        self.put_on_wire(now, segment, true, port);
        *self.stamps.get_mut(segment) |= marks | if counted { RETRANS } else { 0 };
        let rack = &mut self.own;
        rack.retransmissions.push_back((segment, now));
        rack.total_retransmitted += 1;
        if counted {
            rack.retrans += 1;
            if rack.undo.first_retransmission == Moment::NEVER {
                rack.undo.first_retransmission = Moment::at(Nanos(now));
            }
            rack.undo.retransmissions = rack.undo.retransmissions.max(0) + 1;
        }
    }

    /// `segment` is about to leave again: keeps when it left first, for an ACK that echoes that timestamp.
    pub(crate) fn note_first_departure(&mut self, segment: u32) {
        let word = self.stamps.get(segment);
        if word & RETRANSMITTED == 0 {
            self.own.first_left.put(segment, self.una, sent(word));
        }
    }

    #[inline(always)]
    pub(super) fn validate_after(&mut self, now: u64, sent: bool) {
        let in_flight = u64::from(self.own.in_flight(self.nxt - self.una));
        let full = (in_flight + 1) * self.mss > self.chain.control.cwnd;
        if sent || full {
            self.own.usage.record(full, self.una, self.nxt);
            if full {
                self.own.usage.used = 0;
                self.own.usage.limited_at = Moment::at(Nanos(now));
            } else {
                self.validate_window(now);
            }
        }
    }

    /// Congestion window validation (RFC 2861): an application that has left the window unused for a timeout finds it
    /// halfway down to the part that it used.
    #[cold]
    #[inline(never)]
    pub(super) fn validate_window(&mut self, now: u64) {
        if self.is_window_limited() {
            self.own.usage.used = 0;
            self.own.usage.limited_at = Moment::at(Nanos(now));
            return;
        }
        self.own.usage.used = self.own.usage.used.max(self.nxt - self.una);
        let keeps = self.stack.idle_restart == IdleRestart::Keep || self.chain.is_standalone();
        let unused = self.own.usage.limited_at.elapsed(Nanos(now));
        if keeps || unused.is_none_or(|unused| unused.0 < self.rto.timeout_in_ticks()) {
            return;
        }
        if self.own.state == CaState::Open {
            let used = u64::from(self.own.usage.used.max(self.stack.initial_window));
            let cwnd = self.cwnd_segments();
            if used < cwnd {
                self.chain.control.ssthresh = self.current_ssthresh();
                self.chain.control.cwnd = (cwnd + used) / 2 * self.mss;
            }
            self.own.usage.used = 0;
        }
        self.own.usage.limited_at = Moment::at(Nanos(now));
    }

    /// After an idle time of more than a timeout: half the window for each timeout that passed, not below the initial
    /// one (`tcp_cwnd_restart`). What is left counts as used.
    pub(crate) fn halve_after_idle(&mut self, now: u64, idle: u64) {
        let restart = u64::from(self.stack.initial_window);
        let mut cwnd = self.cwnd_segments();
        let restart = restart.min(cwnd);
        self.chain.control.ssthresh = self.current_ssthresh();
        let timeout = self.rto.timeout_in_ticks();
        let mut left = idle.saturating_sub(timeout);
        while left > 0 && cwnd > restart {
            cwnd >>= 1;
            left = left.saturating_sub(timeout);
        }
        self.chain.control.cwnd = cwnd.max(restart) * self.mss;
        self.own.usage.used = 0;
        self.own.usage.limited_at = Moment::at(Nanos(now));
    }
}
