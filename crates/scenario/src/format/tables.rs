//! The top level of a scenario, and the list of all tables.

use super::laws::*;
use super::networks::*;
use super::queues::QUEUE;
use super::rows::*;
use super::topologies::*;
use super::traffic::*;
use super::{Kind, Section};

/// The whole file.
pub static ROOT: Section = Section {
    name: "Top level",
    doc: "Exactly one of `path`, `topology`, and `node` with `link` describes the network.",
    keys: &[
        optional("title", Kind::Text, "empty", "title of the experiment"),
        optional("duration", TIME, "until every flow has finished", "time at which the run stops"),
        optional(
            "seed",
            Kind::Integer { min: 0, max: i64::MAX as u64 },
            "1",
            "seed of every random stream of the run",
        ),
        optional("path", Kind::Table(&PATH), "see above", "a dumbbell"),
        optional("packet", Kind::Table(&PACKET), "its defaults", "packet sizes on the wire"),
        optional(
            "topology",
            Kind::Variants(TOPOLOGIES),
            "see above",
            "a graph that is generated or imported",
        ),
        optional("node", Kind::Tables(&NODE), "see above", "a node of a graph"),
        optional("link", Kind::Tables(&LINK), "see above", "a link of a graph"),
        optional("flow", Kind::Tables(&FLOW), "none", "TCP flows that share their settings"),
        optional("udp", Kind::Tables(&UDP), "none", "cross traffic without congestion control"),
        optional("telnet", Kind::Tables(&TELNET), "none", "TCP connections that send small messages"),
        optional("web", Kind::Tables(&WEB), "none", "sessions of web pages"),
    ],
};

/// Every table, in the order of the reference.
pub static SECTIONS: &[&Section] = &[
    &ROOT,
    &PATH,
    &PACKET,
    &FLOW,
    &ROUNDS,
    &START,
    &SIZES,
    &TIMES,
    &DELAYS,
    &PARETO_SIZE,
    &PARETO_TIME,
    &PARETO_DELAY,
    &LOGNORMAL,
    &TAIL,
    &COUNTS,
    &PARETO_COUNT,
    &TRACE,
    &QUEUE,
    &SHAPER,
    &LOSS,
    &REORDER,
    &TELNET,
    &WEB,
    &UDP,
    &ON_OFF,
    &NODE,
    &LINK,
    &PARKING_LOT,
    &THREE_ROUTER,
    &GRAPHML,
    &TRANSIT_STUB,
    &LEVEL,
];
