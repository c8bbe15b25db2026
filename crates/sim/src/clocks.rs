//! When the next packet arrives at each stage, and before when no other one can.

use crate::lookahead::Lookahead;

/// Later than anything.
pub(crate) const NEVER: u64 = u64::MAX;

/// The clocks of all stages, side by side, nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    all: Vec<Clock>,
}

#[derive(Clone, Copy, Debug)]
struct Clock {
    /// When the next of the packets that wait arrives, or earlier; [`NEVER`] where none waits.
    head: u64,
    /// Nothing arrives before this but what waits.
    bound: u64,
}

impl Clocks {
    /// Of `stages` stages at which nothing waits.
    pub(crate) fn new(stages: usize) -> Self {
        Self { all: vec![Clock { head: NEVER, bound: 0 }; stages] }
    }

    /// The number of stages.
    #[inline]
    pub(crate) fn stages(&self) -> usize {
        self.all.len()
    }

    /// When the next packet arrives anywhere.
    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        self.all.iter().fold(NEVER, |earliest, clock| earliest.min(clock.head))
    }

    /// Whether another stage may still cause an arrival at `stage` at `at`. One stage for all has no other.
    pub(crate) fn may_come(&self, stage: usize, at: u64) -> bool {
        self.all.len() == 1 || at >= self.all[stage].bound
    }

    /// A packet comes to `stage` that arrives there at `at`.
    #[inline(always)]
    pub(crate) fn expect(&mut self, stage: usize, at: u64) {
        let head = &mut self.all[stage].head;
        *head = at.min(*head);
    }

    /// The next of the packets that wait at `stage` arrives at `at`.
    #[inline]
    pub(crate) fn set(&mut self, stage: usize, at: u64) {
        self.all[stage].head = at;
    }

    /// Whether any of the packets that wait at `stage` may arrive before `until`.
    #[inline]
    pub(crate) fn is_due(&self, stage: usize, until: u64) -> bool {
        self.all[stage].head < until
    }

    /// Before when nothing arrives at `stage` but what waits, if nothing is left to happen before `now` and no timer is
    /// set to act before `timer`.
    #[inline]
    pub(crate) fn look_ahead(&mut self, stage: usize, ahead: &Lookahead, now: u64, timer: u64) -> u64 {
        let mut bound = timer.saturating_add(ahead.least_from_ends(stage));
        for way in ahead.ways_to(stage) {
            let cause = &self.all[way.from as usize];
            bound = bound.min(cause.head.min(cause.bound).max(now).saturating_add(way.least));
        }
        let clock = &mut self.all[stage];
        // What was known stays true.
        clock.bound = bound.max(clock.bound);
        clock.bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_looks_ahead_by_what_waits_in_front_of_it_and_by_timers() {
        // Stage 1 is 55 behind stage 0, which is 37 behind stage 1; senders are 10 from stage 0, receivers 5 from stage 1.
        let ahead = Lookahead::chain([(1, 37, 10), (0, 55, 5)]);
        let mut clocks = Clocks::new(2);
        assert_eq!(clocks.earliest(), NEVER);
        clocks.expect(0, 100);
        clocks.expect(0, 120);
        assert_eq!(clocks.earliest(), 100);
        // Nothing waits at stage 1, and it cannot get anything before what waits at stage 0 comes through: what could
        // wait there then is known from now on only.
        assert_eq!(clocks.look_ahead(0, &ahead, 100, NEVER), 137);
        assert!(clocks.is_due(0, 137) && !clocks.is_due(0, 100) && !clocks.is_due(1, NEVER));
        assert_eq!(clocks.look_ahead(1, &ahead, 100, NEVER), 155);
        // It is known now.
        assert_eq!(clocks.look_ahead(0, &ahead, 100, NEVER), 192);
        // A timer may act before that; but what was known stays true.
        clocks.set(0, 160);
        clocks.expect(1, 155);
        assert_eq!(clocks.look_ahead(1, &ahead, 155, 180), 185);
        assert_eq!(clocks.look_ahead(0, &ahead, 155, 180), 192);
        assert_eq!(clocks.earliest(), 155);
    }
}
