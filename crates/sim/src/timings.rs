//! Where the threads of one run spend their time.

use std::time::Duration;

/// Time since some moment, by the clock of the caller: the simulator reads none.
pub type Clock<'a> = dyn Fn() -> Duration + Sync + 'a;

/// Times of the threads of one run. They change with each run, and no result depends on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timings {
    /// Division of the run.
    pub division: Division,
    /// The thread of the caller comes first.
    pub threads: Vec<Spent>,
}

/// Division of a run among threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// None: one thread.
    Whole,
    /// So many parts that nothing couples; each thread takes one after the other.
    Parts(usize),
    /// Groups of links, one for each thread. All threads met so many times.
    Groups(u64),
}

/// Elapsed time of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Time at work.
    pub working: Duration,
    /// Time for which it waited for the other threads.
    pub waiting: Duration,
}

impl Spent {
    /// Time at work of a thread that had nothing to do for the rest of `whole`.
    pub(crate) fn of(whole: Duration, working: Duration) -> Self {
        Self { working, waiting: whole.saturating_sub(working) }
    }

    /// Adds what another piece of work took.
    pub(crate) fn add(&mut self, other: Self) {
        self.working += other.working;
        self.waiting += other.waiting;
    }
}

/// A clock, where times are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Watch<'a>(pub(crate) Option<&'a Clock<'a>>);

impl Watch<'_> {
    /// The time; zero without a clock.
    pub(crate) fn now(self) -> Duration {
        self.0.map_or(Duration::ZERO, |clock| clock())
    }

    /// Time since an earlier one.
    pub(crate) fn since(self, earlier: Duration) -> Duration {
        self.now().saturating_sub(earlier)
    }
}
