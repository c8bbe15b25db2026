//! EXP-TCP: D. Liu, "Improving Start-up and Steady-state Behavior of TCP in High Bandwidth-Delay Product
//! Networks", M.S. thesis, Case Western Reserve University, 2007, chapter 4 ("DL" below).
//!
//! The window grows exponentially away from its value after the last decrease. The first step depends on the square
//! root of that value: a small window grows by a larger share of itself than a large one. Flows therefore converge to
//! equal shares, and each of them fills a large spare capacity in few round trips.

use crate::scheme;
use crate::scheme::Fixed;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Phase, Role, Step, mul_add_shift, mul_div_round, sqrt_of_product,
};

/// Parameters are kept in 2^-32.
const ONE_BITS: u32 = 32;
const ONE: u64 = 1 << ONE_BITS;
/// The part of the window that an ACK covers is in 2^-18, the remainder carried: one division of 64 bits an ACK.
const SHARE_BITS: u32 = 18;

/// The time between two decreases of the window.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// `w_0`, the window at its beginning, bytes.
    first: u64,
    /// `sqrt(w_0)`, the root taken in segments, in bytes.
    root: u64,
}

impl Epoch {
    fn new(cwnd: u64, mss: u64) -> Self {
        // sqrt(W/mss) mss = sqrt(W mss)
        Self { first: cwnd, root: sqrt_of_product(cwnd, mss) }
    }
}

/// Exponential increase, multiplicative decrease.
#[derive(Clone, Debug, Default)]
pub struct Exp {
    parameters: Parameters,
    /// `None` until the first ACK that may enlarge the window.
    epoch: Option<Epoch>,
    /// The epoch before the last decrease, to restore if that decrease was spurious.
    before: Option<Epoch>,
    /// Growth below one byte, 2^-50.
    fraction: u64,
    /// Remainder of the division for the last ACK, 2^-18 bytes.
    remainder: u64,
}

scheme! {
    impl Scheme for Exp {
        label: "exp",
        role: Role::Avoidance,
        source: "Liu, thesis, section 4.2",
        summary: "exponential growth away from the window after the last reduction, which is by an eighth",
    }

    pub struct Parameters {
        // DL section 4.2: gamma "is set to a small default value of 5%".
        /// rate of the increase (Eq. (1))
        gamma: Fixed<ONE> in 0.001..=1.0 = 0.05,
        // DL section 4.2: beta, "i.e., 1/8".
        /// part of the window that congestion takes (Eq. (2))
        beta: Fixed<ONE> in 0.01..=0.9 = 0.125,
        /// grow by at least a segment a round trip; the thesis has no such floor
        reno_floor: bool = false,
    }
}

impl Phase for Exp {
    fn enter(&mut self, _: &Entry, _: &mut Control) {
        self.epoch = None;
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if ack.is(Ack::RECOVERY) || ack.growth == 0 {
            return Step::Stay;
        }
        let cwnd = control.cwnd;
        let epoch = match self.epoch {
            // A window below the epoch's first was lowered by the host (after an idle time): that ended the epoch.
            Some(epoch) if epoch.first <= cwnd => epoch,
            _ => {
                // The remainder is in parts of the old epoch's window.
                self.remainder = 0;
                *self.epoch.insert(Epoch::new(cwnd, u64::from(ack.mss)))
            }
        };

        // The part of the window that this ACK covers; an ACK for more than a window counts as one.
        let covered = (ack.growth.min(cwnd) << SHARE_BITS) + self.remainder;
        let share = covered / cwnd;
        self.remainder = covered % cwnd;

        // Equation (1), w <- w + gamma (1 - w_0/w + sqrt(w_0)/w) for each segment: a window of them adds
        // gamma (w - w_0 + sqrt(w_0)).
        let mut per_round = self.parameters.gamma.0.saturating_mul(cwnd - epoch.first + epoch.root);
        if self.parameters.reno_floor {
            per_round = per_round.max(u64::from(ack.mss) << ONE_BITS);
        }
        let (grown, fraction) = mul_add_shift(per_round, share, self.fraction, ONE_BITS + SHARE_BITS);
        control.cwnd += grown;
        self.fraction = fraction;
        Step::Stay
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        // Equation (2): w <- (1 - beta) w, to the nearest byte.
        event.reduce_to(mul_div_round(event.base, ONE - self.parameters.beta.0, ONE), control);
        self.before = self.epoch.take();
        Step::Stay
    }

    fn on_spurious(&mut self) {
        self.epoch = self.before;
    }
}

#[cfg(test)]
mod tests;
