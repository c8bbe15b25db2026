//! The model of the path: the delivery rate, the smallest RTT, and how far ACKs run ahead.

use super::{Bbr3, INFINITE, Sample, State, UNBOUNDED};
use firstflight_contract::{Control, Nanos, Rate};

/// `BBR.ExtraAckedFilterLen`, rounds.
const EXTRA_ACKED_ROUNDS: u32 = 10;
/// The same in Startup.
const EXTRA_ACKED_STARTUP_ROUNDS: u32 = 1;
/// `BBR.MinRTTFilterLen`.
const MIN_RTT_FILTER_LEN: Nanos = Nanos::from_secs(10);
/// `BBR.ProbeRTTInterval`.
const PROBE_RTT_INTERVAL: Nanos = Nanos::from_secs(5);

impl Bbr3 {
    /// `BBR.max_bw`.
    pub(super) fn max_bw(&self) -> Rate {
        self.max_bw_filter[0].max(self.max_bw_filter[1])
    }

    /// `AdvanceMaxBwFilter`. A cycle that brought no sample is continued: the estimate never becomes zero.
    pub(super) fn advance_max_bw_filter(&mut self) {
        if self.max_bw_filter[1] != Rate::NONE {
            self.max_bw_filter = [self.max_bw_filter[1], Rate::NONE];
        }
    }

    /// `UpdateMaxBw`.
    pub(super) fn update_max_bw(&mut self, sample: &Sample) {
        self.update_round(sample);
        let counts = sample.rate >= self.max_bw() || !sample.app_limited;
        if counts {
            self.max_bw_filter[1] = self.max_bw_filter[1].max(sample.rate);
        }
    }

    /// `UpdateRound`.
    fn update_round(&mut self, sample: &Sample) {
        self.round_start = sample.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.probe.rounds_since_up += 1;
        }
    }

    /// `UpdateACKAggregation`.
    pub(super) fn update_ack_aggregation(&mut self, sample: &Sample, control: &Control) {
        let interval = sample.now.saturating_sub(self.extra_acked_interval_start);
        let mut expected = self.bw.bytes_in(interval);
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0;
            self.extra_acked_interval_start = sample.now;
            expected = 0;
        }
        self.extra_acked_delivered += sample.newly_acked;
        let extra = (self.extra_acked_delivered - expected).min(control.cwnd);
        let rounds = if self.full_bw_reached { EXTRA_ACKED_ROUNDS } else { EXTRA_ACKED_STARTUP_ROUNDS };
        self.extra_acked.update(rounds, self.round_count, extra);
    }

    /// `UpdateMinRTT`.
    pub(super) fn update_min_rtt(&mut self, sample: &Sample) {
        let now = sample.now;
        self.probe_rtt_expired = now > self.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = sample.rtt
            && (rtt < self.probe_rtt_min_delay || self.probe_rtt_expired)
        {
            self.probe_rtt_min_delay = rtt;
            self.probe_rtt_min_stamp = now;
        }
        let expired = now > self.min_rtt_stamp + MIN_RTT_FILTER_LEN;
        if self.probe_rtt_min_delay < self.min_rtt || expired {
            self.min_rtt = self.probe_rtt_min_delay;
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }

    /// `UpdateLatestDeliverySignals`.
    pub(super) fn update_latest_delivery_signals(&mut self, sample: &Sample) {
        self.bw_latest = self.bw_latest.max(sample.rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        self.loss_round_start = sample.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = self.delivered;
        }
    }

    /// `AdvanceLatestDeliverySignals`.
    pub(super) fn advance_latest_delivery_signals(&mut self, sample: &Sample) {
        if self.loss_round_start {
            self.bw_latest = sample.rate;
            self.inflight_latest = sample.delivered;
        }
    }

    /// `ResetCongestionSignals`.
    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = Rate::NONE;
        self.inflight_latest = 0;
    }

    /// `ResetShortTermModel`.
    pub(super) fn reset_short_term_model(&mut self) {
        self.bw_shortterm = UNBOUNDED;
        self.inflight_shortterm = INFINITE;
    }

    /// `BoundBWForModel`.
    pub(super) fn bound_bw_for_model(&mut self) {
        self.bw = self.max_bw().min(self.bw_shortterm);
    }

    /// `RestartFromIdle`: sending resumes with nothing in flight.
    pub(super) fn restart_from_idle(&mut self, now: Nanos, control: &mut Control) {
        self.idle_restart = true;
        self.extra_acked_interval_start = now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate(super::ONE, control);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now, control);
        }
    }
}
