//! The tail loss probe: when ACKs stop, one segment asks whether the tail arrived (RFC 8985 section 7).

use super::ack::SeenAck;
use super::detect::TIMEOUT_MIN;
use super::{Armed, Linux};
use crate::sender::Port;
use crate::sender::connection::Connection;
use crate::sender::info::CaState;
use crate::sender::stamps::sent;
use firstflight_contract::Trigger;

/// Time to wait before the first RTT sample, nanoseconds.
const WITHOUT_SAMPLE: u64 = 1_000_000_000;

impl Connection<Linux> {
    /// Section 7.2: a probe may be scheduled outside recovery, with SACK.
    #[inline]
    pub(super) fn may_probe(&self) -> bool {
        matches!(self.own.state, CaState::Open | CaState::Cwr)
            && self.una < self.nxt
            && self.stack.recovery.is_selective()
    }

    /// "PTO = 2 * SRTT", with room for a delayed ACK where one segment is out; no later than the timeout, which counts
    /// from now where `progress` was made, else from the first unacknowledged segment.
    #[inline(always)]
    pub(super) fn arm_probe(&mut self, now: u64, progress: bool) {
        if !self.stack.recovery.is_selective() {
            return self.arm(now, Armed::Timeout, self.rto.timeout());
        }
        let srtt = self.rto.srtt();
        let mut wait = if srtt == 0 {
            WITHOUT_SAMPLE
        } else if self.nxt - self.una == 1 {
            2 * srtt + self.stack.rto.min
        } else {
            2 * srtt + TIMEOUT_MIN
        };
        let timeout = self.rto.timeout();
        let until_timeout =
            if progress { timeout } else { (sent(self.stamps.get(self.una)) + timeout).saturating_sub(now) };
        if until_timeout > 0 {
            wait = wait.min(until_timeout);
        }
        self.arm(now, Armed::Probe, wait);
    }

    /// Section 7.3: new data if there is any, else the last segment again.
    pub(super) fn on_probe_timer(&mut self, now: u64, port: &mut impl Port) {
        if self.own.probe_end > 0 {
            return self.rearm_timeout(now);
        }
        self.own.probe_retransmits = false;
        let tail = self.nxt - 1;
        if self.nxt < self.available && self.nxt < self.window_end() {
            self.send_one(now, port);
            self.validate_after(now, true);
        } else if self.fit_into_window(tail, port) {
            self.retransmit(now, tail, false, port);
            self.own.probe_retransmits = true;
        } else {
            return self.rearm_timeout(now);
        }
        self.own.probe_end = self.nxt;
        self.arm(now, Armed::Timeout, self.rto.timeout());
    }

    /// Section 7.4: whether the probe recovered a loss, which then reduces the window.
    pub(super) fn judge_probe(&mut self, now: u64, ack: u32, window_update: bool, seen: &SeenAck) {
        if ack < self.own.probe_end {
            return;
        }
        let nothing_new = ack == seen.una_before && seen.done.sacked == 0 && !window_update;
        if !self.own.probe_retransmits || seen.done.probe_duplicate {
            self.own.probe_end = 0;
        } else if ack > self.own.probe_end {
            // The ACK goes beyond the tail, and no duplicate was reported: the probe was needed.
            self.begin_reduction(now, Trigger::Loss);
            self.own.state = CaState::Cwr;
            self.end_reduction();
            self.keep_open();
        } else if nothing_new {
            self.own.probe_end = 0;
        }
    }
}
