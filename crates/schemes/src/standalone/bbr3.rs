//! BBR version 3: N. Cardwell, I. Swett, J. Beshay, "BBR Congestion Control", draft-ietf-ccwg-bbr-06 (the working group's
//! repository at commit 4ce5e87d), without ECN.
//!
//! A model of the path sets the pacing rate and the window: the largest delivery rate of two probing cycles, the smallest RTT, and
//! the amounts in flight that losses have shown to be too much. Startup doubles the rate each round. Drain empties the queue.
//! ProbeBW cycles through going down, cruising, refilling and going up. ProbeRTT lowers the flight to measure the RTT.
//!
//! Names are those of the draft. Amounts are bytes, and gains are thousandths. A bound that is not set is infinite, as in the draft.

mod losses;
mod model;
mod probe_bw;
mod probe_rtt;
mod startup;
#[cfg(test)]
mod tests;
mod window;

use crate::estimate::own_limit::OwnLimit;
use crate::estimate::windowed_max::WindowedMax;
use crate::scheme;
use crate::scheme::Fixed;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Lost, Moment, Nanos, Phase, Rate, Role, Signals, Step, Trigger,
    Why,
};
use losses::Undo;
use probe_bw::Probe;

/// A bound that is not set.
const INFINITE: u64 = u64::MAX;
/// A rate that is not bounded.
const UNBOUNDED: Rate = Rate(u64::MAX);
/// The gain of one.
const ONE: u64 = 1000;
/// `BBR.MinPipeCwnd`, segments.
const MIN_PIPE_CWND: u64 = 4;
/// `BBR.Beta`, thousandths.
const BETA: u64 = 700;

/// `BBR.state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Startup.
    #[default]
    Startup,
    /// Drain.
    Drain,
    /// `ProbeBW_DOWN`.
    Down,
    /// `ProbeBW_CRUISE`.
    Cruise,
    /// `ProbeBW_REFILL`.
    Refill,
    /// `ProbeBW_UP`.
    Up,
    /// `ProbeRTT`.
    ProbeRtt,
}

impl State {
    /// Whether it is one of the four states of ProbeBW.
    fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// `IsProbingBW`: whether the state accelerates.
    fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// Values of the model, for tests and for comparisons with other implementations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// `BBR.state`.
    pub state: State,
    /// `BBR.round_count`.
    pub rounds: u32,
    /// `BBR.max_bw`.
    pub max_bw: Rate,
    /// `BBR.bw_shortterm`; the largest rate while it is not set.
    pub bw_shortterm: Rate,
    /// `BBR.inflight_shortterm`, bytes; `u64::MAX` while it is not set.
    pub inflight_shortterm: u64,
    /// `BBR.inflight_longterm`, bytes; `u64::MAX` while it is not set.
    pub inflight_longterm: u64,
    /// `BBR.min_rtt`; `None` before the first sample.
    pub min_rtt: Option<Nanos>,
    /// `BBR.extra_acked`, bytes.
    pub extra_acked: u64,
    /// `BBR.full_bw_count`.
    pub full_bw_count: u32,
    /// `BBR.full_bw_now`.
    pub full_bw_now: bool,
    /// `BBR.full_bw_reached`.
    pub full_bw_reached: bool,
    /// `BBR.pacing_gain`, thousandths.
    pub pacing_gain: u64,
    /// `BBR.cwnd_gain`, thousandths.
    pub cwnd_gain: u64,
    /// `BBR.bw_probe_wait`.
    pub probe_wait: Nanos,
    /// `Inflight(1.0)`, bytes.
    pub target: u64,
    /// `InflightWithHeadroom()`, bytes; `u64::MAX` while there is no bound.
    pub with_headroom: u64,
    /// `BBR.idle_restart`.
    pub idle_restart: bool,
}

/// The rate sample of an ACK (RS in the draft).
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    now: Nanos,
    /// [`Rate::NONE`] without a reliable sample.
    rate: Rate,
    /// Bytes delivered since the newest delivered segment left.
    delivered: u64,
    prior_delivered: u64,
    newly_acked: u64,
    app_limited: bool,
    /// In flight when that segment left, and lost since.
    tx_in_flight: u64,
    lost: u64,
    /// In flight after the ACK.
    in_flight: u64,
    rtt: Option<Nanos>,
    cwnd_limited: bool,
}

/// BBR v3.
#[derive(Clone, Debug, Default)]
pub struct Bbr3 {
    parameters: Parameters,
    state: State,
    /// When the connection's first phase began, for draws that do not depend on the host's clock.
    origin: Moment,
    /// As of the last event.
    mss: u64,
    initial_cwnd: u64,
    /// Total delivered as of the last event.
    delivered: u64,

