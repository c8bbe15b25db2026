//! BBR version 3 as picoquic has it: C. Huitema, picoquic/bbr.c at d199d45b (2026-08-16), without ECN. It follows
//! draft-cardwell-iccrg-bbr-congestion-control-02, and departs from it as the comments of the parts say.
//!
//! The states are those of `bbr3`, beside a start-up of its own for long round trips. Probes end by delay and follow one another
//! quickly while the rate grows, and the smallest RTT is a filtered one.
//!
//! Amounts are bytes, times microseconds, bandwidths bytes a second, gains thousandths. A bound that is not set is infinite.

mod long_rtt;
mod model;
mod probe_bw;
mod recovery;
mod rtt;
mod startup;
#[cfg(test)]
mod tests;
mod window;

use crate::estimate::peak_rate::PeakRate;
use crate::estimate::rising_rtt::RisingRtt;
use crate::scheme;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Lost, Nanos, Phase, Rate, Role, Signals, Step, Trigger, Why,
};
use model::Filter;
use probe_bw::Probe;
use recovery::Recovery;
use rtt::Jitter;

/// A bound, time or bandwidth that is not set.
const INFINITE: u64 = u64::MAX;
/// The gain of one.
const ONE: u64 = 1000;
/// `BBRMinPipeCwnd`, packets.
const MIN_PIPE_CWND: u64 = 4;
/// `BBRLongRttThreshold`, microseconds.
const LONG_RTT: u64 = 250_000;
/// `PICOQUIC_MINRTT_THRESHOLD`: below it delays are no signal, microseconds.
const LEAST_RTT: u64 = 128;
/// `PICOQUIC_MAX_PACKET_SIZE`; ten of these are the initial window, whatever a packet has.
const MAX_PACKET_SIZE: u64 = 1536;
const CWIN_INITIAL: u64 = 10 * MAX_PACKET_SIZE;

/// State of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Start-up.
    #[default]
    Startup,
    /// Slow start with HyStart's test of delay, on long round trips.
    StartupLongRtt,
    /// Start-up again after a timeout, from the flight that was known.
    StartupResume,
    /// Drain.
    Drain,
    /// Going down from a probe.
    Down,
    /// Cruising.
    Cruise,
    /// Refilling the path before a probe.
    Refill,
    /// Probing.
    Up,
    /// Measuring the smallest RTT.
    ProbeRtt,
}

/// Values of the model, for comparisons with other implementations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// State of the machine.
    pub state: State,
    /// Largest bandwidth of the last two cycles, bytes a second.
    pub max_bw: u64,
}

impl State {
    fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }
}

/// Measurements of an ACK.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    now: u64,
    /// Zero before the first sample.
    rate: u64,
    delivered: u64,
    prior_delivered: u64,
    /// The newest RTT; zero before the first.
    rtt: u64,
    srtt: u64,
    newly_acked: u64,
    newly_lost: u64,
    lost_ranges: u32,
    lost: u64,
    tx_in_flight: u64,
    in_transit: u64,
    app_limited: bool,
    cwnd_limited: bool,
}

/// BBR v3 of picoquic.
#[derive(Clone, Debug, Default)]
pub struct Bbr3Picoquic {
    parameters: Parameters,
    state: State,
    mtu: u64,
    delivered: u64,
    /// State of the generator of waits.
    random: u64,

    // Rounds.
    round_count: u32,
    round_start: bool,
    next_round_delivered: u64,

    // Registers.
    pacing_rate: u64,
    send_quantum: u64,
    prior_cwnd: u64,

    // The model.
    max_bw_filter: Filter<2>,
    cycle_count: u32,
    max_bw: u64,
    bw_lo: u64,
    bw: u64,
    min_rtt: u64,
    min_rtt_stamp: u64,
    min_rtt_margin: u64,
    jitter: Jitter,
    last_rtt: u64,
    last_rate: u64,
    /// Smallest RTT of the connection, as the transport measures it.
    least_rtt: u64,
    extra_acked_filter: Filter<10>,
    extra_acked: u64,
    extra_acked_interval_start: u64,
    extra_acked_delivered: u64,
    inflight_hi: u64,
    inflight_lo: u64,
    bw_latest: u64,
    inflight_latest: u64,

    // Start-up.
    filled_pipe: bool,
    full_bw: u64,
    full_bw_count: u32,
    loss_ranges_in_round: u32,
    too_high_in_round: bool,
    long_rtt: RisingRtt,
    bdp_seed: u64,
    peak: PeakRate,

    probe: Probe,

    // ProbeRTT.
    probe_rtt_min_delay: u64,
    probe_rtt_min_stamp: u64,
    probe_rtt_expired: bool,
    probe_rtt_done: Option<u64>,
    probe_rtt_round_done: bool,
    idle_restart: bool,

    // Losses.
    loss_in_round: bool,
    loss_round_start: bool,
    loss_round_delivered: u64,
    recovery: Recovery,
    /// Lost since the last ACK: bytes, ranges, and the packet that would continue the last range.
    newly_lost: u64,
    newly_lost_ranges: u32,
    next_lost: Option<u64>,
}

scheme! {
    impl Scheme for Bbr3Picoquic {
        label: "bbr3-picoquic",
        role: Role::Standalone,
        source: "Huitema, picoquic d199d45b, picoquic/bbr.c",
        summary: "version 3 of BBR as picoquic has it: probes that end by delay, quick probes while the rate grows, a filtered RTT",
        needs: Signals::RTT.union(Signals::PACING).union(Signals::RATE).union(Signals::LOSSES),
    }

    pub struct Parameters {
        /// seed of the waits before probes, beside picoquic's own
        seed: u32 in 0..=1000000 = 0,
        /// window of an earlier connection to resume, bytes; 0 for none (picoquic: the seed of the window)
        seed_window: u64 in 0..=1000000000 = 0,
    }
}

