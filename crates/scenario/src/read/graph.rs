//! Graphs that the file lists: nodes, links, and names of nodes in flows.

use super::hop::{access, drops, hop, reorder, shaper, supply};
use super::values;
use crate::format;
use crate::limits;
use crate::model::{Graph, Link, Node, Packet};
use firstflight_document::{Error, Item, Problem, Table, nearest};

pub(super) fn graph_of(root: &Table<'_>, packet: Packet) -> Result<Graph, Error> {
    let mut names: Vec<&str> = vec![];
    let mut given = vec![];
    for item in root.tables("node", limits::NODES)? {
        let table = item.table(&format::NODE)?;
        let name = table.need("name")?;
        if names.contains(&name.name()?) {
            return Err(name.invalid("there is another node of this name"));
        }
        names.push(name.name()?);
        given.push(table);
    }
    let mut links = vec![];
    for item in root.tables("link", limits::LINKS)? {
        link(&item.table(&format::LINK)?, packet, &names, &mut links)?;
        if links.len() > limits::LINKS {
            return Err(item.invalid(format!("more than {} links", limits::LINKS)));
        }
    }
    let mut labels: Vec<_> = links.iter().map(|link| &link.name).collect();
    labels.sort();
    if let Some(pair) = labels.windows(2).find(|pair| pair[0] == pair[1]) {
        let why = format!("two links are named \"{}\"", pair[0]);
        return Err(root.invalid(why).expecting("a name for each"));
    }
    let mut nodes = vec![];
    for (index, (name, table)) in names.iter().zip(&given).enumerate() {
        let touching = links.iter().filter(|link| link.from == index || link.to == index);
        let Some(fastest) = touching.map(Link::fastest).max() else {
            return Err(table.invalid(format!("no link reaches or leaves \"{name}\"")));
        };
        let subnet = table.get("subnet").map(|item| item.name().map(String::from)).transpose()?;
        nodes.push(Node { name: (*name).into(), access_rate: access(table, fastest)?, subnet });
    }
    Ok(Graph { nodes, links })
}

fn link(table: &Table<'_>, packet: Packet, nodes: &[&str], links: &mut Vec<Link>) -> Result<(), Error> {
    let end = |key| find(&table.need(key)?, nodes);
    let (from, to) = (end("from")?, end("to")?);
    if from == to {
        return Err(table.need("to")?.invalid("a link leads from one node to another"));
    }
    let hop = hop(table, packet, None)?;
    let both = table.get("both").map_or(Ok(false), |item| item.flag())?;
    let back = if both { "-back" } else { "" };
    let name = table.get("name").map(|item| values::link_name(&item, back)).transpose()?;
    let (rate, trace) = supply(table)?;
    let there = Link {
        name: name.map_or_else(|| format!("{}-{}", nodes[from], nodes[to]), String::from),
        from,
        to,
        rate,
        trace,
        delay: table.need("delay")?.time()?,
        cost: table.get("cost").map_or(Ok(1), |item| item.integer())?,
        buffer: hop.buffer,
        shaper: shaper(table, packet, &hop.queue)?,
        queue: hop.queue,
        loss: hop.loss,
        loss_burst: hop.loss_burst,
        drop: drops(table)?,
        reorder: reorder(table)?,
    };
    if both {
        let other =
            name.map_or_else(|| format!("{}-{}", nodes[to], nodes[from]), |name| format!("{name}{back}"));
        links.push(Link { name: other, from: to, to: from, ..there.clone() });
        let last = links.len() - 1;
        links.insert(last, there);
    } else {
        links.push(there);
    }
    Ok(())
}

fn find(item: &Item<'_>, nodes: &[&str]) -> Result<usize, Error> {
    let name = item.name()?;
    nodes.iter().position(|node| *node == name).ok_or_else(|| {
        item.fail(Problem::UnknownName { what: "", name: name.into() })
            .expecting("the name of a [[node]]")
            .near(nearest(name, nodes.iter().copied()))
    })
}

/// Nodes of a name in a flow: the node of that name, or else all nodes of the subnets that have this name or begin with it.
pub(super) fn called(item: &Item<'_>, graph: &Graph) -> Result<Vec<usize>, Error> {
    let name = item.name()?;
    if let Some(node) = graph.nodes.iter().position(|node| node.name == name) {
        return Ok(vec![node]);
    }
    let within =
        |subnet: &str| subnet.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    let nodes = graph.nodes.iter().enumerate();
    let found: Vec<_> = nodes
        .filter(|(_, node)| node.subnet.as_deref().is_some_and(within))
        .map(|(index, _)| index)
        .collect();
    if found.is_empty() {
        let known = graph.nodes.iter().flat_map(|node| [Some(&node.name[..]), node.subnet.as_deref()]);
        return Err(item
            .fail(Problem::UnknownName { what: "", name: name.into() })
            .expecting("the name of a node or of a subnet")
            .near(nearest(name, known.flatten())));
    }
    Ok(found)
}
