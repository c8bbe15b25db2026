//! Rapid Start: K. Oku, "Rapid Startup of Congestion Control", draft-kazuho-ccwg-rapid-start-02, and as quicly has it (commit
//! b11d3634, `include/quicly/cc.h`, `lib/cc-pico.c`).
//!
//! The first window is paced over a whole round trip. The window then triples each round trip while the smallest RTT of the
//! last round trip shows no queue, and doubles otherwise. The first loss or mark ends the growth. In the recovery that
//! follows, the window falls with the bytes that are acknowledged and lost, to the share of the path's capacity that a
//! decrease in congestion avoidance leaves.

mod floor;
#[cfg(test)]
mod tests;

use crate::scheme::Fixed;
use crate::{choice, scheme};
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Nanos, Phase, Rate, Role, Signals, Step, Trigger, Why, mul_div,
    mul_div_ceil, slow_start,
};
use floor::RttFloor;

/// The factors of the recovery are whole parts of this: eighteenths of hundredths.
const ONE: u64 = 18 * PERCENT;
const PERCENT: u64 = 100;
/// Rise of the RTT that still shows no queue.
const TOLERATED: Nanos = Nanos::from_millis(4);
/// Segments that may leave back to back under pacing after the first round trip (`QUICLY_PACER_BURST_HIGH`; RFC 9002 section
/// 7.7: at most the initial window).
const BURST: u64 = 10;
/// Least window of a recovery, segments (RFC 5681 equation (4), RFC 9002 section 7.2, `QUICLY_MIN_CWND`).
const LEAST: u64 = 2;

choice! {
    /// Version of the rule.
    pub enum Variant {
        /// The draft.
        Draft02 = "draft-02",
        /// quicly with the controller pico.
        Quicly = "quicly",
    }
}

impl Variant {
    /// `K`, eighteenths: 2/3 (draft, section 3.3.1) or 11/18 (`QUICLY_RAPID_START_K`).
    const fn k(self) -> u64 {
        match self {
            Self::Draft02 => 12,
            Self::Quicly => 11,
        }
    }

    /// Initial windows that leave in the first round trip.
    const fn first_windows(self) -> u64 {
        match self {
            Self::Draft02 => 2,
            Self::Quicly => 1,
        }
    }

    /// `queue_buildup_thresh`: largest RTT that shows no queue.
    fn threshold(self, min_rtt: Nanos) -> Nanos {
        let sum = min_rtt.saturating_add(TOLERATED);
        match self {
            // Section 3.2: "min(min_rtt + 4 ms, min_rtt * 1.10)".
            Self::Draft02 => sum.min(Nanos(mul_div(min_rtt.0, 110, PERCENT))),
            Self::Quicly => sum.max(Nanos(mul_div(min_rtt.0, 35, 32))),
        }
    }
}

/// The first recovery.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// The window by Rapid Start's rule, bytes: a host may have a rule of its own for recoveries.
    window: u64,
    /// The window does not fall below.
    least: u64,
    /// Threshold at the end, bytes.
    threshold: u64,
    /// Signal that began it.
    trigger: Trigger,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// Nothing was lost yet.
    #[default]
    Rapid,
    /// The first recovery.
    Recovering(Recovery),
    /// A later slow start.
    Plain,
}

/// Rapid Start.
#[derive(Clone, Debug, Default)]
pub struct RapidStart {
    parameters: Parameters,
    state: State,
    floor: RttFloor,
    /// Bytes: the window with which the connection began.
    initial_window: u64,
    /// The newest RTT sample.
    rtt: Nanos,
    /// Total bytes declared lost as of the last ACK.
    lost: u64,
    /// quicly's `stash`: acknowledged bytes for which the window has not grown yet.
    stash: u64,
    /// Bytes by which the window grew at the last ACK for each byte acknowledged.
    factor: u64,
}

