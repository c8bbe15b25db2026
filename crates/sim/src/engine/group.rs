//! An engine that processes one of several groups of stages, beside the engines of the others.

use super::Engine;
use super::plan::Share;
use crate::observe::Observer;
use crate::wire::Away;
use std::sync::atomic::Ordering;

impl<O: Observer> Engine<'_, O> {
    /// Runs until `limit`, before which nothing comes from other threads. Returns whether the run goes on.
    pub(crate) fn run_until(&mut self, limit: u64) -> bool {
        self.limit = limit;
        self.run_events();
        limit < self.wire.end
    }

    /// Earliest time at which a stage of another thread may get an arrival, from an event here or from a packet that was sent away.
    pub(crate) fn reaches_others_at(&self) -> u64 {
        let Some(Share { groups, group }) = &self.share else { return u64::MAX };
        let from_timers = self.timer_at.saturating_add(groups.from_timers[usize::from(*group)]);
        let after = |stage: u32, at: u64| at.saturating_add(groups.abroad[stage as usize]);
        let from_stages =
            self.own.iter().map(|&stage| after(stage, self.wire.clocks.next_at(stage as usize)));
        let from_sent = self.wire.away.iter().map(|away| after(away.stage, away.packet.at));
        from_stages.chain(from_sent).fold(from_timers, u64::min)
    }

    /// Packets for stages of other threads, each with the group of its stage.
    pub(crate) fn sent_away(&mut self) -> impl Iterator<Item = (usize, Away)> {
        let of =
            |stage: u32| self.share.as_ref().map_or(0, |share| share.groups.stages[stage as usize].into());
        self.wire.away.drain(..).map(move |away| (of(away.stage), away))
    }

    /// A packet comes from another thread.
    pub(crate) fn arrive(&mut self, away: &Away) {
        self.wire.arrive(away);
    }

    /// Whether the caller has asked for a stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}
