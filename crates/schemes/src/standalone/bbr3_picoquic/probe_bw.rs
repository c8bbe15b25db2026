//! The four states of ProbeBW. While the rate grows by a fifteenth a cycle, probes follow each other after a round trip or some more.

use super::{Bbr3Picoquic, INFINITE, LEAST_RTT, LONG_RTT, ONE, Sample, State, times};
use firstflight_contract::Control;

/// `BBRRenoProbeRoundLimit`.
const MOST_ROUNDS: u64 = 63;
/// `BBRHeadroom`, thousandths, taken off.
const WITH_HEADROOM: u64 = 850;
/// `BBRAppLimitedRoundsThreshold`.
const LIMITED_ROUNDS: u32 = 3;
/// Largest number of doublings of the slope.
const MOST_DOUBLINGS: u32 = 30;

/// Meaning of the ACKs with regard to probing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    #[default]
    Starting,
    Stopping,
    Refilling,
    Feedback,
}

/// State of the cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    pub(super) ack_phase: AckPhase,
    /// Samples of a probe come in.
    pub(super) samples: bool,
    /// The rate still grows: the next probe follows quickly.
    pub(super) quickly: bool,
    wait: u64,
    /// Bandwidth above which Startup begins again.
    ceiling: u64,
    cycle_stamp: u64,
    rounds_since: u32,
    up_cnt: u64,
    up_rounds: u32,
    up_acks: u64,
    limited_rounds: u32,
    limited_this_round: bool,
}

impl Bbr3Picoquic {
    /// `BBREnterProbeBW`.
    pub(super) fn enter_probe_bw(&mut self, now: u64) {
        self.probe.ceiling = self.bw + self.bw / 2;
        self.start_probe_bw_down(now);
    }

    /// `BBRStartProbeBW_DOWN`.
    pub(super) fn start_probe_bw_down(&mut self, now: u64) {
        self.reset_congestion_signals();
        self.probe.up_cnt = u64::from(u32::MAX);
        self.pick_probe_wait();
        self.probe.cycle_stamp = now;
        self.probe.ack_phase = AckPhase::Stopping;
        self.start_round();
        self.state = State::Down;
        self.jitter.excess = 0;
        self.probe.limited_rounds = 0;
        self.probe.limited_this_round = false;
    }

    /// `BBRPickProbeWait`, `BBRPickProbeWaitEarly`.
    fn pick_probe_wait(&mut self) {
        self.probe.rounds_since = self.draw(1) as u32;
        // Without any sample the RTT counts as the one that picoquic assumes, which is also the bound of long ones.
        let rtt = if self.min_rtt == INFINITE { LONG_RTT } else { self.min_rtt };
        self.probe.wait = match (self.probe.quickly, rtt >= LONG_RTT) {
            (true, false) => rtt + self.draw(LONG_RTT),
            (true, true) => rtt + self.draw(rtt),
            (false, false) => 2_000_000 + self.draw(1_000_000),
            (false, true) => 8 * rtt + self.draw(4 * rtt),
        };
    }

    /// A number from zero to `most`: SplitMix64, and the remainder of what is not in its last part.
    fn draw(&mut self, most: u64) -> u64 {
        let range = most + 1;
        // A first value in that part comes with a probability below 2^-32, and a second one never in practice.
        let mut value = self.next_random();
        if value < u64::MAX % range {
            value = self.next_random();
        }
        value % range
    }

    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = self.random;
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// `BBRStartProbeBW_REFILL`.
    fn start_refill(&mut self) {
        self.reset_lower_bounds();
        self.probe.up_rounds = 0;
        self.probe.up_acks = 0;
        self.full_bw = self.max_bw;
        self.probe.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    /// `BBRStartProbeBW_UP`.
    fn start_up(&mut self, now: u64, control: &Control) {
        self.jitter.excess = 0;
        self.probe.ack_phase = AckPhase::Starting;
        self.start_round();
        self.probe.cycle_stamp = now;
        self.state = State::Up;
        self.raise_slope(control);
    }

    /// `BBRRaiseInflightHiSlope`.
    fn raise_slope(&mut self, control: &Control) {
        let growth = self.mtu << self.probe.up_rounds;
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(MOST_DOUBLINGS);
        self.probe.up_cnt = (control.cwnd / growth).max(1);
    }

    /// `BBRInflightWithHeadroom`. A bound of zero is none only where the window is capped.
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_hi == INFINITE {
            return INFINITE;
        }
        times(self.inflight_hi, WITH_HEADROOM).max(self.min_pipe_cwnd())
    }