scheme! {
    impl Scheme for RapidStart {
        label: "rapid-start",
        role: Role::Startup,
        source: "draft-kazuho-ccwg-rapid-start-02; quicly b11d3634",
        summary: "triples the window each round trip while no queue is seen; falls with the bytes lost in the first recovery",
        needs: Signals::RTT.union(Signals::PACING),
    }
    on set: configure;

    pub struct Parameters {
        /// version of the rule: draft-02, or quicly's
        variant: Variant = Draft02,
        /// share that a decrease leaves in the avoidance that follows (beta); CUBIC's, 0.5 of Reno
        beta: Fixed<100> in 0.1..=0.95 = 0.7,
        /// initial windows that leave, paced, in the first round trip; 0 is that of the variant: 2, 1
        first_windows: u64 in 0..=4 = 0,
    }
}

impl RapidStart {
    fn configure(&mut self) {
        self.floor.in_milliseconds = self.parameters.variant == Variant::Quicly;
    }

    /// `ack_factor`, parts of [`ONE`].
    fn ack_factor(&self) -> u64 {
        self.parameters.variant.k() * PERCENT.saturating_sub(self.parameters.beta.0)
    }

    /// `silence_factor` and `loss_factor`, parts of [`ONE`].
    fn loss_factor(&self) -> u64 {
        18 * self.parameters.beta.0 + self.ack_factor()
    }

    /// Whether the path shows no queue: the window may triple.
    fn shows_no_queue(&self, min_rtt: Nanos) -> bool {
        self.floor.smallest().is_some_and(|floor| floor <= self.parameters.variant.threshold(min_rtt))
    }

    /// Growth of the window before the first loss.
    fn grow(&mut self, ack: &Ack, control: &mut Control) -> Step {
        let quicly = self.parameters.variant == Variant::Quicly;
        // quicly looks at no ACK of limited sending.
        if self.rtt != Nanos::ZERO && !(quicly && ack.growth == 0) {
            self.floor.take(ack.now, self.rtt, ack.min_rtt);
        }
        let fast = self.shows_no_queue(ack.min_rtt);
        // Section 3.1 lets such growth leave paced. quicly paces at as many windows a round trip as the window grows by.
        let windows = if fast { 3 } else { 2 };
        control.pacing = Rate::of(control.cwnd.saturating_mul(windows), ack.srtt);
        control.burst = BURST * u64::from(ack.mss);
        self.factor = if fast && control.pacing != Rate::NONE { 2 } else { 1 };
        if ack.growth == 0 {
            return Step::Stay;
        }
        let growth = if quicly {
            // The window grows by whole datagrams, each for a datagram of acknowledged bytes, or for half of one.
            let mss = u64::from(ack.mss);
            let needed = (mss / self.factor).max(1);
            self.stash = self.stash.saturating_add(ack.acked);
            let datagrams = self.stash / needed;
            self.stash %= needed;
            datagrams * mss
        } else {
            ack.acked.saturating_mul(self.factor)
        };
        // The ACK that reaches a threshold ends the pacing, too: it adds what it acknowledges.
        if control.cwnd.saturating_add(growth) >= control.ssthresh {
            self.factor = 1;
            return slow_start(&Ack { growth: ack.acked, ..*ack }, control);
        }
        slow_start(&Ack { growth, ..*ack }, control)
    }

    /// Section 3.3: the window falls in proportion to the bytes acknowledged and lost.
    fn reduce(&self, recovery: &mut Recovery, ack: &Ack) {
        let mss = u64::from(ack.mss);
        let lost = ack.lost.saturating_sub(self.lost);
        let share = |bytes| mul_div_ceil(bytes, self.loss_factor(), ONE);
        let by_losses = match self.parameters.variant {
            Variant::Draft02 => share(lost),
            // Each lost packet is rounded for itself.
            Variant::Quicly => (lost / mss).saturating_mul(share(mss)).saturating_add(share(lost % mss)),
        };
        let least = recovery.least.max(LEAST * mss);
        if lost > 0 {
            recovery.window = recovery.window.saturating_sub(by_losses).max(least);
            recovery.threshold = recovery.window;
        }
        let by_acks = mul_div_ceil(ack.acked, self.ack_factor(), ONE);
        recovery.window = recovery.window.saturating_sub(by_acks).max(least);
    }
}

