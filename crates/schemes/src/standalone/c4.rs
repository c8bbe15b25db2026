//! C4: C. Huitema, S. Nandakumar, C. Jennings, "Specification of Christian's Congestion Control Code (C4)",
//! draft-huitema-ccwg-c4-spec-04, with the constants and rules of its author's code (picoquic/c4.c at d199d45b), without ECN.
//!
//! Two values describe the path: the nominal rate, the largest delivery rate since the last congestion, and the nominal max RTT, the
//! largest RTT without a queue of the sender's own. The window is their product and a margin. Eras of a round trip follow each
//! other: cruising, probing at a little more, recovery at a little less, and pushing while the rate grows.
//!
//! Times are microseconds, rates bytes a second, factors 1024ths.

mod congestion;
mod eras;
mod registers;
#[cfg(test)]
mod tests;

use crate::estimate::peak_rate::PeakRate;
use crate::scheme;
use congestion::Losses;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Lost, Nanos, Phase, Rate, Role, Signals, Step, Trigger, Why,
};

/// A factor of one.
const ONE: u64 = 1024;
/// Factors of the nominal rate: start-up, recovery, recovery after more congestion, cruising, pushing.
const INITIAL: u64 = 2048;
const RECOVER: u64 = 960;
const RECOVER_MORE: u64 = 896;
const CRUISE: u64 = 1024;
const PUSH: u64 = 1256;
/// Factors of probing, by level: after congestion marks, usual, and two that lead to pushing and to start-up.
const PROBE: [u64; 4] = [1056, 1088, 1536, 3072];
/// The usual level.
const LEVEL: usize = 1;
/// Eras of cruising before a probe.
const CRUISES: u32 = 2;
/// Smallest nominal max RTT, microseconds.
const LEAST_MAX_RTT: u64 = 1_000;
/// Initial window of picoquic (ten packets of 1536 bytes), bytes.
const CWIN_INITIAL: u64 = 15_360;

/// State of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Start-up.
    #[default]
    Initial,
    /// An era below the nominal rate.
    Recovery,
    /// An era at the nominal rate.
    Cruising,
    /// An era above the nominal rate.
    Probing,
    /// Eras above the nominal rate while it grows.
    Pushing,
    /// The rate of an earlier connection is tried.
    Resuming,
}

impl State {
    /// Factors of the nominal rate that the pacing rate has in the state, the usual one first, 1024ths; none where the pacing rate has
    /// other parts.
    pub fn factors(self) -> &'static [u64] {
        match self {
            Self::Initial | Self::Resuming => &[],
            Self::Recovery => &[RECOVER, RECOVER_MORE],
            Self::Cruising => &[CRUISE],
            Self::Probing => &[PROBE[LEVEL], PROBE[0], PROBE[2], PROBE[3]],
            Self::Pushing => &[PUSH],
        }
    }
}

/// Values of the path, for comparisons with other implementations. Rates are bytes a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// State of the machine.
    pub state: State,
    /// Largest delivery rate since the last congestion.
    pub nominal_rate: u64,
    /// Largest delivery rate between two ACKs.
    pub peak_rate: u64,
}

/// C4.
#[derive(Clone, Debug, Default)]
pub struct C4 {
    parameters: Parameters,
    state: State,
    mss: u64,
    delivered: u64,
    srtt: u64,

    // The path.
    nominal_rate: u64,
    nominal_max_rtt: u64,
    running_min_rtt: u64,
    peak: PeakRate,
    peak_rate: u64,
    last_rate: u64,
    recent_maximum_rate: u64,

    // The era. It ends with the first packet that left after this total was delivered.
    era_begins: u64,
    era_max_rtt: u64,
    era_min_rtt: u64,
    factor: u64,
    previous_factor: u64,

    // Growth.
    old_rate: u64,
    push_factor: u64,
    not_limited: bool,
    congestion_notified: bool,
    recent_congestions: u32,
    eras_without_growth: u32,
    level: usize,
    cruises_left: u32,
    resuming_eras: u32,

    /// The window that was set last.
    cwnd: u64,

    // Start-up.
    initial_cwnd: u64,
    packets_in_startup: u32,
    initial_after_jitter: bool,
    seed_rate: u64,
    /// Reason why start-up ended, until the host has it.
    exit: Option<Exit>,

    // Congestion.
    delay_threshold: u64,
    delay_excess: u64,
    losses: Losses,
}

scheme! {
    impl Scheme for C4 {
        label: "c4",
        role: Role::Standalone,
        source: "Huitema, Nandakumar, Jennings, draft-huitema-ccwg-c4-spec-04; picoquic d199d45b",
        summary: "keeps the largest delivery rate times the largest RTT without a queue in flight, and probes a round trip in four",
        needs: Signals::RTT.union(Signals::PACING).union(Signals::RATE).union(Signals::LOSSES),
    }

    pub struct Parameters {
        /// window of an earlier connection to resume, bytes; 0 for none (draft section on careful resume)
        seed_window: u64 in 0..=1000000000 = 0,
    }
}

impl C4 {
    /// Values of the path.
    pub fn view(&self) -> View {
        View { state: self.state, nominal_rate: self.nominal_rate, peak_rate: self.peak.rate }
    }

    /// Raises the peak rate to one that a transport has measured, bytes a second.
    pub fn raise_peak(&mut self, rate: u64) {
        self.peak.rate = self.peak.rate.max(rate);
    }

