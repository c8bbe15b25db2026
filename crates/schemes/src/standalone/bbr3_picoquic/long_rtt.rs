//! Start-up on round trips above 250 ms: slow start from a larger window, which ends when delay or losses rise (HyStart, cc_common.c).

use super::{Bbr3Picoquic, CWIN_INITIAL, LONG_RTT, ONE, Sample, State, bytes_in};
use firstflight_contract::{Control, mul_div};

/// `PICOQUIC_TARGET_RENO_RTT`, `PICOQUIC_TARGET_SATELLITE_RTT`, microseconds.
const TARGET_RENO_RTT: u64 = 100_000;
const TARGET_SATELLITE_RTT: u64 = 610_000;
/// `PICOQUIC_MIN_MAX_RTT_SCOPE`: samples of the filter, at most one a millisecond.
const SCOPE: usize = 7;
const SAMPLE_GAP: u64 = 1_000;

/// The filter of `picoquic_cc_hystart_test`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongRtt {
    samples: [u64; SCOPE],
    place: usize,
    is_full: bool,
    filtered_min: u64,
    excess: u32,
    stamp: u64,
}

impl LongRtt {
    /// Whether the RTT rose; `packet_time` is the time of a packet at the pacing rate.
    fn rises(&mut self, rtt: u64, packet_time: u64, now: u64) -> bool {
        if now <= self.stamp + SAMPLE_GAP {
            return false;
        }
        self.samples[self.place] = rtt;
        self.place = (self.place + 1) % SCOPE;
        self.is_full |= self.place == 0;
        self.stamp = now;
        if !self.is_full {
            return false;
        }
        let max = self.samples.into_iter().fold(0, u64::max);
        let min = self.samples.into_iter().fold(u64::MAX, u64::min);
        if self.filtered_min == 0 || self.filtered_min > max {
            self.filtered_min = max;
        }
        if min <= self.filtered_min {
            self.excess = 0;
        } else if min > self.filtered_min + (self.filtered_min / 4).max(packet_time) {
            self.excess += 1;
            return self.excess >= SCOPE as u32;
        }
        false
    }
}

impl Bbr3Picoquic {
    /// `BBRCheckStartupLongRtt`.
    pub(super) fn check_startup_long_rtt(&mut self, sample: &Sample, control: &mut Control) {
        let least = self.least_rtt;
        if matches!(self.state, State::Startup | State::StartupResume) && least > LONG_RTT {
            self.state = State::StartupLongRtt;
            let rtt = least.clamp(TARGET_RENO_RTT, TARGET_SATELLITE_RTT);
            let cwnd = mul_div(CWIN_INITIAL, rtt, TARGET_RENO_RTT).max(self.bdp_seed);
            control.cwnd = control.cwnd.max(cwnd);
        } else if self.state != State::StartupLongRtt {
            return;
        }
        let rate = (control.pacing.0 / 8).max(1);
        let packet_time = mul_div(self.mtu, 1_000_000, rate);
        if self.long_rtt.rises(sample.rtt, packet_time, sample.now) {
            self.exit_startup_long_rtt(sample);
        }
    }

    /// `BBRExitStartupLongRtt`.
    fn exit_startup_long_rtt(&mut self, sample: &Sample) {
        self.start_round();
        self.round_count += 1;
        self.round_start = true;
        self.filled_pipe = true;
        self.state = State::Drain;
        self.check_drain(sample);
    }

    /// `BBRUpdateStartupLongRtt`. The transport paces at 1.25 windows a smoothed round-trip time meanwhile.
    pub(super) fn update_startup_long_rtt(&mut self, sample: &Sample, control: &mut Control) {
        if sample.cwnd_limited {
            control.cwnd += sample.newly_acked;
        }
        let least = (bytes_in(self.min_rtt, self.peak.rate).max(self.bdp_seed)) / 2;
        control.cwnd = control.cwnd.max(least);
        let rate = mul_div(control.cwnd, 1_250_000_000 / ONE, sample.srtt.max(1));
        control.pacing = super::pacing(rate);
    }
}
