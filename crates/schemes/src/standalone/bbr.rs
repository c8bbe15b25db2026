//! BBR version 1: N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh, V. Jacobson, "BBR: Congestion-Based Congestion
//! Control", ACM Queue 14(5), 2016, in the version of Linux 6.x (net/ipv4/tcp_bbr.c).
//!
//! A model of the path, the largest delivery rate of ten rounds and the smallest RTT of ten seconds, sets the pacing
//! rate and the window. STARTUP doubles the rate each round until it no longer grows; DRAIN empties the resulting
//! queue; PROBE_BW cycles around the estimate, and PROBE_RTT periodically reduces the flight to measure the RTT.
//!
//! The integers are the kernel's (`units`): windows in segments, times in microseconds, gains in 256ths.

mod aggregation;
mod policer;
#[cfg(test)]
mod tests;
mod units;
mod window;

use crate::estimate::own_limit::OwnLimit;
use crate::estimate::windowed_max::WindowedMax;
use crate::scheme;
use aggregation::Aggregation;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Moment, Nanos, Phase, Role, Signals, Step, Trigger, Why,
};
use policer::{Policer, Signs, Totals, Verdict};
use units::{Bandwidth, ONE};
use window::{CaState, Window};

/// 2/ln 2, the smallest gain that doubles the rate every round: `256 * 2885 / 1000 + 1`.
const HIGH_GAIN: u64 = 739;
/// Its inverse, which drains the queue of STARTUP in one round: `256 * 1000 / 2885`.
const DRAIN_GAIN: u64 = 88;
/// Gains of the phases of PROBE_BW: probe, drain, cruise.
const CYCLE: [u64; 8] = [ONE * 5 / 4, ONE * 3 / 4, ONE, ONE, ONE, ONE, ONE, ONE];
/// Rounds of the bandwidth filter: a cycle, and two more.
const BANDWIDTH_ROUNDS: u32 = CYCLE.len() as u32 + 2;
/// Window of the RTT filter, microseconds.
const MIN_RTT_WINDOW: u64 = 10_000_000;
/// Shortest PROBE_RTT, microseconds.
const PROBE_RTT_TIME: u64 = 200_000;
/// The window that keeps a receiver's delayed ACKs coming, segments.
const MIN_WINDOW: u64 = 4;
/// Growth from one round to the next that shows the pipe not to be full.
const FULL_PIPE_GROWTH: u64 = ONE * 5 / 4;
/// Rounds without that growth after which the pipe is full.
const FULL_PIPE_ROUNDS: u32 = 3;
/// Initial RTT if none is known, microseconds.
const NOMINAL_RTT: u64 = 1_000;

/// Mode of the state machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// An ACK in the kernel's units.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Totals up to and with this ACK.
    totals: Totals,
    acked: u64,
    newly_lost: u64,
    /// Total delivered when the newest segment of this ACK left.
    prior_delivered: u64,
    /// Segments in flight before the ACK, and after it.
    prior_in_flight: u64,
    pipe: u64,
    /// Zero without a sample.
    bandwidth: Bandwidth,
    app_limited: bool,
    /// Microseconds.
    rtt: Option<u64>,
    maybe_delayed: bool,
}

/// BBR v1.
#[derive(Clone, Debug, Default)]
pub struct Bbr {
    mode: Mode,
    /// Beginning of the connection: the departure of its SYN, as far as the first entry shows it.
    origin: Moment,
    /// As of the last event.
    mss: u64,
    pacing_gain: u64,
    /// As of the last ACK.
    totals: Totals,
    /// Bytes delivered and bytes lost that `totals` counts: segments of the size that was in force at each ACK, so that a
    /// change of the segment size does not change the past.
    counted: (u64, u64),

    // The model.
    max_bandwidth: WindowedMax,
    rounds: u32,
    /// The round lasts until a segment arrives that was sent after this many segments were delivered.
    round_ends: u64,
    round_start: bool,
    /// Smallest RTT and the time of its last measurement, microseconds.
    min_rtt: Option<u64>,
    min_rtt_at: u64,
    /// Whether an RTT was known when the pacing rate was set.
    rtt_known: bool,
    aggregation: Aggregation,
    policer: Policer,

    // STARTUP.
    full_bandwidth: Bandwidth,
    full_rounds: u32,
    full_pipe: bool,

    // PROBE_BW.
    phase: usize,
    phase_at: u64,

    // PROBE_RTT.
    probe_rtt_ends: Option<u64>,
    probe_rtt_round_done: bool,
    /// Segments sent during PROBE_RTT do not measure the bandwidth.
    slowed: OwnLimit,
    idle_restart: bool,

