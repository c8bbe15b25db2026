//! The largest delivery rate between two ACKs, as picoquic estimates it (`picoquic_estimate_max_path_bandwidth`, frames.c at d199d45b).

use firstflight_contract::mul_div;

/// Shortest interval between the ACKs (`PICOQUIC_MAX_BANDWIDTH_TIME_INTERVAL_MIN`), microseconds.
const LEAST_INTERVAL: u64 = 1_000;

/// The estimator. Times are microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeakRate {
    /// Bytes a second.
    pub(crate) rate: u64,
    delivered: u64,
    acked_at: u64,
    sent_at: u64,
}

impl PeakRate {
    /// An ACK at `now` of a packet that left `rtt` before, with `delivered` bytes in total.
    pub(crate) fn update(&mut self, now: u64, rtt: u64, delivered: u64) {
        let sent_at = now.saturating_sub(rtt);
        if sent_at < self.sent_at {
            return;
        }
        if self.acked_at > 0 {
            let received = now - self.acked_at;
            if received <= LEAST_INTERVAL {
                return;
            }
            let interval = received.max(sent_at - self.sent_at);
            self.rate = self.rate.max(mul_div(delivered - self.delivered, 1_000_000, interval));
        }
        (self.delivered, self.acked_at, self.sent_at) = (delivered, now, sent_at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_the_largest_rate_over_more_than_a_millisecond() {
        let mut peak = PeakRate::default();
        peak.update(50_000, 50_000, 1_000);
        // 2000 bytes in 2 ms, then 1000 bytes half a millisecond later: too short, it counts with the next ACK.
        peak.update(52_000, 50_000, 3_000);
        assert_eq!(peak.rate, 1_000_000);
        peak.update(52_500, 50_000, 4_000);
        assert_eq!(peak.rate, 1_000_000);
        // 4000 bytes since the ACK at 52 ms, in 2 ms.
        peak.update(54_000, 50_000, 7_000);
        assert_eq!(peak.rate, 2_000_000);
        // 9000 bytes acknowledged within 2 ms that left over 9 ms: compressed ACKs show the sending rate, 1 MB/s.
        peak.update(56_000, 43_000, 16_000);
        assert_eq!(peak.rate, 2_000_000);
    }
}
