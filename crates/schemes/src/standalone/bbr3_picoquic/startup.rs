//! Startup, its continuation after a timeout, and Drain.

use super::{Bbr3Picoquic, LEAST_RTT, ONE, Sample, State, times};

/// Rounds without growth that fill the pipe.
const FULL_ROUNDS: u32 = 3;
/// `BBRStartupFullLossCnt`.
const FULL_LOSS_RANGES: u32 = 6;
/// `BBRStartupIncreaseThreshold`, `BBRStartupResumeIncreaseThreshold`, thousandths.
const GROWTH: u64 = 1_250;
const RESUME_GROWTH: u64 = 1_125;

impl Bbr3Picoquic {
    /// `BBRCheckStartupFullBandwidth`: the largest rate counts, not that of the ACK.
    fn check_full_bandwidth(&mut self, sample: &Sample, growth: u64) {
        if self.filled_pipe || !self.round_start || sample.app_limited {
            return;
        }
        if self.max_bw >= times(self.full_bw, growth) {
            self.full_bw = self.max_bw;
            self.full_bw_count = 0;
            return;
        }
        self.full_bw_count += 1;
        self.filled_pipe = self.full_bw_count >= FULL_ROUNDS;
    }

    /// `BBRCheckStartupHighLoss`.
    fn check_high_loss(&mut self, sample: &Sample) {
        self.loss_ranges_in_round += sample.lost_ranges;
        self.too_high_in_round |=
            self.is_inflight_too_high(sample.prior_delivered, sample.lost, sample.tx_in_flight);
        if !self.round_start {
            return;
        }
        self.filled_pipe |= self.too_high_in_round && self.loss_ranges_in_round >= FULL_LOSS_RANGES;
        self.too_high_in_round = false;
        self.loss_ranges_in_round = 0;
    }

    /// `BBRCheckStartupDone`: also after eight ACKs of a round trip a quarter above the smallest.
    pub(super) fn check_startup_done(&mut self, sample: &Sample) {
        if self.state != State::Startup {
            return;
        }
        self.check_full_bandwidth(sample, GROWTH);
        self.check_high_loss(sample);
        self.filled_pipe |= self.min_rtt > LEAST_RTT && self.jitter.is_too_high();
        if self.filled_pipe {
            self.probe.quickly = true;
            self.full_bw_count = 0;
            self.state = State::Drain;
        }
    }

    /// `BBRCheckStartupResume`. The code compares a rate with an amount, bytes a second with bytes.
    pub(super) fn check_startup_resume(&mut self, sample: &Sample) {
        if self.state != State::StartupResume {
            return;
        }
        self.check_high_loss(sample);
        if !self.filled_pipe && self.max_bw > times(self.bdp_seed, RESUME_GROWTH) {
            self.state = State::Startup;
            return;
        }
        self.check_full_bandwidth(sample, RESUME_GROWTH);
        if self.filled_pipe {
            if self.full_bw_count > 0 {
                self.probe.quickly = true;
                self.full_bw_count = 0;
            }
            self.state = State::Drain;
        }
    }

    /// `BBRReEnterStartup`.
    pub(super) fn enter_startup_again(&mut self) {
        self.full_bw = 0;
        self.filled_pipe = false;
        self.full_bw_count = 0;
        self.probe.quickly = true;
        self.state = if self.bdp_seed > 0 { State::StartupResume } else { State::Startup };
    }

    /// `BBRCheckDrain`.
    pub(super) fn check_drain(&mut self, sample: &Sample) {
        if self.state == State::Drain && sample.in_transit <= self.inflight(self.bw, ONE) {
            self.enter_probe_bw(sample.now);
        }
    }
}
