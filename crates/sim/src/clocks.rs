//! Clocks of the stages: the next arrival at each, and a bound before which no further arrival can be added.

use crate::lookahead::{Lookahead, NEVER};

/// Clocks of all stages, nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    all: Vec<Clock>,
}

#[derive(Clone, Copy, Debug)]
struct Clock {
    /// Lower bound of the earliest arrival among waiting packets; [`NEVER`] if none waits.
    head: u64,
    /// Before this time nothing arrives except the packets already waiting.
    bound: u64,
}

impl Clocks {
    /// Creates clocks for `stages` stages without waiting packets.
    pub(crate) fn new(stages: usize) -> Self {
        Self { all: vec![Clock { head: NEVER, bound: 0 }; stages] }
    }

    /// Number of stages.
    #[inline]
    pub(crate) fn stages(&self) -> usize {
        self.all.len()
    }

    /// Earliest arrival at any stage.
    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        self.all.iter().fold(NEVER, |earliest, clock| earliest.min(clock.head))
    }

    /// Whether another stage may still cause an arrival at `stage` at `at`. With a single stage the answer is
    /// always yes.
    pub(crate) fn may_come(&self, stage: usize, at: u64) -> bool {
        self.all.len() == 1 || at >= self.all[stage].bound
    }

    /// Records a packet that will arrive at `stage` at `at`.
    #[inline(always)]
    pub(crate) fn expect(&mut self, stage: usize, at: u64) {
        let head = &mut self.all[stage].head;
        *head = at.min(*head);
    }

    /// Sets the next arrival at `stage`.
    #[inline]
    pub(crate) fn set(&mut self, stage: usize, at: u64) {
        self.all[stage].head = at;
    }

    /// Lower bound of the next arrival at `stage`.
    pub(crate) fn next_at(&self, stage: usize) -> u64 {
        self.all[stage].head
    }

    /// Whether a packet that waits at `stage` may arrive before `until`.
    #[inline]
    pub(crate) fn is_due(&self, stage: usize, until: u64) -> bool {
        self.all[stage].head < until
    }

    /// Time before which nothing arrives at `stage` except the packets already waiting, provided that no
    /// event is left before `now`, no timer fires before `timer`, and nothing comes from another thread before `limit`.
    #[inline]
    pub(crate) fn look_ahead(
        &mut self,
        stage: usize,
        ahead: &Lookahead,
        now: u64,
        (timer, limit): (u64, u64),
    ) -> u64 {
        let mut bound = timer.saturating_add(ahead.least_from_ends(stage)).min(limit);
        for way in ahead.ways_to(stage) {
            let cause = &self.all[way.from as usize];
            bound = bound.min(cause.head.min(cause.bound).max(now).saturating_add(way.least));
        }
        let clock = &mut self.all[stage];
        // An earlier bound stays valid.
        clock.bound = bound.max(clock.bound);
        clock.bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_of_a_stage_follows_from_upstream_packets_and_timers() {
        // Stage 1 is 55 after stage 0, and stage 0 is 37 after stage 1. Senders are 10 before stage 0,
        // receivers 5 before stage 1.
        let ahead = Lookahead::chain([(1, 37, 10), (0, 55, 5)]);
        let mut clocks = Clocks::new(2);
        assert_eq!(clocks.earliest(), NEVER);
        clocks.expect(0, 100);
        clocks.expect(0, 120);
        assert_eq!(clocks.earliest(), 100);
        // Stage 1 has no packets and gets none before those of stage 0 pass; its own bound is not known yet.
        assert_eq!(clocks.look_ahead(0, &ahead, 100, (NEVER, NEVER)), 137);
        assert!(clocks.is_due(0, 137) && !clocks.is_due(0, 100) && !clocks.is_due(1, NEVER));
        assert_eq!(clocks.look_ahead(1, &ahead, 100, (NEVER, NEVER)), 155);
        // Now it is known.
        assert_eq!(clocks.look_ahead(0, &ahead, 100, (NEVER, NEVER)), 192);
        // A timer may fire earlier, but the earlier bound stays valid.
        clocks.set(0, 160);
        clocks.expect(1, 155);
        assert_eq!(clocks.look_ahead(1, &ahead, 155, (180, NEVER)), 185);
        assert_eq!(clocks.look_ahead(0, &ahead, 155, (180, NEVER)), 192);
        assert_eq!(clocks.earliest(), 155);
    }
}
