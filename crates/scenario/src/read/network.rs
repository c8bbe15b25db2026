//! What the traffic crosses: a dumbbell, a graph, or a generated one.

use firstflight_control::units::{Nanos, Rate};

use crate::error::{Error, Problem, nearest};
use crate::format;
use crate::limits;
use crate::model::{Direction, Endpoints, Graph, Limit, Link, Network, Node, Packet, Path, Queue, Red};
use crate::source::{Item, Table};
use crate::trace::LinkTrace;

/// Access links are this much faster than what they lead to, where nothing else is said.
const ACCESS: u64 = 10;

/// What a parking lot has beyond its graph.
pub(super) struct ParkingLot<'a> {
    /// The flows that cross each hop.
    pub(super) cross: Option<Item<'a>>,
}

pub(super) fn read<'a>(root: &Table<'a>, packet: Packet) -> Result<(Network, Option<ParkingLot<'a>>), Error> {
    let graph = root.get("node").or_else(|| root.get("link"));
    match (root.get("path"), root.get("topology"), graph) {
        (Some(path), None, None) => {
            Ok((Network::Dumbbell(dumbbell(&path.table(&format::PATH)?, packet)?), None))
        }
        (None, Some(topology), None) => {
            let (graph, lot) = parking_lot(&topology.table(&format::TOPOLOGY)?, packet)?;
            Ok((Network::Graph(graph), Some(lot)))
        }
        (None, None, Some(_)) => Ok((Network::Graph(graph_of(root, packet)?), None)),
        (None, None, None) => Err(root.fail(
            Problem::Impossible("nothing says what the traffic crosses".into()),
            Some("[path], [topology], or [[node]] and [[link]]".into()),
        )),
        (_, Some(second), None) | (_, _, Some(second)) => Err(second
            .impossible("the network is described twice")
            .with_value(None)
            .expecting(Some("only one of [path], [topology], and [[node]] with [[link]]".into()))),
    }
}

/// The names of a graph's nodes.
pub(super) fn nodes(network: &Network) -> &[Node] {
    match network {
        Network::Dumbbell(_) => &[],
        Network::Graph(graph) => &graph.nodes,
    }
}

fn dumbbell(table: &Table<'_>, packet: Packet) -> Result<Path, Error> {
    let (rate, trace) = supply(table)?;
    let rtt = table.need("rtt")?.time()?;
    let hop = hop(table, packet, Some(rate.bytes_in(rtt)))?;
    let fastest = trace.as_ref().map_or(rate, |trace| trace.schedule.fastest());
    Ok(Path {
        rate,
        trace,
        rtt,
        buffer: hop.buffer,
        queue: hop.queue,
        loss: hop.loss,
        access_rate: access(table, fastest)?,
    })
}

/// A rate, or the trace in its place with its mean.
fn supply(table: &Table<'_>) -> Result<(Rate, Option<LinkTrace>), Error> {
    let Some(item) = table.get("trace") else { return Ok((table.need("rate")?.rate()?, None)) };
    item.text()?;
    if table.get("rate").is_some() {
        return Err(item
            .impossible("what the rate is is said twice")
            .expecting(Some("only one of rate and trace".into())));
    }
    let trace = item.trace()?;
    Ok((trace.schedule.mean(), Some(trace)))
}

fn access(table: &Table<'_>, fastest: Rate) -> Result<Rate, Error> {
    table.get("access_rate").map_or(Ok(Rate(fastest.0 * ACCESS)), |item| item.rate())
}

/// What a bottleneck, a hop and a link have in common.
struct Hop {
    buffer: Limit,
    queue: Queue,
    loss: f64,
}

fn hop(table: &Table<'_>, packet: Packet, bdp: Option<u64>) -> Result<Hop, Error> {
    Ok(Hop {
        buffer: table.need("buffer")?.buffer(packet.size, bdp)?,
        queue: table.get("queue").map_or(Ok(Queue::DropTail), |item| queue(&item, packet, bdp))?,
        loss: table.get("loss").map_or(Ok(0.0), |item| item.number())?,
    })
}