    // Rounds.
    round_count: u32,
    round_start: bool,
    next_round_delivered: u64,

    // The model.
    /// The largest rates of the previous cycle and of the present one.
    max_bw_filter: [Rate; 2],
    bw: Rate,
    bw_shortterm: Rate,
    inflight_shortterm: u64,
    inflight_longterm: u64,
    /// [`Nanos::NEVER`] before the first sample.
    min_rtt: Nanos,
    min_rtt_stamp: Nanos,
    extra_acked: WindowedMax,
    extra_acked_interval_start: Nanos,
    extra_acked_delivered: u64,

    // The full-pipe estimator.
    full_bw: Rate,
    full_bw_count: u32,
    full_bw_now: bool,
    full_bw_reached: bool,
    drain_start_round: u32,

    // Congestion signals.
    bw_latest: Rate,
    inflight_latest: u64,
    loss_round_delivered: u64,
    loss_round_start: bool,
    is_loss_in_round: bool,
    /// Ranges of lost segments without a gap, in this loss round, and the segment that would continue the last of them.
    lost_ranges: u32,
    next_lost: Option<u64>,
    undo: Undo,

    probe: Probe,

    // ProbeRTT.
    probe_rtt_min_delay: Nanos,
    probe_rtt_min_stamp: Nanos,
    probe_rtt_expired: bool,
    probe_rtt_done: Moment,
    probe_rtt_round_done: bool,
    slowed: OwnLimit,
    idle_restart: bool,

    // Registers.
    prior_cwnd: u64,
    in_recovery: bool,
    /// Total delivered when the present recovery began.
    recovery_delivered: u64,
    /// Whether an RTT was known when the first pacing rate was set.
    rtt_known: bool,
}

scheme! {
    impl Scheme for Bbr3 {
        label: "bbr3",
        role: Role::Standalone,
        source: "Cardwell, Swett, Beshay, draft-ietf-ccwg-bbr-06",
        summary: "version 3 of BBR: paces at the largest delivery rate of two probing cycles, within bounds on the flight that \
                  losses set",
        needs: Signals::RTT.union(Signals::PACING).union(Signals::RATE).union(Signals::LOSSES),
    }

    pub struct Parameters {
        /// pacing gain of Startup (draft: StartupPacingGain, 4 ln 2)
        startup_pacing_gain: Fixed<1000> in 1.1..=4.0 = 2.77,
        /// pacing gain of Drain (draft: DrainPacingGain; quiche 0.30 has 1/2.885 = 0.347)
        drain_pacing_gain: Fixed<1000> in 0.1..=1.0 = 0.5,
        /// growth of the delivery rate from round to round that shows the pipe not to be full (draft section "Exiting Acceleration Based on Bandwidth Plateau")
        full_bw_growth: Fixed<1000> in 1.01..=2.0 = 1.25,
        /// share of a round's flight whose loss is too much (draft: LossThresh; quiche 0.30 has 0.015)
        loss_thresh: Fixed<1000> in 0.001..=0.5 = 0.02,
        /// ranges of lost segments in a round that end Startup (draft: StartupFullLossCnt; quiche 0.30 has 8)
        full_loss_cnt: u32 in 1..=1024 = 6,
        /// send quanta that the hosts hold beside the path's flight (draft section "BBR.offload_budget": 3 for TCP, 1 for QUIC)
        offload_quanta: u32 in 1..=3 = 3,
        /// number from which the waits before probes are drawn, beside the connection's own data
        seed: u32 in 0..=1000000 = 0,
    }
}

impl Bbr3 {
    /// Values of the model.
    pub fn view(&self) -> View {
        View {
            state: self.state,
            rounds: self.round_count,
            max_bw: self.max_bw(),
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
            min_rtt: Some(self.min_rtt).filter(|rtt| *rtt != Nanos::NEVER),
            extra_acked: self.extra_acked.get(),
            full_bw_count: self.full_bw_count,
            full_bw_now: self.full_bw_now,
            full_bw_reached: self.full_bw_reached,
            pacing_gain: self.pacing_gain(),
            cwnd_gain: self.cwnd_gain(),
            probe_wait: self.probe.wait,
            target: self.inflight(self.bw, ONE, Rate::NONE),
            with_headroom: self.inflight_with_headroom(),
            idle_restart: self.idle_restart,
        }
    }

