//! The endpoints of traffic: the direction on a dumbbell, or the nodes of a graph.

use super::graph::called;
use super::topology::Traffic;
use crate::model::{Direction, Endpoints, Graph, Network};
use firstflight_document::{Error, Table};

/// Endpoints of a `[[flow]]`; in a graph, the topology has the defaults of `from` and `to`.
pub(super) fn endpoints(
    table: &Table<'_>,
    network: &Network,
    traffic: &Traffic<'_>,
) -> Result<Endpoints, Error> {
    match network {
        Network::Dumbbell(_) => direction(table).map(Endpoints::Path),
        Network::Graph(graph) => nodes(table, graph, traffic),
    }
}

fn direction(table: &Table<'_>) -> Result<Direction, Error> {
    if let Some(item) = table.get("from").or_else(|| table.get("to")) {
        return Err(item.invalid("a [path] has no nodes: use direction"));
    }
    table.get("direction").map_or(Ok(Direction::Forward), |item| item.choice(Direction::from_word))
}

fn nodes(table: &Table<'_>, graph: &Graph, traffic: &Traffic<'_>) -> Result<Endpoints, Error> {
    if let Some(item) = table.get("direction") {
        return Err(item.invalid("a graph has no direction: use from and to"));
    }
    let ends = |key, default: &[usize]| match table.get(key) {
        Some(item) => {
            let nodes =
                item.names()?.iter().map(|item| called(item, graph)).collect::<Result<Vec<_>, _>>()?;
            Ok(nodes.concat())
        }
        None if default.is_empty() => Err(table.missing(key)),
        None => Ok(default.to_vec()),
    };
    let (from, to) = (ends("from", &traffic.from)?, ends("to", &traffic.to)?);
    let pairs: Vec<(usize, usize)> = match (&from[..], &to[..]) {
        ([from], to) => to.iter().map(|to| (*from, *to)).collect(),
        (from, [to]) => from.iter().map(|from| (*from, *to)).collect(),
        (from, to) if from.len() == to.len() => from.iter().copied().zip(to.iter().copied()).collect(),
        (from, to) => {
            let why = format!("from has {} nodes and to has {}", from.len(), to.len());
            return Err(table.invalid(why).expecting("one node, or equal numbers"));
        }
    };
    for &(from, to) in &pairs {
        joined(table, graph, from, to)?;
    }
    Ok(match &pairs[..] {
        &[(from, to)] => Endpoints::Nodes { from, to },
        _ => Endpoints::Pairs(pairs),
    })
}

/// Refuses two nodes of which one does not reach the other.
fn joined(table: &Table<'_>, graph: &Graph, from: usize, to: usize) -> Result<(), Error> {
    let name = |node: usize| &graph.nodes[node].name;
    let unreachable = |from: usize, to: usize| {
        let why = format!("no links lead from \"{}\" to \"{}\"", name(from), name(to));
        Err(table.invalid(why))
    };
    match (from == to, graph.reaches(from, to), graph.reaches(to, from)) {
        (true, ..) => {
            let why = format!("its from and to are the same node, \"{}\"", name(from));
            Err(table.invalid(why).expecting("two nodes"))
        }
        (_, false, _) => unreachable(from, to),
        (_, _, false) => unreachable(to, from),
        _ => Ok(()),
    }
}
