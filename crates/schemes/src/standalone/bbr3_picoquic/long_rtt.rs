//! Start-up on round trips above 250 ms: slow start from a larger window, which ends when delay or losses rise (HyStart, cc_common.c).

use super::{Bbr3Picoquic, CWIN_INITIAL, LONG_RTT, ONE, Sample, State, bytes_in};
use firstflight_contract::{Control, mul_div};

/// `PICOQUIC_TARGET_RENO_RTT`, `PICOQUIC_TARGET_SATELLITE_RTT`, microseconds.
const TARGET_RENO_RTT: u64 = 100_000;
const TARGET_SATELLITE_RTT: u64 = 610_000;
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
