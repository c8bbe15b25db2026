//! Long-term bandwidth: two consecutive lossy intervals with the same throughput indicate a token-bucket policer, and
//! its rate is used for a fixed number of rounds (T. Flach et al., "An Internet-Wide Analysis of Traffic Policing",
//! SIGCOMM 2016). Linux `bbr_lt_bw_sampling`.

use super::units::{Bandwidth, ONE, bytes_per_second, over};

/// Shortest interval, rounds; four times that is the longest.
const INTERVAL_ROUNDS: u32 = 4;
/// Lost to delivered segments from which an interval is lossy, 256ths: 19.5 %.
const LOSSY: u64 = 50;
/// Two bandwidths are the same within an eighth, 256ths ...
const SAME_RATIO: u64 = ONE / 8;
/// ... or within 4 kbit/s, bytes a second.
const SAME_DIFFERENCE: u64 = 4_000 / 8;
/// Rounds for which a policer's rate is used.
const USE_ROUNDS: u32 = 48;

/// Totals at some time of the connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    /// Microseconds.
    pub(super) at: u64,
    /// Segments.
    pub(super) delivered: u64,
    /// Segments.
    pub(super) lost: u64,
}

/// Further input of the detector from one ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signs {
    pub(super) lossy: bool,
    pub(super) app_limited: bool,
    pub(super) round_start: bool,
    pub(super) probing_bandwidth: bool,
}

/// Conclusion of the detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Nothing,
    /// A policer was detected: [`Policer::rate`] is the bandwidth.
    Policed,
    /// The policer's rate has expired: probe again.
    Over,
}

/// The detector.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    in_use: bool,
    rounds: u32,
    /// Bandwidth of the last interval, or of the policer while in use; zero if there is none.
    bandwidth: Bandwidth,
    from: Totals,
}

impl Policer {
    /// The policed bandwidth, if a policer was detected.
    pub(super) fn rate(&self) -> Option<Bandwidth> {
        self.in_use.then_some(self.bandwidth)
    }

    /// Resets the detector.
    pub(super) fn reset(&mut self, totals: Totals) {
        *self = Self { from: totals, ..Self::default() };
    }

    fn begin_interval(&mut self, totals: Totals) {
        self.from = totals;
        self.rounds = 0;
    }

    /// An ACK of a sender of `mss`-byte segments.
    pub(super) fn update(&mut self, totals: Totals, signs: Signs, mss: u64) -> Verdict {
        if self.in_use {
            if signs.probing_bandwidth && signs.round_start {
                self.rounds += 1;
                if self.rounds >= USE_ROUNDS {
                    self.reset(totals);
                    return Verdict::Over;
                }
            }
            return Verdict::Nothing;
        }
        // Sampling begins with the first loss: until then the bucket holds tokens.
        if !self.sampling {
            if !signs.lossy {
                return Verdict::Nothing;
            }
            self.begin_interval(totals);
            self.sampling = true;
        }
        if signs.app_limited {
            self.reset(totals);
            return Verdict::Nothing;
        }
        self.rounds += u32::from(signs.round_start);
        if self.rounds > 4 * INTERVAL_ROUNDS {
            self.reset(totals);
            return Verdict::Nothing;
        }
        // An interval ends with a loss, when the bucket is empty.
        if self.rounds < INTERVAL_ROUNDS || !signs.lossy {
            return Verdict::Nothing;
        }
        let lost = totals.lost.saturating_sub(self.from.lost);
        let delivered = totals.delivered - self.from.delivered;
        if delivered == 0 || lost * ONE < LOSSY * delivered {
            return Verdict::Nothing;
        }
        // The kernel keeps these times in milliseconds.
        let ms = totals.at / 1000 - self.from.at / 1000;
        if ms == 0 {
            return Verdict::Nothing;
        }
        self.end_interval(over(delivered, ms * 1000), totals, mss)
    }

