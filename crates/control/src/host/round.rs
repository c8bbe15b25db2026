//! Packet-timed rounds, counted once for all schemes: a round ends when data sent after its start is delivered.

/// Counts round trips by sequence position (bytes or packets, as the host likes, always growing).
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundCounter {
    round: u32,
    end: u64,
}

impl RoundCounter {
    /// The cumulative ACK is at `acked` and `next` is what will be sent next; says whether a round began.
    #[inline]
    pub fn on_ack(&mut self, acked: u64, next: u64) -> bool {
        if acked < self.end {
            return false;
        }
        self.end = next.max(acked + 1);
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
    use super::*;

    #[test]
    fn a_round_lasts_until_what_was_sent_at_its_start_is_acknowledged() {
        let mut rounds = RoundCounter::default();
        // Window 2, an ACK per packet, doubling: packets 1, 2 | 3..6 | 7..14.
        let starts: Vec<bool> = [(1, 4), (2, 6), (3, 8), (4, 10), (5, 12)]
            .map(|(acked, next)| rounds.on_ack(acked, next))
            .to_vec();
        assert_eq!(starts, [true, false, false, true, false]);
        assert_eq!(rounds.count(), 2);
    }
}
