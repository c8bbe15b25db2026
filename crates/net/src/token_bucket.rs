//! Token bucket: the bucket of RFC 2697, section 3, that a policer and a shaper share. The arithmetic is exact: no fraction of
//! a token is lost.

use crate::serialisation::PER_BYTE;
use firstflight_contract::{Rate, mul_add_div};

/// Parameters of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketConfig {
    /// Rate at which tokens accrue.
    pub rate: Rate,
    /// Size of the bucket, bytes.
    pub burst: u64,
}

/// Tokens, each for a byte.
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    config: BucketConfig,
    /// Whole tokens at `filled_at`, and the fraction beyond them in units of 1 / [`PER_BYTE`].
    tokens: u64,
    fraction: u64,
    filled_at: u64,
}

impl TokenBucket {
    /// A full bucket at time zero.
    pub(crate) fn full(config: BucketConfig) -> Self {
        Self { config, tokens: config.burst, fraction: 0, filled_at: 0 }
    }

    /// Adds the tokens that have accrued until `now`, nanoseconds, which must not precede an earlier call.
    pub(crate) fn fill(&mut self, now: u64) {
        let BucketConfig { rate, burst } = self.config;
        let (gained, fraction) = mul_add_div(rate.0, now - self.filled_at, self.fraction, PER_BYTE);
        let tokens = self.tokens.saturating_add(gained);
        // A full bucket has no room for a fraction of a token either.
        (self.tokens, self.fraction) = if tokens < burst { (tokens, fraction) } else { (burst, 0) };
        self.filled_at = now;
    }

    /// Takes `bytes` tokens; whether they were there. If not, none is taken.
    pub(crate) fn take(&mut self, bytes: u64) -> bool {
        let rest = self.tokens.checked_sub(bytes);
        self.tokens = rest.unwrap_or(self.tokens);
        rest.is_some()
    }

    /// First time, nanoseconds, from the last filling on at which `bytes` tokens are there if none is taken before; `None` if
    /// they do not fit the bucket.
    pub(crate) fn holds(&self, bytes: u32) -> Option<u64> {
        let bytes = u64::from(bytes);
        if bytes > self.config.burst {
            return None;
        }
        // A packet has at most 2^16 bytes: the product fits 64 bits. A missing token exceeds any fraction.
        let missing = bytes.saturating_sub(self.tokens) * PER_BYTE;
        let wait = missing.saturating_sub(self.fraction).div_ceil(self.config.rate.0);
        Some(self.filled_at.saturating_add(wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_rates_and_times_do_not_overflow() {
        // 100 Tbit/s for 10^8 s are 1.25e21 bytes, more than 64 bits hold.
        let end = 100_000_000_000_000_000;
        let burst = 1_000_000_000_000_000;
        let mut fast = TokenBucket::full(BucketConfig { rate: Rate(100_000_000_000_000), burst });
        assert!(fast.take(65_535));
        fast.fill(end);
        assert_eq!(fast.tokens, burst);
        // 1 bit/s for 10^8 s are 12.5e6 bytes.
        let mut slow = TokenBucket::full(BucketConfig { rate: Rate(1), burst });
        assert!(slow.take(burst));
        slow.fill(end);
        assert_eq!((slow.tokens, slow.fraction), (12_500_000, 0));
    }

    #[test]
    fn missing_tokens_are_there_at_the_first_whole_nanosecond() {
        // At 3 bit/s a byte takes 2 666 666 666 2/3 ns, three bytes take 8 s.
        let mut bucket = TokenBucket::full(BucketConfig { rate: Rate(3), burst: 10 });
        assert_eq!((bucket.holds(10), bucket.holds(11)), (Some(0), None));
        assert!(bucket.take(10));
        assert_eq!(
            [1, 2, 3].map(|n| bucket.holds(n).unwrap()),
            [2_666_666_667, 5_333_333_334, 8_000_000_000]
        );
        bucket.fill(2_666_666_666);
        assert_eq!(bucket.holds(1), Some(2_666_666_667));
        assert!(!bucket.take(1));
        bucket.fill(2_666_666_667);
        assert!(bucket.take(1));
        assert_eq!(bucket.holds(1), Some(5_333_333_334));
    }
}
