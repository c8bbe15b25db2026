//! Packet-timed round trips, counted once for all schemes. A round ends when data sent after its start is acknowledged.

/// Counter of round trips. A position is a sequence number in bytes or packets, counted without wrapping around.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundCounter {
    round: u32,
    end: u64,
}

impl RoundCounter {
    /// The cumulative ACK is at `acked`; `next` is the position of the next new data, before the host sends in response to
    /// this ACK. Returns whether a round begins. An ACK of all data sent before the round's start does not end the round; the
    /// first ACK beyond that data does.
    #[inline]
    pub fn on_ack(&mut self, acked: u64, next: u64) -> bool {
        if acked <= self.end {
            return false;
        }
        self.end = next.max(acked);
        self.round += 1;
        true
    }

    /// Number of rounds begun; the first ACK begins the first round.
    pub fn count(&self) -> u32 {
        self.round
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn a_round_begins_with_the_first_ack_of_data_sent_after_the_last_round_began() {
        // Each packet has an ACK, and each ACK releases two packets: a window of 4 makes the flights of packets
        // 1..4 | 5..12 | 13..28 | 29..60.
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
    fn duplicate_acks_begin_no_round() {
        let mut rounds = RoundCounter::default();
        assert!(rounds.on_ack(1, 2));
        // All data is acknowledged, and duplicate ACKs follow: nothing was sent since.
        assert_eq!([2, 2, 2].map(|acked| rounds.on_ack(acked, 2)), [false; 3]);
        assert!(rounds.on_ack(3, 3));
    }
}
