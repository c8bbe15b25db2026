//! Packet pairs: S. Keshav, "A Control-Theoretic Approach to Flow Control", SIGCOMM 1991.
//!
//! Packets that leave together reach the receiver with a spacing of one transmission time of the path's slowest link,
//! and their ACKs keep that spacing. The bytes that an ACK delivers, divided by the time since the ACK before it, are
//! therefore the rate of that link. Other traffic between the packets makes the rate too small; ACK compression makes
//! it too large.

use firstflight_contract::{Ack, Nanos, Rate, forget};

/// Largest number of pairs that [`Pairs`] holds.
pub const MOST: usize = 12;

/// Two ACKs whose newest packets had left together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Bytes that the second ACK delivered.
    pub bytes: u64,
    /// Time between the two; never zero.
    pub gap: Nanos,
}

impl Pair {
    /// The bottleneck's rate by this pair.
    pub fn rate(self) -> Rate {
        Rate::of(self.bytes, self.gap)
    }
}

/// An ACK, with the sending time of the newest packet that it delivered.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Nanos,
    sent_at: Nanos,
    delivered: u64,
}

/// Finds the pairs among a connection's ACKs. The host has to sample the RTT with every ACK
/// ([`Signals::RTT`](firstflight_contract::Signals::RTT)), from which the sending time of a packet follows.
#[derive(Clone, Copy, Debug, Default)]
pub struct PairFinder {
    last: Option<Arrival>,
}

impl PairFinder {
    /// The pair of this ACK and the one before it, if the spacing of their packets was at most half of the spacing of
    /// the ACKs. An ACK without an RTT sample, or during recovery, forms no pair.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack) -> Option<Pair> {
        if ack.rtt == Nanos::ZERO || ack.is(Ack::RECOVERY) {
            self.last = None;
            return None;
        }
        let here =
            Arrival { at: ack.now, sent_at: ack.now.saturating_sub(ack.rtt), delivered: ack.delivered };
        let last = self.last.replace(here)?;
        let (gap, apart) = (here.at.saturating_sub(last.at), here.sent_at.saturating_sub(last.sent_at));
        let bytes = here.delivered.saturating_sub(last.delivered);
        (gap > Nanos::ZERO && apart.0 <= gap.0 / 2 && bytes > 0).then_some(Pair { bytes, gap })
    }
}

/// Pairs, with the median and the mean of their rates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pairs {
    rates: [Rate; MOST],
    len: usize,
    bytes: u64,
    time: Nanos,
}