    /// Pacing rate of start-up at a nominal and a peak rate, bytes a second.
    pub fn initial_pacing(nominal: u64, peak: u64) -> u64 {
        registers::initial_pacing(times(nominal, INITIAL), peak)
    }

    /// `c4_reset`, `c4_seed_cwin`.
    fn begin(&mut self, entry: &Entry, control: &mut Control) {
        *self = Self {
            parameters: self.parameters,
            mss: entry.mss.into(),
            delivered: self.delivered,
            srtt: micros(entry.rtt),
            running_min_rtt: u64::MAX,
            factor: INITIAL,
            ..Self::default()
        };
        control.ssthresh = u64::MAX;
        self.cwnd = control.cwnd;
        self.enter_initial();
        // Before the first measurement picoquic's transport paces: 1.25 windows a round-trip time.
        let rate = Rate::of(control.cwnd, entry.rtt);
        control.pacing = Rate(registers::bits(registers::INITIAL_PACING).0.max(rate.0 / 4 * 5));
        let seed = self.parameters.seed_window;
        if seed > 0 && self.srtt > 0 {
            self.seed_rate = firstflight_contract::mul_div(seed, 1_000_000, self.srtt);
            self.nominal_max_rtt = self.srtt;
            self.delay_threshold = self.threshold_of_delay();
            self.enter_resuming();
            self.apply(control);
        }
    }

    /// `c4_update_rtt`, `c4_initial_handle_rtt_excess`, `c4_handle_rtt_excess`.
    fn take_rtt(&mut self, rtt: u64, control: &mut Control) {
        self.era_max_rtt = self.era_max_rtt.max(rtt);
        self.era_min_rtt = self.era_min_rtt.min(rtt);
        self.running_min_rtt = self.running_min_rtt.min(rtt);
        if self.nominal_max_rtt == 0 {
            self.nominal_max_rtt = rtt.max(LEAST_MAX_RTT);
            self.delay_threshold = self.threshold_of_delay();
            self.delay_excess = 0;
        } else {
            self.delay_excess = rtt.saturating_sub(self.nominal_max_rtt + self.delay_threshold);
        }
        if self.state == State::Initial {
            let stalled = self.eras_without_growth > 1 && self.old_rate >= self.nominal_rate;
            if self.delay_excess > 0 && stalled {
                self.exit_initial(Exit::Delay);
            }
            self.apply(control);
        } else if self.delay_excess > 0 && self.previous_factor > ONE {
            self.on_delay(control);
        }
    }

    /// `c4_handle_ack`.
    fn take_ack(&mut self, ack: &Ack) {
        let previous_rate = self.nominal_rate;
        let delivered = ack.delivered.saturating_sub(ack.prior_delivered);
        let recovers = self.state == State::Recovery && self.congestion_notified;
        if ack.rtt == Nanos::ZERO {
            // Without a round-trip time the rate is not measured.
        } else if self.last_rate > self.nominal_rate && !recovers {
            self.not_limited = true;
            self.nominal_rate = self.last_rate;
            self.delay_threshold = self.threshold_of_delay();
        } else if delivered > registers::bytes_in(self.running_min_rtt, previous_rate) {
            // More than a round trip's worth was delivered: the network was slower, not the application.
            self.not_limited = true;
        }
        let ends = ack.prior_delivered >= self.era_begins;
        match self.state {
            State::Initial => self.take_initial_ack(ack.acked, ends),
            State::Resuming => self.take_resuming_ack(ack.pipe, ends),
            State::Pushing if !ends => self.take_pushing_rate(),
            _ if ends => self.end_era(!ack.is(Ack::RATE_LIMITED)),
            _ => {}
        }
    }
}

impl Phase for C4 {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        match entry.why {
            // C4 keeps its parameters while nothing is sent.
            Why::Idle => {}
            Why::Connect | Why::Handover | Why::Migrate | Why::Timeout => self.begin(entry, control),
        }
    }

    fn on_lost(&mut self, lost: &Lost, control: &mut Control) {
        self.mss = lost.mss.into();
        self.delivered = lost.delivered;
        // After a timeout the window stays small until an ACK comes.
        let before = control.cwnd;
        self.take_lost(lost, control);
        control.cwnd = control.cwnd.min(before);
    }

    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if ack.acked == 0 {
            return Step::Stay;
        }
        self.mss = ack.mss.into();
        self.delivered = ack.delivered;
        self.srtt = micros(ack.srtt);
        if ack.rate != Rate::NONE {
            self.last_rate = ack.rate.0 / 8;
        }
        if ack.rtt > Nanos::ZERO {
            self.take_rtt(micros(ack.rtt), control);
            // The round-trip time is judged with the peak of the ACKs before.
            self.peak.update(micros(ack.now), micros(ack.rtt), ack.delivered);
            self.peak_rate = self.peak.rate;
        }
        if ack.rtt > Nanos::ZERO {
            self.recent_maximum_rate = self.recent_maximum_rate.max(self.last_rate);
        }
        self.take_ack(ack);
        self.apply(control);
        match self.exit.take() {
            Some(reason) => Step::Over(reason),
            None => Step::Stay,
        }
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        // C4 judges losses by their rate, and takes a timeout for no sign of congestion: the next ACK gives the window back.
        if event.trigger == Trigger::Timeout {
            control.cwnd = event.mss.into();
        }
        Step::Stay
    }
}

fn micros(t: Nanos) -> u64 {
    t.0 / 1000
}

/// `value` times `factor` 1024ths, rounded down.
fn times(value: u64, factor: u64) -> u64 {
    firstflight_contract::mul_shift(value, factor, 10)
}
