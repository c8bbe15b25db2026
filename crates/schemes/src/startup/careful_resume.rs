//! Careful Resume: N. Kuhn, E. Stephan, G. Fairhurst, R. Secchi, C. Huitema, "Convergence of Congestion Control from Retained
//! State", RFC 9959.
//!
//! A connection that knows the window of an earlier one begins as usual. When its initial data has arrived and the round-trip
//! time is like the saved one, the window jumps to half of the saved window, paced over a round trip. The jump is validated by
//! the acknowledgements of the packets that it sent. A loss of them leaves half of what the path has delivered.

use crate::scheme;
use crate::scheme::Fixed;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Nanos, Phase, Plan, Role, Signals, Step, Trigger, Why, mul_div,
    slow_start,
};

/// Segments of the initial window below which no congestion control goes without congestion (section 4.4, "CWND is not reduced below IW").
const INITIAL_WINDOW: u64 = 10;
/// Section 4.3: the jump is at most half of the saved window.
const SAVED_PART: u64 = 2;
/// Section 4.2: a smallest round trip of half the saved one or less is another path.
const SMALLER: u64 = 2;
/// Section 4.2.1: so is one of more than ten times the saved one.
const LARGER: u64 = 10;
/// Section 4.5: segments that are left at least (RFC 9002 section 7.2).
const LEAST: u64 = 2;
/// Parts in one, of beta.
const PERCENT: u64 = 100;

/// The phases of section 4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Normal congestion control: nothing was saved, or Careful Resume is over.
    #[default]
    Normal,
    /// The initial data is on its way.
    Reconnaissance {
        /// Bytes of the initial data; known with the first ACK.
        initial: Option<u64>,
    },
    /// The jump is leaving.
    Unvalidated {
        /// Bytes sent before the jump.
        first: u64,
        /// Time of the jump.
        since: Nanos,
    },
    /// The packets of the jump are on their way.
    Validating {
        /// Bytes sent when the last of them had left.
        last: u64,
    },
    /// Packets of the jump were lost.
    SafeRetreat,
}

/// Careful Resume.
#[derive(Clone, Debug, Default)]
pub struct CarefulResume {
    parameters: Parameters,
    state: State,
    /// `saved_cwnd`, bytes.
    saved_cwnd: u64,
    /// `saved_rtt`.
    saved_rtt: Nanos,
    /// `PipeSize`, bytes: what was in flight at the jump, and what was acknowledged since.
    pipe_size: u64,
    /// Window with which the connection began, bytes.
    initial_window: u64,
}

scheme! {
    impl Scheme for CarefulResume {
        label: "careful-resume",
        role: Role::Startup,
        source: "RFC 9959",
        summary: "a jump to half of a saved window, paced, and validated by its ACKs; half of what arrived after a loss",
        needs: Signals::PLAN.union(Signals::PACING).union(Signals::RTT),
    }

    pub struct Parameters {
        /// largest window that a jump leads to (max_jump); 0 is no bound but half of the saved window
        max_jump: u64 = 0 packets,
        /// share of PipeSize that the threshold has after a retreat (Beta)
        beta: Fixed<100> in 0.5..=1.0 = 0.5,
        /// age up to which a saved window counts (Lifetime)
        lifetime: Nanos = 600 s,
    }
}

impl CarefulResume {
    /// Section 4.3: the window of the jump; `None` if it is no larger than the window.
    fn jump(&self, ack: &Ack, control: &Control) -> Option<u64> {
        let half = self.saved_cwnd / SAVED_PART;
        let most = match self.parameters.max_jump {
            0 => u64::MAX,
            packets => packets.saturating_mul(u64::from(ack.mss)),
        };
        Some(half.min(most)).filter(|jump| *jump > control.cwnd)
    }

    /// Section 4.2.1: the path is the saved one by its smallest round trip.
    fn is_like_the_saved_path(&self, min_rtt: Nanos) -> bool {
        let saved = self.saved_rtt.0;
        min_rtt.0.saturating_mul(SMALLER) > saved && min_rtt.0 <= saved.saturating_mul(LARGER)
    }