impl Pairs {
    /// Adds a pair; pairs beyond [`MOST`] are ignored.
    pub fn add(&mut self, pair: Pair) {
        if self.len < MOST {
            self.rates[self.len] = pair.rate();
            self.len += 1;
            self.bytes += pair.bytes;
            self.time = self.time.saturating_add(pair.gap);
        }
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The median of the rates, of an even number the mean of the two in the middle; [`Rate::NONE`] without a pair.
    pub fn median(&self) -> Rate {
        if self.len == 0 {
            return Rate::NONE;
        }
        let (low, high) = self.middle();
        Rate(low + (high - low) / 2)
    }

    /// The two rates in the middle of the ascending order, bits per second; of an odd number both are the same. They are
    /// found by counting the smaller rates rather than by sorting: the Linux kernel's verifier takes loops with a constant
    /// number of turns.
    fn middle(&self) -> (u64, u64) {
        let (mut low, mut high) = (0, 0);
        for (i, rate) in self.rates.iter().enumerate() {
            let mut smaller = 0;
            for (j, other) in self.rates.iter().enumerate() {
                let (rate, other, len) = (forget(rate.0), forget(other.0), forget(self.len as u64) as usize);
                // Equal rates keep the order in which they came.
                let before = j < len && (other < rate || other == rate && j < i);
                smaller = forget(smaller + u64::from(before));
            }
            let len = forget(self.len as u64);
            let counts = (i as u64) < len;
            low = forget(if counts && smaller == len.saturating_sub(1) / 2 { rate.0 } else { low });
            high = forget(if counts && smaller == len / 2 { rate.0 } else { high });
        }
        (low, high)
    }

    /// Total bytes over total time, which is the rate of the mean gap; [`Rate::NONE`] without a pair.
    pub fn mean(&self) -> Rate {
        Rate::of(self.bytes, self.time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// An ACK at `us` for `segments` in all, the newest of which had left at `sent`.
    fn ack(us: u64, sent: u64, segments: u64) -> Ack {
        let (now, sent) = (Nanos::from_micros(us), Nanos::from_micros(sent));
        Ack { now, rtt: now - sent, delivered: segments * MSS, mss: MSS as u32, ..Ack::default() }
    }

    fn pairs(acks: &[Ack]) -> Vec<Option<Pair>> {
        let mut finder = PairFinder::default();
        acks.iter().map(|ack| finder.on_ack(ack)).collect()
    }

    #[test]
    fn packets_that_left_together_show_the_bottlenecks_rate() {
        // 1000 bytes take 800 us at 10 Mbit/s. Two left at 0; the third left with the first ACK.
        let found = pairs(&[ack(100_000, 0, 1), ack(100_800, 0, 2), ack(200_800, 100_000, 3)]);
        let pair = Pair { bytes: MSS, gap: Nanos::from_micros(800) };
        assert_eq!(found, [None, Some(pair), None]);
        assert_eq!(pair.rate(), Rate(10_000_000));
    }

    #[test]
    fn an_ack_for_two_packets_shows_the_same_rate() {
        let found = pairs(&[ack(100_800, 0, 2), ack(102_400, 0, 4)]);
        assert_eq!(found[1].map(Pair::rate), Some(Rate(10_000_000)));
    }

    #[test]
    fn packets_that_left_as_far_apart_as_their_acks_come_say_nothing() {
        // Clocked by ACKs 800 us apart they come back 800 us apart; half of that is close enough.
        for (left, pair) in [(800, false), (401, false), (400, true)] {
            let found = pairs(&[ack(100_000, 0, 1), ack(100_800, left, 2)]);
            assert_eq!(found[1].is_some(), pair, "left {left} us apart");
        }
    }

    #[test]
    fn acks_at_one_instant_and_acks_of_repeats_make_no_pair() {
        assert_eq!(pairs(&[ack(100_000, 0, 1), ack(100_000, 0, 2)]), [None, None]);
        let untimed = Ack { rtt: Nanos::ZERO, ..ack(100_800, 0, 2) };
        assert_eq!(pairs(&[ack(100_000, 0, 1), untimed, ack(101_600, 0, 3)]), [None; 3]);
        let recovering = Ack { flags: Ack::RECOVERY, ..ack(100_800, 0, 2) };
        assert_eq!(pairs(&[ack(100_000, 0, 1), recovering, ack(101_600, 0, 3)]), [None; 3]);
    }

    #[test]
    fn the_median_leaves_outliers_out_and_the_mean_does_not() {
        let mut several = Pairs::default();
        assert_eq!((several.median(), several.mean(), several.is_empty()), (Rate::NONE, Rate::NONE, true));
        // 10, 10, 1 (a packet of another flow came between) and 100 Mbit/s (the ACKs caught up).
        for gap in [800, 800, 8000, 80] {
            several.add(Pair { bytes: MSS, gap: Nanos::from_micros(gap) });
        }
        assert_eq!((several.len(), several.median()), (4, Rate(10_000_000)));
        // 4000 bytes in 9.68 ms: 32 000 bit / 9.68 ms = 3.305 785 Mbit/s.
        assert_eq!(several.mean(), Rate(3_305_785));
        several.add(Pair { bytes: MSS, gap: Nanos::from_micros(8000) });
        assert_eq!(several.median(), Rate(10_000_000));
        several.add(Pair { bytes: MSS, gap: Nanos::from_micros(8000) });
        // 1, 1, 1, 10, 10, 100: the middle two are 1 and 10.
        assert_eq!(several.median(), Rate(5_500_000));
    }

    #[test]
    fn pairs_beyond_the_capacity_are_ignored() {
        let mut several = Pairs::default();
        for _ in 0..MOST {
            several.add(Pair { bytes: MSS, gap: Nanos::from_micros(800) });
        }
        several.add(Pair { bytes: MSS, gap: Nanos::from_micros(8) });
        assert_eq!((several.len(), several.mean()), (MOST, Rate(10_000_000)));
    }
}
