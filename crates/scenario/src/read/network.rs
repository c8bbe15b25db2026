//! The network: a dumbbell, a graph that the file lists, or a generated graph.

use super::graph::graph_of;
use super::hop::{access, drops, hop, reorder, shaper, supply};
use super::topology::{self, Traffic};
use crate::format;
use crate::model::{Network, Packet, Path};
use firstflight_document::{Error, Table};

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
        (None, None, None) => {
            Err(root.invalid("there is no network").expecting("[path], [topology], or [[node]] and [[link]]"))
        }
        (_, Some(second), None) | (_, _, Some(second)) => Err(second
            .invalid("the network is described twice")
            .with_value(None)
            .expecting("only one of [path], [topology], and [[node]] with [[link]]")),
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
        shaper: shaper(table, packet, &hop.queue)?,
        queue: hop.queue,
        loss: hop.loss,
        loss_burst: hop.loss_burst,
        drop: drops(table)?,
        reorder: reorder(table)?,
        access_rate: access(table, fastest)?,
    })
}
