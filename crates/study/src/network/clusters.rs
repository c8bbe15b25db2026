//! Which flows share a bottleneck.

use firstflight_scenario::{Direction, Endpoints, FlowGroup, Network};

/// What a host would know of where a flow goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Flows of equal cluster share a bottleneck: what the scenario calls it, or else the way that the topology tells: which
    /// way across a dumbbell (`>forward`), from one node or subnet to one node or subnet in a graph (`s>c/`).
    pub cluster: String,
    /// The receiving host: flows of equal number go to the same one. In a dumbbell, one for each direction.
    pub destination: usize,
}

impl Site {
    /// Of a flow of `group` with these ends, which are one flow's.
    pub(super) fn of(network: &Network, group: &FlowGroup, ends: &Endpoints) -> Self {
        let (told, destination) = match (network, ends) {
            (_, Endpoints::Path(Direction::Forward)) => (">forward".into(), 0),
            (_, Endpoints::Path(Direction::Reverse)) => (">reverse".into(), 1),
            (Network::Graph(graph), &Endpoints::Nodes { from, to }) => {
                // No name contains what is added to it: a subnet is never taken for a node, nor this for a name given.
                let place = |node: usize| match &graph.nodes[node].subnet {
                    Some(subnet) => format!("{subnet}/"),
                    None => graph.nodes[node].name.clone(),
                };
                (format!("{}>{}", place(from), place(to)), to)
            }
            _ => unreachable!("the ends of one flow, and of the kind that the network has"),
        };
        Self { cluster: group.cluster.clone().unwrap_or(told), destination }
    }
}