    fn end_interval(&mut self, bandwidth: Bandwidth, totals: Totals, mss: u64) -> Verdict {
        if self.bandwidth > 0 {
            let difference = bandwidth.abs_diff(self.bandwidth);
            if difference.saturating_mul(ONE) <= SAME_RATIO.saturating_mul(self.bandwidth)
                || bytes_per_second(difference, ONE, mss) <= SAME_DIFFERENCE
            {
                self.bandwidth = (bandwidth + self.bandwidth) / 2;
                self.in_use = true;
                self.rounds = 0;
                return Verdict::Policed;
            }
        }
        self.bandwidth = bandwidth;
        self.begin_interval(totals);
        Verdict::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender behind a policer: rounds of 100 ms, each with so many segments delivered and lost.
    struct Sender {
        policer: Policer,
        totals: Totals,
    }

    impl Sender {
        fn new() -> Self {
            Self { policer: Policer::default(), totals: Totals::default() }
        }

        fn round(&mut self, delivered: u64, lost: u64) -> Verdict {
            self.report(delivered, lost, false)
        }

        fn report(&mut self, delivered: u64, lost: u64, app_limited: bool) -> Verdict {
            self.totals.at += 100_000;
            self.totals.delivered += delivered;
            self.totals.lost += lost;
            let signs = Signs { lossy: lost > 0, app_limited, round_start: true, probing_bandwidth: true };
            self.policer.update(self.totals, signs, 1000)
        }
    }

    #[test]
    fn two_lossy_intervals_of_like_throughput_make_a_policer() {
        let mut s = Sender::new();
        assert_eq!(s.round(100, 40), Verdict::Nothing); // the first loss begins an interval, its first round
        for _ in 0..3 {
            assert_eq!(s.round(100, 40), Verdict::Nothing); // the fourth ends it: 300 in 300 ms
        }
        for _ in 0..3 {
            assert_eq!(s.round(110, 40), Verdict::Nothing);
        }
        // 440 in 400 ms: 10 % more, within an eighth. The mean, 1.05 segments a millisecond, rules.
        assert_eq!(s.round(110, 40), Verdict::Policed);
        assert_eq!(s.policer.rate(), Some((over(300, 300_000) + over(440, 400_000)) / 2));
        // For 48 rounds.
        for _ in 0..47 {
            assert_eq!(s.round(100, 40), Verdict::Nothing);
        }
        assert_eq!(s.round(100, 40), Verdict::Over);
        assert_eq!(s.policer.rate(), None);
    }

    #[test]
    fn unlike_throughputs_do_not() {
        let mut s = Sender::new();
        for (delivered, _) in [(100, 0), (100, 0), (100, 0), (100, 0), (120, 0), (120, 0), (120, 0), (120, 0)]
        {
            assert_eq!(s.round(delivered, 40), Verdict::Nothing);
        }
        assert_eq!(s.policer.rate(), None);
        // The third interval is like the second.
        for _ in 0..3 {
            assert_eq!(s.round(120, 40), Verdict::Nothing);
        }
        assert_eq!(s.round(120, 40), Verdict::Policed);
    }

    #[test]
    fn differences_of_4_kbit_s_do_not_count() {
        let mut s = Sender::new();
        // Rounds of 10 s: 30 segments in the 30 s of the first interval, 56 in the 40 s of the second: 0.4 segments
        // of 1000 bytes a second apart, 3.2 kbit/s.
        for delivered in [10, 10, 10, 10, 14, 14, 14] {
            s.totals.at += 9_900_000;
            assert_eq!(s.round(delivered, 10), Verdict::Nothing);
        }
        s.totals.at += 9_900_000;
        assert_eq!(s.round(14, 10), Verdict::Policed);
    }

    #[test]
    fn loss_below_a_fifth_is_no_policing() {
        let mut s = Sender::new();
        for _ in 0..40 {
            // 50/256 of 100 are 19.53: 19 are too few.
            assert_eq!(s.round(100, 19), Verdict::Nothing);
        }
        assert_eq!(s.policer.rate(), None);
    }

    #[test]
    fn an_interval_without_data_to_send_is_forgotten() {
        let mut s = Sender::new();
        for i in 0..40 {
            assert_eq!(s.report(100, 40, i % 4 == 0), Verdict::Nothing, "round {i}");
        }
    }

    #[test]
    fn an_interval_of_more_than_16_rounds_is_forgotten() {
        let mut s = Sender::new();
        s.round(100, 40);
        for _ in 0..16 {
            assert_eq!(s.round(100, 0), Verdict::Nothing);
        }
        assert!(!s.policer.sampling);
    }
}
