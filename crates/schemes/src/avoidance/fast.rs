//! FAST TCP: C. Jin, D. X. Wei, S. H. Low, "FAST TCP: Motivation, Architecture, Algorithms, Performance", INFOCOM 2004; D. X.
//! Wei, C. Jin, S. H. Low, S. Hegde, IEEE/ACM Transactions on Networking 14(6), 2006.
//!
//! The window moves towards the one that keeps alpha packets queued on the path, by a constant part of the distance: in
//! large steps far from it and in small steps near it. The queueing delay, not loss, measures the distance.

use crate::scheme;
use crate::scheme::Fixed;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Nanos, Phase, Role, Signals, Step, mul_add_div, mul_div, weighted_mean,
};

/// Each ACK replaces 3/cwnd of the RTT's average, at most a quarter.
const FORGOTTEN: u64 = 3;
/// Fractions are in 2^-16.
const ONE_BITS: u32 = 16;
const ONE: u64 = 1 << ONE_BITS;

/// FAST TCP.
#[derive(Clone, Debug, Default)]
pub struct Fast {
    parameters: Parameters,
    /// Average RTT, nanoseconds in 2^-16; zero before the first sample.
    average: u64,
    /// Target of the window and window at the last update, bytes; equal once the target is reached.
    target: u64,
    from: u64,
    /// Remainder of the division for the last ACK, bytes squared.
    remainder: u64,
    /// Rounds until the next update.
    wait: u32,
}

scheme! {
    impl Scheme for Fast {
        label: "fast",
        role: Role::Avoidance,
        source: "Jin, Wei, Low, INFOCOM 2004; Wei, Jin, Low, Hegde, ToN 14(6), 2006",
        summary: "a window that keeps alpha packets queued, found from the queueing delay; half of it on loss",
        needs: Signals::RTT,
    }

    pub struct Parameters {
        /// packets that the flow keeps queued
        alpha: u64 = 20 packets,
        /// part of the step that is taken
        gamma: Fixed<ONE> in 0.01..=1.0 = 0.5,
        // Round trips from one update to the next: one in which the window moves, one in which its effect is seen.
        /// round trips from one update to the next
        rounds: u32 in 1..=8 = 2,
    }
}

impl Fast {
    fn measure(&mut self, rtt: Nanos, cwnd: u64, mss: u64) {
        let sample = rtt.0.min(u64::MAX >> ONE_BITS) << ONE_BITS;
        if self.average == 0 {
            self.average = sample;
            return;
        }
        // T <- (1 - eta) T + eta sample, eta = min(3/w, 1/4)
        let forgotten = (FORGOTTEN * mss).min(cwnd / 4);
        let away = mul_div(sample.abs_diff(self.average), forgotten, cwnd);
        if sample > self.average {
            self.average += away;
        } else {
            self.average -= away;
        }
    }

    /// w <- min(2 w, (1 - gamma) w + gamma (baseRTT/RTT w + alpha))
    fn aim(&self, base: Nanos, cwnd: u64, mss: u64) -> u64 {
        let base = base.0.saturating_mul(ONE);
        let kept = mul_div(cwnd, base.min(self.average), self.average);
        let wanted = kept.saturating_add(self.parameters.alpha.saturating_mul(mss));
        weighted_mean([(cwnd, ONE - self.parameters.gamma.0), (wanted, self.parameters.gamma.0)])
            .min(2 * cwnd)
    }
}

impl Phase for Fast {
    fn enter(&mut self, _: &Entry, control: &mut Control) {
        (self.target, self.from, self.remainder, self.wait) = (control.cwnd, control.cwnd, 0, 0);
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if ack.is(Ack::RECOVERY) {
            return Step::Stay;
        }
        if ack.rtt > Nanos::ZERO {
            self.measure(ack.rtt, control.cwnd, ack.mss.into());
        }
        if ack.is(Ack::ROUND_START) && self.average > 0 && ack.min_rtt > Nanos::ZERO {
            if self.wait == 0 {
                self.wait = self.parameters.rounds;
                self.target = self.aim(ack.min_rtt, control.cwnd, ack.mss.into()).max(2 * u64::from(ack.mss));
                self.remainder = 0;
                if self.target <= control.cwnd {
                    // The window falls at once. The threshold falls with it, or slow start would raise the window
                    // again.
                    control.cwnd = self.target;
                    control.ssthresh = control.ssthresh.min(self.target);
                }
                self.from = control.cwnd;
            }
            self.wait -= 1;
        }
        if control.cwnd < self.target && ack.growth > 0 {
            // The window rises over a round trip, with each ACK by that ACK's part.
            let (step, covered) = (self.target - self.from, ack.growth.min(self.from));
            let (risen, remainder) = mul_add_div(step, covered, self.remainder, self.from);
            self.remainder = remainder;
            control.cwnd = (control.cwnd + risen).min(self.target);
        }
        Step::Stay
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        // A loss halves the window.
        event.reduce_to(event.base / 2, control);
        (self.target, self.from, self.remainder, self.wait) = (control.cwnd, control.cwnd, 0, 0);
        Step::Stay
    }
}

#[cfg(test)]
mod tests;
