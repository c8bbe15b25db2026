//! The network of a path while its kind makes it: a link to the receiver, and one back.

use std::sync::Arc;

use firstflight_contract::{Nanos, Rate};
use firstflight_random::Stream;
use firstflight_scenario::{
    Endpoints, FlowGroup, Graph, Limit, Link, LinkTrace, Network, Node, Scenario, Schedule, Start, limits,
};

use crate::entry::{UNLIMITED, link};
use crate::range::whole;

/// The transfer for which a path is made.
pub(super) struct Base<'a> {
    pub(super) scenario: &'a Scenario,
    /// Time from the handshake to the first data; `None` if it is to be drawn.
    pub(super) late: Option<Nanos>,
    /// Draws what differs from one transfer to the next.
    pub(super) seed: u64,
}

impl Base<'_> {
    /// Size of a full packet, bytes.
    pub(super) fn packet(&self) -> f64 {
        f64::from(self.scenario.packet.size)
    }

    /// Size of an acknowledgement, bytes.
    pub(super) fn ack(&self) -> f64 {
        f64::from(self.scenario.packet.ack(self.scenario.flows[0].profile))
    }

    /// Draws of the state in which the transfer finds the path.
    pub(super) fn start(&self) -> Stream {
        Stream::named(self.seed, "start")
    }
}

/// The network of a path.
pub(super) struct Draft {
    pub(super) forward: Link,
    pub(super) back: Link,
    /// Start of the transfer.
    pub(super) begin: Nanos,
    /// Flows beside the transfer.
    pub(super) others: Option<FlowGroup>,
}

impl Draft {
    /// A constant rate in both directions, bit/s, a drop-tail queue of `buffer` in the forward one, and a propagation of `rtt` seconds.
    pub(super) fn new(line: f64, rtt: f64, buffer: Limit) -> Self {
        let rate = rate(line);
        let one_way = Nanos(whole(rtt * 1e9 / 2.0, limits::DELAY.0));
        let forward = link("bottleneck", [0, 1], rate, one_way, buffer);
        let back = link("return", [1, 0], rate, one_way, UNLIMITED);
        Self { forward, back, begin: Nanos::ZERO, others: None }
    }

    /// The scenario on this network.
    pub(super) fn scenario(self, base: &Scenario) -> Scenario {
        let Self { forward, back, begin, others } = self;
        let mut scenario = base.clone();
        scenario.flows.extend(others);
        for flow in &mut scenario.flows {
            flow.endpoints = Endpoints::Nodes { from: 0, to: 1 };
        }
        scenario.flows[0].start = Start::At(begin);
        let node = |name: &str| Node { name: name.into(), access_rate: Rate(100_000_000_000), subnet: None };
        let graph = Graph { nodes: vec![node("sender"), node("receiver")], links: vec![forward, back] };
        scenario.network = Network::Graph(graph);
        scenario
    }
}

/// A rate in whole bits per second.
pub(super) fn rate(bit_s: f64) -> Rate {
    Rate(whole(bit_s, limits::RATE.0))
}

/// A queue of whole packets.
pub(super) fn packets(count: f64) -> Limit {
    Limit::Packets(whole(count, limits::PACKETS))
}

/// Depth of a bucket, bytes: a full packet at least.
pub(super) fn bucket(bytes: f64, packet: f64) -> u64 {
    whole(bytes.max(packet), u64::MAX / 2)
}

/// A trace that comes from no file.
pub(super) fn trace(name: &str, schedule: Schedule) -> LinkTrace {
    let (file, schedule) = (name.into(), Arc::new(schedule));
    LinkTrace { file, sha256: String::new(), columns: Box::default(), schedule }
}
