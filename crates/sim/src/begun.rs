//! Runs with a common beginning, which is made once: up to the moment at which one of the flows begins.
//!
//! From there runs go on that differ in the flows that begin then or later, and in how much the others write. The times of the flows
//! that end are those of a run from the beginning.

use crate::config::{FlowConfig, Network};
use crate::engine::{Engine, Plan};
use crate::observe::NoObserver;

/// A run up to the moment at which one of its flows begins.
pub struct Begun {
    network: Network,
    plan: Plan,
    engine: Engine<'static, NoObserver>,
}

/// Times of a flow that has ended, nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times {
    /// Time at which the connection was established; `None` if it never was.
    pub start: Option<u64>,
    /// Duration of each finished write.
    pub completions: Vec<u64>,
}

impl Begun {
    /// Runs `network` until flow number `flow` begins. `None` if the run ends before, or if connections share state, in which
    /// the flow would have a part from the beginning.
    pub fn of(network: &Network, flow: usize) -> Option<Self> {
        let plan = Plan::for_times(network);
        let mut engine = Engine::new(network, &plan, None, NoObserver);
        let paused = !engine.shares_state() && engine.run_until_it_begins(flow as u32);
        let engine = engine.detached();
        paused.then(|| Self { network: network.clone(), plan, engine })
    }

    /// Times of each flow of `network`, or `None` for one that does not end. `None` for all if `network` does not begin as this
    /// run: another link, another path of a flow, another time at which one begins. Of the schemes of a flow that has begun only
    /// those of this run count.
    pub fn go_on(&self, network: &Network) -> Option<Vec<Option<Times>>> {
        if !self.begins(network) {
            return None;
        }
        let mut engine = self.engine.clone().over(&self.plan);
        engine.become_run_of(network);
        engine.run();
        // Stages have run ahead of the end: a connection whose life ended before it was open may be open by now.
        let end = engine.left_at();
        let times = engine.flows.iter().map(|flow| &flow.sender).map(|sender| {
            let start = sender.app().established_at().filter(|&at| at <= end);
            let completions = sender.app().completions().to_vec();
            sender.finished().then_some(Times { start, completions })
        });
        Some(times.collect())
    }

    /// Whether `network` has the links and paths of this run, and what has been sent is part of what its flows write.
    fn begins(&self, network: &Network) -> bool {
        let own = &self.network;
        let common = |network: &Network| (network.seed, network.until_finished, network.flows.len());
        let flows = || self.engine.flows.iter().zip(own.flows.iter().zip(&network.flows));
        common(own) == common(network)
            && own.links == network.links
            && own.udp == network.udp
            && flows().all(|(_, (own, other))| is_alike(own, other))
            && flows().all(|(flow, (own, other))| !flow.has_begun() || flow.may_write(&own.app, &other.app))
    }
}

/// Whether packets of both take the same ways from the same time on.
fn is_alike(own: &FlowConfig, other: &FlowConfig) -> bool {
    // The run ends with the last flow that does, of itself or by its lifetime.
    let of = |flow: &FlowConfig| {
        let FlowConfig { header, ack_size, app, .. } = flow;
        (*header, *ack_size, app.start, app.bytes.is_some(), app.lifetime.is_some())
    };
    of(own) == of(other) && own.forward == other.forward && own.reverse == other.reverse
}
