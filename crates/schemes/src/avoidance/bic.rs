//! BIC: L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks", INFOCOM
//! 2004, with the constants of the Linux kernel (net/ipv4/tcp_bic.c).
//!
//! The window of the last congestion is a bound that a binary search approaches: fast while far away, slowly around it, and
//! away from it again as it came. How fast at most is a constant.

use crate::scheme::{Info, Param, ParamKind, Scheme, Value};
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Phase, Role, Signals, Step, Trigger, mul_add_div, mul_div, mul_shift,
};

/// Window left by congestion, 819/1024 (Linux: beta).
const KEPT: f64 = 0.7998;
/// S_max: most segments that a round trip adds (Linux: max_increment).
const MAX_INCREMENT: u64 = 16;
/// Window below which it is Reno, segments (Linux: low_window).
const LOW_WINDOW: u64 = 14;
/// A round trip covers this part of the distance to the bound, inverted (Linux: BICTCP_B).
const SEARCH: f64 = 4.0;
/// Round trips that the last B segments before the bound take (Linux: smooth_part).
const SMOOTH_PART: f64 = 20.0;
/// Before the first congestion a round trip adds at least a twentieth of the window.
const UNBOUND: u64 = 20;
/// Fractions are in 2^-16.
const ONE_BITS: u32 = 16;

/// The values of the parameter `rules`.
const RULES: &[&str] = &["xu", "linux"];

/// BIC.
#[derive(Clone, Debug)]
pub struct Bic {
    mss: u64,
    /// The window of the last congestion, bytes; zero before the first one.
    last_max: u64,
    /// The same before that congestion, in case it was spurious.
    last_max_before: u64,
    /// What the division of the last ACK left, bytes squared.
    remainder: u64,
    /// Parameter, 2^-16.
    kept: u64,
    /// Parameter, segments.
    max_increment: u64,
    /// Parameter, segments.
    low_window: u64,
    /// Parameter, 2^-16.
    search: u64,
    /// Parameter, 2^-16.
    smooth_part: u64,
    /// Parameter.
    fast_convergence: bool,
    /// Parameter: whether it counts in the kernel's whole segments.
    linux: bool,
}

impl Default for Bic {
    fn default() -> Self {
        Self {
            mss: 0,
            last_max: 0,
            last_max_before: 0,
            remainder: 0,
            kept: part(KEPT),
            max_increment: MAX_INCREMENT,
            low_window: LOW_WINDOW,
            search: part(SEARCH),
            smooth_part: part(SMOOTH_PART),
            fast_convergence: true,
            linux: false,
        }
    }
}

fn part(x: f64) -> u64 {
    (x * f64::from(1 << ONE_BITS)).round() as u64
}

impl Scheme for Bic {
    const INFO: Info = Info {
        label: "bic",
        role: Role::Avoidance,
        source: "Xu, Harfoush, Rhee, INFOCOM 2004; Linux, net/ipv4/tcp_bic.c",
        summary: "a binary search for the window of the last congestion, and away from it as it came",
        needs: Signals::NONE,
        params: &[
            Param {
                name: "rules",
                kind: ParamKind::Choice(RULES),
                default: "xu",
                doc: "xu: steps of any size; linux: the kernel's, in whole segments, slow from twice as far on",
            },
            Param {
                name: "beta",
                kind: ParamKind::Number { min: 0.1, max: 0.95 },
                default: "0.7998",
                doc: "window left after congestion (Linux: 819/1024; Liu's thesis: 0.875)",
            },
            Param {
                name: "max_increment",
                kind: ParamKind::Packets,
                default: "16 packets",
                doc: "most that a round trip adds (S_max; Linux: max_increment)",
            },
            Param {
                name: "low_window",
                kind: ParamKind::Packets,
                default: "14 packets",
                doc: "window below which it is Reno; with rules = linux up to it (Linux: low_window)",
            },
            Param {
                name: "b",
                kind: ParamKind::Number { min: 2.0, max: 64.0 },
                default: "4",
                doc: "a round trip covers 1/b of the distance to the bound (Linux: BICTCP_B; a binary search has 2)",
            },
            Param {
                name: "smooth_part",
                kind: ParamKind::Number { min: 1.0, max: 1000.0 },
                default: "20",
                doc: "round trips that the last b segments before the bound take, and the first b beyond it",
            },
            Param {
                name: "fast_convergence",
                kind: ParamKind::Flag,
                default: "true",
                doc: "lower the bound further when the window did not reach it again",
            },
        ],
    };

