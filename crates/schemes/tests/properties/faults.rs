//! Chains with an injected fault, as a careless scheme might have it.

use std::cell::Cell;

use firstflight_contract::{Ack, Congestion, Control, Entry, Exit, Lost, Nanos, Rate, StartupExit};
use firstflight_host::chain::Chain;
use firstflight_schemes::registry::AnyPhase;

use super::model::Subject;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    GrowsDuringRecovery,
    GrowsWithoutLeave,
    GrowsTooFast,
    FallsBelowOneSegment,
    RisesOnCongestion,
    LeavesAThresholdBelowTwoSegments,
    LeavesTheThresholdInfinite,
    KeepsTheWindowOnTimeout,
    PacesUnasked,
    ExitsTwice,
    HidesTheExit,
    LeavesAvoidance,
    LowersTheWindowOnUndo,
}

pub(crate) const FAULTS: [Fault; 13] = [
    Fault::GrowsDuringRecovery,
    Fault::GrowsWithoutLeave,
    Fault::GrowsTooFast,
    Fault::FallsBelowOneSegment,
    Fault::RisesOnCongestion,
    Fault::LeavesAThresholdBelowTwoSegments,
    Fault::LeavesTheThresholdInfinite,
    Fault::KeepsTheWindowOnTimeout,
    Fault::PacesUnasked,
    Fault::ExitsTwice,
    Fault::HidesTheExit,
    Fault::LeavesAvoidance,
    Fault::LowersTheWindowOnUndo,
];

/// A sound chain with one fault.
pub(crate) struct Faulty {
    chain: Chain<AnyPhase>,
    fault: Fault,
    mss: u64,
    /// Number of requests for the exit, which the faulty exit depends on.
    asked: Cell<u64>,
}

impl Faulty {
    pub(crate) fn new(chain: Chain<AnyPhase>, fault: Fault) -> Self {
        Self { chain, fault, mss: 0, asked: Cell::new(0) }
    }
}

impl Subject for Faulty {
    fn start(&mut self, entry: &Entry, initial_window: u64, ssthresh: u64) {
        self.mss = entry.mss.into();
        self.chain.start(entry, initial_window, ssthresh);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.chain.on_ack(ack);
        let control = &mut self.chain.control;
        match self.fault {
            Fault::GrowsDuringRecovery if ack.is(Ack::RECOVERY) => control.cwnd += 1,
            Fault::GrowsWithoutLeave if ack.growth == 0 => control.cwnd += 1,
            Fault::GrowsTooFast => control.cwnd += self.mss + 1,
            Fault::PacesUnasked => control.pacing = Rate(1),
            Fault::FallsBelowOneSegment => control.cwnd = self.mss - 1,
            _ => {}
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let before = self.chain.control;
        self.chain.on_congestion(event);
        let control = &mut self.chain.control;
        match self.fault {
            Fault::RisesOnCongestion => control.cwnd = before.cwnd.max(2 * self.mss) + 1,
            Fault::LeavesAThresholdBelowTwoSegments => control.ssthresh = 2 * self.mss - 1,
            Fault::LeavesTheThresholdInfinite => control.ssthresh = u64::MAX,
            Fault::KeepsTheWindowOnTimeout => control.cwnd = before.cwnd,
            _ => {}
        }
    }

    fn on_idle(&mut self, entry: Entry) {
        self.chain.on_idle(entry);
    }

    fn on_spurious(&mut self) {
        self.chain.on_spurious();
        if self.fault == Fault::LowersTheWindowOnUndo {
            self.chain.control.cwnd = self.mss;
        }
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.chain.on_lost(lost);
    }

    fn control(&mut self) -> &mut Control {
        &mut self.chain.control
    }

    fn exit(&self) -> Option<StartupExit> {
        self.asked.set(self.asked.get() + 1);
        let exit = self.chain.startup_exit()?;
        match self.fault {
            Fault::ExitsTwice => Some(StartupExit { at: Nanos(self.asked.get()), ..exit }),
            Fault::HidesTheExit => None,
            _ => Some(exit),
        }
    }

    fn in_avoidance(&self) -> bool {
        self.asked.set(self.asked.get() + 1);
        self.chain.in_avoidance() && !(self.fault == Fault::LeavesAvoidance && self.asked.get() % 2 == 1)
    }
}

/// A chain that has no start-up phase, so no exit: it reports one fixed exit instead.
pub(crate) struct Unreported<'a>(pub(crate) &'a mut Chain<AnyPhase>);

impl Subject for Unreported<'_> {
    fn start(&mut self, entry: &Entry, initial_window: u64, ssthresh: u64) {
        self.0.start(entry, initial_window, ssthresh);
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.0.on_ack(ack);
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.0.on_congestion(event);
    }
    fn on_idle(&mut self, entry: Entry) {
        self.0.on_idle(entry);
    }
    fn on_spurious(&mut self) {
        self.0.on_spurious();
    }
    fn on_lost(&mut self, lost: &Lost) {
        self.0.on_lost(lost);
    }
    fn control(&mut self) -> &mut Control {
        &mut self.0.control
    }
    fn exit(&self) -> Option<StartupExit> {
        Some(StartupExit { at: Nanos::ZERO, cwnd: 0, reason: Exit::Threshold })
    }
    fn in_avoidance(&self) -> bool {
        self.0.in_avoidance()
    }
}