    window: Window,
    /// Recovery announced by the host's last congestion event.
    announced: CaState,
    /// Whether a timeout fired since the last ACK.
    timed_out: bool,
}

scheme! {
    impl Scheme for Bbr {
        label: "bbr",
        role: Role::Standalone,
        source: "Cardwell, Cheng, Gunn, Hassas Yeganeh, Jacobson, ACM Queue 14(5), 2016; Linux 6.x tcp_bbr.c",
        summary: "paces at the largest delivery rate of ten rounds, keeps two of its products with the smallest RTT \
                  in flight",
        needs: Signals::RTT.union(Signals::PACING).union(Signals::RATE),
    }
}

impl Bbr {
    fn bandwidth(&self) -> Bandwidth {
        self.policer.rate().unwrap_or(self.max_bandwidth.get())
    }

    fn begin(&mut self, entry: &Entry, control: &mut Control) {
        let now = micros(entry.now);
        let rtt = Some(micros(entry.rtt)).filter(|rtt| *rtt > 0);
        let origin = match self.origin {
            Moment::NEVER => Moment::at(entry.now.saturating_sub(entry.rtt)),
            known => known,
        };
        *self = Self {
            origin,
            mss: entry.mss.into(),
            pacing_gain: HIGH_GAIN,
            min_rtt: rtt,
            min_rtt_at: now,
            totals: Totals { at: now, ..Totals::default() },
            ..Self::default()
        };
        self.aggregation.restart(now);
        control.ssthresh = u64::MAX;
        self.pace_by_rtt(rtt, control);
    }

    /// The first pacing rate: a window a round trip, at the gain of STARTUP.
    fn pace_by_rtt(&mut self, rtt: Option<u64>, control: &mut Control) {
        self.rtt_known = rtt.is_some();
        let bandwidth = units::over(self.window_of(control), rtt.unwrap_or(NOMINAL_RTT));
        control.pacing = units::pacing(bandwidth, HIGH_GAIN, self.mss);
    }

    /// `bbr_set_pacing_rate`: until the pipe was once full, the rate does not fall.
    fn pace(&mut self, gain: u64, srtt: Nanos, control: &mut Control) {
        let rate = units::pacing(self.bandwidth(), gain, self.mss);
        if !self.rtt_known && srtt > Nanos::ZERO {
            self.pace_by_rtt(Some(micros(srtt).max(1)), control);
        }
        if self.full_pipe || rate > control.pacing {
            control.pacing = rate;
        }
    }

