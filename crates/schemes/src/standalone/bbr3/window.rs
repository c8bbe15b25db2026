//! The registers: pacing rate and window.

use super::{Bbr3, INFINITE, MIN_PIPE_CWND, ONE, Sample, State, times};
use firstflight_contract::{Control, Nanos, Rate, mul_div};

/// `BBR.DefaultCwndGain`, thousandths.
const DEFAULT_CWND_GAIN: u64 = 2 * ONE;
/// The window gain of `ProbeBW_UP`.
const UP_CWND_GAIN: u64 = 2_250;
/// The pacing gains of `ProbeBW_UP` and `ProbeBW_DOWN`.
const UP_PACING_GAIN: u64 = 1_250;
const DOWN_PACING_GAIN: u64 = 900;
/// `BBR.ProbeRTTCwndGain`.
const PROBE_RTT_CWND_GAIN: u64 = 500;
/// `BBR.PacingMarginPercent`.
const PACING_MARGIN_PERCENT: u64 = 1;
/// RTT of the first pacing rate if none is known.
const NOMINAL_RTT: Nanos = Nanos::from_millis(1);
/// Time whose data is one send quantum, and the quantum's bounds: bytes, segments.
const QUANTUM: Nanos = Nanos::from_millis(1);
const MOST_QUANTUM: u64 = 64 * 1024;
const LEAST_QUANTUM: u64 = 2;

impl Bbr3 {
    /// `BBR.pacing_gain`, thousandths.
    pub(super) fn pacing_gain(&self) -> u64 {
        match self.state {
            State::Startup => self.parameters.startup_pacing_gain.0,
            State::Drain => self.parameters.drain_pacing_gain.0,
            State::Down => DOWN_PACING_GAIN,
            State::Up => UP_PACING_GAIN,
            State::Cruise | State::Refill | State::ProbeRtt => ONE,
        }
    }

    /// `BBR.cwnd_gain`, thousandths.
    pub(super) fn cwnd_gain(&self) -> u64 {
        match self.state {
            State::Up => UP_CWND_GAIN,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => DEFAULT_CWND_GAIN,
        }
    }

    /// `InitPacingRate`.
    pub(super) fn init_pacing_rate(&mut self, rtt: Nanos, control: &mut Control) {
        self.rtt_known = rtt != Nanos::NEVER;
        let nominal = Rate::of(self.initial_cwnd, if self.rtt_known { rtt } else { NOMINAL_RTT });
        control.pacing = Rate(times(nominal.0, self.parameters.startup_pacing_gain.0).max(1));
    }

    /// `SetPacingRateWithGain`.
    pub(super) fn set_pacing_rate(&self, gain: u64, control: &mut Control) {
        let rate = mul_div(self.bw.0, gain * (100 - PACING_MARGIN_PERCENT), 100 * ONE);
        if self.full_bw_reached || rate > control.pacing.0 {
            control.pacing = Rate(rate.max(1));
        }
    }

    /// `BBR.MinPipeCwnd`, bytes.
    pub(super) fn min_pipe_cwnd(&self) -> u64 {
        MIN_PIPE_CWND * self.mss
    }

    /// `BDPMultiple`.
    pub(super) fn bdp(&self, bw: Rate, gain: u64) -> u64 {
        if self.min_rtt == Nanos::NEVER {
            return self.initial_cwnd;
        }
        times(bw.bytes_in(self.min_rtt), gain)
    }

    /// `TargetInflight`.
    pub(super) fn target_inflight(&self, control: &Control) -> u64 {
        self.bdp(self.bw, ONE).min(control.cwnd)
    }

    /// `QuantizationBudget`, under the pacing rate in force.
    fn with_budget(&self, inflight: u64, pacing: Rate) -> u64 {
        let quantum = pacing.bytes_in(QUANTUM).min(MOST_QUANTUM).max(LEAST_QUANTUM * self.mss);
        let offload_budget = u64::from(self.parameters.offload_quanta) * quantum;
        let inflight = inflight.max(offload_budget).max(self.min_pipe_cwnd());
        if self.state == State::Up { inflight.saturating_add(2 * self.mss) } else { inflight }
    }

    /// `Inflight`, from this bandwidth.
    pub(super) fn inflight(&self, bw: Rate, gain: u64, pacing: Rate) -> u64 {
        self.with_budget(self.bdp(bw, gain), pacing)
    }

    /// `SaveCwnd`.
    pub(super) fn save_cwnd(&mut self, control: &Control) {
        let unmodulated = !self.in_recovery && self.state != State::ProbeRtt;
        self.prior_cwnd = if unmodulated { control.cwnd } else { self.prior_cwnd.max(control.cwnd) };
    }

    /// `RestoreCwnd`.
    pub(super) fn restore_cwnd(&self, control: &mut Control) {
        control.cwnd = control.cwnd.max(self.prior_cwnd);
    }

    /// `ProbeRTTCwnd`.
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp(self.bw, PROBE_RTT_CWND_GAIN).max(self.min_pipe_cwnd())
    }

    /// `SetCwnd`.
    pub(super) fn set_cwnd(&self, sample: &Sample, control: &mut Control) {
        let inflight = self.bdp(self.bw, self.cwnd_gain()).saturating_add(self.extra_acked.get());
        let max_inflight = self.with_budget(inflight, control.pacing);
        if self.full_bw_reached {
            control.cwnd = (control.cwnd + sample.newly_acked).min(max_inflight);
        } else if control.cwnd < max_inflight || self.delivered < self.initial_cwnd {
            control.cwnd += sample.newly_acked;
        }
        control.cwnd = control.cwnd.max(self.min_pipe_cwnd());
        if self.state == State::ProbeRtt {
            control.cwnd = control.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model(control);
    }

    /// `BoundCwndForModel`.
    fn bound_cwnd_for_model(&self, control: &mut Control) {
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => INFINITE,
        };
        let cap = cap.min(self.inflight_shortterm).max(self.min_pipe_cwnd());
        control.cwnd = control.cwnd.min(cap);
    }
}
