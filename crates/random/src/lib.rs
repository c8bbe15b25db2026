//! Independent random streams, one per named component: the draws of one component never depend on those of
//! another. Distributions as data, and their quantiles.

mod dist;
pub mod normal;

pub use dist::{Dist, Quantity};

use firstflight_contract::mul_shift;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Random stream of one component.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// Stream of the component `name` in the run with this `seed`.
    pub fn named(seed: u64, name: &str) -> Self {
        // FNV-1a over the name and the seed; the generator's own SplitMix seeding spreads the bits.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in name.bytes().chain(seed.to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Self::seeded(hash)
    }

    /// Stream of this seed, without a name.
    pub fn seeded(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Fills `bytes` with random bits.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }

    /// A number uniform on `[0, 1)`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A number uniform on `0..n`; `n` is above zero and below 2^32.
    pub fn below(&mut self, n: usize) -> usize {
        mul_shift(self.bits(), n as u64, 64) as usize
    }

    /// Whether an event of this [`probability`] happens.
    #[inline]
    pub fn happens(&mut self, probability: u64) -> bool {
        self.0.next_u64() < probability
    }
}

/// A probability as a fraction of 2^64, the form that [`Stream::happens`] takes; 1 is represented by
/// `u64::MAX`.
pub fn probability(p: f64) -> u64 {
    (p.clamp(0.0, 1.0) * u64::MAX as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_name_and_by_seed_and_repeat_for_the_same_pair() {
        let first = |seed, name| Stream::named(seed, name).bits();
        assert_eq!(first(1, "loss"), first(1, "loss"));
        assert_ne!(first(1, "loss"), first(2, "loss"));
        assert_ne!(first(1, "loss"), first(1, "red"));
    }

    #[test]
    fn an_event_of_probability_one_tenth_happens_a_tenth_of_the_time() {
        let mut stream = Stream::named(1, "test");
        let p = probability(0.1);
        let hits = (0..100_000).filter(|_| stream.happens(p)).count();
        // Five standard deviations of a binomial: 5 * sqrt(1e5 * 0.1 * 0.9) = 474.
        assert!(hits.abs_diff(10_000) < 474, "{hits}");
    }
}