    /// `OnInit`.
    fn begin(&mut self, entry: &Entry, control: &mut Control) {
        let min_rtt = if entry.rtt > Nanos::ZERO { entry.rtt } else { Nanos::NEVER };
        let origin = match self.origin {
            Moment::NEVER => Moment::at(entry.now.saturating_sub(entry.rtt)),
            known => known,
        };
        *self = Self {
            parameters: self.parameters,
            origin,
            mss: entry.mss.into(),
            initial_cwnd: control.cwnd,
            delivered: self.delivered,
            next_round_delivered: self.delivered,
            bw_shortterm: UNBOUNDED,
            inflight_shortterm: INFINITE,
            inflight_longterm: INFINITE,
            min_rtt,
            min_rtt_stamp: entry.now,
            probe_rtt_min_delay: min_rtt,
            probe_rtt_min_stamp: entry.now,
            extra_acked_interval_start: entry.now,
            ..Self::default()
        };
        control.ssthresh = u64::MAX;
        self.init_pacing_rate(min_rtt, control);
    }

    fn read(&mut self, ack: &Ack) -> Sample {
        self.mss = ack.mss.into();
        self.delivered = ack.delivered;
        if ack.acked == 0 {
            return Sample { now: ack.now, in_flight: ack.pipe, ..Sample::default() };
        }
        Sample {
            now: ack.now,
            rate: ack.rate,
            delivered: ack.delivered.saturating_sub(ack.prior_delivered),
            prior_delivered: ack.prior_delivered,
            newly_acked: ack.acked,
            app_limited: ack.is(Ack::RATE_LIMITED) || self.slowed.covers(ack.prior_delivered),
            tx_in_flight: ack.prior_in_flight,
            lost: ack.lost.saturating_sub(ack.prior_lost),
            in_flight: ack.pipe,
            rtt: Some(ack.rtt).filter(|rtt| *rtt > Nanos::ZERO),
            cwnd_limited: !ack.is(Ack::APP_LIMITED),
        }
    }

    /// `UpdateModelAndState`.
    fn update_model_and_state(&mut self, sample: &Sample, control: &mut Control) {
        self.update_latest_delivery_signals(sample);
        self.update_congestion_signals(sample, control);
        self.update_ack_aggregation(sample, control);
        self.check_full_bw_reached(sample);
        self.check_startup_done(sample);
        self.check_drain_done(sample, control);
        self.update_probe_bw_cycle_phase(sample, control);
        self.update_min_rtt(sample);
        self.check_probe_rtt(sample, control);
        self.advance_latest_delivery_signals(sample);
        self.bound_bw_for_model();
    }

    /// `StartRound`.
    fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }
}

impl Phase for Bbr3 {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        match entry.why {
            Why::Idle => self.restart_from_idle(entry.now, control),
            Why::Connect | Why::Handover | Why::Migrate | Why::Timeout => self.begin(entry, control),
        }
    }

    fn on_lost(&mut self, lost: &Lost, control: &mut Control) {
        self.mss = lost.mss.into();
        self.delivered = lost.delivered;
        self.handle_lost_packet(lost, control);
    }

    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        let was_full = self.full_bw_reached;
        let sample = self.read(ack);
        if !self.rtt_known && ack.srtt > Nanos::ZERO {
            self.init_pacing_rate(ack.srtt, control);
        }
        if self.in_recovery && !ack.is(Ack::RECOVERY) {
            self.restore_cwnd(control);
        }
        self.in_recovery = ack.is(Ack::RECOVERY);
        if ack.acked > 0 {
            self.update_model_and_state(&sample, control);
            self.set_pacing_rate(self.pacing_gain(), control);
            self.set_cwnd(&sample, control);
        }
        if self.full_bw_reached && !was_full { Step::Over(self.startup_exit()) } else { Step::Stay }
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        self.mss = event.mss.into();
        match event.trigger {
            // Without ECN a mark is no signal.
            Trigger::Mark => return Step::Stay,
            Trigger::Loss => self.save_state_upon_loss(control),
            Trigger::Timeout => {
                self.save_state_upon_loss(control);
                // The host adds what is still in flight.
                control.cwnd = self.mss;
            }
        }
        if !self.in_recovery {
            self.in_recovery = true;
            self.recovery_delivered = self.delivered;
        }
        Step::Stay
    }

    fn on_spurious(&mut self) {
        self.handle_spurious_loss_detection();
    }
}

/// `value` times `gain` thousandths, rounded down.
fn times(value: u64, gain: u64) -> u64 {
    firstflight_contract::mul_div(value, gain, ONE)
}

impl Bbr3 {
    /// Reason for which Startup ended: too many losses, or a rate that no longer grows.
    fn startup_exit(&self) -> Exit {
        if self.undo.state == Some(State::Startup) { Exit::Loss } else { Exit::Delivery }
    }
}
