//! The way to the bottleneck, on which packets are lost that no queue drops: at random, or by number as a capture shows it.
//!
//! A lost packet takes no time of the bottleneck, wherever a path loses it.

use std::sync::Arc;

use firstflight_contract::{Nanos, Rate};
use firstflight_scenario::{Endpoints, Limit, Link, Network, Node, Queue, Scenario};

use crate::loss::RandomLoss;

/// A queue that is never full.
pub(crate) const UNLIMITED: Limit = Limit::Packets(1_000_000);

/// Rate of the way, bit/s: a packet takes no time there.
const RATE: Rate = Rate(100_000_000_000);

/// Packets are lost at random.
pub(crate) fn lose(scenario: &mut Scenario, loss: RandomLoss) {
    enter(scenario, |link| (link.loss, link.loss_burst) = (loss.probability, loss.burst.max(1.0)));
}

/// The packets of data with these numbers are lost, and no others: the bottleneck has room for all, and no rule.
pub(crate) fn forced(scenario: &mut Scenario, dropped: &Arc<[u32]>) {
    let bottleneck = &mut graph(scenario).links[0];
    (bottleneck.queue, bottleneck.buffer) = (Queue::DropTail, UNLIMITED);
    if !dropped.is_empty() {
        enter(scenario, |link| link.drop = Arc::clone(dropped));
    }
}

fn graph(scenario: &mut Scenario) -> &mut firstflight_scenario::Graph {
    let Network::Graph(graph) = &mut scenario.network else { unreachable!("a path is a graph") };
    graph
}

/// Puts a link before the bottleneck, the first link, that only the transfer takes.
fn enter(scenario: &mut Scenario, set: impl FnOnce(&mut Link)) {
    let graph = graph(scenario);
    let entry = graph.nodes.len();
    graph.nodes.push(Node { name: "entry".into(), access_rate: RATE, subnet: None });
    let bottleneck = &mut graph.links[0];
    let mut way = Link {
        name: "entry".into(),
        from: bottleneck.from,
        to: entry,
        rate: RATE,
        trace: None,
        delay: Nanos::ZERO,
        cost: 1,
        buffer: UNLIMITED,
        queue: Queue::DropTail,
        loss: 0.0,
        loss_burst: 1.0,
        drop: Arc::default(),
        reorder: None,
        shaper: None,
    };
    set(&mut way);
    bottleneck.from = entry;
    let to = bottleneck.to;
    graph.links.push(way);
    for flow in &mut scenario.flows[1..] {
        flow.endpoints = Endpoints::Nodes { from: entry, to };
    }
}
