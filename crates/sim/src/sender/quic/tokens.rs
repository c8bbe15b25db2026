//! Pacing by a bucket of tokens.

use crate::sender::stack::{Pacing, Refill, Stack, Tokens};
use firstflight_contract::{Moment, Nanos, mul_div, mul_div_ceil};

/// A bucket of tokens, which fills only when the next packet lacks tokens: a pause longer than that counts as time to fill it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    /// Bytes that may leave.
    tokens: u64,
    /// Time at which it was last filled; at first, when the connection began.
    filled_at: Moment,
    /// Bytes of the burst that leaves, and the time from which the next one may, where bursts have their time behind them.
    burst: u64,
    opens_at: u64,
    /// Size of the first datagram of that burst, and whether one of another size has left: it ends the burst.
    segment: u64,
    uneven: bool,
}

impl Bucket {
    /// The bucket of a connection that begins.
    pub(super) fn of(stack: &Stack) -> Self {
        match stack.rules.pacing {
            Pacing::Tokens(rule) => {
                let full = rule.packets[0] * u64::from(stack.mss);
                Self { tokens: full.saturating_sub(rule.handshake), ..Self::default() }
            }
            _ => Self::default(),
        }
    }

    /// The connection begins at `now`.
    pub(super) fn begin(&mut self, now: u64) {
        self.filled_at = Moment::at(Nanos(now));
    }

    /// Time at which a packet of `bytes` may leave, if that is not `now`.
    pub(super) fn wait(
        &mut self,
        now: u64,
        bytes: u64,
        window: u64,
        srtt: u64,
        in_slow_start: bool,
        rule: Tokens,
    ) -> Option<u64> {
        let percent = rule.percent_at(in_slow_start);
        let capacity = capacity(window, bytes, srtt, rule);
        let packet = mul_div(mul_div(bytes, 100, percent), srtt, window.max(1)).max(1);
        match rule.refill {
            Refill::Full => {}
            Refill::Behind(most) => {
                if self.burst + bytes > most.into() || self.uneven {
                    self.end_burst(now, window, srtt, in_slow_start, rule);
                }
                return (now < self.opens_at).then_some(self.opens_at);
            }
            Refill::Packet(least) => {
                let filled = mul_div(mul_div(window, percent, 100), self.elapsed(now), srtt);
                self.tokens = capacity.min(self.tokens.saturating_add(filled));
                let missing = mul_div_ceil(bytes.saturating_sub(self.tokens), 100, percent);
                let wait = mul_div_ceil(missing, srtt, window.max(1)).max(least.0).max(1);
                return (self.tokens < bytes).then(|| now + wait);
            }
            Refill::AnyLeft { part, tick } => {
                let [least, most] = rule.packets;
                let capacity = (window / part).clamp(least * bytes, most * bytes);
                let filled = mul_div(mul_div(window, percent, 100), self.elapsed(now), srtt);
                self.tokens = capacity.min(self.tokens.saturating_add(filled));
                return (self.tokens == 0).then(|| now + packet.next_multiple_of(tick.0));
            }
            Refill::Steps { step, late } => {
                let a_step = step.0.div_ceil(packet);
                let packets = mul_div_ceil(a_step, self.elapsed(now), step.0);
                // The bucket holds one and a half steps.
                let capacity = bytes * (3 * a_step).div_ceil(2).max(rule.packets[0]);
                self.tokens = capacity.min(self.tokens.saturating_add(packets.saturating_mul(bytes)));
                return (self.tokens < bytes).then(|| now + packet.next_multiple_of(step.0) + late.0);
            }
        }
        self.tokens = self.tokens.min(capacity);
        if self.tokens >= bytes {
            return None;
        }
        let filled = mul_div(mul_div(window, percent, 100), self.elapsed(now), srtt);
        self.tokens = capacity.min(self.tokens.saturating_add(filled));
        let missing = mul_div(capacity - self.tokens, 100, percent);
        (self.tokens < bytes).then(|| now + mul_div(missing, srtt, window.max(1)).max(1))
    }

    /// A burst ends: the next one may leave when this one's time at the rate has passed.
    pub(super) fn end_burst(&mut self, now: u64, window: u64, srtt: u64, in_slow_start: bool, rule: Tokens) {
        if self.burst > 0 {
            let bytes = mul_div(std::mem::take(&mut self.burst), 100, rule.percent_at(in_slow_start));
            self.uneven = false;
            self.opens_at = now + mul_div(bytes, srtt, window.max(1));
        }
    }

    /// Time since the bucket was last filled, which is now.
    fn elapsed(&mut self, now: u64) -> u64 {
        let elapsed = self.filled_at.elapsed(Nanos(now)).unwrap_or_default();
        self.filled_at = Moment::at(Nanos(now));
        elapsed.0
    }

    pub(super) fn take(&mut self, bytes: u64) {
        self.tokens = self.tokens.saturating_sub(bytes);
        if self.burst == 0 {
            self.segment = bytes;
        }
        self.uneven |= bytes != self.segment;
        self.burst += bytes;
    }
}

