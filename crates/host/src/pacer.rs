//! When the next packet may leave under a pacing rate: a token bucket kept as one release time.

use firstflight_contract::{Nanos, Rate};

/// A bucket of `burst` bytes filled at the pacing rate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pacer {
    /// When the bucket, drained by what was sent so far, is full again.
    full_at: Nanos,
}

impl Pacer {
    /// When a packet of `bytes` may leave at the earliest; not after `now` if it may leave at once.
    pub fn release(&self, rate: Rate, burst: u64, bytes: u64) -> Nanos {
        if rate == Rate::NONE {
            return Nanos::ZERO;
        }
        // The bucket holds `bytes` once no more than `burst - bytes` of it are missing.
        self.full_at.saturating_sub(rate.time_for(burst.saturating_sub(bytes)))
    }

    /// `bytes` left at `now`.
    pub fn on_sent(&mut self, now: Nanos, rate: Rate, bytes: u64) {
        if rate != Rate::NONE {
            self.full_at = self.full_at.max(now) + rate.time_for(bytes);
        }
    }

    /// The same where the host makes up for timers that fire late: what left after its time brings the next one forward
    /// by as much, up to half a gap (Linux's internal pacing, `tcp_update_skb_after_send`). Nothing waits for what is not
    /// `paced`, as Linux's first segments are not, but its time counts.
    pub fn on_sent_making_up(&mut self, now: Nanos, rate: Rate, bytes: u64, paced: bool) {
        let late = now.saturating_sub(self.full_at);
        self.full_at = self.full_at.max(now);
        if paced && rate != Rate::NONE {
            let gap = rate.time_for(bytes);
            self.full_at += Nanos(gap.0 - late.0.min(gap.0 / 2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate(8_000_000); // 1000 bytes a millisecond

    #[test]
    fn single_segments_leave_one_serialisation_time_apart() {
        let mut pacer = Pacer::default();
        let mut now = Nanos::ZERO;
        for i in 0..5 {
            now = now.max(pacer.release(RATE, 1000, 1000));
            assert_eq!(now, Nanos::from_millis(i));
            pacer.on_sent(now, RATE, 1000);
        }
    }

    #[test]
    fn a_bucket_of_three_lets_three_leave_at_once_and_refills_while_idle() {
        let mut pacer = Pacer::default();
        for (start, expected) in [(0, [0, 0, 0, 1, 2]), (100, [100, 100, 100, 101, 102])] {
            let mut now = Nanos::from_millis(start);
            for at in expected {
                now = now.max(pacer.release(RATE, 3000, 1000));
                assert_eq!(now, Nanos::from_millis(at));
                pacer.on_sent(now, RATE, 1000);
            }
        }
    }

    #[test]
    fn what_left_late_brings_the_next_forward_by_half_a_gap_at_most() {
        let mut pacer = Pacer::default();
        pacer.on_sent_making_up(Nanos::from_millis(10), RATE, 1000, false);
        pacer.on_sent_making_up(Nanos::from_millis(10), RATE, 1000, true);
        assert_eq!(pacer.release(RATE, 1000, 1000), Nanos::from_millis(11));
        // 0.2 ms late: 0.8 ms to the next. 9 ms late: half a millisecond.
        pacer.on_sent_making_up(Nanos::from_micros(11_200), RATE, 1000, true);
        assert_eq!(pacer.release(RATE, 1000, 1000), Nanos::from_millis(12));
        pacer.on_sent_making_up(Nanos::from_millis(21), RATE, 1000, true);
        assert_eq!(pacer.release(RATE, 1000, 1000), Nanos::from_micros(21_500));
    }

    #[test]
    fn without_a_rate_nothing_waits() {
        assert_eq!(Pacer::default().release(Rate::NONE, 0, 1000), Nanos::ZERO);
    }
}
