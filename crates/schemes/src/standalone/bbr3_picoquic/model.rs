//! The model: bandwidth, aggregation, and the response to losses outside of probes.

use super::{Bbr3Picoquic, INFINITE, Sample, State, times};
use firstflight_contract::Control;

/// `BBRBeta`, thousandths.
const BETA: u64 = 700;

/// The largest value of the last periods, one place each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filter<const LEN: usize>([u64; LEN]);

impl<const LEN: usize> Default for Filter<LEN> {
    fn default() -> Self {
        Self([0; LEN])
    }
}

impl<const LEN: usize> Filter<LEN> {
    fn place(period: u32) -> usize {
        period as usize % LEN
    }

    /// Value of the period.
    pub(super) fn at(&self, period: u32) -> u64 {
        self.0[Self::place(period)]
    }

    /// Adds a value of the period; returns the largest.
    pub(super) fn update(&mut self, value: u64, period: u32) -> u64 {
        let place = &mut self.0[Self::place(period)];
        *place = (*place).max(value);
        self.0.into_iter().fold(value, u64::max)
    }

    /// The period begins.
    pub(super) fn start(&mut self, period: u32) {
        self.0[Self::place(period)] = 0;
    }

    /// Every place has this value.
    pub(super) fn fill(&mut self, value: u64) {
        self.0 = [value; LEN];
    }
}

impl Bbr3Picoquic {
    /// `BBRStartRound`.
    pub(super) fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    /// `BBRUpdateRound`: a packet is acknowledged that left after the round began.
    fn update_round(&mut self, sample: &Sample) {
        self.round_start = sample.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.extra_acked_filter.start(self.round_count);
        }
    }

    /// `BBRUpdateMaxBw`.
    fn update_max_bw(&mut self, sample: &Sample) {
        self.update_round(sample);
        if sample.rate >= self.max_bw_filter.at(self.cycle_count) || !sample.app_limited {
            self.max_bw = self.max_bw_filter.update(sample.rate, self.cycle_count);
        }
    }

    /// `BBRUpdateLatestDeliverySignals`.
    pub(super) fn update_latest_delivery_signals(&mut self, sample: &Sample) {
        self.bw_latest = self.bw_latest.max(sample.rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        self.loss_round_start = sample.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = self.delivered;
        }
    }

    /// `BBRUpdateCongestionSignals`.
    pub(super) fn update_congestion_signals(&mut self, sample: &Sample, control: &Control) {
        self.update_max_bw(sample);
        self.loss_in_round |= sample.newly_lost > 0;
        if !self.loss_round_start {
            return;
        }
        let slows = matches!(self.state, State::Down | State::Cruise | State::Drain | State::ProbeRtt);
        if slows && self.loss_in_round {
            if self.bw_lo == INFINITE {
                self.bw_lo = self.max_bw;
            }
            if self.inflight_lo == INFINITE {
                self.inflight_lo = control.cwnd;
            }
            self.bw_lo = times(self.bw_lo, BETA).max(self.bw_latest);
            self.inflight_lo = times(self.inflight_lo, BETA).max(self.inflight_latest);
        }
        self.loss_in_round = false;
    }

    /// `BBRResetCongestionSignals`.
    pub(super) fn reset_congestion_signals(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0;
        self.inflight_latest = 0;
    }

    /// `BBRResetLowerBounds`.
    pub(super) fn reset_lower_bounds(&mut self) {
        self.bw_lo = INFINITE;
        self.inflight_lo = INFINITE;
    }

    /// `BBRUpdateACKAggregation`. The code multiplies bytes a second by microseconds without the division by a million: what is
    /// expected exceeds what was delivered at once, and each ACK begins an interval of its own. The aggregate is the largest ACK.
    pub(super) fn update_ack_aggregation(&mut self, sample: &Sample, control: &Control) {
        let interval = sample.now.saturating_sub(self.extra_acked_interval_start);
        let mut expected = self.bw.saturating_mul(interval);
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0;
            self.extra_acked_interval_start = sample.now;
            expected = 0;
        }
        self.extra_acked_delivered += sample.newly_acked;
        let extra = (self.extra_acked_delivered - expected).min(control.cwnd);
        self.extra_acked = self.extra_acked_filter.update(extra, self.round_count);
    }

    /// `BBRHandleRestartFromIdle`.
    pub(super) fn restart_from_idle(&mut self, now: u64, control: &mut Control) {
        self.idle_restart = true;
        self.extra_acked_interval_start = now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate(super::ONE, control);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now, control);
        }
    }
}