/// Size of the bucket for a window, bytes.
fn capacity(window: u64, mss: u64, srtt: u64, rule: Tokens) -> u64 {
    let [least, most] = rule.packets;
    mul_div(window, rule.burst.0, srtt).clamp(least * mss, most * mss)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    /// quinn's.
    const RULE: Tokens = Tokens {
        percent: [125, 125],
        burst: Nanos::from_millis(2),
        packets: [10, 256],
        handshake: 0,
        refill: Refill::Full,
    };

    #[test]
    fn the_bucket_holds_two_milliseconds_of_the_window() {
        // 1000 packets in 50 ms are 40 in 2 ms; 100 packets are 4, less than the smallest bucket.
        let packets = |window: u64| capacity(window * 1000, 1000, 50 * MS, RULE) / 1000;
        assert_eq!([packets(1000), packets(100), packets(100_000)], [40, 10, 256]);
    }

    #[test]
    fn the_first_filling_counts_from_the_beginning_of_the_connection() {
        // Ten packets leave 8 ms after it: two more have come by then, at 20 packets and 100 ms.
        for begun in [0, 10_000 * MS] {
            let (mut bucket, now) = (Bucket { tokens: 10_000, ..Bucket::default() }, begun + 8 * MS);
            bucket.begin(begun);
            for _ in 0..10 {
                assert_eq!(bucket.wait(now, 1000, 20_000, 100 * MS, true, RULE), None);
                bucket.take(1000);
            }
            for _ in 0..2 {
                assert_eq!(bucket.wait(now, 1000, 20_000, 100 * MS, true, RULE), None);
                bucket.take(1000);
            }
            assert!(bucket.wait(now, 1000, 20_000, 100 * MS, true, RULE).is_some(), "{begun}");
        }
    }

    #[test]
    fn an_empty_bucket_is_filled_at_once_by_the_time_since_it_was_last_filled_and_then_by_waiting() {
        // 20 packets and 100 ms: 25 packets in 100 ms, ten in 40 ms.
        let mut bucket = Bucket { filled_at: Moment::at(Nanos::ZERO), ..Bucket::default() };
        assert_eq!(bucket.wait(100 * MS, 1000, 20_000, 100 * MS, true, RULE), None);
        for _ in 0..10 {
            assert_eq!(bucket.wait(100 * MS, 1000, 20_000, 100 * MS, true, RULE), None);
            bucket.take(1000);
        }
        assert_eq!(bucket.wait(100 * MS, 1000, 20_000, 100 * MS, true, RULE), Some(140 * MS));
        // An ACK after 8 ms finds tokens for two packets.
        assert_eq!(bucket.wait(108 * MS, 1000, 20_000, 100 * MS, true, RULE), None);
    }

    #[test]
    fn a_packet_leaves_while_any_tokens_are_left_and_waits_are_whole_ticks() {
        // 10 packets and 97 ms: a packet each 9.7 ms. A quarter of the window is 2.5 packets: three leave. After 10 ms there are tokens for 1.03: two leave.
        let rule = Tokens {
            percent: [100, 100],
            packets: [2, 16],
            refill: Refill::AnyLeft { part: 4, tick: Nanos(MS) },
            ..RULE
        };
        let mut bucket = Bucket { filled_at: Moment::at(Nanos::ZERO), ..Bucket::default() };
        let mut leave = |now: u64| {
            let mut packets = 0;
            loop {
                match bucket.wait(now, 1000, 10_000, 97 * MS, true, rule) {
                    Some(at) => return (packets, at),
                    None => bucket.take(1000),
                }
                packets += 1;
            }
        };
        assert_eq!(leave(1000 * MS), (3, 1010 * MS));
        assert_eq!(leave(1010 * MS), (2, 1020 * MS));
    }

    #[test]
    fn steps_add_whole_packets() {
        let rule = Tokens {
            percent: [100, 100],
            packets: [2, 1 << 20],
            refill: Refill::Steps { step: Nanos(MS), late: Nanos(MS) },
            ..RULE
        };
        // 10 packets and 92 ms: one each 9.2 ms, a packet a step, and two at most. 270 packets and 100 ms: 2.7 a step, rounded up to 3, and 5 at most.
        for (window, srtt, at_first, wait, then) in [(10, 92, 2, 11, 2), (270, 100, 5, 2, 5)] {
            let mut bucket = Bucket { filled_at: Moment::at(Nanos::ZERO), ..Bucket::default() };
            let mut leave = |now: u64| {
                let mut packets = 0;
                loop {
                    match bucket.wait(now, 1000, window * 1000, srtt * MS, true, rule) {
                        Some(at) => return (packets, at),
                        None => bucket.take(1000),
                    }
                    packets += 1;
                }
            };
            let now = 1000 * MS;
            assert_eq!(leave(now), (at_first, now + wait * MS));
            assert_eq!(leave(now + wait * MS).0, then);
            // Half a step later there is one packet, or two of 1.5.
            assert_eq!(leave(now + wait * MS + MS / 2).0, if window == 10 { 1 } else { 2 });
        }
    }

    #[test]
    fn the_next_burst_waits_for_the_time_of_the_last_one() {
        // 10 packets of 1000 bytes and 100 ms: a packet each 10 ms. Three, and one of another size, which ends the burst: 35 ms. Then six, the
        // most: 60 ms.
        let rule = Tokens { percent: [100, 100], refill: Refill::Behind(6000), ..RULE };
        let mut bucket = Bucket::default();
        let mut leave = |now: u64, sizes: &[u64]| {
            let left = sizes.iter().take_while(|&&bytes| {
                let may = bucket.wait(now, bytes, 10_000, 100 * MS, true, rule).is_none();
                if may {
                    bucket.take(bytes);
                }
                may
            });
            let left = left.count();
            bucket.end_burst(now, 10_000, 100 * MS, true, rule);
            (left, bucket.wait(now, 1000, 10_000, 100 * MS, true, rule))
        };
        assert_eq!(leave(MS, &[1000, 1000, 1000, 500, 500]), (4, Some(36 * MS)));
        assert_eq!(leave(36 * MS, &[1000; 8]), (6, Some(96 * MS)));
        assert_eq!(leave(95 * MS, &[1000]).0, 0);
    }
}
