//! SUSS: M. Arghavani, H. Zhang, D. Eyers, A. Arghavani, "SUSS: Improving TCP Performance by Speeding Up Slow-Start", SIGCOMM
//! 2024, as its authors' code for Linux 6.8 has it (repository SUSSdeveloper/SUSS, commit dc2a493d,
//! `sourceCode/linux-6.8/suss/tcp_cubic.c`).
//!
//! Slow start with HyStart that quadruples the window in a round trip when the next rounds are expected to double it anyway. Of
//! each round, the ACKs of data that slow start would have sent are the blue ones. If all of them come within a short part of
//! the round trip, and the RTT has hardly risen, as much more data as a second doubling would send, the red data, leaves
//! paced over the rest of the round trip.

#[cfg(test)]
mod tests;

use crate::scheme;
use crate::startup::hystart_linux::{HystartLinux, RoundStart};
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Nanos, Phase, Rate, Role, Signals, Step, Why, mul_div, slow_start,
};

/// Largest round whose amounts are computed; the window of a later one has no bound.
const LAST_ROUND: u32 = 32;

/// Place of an ACK in its round (`suss_is_blue`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Colour {
    /// After the data that slow start would have sent.
    #[default]
    Red,
    /// Of that data.
    Blue,
    /// The last of that data.
    LastBlue,
}

/// `suss_state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// HyStart alone.
    #[default]
    Off,
    /// ACKs let data leave.
    Clocked,
    /// The red data of this round leaves paced.
    Paced,
}

/// Slow start with SUSS.
#[derive(Clone, Debug, Default)]
pub struct Suss {
    parameters: Parameters,
    hystart: HystartLinux,
    state: State,
    colour: Colour,
    /// Bytes of the first round.
    initial_window: u64,
    /// `suss_round_no`.
    round: u32,
    /// `suss_head_seq`: the next round begins with the ACK of a byte after these.
    head: u64,
    /// `suss_tail_seq`: the blue ACKs of this round end with the ACK of all of these bytes.
    tail: u64,
    /// `suss_round_start_us`.
    round_start: Nanos,
    /// `suss_blue_cnt`: bytes that the blue ACKs of this round acknowledged, up to the last one.
    blue: u64,
    /// `suss_gf`: no round was found yet in which growth was not to be faster.
    fast: bool,
    /// `suss_perv_delta_t_bat`: duration of the blue ACKs of the round before.
    previous: Nanos,
    /// `suss_num_of_jump`: rounds with red data.
    jumps: u32,
    /// `suss_cap`, with `suss_flag`: window at which slow start ends.
    cap: Option<u64>,
    /// `suss_r_minupdate`: round of the smallest RTT.
    smallest_in: u32,
}

scheme! {
    impl Scheme for Suss {
        label: "suss",
        role: Role::Startup,
        source: "Arghavani, Zhang, Eyers, Arghavani, SIGCOMM 2024; SUSSdeveloper/SUSS, dc2a493d",
        summary: "slow start with HyStart that quadruples the window in a round when the next rounds would double it",
        needs: Signals::RTT.union(Signals::PACING),
    }
    on set: configure;

    pub struct Parameters {
        /// rounds after the first in which the window may quadruple (suss_max)
        suss_max: u32 in 0..=16 = 3,
        /// smallest RTT with which it acts (10000 us)
        least_rtt: Nanos = 10 ms,
        /// beginning of HyStart's rounds: 6.15 (also the authors' code for 6.8), before-6.15 (that for 5.19)
        round_start: RoundStart = Linux615,
    }
}

impl Suss {
    fn configure(&mut self) {
        self.hystart.set_round_start(self.parameters.round_start);
    }

    /// Bytes of the blue data of this round: the initial window, doubled each round.
    fn blue_data(&self) -> u64 {
        self.initial_window.saturating_mul(1 << (self.round - 1).min(LAST_ROUND))
    }

    /// Whether the window quadruples in this round, whose blue ACKs took `took` (`suss_speedup`).
    fn speeds_up(&mut self, took: Nanos) -> bool {
        let smallest = self.hystart.smallest_rtt();
        if self.round == 2 {
            let short = smallest > self.parameters.least_rtt && took.0 < smallest.0 / 4;
            if !short {
                self.state = State::Off;
            }
            return short;
        }
        if self.round >= self.parameters.suss_max + 2 {
            return false;
        }
        // The ACKs of all data of the next round, if their duration goes on to change as it did since the round before.
        let whole = took.0.saturating_mul(1 << (self.round - 2));
        let whole_before = self.previous.0.saturating_mul(1 << (self.round - 3)).max(1);
        if mul_div(whole, whole, whole_before) > smallest.0 {
            return false;
        }
        // The RTT, if it goes on to rise as it did since it was smallest, stays within an eighth above the smallest.
        let Some(current) = self.hystart.smallest_rtt_of_round() else { return false };
        let rounds = u64::from(self.round - self.smallest_in);
        let most =
            smallest.0.saturating_mul(rounds + 1).saturating_add(smallest.0.saturating_mul(rounds) / 8);
        current.0.saturating_mul(rounds + 1) <= most
    }

