//! The rules of quinn 0.11 (`connection/pacing.rs`, `connection/mod.rs`) where they differ from Linux's:
//!
//! - The window is never filled to the last byte, so that ten packets of window let nine leave.
//! - After a loss the window is the threshold at once (RFC 9002 section 7.3.2), without PRR.
//! - The window grows with an ACK if the last attempt to send before it was blocked by the window or the pacer: `app_limited`, of
//!   `poll_transmit`, is true where nothing was queued and nothing was blocked. So the ACKs of a write's last flight add nothing.
//! - Every connection is paced at 1.25 windows a round trip (RFC 9002 section 7.7, "N = 1.25"), from a bucket of tokens.

use super::Linux;
use crate::sender::connection::Connection;
use firstflight_contract::{Moment, Nanos, Rate, mul_div};

/// Percent of the window that leaves in a round trip.
const RATIO: u64 = 125;
/// Part of the window that the bucket holds: that of this time.
const BURST: Nanos = Nanos::from_millis(2);
/// Smallest and largest bucket, packets.
const BUCKET: [u64; 2] = [10, 256];

/// A bucket of tokens, which fills only when the next packet lacks tokens: a pause longer than that counts as time to fill it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// Bytes that may leave.
    tokens: u64,
    /// Time at which it was last filled; at first, when the connection began.
    filled_at: Moment,
}

impl Bucket {
    /// The bucket of a connection that begins; segments have `mss` bytes.
    pub(super) fn new(mss: u64) -> Self {
        Self { tokens: BUCKET[0] * mss, filled_at: Moment::NEVER }
    }

    /// The connection begins at `now`.
    pub(super) fn begin(&mut self, now: u64) {
        self.filled_at = Moment::at(Nanos(now));
    }

    /// Time at which a packet of `bytes` may leave, if that is not `now`.
    fn wait(&mut self, now: u64, bytes: u64, window: u64, srtt: u64) -> Option<u64> {
        let capacity = capacity(window, bytes, srtt);
        self.tokens = self.tokens.min(capacity);
        if self.tokens >= bytes {
            return None;
        }
        let elapsed = self.filled_at.elapsed(Nanos(now)).unwrap_or_default();
        let filled = mul_div(mul_div(window, RATIO, 100), elapsed.0, srtt);
        self.tokens = capacity.min(self.tokens.saturating_add(filled));
        self.filled_at = Moment::at(Nanos(now));
        let missing = mul_div(capacity - self.tokens, 100, RATIO);
        (self.tokens < bytes).then(|| now + mul_div(missing, srtt, window.max(1)).max(1))
    }

    fn take(&mut self, bytes: u64) {
        self.tokens = self.tokens.saturating_sub(bytes);
    }
}

/// Size of the bucket for a window, bytes.
fn capacity(window: u64, mss: u64, srtt: u64) -> u64 {
    mul_div(window, BURST.0, srtt).clamp(BUCKET[0] * mss, BUCKET[1] * mss)
}

impl Connection<Linux> {
    /// The window as far as the sender fills it, bytes. quinn's has two packets at least (RFC 9002 section 7.2).
    #[inline(always)]
    pub(super) fn usable_window(&self) -> u64 {
        match self.stack.quinn {
            true => self.chain.control.cwnd.max(2 * self.mss) - 1,
            false => self.chain.control.cwnd,
        }
    }

    /// That window in whole segments.
    #[inline]
    pub(super) fn usable_segments(&self) -> u64 {
        self.usable_window() / self.mss
    }

    /// Records whether the window or the pacer, and not the application or the receiver, ended an attempt to send.
    pub(super) fn record_blocking(&mut self) {
        let more = self.nxt < self.available.min(self.window_end()) || self.own.retrans < self.own.lost;
        self.own.usage.record_last(more);
    }

    /// Asks the bucket. If the next segment must wait, arms the timer of the pacer; an ACK before that may release it as well.
    pub(super) fn must_wait_for_tokens(&mut self, now: u64) -> bool {
        let (window, srtt, mss) = (self.chain.control.cwnd, self.rto.srtt(), self.mss);
        let Some(at) = self.own.bucket.wait(now, mss, window, srtt.max(1)) else { return false };
        self.pace_at = at;
        self.check_at = self.check_at.min(at);
        true
    }

    pub(super) fn take_tokens(&mut self) {
        let mss = self.mss;
        self.own.bucket.take(mss);
    }

    /// The rate at which tokens come.
    pub(super) fn rate_of_tokens(&self) -> Rate {
        let window = mul_div(self.chain.control.cwnd, RATIO, 100);
        Rate::of(window, Nanos(self.rto.srtt())).max(Rate(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_bucket_holds_two_milliseconds_of_the_window() {
        // 1000 packets in 50 ms are 40 in 2 ms; 100 packets are 4, less than the smallest bucket.
        let packets = |window: u64| capacity(window * 1000, 1000, 50 * MS) / 1000;
        assert_eq!([packets(1000), packets(100), packets(100_000)], [40, 10, 256]);
    }

    #[test]
    fn the_first_filling_counts_from_the_beginning_of_the_connection() {
        // Ten packets leave 8 ms after it: two more have come by then, at 20 packets and 100 ms.
        for begun in [0, 10_000 * MS] {
            let (mut bucket, now) = (Bucket::new(1000), begun + 8 * MS);
            bucket.begin(begun);
            for _ in 0..10 {
                assert_eq!(bucket.wait(now, 1000, 20_000, 100 * MS), None);
                bucket.take(1000);
            }
            for _ in 0..2 {
                assert_eq!(bucket.wait(now, 1000, 20_000, 100 * MS), None);
                bucket.take(1000);
            }
            assert!(bucket.wait(now, 1000, 20_000, 100 * MS).is_some(), "{begun}");
        }
    }

    #[test]
    fn an_empty_bucket_is_filled_at_once_by_the_time_since_it_was_last_filled_and_then_by_waiting() {
        // 20 packets and 100 ms: 25 packets in 100 ms, ten in 40 ms.
        let mut bucket = Bucket { tokens: 0, filled_at: Moment::at(Nanos::ZERO) };
        assert_eq!(bucket.wait(100 * MS, 1000, 20_000, 100 * MS), None);
        for _ in 0..10 {
            assert_eq!(bucket.wait(100 * MS, 1000, 20_000, 100 * MS), None);
            bucket.take(1000);
        }
        assert_eq!(bucket.wait(100 * MS, 1000, 20_000, 100 * MS), Some(140 * MS));
        // An ACK after 8 ms finds tokens for two packets.
        assert_eq!(bucket.wait(108 * MS, 1000, 20_000, 100 * MS), None);
    }
}
