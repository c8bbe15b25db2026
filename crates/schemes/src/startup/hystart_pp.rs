//! HyStart++: P. Balasubramanian, Y. Huang, M. Olson, "HyStart++: Modified Slow Start for TCP", RFC 9406.
//!
//! Slow start that compares the smallest RTT of each round with that of the round before. When the RTT rises, growth first
//! drops to a quarter (Conservative Slow Start). If the RTT falls again, the rise was jitter and slow start resumes;
//! otherwise congestion avoidance begins after five such rounds.
//!
//! Where the RFC leaves an order open, implementations differ: [`Rules`] names them.

use crate::{choice, scheme};
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Nanos, Phase, Rate, Role, Signals, Step, Why, slow_start,
};

/// HyStart++ with Conservative Slow Start.
#[derive(Clone, Debug, Default)]
pub struct HystartPp {
    parameters: Parameters,

    /// Whether this is the initial slow start; later ones are plain.
    active: bool,
    /// `lastRoundMinRTT`: smallest RTT of the last whole round; `None` is the RFC's infinity.
    last_round_min_rtt: Option<Nanos>,
    /// `currentRoundMinRTT`: smallest RTT of the round so far; `None` is the RFC's infinity.
    current_round_min_rtt: Option<Nanos>,
    /// `rttSampleCount`.
    rtt_sample_count: u32,
    /// `cssBaselineMinRtt`; `None`, the RFC's infinity, outside Conservative Slow Start.
    css_baseline_min_rtt: Option<Nanos>,
    /// Rounds of Conservative Slow Start so far.
    css_rounds: u32,
    /// Growth in CSS below one byte, in units of 1/CSS_GROWTH_DIVISOR.
    remainder: u64,
    /// Acknowledged bytes for each byte by which the last ACK enlarged the window.
    divisor: u64,
}

scheme! {
    impl Scheme for HystartPp {
        label: "hystart++",
        role: Role::Startup,
        source: "RFC 9406",
        summary: "slow start that turns cautious when the RTT of a round rises, and back if it was jitter",
        needs: Signals::RTT,
    }

    // Defaults: RFC 9406 section 4.3.
    pub struct Parameters {
        /// smallest RTT rise that counts (RFC 9406 section 4.3, MIN_RTT_THRESH)
        min_rtt_thresh: Nanos = 4 ms,
        /// largest RTT rise asked for (MAX_RTT_THRESH)
        max_rtt_thresh: Nanos = 16 ms,
        /// fraction of the last round's RTT that a rise must reach (MIN_RTT_DIVISOR)
        min_rtt_divisor: u64 in 1..=1024 = 8,
        /// RTT samples a round needs before it is judged (N_RTT_SAMPLE)
        n_rtt_sample: u32 in 1..=1024 = 8,
        /// how much slower Conservative Slow Start grows (CSS_GROWTH_DIVISOR)
        css_growth_divisor: u64 in 1..=1024 = 4,
        /// rounds of Conservative Slow Start before congestion avoidance (CSS_ROUNDS); 0 ends slow start at once, as in s2n-quic
        css_rounds: u32 in 0..=1024 = 5,
        // RFC 9406 section 4.3: "L = infinity if paced, L = 8 if non-paced", segments an ACK.
        /// most an ACK adds while the sender is not paced (L); 0 is no limit
        l: u64 = 8 packets,
        /// the order of growth, sample and round in one ACK, which the RFC leaves open: rfc9406, or an implementation's
        rules: Rules = Rfc9406,
        /// the RTT below which Conservative Slow Start was an error: current-round (RFC 9406), or entry-threshold, the RTT that led into it (an option of neqo)
        css_baseline: Baseline = CurrentRound,
    }
}

