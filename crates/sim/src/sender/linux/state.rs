//! The states of the sender: open, disorder, window reduction, recovery, loss.

use super::Linux;
use super::ack::{Response, SeenAck};
use crate::sender::connection::Connection;
use crate::sender::info::CaState;
use crate::sender::prr::Prr;
use firstflight_contract::{Congestion, Moment, Nanos, Trigger};

impl Connection<Linux> {
    /// The transition that an ACK causes.
    pub(super) fn change_state(&mut self, now: u64, seen: &mut SeenAck) -> Response {
        if self.nxt == self.una {
            self.own.sacked = 0;
        }
        if seen.mark {
            self.own.undo.ssthresh = None;
        }
        if seen.done.advanced > 0 && self.has_reneged() {
            self.wait_for_reneged(now);
            seen.rearm = false;
            return Response::Nothing;
        }
        if self.own.state == CaState::Open {
            self.own.undo.first_retransmission = Moment::NEVER;
        } else if self.una >= self.own.high && self.end_episode(seen) {
            return Response::Nothing;
        }
        match self.own.state {
            CaState::Recovery => self.go_on_recovering(now, seen),
            CaState::Loss => {
                let response = self.go_on_after_timeout(seen);
                self.identify_losses(now, seen);
                if self.own.state == CaState::Open || seen.lost_retransmission {
                    return self.watch(now, seen);
                }
                response
            }
            _ => self.watch(now, seen),
        }
    }

    /// Everything sent before the episode is acknowledged. Returns whether this ACK needs nothing more.
    fn end_episode(&mut self, seen: &SeenAck) -> bool {
        match self.own.state {
            // Held until something beyond is acknowledged, so that the receiver learns of the reduction.
            CaState::Cwr if self.una != self.own.high => {
                self.end_reduction();
                self.own.state = CaState::Open;
            }
            CaState::Recovery => {
                if !self.stack.recovery.is_selective() {
                    self.own.sacked = 0;
                }
                if self.try_to_undo_recovery(seen) {
                    return true;
                }
                self.end_reduction();
            }
            _ => {}
        }
        false
    }

    fn go_on_recovering(&mut self, now: u64, seen: &mut SeenAck) -> Response {
        if seen.done.advanced == 0 {
            self.count_duplicate_without_sack(seen);
        } else if self.try_to_undo_partly(seen) {
            return Response::Nothing;
        }
        if self.try_to_undo_duplicates() {
            self.settle_open(now, seen);
        }
        self.identify_losses(now, seen);
        if self.own.state != CaState::Recovery {
            if self.own.lost == 0 {
                return Response::Nothing;
            }
            self.enter_recovery(now, seen.mark);
        }
        Response::Lost
    }

    /// Outside recovery: looks for a loss.
    fn watch(&mut self, now: u64, seen: &mut SeenAck) -> Response {
        if !self.stack.recovery.is_selective() && seen.done.advanced > 0 {
            self.own.sacked = 0;
        }
        self.count_duplicate_without_sack(seen);
        if self.own.state <= CaState::Disorder {
            self.try_to_undo_duplicates();
        }
        self.identify_losses(now, seen);
        if self.own.lost == 0 {
            self.settle_open(now, seen);
            return Response::Nothing;
        }
        self.enter_recovery(now, seen.mark);
        Response::Lost
    }

    fn identify_losses(&mut self, now: u64, seen: &mut SeenAck) {
        if self.nxt == self.una {
            return;
        }
        if !self.stack.recovery.is_selective() {
            return self.find_loss_without_sack(seen.done.advanced > 0);
        }
        let before = self.own.retrans;
        if self.find_losses(now) {
            seen.rearm = false;
        }
        seen.lost_retransmission |= before > self.own.retrans;
    }

