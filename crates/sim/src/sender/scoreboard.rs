//! Segments beyond the cumulative ACK that the receiver reported (RFC 6675's scoreboard), a bit per segment.

use crate::packet::Blocks;

/// SACKed and retransmitted segments above the cumulative ACK.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    /// Ring of bits, one a segment; its length is a power of two words, or zero before the first block.
    bits: Vec<u64>,
    /// SACKed segments.
    sacked: u32,
    /// One past the highest SACKed segment; meaningful while `sacked > 0`.
    highest: u32,
    /// Holes below this were retransmitted in this recovery.
    retransmitted_to: u32,
    /// Retransmitted segments neither acknowledged nor SACKed since.
    retransmitted: u32,
    /// The blocks of the last ACK: repeated blocks cost nothing.
    last: Blocks,
}

impl Scoreboard {
    /// SACKed segments.
    #[inline]
    pub(super) fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Retransmitted segments that are neither acknowledged nor SACKed.
    pub(super) fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    /// Room for `window` segments beyond `una`.
    #[inline]
    pub(super) fn reserve(&mut self, una: u32, window: u32) {
        // Two spare words, so that no two live segments share a bit whatever their alignment.
        if window as usize + 128 > self.bits.len() * 64 {
            self.grow(una, window);
        }
    }

    #[cold]
    fn grow(&mut self, una: u32, window: u32) {
        let old = self.bits.len() as u32;
        let new = (window + 128).div_ceil(64).next_power_of_two().max(4);
        let mut bits = vec![0; new as usize];
        for word in (una >> 6)..(una >> 6) + old {
            bits[(word & (new - 1)) as usize] = self.bits[(word & (old - 1)) as usize];
        }
        self.bits = bits;
    }

    #[inline]
    fn word(&self, segment: u32) -> usize {
        (segment >> 6) as usize & (self.bits.len() - 1)
    }

    /// The bits of `[from, to)` as masked words: calls `f(word, mask)` for each.
    #[inline]
    fn span(&mut self, from: u32, to: u32, mut f: impl FnMut(&mut u64, u64)) {
        let mut segment = from;
        while segment < to && !self.bits.is_empty() {
            let end = ((segment | 63) + 1).min(to);
            let count = end - segment;
            let mask = if count == 64 { !0 } else { ((1 << count) - 1) << (segment & 63) };
            let word = self.word(segment);
            f(&mut self.bits[word], mask);
            segment = end;
        }
    }

    /// Adds the blocks of an ACK that leaves `una` the first unacknowledged and `next` the first unsent segment; returns the
    /// number of newly SACKed segments.
    pub(super) fn add(&mut self, blocks: &Blocks, una: u32, next: u32) -> u32 {
        let before = self.sacked;
        for &(start, end) in blocks.iter().take_while(|(start, end)| start < end) {
            let mut fresh = start.max(una + 1);
            for &(seen, seen_end) in &self.last {
                if seen <= fresh && fresh < seen_end {
                    fresh = seen_end;
                }
            }
            self.mark(fresh, end.min(next));
        }
        self.last = *blocks;
        self.sacked - before
    }

    fn mark(&mut self, from: u32, to: u32) {
        if from >= to {
            return;
        }
        let fresh = |word: &mut u64, mask: u64| {
            let new = (mask & !*word).count_ones();
            *word |= mask;
            new
        };
        let split = self.retransmitted_to.clamp(from, to);
        let (mut repaired, mut other) = (0, 0);
        self.span(from, split, |word, mask| repaired += fresh(word, mask));
        self.span(split, to, |word, mask| other += fresh(word, mask));
        self.sacked += repaired + other;
        self.retransmitted -= repaired.min(self.retransmitted);
        self.highest = if self.sacked == repaired + other { to } else { self.highest.max(to) };
    }

    /// The cumulative ACK moves from `una` to `ack`; returns the number of those segments that had been SACKed.
    pub(super) fn advance(&mut self, una: u32, ack: u32) -> u32 {
        if self.sacked == 0 && self.retransmitted == 0 {
            self.retransmitted_to = self.retransmitted_to.max(ack);
            return 0;
        }
        let known = |word: &mut u64, mask: u64| {
            let known = (mask & *word).count_ones();
            *word &= !mask;
            known
        };
        let split = self.retransmitted_to.clamp(una, ack);
        let (mut below, mut above) = (0, 0);
        self.span(una, split, |word, mask| below += known(word, mask));
        self.span(split, ack, |word, mask| above += known(word, mask));
        self.sacked -= below + above;
        self.retransmitted -= (split - una - below).min(self.retransmitted);
        self.retransmitted_to = self.retransmitted_to.max(ack);
        below + above
    }