    /// `BBRAdaptUpperBounds`.
    fn adapt_upper_bounds(&mut self, sample: &Sample, control: &Control) {
        if self.probe.ack_phase == AckPhase::Starting && self.round_start {
            self.probe.ack_phase = AckPhase::Feedback;
        }
        let ends = self.probe.ack_phase == AckPhase::Stopping && self.round_start;
        if ends && self.state.is_probe_bw() && !sample.app_limited {
            self.cycle_count += 1;
            self.probe.ack_phase = AckPhase::Starting;
            self.max_bw_filter.start(self.cycle_count);
        }
        if self.is_inflight_too_high(sample.prior_delivered, sample.lost, sample.tx_in_flight) {
            if self.probe.samples {
                self.handle_inflight_too_high(
                    sample.tx_in_flight,
                    sample.app_limited,
                    control.cwnd,
                    sample.now,
                );
            }
            return;
        }
        if self.inflight_hi == INFINITE {
            return;
        }
        self.inflight_hi = self.inflight_hi.max(sample.tx_in_flight);
        if self.state == State::Up {
            self.probe_inflight_hi_upward(sample, control);
        }
    }

    /// `BBRProbeInflightHiUpward`. The code compares with packets, and then divides by their number.
    fn probe_inflight_hi_upward(&mut self, sample: &Sample, control: &Control) {
        if !sample.cwnd_limited || control.cwnd < self.inflight_hi {
            return;
        }
        self.probe.up_acks += sample.newly_acked;
        if self.probe.up_acks >= self.probe.up_cnt * self.mtu {
            let delta = self.probe.up_acks / self.probe.up_cnt;
            self.probe.up_acks -= delta * self.probe.up_cnt;
            self.inflight_hi += delta;
        }
        if self.round_start {
            self.raise_slope(control);
        }
    }

    /// `BBRCheckPathSaturated`: the path has become much slower.
    fn is_path_saturated(&mut self, sample: &Sample) -> bool {
        let saturated = sample.rtt > self.min_rtt.saturating_mul(2)
            && self.probe.rounds_since >= 1
            && self.pacing_rate > 3 * sample.rate;
        if saturated {
            self.prior_cwnd = sample.delivered;
            self.probe_rtt_done = None;
            self.probe.ack_phase = AckPhase::Stopping;
            self.max_bw_filter.fill(sample.rate);
            self.max_bw = sample.rate;
            self.full_bw = sample.rate;
            self.state = State::Drain;
            self.start_round();
        }
        saturated
    }

    /// `BBRCheckAppLimitedEnded`: after rounds that the application limited, one that it does not.
    fn has_limit_ended(&mut self, sample: &Sample) -> bool {
        if !self.round_start {
            self.probe.limited_this_round |= sample.app_limited;
            return false;
        }
        if core::mem::take(&mut self.probe.limited_this_round) {
            self.probe.limited_rounds += 1;
            return false;
        }
        core::mem::take(&mut self.probe.limited_rounds) > LIMITED_ROUNDS
    }

    /// `BBRCheckTimeToProbeBW`.
    fn is_time_to_probe(&mut self, sample: &Sample, control: &Control) -> bool {
        let elapsed = sample.now > self.probe.cycle_stamp + self.probe.wait;
        let reno_rounds = self.target_inflight(control.cwnd) / self.mtu;
        elapsed
            || u64::from(self.probe.rounds_since) >= reno_rounds.min(MOST_ROUNDS)
            || self.has_limit_ended(sample)
    }

    /// `BBRUpdateProbeBWCyclePhase`.
    pub(super) fn update_probe_bw_cycle_phase(&mut self, sample: &Sample, control: &Control) {
        if !self.filled_pipe {
            return;
        }
        self.adapt_upper_bounds(sample, control);
        match self.state {
            State::Down => {
                if self.is_time_to_probe(sample, control) {
                    return self.start_refill();
                }
                if self.is_path_saturated(sample) {
                    return;
                }
                self.check_time_to_cruise(sample);
            }
            State::Cruise => {
                if self.is_path_saturated(sample) {
                    return;
                }
                if self.is_time_to_probe(sample, control) {
                    return self.start_refill();
                }
            }
            State::Refill => {
                if self.round_start {
                    self.probe.samples = true;
                    self.start_up(sample.now, control);
                }
            }
            State::Up => {
                // A round trip of probing has made a queue.
                let elapsed = sample.now > self.probe.cycle_stamp.saturating_add(self.min_rtt);
                let queue = self.jitter.excess > 0 || sample.in_transit > self.inflight(self.max_bw, 1_250);
                if elapsed && self.min_rtt > LEAST_RTT && queue {
                    self.start_probe_bw_down(sample.now);
                }
            }
            _ => return,
        }
        if self.bw > self.probe.ceiling {
            self.enter_startup_again();
        }
    }

    /// `BBRCheckTimeToCruise`, and whether the rate still grows.
    fn check_time_to_cruise(&mut self, sample: &Sample) {
        if sample.in_transit > self.inflight_with_headroom()
            || sample.in_transit > self.inflight(self.max_bw, ONE)
        {
            return;
        }
        if 15 * self.max_bw >= 16 * self.full_bw {
            self.full_bw = self.max_bw;
            self.full_bw_count = 0;
            self.probe.quickly = true;
        } else {
            self.full_bw_count += 1;
            if self.full_bw_count > 3 {
                self.probe.quickly = false;
                self.full_bw_count = 0;
            }
        }
        self.state = State::Cruise;
    }
}
