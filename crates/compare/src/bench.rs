//! The path of a comparison for further experiments on it: scenarios of its replications, and runs of them.

use firstflight_scenario::{Candidate, Scenario};

use crate::halt::Halt;
use crate::path::Subject;
use crate::replication::Replication;
use firstflight_hosts::host::{Begun, Ended, Observe, Run};

/// The path of a comparison. Replication `index` has the same path and the same randomness for every candidate. The first
/// replications are spread evenly over the paths, however many there are.
pub(crate) struct Bench<'a> {
    subject: &'a Subject<'a>,
    seed: u64,
}

impl<'a> Bench<'a> {
    /// Largest number of replications.
    pub(crate) const MOST: u32 = 512;

    pub(super) fn new(subject: &'a Subject<'a>, seed: u64) -> Self {
        Self { subject, seed }
    }

    fn replication(&self, index: u32) -> Replication {
        Replication { index: spread(index), of: Self::MOST, seed: self.seed }
    }

    /// Number of a replication's path among those that explain the capture; 0 on a given path.
    #[cfg(test)]
    pub(super) fn path(&self, index: u32) -> usize {
        let explanation = self.subject.explanation();
        explanation.map_or(0, |it| it.at(self.replication(index).share()).number())
    }

    /// Seed of all replications.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Scenario of a replication: its first flow is a transfer of `size` bytes by the candidate.
    pub(crate) fn scenario(&self, candidate: &Candidate, size: u64, index: u32) -> Scenario {
        self.subject.scenario_of(candidate, size, self.replication(index))
    }

    /// Runs a scenario that was made from [`Bench::scenario`].
    ///
    /// # Errors
    /// If the host refuses it.
    pub(crate) fn run(&self, scenario: &Scenario, index: u32, observe: &Observe) -> Result<Run, Halt> {
        self.subject.run_scenario(scenario, self.replication(index), observe)
    }

    /// Begins a scenario that was made from [`Bench::scenario`], for runs that are equal until its first flow begins. `None` if
    /// the host has no such runs.
    ///
    /// # Errors
    /// If the host refuses it.
    pub(crate) fn begin(&self, scenario: &Scenario, index: u32) -> Result<Option<Box<dyn Begun>>, Halt> {
        self.subject.begin(scenario, self.replication(index))
    }

    /// The flows that end in such a run; `None` if it did not begin in this way.
    ///
    /// # Errors
    /// If the host refuses it.
    pub(crate) fn go_on(&self, begun: &dyn Begun, scenario: &Scenario) -> Result<Option<Vec<Ended>>, Halt> {
        self.subject.go_on(begun, scenario)
    }

    /// Observation of a run's totals.
    pub(crate) fn totals(&self) -> Observe {
        self.subject.observe()
    }
}

/// Bit-reversed order (J. G. van der Corput, 1935), in which any power of two of first numbers is spread evenly over all; the
/// first sixteen are the middles of their parts.
fn spread(index: u32) -> u32 {
    (index.reverse_bits() >> (u32::BITS - Bench::MOST.ilog2())) ^ (Bench::MOST / 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sixteen_replications_are_the_middles_of_sixteenths_of_512_and_all_occur_once() {
        let mut first: Vec<u32> = (0..16).map(spread).collect();
        first.sort_unstable();
        assert_eq!(first, (0..16).map(|part| 32 * part + 16).collect::<Vec<_>>());
        let mut all: Vec<u32> = (0..Bench::MOST).map(spread).collect();
        all.sort_unstable();
        assert_eq!(all, (0..Bench::MOST).collect::<Vec<_>>());
    }
}
