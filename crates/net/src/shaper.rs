//! Token-bucket shaper: packets wait for tokens, where a policer drops them. It is the token bucket filter of Linux
//! (`tc-tbf(8)`) without a peak rate: bursts cross at the rate of the line, the rest at that of the shaper. Cable and hosting
//! providers shape in this way.
//!
//! The first waiting packet leaves when the line is free and the bucket, full at the start, holds a token for each of its
//! bytes. Order and tokens do not depend on later packets, so the departure is known on arrival.

use crate::serialisation::LATEST;
use crate::token_bucket::{BucketConfig, TokenBucket};

/// A shaper.
#[derive(Clone, Debug)]
pub struct Shaper {
    bucket: TokenBucket,
}

impl Shaper {
    /// Creates a shaper with a full bucket.
    pub fn new(config: BucketConfig) -> Self {
        Self { bucket: TokenBucket::full(config) }
    }

    /// Time from `free_at` on, nanoseconds, at which a packet of `size` bytes may leave, after all packets taken so far;
    /// `None` if the bucket is too small for it. Calls must be in order of time.
    pub(crate) fn start(&mut self, free_at: u64, size: u32) -> Option<u64> {
        self.bucket.fill(free_at);
        self.bucket.holds(size).map(|start| start.min(LATEST))
    }

    /// Takes the tokens of a packet of `size` bytes that leaves at `start`.
    pub(crate) fn take(&mut self, start: u64, size: u32) {
        self.bucket.fill(start);
        // At the latest time, which no run reaches, tokens may be missing.
        let taken = self.bucket.take(size.into());
        debug_assert!(taken || start == LATEST, "a packet leaves without tokens");
    }
}
