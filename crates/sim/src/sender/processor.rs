//! The processor of a sending host that searches its retransmission queue for the segments that an ACK reports.
//!
//! As Linux 2.6.23 does it (`tcp_sacktag_write_queue`): where the first block alone has grown since the ACK before, the search
//! goes on where it ended; else it visits every segment from the first unacknowledged one to the end of the highest block.
//! The cost is that of a list in memory, a time for each segment. ACKs wait for the one in hand.

use super::AckIn;
use super::stack::Stack;
use crate::packet::Blocks;
use std::collections::VecDeque;

/// The ACKs that wait for a host.
#[derive(Clone, Debug)]
pub(crate) struct Processor {
    /// Time for each segment visited, nanoseconds.
    walk: u64,
    /// ACKs in hand and waiting, at most.
    backlog: usize,
    /// Times at which they are processed, in order.
    due: VecDeque<u64>,
    /// Time at which all of them are.
    free_at: u64,
    /// Blocks of the last ACK that had any.
    blocks: Blocks,
}

impl Processor {
    /// The host of a stack, if it needs time.
    pub(super) fn of(stack: &Stack) -> Option<Box<Self>> {
        let processor = || Self {
            walk: stack.sack_walk,
            backlog: stack.ack_backlog as usize,
            due: VecDeque::new(),
            free_at: 0,
            blocks: Blocks::default(),
        };
        (stack.sack_walk > 0).then(|| Box::new(processor()))
    }

    /// Time at which the host has processed an ACK that arrives at `now`, when `una` will be its first unacknowledged segment;
    /// `None` if there is no room for the ACK.
    pub(crate) fn accept(&mut self, now: u64, ack: &AckIn, una: u32) -> Option<u64> {
        while self.due.front().is_some_and(|due| *due <= now) {
            self.due.pop_front();
        }
        if self.due.len() >= self.backlog {
            return None;
        }
        let search = self.walk.saturating_mul(self.visited(&ack.blocks(), una).into());
        self.free_at = self.free_at.max(now).saturating_add(search);
        self.due.push_back(self.free_at);
        Some(self.free_at)
    }

    /// Time at which the last ACK is processed that has arrived.
    pub(crate) fn free_at(&self) -> u64 {
        self.free_at
    }

    /// Segments that the search visits.
    fn visited(&mut self, blocks: &Blocks, una: u32) -> u32 {
        let Some(highest) = blocks.iter().map(|block| block.1).max().filter(|end| *end > 0) else { return 0 };
        let last = std::mem::replace(&mut self.blocks, *blocks);
        if blocks[0].0 == last[0].0 && blocks[1..] == last[1..] {
            return blocks[0].1.saturating_sub(last[0].1);
        }
        highest.saturating_sub(una)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::pack_blocks;

    fn processor(backlog: usize) -> Processor {
        Processor { walk: 10, backlog, due: VecDeque::new(), free_at: 0, blocks: Blocks::default() }
    }

    fn ack(seq: u32, blocks: &[(u32, u32)]) -> AckIn {
        let (low, high) = pack_blocks(seq, blocks);
        AckIn { seq, low, high }
    }

    #[test]
    fn a_new_block_costs_a_visit_of_each_segment_up_to_the_highest_block() {
        let mut host = processor(9);
        // Segments 5 to 20 of the queue: 15 of 10 ns.
        assert_eq!(host.accept(1000, &ack(5, &[(10, 20)]), 5), Some(1150));
        // The first block has grown by two, and nothing else has changed.
        assert_eq!(host.accept(2000, &ack(5, &[(10, 22)]), 5), Some(2020));
        // A block below: the highest still ends at 22.
        assert_eq!(host.accept(3000, &ack(5, &[(7, 8), (10, 22)]), 5), Some(3170));
        // The lower block grows: it is the first.
        assert_eq!(host.accept(4000, &ack(5, &[(7, 9), (10, 22)]), 5), Some(4010));
        // Without blocks, and with the same ones, an ACK costs nothing.
        assert_eq!(host.accept(5000, &ack(9, &[]), 5), Some(5000));
        assert_eq!(host.accept(6000, &ack(9, &[(10, 22)]), 9), Some(6130));
        assert_eq!(host.accept(7000, &ack(9, &[(10, 22)]), 9), Some(7000));
    }

    #[test]
    fn acks_wait_for_the_one_in_hand_and_are_lost_beyond_the_backlog() {
        let mut host = processor(2);
        // The first takes 200 ns, from 0 to 200; the second waits, and takes from 200 to 500.
        assert_eq!(host.accept(0, &ack(0, &[(10, 20)]), 0), Some(200));
        assert_eq!(host.accept(1, &ack(0, &[(25, 30), (10, 20)]), 0), Some(500));
        // Two are in hand or wait: the third is lost, and its blocks are not known.
        assert_eq!(host.accept(2, &ack(0, &[(35, 40), (25, 30), (10, 20)]), 0), None);
        // At 200 there is room again; an ACK without blocks waits, too.
        assert_eq!(host.accept(200, &ack(3, &[]), 0), Some(500));
        assert_eq!(host.accept(600, &ack(3, &[(25, 31), (10, 20)]), 3), Some(610));
    }
}
