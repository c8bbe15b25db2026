//! SEARCH: J. Chung, M. Kachooei, F. Li, M. Claypool, "SEARCH -- a New Slow Start Algorithm for TCP and QUIC",
//! draft-chung-ccwg-search-09, as neqo has it (commit 80ca01ee, `neqo-transport/src/cc/search.rs`), and two earlier versions of
//! its authors for Linux.
//!
//! Slow start that ends when the path no longer delivers what was sent a round trip ago. Time is divided into bins, ten of
//! which are three and a half initial round trips. At each border of bins, the bytes that arrived in the last ten bins are
//! compared with the bytes that were sent in the ten bins a round trip before. Below the capacity of the path both are
//! equal. Above it, the deliveries fall behind.

#[cfg(test)]
mod tests;

use crate::scheme::Fixed;
use crate::{choice, scheme};
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Moment, Nanos, Phase, Role, Signals, Step, Why, forget, mul_div,
    slow_start, weighted_mean,
};

/// `W`: bins of a window.
const W: u64 = 10;
/// `WINDOW_SIZE`: duration of a window, hundredths of the initial round trip.
const WINDOW_SIZE: u64 = 350;
/// Parts in one, of fractions and shares: all versions calculate with whole percent.
const PERCENT: u64 = 100;
/// Bins that are kept of deliveries: a window and the border before it.
const DELIVERED_BINS: usize = W as usize + 1;
/// Bins that are kept of what deliveries are compared with: for the version that looks back furthest (4.0: 10 + 40).
const EXPECTED_BINS: usize = 50;
/// Bins of the initial round trip, rounded up: 10 / 3.5.
const RTT_BINS: u64 = (W * PERCENT).div_ceil(WINDOW_SIZE);
/// `TCP_INIT_CWND`: smallest window that a drain leads to, segments.
const SMALLEST_TARGET: u64 = 10;

choice! {
    /// Version of the rule.
    pub enum Variant {
        /// The draft, as neqo has it: without its drain.
        Draft09 = "draft-09",
        /// `tcp_cubic_search3.1.c`, repository maryam-ataei/TCP_SS_SEARCH_ALG, commit 89683e22.
        V31 = "3.1",
        /// `tcp_cubic_search4_0.c`, the same repository, commit 087a48d6.
        V40 = "4.0",
    }
}

impl Variant {
    /// `THRESH`, percent: shortfall of the deliveries that ends slow start.
    const fn threshold(self) -> u64 {
        match self {
            Self::Draft09 => 26,
            Self::V31 | Self::V40 => 35,
        }
    }

    /// `EXTRA_BINS`: a round trip of so many bins or more cannot be looked back over.
    const fn extra_bins(self) -> u64 {
        match self {
            Self::Draft09 => 15,
            Self::V31 => 14,
            Self::V40 => 39,
        }
    }

    /// First bin at which a window may end that is compared.
    const fn first_end(self) -> u64 {
        match self {
            Self::Draft09 => W + 1,
            Self::V31 | Self::V40 => W,
        }
    }
}

/// The last `N` bins of a cumulative count; a bin is known by its number since the first.
#[derive(Clone, Debug)]
struct Bins<const N: usize>([u64; N]);

impl<const N: usize> Default for Bins<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> Bins<N> {
    fn place(bin: u64) -> usize {
        // The kernel's verifier does not know the bounds of a remainder: the check of the place stays.
        forget(bin % N as u64) as usize
    }

    fn at(&self, bin: u64) -> u64 {
        self.0.get(Self::place(bin)).copied().unwrap_or(0)
    }

    fn set(&mut self, bin: u64, count: u64) {
        if let Some(place) = self.0.get_mut(Self::place(bin)) {
            *place = count;
        }
    }

    /// Counted from the end of bin `from` to the end of bin `to`.
    fn between(&self, from: u64, to: u64) -> u64 {
        self.at(to).saturating_sub(self.at(from))
    }
}

