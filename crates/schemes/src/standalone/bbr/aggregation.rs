//! ACK aggregation: the excess of a burst of ACKs over the estimated bandwidth (Wi-Fi, cable, offloads). The window
//! grows by it, so that it lasts through the silence after a burst. Linux `bbr_update_ack_aggregation`.

use super::units::{Bandwidth, delivered_in};

/// Length of each of the maximum's two windows, rounds.
const WINDOW_ROUNDS: u32 = 5;
/// Segments after which an epoch expires.
const EPOCH_LIMIT: u64 = 1 << 20;
/// Longest silence for which the window compensates, microseconds.
const LONGEST_SILENCE: u64 = 100_000;

/// The estimator.
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    epoch_at: u64,
    epoch_acked: u64,
    /// Largest excess in segments, in the present window and in the one before.
    extra: [u64; 2],
    rounds: u32,
}

impl Aggregation {
    /// Sending begins, or resumes, at `now`.
    pub(super) fn restart(&mut self, now: u64) {
        self.epoch_at = now;
        self.epoch_acked = 0;
    }

    /// An ACK delivers `acked` segments under a window of `cwnd`.
    pub(super) fn update(
        &mut self,
        now: u64,
        acked: u64,
        round_start: bool,
        bandwidth: Bandwidth,
        cwnd: u64,
    ) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW_ROUNDS {
                self.rounds = 0;
                self.extra = [0, self.extra[0]];
            }
        }
        let mut expected = delivered_in(bandwidth, now.saturating_sub(self.epoch_at));
        // No longer ahead: a new epoch.
        if self.epoch_acked <= expected || self.epoch_acked + acked >= EPOCH_LIMIT {
            self.restart(now);
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked + acked).min(EPOCH_LIMIT - 1);
        let extra = (self.epoch_acked - expected).min(cwnd);
        self.extra[0] = self.extra[0].max(extra);
    }

    /// Segments to add to the window.
    pub(super) fn window(&self, bandwidth: Bandwidth) -> u64 {
        self.extra[0].max(self.extra[1]).min(delivered_in(bandwidth, LONGEST_SILENCE))
    }
}

#[cfg(test)]
mod tests {
    use super::super::units::over;
    use super::*;

    /// One segment a millisecond.
    fn bandwidth() -> Bandwidth {
        // Rounded up: 1000 us of it are one whole segment.
        over(1, 1000) + 1
    }

    #[test]
    fn a_burst_counts_by_its_excess_over_the_bandwidth() {
        let mut aggregation = Aggregation::default();
        aggregation.restart(0);
        // Eight segments at 10 ms: ten were expected, so a new epoch begins there: 8 ahead. Four more 3 ms later:
        // 12 - 3 = 9 ahead. At 30 ms 20 are expected, 12 were acknowledged: a new epoch again, one ahead.
        for (now, acked, window) in [(10_000, 8, 8), (13_000, 4, 9), (30_000, 1, 9)] {
            aggregation.update(now, acked, false, bandwidth(), 100);
            assert_eq!(aggregation.window(bandwidth()), window, "{now}");
        }
    }

    #[test]
    fn a_burst_is_remembered_for_five_to_ten_rounds() {
        let mut aggregation = Aggregation::default();
        aggregation.update(0, 8, true, bandwidth(), 100);
        let mut remembered = 0;
        while aggregation.window(bandwidth()) == 8 {
            remembered += 1;
            aggregation.update(remembered * 100_000, 1, true, bandwidth(), 100);
        }
        // Round 5 turns the window with the burst into the old one, round 10 drops it.
        assert_eq!(remembered, 9);
    }

    #[test]
    fn neither_the_window_nor_100_ms_of_data_is_exceeded() {
        let mut aggregation = Aggregation::default();
        aggregation.update(0, 500, false, bandwidth(), 300);
        assert_eq!(aggregation.extra[0], 300);
        assert_eq!(aggregation.window(bandwidth()), 100);
    }

    #[test]
    fn an_epoch_ends_after_2_to_the_20_segments() {
        let mut aggregation = Aggregation::default();
        aggregation.update(0, EPOCH_LIMIT - 1, false, 0, u64::MAX);
        aggregation.update(1, 5, false, 0, u64::MAX);
        assert_eq!(aggregation.epoch_acked, 5);
    }
}