    /// No loss: disorder at most, or a reduction for a mark.
    fn settle_open(&mut self, now: u64, seen: &SeenAck) {
        if !self.any_retransmission_out() {
            self.own.undo.first_retransmission = Moment::NEVER;
        }
        if seen.mark {
            self.enter_cwr(now);
        }
        if self.own.state != CaState::Cwr {
            self.keep_open();
        }
    }

    pub(super) fn keep_open(&mut self) {
        let disorder = self.own.sacked + self.own.lost > 0 || self.any_retransmission_out();
        let state = if disorder { CaState::Disorder } else { CaState::Open };
        if self.own.state != state {
            self.own.state = state;
            self.own.high = self.nxt;
        }
    }

    fn enter_cwr(&mut self, now: u64) {
        self.own.undo.ssthresh = None;
        if self.own.state < CaState::Cwr {
            self.own.undo.marker = None;
            self.reduced = true;
            self.begin_reduction(now, Trigger::Mark);
            self.own.state = CaState::Cwr;
        }
    }

    /// RFC 8985 found a loss: fast recovery.
    pub(super) fn enter_recovery(&mut self, now: u64, mark: bool) {
        self.begin_undo();
        if !matches!(self.own.state, CaState::Cwr | CaState::Recovery) {
            self.own.undo.ssthresh = (!mark).then(|| self.current_ssthresh());
            self.begin_reduction(now, Trigger::Loss);
        }
        self.own.state = CaState::Recovery;
    }

    /// The threshold, or three quarters of the window if that is more: an undo or an idle time restores it.
    pub(crate) fn current_ssthresh(&self) -> u64 {
        let control = &self.chain.control;
        let cwnd = self.cwnd_segments();
        control.ssthresh.max(((cwnd >> 1) + (cwnd >> 2)) * self.mss)
    }

    /// The schemes set a new threshold, and PRR will bring the window there.
    pub(super) fn begin_reduction(&mut self, now: u64, trigger: Trigger) {
        let cwnd = self.cwnd_segments();
        self.own.high = self.nxt;
        self.own.probe_end = 0;
        self.own.prr = Prr::begin(cwnd);
        self.report_episode(now, trigger);
        if !self.chain.is_standalone() {
            self.chain.control.cwnd = cwnd * self.mss;
        }
    }

    /// Reports an episode to the schemes. The kernel counts whole segments.
    pub(super) fn report_episode(&mut self, now: u64, trigger: Trigger) {
        let flight = u64::from(self.own.in_flight(self.nxt - self.una));
        self.stats.episodes += 1;
        self.common.chain.on_congestion(&Congestion {
            now: Nanos(now),
            in_flight: flight * self.common.mss,
            base: self.cwnd_segments().max(1) * self.common.mss,
            lost: self.common.lost * self.common.mss,
            min_rtt: Nanos(self.known_min_rtt()),
            trigger,
            mss: self.common.stack.mss,
        });
        self.note_startup_exit();
        let control = &mut self.common.chain.control;
        if control.ssthresh != u64::MAX {
            control.ssthresh = (control.ssthresh / self.common.mss).max(2) * self.common.mss;
        }
    }

    /// RFC 6937: the window follows the segments that ACKs deliver.
    pub(super) fn reduce_window(&mut self, delivered: u32, lost: u64, safe: bool) {
        if delivered == 0 {
            return;
        }
        let pipe = u64::from(self.own.in_flight(self.nxt - self.una));
        let target = self.chain.control.ssthresh / self.mss;
        let more = u64::from(safe && lost == 0);
        let allowed = self.own.prr.allowance(delivered.into(), pipe, target, more);
        let allowed = self.own.prr.forced(allowed, 1);
        self.chain.control.cwnd = ((pipe + allowed) * self.mss).max(self.mss);
    }

    pub(super) fn end_reduction(&mut self) {
        if self.chain.is_standalone() {
            return;
        }
        let control = &mut self.common.chain.control;
        if control.ssthresh != u64::MAX && (self.own.state == CaState::Cwr || self.own.undo.marker.is_some())
        {
            control.cwnd = control.ssthresh;
        }
    }
}
