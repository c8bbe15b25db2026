//! What the traffic crosses: a dumbbell, a graph, or a generated one.

use firstflight_contract::Rate;

use super::graph::{called, graph_of};
use super::topology::{self, Traffic};
use crate::error::{Error, Problem};
use crate::format;
use crate::model::{
    Codel, Direction, Endpoints, FqCodel, Graph, Limit, Network, Packet, Path, Queue, Red, Router,
};
use crate::source::{Item, Table};
use crate::trace::LinkTrace;

/// Access links are this much faster than what they lead to, where nothing else is said.
const ACCESS: u64 = 10;

pub(super) fn read<'a>(root: &Table<'a>, packet: Packet) -> Result<(Network, Traffic<'a>), Error> {
    let graph = root.get("node").or_else(|| root.get("link"));
    match (root.get("path"), root.get("topology"), graph) {
        (Some(path), None, None) => {
            Ok((Network::Dumbbell(dumbbell(&path.table(&format::PATH)?, packet)?), Traffic::default()))
        }
        (None, Some(topology), None) => {
            let (graph, traffic) = topology::read(&topology, packet)?;
            Ok((Network::Graph(graph), traffic))
        }
        (None, None, Some(_)) => Ok((Network::Graph(graph_of(root, packet)?), Traffic::default())),
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
pub(super) fn supply(table: &Table<'_>) -> Result<(Rate, Option<LinkTrace>), Error> {
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

pub(super) fn access(table: &Table<'_>, fastest: Rate) -> Result<Rate, Error> {
    table.get("access_rate").map_or(Ok(Rate(fastest.0 * ACCESS)), |item| item.rate())
}

/// What a bottleneck, a hop and a link have in common.
pub(super) struct Hop {
    pub(super) buffer: Limit,
    pub(super) queue: Queue,
    pub(super) loss: f64,
}

pub(super) fn hop(table: &Table<'_>, packet: Packet, bdp: Option<u64>) -> Result<Hop, Error> {
    table.need("buffer")?;
    hop_or(table, packet, bdp, Limit::Packets(1))
}

/// The same where a buffer that is not given is `usual`; `loss` and `queue` as everywhere.
pub(super) fn hop_or(
    table: &Table<'_>,
    packet: Packet,
    bdp: Option<u64>,
    usual: Limit,
) -> Result<Hop, Error> {
    Ok(Hop {
        buffer: table.get("buffer").map_or(Ok(usual), |item| item.buffer(packet.size, bdp))?,
        queue: table.get("queue").map_or(Ok(Queue::DropTail), |item| queue(&item, packet, bdp))?,
        loss: table.get("loss").map_or(Ok(0.0), |item| item.number())?,
    })
}

fn queue(item: &Item<'_>, packet: Packet, bdp: Option<u64>) -> Result<Queue, Error> {
    let table = item.value.as_table().map(|_| item.table(&format::QUEUE)).transpose()?;
    let kind = match &table {
        Some(table) => table.need("kind")?.word()?,
        None => item.word()?,
    };
    let given = |key: &&str| table.as_ref().and_then(|table| table.get(key));
    let own = format::QUEUE_KEYS.iter().find(|(other, _)| *other == kind).map_or(&[][..], |(_, keys)| keys);
    let others = format::QUEUE_KEYS.iter().flat_map(|(_, keys)| *keys).filter(|key| !own.contains(key));
    if let Some(item) = others.filter_map(&given).next() {
        let what = if own.is_empty() { "parameters" } else { "such parameter" };
        return Err(item.impossible(format!("{kind} has no {what}")));
    }
    if let Some(mut router) = Router::by_label(kind) {
        for (name, value) in router.params() {
            if let Some(item) = given(&name) {
                *value = item.number()?;
            }
        }
        return Ok(Queue::Router(router));
    }
    match kind {
        "drop-tail" => Ok(Queue::DropTail),
        "priority" => Ok(Queue::Priority),
        "choke" => red(item, table.as_ref(), packet, bdp).map(Queue::Choke),
        "codel" => codel(table.as_ref()).map(Queue::Codel),
        "fq-codel" => fq_codel(table.as_ref()).map(Queue::FqCodel),
        _ => red(item, table.as_ref(), packet, bdp).map(Queue::Red),
    }
}

fn codel(table: Option<&Table<'_>>) -> Result<Codel, Error> {
    let usual = Codel::STANDARD;
    let given = |key| table.and_then(|table| table.get(key));
    Ok(Codel {
        target: given("target").map_or(Ok(usual.target), |item| item.time())?,
        interval: given("interval").map_or(Ok(usual.interval), |item| item.time())?,
        ecn: given("ecn").map_or(Ok(usual.ecn), |item| item.flag())?,
    })
}

fn fq_codel(table: Option<&Table<'_>>) -> Result<FqCodel, Error> {
    let usual = FqCodel::STANDARD;
    let given = |key| table.and_then(|table| table.get(key));
    Ok(FqCodel {
        codel: codel(table)?,
        quantum: given("quantum").map_or(Ok(usual.quantum), |item| item.bytes())?,
        flows: given("flows").map_or(Ok(usual.flows), |item| item.integer().map(|n| n as u32))?,
    })
}

/// RED's parameters, those of the path where they are not in `table`.
fn red(item: &Item<'_>, table: Option<&Table<'_>>, packet: Packet, bdp: Option<u64>) -> Result<Red, Error> {
    let usual = bdp.map(|bdp| Red::for_bdp(packets(bdp, packet)));
    let rest = Red::for_bdp(0.0);
    let Some(table) = table else {
        return match usual {
            Some(red) => checked(red, item),
            None => Err(item.impossible("on a single link RED needs min and max: give them in a table")),
        };
    };
    let threshold = |key, default: Option<f64>| match (table.get(key), default) {
        (Some(item), _) => item.threshold(packet.size, bdp),
        (None, Some(default)) => Ok(default),
        (None, None) => Err(table.missing(key)),
    };
    let red = Red {
        min: threshold("min", usual.map(|red| red.min))?,
        max: threshold("max", usual.map(|red| red.max))?,
        weight: table.get("weight").map_or(Ok(rest.weight), |item| item.number())?,
        max_p: table.get("max_p").map_or(Ok(rest.max_p), |item| item.number())?,
        gentle: table.get("gentle").map_or(Ok(rest.gentle), |item| item.flag())?,
        ecn: table.get("ecn").map_or(Ok(rest.ecn), |item| item.flag())?,
    };
    checked(red, item)
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

/// Where the traffic of a `[[flow]]` runs; in a graph between the ends that `traffic` has, where the table names none.
pub(super) fn endpoints(
    table: &Table<'_>,
    network: &Network,
    traffic: &Traffic<'_>,
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
            let why = format!("its from are {} nodes and its to {}", from.len(), to.len());
            return Err(table.fail(Problem::Impossible(why), Some("one, or as many as the other".into())));
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

/// Refuses two ends of which one does not reach the other.
fn joined(table: &Table<'_>, graph: &Graph, from: usize, to: usize) -> Result<(), Error> {
    let name = |node: usize| &graph.nodes[node].name;
    let unreachable = |from: usize, to: usize| {
        let why = format!("no links lead from \"{}\" to \"{}\"", name(from), name(to));
        Err(table.fail(Problem::Impossible(why), None))
    };
    match (from == to, graph.reaches(from, to), graph.reaches(to, from)) {
        (true, ..) => Err(table.fail(
            Problem::Impossible(format!("it begins and ends at \"{}\"", name(from))),
            Some("two nodes".into()),
        )),
        (_, false, _) => unreachable(from, to),
        (_, _, false) => unreachable(to, from),
        _ => Ok(()),
    }
}