fn queue(item: &Item<'_>, packet: Packet, bdp: Option<u64>) -> Result<Queue, Error> {
    if item.value.as_table().is_none() {
        return match item.word()? {
            "drop-tail" => Ok(Queue::DropTail),
            _ => match bdp {
                Some(bdp) => checked(Red::for_bdp(packets(bdp, packet)), item).map(Queue::Red),
                None => Err(item.impossible("on a single link RED needs min and max: give them in a table")),
            },
        };
    }
    let table = item.table(&format::QUEUE)?;
    if table.need("kind")?.word()? == "drop-tail" {
        return match ["min", "max", "weight", "max_p", "gentle", "ecn"].iter().find_map(|key| table.get(key))
        {
            Some(item) => Err(item.impossible("drop-tail has no parameters")),
            None => Ok(Queue::DropTail),
        };
    }
    let threshold = |key, default: Option<f64>| match (table.get(key), default) {
        (Some(item), _) => item.threshold(packet.size, bdp),
        (None, Some(default)) => Ok(default),
        (None, None) => Err(table.missing(key)),
    };
    let usual = bdp.map(|bdp| Red::for_bdp(packets(bdp, packet)));
    let rest = Red::for_bdp(0.0);
    let red = Red {
        min: threshold("min", usual.map(|red| red.min))?,
        max: threshold("max", usual.map(|red| red.max))?,
        weight: table.get("weight").map_or(Ok(rest.weight), |item| item.number())?,
        max_p: table.get("max_p").map_or(Ok(rest.max_p), |item| item.number())?,
        gentle: table.get("gentle").map_or(Ok(rest.gentle), |item| item.flag())?,
        ecn: table.get("ecn").map_or(Ok(rest.ecn), |item| item.flag())?,
    };
    checked(red, item).map(Queue::Red)
}

fn packets(bytes: u64, packet: Packet) -> f64 {
    bytes as f64 / f64::from(packet.size)
}

fn checked(red: Red, item: &Item<'_>) -> Result<Red, Error> {
    if red.min < red.max {
        return Ok(red);
    }
    Err(item.impossible(format!("RED's max ({} packets) is not above its min ({})", red.max, red.min)))
}

fn graph_of(root: &Table<'_>, packet: Packet) -> Result<Graph, Error> {
    let mut names: Vec<&str> = vec![];
    let mut given = vec![];
    for item in root.tables("node", limits::NODES)? {
        let table = item.table(&format::NODE)?;
        let name = table.need("name")?;
        if names.contains(&name.name()?) {
            return Err(name.impossible("there is another node of this name"));
        }
        names.push(name.name()?);
        given.push(table);
    }
    let mut links = vec![];
    for item in root.tables("link", limits::LINKS)? {
        link(&item.table(&format::LINK)?, packet, &names, &mut links)?;
        if links.len() > limits::LINKS {
            return Err(item.impossible(format!("more than {} links", limits::LINKS)));
        }
    }
    let mut labels: Vec<_> = links.iter().map(|link| &link.name).collect();
    labels.sort();
    if let Some(pair) = labels.windows(2).find(|pair| pair[0] == pair[1]) {
        let why = format!("two links are named \"{}\"", pair[0]);
        return Err(root.fail(Problem::Impossible(why), Some("a name for each".into())));
    }
    let mut nodes = vec![];
    for (index, (name, table)) in names.iter().zip(&given).enumerate() {
        let touching = links.iter().filter(|link| link.from == index || link.to == index);
        let Some(fastest) = touching.map(Link::fastest).max() else {
            return Err(
                table.fail(Problem::Impossible(format!("no link reaches or leaves \"{name}\"")), None)
            );
        };
        nodes.push(Node { name: (*name).into(), access_rate: access(table, fastest)? });
    }
    Ok(Graph { nodes, links })
}

