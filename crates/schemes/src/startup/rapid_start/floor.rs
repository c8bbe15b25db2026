//! The smallest RTT of about the last round trip: of four spans of time, each a quarter of the smallest RTT long, as in quicly.

use firstflight_contract::{Nanos, forget};

/// Spans that make a round trip (`rtt_samples`).
const SPANS: usize = 4;
/// quicly's clock.
const MILLISECOND: u64 = 1_000_000;

/// `rtt_floor`.
#[derive(Clone, Debug, Default)]
pub(super) struct RttFloor {
    /// Whether times are whole milliseconds. A path of fewer than four is then left out.
    pub(super) in_milliseconds: bool,
    /// Whether the path was left out.
    off: bool,
    /// `newest_rtt_sample_until`: end of the newest span.
    until: Nanos,
    /// The smallest sample of each span, the newest first; zero where there is none.
    smallest: [Nanos; SPANS],
}

impl RttFloor {
    /// Begins without samples.
    pub(super) fn begin(&mut self, now: Nanos) {
        self.off = false;
        self.until = now.saturating_add(Nanos(if self.in_milliseconds { MILLISECOND } else { 0 }));
        self.smallest = [Nanos::ZERO; SPANS];
    }

    /// Takes a sample, which is not zero.
    pub(super) fn take(&mut self, now: Nanos, rtt: Nanos, min_rtt: Nanos) {
        let mut span = min_rtt.0 / SPANS as u64;
        if self.in_milliseconds {
            span = span / MILLISECOND * MILLISECOND;
        }
        if span == 0 {
            self.off = true;
        }
        if self.off {
            return;
        }
        if now < self.until {
            let newest = &mut self.smallest[0];
            *newest = if *newest == Nanos::ZERO { rtt } else { rtt.min(*newest) };
            return;
        }
        let passed = (now - self.until).0 / span + 1;
        for place in (1..SPANS as u64).rev() {
            let older =
                if passed <= place { self.smallest.get(forget(place - passed) as usize) } else { None };
            self.smallest[place as usize] = older.copied().unwrap_or(Nanos::ZERO);
        }
        self.smallest[0] = rtt;
        self.until = self.until.saturating_add(Nanos(span.saturating_mul(passed)));
    }

    /// The smallest sample; `None` if there is none, or the path was left out.
    pub(super) fn smallest(&self) -> Option<Nanos> {
        if self.off {
            return None;
        }
        let mut smallest = Nanos::ZERO;
        for &sample in &self.smallest {
            if sample != Nanos::ZERO && (smallest == Nanos::ZERO || sample < smallest) {
                smallest = sample;
            }
        }
        (smallest != Nanos::ZERO).then_some(smallest)
    }
}