    /// Sending resumes with nothing in flight.
    fn resume(&mut self, now: u64, control: &mut Control) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        match self.mode {
            // A pipe need not be refilled faster than it drains.
            Mode::ProbeBandwidth => self.pace(ONE, Nanos::ZERO, control),
            Mode::ProbeRtt => self.check_probe_rtt_done(now, self.totals, control),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn read(&self, ack: &Ack) -> Sample {
        let mss = self.mss;
        let delivered = segments(self.totals.delivered, self.counted.0, ack.delivered, mss);
        let lost = segments(self.totals.lost, self.counted.1, ack.lost, mss);
        let prior_delivered = segments(delivered, ack.delivered, ack.prior_delivered, mss);
        let slowed = self.slowed.covers(prior_delivered);
        Sample {
            totals: Totals { at: micros(ack.now), delivered, lost },
            acked: delivered.saturating_sub(self.totals.delivered),
            // Losses declared by a timeout lie between two ACKs: they do not belong to this ACK.
            newly_lost: if self.timed_out { 0 } else { lost.saturating_sub(self.totals.lost) },
            prior_delivered,
            prior_in_flight: ack.in_flight.div_ceil(mss),
            pipe: ack.pipe.div_ceil(mss),
            bandwidth: units::bandwidth(ack.rate, mss),
            app_limited: ack.is(Ack::RATE_LIMITED) || slowed,
            rtt: Some(micros(ack.rtt)).filter(|_| ack.rtt > Nanos::ZERO),
            maybe_delayed: ack.is(Ack::MAYBE_DELAYED),
        }
    }

    /// The kernel reports a timeout to the policer detector when it fires; here the losses are known with the next ACK.
    fn catch_up_on_timeout(&mut self, sample: &Sample) {
        let totals = Totals { lost: sample.totals.lost, ..self.totals };
        let signs = Signs {
            lossy: true,
            app_limited: false,
            round_start: true,
            probing_bandwidth: self.mode == Mode::ProbeBandwidth,
        };
        self.look_for_policer(totals, signs);
        self.timed_out = false;
    }

    fn look_for_policer(&mut self, totals: Totals, signs: Signs) {
        match self.policer.update(totals, signs, self.mss) {
            Verdict::Nothing => {}
            Verdict::Policed => self.pacing_gain = ONE,
            Verdict::Over => self.enter_probe_bandwidth(totals),
        }
    }

    fn update_bandwidth(&mut self, sample: &Sample) {
        self.round_start = false;
        if sample.bandwidth == 0 {
            return;
        }
        if sample.prior_delivered >= self.round_ends {
            self.round_ends = sample.totals.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.window.conserving = false;
        }
        let signs = Signs {
            lossy: sample.newly_lost > 0,
            app_limited: sample.app_limited,
            round_start: self.round_start,
            probing_bandwidth: self.mode == Mode::ProbeBandwidth,
        };
        self.look_for_policer(sample.totals, signs);
        // An application-limited sample counts only if it exceeds the estimate.
        if !sample.app_limited || sample.bandwidth >= self.max_bandwidth.get() {
            self.max_bandwidth.update(BANDWIDTH_ROUNDS, self.rounds, sample.bandwidth);
        }
    }

    /// The kernel estimates the segments in flight at the departure of the next piece, whose time it knows. A phase
    /// does not see the pacer: it assumes that the next piece leaves now, an error of at most one piece.
    fn in_flight_at_departure(&self, in_flight: u64, control: &Control) -> u64 {
        let piece =
            if self.pacing_gain > ONE { units::segments_at_once(control.pacing, self.mss) } else { 0 };
        in_flight + piece
    }

    /// `bbr_is_next_cycle_phase`.
    fn phase_is_over(&self, sample: &Sample, control: &Control) -> bool {
        let elapsed = sample.totals.at.saturating_sub(self.phase_at);
        let full_length = self.min_rtt.is_some_and(|rtt| elapsed > rtt);
        if self.pacing_gain == ONE {
            return full_length;
        }
        let in_flight = self.in_flight_at_departure(sample.prior_in_flight, control);
        if self.pacing_gain > ONE {
            // Until the path holds the larger flight, or drops packets of it.
            let reached = || sample.newly_lost > 0 || in_flight >= self.inflight(self.pacing_gain, control);
            return full_length && reached();
        }
        full_length || in_flight <= self.inflight(ONE, control)
    }

    fn next_phase(&mut self, now: u64) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_at = now;
    }

    /// PROBE_BW begins in any phase but the draining one. The kernel draws the phase at random, so that flows do not
    /// probe together. Here it is a hash of the time since the connection began and of the delivered segments: a run is
    /// repeatable, two flows differ, and a flow does not depend on when it begins.
    fn enter_probe_bandwidth(&mut self, totals: Totals) {
        self.mode = Mode::ProbeBandwidth;
        let age = totals.at - micros(self.origin.time().unwrap_or_default());
        self.phase = CYCLE.len() - 1 - below_seven(age ^ totals.delivered.rotate_left(32)) as usize;
        self.next_phase(totals.at);
    }

    /// Three rounds without a quarter more bandwidth: the pipe is full.
    fn check_full_pipe(&mut self, sample: &Sample) {
        if self.full_pipe || !self.round_start || sample.app_limited {
            return;
        }
        let bandwidth = self.max_bandwidth.get();
        if bandwidth >= self.full_bandwidth * FULL_PIPE_GROWTH / ONE {
            self.full_bandwidth = bandwidth;
            self.full_rounds = 0;
        } else {
            self.full_rounds += 1;
            self.full_pipe = self.full_rounds >= FULL_PIPE_ROUNDS;
        }
    }

    fn check_drain(&mut self, sample: &Sample, control: &mut Control) {
        if self.mode == Mode::Startup && self.full_pipe {
            self.mode = Mode::Drain;
            control.ssthresh = self.inflight(ONE, control) * self.mss;
        }
        if self.mode == Mode::Drain
            && self.in_flight_at_departure(sample.pipe, control) <= self.inflight(ONE, control)
        {
            self.enter_probe_bandwidth(sample.totals);
        }
    }