impl Bbr3Picoquic {
    /// Values of the model.
    pub fn view(&self) -> View {
        View { state: self.state, max_bw: self.max_bw }
    }

    /// `BBROnInit`.
    fn begin(&mut self, entry: &Entry, control: &mut Control) {
        let now = micros(entry.now);
        // picoquic makes the state before the handshake, when no RTT is known.
        let min_rtt = INFINITE;
        *self = Self {
            parameters: self.parameters,
            mtu: entry.mss.into(),
            delivered: self.delivered,
            random: SEED ^ u64::from(self.parameters.seed),
            next_round_delivered: self.delivered,
            bw_lo: INFINITE,
            inflight_lo: INFINITE,
            min_rtt,
            min_rtt_stamp: now,
            last_rtt: 0,
            jitter: Jitter::new(min_rtt, now),
            probe_rtt_min_delay: min_rtt,
            probe_rtt_min_stamp: now,
            extra_acked_interval_start: now,
            ..Self::default()
        };
        control.ssthresh = u64::MAX;
        self.init_pacing_rate(control);
        // `BBRSetBdpSeed`: picoquic sets the seed with the first RTT.
        if entry.why == Why::Connect && self.parameters.seed_window > 0 {
            self.bdp_seed = self.parameters.seed_window;
            self.state = State::StartupResume;
        }
    }

    fn read(&mut self, ack: &Ack) -> Sample {
        self.mtu = ack.mss.into();
        self.delivered = ack.delivered;
        let rtt = if ack.rtt > Nanos::ZERO { micros(ack.rtt) } else { self.last_rtt };
        self.last_rtt = rtt;
        // The transport keeps the last estimate while an ACK gives none.
        if ack.rate != Rate::NONE {
            self.last_rate = ack.rate.0 / 8;
        }
        if rtt > 0 {
            self.least_rtt = micros(ack.min_rtt);
            self.peak.update(micros(ack.now), rtt, ack.delivered);
        }
        Sample {
            now: micros(ack.now),
            rate: self.last_rate,
            delivered: ack.delivered.saturating_sub(ack.prior_delivered),
            prior_delivered: ack.prior_delivered,
            rtt,
            srtt: micros(ack.srtt),
            newly_acked: ack.acked,
            newly_lost: core::mem::take(&mut self.newly_lost),
            lost_ranges: core::mem::take(&mut self.newly_lost_ranges),
            lost: ack.lost.saturating_sub(ack.prior_lost),
            tx_in_flight: ack.prior_in_flight,
            in_transit: ack.pipe,
            app_limited: ack.is(Ack::RATE_LIMITED),
            cwnd_limited: !ack.is(Ack::APP_LIMITED),
        }
    }

    /// `BBRUpdateModelAndState`.
    fn update_model_and_state(&mut self, sample: &Sample, control: &mut Control) {
        self.update_latest_delivery_signals(sample);
        self.update_congestion_signals(sample, control);
        self.update_ack_aggregation(sample, control);
        self.check_startup_long_rtt(sample, control);
        self.check_startup_resume(sample);
        self.check_startup_done(sample);
        self.check_recovery(sample, control);
        self.check_drain(sample);
        self.update_probe_bw_cycle_phase(sample, control);
        self.update_min_rtt(sample);
        self.check_probe_rtt(sample, control);
        if self.loss_round_start {
            self.bw_latest = sample.rate;
            self.inflight_latest = sample.delivered;
        }
        self.bw = self.max_bw.min(self.bw_lo);
    }
}

impl Phase for Bbr3Picoquic {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        match entry.why {
            Why::Idle => self.restart_from_idle(micros(entry.now), control),
            Why::Connect | Why::Handover | Why::Migrate | Why::Timeout => self.begin(entry, control),
        }
    }

    fn on_lost(&mut self, lost: &Lost, control: &mut Control) {
        self.mtu = lost.mss.into();
        self.newly_lost += lost.bytes;
        if self.next_lost != Some(lost.number) {
            self.newly_lost_ranges += 1;
        }
        self.next_lost = Some(lost.number + 1);
        self.handle_lost_packet(lost, control);
    }

    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if ack.acked == 0 {
            return Step::Stay;
        }
        let was_filled = self.filled_pipe;
        let sample = self.read(ack);
        self.update_model_and_state(&sample, control);
        if self.state == State::StartupLongRtt {
            self.update_startup_long_rtt(&sample, control);
        } else {
            self.update_control_parameters(&sample, control);
        }
        if self.filled_pipe && !was_filled { Step::Over(Exit::Delivery) } else { Step::Stay }
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        self.mtu = event.mss.into();
        // Losses that ACKs show come with the ACK and with the packet.
        if event.trigger == Trigger::Timeout {
            self.on_enter_rto(control);
        }
        Step::Stay
    }

    fn on_spurious(&mut self) {
        // What a spurious timeout undoes, the next ACK does: it ends the recovery.
    }
}

/// The constant from which picoquic's generator starts in simulations.
const SEED: u64 = 0xfedc_ba98_7654_3210;

fn micros(t: Nanos) -> u64 {
    t.0 / 1000
}

/// `value` times `gain` thousandths, rounded down.
fn times(value: u64, gain: u64) -> u64 {
    firstflight_contract::mul_div(value, gain, ONE)
}

/// Bytes that `rate` carries in `us`.
fn bytes_in(us: u64, rate: u64) -> u64 {
    firstflight_contract::mul_div(rate, us, 1_000_000)
}

/// A rate in bytes a second as a pacing rate.
fn pacing(rate: u64) -> Rate {
    Rate(rate.max(1).saturating_mul(8))
}