choice! {
    /// Values of the parameter `rules`: the order within an ACK.
    pub enum Rules {
        /// Growth, then the sample. The ACK that ends a round gives the first sample of the next. Fractions of a byte are carried.
        Rfc9406 = "rfc9406",
        /// neqo 80ca01ee, `cc/hystart.rs`: the sample, then growth, cut to whole bytes. The ACK that ends a round gives its last sample, and the
        /// ACK that ends slow start adds nothing.
        Neqo = "neqo",
        /// tquic 1.6.0, `congestion_control/hystart_plus_plus.rs`: growth, cut to whole bytes, then the sample. The ACK that ends a round gives its
        /// last sample. Samples that led into Conservative Slow Start also judge it.
        Tquic = "tquic",
        /// s2n-quic-core 0.91.0, `recovery/hybrid_slow_start.rs`, whose parameter `css_rounds` is 0: the eighth sample of a round judges it,
        /// before growth, where the window has 16 segments or more; no other does.
        S2nQuic = "s2n-quic",
    }
}

choice! {
    /// Values of the parameter `css_baseline`.
    pub enum Baseline {
        /// The smallest RTT of the round that led into Conservative Slow Start.
        CurrentRound = "current-round",
        /// The smallest RTT of the round before it, with the rise.
        EntryThreshold = "entry-threshold",
    }
}

/// s2n-quic-core 0.91.0, `recovery/hybrid_slow_start.rs`, LOW_SSTHRESH: segments of the smallest window that a rise ends.
const S2N_LOW_SSTHRESH: u64 = 16;

impl HystartPp {
    fn in_css(&self) -> bool {
        self.css_baseline_min_rtt.is_some()
    }

    /// Bytes this ACK adds to the window.
    fn growth(&mut self, ack: &Ack, control: &Control) -> u64 {
        // The host decides whether the window may grow at all. The amount is the RFC's, section 4.2:
        // "cwnd = cwnd + min(N, L * SMSS)", N the newly acknowledged bytes.
        self.divisor = if self.in_css() { self.parameters.css_growth_divisor } else { 1 };
        if ack.growth == 0 {
            return 0;
        }
        let unlimited = self.parameters.l == 0 || control.pacing != Rate::NONE;
        let n = if unlimited {
            ack.acked
        } else {
            ack.acked.min(self.parameters.l.saturating_mul(u64::from(ack.mss)))
        };
        if !self.in_css() {
            return n;
        }
        // Section 4.2, in CSS: "cwnd = cwnd + (min(N, L * SMSS) / CSS_GROWTH_DIVISOR)"
        let n = n + self.remainder;
        if self.parameters.rules == Rules::Rfc9406 {
            self.remainder = n % self.divisor;
        }
        n / self.divisor
    }

    /// The end of a round: "lastRoundMinRTT = currentRoundMinRTT, currentRoundMinRTT = infinity, rttSampleCount = 0".
    fn begin_round(&mut self) {
        self.last_round_min_rtt = self.current_round_min_rtt.take();
        self.rtt_sample_count = 0;
    }

    /// A round of Conservative Slow Start is complete: whether it was the last.
    fn css_is_over(&mut self) -> bool {
        // "CSS lasts at most CSS_ROUNDS rounds. If the transition into CSS happens in the middle of a
        // round, that partial round counts towards the limit."
        self.css_rounds += u32::from(self.in_css());
        self.in_css() && self.css_rounds >= self.parameters.css_rounds
    }

    /// "If CSS_ROUNDS rounds are complete, enter congestion avoidance by setting ssthresh to the current cwnd."
    fn leave(control: &mut Control) -> Step {
        control.ssthresh = control.cwnd;
        Step::Exit(Exit::Delay)
    }

    /// An ACK by the RFC.
    #[inline]
    fn on_ack_of_rfc9406(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if ack.is(Ack::ROUND_START) {
            if self.css_is_over() && !ack.is(Ack::RECOVERY) {
                return Self::leave(control);
            }
            self.begin_round();
        }
        // The RFC updates cwnd before it looks at the sample: the ACK that enters CSS still counts in full.
        let growth = self.growth(ack, control);
        self.sample(ack.rtt);
        let step = slow_start(&Ack { growth, ..*ack }, control);
        if self.parameters.css_rounds == 0 && self.in_css() && !ack.is(Ack::RECOVERY) {
            return Self::leave(control);
        }
        step
    }

