//! Counters noted while a run goes on: what a link had counted by a time cannot be told once it has gone on.

use crate::link::LinkStats;

/// The times at which the counters of a link are noted, and what they were.
#[derive(Clone, Debug)]
pub struct Readings {
    /// Ascending, nanoseconds.
    times: Vec<u64>,
    taken: Vec<LinkStats>,
    /// The first time that is not yet noted; beyond every time once all are.
    due: u64,
}

impl Default for Readings {
    fn default() -> Self {
        Self::at(vec![])
    }
}

impl Readings {
    /// At these times, nanoseconds, which ascend.
    pub fn at(times: Vec<u64>) -> Self {
        debug_assert!(times.is_sorted());
        let due = times.first().copied().unwrap_or(u64::MAX);
        Self { times, taken: vec![], due }
    }

    /// When the next is to be noted: before anything that comes at this very time.
    #[inline]
    pub fn due(&self) -> u64 {
        self.due
    }

    /// Notes the counters as they were at [`Readings::due`].
    pub fn note(&mut self, stats: LinkStats) {
        self.taken.push(stats);
        self.due = self.times.get(self.taken.len()).copied().unwrap_or(u64::MAX);
    }

    /// One for each time; `stats_until` tells those that nothing came after.
    pub fn all(&self, stats_until: impl Fn(u64) -> LinkStats) -> Vec<LinkStats> {
        let open = self.times[self.taken.len()..].iter().map(|&at| stats_until(at));
        self.taken.iter().copied().chain(open).collect()
    }
}
