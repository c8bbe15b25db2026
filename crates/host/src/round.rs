//! Packet-timed rounds, counted once for all schemes: a round ends when data sent after its start is delivered.

/// Counts round trips by sequence position (bytes or packets, as the host likes, always growing).
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundCounter {
    round: u32,
    end: u64,
}

impl RoundCounter {
    /// The cumulative ACK is at `acked`, and `next` is what will be sent next, this ACK not yet having released anything; says
    /// whether a round began. An ACK for all that was sent before the round's start does not end it: the first ACK beyond does.
    #[inline]
    pub fn on_ack(&mut self, acked: u64, next: u64) -> bool {
        if acked <= self.end {
            return false;
        }
        self.end = next.max(acked);
        self.round += 1;
        true
    }

    /// Rounds begun so far; the first ACK begins the first.
    pub fn count(&self) -> u32 {
        self.round
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn a_round_begins_with_the_first_ack_for_what_was_sent_after_the_last_ones_start() {
        // An ACK per packet, each of which releases two: from a window of 4, flights of packets 1..4 | 5..12 | 13..28 | 29..60.
        for window in [1, 2, 3, 4, 10] {
            let mut rounds = RoundCounter::default();
            let mut next = window;
            let starts: Vec<u64> = (1..=15 * window)
                .filter(|&acked| {
                    let started = rounds.on_ack(acked, next);
                    next += 2;
                    started
                })
                .collect();
            assert_eq!(starts, [1, window + 1, 3 * window + 1, 7 * window + 1]);
            assert_eq!(rounds.count(), 4);
        }
    }

    #[test]
    fn a_stall_is_no_round() {
        let mut rounds = RoundCounter::default();
        assert!(rounds.on_ack(1, 2));
        // All that was sent is acknowledged, and again by duplicates: nothing was sent since.
        assert_eq!([2, 2, 2].map(|acked| rounds.on_ack(acked, 2)), [false; 3]);
        assert!(rounds.on_ack(3, 3));
    }
}