    /// `bbr_update_min_rtt`: the filter, and PROBE_RTT once the filter has expired.
    fn update_min_rtt(&mut self, sample: &Sample, control: &mut Control) {
        let now = sample.totals.at;
        let expired = now > self.min_rtt_at + MIN_RTT_WINDOW;
        if let Some(rtt) = sample.rtt
            // Linux since 5.10: an equal RTT does not postpone PROBE_RTT.
            && (self.min_rtt.is_none_or(|min| rtt < min) || (expired && !sample.maybe_delayed))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = now;
        }
        let delivered = sample.totals.delivered;
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window(control);
            self.probe_rtt_ends = None;
            self.slowed.begin(delivered);
        }
        if self.mode == Mode::ProbeRtt {
            self.slowed.hold(delivered, sample.pipe);
            match self.probe_rtt_ends {
                None if sample.pipe <= MIN_WINDOW => {
                    self.probe_rtt_ends = Some(now + PROBE_RTT_TIME);
                    self.probe_rtt_round_done = false;
                    self.round_ends = delivered;
                }
                None => {}
                Some(_) => {
                    self.probe_rtt_round_done |= self.round_start;
                    if self.probe_rtt_round_done {
                        self.check_probe_rtt_done(now, sample.totals, control);
                    }
                }
            }
        }
        if sample.acked > 0 {
            self.idle_restart = false;
        }
    }

    fn check_probe_rtt_done(&mut self, now: u64, totals: Totals, control: &mut Control) {
        if self.probe_rtt_ends.is_some_and(|end| now > end) {
            self.min_rtt_at = now;
            self.restore_window(control);
            if self.full_pipe {
                self.enter_probe_bandwidth(totals);
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    fn update_gain(&mut self) {
        self.pacing_gain = match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBandwidth if self.policer.rate().is_none() => CYCLE[self.phase],
            Mode::ProbeBandwidth | Mode::ProbeRtt => ONE,
        };
    }
}

/// Segments up to `bytes`, if `total` of them reach up to `counted` bytes: the host counts bytes, the kernel segments.
fn segments(total: u64, counted: u64, bytes: u64, mss: u64) -> u64 {
    match bytes.checked_sub(counted) {
        Some(more) => total + more / mss,
        None => total.saturating_sub((counted - bytes).div_ceil(mss)),
    }
}

impl Phase for Bbr {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        match entry.why {
            Why::Idle => self.resume(micros(entry.now), control),
            Why::Connect | Why::Handover | Why::Migrate | Why::Timeout => self.begin(entry, control),
        }
    }

    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        self.mss = ack.mss.into();
        let sample = self.read(ack);
        let was_full = self.full_pipe;
        if self.timed_out {
            self.catch_up_on_timeout(&sample);
        }
        self.update_bandwidth(&sample);
        if sample.bandwidth > 0 && sample.acked > 0 {
            let cwnd = self.window_of(control);
            let bandwidth = self.bandwidth();
            self.aggregation.update(sample.totals.at, sample.acked, self.round_start, bandwidth, cwnd);
        }
        if self.mode == Mode::ProbeBandwidth && self.phase_is_over(&sample, control) {
            self.next_phase(sample.totals.at);
        }
        self.check_full_pipe(&sample);
        self.check_drain(&sample, control);
        self.update_min_rtt(&sample, control);
        self.update_gain();
        self.pace(self.pacing_gain, ack.srtt, control);
        let ca_state = if ack.is(Ack::RECOVERY) { self.announced } else { CaState::None };
        self.set_window(&sample, ca_state, control);
        let uncounted = |counted: u64, bytes: u64| bytes.saturating_sub(counted) % self.mss;
        self.counted = (
            ack.delivered - uncounted(self.counted.0, ack.delivered),
            ack.lost - uncounted(self.counted.1, ack.lost),
        );
        self.totals = sample.totals;
        if self.full_pipe && !was_full { Step::Over(Exit::Delivery) } else { Step::Stay }
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        self.mss = event.mss.into();
        self.save_window(control);
        match event.trigger {
            Trigger::Loss => self.announced = CaState::Recovery,
            // The kernel's BBR does not react to ECN.
            Trigger::Mark => self.announced = CaState::None,
            Trigger::Timeout => {
                (self.announced, self.window.ca_state) = (CaState::Loss, CaState::Loss);
                self.full_bandwidth = 0;
                self.timed_out = true;
                control.cwnd = self.mss;
            }
        }
        Step::Stay
    }

    fn on_spurious(&mut self) {
        self.full_bandwidth = 0;
        self.full_rounds = 0;
        self.policer.reset(self.totals);
    }
}

fn micros(t: Nanos) -> u64 {
    t.0 / 1000
}

/// One of the numbers 0 to 6, equally likely: the finaliser of SplitMix64, scaled down.
fn below_seven(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (((x ^ (x >> 31)) >> 32) * 7) >> 32
}
