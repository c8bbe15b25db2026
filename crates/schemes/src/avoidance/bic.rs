//! BIC: L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks", INFOCOM
//! 2004, with the constants of the Linux kernel (net/ipv4/tcp_bic.c).
//!
//! A binary search approaches the window of the last congestion: in large steps far from it and in small steps near it.
//! Beyond that window the steps grow again in the same way. The step per round trip is bounded by a constant.

use crate::scheme::Fixed;
use crate::{choice, scheme};
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Phase, Role, Step, Trigger, mul_add_div, mul_div, mul_shift,
};

/// Before the first congestion a round trip adds at least a twentieth of the window.
const UNBOUND: u64 = 20;
/// Fractions are in 2^-16.
const ONE_BITS: u32 = 16;
const ONE: u64 = 1 << ONE_BITS;

/// BIC.
#[derive(Clone, Debug, Default)]
pub struct Bic {
    parameters: Parameters,
    /// The window of the last congestion, bytes; zero before the first one.
    last_max: u64,
    /// `last_max` before the last congestion, to restore if that congestion was spurious.
    last_max_before: u64,
    /// Remainder of the division for the last ACK, bytes squared.
    remainder: u64,
}

scheme! {
    impl Scheme for Bic {
        label: "bic",
        role: Role::Avoidance,
        source: "Xu, Harfoush, Rhee, INFOCOM 2004; Linux, net/ipv4/tcp_bic.c",
        summary: "a binary search for the window of the last congestion, and away from it as it came",
    }

    pub struct Parameters {
        /// xu: steps of any size; linux: the steps of the kernel, in whole segments, slow from twice the distance on
        rules: Rules = Xu,
        /// window left after congestion (Linux: 819/1024; Liu's thesis: 0.875)
        beta: Fixed<ONE> in 0.1..=0.95 = 0.7998,
        /// largest increase in a round trip (S_max; Linux: max_increment)
        max_increment: u64 = 16 packets,
        /// window below which it is Reno; with rules = linux up to it (Linux: low_window)
        low_window: u64 = 14 packets,
        /// a round trip covers 1/b of the distance to the bound (Linux: BICTCP_B; a binary search has 2)
        b: Fixed<ONE> in 2.0..=64.0 = 4,
        /// round trips that the last b segments before the bound take, and the first b beyond it
        smooth_part: Fixed<ONE> in 1.0..=1000.0 = 20,
        /// lower the bound further when the window did not reach it again
        fast_convergence: bool = true,
    }
}

choice! {
    /// Values of the parameter `rules`.
    pub enum Rules {
        /// Steps of any size.
        Xu = "xu",
        /// The steps of the kernel, in whole segments.
        Linux = "linux",
    }
}

impl Bic {
    fn linux(&self) -> bool {
        self.parameters.rules == Rules::Linux
    }

    /// Whether Reno's rules apply to a window of this many bytes: below `low_window` in the paper, up to it in the
    /// kernel.
    fn is_low(&self, window: u64, mss: u64) -> bool {
        let segments = window / mss;
        if self.linux() {
            segments <= self.parameters.low_window
        } else {
            segments < self.parameters.low_window
        }
    }

    /// Bytes that a window of ACKs adds to `window`.
    fn increment(&self, window: u64, mss: u64) -> u64 {
        if self.is_low(window, mss) {
            return mss;
        }
        // Amounts are bytes, or whole segments under the kernel's rules.
        let unit = if self.linux() { 1 } else { mss };
        let [at, bound] = [window, self.last_max].map(|w| if self.linux() { w / mss } else { w });
        let searching = at < bound;
        // binary search: a part of the distance; max probing: the mirror image beyond the bound
        let part = if searching { self.parameters.b.0 } else { self.parameters.b.0 - (1 << ONE_BITS) };
        let distance = at.abs_diff(bound);
        // 2^-16
        let mut step = mul_div(distance, 1 << (2 * ONE_BITS), part);
        if searching && self.linux() {
            step = step >> ONE_BITS << ONE_BITS;
        }
        let near = if searching {
            step <= unit << ONE_BITS
        } else {
            distance < (self.parameters.b.0 * unit) >> ONE_BITS
        };
        step = step.min(self.parameters.max_increment.saturating_mul(unit).saturating_mul(1 << ONE_BITS));
        let increment = if near {
            // b segments in smooth_part round trips
            self.parameters.b.0 * mss / self.parameters.smooth_part.0
        } else if self.linux() {
            // acknowledged segments for each segment of growth, a whole number
            let acknowledged = mul_div(at, 1 << ONE_BITS, step.max(1));
            window / acknowledged.max(1)
        } else {
            step >> ONE_BITS
        };
        // Linux: "if in slow start or link utilization is very low", 5 % a round trip
        if self.last_max == 0 { increment.max(window / UNBOUND) } else { increment }
    }
}

impl Phase for Bic {
    fn enter(&mut self, _: &Entry, _: &mut Control) {
        self.remainder = 0;
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if ack.is(Ack::RECOVERY) || ack.growth == 0 {
            return Step::Stay;
        }
        // An ACK for more than a window counts as one, and the window grows no faster than in slow start.
        let cwnd = control.cwnd;
        let covered = ack.growth.min(cwnd);
        let (grown, remainder) =
            mul_add_div(self.increment(cwnd, ack.mss.into()), covered, self.remainder, cwnd);
        control.cwnd += grown.min(covered);
        self.remainder = remainder;
        Step::Stay
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        let window = event.base;
        let keep = |kept: u64| mul_shift(window, kept, ONE_BITS);
        self.last_max_before = self.last_max;
        self.last_max = if window < self.last_max && self.parameters.fast_convergence {
            // the mean of the window and the reduced window
            (window + keep(self.parameters.beta.0)) / 2
        } else {
            window
        };
        if event.trigger == Trigger::Timeout {
            // A timeout discards the bound.
            self.last_max = 0;
        }
        let left =
            if self.is_low(window, event.mss.into()) { window / 2 } else { keep(self.parameters.beta.0) };
        event.reduce_to(left, control);
        self.remainder = 0;
        Step::Stay
    }

    fn on_spurious(&mut self) {
        self.last_max = self.last_max_before;
    }
}

#[cfg(test)]
mod tests;