/// Slow start with SEARCH.
#[derive(Clone, Debug, Default)]
pub struct Search {
    parameters: Parameters,
    /// `bin_end`: border of the bin that is being filled; never before the first ACK.
    bin_end: Moment,
    /// `bin_duration`; zero before the first ACK.
    bin_duration: Nanos,
    /// `curr_idx`: number of the last bin.
    current: u64,
    /// `acked_bins`: bytes delivered.
    delivered: Bins<DELIVERED_BINS>,
    /// `sent_bins`: bytes that deliveries a round trip later are compared with.
    expected: Bins<EXPECTED_BINS>,
    /// The newest RTT sample.
    rtt: Nanos,
    /// Window to which the drain leads, bytes; zero while there is none.
    target: u64,
    /// Bytes acknowledged in the drain for which none was sent yet.
    drained: u64,
}

scheme! {
    impl Scheme for Search {
        label: "search",
        role: Role::Startup,
        source: "draft-chung-ccwg-search-09, as in neqo 80ca01ee",
        summary: "slow start that stops when deliveries fall behind the data sent a round trip earlier",
        needs: Signals::RTT,
    }

    pub struct Parameters {
        /// version of the rule: draft-09 (as in neqo), 3.1 or 4.0 (the authors' code for Linux)
        variant: Variant = Draft09,
        /// shortfall that ends slow start (THRESH); 0 is that of the variant: 0.26, 0.35, 0.35
        threshold: Fixed<100> in 0.0..=1.0 = 0,
        /// segments acknowledged for each one that leaves in the drain of 4.0 (SEARCH_DRAIN_ACKEDSEG_THRESH)
        drain_acked: u64 in 1..=1024 = 3,
    }
}

impl Search {
    /// Bytes that deliveries are compared with: twice what was delivered a round trip ago, or what was sent then.
    fn reference(&self, ack: &Ack) -> u64 {
        match self.parameters.variant {
            Variant::V31 => ack.delivered.saturating_mul(2),
            Variant::Draft09 | Variant::V40 => ack.sent,
        }
    }

    /// Begins with the first bin at this ACK.
    fn begin(&mut self, ack: &Ack) {
        if self.bin_duration == Nanos::ZERO {
            self.bin_duration = Nanos(mul_div(self.rtt.0, WINDOW_SIZE, PERCENT * W));
        }
        if self.bin_duration == Nanos::ZERO {
            return;
        }
        self.bin_end = Moment::at(ack.now.saturating_add(self.bin_duration));
        self.current = 0;
        self.delivered.set(0, ack.delivered);
        self.expected.set(0, self.reference(ack));
    }

    /// Forgets all bins; the next ACK begins again.
    fn reset(&mut self) {
        self.bin_end = Moment::NEVER;
        self.bin_duration = Nanos::ZERO;
    }

    /// Fills the bins whose border, `bin_end`, this ACK has passed; whether there are bins to compare.
    fn update_bins(&mut self, ack: &Ack, bin_end: Nanos) -> bool {
        let passed = ack.now.saturating_sub(bin_end).0 / self.bin_duration.0 + 1;
        match self.parameters.variant {
            // An option of the draft, which neqo takes: old data says nothing about the path as it is.
            Variant::Draft09 if passed > W => {
                self.reset();
                return false;
            }
            Variant::V31 | Variant::V40 if ack.is(Ack::APP_LIMITED) => {
                self.begin(ack);
                return false;
            }
            _ => {}
        }
        let (delivered, expected) = (self.delivered.at(self.current), self.expected.at(self.current));
        for skipped in 1..EXPECTED_BINS as u64 {
            if skipped < passed {
                self.delivered.set(self.current + skipped, delivered);
                self.expected.set(self.current + skipped, expected);
            }
        }
        self.current += passed;
        self.bin_end = Moment::at(bin_end.saturating_add(Nanos(self.bin_duration.0.saturating_mul(passed))));
        self.delivered.set(self.current, ack.delivered);
        self.expected.set(self.current, self.reference(ack));
        true
    }

