//! What the traffic crosses: links, nodes, and how much they hold.

use firstflight_contract::{Nanos, Rate};

use super::Queue;
use crate::trace::LinkTrace;

/// What the traffic crosses.
#[derive(Clone, Debug, PartialEq)]
pub enum Network {
    /// `[path]`: one bottleneck in each direction, every flow with access links of its own.
    Dumbbell(Path),
    /// `[[node]]` and `[[link]]`, or what a `[topology]` generated.
    Graph(Graph),
}

/// A dumbbell.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Bottleneck rate, each direction; the mean where there is a trace.
    pub rate: Rate,
    /// What the rate is, where it changes with time.
    pub trace: Option<LinkTrace>,
    /// Two-way propagation of the whole path, without queueing and serialisation.
    pub rtt: Nanos,
    /// Room for packets that wait, the one in transmission not counted.
    pub buffer: Limit,
    /// The bottleneck's discipline.
    pub queue: Queue,
    /// Chance that the bottleneck loses a packet, each independently.
    pub loss: f64,
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
    /// Its nodes; elsewhere a node is its index here.
    pub nodes: Vec<Node>,
    /// One-way links.
    pub links: Vec<Link>,
}

impl Graph {
    /// Whether links lead from node `from` to node `to`.
    pub fn reaches(&self, from: usize, to: usize) -> bool {
        // The links that leave a node are a list: the last of them, and in front of each the one before it.
        let mut last = vec![None; self.nodes.len()];
        let links = self.links.iter().enumerate();
        let before: Vec<Option<usize>> =
            links.map(|(number, link)| last[link.from].replace(number)).collect();
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            if node == to {
                return true;
            }
            // A node seen again has none left.
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
    /// Its name.
    pub name: String,
    /// Rate of the access links by which the endpoints of flows reach it, without delay.
    pub access_rate: Rate,
    /// The subnet it belongs to: what comes from one and goes to one shares a bottleneck.
    pub subnet: Option<String>,
}

/// One direction between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name in results.
    pub name: String,
    /// Index of the node it leaves.
    pub from: usize,
    /// Index of the node it reaches.
    pub to: usize,
    /// Its rate; the mean where there is a trace.
    pub rate: Rate,
    /// What the rate is, where it changes with time.
    pub trace: Option<LinkTrace>,
    /// One-way propagation.
    pub delay: Nanos,
    /// What a path over it costs; flows take the cheapest.
    pub cost: u64,
    /// Room for packets that wait, the one in transmission not counted.
    pub buffer: Limit,
    /// Its discipline.
    pub queue: Queue,
    /// Chance that it loses a packet, each independently.
    pub loss: f64,
}

impl Link {
    /// Its highest rate.
    pub fn fastest(&self) -> Rate {
        self.trace.as_ref().map_or(self.rate, |trace| trace.schedule.fastest())
    }
}

/// How much a buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Counted in packets, whatever their size. At least 1.
    Packets(u64),
    /// Counted in bytes on the wire. At least one full packet.
    Bytes(u64),
}
