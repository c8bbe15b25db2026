//! `[topology]`: one table for each kind of graph.

use super::laws::DELAYS;
use super::networks::LOSS_KIND;
use super::queues::QUEUE_KIND;
use super::rows::*;
use super::traffic::FLOW;
use super::{Floor, Key, Kind, Range, Section};
use crate::limits;

/// Kinds of `[topology]`.
pub(crate) static TOPOLOGIES: &[&Section] = &[&PARKING_LOT, &THREE_ROUTER, &TRANSIT_STUB, &GRAPHML];

/// `[topology]` with kind `parking-lot`.
pub static PARKING_LOT: Section = Section {
    name: "[topology] parking-lot",
    doc: "A row of routers `r0` to `r<hops>`; flows without `from` and `to` cross all of it.",
    keys: &[
        required("kind", words(&["parking-lot"]), "kind of graph"),
        required(
            "hops",
            Kind::Integer { min: 1, max: limits::HOPS },
            "links between the first and the last router",
        ),
        required("rate", Kind::Rate, "rate of every hop, each direction"),
        required(
            "rtt",
            Kind::Delay(Floor::AboveZero),
            "two-way propagation of all hops together, shared evenly",
        ),
        required("buffer", BUFFER, "buffer of every hop; the BDP is that of `rate` and `rtt`"),
        optional("queue", QUEUE_KIND, "`\"drop-tail\"`", "queueing discipline of every hop"),
        optional("loss", LOSS_KIND, "0", "independent per-packet loss, or loss in bursts, at every hop"),
        optional(
            "access_rate",
            Kind::Rate,
            "10 x `rate`, at most 100 Tbit/s",
            "rate of each flow's own access links",
        ),
        optional(
            "cross",
            Kind::Table(&FLOW),
            "none",
            "flows that cross one hop, the same at every hop; keys as in `[[flow]]`, without `from`, `to` and `direction`; hop `i` has the group `<name><i>`",
        ),
    ],
};

const PAIRS: Kind = Kind::Integer { min: 1, max: limits::PAIRS };

/// `access_rate` of a topology; `absent` is its default.
const fn access_rate(absent: &'static str) -> Key {
    optional(
        "access_rate",
        Kind::Rate,
        absent,
        "rate of the access links by which the endpoints of flows reach a node",
    )
}

/// `[topology]` with kind `three-router`.
pub static THREE_ROUTER: Section = Section {
    name: "[topology] three-router",
    doc: "A server `s` behind router `r1`, routers `r2` and `r3`, and clients `c1`, `c2` and so on (subnet `c`) behind `r3`; the paths of cross traffic from `xs1`, `xs2` and so on (subnet `xs`) at `r1` to `xc1`, `xc2` and so on (subnet `xc`) at `r2`. A flow without `from` and `to` goes from the server to a random client. The defaults are those of the homogeneous network of Yu and Newman.",
    keys: &[
        required("kind", words(&["three-router"]), "kind of graph"),
        optional("clients", PAIRS, "5", "clients behind `r3`"),
        optional("pairs", PAIRS, "5", "sources at `r1` and sinks at `r2` of cross traffic"),
        optional("rate", Kind::Rate, "`\"20 Mbit/s\"`", "rate of `r1-r2` and `r2-r3`, each direction"),
        optional("delay", DELAY, "`\"50 ms\"`", "delay of `r1-r2` and `r2-r3`, one way"),
        optional("side_rate", Kind::Rate, "10 x `rate`, at most 100 Tbit/s", "rate of all other links"),
        optional("side_delay", DELAY, "`\"1 ms\"`", "delay of all other links, one way"),
        optional(
            "buffer",
            BUFFER,
            "`\"50 packets\"`",
            "buffer of every link; the BDP is that of `rate` and the round trip from the server to a client",
        ),
        optional("queue", QUEUE_KIND, "`\"drop-tail\"`", "queueing discipline of every link"),
        optional(
            "loss",
            LOSS_KIND,
            "0",
            "independent per-packet loss, or loss in bursts, on `r1-r2` and `r2-r3`",
        ),
        access_rate("`\"100 Tbit/s\"`: the ends of flows are the hosts themselves"),
        optional(
            "cross",
            Kind::Table(&FLOW),
            "none",
            "flows of cross traffic, each on a random pair; keys as in `[[flow]]`, without `from`, `to` and `direction`",
        ),
    ],
};

const EXTRA: Kind = Kind::Integer { min: 0, max: limits::LINKS as u64 };