    fn on_ack_of_neqo(&mut self, ack: &Ack, control: &mut Control) -> Step {
        self.sample(ack.rtt);
        if ack.is(Ack::ROUND_START) {
            self.begin_round();
            if self.css_is_over() && !ack.is(Ack::RECOVERY) {
                return Self::leave(control);
            }
        }
        let growth = self.growth(ack, control);
        slow_start(&Ack { growth, ..*ack }, control)
    }

    fn on_ack_of_tquic(&mut self, ack: &Ack, control: &mut Control) -> Step {
        let growth = self.growth(ack, control);
        let step = slow_start(&Ack { growth, ..*ack }, control);
        self.sample(ack.rtt);
        if ack.is(Ack::ROUND_START) {
            self.begin_round();
            if self.css_is_over() && !ack.is(Ack::RECOVERY) {
                return Self::leave(control);
            }
        }
        step
    }

    fn on_ack_of_s2n_quic(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if ack.is(Ack::ROUND_START) {
            self.begin_round();
        }
        // Later samples of a round are neither kept nor judged.
        if self.rtt_sample_count < self.parameters.n_rtt_sample {
            self.sample(ack.rtt);
        }
        if self.in_css() {
            let low = S2N_LOW_SSTHRESH.saturating_mul(ack.mss.into());
            if control.cwnd >= low && !ack.is(Ack::RECOVERY) {
                return Self::leave(control);
            }
            self.css_baseline_min_rtt = None;
            // The round was judged.
            self.rtt_sample_count = self.parameters.n_rtt_sample;
        }
        let growth = self.growth(ack, control);
        slow_start(&Ack { growth, ..*ack }, control)
    }

    fn sample(&mut self, rtt: Nanos) {
        if rtt == Nanos::ZERO {
            return;
        }
        // "currentRoundMinRTT = min(currentRoundMinRTT, currRTT); rttSampleCount += 1"
        let current = self.current_round_min_rtt.map_or(rtt, |smallest| smallest.min(rtt));
        self.current_round_min_rtt = Some(current);
        self.rtt_sample_count += 1;
        // "For rounds where at least N_RTT_SAMPLE RTT samples have been obtained ..."
        if self.rtt_sample_count < self.parameters.n_rtt_sample {
            return;
        }
        if let Some(baseline) = self.css_baseline_min_rtt {
            // "if (currentRoundMinRTT < cssBaselineMinRtt) cssBaselineMinRtt = infinity; resume slow start"
            if current < baseline {
                self.css_baseline_min_rtt = None;
            }
        } else if let Some(last) = self.last_round_min_rtt {
            // "RttThresh = max(MIN_RTT_THRESH, min(lastRoundMinRTT / MIN_RTT_DIVISOR, MAX_RTT_THRESH))"
            let fraction = Nanos(last.0 / self.parameters.min_rtt_divisor);
            let thresh = fraction.min(self.parameters.max_rtt_thresh).max(self.parameters.min_rtt_thresh);
            // "if (currentRoundMinRTT >= (lastRoundMinRTT + RttThresh)) cssBaselineMinRtt =
            // currentRoundMinRTT; exit slow start and enter CSS"
            if current >= last.saturating_add(thresh) {
                self.css_baseline_min_rtt = Some(match self.parameters.css_baseline {
                    Baseline::CurrentRound => current,
                    Baseline::EntryThreshold => last.saturating_add(thresh),
                });
                self.css_rounds = 0;
                self.remainder = 0;
                // "For CSS rounds where at least N_RTT_SAMPLE RTT samples have been obtained": the samples
                // that led here are slow start's. Without this the next sample alone could send the sender
                // back.
                if self.parameters.rules != Rules::Tquic {
                    self.rtt_sample_count = 0;
                }
            }
        }
    }
}