fn link(table: &Table<'_>, packet: Packet, nodes: &[&str], links: &mut Vec<Link>) -> Result<(), Error> {
    let end = |key| find(&table.need(key)?, nodes);
    let (from, to) = (end("from")?, end("to")?);
    if from == to {
        return Err(table.need("to")?.impossible("a link leads from one node to another"));
    }
    let hop = hop(table, packet, None)?;
    let name = table.get("name").map(|item| item.name()).transpose()?;
    let (rate, trace) = supply(table)?;
    let there = Link {
        name: name.map_or_else(|| format!("{}-{}", nodes[from], nodes[to]), String::from),
        from,
        to,
        rate,
        trace,
        delay: table.need("delay")?.time()?,
        buffer: hop.buffer,
        queue: hop.queue,
        loss: hop.loss,
    };
    if table.get("both").map_or(Ok(false), |item| item.flag())? {
        let back =
            name.map_or_else(|| format!("{}-{}", nodes[to], nodes[from]), |name| format!("{name}-back"));
        links.push(Link { name: back, from: to, to: from, ..there.clone() });
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
        item.fail(Problem::UnknownName(name.into()))
            .expecting(Some("the name of a [[node]]".into()))
            .near(nearest(name, nodes.iter().copied()))
    })
}

fn parking_lot<'a>(table: &Table<'a>, packet: Packet) -> Result<(Graph, ParkingLot<'a>), Error> {
    table.need("kind")?.word()?;
    let hops = table.need("hops")?.integer()?;
    let rate = table.need("rate")?.rate()?;
    let rtt = table.need("rtt")?.time()?;
    let shared = hop(table, packet, Some(rate.bytes_in(rtt)))?;
    let access_rate = access(table, rate)?;
    let nodes = (0..=hops).map(|i| Node { name: format!("r{i}"), access_rate }).collect();
    // An odd RTT has its last nanosecond on the way back, and what the hops do not share evenly goes to the
    // later ones, so that the whole is exact.
    let there = Nanos(rtt.0 / 2);
    let share = |way: Nanos, i: u64| {
        let upto = |n: u64| (u128::from(way.0) * u128::from(n) / u128::from(hops)) as u64;
        Nanos(upto(i + 1) - upto(i))
    };
    let links = (0..hops).flat_map(|i| {
        let (near, far) = (i as usize, i as usize + 1);
        [(near, far, share(there, i)), (far, near, share(rtt - there, i))]
    });
    let links = links.map(|(from, to, delay)| Link {
        name: format!("r{from}-r{to}"),
        from,
        to,
        rate,
        trace: None,
        delay,
        buffer: shared.buffer,
        queue: shared.queue.clone(),
        loss: shared.loss,
    });
    Ok((Graph { nodes, links: links.collect() }, ParkingLot { cross: table.get("cross") }))
}

/// Where the traffic of a `[[flow]]` or `[[udp]]` runs.
pub(super) fn endpoints(
    table: &Table<'_>,
    network: &Network,
    parking_lot: Option<&ParkingLot<'_>>,
) -> Result<Endpoints, Error> {
    let graph = match network {
        Network::Dumbbell(_) => {
            if let Some(item) = table.get("from").or_else(|| table.get("to")) {
                return Err(item.impossible("a [path] has no nodes to name: direction says which way"));
            }
            return Ok(Endpoints::Path(
                match table.get("direction").map(|item| item.word()).transpose()? {
                    Some("reverse") => Direction::Reverse,
                    _ => Direction::Forward,
                },
            ));
        }
        Network::Graph(graph) => graph,
    };
    if let Some(item) = table.get("direction") {
        return Err(item.impossible("in a graph, from and to say which way"));
    }
    let names: Vec<_> = graph.nodes.iter().map(|node| &node.name[..]).collect();
    let end = |key, default| match (table.get(key), parking_lot) {
        (Some(item), _) => find(&item, &names),
        (None, Some(_)) => Ok(default),
        (None, None) => Err(table.missing(key)),
    };
    let (from, to) = (end("from", 0)?, end("to", names.len() - 1)?);
    let unreachable = |from: usize, to: usize| {
        let why = format!("no links lead from \"{}\" to \"{}\"", names[from], names[to]);
        table.fail(Problem::Impossible(why), None)
    };
    match (from == to, graph.reaches(from, to), graph.reaches(to, from)) {
        (true, ..) => Err(table.fail(
            Problem::Impossible(format!("it begins and ends at \"{}\"", names[from])),
            Some("two nodes".into()),
        )),
        (_, false, _) => Err(unreachable(from, to)),
        (_, _, false) => Err(unreachable(to, from)),
        _ => Ok(Endpoints::Nodes { from, to }),
    }
}