/// `[topology]` with kind `transit-stub`.
pub static TRANSIT_STUB: Section = Section {
    name: "[topology] transit-stub",
    doc: "A random graph of transit domains and stub domains, generated as GT-ITM does. Transit node 1 of domain 0 is `t-0-1` in subnet `t-0`; node 3 of its stub domain 2 is `s-0-1-2-3` in subnet `s-0-1-2`. A flow without `from` and `to` goes from `t-0-0` to a random stub node. The defaults make 200 nodes.",
    keys: &[
        required("kind", words(&["transit-stub"]), "kind of graph"),
        optional(
            "seed",
            Kind::Integer { min: 0, max: i64::MAX as u64 },
            "1",
            "seed of the graph: the graph is the same under every seed of the run",
        ),
        optional("top", Kind::Table(&LEVEL), "`{ n = 1, alpha = 1.0 }`", "the graph of transit domains"),
        optional(
            "transit",
            Kind::Table(&LEVEL),
            "`{ n = 8, alpha = 0.6 }`",
            "each transit domain; `n` is a mean",
        ),
        optional("stub", Kind::Table(&LEVEL), "`{ n = 6, alpha = 0.42 }`", "each stub domain; `n` is a mean"),
        optional(
            "stubs",
            Kind::Integer { min: 1, max: limits::NODES as u64 },
            "4",
            "mean number of stub domains at a transit node",
        ),
        optional("ts_edges", EXTRA, "0", "further links between a transit node and a stub domain of another"),
        optional("ss_edges", EXTRA, "0", "further links between two stub domains"),
        optional(
            "routing",
            words(&["policy", "hops", "delay"]),
            "`\"policy\"`",
            "cost of a link: GT-ITM's policy weight, 1 as in ns-2, or its delay",
        ),
        optional("rate", Kind::Rate, "`\"10 Mbit/s\"`", "rate of every link"),
        optional(
            "delay",
            Kind::Either(&TIME_OR_ZERO, &DELAYS),
            "10 ms for each unit of distance, as in the converter to ns-2",
            "delay of a link for each unit of its length in GT-ITM's plane, or a distribution that does not depend on the length",
        ),
        optional("buffer", LINK_BUFFER, "`\"50 packets\"`", "buffer of every link"),
        optional("queue", QUEUE_KIND, "`\"drop-tail\"`", "queueing discipline of every link"),
        optional("loss", LOSS_KIND, "0", "independent per-packet loss, or loss in bursts, on every link"),
        access_rate("10 x `rate`, at most 100 Tbit/s"),
        optional("pairs", PAIRS, "25", "random pairs of stub nodes in different domains, for `cross`"),
        optional(
            "cross",
            Kind::Table(&FLOW),
            "none",
            "flows of cross traffic, each on a random pair; keys as in `[[flow]]`, without `from`, `to` and `direction`",
        ),
    ],
};

/// A level of a transit-stub graph.
pub static LEVEL: Section = Section {
    name: "level",
    doc: "Number of nodes of a graph, and the probability of a link between two nodes at distance `d` in a square whose diagonal is `L`. A graph that is not connected is drawn again.",
    keys: &[
        optional("n", Kind::Integer { min: 1, max: limits::NODES as u64 }, "the level's", "nodes"),
        optional(
            "method",
            words(&["random", "waxman", "exponential"]),
            "`\"random\"`",
            "probability of a link: `alpha`; `alpha exp(-d / (beta L))` (Waxman 1988); `alpha exp(-d / (L - d))`",
        ),
        optional("alpha", Kind::Number(FRACTION), "the level's", "see `method`"),
        optional(
            "beta",
            Kind::Number(Range { min: 0.0, min_taken: false, max: 1000.0, max_taken: true }),
            "1",
            "see `method`",
        ),
    ],
};

/// `[topology]` with kind `graphml`.
pub static GRAPHML: Section = Section {
    name: "[topology] graphml",
    doc: "A graph from a GraphML file, such as those of the Internet Topology Zoo. These attributes are read, by `attr.name`: of an edge `rate` and `delay` (quantities with units), `cost`, and `LinkSpeedRaw` (whole bits per second); of a node `name` (else its id), `subnet`, `Latitude` (-90 to 90 degrees) and `Longitude` (-180 to 180 degrees), from which an edge without a delay gets the delay of light in fibre, 5 us a kilometre of great circle. An undirected edge is a link each way; nodes without edges are left out. Flows need `from` and `to`.",
    keys: &[
        required("kind", words(&["graphml"]), "kind of graph"),
        required("file", FILE, "the GraphML file"),
        optional("rate", Kind::Rate, "an error where an edge has none", "rate of edges that have none"),
        optional("delay", DELAY, "an error where an edge has none", "delay of edges that have none, one way"),
        required("buffer", LINK_BUFFER, "buffer of every link"),
        optional("queue", QUEUE_KIND, "`\"drop-tail\"`", "queueing discipline of every link"),
        optional("loss", LOSS_KIND, "0", "independent per-packet loss, or loss in bursts, on every link"),
        access_rate("10 x the fastest link at the node, at most 100 Tbit/s"),
    ],
};
