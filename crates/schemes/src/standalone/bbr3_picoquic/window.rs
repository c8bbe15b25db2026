//! The registers: pacing rate and window.

use super::{Bbr3Picoquic, CWIN_INITIAL, INFINITE, MIN_PIPE_CWND, ONE, Sample, State, times};
use firstflight_contract::{Control, mul_div};

/// `BBRStartupPacingGain`, thousandths.
const STARTUP_PACING_GAIN: u64 = 2_770;
/// Gains of the resumed start-up.
const RESUME_GAIN: u64 = 1_250;
/// `BBRPacingMarginPercent`.
const PACING_MARGIN_PERCENT: u64 = 1;
/// RTT that is assumed before the first sample (`PICOQUIC_INITIAL_RTT`), microseconds.
const INITIAL_RTT: u64 = 250_000;
/// Share of the pacing rate that is a quantum, thousandths; its bounds: bytes, packets, and the rate below which one packet will do.
const QUANTUM_RATIO: u64 = 1;
const MOST_QUANTUM: u64 = 0x1_0000;
const SLOW: u64 = 150_000;

impl Bbr3Picoquic {
    /// Pacing gain of the state, thousandths.
    fn pacing_gain(&self) -> u64 {
        match self.state {
            State::Startup | State::StartupLongRtt => STARTUP_PACING_GAIN,
            State::StartupResume | State::Up => RESUME_GAIN,
            State::Drain => ONE / 2,
            State::Down => 900,
            State::Cruise | State::Refill | State::ProbeRtt => ONE,
        }
    }

    /// Window gain of the state, thousandths.
    fn cwnd_gain(&self) -> u64 {
        match self.state {
            State::StartupResume => RESUME_GAIN,
            State::Up => 2_250,
            State::ProbeRtt => ONE / 2,
            _ => 2 * ONE,
        }
    }

    /// `BBRInitPacingRate`.
    pub(super) fn init_pacing_rate(&mut self, control: &mut Control) {
        let rtt = if self.min_rtt == INFINITE { INITIAL_RTT } else { self.min_rtt.max(1) };
        self.pacing_rate = times(mul_div(CWIN_INITIAL, 1_000_000, rtt), STARTUP_PACING_GAIN);
        control.pacing = super::pacing(self.pacing_rate);
    }

    /// `BBRSetPacingRateWithGain`.
    pub(super) fn set_pacing_rate(&mut self, gain: u64, control: &mut Control) {
        let mut rate = mul_div(self.bw, gain * (100 - PACING_MARGIN_PERCENT), 100 * ONE);
        if self.state == State::StartupResume && !self.filled_pipe && self.bdp_seed > 0 {
            rate = rate.max(mul_div(self.bdp_seed, 1_000_000, self.min_rtt.max(1)));
        }
        if self.filled_pipe || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
        control.pacing = super::pacing(self.pacing_rate);
    }

    /// `BBRSetSendQuantum`.
    fn set_send_quantum(&mut self) {
        let floor = if self.pacing_rate < SLOW { self.mtu } else { 2 * self.mtu };
        self.send_quantum = times(self.pacing_rate, QUANTUM_RATIO).min(MOST_QUANTUM).max(floor);
    }

    /// `BBRMinPipeCwnd`, bytes.
    pub(super) fn min_pipe_cwnd(&self) -> u64 {
        MIN_PIPE_CWND * self.mtu
    }

    /// `BBRTargetInflight`.
    pub(super) fn target_inflight(&self, cwnd: u64) -> u64 {
        self.bdp(self.bw).min(cwnd)
    }

    /// `BBRInflightWithBw`.
    pub(super) fn inflight(&self, bw: u64, gain: u64) -> u64 {
        self.with_budget(times(self.bdp(bw), gain))
    }

    /// `BBRQuantizationBudget`.
    fn with_budget(&self, inflight: u64) -> u64 {
        let inflight = inflight.max(3 * self.send_quantum).max(self.min_pipe_cwnd());
        if self.state == State::Up { inflight.saturating_add(2 * self.mtu) } else { inflight }
    }

    /// `BBRProbeRTTCwnd`.
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        times(self.bdp(self.bw), ONE / 2).max(self.min_pipe_cwnd())
    }

    /// `BBRUpdateControlParameters`.
    pub(super) fn update_control_parameters(&mut self, sample: &Sample, control: &mut Control) {
        self.set_pacing_rate(self.pacing_gain(), control);
        self.set_send_quantum();
        self.set_cwnd(sample, control);
    }

    /// `BBRSetCwnd`.
    fn set_cwnd(&self, sample: &Sample, control: &mut Control) {
        let inflight = times(self.bdp(self.bw), self.cwnd_gain()).saturating_add(self.extra_acked);
        let max_inflight = self.with_budget(inflight);
        // What is lost leaves the window.
        if sample.newly_lost > 0 {
            control.cwnd = control.cwnd.saturating_sub(sample.newly_lost).max(self.mtu);
        }
        if self.recovery.conserving {
            control.cwnd = control.cwnd.max(sample.in_transit + sample.newly_acked);
        } else {
            if self.filled_pipe {
                control.cwnd = (control.cwnd + sample.newly_acked).min(max_inflight);
            } else if self.state == State::StartupResume && self.bdp_seed > control.cwnd {
                control.cwnd = self.bdp_seed;
            } else if control.cwnd < max_inflight || self.delivered < CWIN_INITIAL {
                control.cwnd += sample.newly_acked;
            }
            control.cwnd = control.cwnd.max(self.min_pipe_cwnd());
        }
        if self.state == State::ProbeRtt {
            control.cwnd = control.cwnd.min(self.probe_rtt_cwnd());
        }
        let cap = match self.state {
            State::Down | State::Refill | State::Up if self.inflight_hi > 0 => self.inflight_hi,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            _ => INFINITE,
        };
        control.cwnd = control.cwnd.min(cap.min(self.inflight_lo).max(self.min_pipe_cwnd()));
    }
}
