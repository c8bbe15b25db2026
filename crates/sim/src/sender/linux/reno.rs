//! Without SACK, duplicate ACKs stand for segments that arrived out of order (RFC 6582's NewReno, in the same states).

use super::Linux;
use super::ack::SeenAck;
use crate::sender::connection::Connection;
use crate::sender::info::CaState;
use crate::sender::stamps::LOST;

impl Connection<Linux> {
    /// A duplicate ACK shows that one more segment has arrived.
    pub(super) fn count_duplicate_without_sack(&mut self, seen: &mut SeenAck) {
        if self.stack.recovery.is_selective() || !seen.is_duplicate {
            return;
        }
        let before = self.own.sacked;
        self.own.sacked += 1;
        self.bound_duplicates(0);
        seen.done.delivered += self.own.sacked.saturating_sub(before);
    }

    /// The cumulative ACK moved over `advanced` segments: one filled the hole, the others had been counted by their
    /// duplicates. Returns the number of segments delivered only now.
    pub(super) fn take_acked_without_sack(&mut self, advanced: u32) -> u32 {
        let counted = self.own.sacked;
        self.own.sacked -= (advanced - 1).min(counted);
        self.bound_duplicates(advanced);
        advanced.saturating_sub(counted).max(1)
    }

    /// Not more can have arrived than is outstanding, less one hole; a larger count shows reordering.
    fn bound_duplicates(&mut self, advanced: u32) {
        let out = self.nxt - self.una;
        let holes = self.own.lost.max(1).min(out);
        if self.own.sacked + holes > out {
            self.own.sacked = out - holes;
            self.note_reordering_by_duplicates(out + advanced);
        }
    }

    /// Enough duplicates, or a partial ACK during recovery: the first segment is lost.
    pub(super) fn find_loss_without_sack(&mut self, advanced: bool) {
        let found = match self.own.state {
            CaState::Recovery => advanced,
            CaState::Loss => false,
            _ => self.own.sacked >= self.own.reordering,
        };
        if found && self.stamps.get(self.una) & LOST == 0 {
            self.mark_lost(self.una);
        }
    }
}
