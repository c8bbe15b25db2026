//! Release times of packets under a pacing rate: a token bucket whose state is one time.

use firstflight_contract::{Nanos, Rate};

/// Bucket of `burst` bytes that fills at the pacing rate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pacer {
    /// Time at which the bucket is full again if nothing more is sent.
    full_at: Nanos,
}

impl Pacer {
    /// Earliest time at which a packet of `bytes` may leave. A time in the past means that the packet may leave at once.
    pub fn release(&self, rate: Rate, burst: u64, bytes: u64) -> Nanos {
        if rate == Rate::NONE {
            return Nanos::ZERO;
        }
        // The bucket holds `bytes` as soon as at most `burst - bytes` are missing.
        self.full_at.saturating_sub(rate.time_for(burst.saturating_sub(bytes)))
    }

    /// `bytes` left at `now`.
    pub fn on_sent(&mut self, now: Nanos, rate: Rate, bytes: u64) {
        if rate != Rate::NONE {
            self.full_at = self.full_at.max(now).saturating_add(rate.time_for(bytes));
        }
    }

    /// [`Pacer::on_sent`] for a host whose timers fire late. A packet that left late brings the next release forward by its
    /// delay, at most by half of the gap between them (Linux's internal pacing, `tcp_update_skb_after_send`). After a packet
    /// that is not `paced`, such as Linux's first segments, the next packet does not wait.
    pub fn on_sent_compensating(&mut self, now: Nanos, rate: Rate, bytes: u64, paced: bool) {
        let late = now.saturating_sub(self.full_at);
        self.full_at = self.full_at.max(now);
        if paced && rate != Rate::NONE {
            let gap = rate.time_for(bytes);
            self.full_at = self.full_at.saturating_add(Nanos(gap.0 - late.0.min(gap.0 / 2)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate(8_000_000); // 1000 bytes a millisecond

    #[test]
    fn packets_leave_at_the_pacing_rate_without_a_burst() {
        let mut pacer = Pacer::default();
        let mut now = Nanos::ZERO;
        for i in 0..5 {
            now = now.max(pacer.release(RATE, 1000, 1000));
            assert_eq!(now, Nanos::from_millis(i));
            pacer.on_sent(now, RATE, 1000);
        }
    }

    #[test]
    fn a_bucket_of_three_packets_releases_three_at_once_and_refills_while_idle() {
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
    fn a_late_packet_brings_the_next_release_forward_by_at_most_half_a_gap() {
        let mut pacer = Pacer::default();
        pacer.on_sent_compensating(Nanos::from_millis(10), RATE, 1000, false);
        pacer.on_sent_compensating(Nanos::from_millis(10), RATE, 1000, true);
        assert_eq!(pacer.release(RATE, 1000, 1000), Nanos::from_millis(11));
        // 0.2 ms late: 0.8 ms to the next. 9 ms late: half a millisecond.
        pacer.on_sent_compensating(Nanos::from_micros(11_200), RATE, 1000, true);
        assert_eq!(pacer.release(RATE, 1000, 1000), Nanos::from_millis(12));
        pacer.on_sent_compensating(Nanos::from_millis(21), RATE, 1000, true);
        assert_eq!(pacer.release(RATE, 1000, 1000), Nanos::from_micros(21_500));
    }

    #[test]
    fn a_packet_that_would_wait_beyond_all_times_waits_for_ever() {
        let mut pacer = Pacer::default();
        for _ in 0..3 {
            pacer.on_sent_compensating(Nanos(u64::MAX - 1), Rate(1), 1000, true);
            pacer.on_sent(Nanos(u64::MAX - 1), Rate(1), 1000);
        }
        assert_eq!(pacer.release(Rate(1), 1000, 1000), Nanos(u64::MAX));
    }

    #[test]
    fn without_a_rate_no_packet_waits() {
        assert_eq!(Pacer::default().release(Rate::NONE, 0, 1000), Nanos::ZERO);
    }
}
