//! Runs, and their results.

use crate::config::Network;
use crate::divided;
use crate::ended::outcome_of;
use crate::engine::{Engine, Mode, Plan};
use crate::groups;
use crate::observe::{NoObserver, Observer};
use crate::part::Part;
use crate::parts;
use crate::timings::{Clock, Division, Spent, Timings, Watch};
use crate::windows::{self, Windows};

pub use crate::ended::{FlowOutcome, LinkOutcome, Outcome};

/// Simulates `network` without an observer, by one thread.
pub fn simulate(network: &Network) -> Outcome {
    simulate_on(network, 1)
}

/// Number of parts of `network` that nothing couples.
pub fn count_parts(network: &Network) -> usize {
    parts::of(network).len()
}

/// Number of threads that [`simulate_on`] uses, of at most `threads`.
pub fn count_threads(network: &Network, threads: usize) -> usize {
    match Way::of(network, threads) {
        Way::Windows(windows) => windows.threads(),
        Way::Parts(parts, threads) => threads.min(parts.len()),
    }
}

/// Simulates `network` in groups of stages, each on a thread, whatever that gains; `None` if it has no groups.
pub fn simulate_in_windows(network: &Network, threads: usize) -> Option<Outcome> {
    Some(Windows::of(network, threads, 0.0)?.simulate(network, Watch(None))?.0)
}

/// Simulates `network` in groups of stages for `threads` threads, one after the other on this thread, and calls `after`
/// behind each window of each group with its number: for measurements of what threads could gain. `None` if there are no groups.
pub fn simulate_in_turns(network: &Network, threads: usize, after: impl FnMut(usize)) -> Option<Outcome> {
    windows::in_turns(network, threads, after)
}

/// Division of a run.
enum Way {
    /// Into parts that nothing couples, by at most so many threads.
    Parts(Vec<Part>, usize),
    /// Into groups of stages that meet after each window.
    Windows(Box<Windows>),
}

impl Way {
    fn of(network: &Network, threads: usize) -> Self {
        let mut parts = parts::of(network);
        if threads < 2 {
            return Self::Parts(parts, 1);
        }
        let hops = parts::sort(&mut parts, network);
        let all: f64 = hops.iter().sum();
        if all < parts::WORTH_THREADS {
            return Self::Parts(parts, 1);
        }
        // A part that is most of the network leaves the other threads without work.
        let is_uneven = hops.first().is_some_and(|&largest| largest > 1.5 * all / threads as f64);
        match is_uneven.then(|| Windows::of(network, threads, groups::WORTH)).flatten() {
            Some(windows) => Self::Windows(Box::new(windows)),
            None => Self::Parts(parts, threads),
        }
    }
}

/// Simulates `network` without an observer, by at most `threads` threads. The outcome is the same for any number of threads: only
/// what cannot reach each other runs at the same time.
pub fn simulate_on(network: &Network, threads: usize) -> Outcome {
    simulate_watched(network, threads, Watch(None)).0
}

/// As [`simulate_on`], with the times of its threads by `clock`.
pub fn simulate_timed(network: &Network, threads: usize, clock: &Clock) -> (Outcome, Timings) {
    simulate_watched(network, threads, Watch(Some(clock)))
}

fn simulate_watched(network: &Network, threads: usize, watch: Watch) -> (Outcome, Timings) {
    let began = watch.now();
    let (parts, threads) = match Way::of(network, threads) {
        Way::Parts(parts, threads) => (parts, threads),
        Way::Windows(windows) => match windows.simulate(network, watch) {
            Some(done) => return done,
            None => (parts::of(network), 1),
        },
    };
    if parts.len() > 1 {
        let division = Division::Parts(parts.len());
        let (outcome, threads) = divided::simulate(network, parts, threads, watch);
        return (outcome, Timings { division, threads });
    }
    drop(parts);
    let outcome = simulate_observed(network, Mode::Fused, NoObserver).0;
    let spent = Spent { working: watch.since(began), ..Spent::default() };
    (outcome, Timings { division: Division::Whole, threads: vec![spent] })
}

/// Simulates `network` in `mode` with an observer. Neither the outcome nor the observer holds anything that happens after the
/// end.
pub fn simulate_observed<O: Observer + Clone>(network: &Network, mode: Mode, observer: O) -> (Outcome, O) {
    let plan = Plan::new(network, mode);
    let mut engine = Engine::new(network, &plan, None, observer.clone());
    let end = engine.run();
    if engine.has_run_past(end) {
        // Counters cannot be taken back. Copies of packets on their way at the end are rare, so that the run is made again.
        drop(engine);
        engine = Engine::new(network, &plan, Some(end), observer);
        engine.run();
    }
    outcome_of(engine, end, network.grid.0, &network.links)
}
