//! Networks: links, nodes and buffers.

use std::sync::Arc;

use firstflight_contract::{Nanos, Rate};

use super::{Queue, Reorder, Shaper};
use crate::trace::LinkTrace;

/// A network.
#[derive(Clone, Debug, PartialEq)]
pub enum Network {
    /// `[path]`: one bottleneck in each direction, every flow with access links of its own.
    Dumbbell(Path),
    /// `[[node]]` and `[[link]]`, or the graph of a `[topology]`.
    Graph(Graph),
}

/// A dumbbell.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Bottleneck rate, each direction; of a trace, its mean.
    pub rate: Rate,
    /// Rate over time, if it varies.
    pub trace: Option<LinkTrace>,
    /// Two-way propagation of the whole path, without queueing and serialisation.
    pub rtt: Nanos,
    /// Room for waiting packets, without the one in transmission.
    pub buffer: Limit,
    /// Queueing discipline of the bottleneck.
    pub queue: Queue,
    /// Token bucket for which the packets of the queue wait, if any.
    pub shaper: Option<Shaper>,
    /// Share of the packets that the bottleneck loses at random.
    pub loss: f64,
    /// Mean number of packets in a run of such losses; 1 for independent losses.
    pub loss_burst: f64,
    /// Numbers of the packets with data of each flow that are lost, ascending; empty if none.
    pub drop: Arc<[u32]>,
    /// Overtaking among the packets behind the line, if any.
    pub reorder: Option<Reorder>,
    /// Rate of each flow's own access links.
    pub access_rate: Rate,
}

impl Path {
    /// The bandwidth-delay product in bytes, rounded down.
    pub const fn bdp(&self) -> u64 {
        self.rate.bytes_in(self.rtt)
    }
}

/// Any directed graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Nodes; other fields refer to a node by its index.
    pub nodes: Vec<Node>,
    /// One-way links.
    pub links: Vec<Link>,
}

impl Graph {
    /// Whether links lead from node `from` to node `to`.
    pub fn reaches(&self, from: usize, to: usize) -> bool {
        // The links that leave a node form a list: the last link, and for each link the one before it.
        let mut last = vec![None; self.nodes.len()];
        let links = self.links.iter().enumerate();
        let before: Vec<Option<usize>> =
            links.map(|(number, link)| last[link.from].replace(number)).collect();
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            if node == to {
                return true;
            }
            // A visited node has no links left.
            let mut leaving = last[node].take();
            while let Some(link) = leaving {
                open.push(self.links[link].to);
                leaving = before[link];
            }
        }
        false
    }
}

/// A node of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name.
    pub name: String,
    /// Rate of the access links of flows to the node; they have no delay.
    pub access_rate: Rate,
    /// Subnet: traffic from one subnet to another shares a bottleneck.
    pub subnet: Option<String>,
}

/// One direction between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Name in results.
    pub name: String,
    /// Index of the node that the link leaves.
    pub from: usize,
    /// Index of the node that the link reaches.
    pub to: usize,
    /// Rate; of a trace, its mean.
    pub rate: Rate,
    /// Rate over time, if it varies.
    pub trace: Option<LinkTrace>,
    /// One-way propagation.
    pub delay: Nanos,
    /// Cost of a path over the link; flows take the path of least cost.
    pub cost: u64,
    /// Room for waiting packets, without the one in transmission.
    pub buffer: Limit,
    /// Queueing discipline.
    pub queue: Queue,
    /// Token bucket for which the packets of the queue wait, if any.
    pub shaper: Option<Shaper>,
    /// Share of the packets that the link loses at random.
    pub loss: f64,
    /// Mean number of packets in a run of such losses; 1 for independent losses.
    pub loss_burst: f64,
    /// Numbers of the packets with data of each flow that are lost, ascending; empty if none.
    pub drop: Arc<[u32]>,
    /// Overtaking among the packets behind the line, if any.
    pub reorder: Option<Reorder>,
}

impl Link {
    /// Highest rate.
    pub fn fastest(&self) -> Rate {
        self.trace.as_ref().map_or(self.rate, |trace| trace.schedule.fastest())
    }
}

/// Size of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Packets of any size; at least 1.
    Packets(u64),
    /// Bytes on the wire; at least one full packet.
    Bytes(u64),
}