    /// The first hole from `una` on that this recovery has not retransmitted and that lies below `limit` and
    /// below the highest SACKed segment.
    pub(super) fn next_hole(&mut self, una: u32, limit: u32) -> Option<u32> {
        let limit = limit.min(if self.sacked > 0 { self.highest } else { 0 });
        let mut segment = self.retransmitted_to.max(una);
        while segment < limit {
            let holes = !self.bits[self.word(segment)] >> (segment & 63);
            if holes != 0 {
                segment += holes.trailing_zeros();
                break;
            }
            segment = (segment | 63) + 1;
        }
        (segment < limit).then_some(segment)
    }

    /// `segment`, and with it every hole below, counts as retransmitted in this recovery.
    pub(super) fn on_retransmit(&mut self, segment: u32) {
        self.retransmitted_to = self.retransmitted_to.max(segment + 1);
        self.retransmitted += 1;
    }

    /// RFC 6675 `IsLost`: every hole below the returned segment has `threshold` SACKed ones above it. Also returns the
    /// number of these holes from `una` on.
    pub(super) fn lost_below(&self, una: u32, threshold: u32) -> (u32, u32) {
        if self.sacked < threshold {
            return (una, 0);
        }
        let last = self.highest - 1;
        let mut need = threshold;
        let mut base = last & !63;
        let mut word = self.bits[self.word(last)] & (!0 >> (63 - (last & 63)));
        loop {
            let here = word.count_ones();
            if here >= need {
                for _ in 1..need {
                    word ^= 1 << (63 - word.leading_zeros());
                }
                let edge = base + 63 - word.leading_zeros();
                return (edge, edge - una - (self.sacked - threshold));
            }
            need -= here;
            base = base.wrapping_sub(64);
            word = self.bits[self.word(base)];
        }
    }

    /// A recovery begins at `una`: nothing counts as retransmitted.
    pub(super) fn begin_recovery(&mut self, una: u32) {
        self.retransmitted_to = una;
        self.retransmitted = 0;
    }

    /// Forgets everything (RFC 2018 section 8: after a timeout the receiver may have reneged).
    pub(super) fn clear(&mut self, una: u32) {
        if self.sacked > 0 {
            self.bits.fill(0);
        }
        self.sacked = 0;
        self.last = Blocks::default();
        self.begin_recovery(una);
    }

    /// A recovery ended with nothing SACKed above.
    pub(super) fn forget_blocks(&mut self) {
        self.last = Blocks::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(given: &[(u32, u32)]) -> Blocks {
        let mut blocks = Blocks::default();
        blocks[..given.len()].copy_from_slice(given);
        blocks
    }

    #[test]
    fn a_repeated_block_counts_once() {
        let mut board = Scoreboard::default();
        board.reserve(0, 128);
        assert_eq!(board.add(&blocks(&[(3, 5)]), 0, 20), 2);
        assert_eq!(board.add(&blocks(&[(3, 6)]), 0, 20), 1);
        assert_eq!(board.add(&blocks(&[(8, 9), (3, 6)]), 0, 20), 1);
        assert_eq!(board.sacked(), 4);
    }

    #[test]
    fn a_hole_is_lost_once_three_segments_above_it_have_arrived() {
        let mut board = Scoreboard::default();
        board.reserve(0, 128);
        // Segments 0 and 4 are missing; 1, 2, 3 and 5, 6 arrived: above 0 lie five, above 4 only two.
        board.add(&blocks(&[(5, 7), (1, 4)]), 0, 20);
        assert_eq!(board.lost_below(0, 3), (3, 1));
        // With 7 there are three above 4 as well.
        board.add(&blocks(&[(5, 8), (1, 4)]), 0, 20);
        assert_eq!(board.lost_below(0, 3), (5, 2));
    }

    #[test]
    fn holes_are_found_in_order_and_once() {
        let mut board = Scoreboard::default();
        board.reserve(0, 128);
        board.add(&blocks(&[(100, 110), (2, 70)]), 0, 200);
        board.begin_recovery(0);
        let mut holes = vec![];
        while let Some(hole) = board.next_hole(0, u32::MAX) {
            board.on_retransmit(hole);
            holes.push(hole);
        }
        let expected: Vec<u32> = (0..2).chain(70..100).collect();
        assert_eq!(holes, expected);
        assert_eq!(board.retransmitted(), 32);
        // The retransmissions of 0 and 1 arrive: 30 retransmissions are still out.
        assert_eq!(board.advance(0, 70), 68);
        assert_eq!((board.retransmitted(), board.sacked()), (30, 10));
    }

    #[test]
    fn growing_keeps_what_is_known_across_word_boundaries() {
        let mut board = Scoreboard::default();
        board.reserve(100, 128);
        board.add(&blocks(&[(130, 190)]), 100, 250);
        board.reserve(100, 1000);
        assert_eq!(board.add(&blocks(&[(120, 195)]), 100, 1100), 15);
        assert_eq!(board.advance(100, 195), 75);
        assert_eq!(board.sacked(), 0);
    }
}
