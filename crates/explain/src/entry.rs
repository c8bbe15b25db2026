//! The way to the bottleneck, on which packets are lost that no queue drops: at random, or by number as a capture shows it.
//!
//! A lost packet takes no time of the bottleneck, wherever a path loses it.

use std::sync::Arc;

use firstflight_contract::{Nanos, Rate};
use firstflight_scenario::{Endpoints, Graph, Limit, Link, Network, Node, Queue, Scenario};

use crate::loss::RandomLoss;

/// A queue that is never full.
pub(crate) const UNLIMITED: Limit = Limit::Packets(1_000_000);

/// Rate of the way, bit/s: a packet takes no time there.
const RATE: Rate = Rate(100_000_000_000);

/// A link between two nodes that loses no packet but by its buffer.
pub(crate) fn link(name: &str, [from, to]: [usize; 2], rate: Rate, delay: Nanos, buffer: Limit) -> Link {
    Link {
        name: name.into(),
        from,
        to,
        rate,
        trace: None,
        delay,
        cost: 1,
        buffer,
        queue: Queue::DropTail,
        loss: 0.0,
        loss_burst: 1.0,
        drop: Arc::default(),
        reorder: None,
        shaper: None,
    }
}

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

fn graph(scenario: &mut Scenario) -> &mut Graph {
    let Network::Graph(graph) = &mut scenario.network else { unreachable!("a path is a graph") };
    graph
}

/// Puts a link before the bottleneck, the first link, that only the transfer takes.
fn enter(scenario: &mut Scenario, set: impl FnOnce(&mut Link)) {
    let graph = graph(scenario);
    let entry = graph.nodes.len();
    graph.nodes.push(Node { name: "entry".into(), access_rate: RATE, subnet: None });
    let bottleneck = &mut graph.links[0];
    let mut way = link("entry", [bottleneck.from, entry], RATE, Nanos::ZERO, UNLIMITED);
    set(&mut way);
    bottleneck.from = entry;
    let to = bottleneck.to;
    graph.links.push(way);
    for flow in &mut scenario.flows[1..] {
        flow.endpoints = Endpoints::Nodes { from: entry, to };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::PathKind;
    use crate::recognised::{SEED, base};
    use crate::rerun::{Transfer, run};
    use firstflight_capture::Source;
    use firstflight_hosts::simulator::Simulator;
    use firstflight_scenario::{Candidate, limits};

    #[test]
    fn the_packets_with_the_given_numbers_are_lost_and_no_others() {
        // A buffer of five packets drops some by itself.
        let scenario = || {
            PathKind::DropTail.model().scenario(&[8e6, 0.05, 5.0], &base(300_000), Some(Nanos::ZERO), SEED)
        };
        let sender = Candidate::parse("slow-start+reno").expect("a scheme");
        let transfer =
            Transfer { bytes: 300_000, acked: 300_000, source: Source::Segments, longest: limits::RUN };
        let dropped =
            |scenario| run(&Simulator, scenario, &sender, &transfer, SEED).expect("it ran").dropped();
        assert!(!dropped(scenario()).is_empty());
        for numbers in [&[][..], &[3, 17, 18, 60]] {
            let mut own = scenario();
            forced(&mut own, &Arc::from(numbers));
            assert_eq!(dropped(own), numbers);
        }
    }
}