    /// The initial data is acknowledged: jump, wait for more data, or go on as usual.
    fn reconnoitre(&mut self, initial: Option<u64>, ack: &Ack, control: &mut Control) {
        // Nothing but the initial data has left before the first ACK.
        let initial = initial.unwrap_or(ack.sent);
        self.state = State::Reconnaissance { initial: Some(initial) };
        if ack.delivered < initial {
            return;
        }
        if !self.is_like_the_saved_path(ack.min_rtt) || self.saved_cwnd / SAVED_PART <= control.cwnd {
            self.state = State::Normal;
            return;
        }
        // Section 4.2: the jump waits until more data is ready than the window takes.
        if ack.is(Ack::APP_LIMITED) {
            return;
        }
        let Some(jump) = self.jump(ack, control) else { return };
        self.pipe_size = ack.pipe;
        control.cwnd = jump;
        control.pace(jump, ack.srtt, ack.mss.into());
        self.state = State::Unvalidated { first: ack.sent, since: ack.now };
    }

    /// Section 4.3: the jump has left, or a packet of it is acknowledged, or a round trip is over.
    fn check_flight(&mut self, ack: &Ack, control: &mut Control) {
        control.stop_pacing();
        let flight = ack.pipe;
        let initial = self.initial_window.max(INITIAL_WINDOW * u64::from(ack.mss));
        if flight < initial || flight <= self.pipe_size {
            control.cwnd = self.pipe_size.max(initial);
            self.state = State::Normal;
            return;
        }
        control.cwnd = flight;
        self.state = State::Validating { last: ack.sent };
    }
}

impl Phase for CarefulResume {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        control.stop_pacing();
        self.state = State::Normal;
        let Plan { cwnd, rtt, age, .. } = entry.plan;
        let usable = cwnd > 0 && rtt > Nanos::ZERO && age <= self.parameters.lifetime;
        if entry.why != Why::Connect || !usable {
            return;
        }
        (self.saved_cwnd, self.saved_rtt) = (cwnd, rtt);
        self.initial_window = control.cwnd;
        self.state = State::Reconnaissance { initial: None };
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        match self.state {
            State::Normal => slow_start(ack, control),
            State::Reconnaissance { initial } => {
                let step = slow_start(ack, control);
                if step == Step::Stay {
                    self.reconnoitre(initial, ack, control);
                }
                step
            }
            State::Unvalidated { first, since } => {
                self.pipe_size = self.pipe_size.saturating_add(ack.acked);
                let left = ack.in_flight.saturating_add(ack.mss.into()) > control.cwnd;
                let acknowledged = ack.delivered > first;
                let over = ack.now.saturating_sub(since) > ack.srtt;
                if left || acknowledged || over {
                    self.check_flight(ack, control);
                }
                Step::Stay
            }
            State::Validating { last } => {
                self.pipe_size = self.pipe_size.saturating_add(ack.acked);
                if ack.delivered >= last {
                    self.state = State::Normal;
                }
                slow_start(ack, control)
            }
            State::SafeRetreat => {
                self.pipe_size = self.pipe_size.saturating_add(ack.acked);
                if ack.is(Ack::RECOVERY) {
                    return Step::Stay;
                }
                // Section 4.5: "the ssthresh MUST be set to no larger than the most recently measured PipeSize * Beta".
                let least = LEAST * u64::from(ack.mss);
                control.ssthresh = mul_div(self.pipe_size, self.parameters.beta.0, PERCENT).max(least);
                self.state = State::Normal;
                Step::Exit(Exit::Loss)
            }
        }
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        control.stop_pacing();
        let unvalidated = matches!(self.state, State::Unvalidated { .. } | State::Validating { .. });
        // Section 4.6: a timeout ends Careful Resume; so does a loss before the jump.
        if !unvalidated || event.trigger == Trigger::Timeout {
            self.state = State::Normal;
            return Step::Exit(event.trigger.into());
        }
        // Section 4.5: "The CWND MUST be reduced to no more than (PipeSize/2)."
        event.reduce_to(self.pipe_size / 2, control);
        self.state = State::SafeRetreat;
        Step::Over(event.trigger.into())
    }
}