    /// The last blue ACK of a round: red data is sent, or is not.
    fn end_blue(&mut self, ack: &Ack, control: &mut Control) {
        self.colour = Colour::LastBlue;
        let blue = self.blue_data();
        self.tail = self.head.saturating_add(blue);
        let elapsed = ack.now.saturating_sub(self.round_start);
        // Half of the blue data was acknowledged in the blue ACKs, the last of which is not counted.
        let took = if self.blue == 0 { elapsed } else { Nanos(mul_div(elapsed.0, blue / 2, self.blue)) };
        self.fast = self.fast && ack.growth > 0 && self.speeds_up(took);
        if !self.fast {
            return;
        }
        self.previous = took;
        let smallest = self.hystart.smallest_rtt();
        // `speeds_up` bounds the round.
        let (round, half) = (self.round.min(LAST_ROUND), blue / 2);
        let red_data = blue.saturating_mul(1 << (round - 1)) - blue;
        let red_acks = half.saturating_mul(1 << (round - 2)) - half;
        let clocked = Nanos(smallest.0 >> (round - 1));
        if clocked <= took {
            self.state = State::Clocked;
            return;
        }
        let window =
            control.cwnd.saturating_add(ack.growth).saturating_add(red_data).saturating_sub(red_acks);
        // Slow start stops at a threshold that is known.
        if window >= control.ssthresh {
            self.state = State::Clocked;
            return;
        }
        self.state = State::Paced;
        self.jumps += 1;
        control.pace(red_data, smallest.saturating_sub(clocked), u64::from(ack.mss));
        control.cwnd = control.cwnd.max(window);
    }

    /// Follows the rounds (`suss_measurements`); whether the window is set for this ACK.
    fn measure(&mut self, ack: &Ack, control: &mut Control) -> bool {
        if self.colour == Colour::LastBlue {
            self.colour = Colour::Red;
        }
        // The next sequence number, and the first one that may be missing.
        let next = ack.sent - ack.retransmitted;
        let missing = next.saturating_sub(ack.pipe);
        if missing > self.head {
            self.colour = Colour::Blue;
            self.blue = 0;
            self.round += 1;
            self.round_start = ack.now;
            self.head = next;
            self.state = State::Clocked;
            control.stop_pacing();
        }
        let mut set = false;
        if missing >= self.tail {
            self.end_blue(ack, control);
            set = self.state == State::Paced;
        }
        match self.colour {
            Colour::Red => self.state == State::Paced,
            Colour::Blue | Colour::LastBlue => {
                self.blue = self.blue.saturating_add(ack.acked);
                set
            }
        }
    }

    /// HyStart's train of ACKs, of which SUSS sees a part (`suss_cap`); whether slow start ends.
    fn reaches_cap(&mut self, ack: &Ack, control: &Control) -> bool {
        if let Some(cap) = self.cap {
            return control.cwnd > cap;
        }
        if self.colour != Colour::Red
            && let Some(length) = self.hystart.train(ack)
            && length.0.saturating_mul(1 << self.jumps.min(LAST_ROUND))
                > self.hystart.longest_train(ack, control).0
        {
            // The train of all data of the round would be too long. The window may hold what the data acknowledged so far grows to.
            let more = self.blue.saturating_mul((1 << self.jumps.min(LAST_ROUND)) - 1);
            self.cap = Some(control.cwnd.saturating_add(more));
        }
        false
    }

    /// The sign that this ACK gives, if any.
    fn look(&mut self, ack: &Ack, control: &Control) -> Option<Exit> {
        if self.state == State::Off {
            return self.hystart.look(ack, control);
        }
        let capped = self.reaches_cap(ack, control);
        let rises = self.hystart.rises(ack);
        if capped {
            Some(Exit::AckTrain)
        } else if rises {
            Some(Exit::Delay)
        } else {
            None
        }
    }
}

impl Phase for Suss {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        self.hystart.enter(entry, control);
        if entry.why == Why::Idle {
            return;
        }
        // `cubictcp_init`: it acts at the beginning of a connection that is not paced.
        let acts = entry.why == Why::Connect && control.pacing == Rate::NONE;
        self.state = if acts { State::Clocked } else { State::Off };
        self.colour = Colour::Red;
        self.initial_window = control.cwnd;
        self.round = 1;
        self.head = 0;
        self.tail = control.cwnd;
        self.blue = 0;
        self.fast = true;
        self.jumps = 0;
        self.cap = None;
        self.smallest_in = 0;
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if ack.rtt != Nanos::ZERO {
            if self.hystart.take(ack.rtt) {
                self.smallest_in = self.round;
            }
            if self.hystart.looks(ack, control)
                && let Some(sign) = self.look(ack, control)
            {
                self.hystart.find();
                control.stop_pacing();
                // Of a window that grew by more than its ACKs, only what is in flight was tried.
                if self.jumps > 1 && self.state != State::Off {
                    control.cwnd = control.cwnd.min(ack.pipe.max(u64::from(ack.mss)));
                }
                control.ssthresh = control.cwnd;
                self.state = State::Off;
                return Step::Exit(sign);
            }
        }
        if self.state != State::Off
            && self.cap.is_none()
            && !ack.is(Ack::RECOVERY)
            && self.measure(ack, control)
        {
            return Step::Stay;
        }
        let step = slow_start(ack, control);
        if step != Step::Stay {
            control.stop_pacing();
        }
        step
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        control.stop_pacing();
        self.state = State::Off;
        Step::Exit(event.trigger.into())
    }
}
