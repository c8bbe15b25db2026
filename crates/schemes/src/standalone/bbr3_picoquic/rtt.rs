//! The smallest RTT, filtered against jitter, and ProbeRTT.

use super::probe_bw::AckPhase;
use super::{Bbr3Picoquic, INFINITE, LEAST_RTT, LONG_RTT, Sample, State, bytes_in};
use firstflight_contract::{Control, mul_div};

/// `BBRRTTJitterBufferLen`: samples of the filter, at most one a millisecond.
const SAMPLES: usize = 7;
const SAMPLE_GAP: u64 = 1_000;
/// `BBRMinRTTFilterLen`, `BBRProbeRTTInterval`, `BBRProbeRTTDuration`.
const MIN_RTT_FILTER_LEN: u64 = 10_000_000;
const PROBE_RTT_INTERVAL: u64 = 5_000_000;
const PROBE_RTT_DURATION: u64 = 200_000;
/// Round trips between ProbeRTTs on long paths.
const LONG_INTERVAL: u64 = 100;
/// `BBRMinRttMarginPercent`, as the code uses it: ten-thousandths.
const MARGIN: u64 = 5;
/// `PICOQUIC_MINRTT_MARGIN`.
const EXCESS_MARGIN: u64 = 128;

/// The last samples, their extremes, and the ACKs in a row with a high RTT.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Jitter {
    samples: [u64; SAMPLES],
    cycle: u64,
    min: u64,
    max: u64,
    stamp: u64,
    pub(super) excess: u32,
}

impl Jitter {
    pub(super) fn new(rtt: u64, now: u64) -> Self {
        Self { min: rtt, max: rtt, stamp: now, ..Self::default() }
    }

    fn update(&mut self, rtt: u64, now: u64) {
        if now <= self.stamp + SAMPLE_GAP {
            return;
        }
        self.samples[(self.cycle % SAMPLES as u64) as usize] = rtt;
        self.cycle += 1;
        self.stamp = now;
        let known = &self.samples[..self.cycle.min(SAMPLES as u64) as usize];
        self.max = known.iter().copied().fold(0, u64::max);
        self.min = known.iter().copied().fold(INFINITE, u64::min);
    }

    fn is_filling(&self) -> bool {
        self.cycle < SAMPLES as u64
    }

    /// `IsRTTTooHigh`.
    pub(super) fn is_too_high(&self) -> bool {
        self.excess > SAMPLES as u32
    }
}

impl Bbr3Picoquic {
    /// `BBRUpdateMinRTT`.
    pub(super) fn update_min_rtt(&mut self, sample: &Sample) {
        let now = sample.now;
        if sample.rtt == 0 {
            return;
        }
        self.min_rtt_margin = if self.min_rtt == INFINITE { 0 } else { self.min_rtt * MARGIN / 10_000 };
        if self.max_bw > 0 {
            self.min_rtt_margin += mul_div(2 * self.mtu, 1_000_000, self.max_bw);
        }
        self.jitter.update(sample.rtt, now);
        if self.min_rtt != INFINITE {
            let interval =
                if self.min_rtt <= LONG_RTT { PROBE_RTT_INTERVAL } else { self.min_rtt * LONG_INTERVAL };
            self.probe_rtt_expired = now > self.probe_rtt_min_stamp + interval;
        }
        let filling = self.jitter.is_filling();
        if self.jitter.max < self.probe_rtt_min_delay || self.probe_rtt_expired || filling {
            self.probe_rtt_min_delay = self.jitter.max;
            self.probe_rtt_min_stamp = now;
        } else if self.jitter.min < self.min_rtt.saturating_add(self.min_rtt_margin) {
            // A sample close to the minimum confirms it.
            self.probe_rtt_min_stamp = now;
            self.min_rtt_stamp = now;
        }
        let expired = now > self.min_rtt_stamp + MIN_RTT_FILTER_LEN;
        if self.probe_rtt_min_delay < self.min_rtt || expired || filling {
            self.min_rtt = self.probe_rtt_min_delay;
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
        if self.jitter.min > self.min_rtt && self.min_rtt > LEAST_RTT {
            if self.jitter.min > self.min_rtt + EXCESS_MARGIN + self.min_rtt / 4 {
                self.jitter.excess += 1;
            }
        } else {
            self.jitter.excess = 0;
        }
    }

    /// `BBRCheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, sample: &Sample, control: &mut Control) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.min_rtt = sample.rtt;
            self.prior_cwnd = self.saved_cwnd(control);
            self.probe_rtt_done = None;
            self.probe.ack_phase = AckPhase::Stopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(sample, control);
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// `BBRHandleProbeRTT`: the flight when the acknowledged packet left counts, since it made the queue that its RTT shows.
    fn handle_probe_rtt(&mut self, sample: &Sample, control: &mut Control) {
        if self.probe_rtt_done.is_none() {
            if sample.tx_in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt_done = Some(sample.now + PROBE_RTT_DURATION);
                self.probe_rtt_round_done = false;
                self.start_round();
            }
            return;
        }
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(sample.now, control);
        }
    }

    /// `BBRCheckProbeRTTDone`.
    pub(super) fn check_probe_rtt_done(&mut self, now: u64, control: &mut Control) {
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.probe_rtt_min_stamp = now;
        control.cwnd = control.cwnd.max(self.prior_cwnd);
        self.reset_lower_bounds();
        if self.filled_pipe {
            self.enter_probe_bw(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// BDP of this bandwidth; the initial window while no RTT is known.
    pub(super) fn bdp(&self, bw: u64) -> u64 {
        if self.min_rtt == INFINITE {
            return super::CWIN_INITIAL.saturating_mul(self.mtu);
        }
        bytes_in(self.min_rtt, bw)
    }
}