impl Phase for HystartPp {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        // Section 4.3: "An implementation SHOULD use HyStart++ only for the initial slow start (when the
        // ssthresh is at its initial value of arbitrarily high per [RFC5681])".
        self.active = entry.why == Why::Connect || control.ssthresh == u64::MAX;
        // "lastRoundMinRTT = infinity, currentRoundMinRTT = infinity"
        self.last_round_min_rtt = None;
        self.current_round_min_rtt = None;
        self.rtt_sample_count = 0;
        self.css_baseline_min_rtt = None;
        self.css_rounds = 0;
        self.remainder = 0;
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if !self.active {
            return slow_start(ack, control);
        }
        match self.parameters.rules {
            Rules::Rfc9406 => self.on_ack_of_rfc9406(ack, control),
            Rules::Neqo => self.on_ack_of_neqo(ack, control),
            Rules::Tquic => self.on_ack_of_tquic(ack, control),
            Rules::S2nQuic => self.on_ack_of_s2n_quic(ack, control),
        }
    }

    fn spent(&self, grown: u64) -> u64 {
        // A later slow start, which is plain, has no divisor.
        grown.saturating_mul(if self.active { self.divisor.max(1) } else { 1 })
    }

    fn on_congestion(&mut self, event: &Congestion, _: &mut Control) -> Step {
        // "If loss or Explicit Congestion Notification (ECN) marking is observed at any time ..., enter
        // congestion avoidance": the next phase reduces the window.
        Step::Exit(event.trigger.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::startup::test_sender::{self, MSS};
    use firstflight_contract::Trigger;

    type Sender = test_sender::Sender<HystartPp>;

    fn sender() -> Sender {
        Sender::new(100, &[])
    }

    /// One ACK of `bytes` with this RTT in microseconds; returns how much the window grew.
    fn ack(s: &mut Sender, bytes: u64, rtt_us: u64, flags: u32) -> (u64, Step) {
        let before = s.control.cwnd;
        let step = s.ack_of(bytes, 0, rtt_us, flags);
        (s.control.cwnd - before, step)
    }

    /// A round of `n` ACKs of one segment; returns the growth of each.
    fn round(s: &mut Sender, n: usize, rtt_us: u64) -> Vec<u64> {
        let flags = |i| if i == 0 { Ack::ROUND_START } else { 0 };
        let growth = |i| {
            let (growth, step) = ack(s, MSS, rtt_us, flags(i));
            assert_eq!(step, Step::Stay);
            growth
        };
        (0..n).map(growth).collect()
    }

    #[test]
    fn an_rtt_rise_of_an_eighth_after_eight_samples_slows_growth_to_a_quarter() {
        let mut s = sender();
        round(&mut s, 8, 100_000);
        // 100 ms / 8 = 12.5 ms. The eighth sample judges the round, after its own growth: the ninth is the
        // first ACK to add a quarter.
        assert_eq!(round(&mut s, 10, 112_500), [1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 250, 250]);
    }

    #[test]
    fn a_rise_smaller_by_one_microsecond_does_not_count() {
        let mut s = sender();
        round(&mut s, 8, 100_000);
        assert_eq!(round(&mut s, 10, 112_499), [1000; 10]);
    }

    #[test]
    fn the_threshold_of_the_rise_lies_between_4_and_16_ms() {
        // 8 ms / 8 = 1 ms is raised to 4 ms; 200 ms / 8 = 25 ms is cut to 16 ms.
        for (last, rise) in [(8_000, 4_000), (200_000, 16_000)] {
            for (extra, growth) in [(rise - 1, 1000), (rise, 250)] {
                let mut s = sender();
                round(&mut s, 8, last);
                assert_eq!(round(&mut s, 9, last + extra)[8], growth, "{last} us + {extra} us");
            }
        }
    }

    #[test]
    fn seven_samples_and_the_first_round_are_not_judged() {
        let mut s = sender();
        round(&mut s, 20, 500_000);
        round(&mut s, 7, 900_000);
        assert!(!s.phase.in_css());
    }

    #[test]
    fn avoidance_begins_when_five_rounds_with_the_partial_one_are_complete() {
        let mut s = sender();
        round(&mut s, 8, 100_000);
        round(&mut s, 10, 120_000); // enters CSS on its eighth ACK: the partial round is the first
        for _ in 0..4 {
            round(&mut s, 10, 130_000);
        }
        let window = s.control.cwnd;
        assert_eq!(ack(&mut s, MSS, 130_000, Ack::ROUND_START), (0, Step::Exit(Exit::Delay)));
        assert_eq!(s.control.ssthresh, window);
    }

    #[test]
    fn an_rtt_below_the_baseline_resumes_slow_start_and_forgets_the_css_rounds() {
        let mut s = sender();
        round(&mut s, 8, 100_000);
        round(&mut s, 10, 120_000);
        round(&mut s, 10, 121_000);
        // Eight samples below the baseline of 120 ms: the RTT rise was spurious.
        assert_eq!(round(&mut s, 9, 119_000)[8], 1000);
        // 121 ms is no rise over 119 ms; 140 ms is (119/8 = 14.9). Then the five rounds count from the start.
        round(&mut s, 8, 121_000);
        round(&mut s, 10, 140_000);
        for _ in 0..4 {
            assert_eq!(round(&mut s, 8, 141_000).len(), 8);
        }
        assert_eq!(ack(&mut s, MSS, 141_000, Ack::ROUND_START).1, Step::Exit(Exit::Delay));
    }

    #[test]
    fn the_samples_that_led_into_css_do_not_lead_out_of_it() {
        let mut s = sender();
        round(&mut s, 8, 100_000);
        round(&mut s, 8, 120_000);
        assert!(s.phase.in_css());
        // Seven lower samples in the same round are not enough, the eighth is.
        for _ in 0..7 {
            let _ = ack(&mut s, MSS, 110_000, 0);
            assert!(s.phase.in_css());
        }
        let _ = ack(&mut s, MSS, 110_000, 0);
        assert!(!s.phase.in_css());
    }

    #[test]
    fn an_ack_adds_at_most_eight_segments_unless_the_sender_paces() {
        let mut s = sender();
        assert_eq!(ack(&mut s, 20 * MSS, 100_000, 0).0, 8 * MSS);
        s.control.pacing = Rate(1);
        assert_eq!(ack(&mut s, 20 * MSS, 100_000, 0).0, 20 * MSS);
    }

    #[test]
    fn fractions_of_a_byte_are_carried() {
        let mut s = sender();
        round(&mut s, 8, 100_000);
        round(&mut s, 8, 120_000);
        // 4 x 999 / 4 = 999 bytes, not 4 x 249 = 996.
        assert_eq!((0..4).map(|_| ack(&mut s, 999, 120_000, 0).0).sum::<u64>(), 999);
    }

    #[test]
    fn later_slow_starts_are_plain() {
        let mut s = Sender::entered(Why::Timeout, 100, 500 * MSS, &[]);
        round(&mut s, 8, 100_000);
        assert_eq!(round(&mut s, 9, 900_000), [1000; 9]);
    }

    #[test]
    fn losses_and_marks_end_the_phase_at_any_time() {
        for (trigger, exit) in [(Trigger::Loss, Exit::Loss), (Trigger::Mark, Exit::Mark)] {
            let mut s = sender();
            let event = Congestion { trigger, base: 1, mss: MSS as u32, ..Congestion::default() };
            assert_eq!(s.phase.on_congestion(&event, &mut s.control), Step::Exit(exit));
        }
    }
}
