//! The path of a comparison for further experiments on it: scenarios of its replications, and runs of them.

use firstflight_scenario::{Candidate, Error, Scenario};

use super::path::Subject;
use super::replication::Replication;
use crate::host::{Observe, Run};

/// The path of a comparison. Replication `index` of `of` has the same path and the same randomness for every candidate.
pub(crate) struct Bench<'a> {
    subject: &'a Subject<'a>,
    of: u32,
    seed: u64,
}

impl<'a> Bench<'a> {
    pub(super) fn new(subject: &'a Subject<'a>, of: u32, seed: u64) -> Self {
        Self { subject, of, seed }
    }

    fn replication(&self, index: u32) -> Replication {
        Replication { index, of: self.of, seed: self.seed }
    }

    /// Number of replications.
    pub(crate) fn replications(&self) -> u32 {
        self.of
    }

    /// Seed of a replication.
    pub(crate) fn seed(&self, index: u32) -> u64 {
        self.replication(index).own_seed()
    }

    /// Scenario of a replication: its first flow is a transfer of `size` bytes by the candidate.
    pub(crate) fn scenario(&self, candidate: &Candidate, size: u64, index: u32) -> Scenario {
        self.subject.scenario_of(candidate, size, self.replication(index))
    }

    /// Runs a scenario that was made from [`Bench::scenario`].
    ///
    /// # Errors
    /// If the host refuses it.
    pub(crate) fn run(&self, scenario: &Scenario, index: u32, observe: &Observe) -> Result<Run, Error> {
        self.subject.run_scenario(scenario, self.replication(index), observe)
    }

    /// Observation of a run's totals.
    pub(crate) fn totals(&self) -> Observe {
        self.subject.observe()
    }
}