impl Phase for RapidStart {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        match entry.why {
            Why::Timeout => {
                self.state = State::Plain;
                return;
            }
            // The samples of the RTT grow old by themselves.
            Why::Idle => return,
            Why::Connect | Why::Handover | Why::Migrate => {}
        }
        self.state = State::Rapid;
        self.floor.begin(entry.now);
        self.initial_window = control.cwnd;
        self.rtt = Nanos::ZERO;
        self.stash = 0;
        self.factor = 1;
        // Section 3.1: "an initial window up to 2x that of classic slow start", paced over "a full RTT".
        if entry.why == Why::Connect && entry.rtt != Nanos::ZERO && entry.in_flight == 0 {
            let windows = match self.parameters.first_windows {
                0 => self.parameters.variant.first_windows(),
                windows => windows,
            };
            control.cwnd = control.cwnd.saturating_mul(windows);
            control.pace(control.cwnd, entry.rtt, u64::from(entry.mss));
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if ack.rtt != Nanos::ZERO {
            self.rtt = ack.rtt;
        }
        let step = match self.state {
            State::Plain => return slow_start(ack, control),
            State::Rapid if ack.is(Ack::RECOVERY) => Step::Stay,
            State::Rapid => self.grow(ack, control),
            State::Recovering(recovery) if !ack.is(Ack::RECOVERY) => {
                self.state = State::Plain;
                control.cwnd = control.cwnd.min(recovery.window);
                // quicly sets its threshold at losses only. By the draft, Rapid Start leaves nothing behind.
                control.ssthresh = match self.parameters.variant {
                    Variant::Draft02 => recovery.window,
                    Variant::Quicly => recovery.threshold,
                };
                Step::Exit(recovery.trigger.into())
            }
            State::Recovering(mut recovery) => {
                self.reduce(&mut recovery, ack);
                self.state = State::Recovering(recovery);
                control.cwnd = control.cwnd.min(recovery.window);
                control.ssthresh = recovery.window;
                control.pacing = Rate::of(control.cwnd.saturating_mul(2), ack.srtt);
                Step::Stay
            }
        };
        self.lost = ack.lost;
        if matches!(step, Step::Exit(_)) {
            control.stop_pacing();
        }
        step
    }

    fn spent(&self, grown: u64) -> u64 {
        grown / self.factor.max(1)
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        if !matches!(self.state, State::Rapid) || event.trigger == Trigger::Timeout {
            self.state = State::Plain;
            control.stop_pacing();
            return Step::Exit(event.trigger.into());
        }
        let beta = self.parameters.beta.0;
        let mss = u64::from(event.mss);
        let third = mul_div(control.cwnd, beta, 3 * PERCENT);
        // Both versions keep a share of the initial window, which the draft allows: beta, in quicly a half.
        let of_initial = match self.parameters.variant {
            Variant::Draft02 => mul_div(self.initial_window, beta, PERCENT),
            Variant::Quicly => self.initial_window / 2,
        };
        let least = third.max(of_initial).max(event.floor());
        let window = mul_div(control.cwnd, self.loss_factor(), ONE).max(least).min(control.cwnd);
        event.reduce_to(window, control);
        if self.parameters.variant == Variant::Quicly && event.trigger == Trigger::Loss {
            // Of the lost packets, the first one begins the recovery and is not counted in it.
            self.lost = self.lost.saturating_add(mss);
        }
        let trigger = event.trigger;
        self.state = State::Recovering(Recovery { window, least, threshold: window, trigger });
        Step::Over(trigger.into())
    }

    fn on_spurious(&mut self) {
        if matches!(self.state, State::Recovering(_)) {
            self.state = State::Rapid;
        }
    }
}
