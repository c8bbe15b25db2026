//! Startup and Drain, and the estimator of a full pipe.

use super::{Bbr3, ONE, Sample, State, times};
use firstflight_contract::{Control, Rate};

/// Rounds without growth after which the pipe is full.
const FULL_BW_ROUNDS: u32 = 3;
/// Rounds that Drain lasts at most.
const DRAIN_ROUNDS: u32 = 3;

impl Bbr3 {
    /// `ResetFullBW`, with `baseline` as the rate that growth is measured from.
    pub(super) fn reset_full_bw(&mut self, baseline: Rate) {
        self.full_bw = baseline;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    /// `CheckFullBWReached`.
    pub(super) fn check_full_bw_reached(&mut self, sample: &Sample) {
        if self.full_bw_now || !self.round_start || sample.app_limited || sample.rate == Rate::NONE {
            return;
        }
        if sample.rate.0 >= times(self.full_bw.0, self.parameters.full_bw_growth.0) {
            self.reset_full_bw(sample.rate);
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= FULL_BW_ROUNDS;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// `CheckStartupDone`.
    pub(super) fn check_startup_done(&mut self, sample: &Sample) {
        self.check_startup_high_loss(sample);
        if self.state == State::Startup && self.full_bw_reached {
            self.enter_drain();
        }
    }

    /// `CheckStartupHighLoss`: the sender has been in recovery for a round, and in that round too large a share of the flight was
    /// lost, in too many ranges.
    fn check_startup_high_loss(&mut self, sample: &Sample) {
        if !self.loss_round_start {
            return;
        }
        let ranges = core::mem::take(&mut self.lost_ranges);
        let recovering = self.in_recovery && sample.prior_delivered >= self.recovery_delivered;
        if self.state != State::Startup
            || self.full_bw_reached
            || !recovering
            || ranges < self.parameters.full_loss_cnt
            || !self.is_inflight_too_high(sample.lost, sample.tx_in_flight)
        {
            return;
        }
        self.undo.state = Some(State::Startup);
        self.full_bw_now = true;
        self.full_bw_reached = true;
        self.inflight_longterm = self.bdp(self.bw, ONE).max(self.inflight_latest);
    }

    /// `EnterDrain`.
    fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.drain_start_round = self.round_count;
    }

    /// `CheckDrainDone`.
    pub(super) fn check_drain_done(&mut self, sample: &Sample, control: &Control) {
        if self.state != State::Drain {
            return;
        }
        let drained = sample.in_flight <= self.inflight(self.bw, ONE, control.pacing);
        if drained || self.round_count > self.drain_start_round + DRAIN_ROUNDS {
            self.start_probe_bw_down(sample.now);
        }
    }
}