    fn set(&mut self, name: &str, value: Value) {
        match (name, value) {
            ("rules", Value::Choice(i)) => self.linux = RULES[i] == "linux",
            ("beta", Value::Number(x)) => self.kept = part(x),
            ("max_increment", Value::Packets(n)) => self.max_increment = n,
            ("low_window", Value::Packets(n)) => self.low_window = n,
            ("b", Value::Number(x)) => self.search = part(x),
            ("smooth_part", Value::Number(x)) => self.smooth_part = part(x),
            ("fast_convergence", Value::Flag(on)) => self.fast_convergence = on,
            _ => unreachable!("bic has no parameter {name} of this kind"),
        }
    }
}

impl Bic {
    /// Whether a window of this many bytes is Reno's: below `low_window` in the paper, up to it in the kernel.
    fn is_low(&self, window: u64) -> bool {
        let segments = window / self.mss;
        if self.linux { segments <= self.low_window } else { segments < self.low_window }
    }

    /// Bytes that a window of ACKs adds to `window`.
    fn increment(&self, window: u64) -> u64 {
        if self.is_low(window) {
            return self.mss;
        }
        // Amounts are bytes, or with the kernel's rules whole segments.
        let unit = if self.linux { 1 } else { self.mss };
        let [at, bound] = [window, self.last_max].map(|w| if self.linux { w / self.mss } else { w });
        let searching = at < bound;
        // binary search: a part of the distance; max probing: the same beyond the bound, the other way round
        let part = if searching { self.search } else { self.search - (1 << ONE_BITS) };
        let distance = at.abs_diff(bound);
        // 2^-16
        let mut step = mul_div(distance, 1 << (2 * ONE_BITS), part);
        if searching && self.linux {
            step = step >> ONE_BITS << ONE_BITS;
        }
        let near =
            if searching { step <= unit << ONE_BITS } else { distance < (self.search * unit) >> ONE_BITS };
        step = step.min(self.max_increment.saturating_mul(unit).saturating_mul(1 << ONE_BITS));
        let increment = if near {
            // b segments in smooth_part round trips
            self.search * self.mss / self.smooth_part
        } else if self.linux {
            // a segment for each so many acknowledged, a whole number
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
    fn enter(&mut self, entry: &Entry, _: &mut Control) {
        self.mss = entry.mss.into();
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
        let (grown, remainder) = mul_add_div(self.increment(cwnd), covered, self.remainder, cwnd);
        control.cwnd += grown.min(covered);
        self.remainder = remainder;
        Step::Stay
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        let window = event.base;
        let keep = |kept: u64| mul_shift(window, kept, ONE_BITS);
        self.last_max_before = self.last_max;
        self.last_max = if window < self.last_max && self.fast_convergence {
            // half way between the window and what is left of it
            (window + keep(self.kept)) / 2
        } else {
            window
        };
        if event.trigger == Trigger::Timeout {
            // Nothing is known of the path any more.
            self.last_max = 0;
        }
        let left = if self.is_low(window) { window / 2 } else { keep(self.kept) };
        control.ssthresh = left.max(2 * self.mss);
        control.cwnd = control.ssthresh;
        self.remainder = 0;
        Step::Stay
    }

    fn on_spurious(&mut self) {
        self.last_max = self.last_max_before;
    }
}

#[cfg(test)]
#[path = "bic_tests.rs"]
mod tests;
