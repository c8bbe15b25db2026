//! HighSpeed TCP: S. Floyd, "HighSpeed TCP for Large Congestion Windows", RFC 3649.
//!
//! Reno up to 38 segments. Above, a larger window grows faster and loses a smaller part to a loss. All arithmetic is in
//! integers: the RFC's power of the window uses a base-2 logarithm, which is recalculated once the window has changed
//! by 1/4096.

use crate::scheme;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Phase, Role, Step, forget, mul_add_div, mul_div, mul_shift,
    sqrt_of_product,
};

/// RFC 3649 section 5: Low_Window, segments.
const LOW_WINDOW: u64 = 38;
/// RFC 3649 section 5: High_Window, segments.
const HIGH_WINDOW: u64 = 83_000;
/// b(w) is in 2^-32; it is 1/2 up to Low_Window.
const HALF: u64 = 1 << 31;
/// RFC 3649 section 5: b(w) falls from 0.5 to High_Decrease = 0.1: by 2/5, in 2^-32.
const FALL: u64 = (1 << 33) / 5;
/// The RFC's b(w) falls to zero at 567 000 segments, and a(w) falls with it above 156 000. b(w) is therefore constant
/// above 155 000 segments: 0.0675 in 2^-32.
const SMALLEST_DECREASE: u64 = (1 << 32) / 400 * 27;
/// a(w) and logarithms are in 2^-16.
const UNIT_BITS: u32 = 16;
/// Leading bits of the window that a(w) is computed from.
const WINDOW_BITS: u32 = 13;

/// HighSpeed TCP.
#[derive(Clone, Debug, Default)]
pub struct Highspeed {
    /// The window for which `increase` was calculated, its lower bits cleared.
    window: u64,
    /// a(w) in bytes, 2^-16.
    increase: u64,
    /// Remainder of the division for the last ACK: growth in bytes, 2^-16, times the window.
    remainder: u64,
}

scheme! {
    impl Scheme for Highspeed {
        label: "highspeed",
        role: Role::Avoidance,
        source: "RFC 3649",
        summary: "Reno whose increase rises and whose decrease falls with windows above 38 segments",
    }
}

/// log2 of `x` in 2^-16, truncated; `x` is not zero.
const fn log2_of_constant(x: u64) -> u64 {
    let mut log = Log2::of(x);
    let mut bit = 0;
    while bit < UNIT_BITS {
        log = log.next();
        bit += 1;
    }
    log.bits
}

/// The same, as the kernel's verifier can follow it.
fn log2(x: u64) -> u64 {
    let last = (0..UNIT_BITS).fold(Log2::of(x), |log, _| {
        let Log2 { bits, rest } = log.next();
        Log2 { bits: forget(bits), rest: forget(rest) }
    });
    last.bits
}

/// A logarithm as far as it is known.
struct Log2 {
    bits: u64,
    /// Its argument over the power that is known: between 1 and 2, in 2^-63.
    rest: u64,
}

impl Log2 {
    const fn of(x: u64) -> Self {
        let whole = x.ilog2();
        Self { bits: whole as u64, rest: x << (63 - whole) }
    }

    /// One bit more: a square is at or above 2 where the next bit of the logarithm is 1.
    const fn next(self) -> Self {
        let half = mul_shift(self.rest, self.rest, 64);
        let carry = half >> 63;
        let rest = if carry == 1 { half } else { mul_shift(self.rest, self.rest, 63) };
        Self { bits: self.bits << 1 | carry, rest }
    }
}

/// 2^(1/2), 2^(1/4), ... in 2^-62, each the square root of the one before.
static ROOTS: [u64; UNIT_BITS as usize] = {
    let mut roots = [0; UNIT_BITS as usize];
    let mut last = 2 << 62;
    let mut i = 0;
    while i < roots.len() {
        last = sqrt_of_product(last, 1 << 62);
        roots[i] = last;
        i += 1;
    }
    roots
};

/// 2^`x` in 2^-16, `x` in 2^-16 and below 47.
fn exp2(x: u64) -> u64 {
    let fraction = ROOTS.iter().enumerate().fold(1_u64 << 62, |product, (i, root)| {
        let set = x >> (UNIT_BITS as usize - 1 - i) & 1 == 1;
        forget(if set { mul_shift(product, *root, 62) } else { product })
    });
    mul_shift(fraction, 1 << (x >> UNIT_BITS), 62 - UNIT_BITS)
}

const LOG_LOW: u64 = log2_of_constant(LOW_WINDOW);
const LOG_SPAN: u64 = log2_of_constant(HIGH_WINDOW) - LOG_LOW;

impl Highspeed {
    /// log2 of `window` bytes in segments, 2^-16; zero below one segment, 2^46 segments at most.
    fn log_segments(&self, window: u64, mss: u64) -> u64 {
        log2(window.max(mss)).saturating_sub(log2(mss)).min(46 << UNIT_BITS)
    }

    /// b(w) in 2^-32, `log` the logarithm of w.
    fn decrease(log: u64) -> u64 {
        // Section 5: b(w) = (High_Decrease - 0.5) (log(w) - log(W)) / (log(W_1) - log(W)) + 0.5
        let fall = mul_div(log.saturating_sub(LOG_LOW), FALL, LOG_SPAN);
        HALF.saturating_sub(fall).max(SMALLEST_DECREASE)
    }

    /// a(w) in segments, 2^-16.
    fn increase(log: u64) -> u64 {
        // Section 5: a(w) = w^2 p(w) 2 b(w) / (2 - b(w)) with p(w) = 0.078 / w^1.2, so w^0.8 * 0.156 * b(w) / (2 - b(w)).
        let b = Self::decrease(log);
        let power = exp2(log * 4 / 5);
        // The power is below 2^53: its multiple fits 64 bits.
        let a = mul_div(power * 156, b, ((1 << 33) - b) * 1000);
        // At Low_Window the formula gives 0.95; the minimum is Reno's one segment.
        a.max(1 << UNIT_BITS)
    }
}

impl Phase for Highspeed {
    fn enter(&mut self, _: &Entry, _: &mut Control) {
        self.window = 0;
        self.remainder = 0;
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if ack.is(Ack::RECOVERY) || ack.growth == 0 {
            return Step::Stay;
        }
        let cwnd = control.cwnd;
        let cut = (cwnd.ilog2() + 1).saturating_sub(WINDOW_BITS);
        if cwnd >> cut << cut != self.window {
            self.window = cwnd >> cut << cut;
            self.increase =
                Self::increase(self.log_segments(self.window, ack.mss.into())) * u64::from(ack.mss);
        }
        // Section 5: w <- w + a(w)/w for each ACK, here for each segment that the host lets count. An ACK for more
        // than a window counts as one.
        let divisor = cwnd.saturating_mul(1 << UNIT_BITS);
        let (grown, remainder) = mul_add_div(self.increase, ack.growth.min(cwnd), self.remainder, divisor);
        control.cwnd += grown;
        self.remainder = remainder;
        Step::Stay
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        // Section 5: w <- (1 - b(w)) w.
        let b = Self::decrease(self.log_segments(event.base, event.mss.into()));
        let taken = mul_shift(event.base, b, 32);
        event.reduce_to(event.base - taken, control);
        self.remainder = 0;
        Step::Stay
    }
}

#[cfg(test)]
mod tests;
