//! The four states of ProbeBW.

use super::{Bbr3, INFINITE, ONE, Sample, State, times};
use firstflight_contract::{Control, Nanos};

/// Shortest wait before a probe.
const WAIT: Nanos = Nanos::from_secs(2);
/// Largest part of it that is drawn, nanoseconds.
const DRAWN_WAIT: u64 = 1_000_000_000;
/// Largest number of rounds before a probe.
const MOST_ROUNDS: u64 = 63;
/// `BBR.Headroom`, thousandths.
const HEADROOM: u64 = 150;
/// Largest number of doublings of the slope.
const MOST_DOUBLINGS: u32 = 30;

/// `BBR.ack_phase`: the meaning of the ACKs with regard to probing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// State of the probing cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    pub(super) ack_phase: AckPhase,
    /// `BBR.is_bw_probe_sample`.
    pub(super) is_sample: bool,
    /// `BBR.prev_probe_too_high`.
    pub(super) prev_too_high: bool,
    /// `BBR.prev_probe_precautionary`.
    prev_precautionary: bool,
    /// `BBR.rounds_since_probe_up`.
    pub(super) rounds_since_up: u32,
    /// `BBR.bw_probe_wait`.
    pub(super) wait: Nanos,
    cycle_stamp: Nanos,
    up_rounds: u32,
    up_acked: u64,
    /// `BBR.probe_up_acked_per_inc`.
    acked_per_inc: u64,
}

impl Bbr3 {
    /// `StartProbeBW_DOWN`.
    pub(super) fn start_probe_bw_down(&mut self, now: Nanos) {
        self.reset_congestion_signals();
        self.probe.acked_per_inc = INFINITE;
        self.pick_probe_wait(now);
        self.probe.cycle_stamp = now;
        self.probe.ack_phase = AckPhase::Stopping;
        self.start_round();
        self.state = State::Down;
    }

    /// `PickProbeWait`. The draft draws at random, so that flows do not probe together. Here it is a hash of the connection's age, of
    /// the bytes that it delivered and of the seed: a run is repeatable, two flows differ, and a flow does not depend on when it begins.
    fn pick_probe_wait(&mut self, now: Nanos) {
        let age = now.saturating_sub(self.origin.time().unwrap_or_default());
        let seed = u64::from(self.parameters.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let drawn = mixed(age.0 ^ self.delivered.rotate_left(32) ^ seed);
        self.probe.rounds_since_up = (drawn & 1) as u32;
        self.probe.wait = WAIT + Nanos((drawn >> 1) % DRAWN_WAIT);
    }

    /// `StartProbeBW_REFILL`.
    pub(super) fn start_probe_bw_refill(&mut self) {
        self.reset_short_term_model();
        self.probe.up_rounds = 0;
        self.probe.up_acked = 0;
        self.probe.prev_precautionary = false;
        self.probe.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    /// `StartProbeBW_UP`.
    fn start_probe_bw_up(&mut self, sample: &Sample, control: &Control) {
        self.probe.ack_phase = AckPhase::Starting;
        self.start_round();
        self.reset_full_bw(sample.rate);
        self.state = State::Up;
        self.raise_slope(control);
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_probe_bw_cycle_phase(&mut self, sample: &Sample, control: &Control) {
        if !self.full_bw_reached || self.adapt_long_term_model(sample, control) {
            return;
        }
        match self.state {
            State::Down => {
                if self.is_time_to_probe(sample.now, control) {
                    self.start_probe_bw_refill();
                } else if self.is_time_to_cruise(sample, control) {
                    self.state = State::Cruise;
                }
            }
            State::Cruise => {
                if self.is_time_to_probe(sample.now, control) {
                    self.start_probe_bw_refill();
                }
            }
            State::Refill => {
                if self.round_start {
                    self.probe.is_sample = true;
                    self.start_probe_bw_up(sample, control);
                }
            }
            State::Up => {
                if self.is_time_to_go_down(sample, control) {
                    self.probe.prev_too_high = false;
                    self.start_probe_bw_down(sample.now);
                }
            }
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    /// `IsTimeToProbeBW`, `IsRenoCoexistenceProbeTime`.
    fn is_time_to_probe(&self, now: Nanos, control: &Control) -> bool {
        let elapsed = now > self.probe.cycle_stamp + self.probe.wait;
        let reno_rounds = self.target_inflight(control) / self.mss;
        elapsed || u64::from(self.probe.rounds_since_up) >= reno_rounds.min(MOST_ROUNDS)
    }

    /// `IsTimeToCruise`.
    fn is_time_to_cruise(&self, sample: &Sample, control: &Control) -> bool {
        sample.in_flight <= self.inflight_with_headroom()
            && sample.in_flight <= self.inflight(self.max_bw(), ONE, control.pacing)
    }

    /// `IsTimeToGoDown`.
    fn is_time_to_go_down(&mut self, sample: &Sample, control: &Control) -> bool {
        if self.probe.prev_too_high && sample.in_flight >= self.inflight_longterm {
            self.probe.prev_precautionary = true;
            return true;
        }
        if sample.cwnd_limited && control.cwnd >= self.inflight_longterm {
            // The bound limits the rate.
            self.reset_full_bw(sample.rate);
            return false;
        }
        self.full_bw_now
    }

    /// `InflightWithHeadroom`.
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_longterm == INFINITE {
            return INFINITE;
        }
        let headroom = times(self.inflight_longterm, HEADROOM).max(self.mss);
        self.inflight_longterm.saturating_sub(headroom).max(self.min_pipe_cwnd())
    }

    /// `RaiseInflightLongtermSlope`. The draft divides the window by a number of segments: so many bytes are acknowledged for each
    /// segment of growth.
    fn raise_slope(&mut self, control: &Control) {
        let growth_this_round = 1 << self.probe.up_rounds;
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(MOST_DOUBLINGS);
        self.probe.acked_per_inc = (control.cwnd / growth_this_round).max(self.mss);
    }

    /// `ProbeInflightLongtermUpward`.
    fn probe_inflight_longterm_upward(&mut self, sample: &Sample, control: &Control) {
        if !sample.cwnd_limited || control.cwnd < self.inflight_longterm {
            return;
        }
        self.probe.up_acked += sample.newly_acked;
        let delta = self.probe.up_acked / self.probe.acked_per_inc;
        self.probe.up_acked -= delta * self.probe.acked_per_inc;
        self.inflight_longterm = self.inflight_longterm.saturating_add(delta * self.mss);
        if self.round_start {
            self.raise_slope(control);
        }
    }

    /// `AdaptLongTermModel`: whether it decided a transition.
    fn adapt_long_term_model(&mut self, sample: &Sample, control: &Control) -> bool {
        if self.probe.ack_phase == AckPhase::Starting && self.round_start {
            self.probe.ack_phase = AckPhase::Feedback;
        }
        if self.probe.ack_phase == AckPhase::Stopping && self.round_start {
            self.probe.is_sample = false;
            self.probe.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() {
                if !sample.app_limited {
                    self.advance_max_bw_filter();
                }
                if self.probe.prev_precautionary && !self.probe.prev_too_high {
                    self.start_probe_bw_refill();
                    return true;
                }
            }
        }
        if self.is_inflight_too_high(sample.lost, sample.tx_in_flight) || self.inflight_longterm == INFINITE {
            return false;
        }
        self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight);
        if self.state == State::Up {
            self.probe_inflight_longterm_upward(sample, control);
        }
        false
    }
}

/// The finaliser of SplitMix64.
fn mixed(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
