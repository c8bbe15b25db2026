//! The best first window of a transfer of known size in congestion avoidance: Y. Zhang, L. Qiu, S. Keshav, "Speeding Up
//! Short Data Transfers", NOSSDAV 2000, section "Minimizing latency by choosing the optimal initial cwnd".
//!
//! The window is a sawtooth: a segment more every `b` round trips up to `Wc`, which the path just holds, then half of it.

/// With these no sum overflows; 2^20 full segments are more than the largest window of TCP, and 2^62 segments take forever.
const MAX_WC: u64 = 1 << 20;
const MAX_B: u64 = 1 << 8;
const MAX_SIZE: u64 = 1 << 62;

/// One tooth of the sawtooth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// The largest window that meets no loss, segments; at least one.
    wc: u64,
    /// Round trips in which the window grows by one segment; at least one.
    b: u64,
}

impl Epoch {
    /// `wc` segments is the largest window that meets no loss, at most 2^20; the window grows by one segment in `b` round
    /// trips, at most 2^8. Zero counts as one.
    pub fn new(wc: u64, b: u64) -> Self {
        Self { wc: wc.clamp(1, MAX_WC), b: b.clamp(1, MAX_B) }
    }

    /// The first window with which `f` segments take the least time, so that they end with an epoch; segments.
    pub fn optimum(&self, f: u64) -> u64 {
        self.last_ramp(f.min(MAX_SIZE))
    }

    /// The smallest first window with which `f` segments take as many whole round trips as with [`Epoch::optimum`];
    /// segments.
    pub fn shifted(&self, f: u64) -> u64 {
        let f = f.min(MAX_SIZE);
        let optimum = self.last_ramp(f);
        // In a given number of round trips, a smaller first window never sends more segments.
        let n = self.rounds(optimum, f);
        first(1, optimum, |w| self.sent(w, n) >= f)
    }

    /// `W_opt`: the largest W of `Wc/2 ... Wc` with `b (W + ... + Wc) >= F'`.
    fn last_ramp(&self, f: u64) -> u64 {
        let rest = f % self.epoch();
        // F' = F mod E; a whole number of epochs starts with one.
        let rest = if rest == 0 { self.epoch() } else { rest };
        let half = self.half();
        self.wc - first(0, self.wc - half, |down| self.ramp(self.wc - down) >= rest)
    }

    /// The round trips that `f` segments take from window `w`, where they end with an epoch.
    fn rounds(&self, w: u64, f: u64) -> u64 {
        let epochs = f.saturating_sub(self.ramp(w)).div_ceil(self.epoch());
        let n = self.ramp_rounds(w) + epochs * self.ramp_rounds(self.half());
        // With b > 1 the last round trip may have nothing left to send.
        if n > 1 && self.sent(w, n - 1) >= f { n - 1 } else { n }
    }

    /// Segments sent in `n` round trips from window `w`.
    fn sent(&self, w: u64, n: u64) -> u64 {
        let Some(rest) = n.checked_sub(self.ramp_rounds(w)) else { return self.part(w, n) };
        let half = self.half();
        let (epochs, rest) = (rest / self.ramp_rounds(half), rest % self.ramp_rounds(half));
        self.ramp(w) + epochs * self.epoch() + self.part(half, rest)
    }

    /// Window after `Wc`: half of it.
    fn half(&self) -> u64 {
        (self.wc / 2).max(1)
    }

    /// `E`: segments of a whole epoch.
    fn epoch(&self) -> u64 {
        self.ramp(self.half())
    }

    /// Segments from window `w` to the end of the epoch: `b (w + ... + Wc)`.
    fn ramp(&self, w: u64) -> u64 {
        self.part(w, self.ramp_rounds(w))
    }

    /// Round trips from window `w` to the end of the epoch.
    fn ramp_rounds(&self, w: u64) -> u64 {
        self.b * (self.wc - w + 1)
    }

    /// Segments of the first `n` round trips from window `w` if no epoch ends: the sum of `w + floor(k/b)`, k < n.
    fn part(&self, w: u64, n: u64) -> u64 {
        let (steps, rest) = (n / self.b, n % self.b);
        n * w + self.b * steps * steps.saturating_sub(1) / 2 + steps * rest
    }
}

/// The least value in `from ..= to` that `holds` accepts. It accepts all larger values too, and always `to`.
fn first(mut from: u64, mut to: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while from < to {
        let middle = (from + to) / 2;
        if holds(middle) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    to
}
