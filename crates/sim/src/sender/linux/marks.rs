//! The marks of the segments in flight (SACKed, lost, retransmitted) and their counts.

use super::{Linux, State};
use crate::packet::Blocks;
use crate::sender::connection::Connection;
use crate::sender::stamps::{LOST, RETRANS, RETRANSMITTED, SACKED, sent};

/// Effect of one ACK on the segments in flight. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivery {
    /// Segments newly delivered, cumulatively or selectively.
    pub(super) delivered: u32,
    /// Segments that the cumulative ACK moved over.
    pub(super) advanced: u32,
    /// Segments newly SACKed.
    pub(super) sacked: u32,
    /// A segment sent once, and before the episode began, arrived.
    pub(super) original: bool,
    /// A segment sent more than once was cumulatively acknowledged.
    pub(super) retransmission_acked: bool,
    /// Duplicates were reported (RFC 2883).
    pub(super) duplicate: bool,
    /// The duplicate is the tail that was probed.
    pub(super) probe_duplicate: bool,
    /// The earliest segment, sent once, that filled a hole; `u32::MAX` if none did.
    pub(super) reordered: u32,
    /// Departure times of the first and the last of the segments that were sent once and are now cumulatively acknowledged.
    pub(super) acked: Option<(u64, u64)>,
    /// The same for those that are now SACKed.
    pub(super) newly_sacked: Option<(u64, u64)>,
}

impl State {
    /// Segments in the network (RFC 6675's pipe).
    #[inline]
    pub(crate) fn in_flight(&self, out: u32) -> u32 {
        out + self.retrans - self.sacked - self.lost
    }

    /// One past the highest segment that arrived out of order; `una` if none did.
    #[inline]
    pub(super) fn highest(&self, una: u32) -> u32 {
        if self.sacked > 0 { self.highest } else { una }
    }
}

impl Connection<Linux> {
    /// The cumulative ACK moves to `ack`.
    pub(super) fn take_acked(&mut self, now: u64, ack: u32, done: &mut Delivery) {
        let selective = self.stack.recovery.is_selective();
        for segment in self.una..ack {
            let word = self.stamps.get(segment);
            let left = sent(word);
            if word & RETRANSMITTED != 0 {
                self.own.retrans -= u32::from(word & RETRANS != 0);
                done.retransmission_acked = true;
            } else if word & SACKED == 0 {
                done.acked = Some((done.acked.map_or(left, |(first, _)| first), left));
                done.reordered = done.reordered.min(segment);
                done.original |= segment < self.own.high;
            }
            if word & SACKED != 0 {
                self.own.sacked -= 1;
            } else {
                if selective {
                    done.delivered += 1;
                    self.own.detector.advance(now, segment, word, self.min_rtt);
                }
                self.sample_delivery(segment);
            }
            self.own.lost -= u32::from(word & LOST != 0);
        }
        done.advanced = ack - self.una;
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        self.own.hint = self.own.hint.max(ack);
    }

    /// The blocks of an ACK.
    pub(super) fn take_blocks(&mut self, now: u64, blocks: &Blocks, done: &mut Delivery) {
        let seen = std::mem::replace(&mut self.own.last, *blocks);
        for &(start, end) in blocks.iter().take_while(|(start, end)| start < end) {
            let mut segment = start.max(self.una);
            let end = end.min(self.nxt);
            while segment < end {
                // Blocks that the previous ACK reported are known.
                if let Some(&(_, known)) = seen.iter().find(|(from, to)| *from <= segment && segment < *to) {
                    segment = known;
                    continue;
                }
                self.take_sacked(now, segment, done);
                segment += 1;
            }
        }
    }

    fn take_sacked(&mut self, now: u64, segment: u32, done: &mut Delivery) {
        let word = self.stamps.get(segment);
        if word & SACKED != 0 {
            return;
        }
        let rack = &mut self.own;
        rack.detector.advance(now, segment, word, self.common.min_rtt);
        let mut marked = word | SACKED;
        if word & RETRANS != 0 {
            if word & LOST != 0 {
                marked &= !(LOST | RETRANS);
                rack.lost -= 1;
                rack.retrans -= 1;
            }
        } else {
            if word & RETRANSMITTED == 0 {
                if segment < rack.highest(self.common.una) {
                    done.reordered = done.reordered.min(segment);
                }
                done.original |= segment < rack.high;
                let left = sent(word);
                done.newly_sacked = Some((done.newly_sacked.map_or(left, |(first, _)| first), left));
            }
            if word & LOST != 0 {
                marked &= !LOST;
                rack.lost -= 1;
            }
        }
        rack.highest = rack.highest(self.common.una).max(segment + 1);
        rack.sacked += 1;
        *self.stamps.get_mut(segment) = marked;
        done.sacked += 1;
        done.delivered += 1;
        self.sample_delivery(segment);
    }

    /// A block that reports a duplicate, `[start, end)`, taken before the cumulative ACK moves (RFC 2883).
    pub(super) fn take_duplicate(&mut self, (start, end): (u32, u32), done: &mut Delivery) {
        let rack = &mut self.own;
        done.duplicate = true;
        done.probe_duplicate = rack.probe_end > 0 && end == rack.probe_end && end - start == 1;
        rack.duplicates += u64::from(end - start);
        if rack.duplicates > rack.total_retransmitted {
            // The network made the copy, not this sender.
            return;
        }
        if rack.detector.has_seen_reordering() && !done.probe_duplicate {
            rack.detector.note_duplicate();
        }
        done.delivered += end - start;
        for segment in start..end {
            let below = segment < self.common.una;
            let word = if below { RETRANSMITTED } else { self.common.stamps.get(segment) };
            if rack.undo.marker.is_some_and(|marker| segment >= marker)
                && rack.undo.retransmissions > 0
                && word & RETRANSMITTED != 0
            {
                rack.undo.retransmissions -= 1;
            }
            if !below && word & RETRANS != 0 {
                rack.retrans -= 1;
                *self.common.stamps.get_mut(segment) &= !RETRANS;
            }
        }
    }

    /// Declares a segment lost, or its retransmission.
    pub(super) fn mark_lost(&mut self, segment: u32) {
        let word = self.common.stamps.get_mut(segment);
        let rack = &mut self.own;
        if *word & SACKED != 0 {
            return;
        }
        if *word & LOST == 0 {
            *word |= LOST;
            rack.lost += 1;
        } else if *word & RETRANS != 0 {
            *word &= !RETRANS;
            rack.retrans -= 1;
        } else {
            return;
        }
        self.common.lost += 1;
        if let Some(delivery) = &mut rack.delivery {
            delivery.note_loss(segment, self.common.lost * self.common.mss, self.common.mss);
        }
        rack.hint = rack.hint.min(segment);
        rack.lost_end = rack.lost_end.max(segment + 1);
    }

    /// Whether a retransmission is, or may be, unanswered.
    pub(super) fn any_retransmission_out(&self) -> bool {
        self.own.retrans > 0 || self.una < self.nxt && self.stamps.get(self.una) & RETRANSMITTED != 0
    }
}