    /// Whether the deliveries of the last window fall short of what was sent a round trip before.
    fn falls_short(&self) -> bool {
        let variant = self.parameters.variant;
        let end = self.current.saturating_sub(self.rtt.0 / self.bin_duration.0);
        if end < variant.first_end() || self.current - end >= variant.extra_bins() {
            return false;
        }
        // A round trip is no whole number of bins: the window ended a fraction of a bin before the border.
        let fraction = mul_div(self.rtt.0 % self.bin_duration.0, PERCENT, self.bin_duration.0);
        let late = self.expected.between(end - W, end);
        let early = match (end - W).checked_sub(1) {
            Some(start) => self.expected.between(start, end - 1),
            // The count before the first bin is zero in 3.1 and 4.0, also if bytes were sent before.
            None => self.expected.at(end - 1),
        };
        let expected = weighted_mean([(early, fraction), (late, PERCENT - fraction)]);
        let delivered = self.delivered.between(self.current - W, self.current);
        let threshold = match self.parameters.threshold.0 {
            0 => variant.threshold(),
            percent => percent,
        };
        expected > 0 && mul_div(expected.saturating_sub(delivered), PERCENT, expected) >= threshold
    }

    /// Whether slow start ends with this ACK.
    fn chokes(&mut self, ack: &Ack) -> bool {
        let draft = self.parameters.variant == Variant::Draft09;
        // neqo leaves out ACKs that may not enlarge the window. 3.1 and 4.0 leave out those without an RTT sample.
        if ack.is(Ack::RECOVERY) || if draft { ack.growth == 0 } else { ack.rtt == Nanos::ZERO } {
            return false;
        }
        let Some(bin_end) = self.bin_end.time() else {
            self.begin(ack);
            return false;
        };
        if ack.now < bin_end || draft && ack.now == bin_end {
            return false;
        }
        self.update_bins(ack, bin_end) && self.falls_short()
    }

    /// Leads the window to `target` by 4.0's rule: one segment leaves for each `drain_acked` segments that were acknowledged.
    fn drain(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if ack.is(Ack::RECOVERY) {
            return Step::Stay;
        }
        let mss = u64::from(ack.mss);
        let per_segment = mss.saturating_mul(self.parameters.drain_acked.max(1));
        self.drained = self.drained.saturating_add(ack.acked);
        let segments = self.drained / per_segment;
        self.drained %= per_segment;
        let allowed = ack.pipe.saturating_add(segments.saturating_mul(mss));
        control.cwnd = control.cwnd.min(allowed.max(self.target));
        if control.cwnd > self.target {
            return Step::Stay;
        }
        control.ssthresh = control.cwnd;
        Step::Exit(Exit::Delivery)
    }
}

impl Phase for Search {
    fn enter(&mut self, entry: &Entry, _: &mut Control) {
        // neqo has no rule for idle times but that for old bins.
        if entry.why != Why::Idle || self.parameters.variant != Variant::Draft09 {
            self.reset();
        }
        self.target = 0;
        self.drained = 0;
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if ack.rtt != Nanos::ZERO {
            self.rtt = ack.rtt;
        }
        if self.target > 0 {
            return self.drain(ack, control);
        }
        if !self.chokes(ack) {
            return slow_start(ack, control);
        }
        if self.parameters.variant == Variant::V40 {
            let bdp = self.delivered.between(self.current - RTT_BINS, self.current);
            self.target = bdp.max(SMALLEST_TARGET * u64::from(ack.mss));
            return Step::Over(Exit::Delivery);
        }
        control.ssthresh = control.cwnd;
        Step::Exit(Exit::Delivery)
    }

    fn on_congestion(&mut self, event: &Congestion, _: &mut Control) -> Step {
        Step::Exit(event.trigger.into())
    }
}
