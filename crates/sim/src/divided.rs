//! A run in parts, on several threads: each part by an engine of its own, and their outcomes put together.

use crate::config::Network;
use crate::ended::{FlowOutcome, LinkOutcome, Outcome, outcome_of};
use crate::engine::{Engine, Plan};
use crate::observe::NoObserver;
use crate::part::{Numbers, Part};
use crate::pool;
use crate::timings::{Spent, Watch};
use std::borrow::Cow;
use std::sync::Arc;

/// Simulates `network`, which has these parts, the largest first, by at most `threads` threads. Their times follow.
pub(crate) fn simulate(
    network: &Network,
    parts: Vec<Part>,
    threads: usize,
    watch: Watch,
) -> (Outcome, Vec<Spent>) {
    let (ran, mut spent) = pool::map(threads, parts, watch, |part| Ran::of(part, network));
    // A run that ends with its last flow ends with that of some part. Unless all have finished, it lasts as long as it may.
    let end = ran.iter().map(|ran| ran.end).max().unwrap_or_default();
    let ends_early = ran.iter().all(Ran::has_finished);
    let (outcomes, more) = pool::map(threads, ran, watch, |ran| ran.until(end, ends_early, network));
    spent.iter_mut().zip(more).for_each(|(spent, more)| spent.add(more));
    let since = watch.now();
    let outcome = together(end, outcomes, network);
    spent[0].working += watch.since(since);
    (outcome, spent)
}

/// A part that has run.
struct Ran {
    part: Arc<Part>,
    end: u64,
    state: State,
}

enum State {
    /// The end of the whole was known.
    Over(Outcome),
    /// The whole ends with a last flow, which may be that of another part.
    Drained(Box<Engine<'static, NoObserver>>),
}

impl Ran {
    fn of(part: Part, whole: &Network) -> Self {
        let part = Arc::new(part);
        let (network, plan) = prepare(&part, whole);
        let mut engine = Engine::new(&network, &plan, None, NoObserver);
        let end = engine.run();
        engine.forget_packets();
        let state = if engine.ends_with_flows() {
            State::Drained(Box::new(engine.detached()))
        } else {
            State::Over(outcome_of(engine, end, network.grid.0, &network.links).0)
        };
        Self { part, end, state }
    }

    fn has_finished(&self) -> bool {
        matches!(&self.state, State::Drained(engine) if engine.has_finished())
    }

    /// The part, and its outcome if the whole ends at `end`: before the time that it may last, if it `ends_early`.
    fn until(self, end: u64, ends_early: bool, whole: &Network) -> (Arc<Part>, Outcome) {
        let grid = whole.grid.0;
        let outcome = match self.state {
            State::Over(outcome) => outcome,
            State::Drained(engine) if ends_early && engine.has_run_past(end) => {
                drop(engine);
                let (network, plan) = prepare(&self.part, whole);
                let mut engine = Engine::new(&network, &plan, Some(end), NoObserver);
                engine.run();
                outcome_of(engine, end, grid, &network.links).0
            }
            State::Drained(engine) => {
                let links = self.part.links.iter().map(|&link| &whole.links[link]);
                outcome_of(*engine, end, grid, links).0
            }
        };
        (self.part, outcome)
    }
}

/// The part as a network, and its compiled routes.
fn prepare<'a>(part: &Arc<Part>, whole: &'a Network) -> (Cow<'a, Network>, Plan) {
    let network = part.network(whole);
    let numbers = Numbers::Part(Arc::clone(part), whole.flows.len() as u32);
    let plan = Plan::of_part(&network, numbers);
    (network, plan)
}

/// The outcome of the whole from those of its parts.
fn together(end: u64, parts: Vec<(Arc<Part>, Outcome)>, network: &Network) -> Outcome {
    let mut flows: Vec<Option<FlowOutcome>> = network.flows.iter().map(|_| None).collect();
    let mut links: Vec<Option<LinkOutcome>> = network.links.iter().map(|_| None).collect();
    for (part, outcome) in parts {
        part.flows.iter().zip(outcome.flows).for_each(|(&number, flow)| flows[number] = Some(flow));
        part.links.iter().zip(outcome.links).for_each(|(&number, link)| links[number] = Some(link));
    }
    Outcome {
        end,
        flows: flows.into_iter().flatten().collect(),
        links: links.into_iter().flatten().collect(),
    }
}
