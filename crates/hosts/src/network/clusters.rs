//! Grouping of flows that share a bottleneck.

use firstflight_scenario::{Direction, Endpoints, FlowGroup, Network};

/// Destination and bottleneck of a flow, as far as a host would know them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Flows with the same cluster share a bottleneck. It is the scenario's name for the cluster, or else
    /// derived from the topology: the direction across a dumbbell (`>forward`), or the pair of nodes or
    /// subnets in a graph (`s>c/`).
    pub cluster: String,
    /// Receiving host: flows with the same number have the same one. In a dumbbell, one per direction.
    pub destination: usize,
}

impl Site {
    /// Site of a flow of `group` between these two ends.
    pub(super) fn of(network: &Network, group: &FlowGroup, ends: &Endpoints) -> Self {
        let (derived, destination) = match (network, ends) {
            (_, Endpoints::Path(Direction::Forward)) => (">forward".into(), 0),
            (_, Endpoints::Path(Direction::Reverse)) => (">reverse".into(), 1),
            (Network::Graph(graph), &Endpoints::Nodes { from, to }) => {
                // Names cannot contain the added characters, so a subnet is never confused with a node or a
                // given name.
                let place = |node: usize| match &graph.nodes[node].subnet {
                    Some(subnet) => format!("{subnet}/"),
                    None => graph.nodes[node].name.clone(),
                };
                (format!("{}>{}", place(from), place(to)), to)
            }
            (Network::Dumbbell(_), Endpoints::Nodes { .. }) | (_, Endpoints::Pairs(_)) => {
                unreachable!("the endpoints of one flow match the kind of network")
            }
        };
        Self { cluster: group.cluster.clone().unwrap_or(derived), destination }
    }
}
