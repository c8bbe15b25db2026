//! Sources of traffic: transfers, telnet, web pages, UDP.

use super::laws::{COUNT_OR_LAW, DELAYS, SIZES, TIMES};
use super::rows::*;
use super::{Key, Kind, Section};
use crate::limits;
use crate::model::Direction;
use crate::stack::STACK;

/// Keys of transfers.
const TRANSFERS: &[Key] = &[
    optional("name", Kind::Name, "`flow` and the table's index from 0", "name of the group"),
    optional(
        "count",
        Kind::Count { max: limits::FLOWS },
        "`\"unlimited\"` if they arrive by `every` or `exponential`, else 1",
        "number of flows; `unlimited` means all that start before `duration` ends",
    ),
    optional("start", Kind::Either(&TIME_OR_ZERO, &START), "`\"0 s\"`", "start times"),
    optional(
        "size",
        Kind::Either(&Kind::AmountOrUnlimited, &SIZES),
        "`\"unlimited\"`",
        "application bytes or full packets that each flow delivers",
    ),
    optional(
        "lifetime",
        Kind::Either(&TIME, &TIMES),
        "until `size` is delivered",
        "time after which each flow ends",
    ),
    optional(
        "parallel",
        Kind::Integer { min: 1, max: limits::PARALLEL },
        "1",
        "connections over which each flow is split: they start together and share `size` evenly; connection `j` of flow `bulk.<i>` is `bulk.<i>.<j>`",
    ),
    optional(
        "rounds",
        Kind::Table(&ROUNDS),
        "one",
        "further transfers of `size` on the same connection, each after an idle time",
    ),
];

/// `[[flow]]`.
pub static FLOW: Section = Section {
    name: "[[flow]]",
    doc: "A group of TCP flows. Flow `i` of group `bulk` is `bulk.<i>` in results.",
    keys: &joined::<{ TRANSFERS.len() + STACK.len() }>(TRANSFERS, STACK),
};

/// `[[udp]]`.
pub static UDP: Section = Section {
    name: "[[udp]]",
    doc: "A source of packets of equal size at a constant rate.",
    keys: &[
        optional("name", Kind::Name, "`udp` and the table's index from 0", "name in results"),
        required("rate", Kind::Rate, "rate on the wire while it is on"),
        optional("size", Kind::Bytes, "a full packet's", "size of its packets on the wire, headers included"),
        optional("start", TIME_OR_ZERO, "`\"0 s\"`", "start time; an on period begins then"),
        optional("on_off", Kind::Table(&ON_OFF), "always on", "alternating periods"),
        optional("direction", words(Direction::WORDS), "`\"forward\"`", "direction across a `[path]`"),
        optional("from", Kind::Name, "as in `[[flow]]`", "node that sends"),
        optional("to", Kind::Name, "as in `[[flow]]`", "node that receives"),
    ],
};

/// `on_off`.
pub static ON_OFF: Section = Section {
    name: "on_off",
    doc: "Lengths of alternating periods: the source sends, then is silent.",
    keys: &[
        required("on", Kind::Either(&TIME, &TIMES), "length of a sending period"),
        required("off", Kind::Either(&TIME, &TIMES), "length of a silent period"),
    ],
};

/// `rounds`.
pub static ROUNDS: Section = Section {
    name: "rounds",
    doc: "Transfers of `size` by one connection, each after an idle time.",
    keys: &[
        required(
            "count",
            Kind::Integer { min: 1, max: limits::ROUNDS },
            "number of transfers, the first included",
        ),
        required("idle", TIME_OR_ZERO, "time from the end of a transfer to the beginning of the next"),
        optional("jitter", TIME_OR_ZERO, "`\"0 s\"`", "each idle time is longer by up to this, uniformly"),
    ],
};

/// `start` as a table.
pub static START: Section = Section {
    name: "start",
    doc: "One of these.",
    keys: &[
        optional("every", TIME, "", "flow `i` starts at `i` times this"),
        optional(
            "exponential",
            TIME,
            "",
            "a Poisson process with this mean gap; the first gap is before the first flow",
        ),
        optional("uniform", Kind::Pair(&TIME_OR_ZERO), "", "each flow on its own, uniformly between the two"),
    ],
};

const TELNET_KEYS: &[Key] = &[
    optional("name", Kind::Name, "`telnet` and the table's index from 0", "name of the group"),
    optional("count", Kind::Integer { min: 1, max: limits::FLOWS }, "1", "number of connections"),
    optional("start", Kind::Either(&TIME_OR_ZERO, &START), "`\"0 s\"`", "start times"),
    optional("lifetime", Kind::Either(&TIME, &TIMES), "until the run ends", "time for which each sends"),
    optional(
        "interval",
        Kind::Either(&words(&["tcplib"]), &TIMES),
        "`\"tcplib\"`",
        "time from one message to the next, whether or not it has arrived: the table of tcplib, or a distribution",
    ),
    optional(
        "size",
        Kind::Either(&Kind::Amount, &SIZES),
        "`\"1 packets\"`",
        "size of every message of a connection",
    ),
];

/// `[[telnet]]`.
pub static TELNET: Section = Section {
    name: "[[telnet]]",
    doc: "TCP connections that send small messages. The other keys are those of `[[flow]]`.",
    keys: &joined::<{ TELNET_KEYS.len() + STACK.len() }>(TELNET_KEYS, STACK),
};

const WEB_KEYS: &[Key] = &[
    optional("name", Kind::Name, "`web` and the table's index from 0", "name of the group"),
    optional("sessions", Kind::Integer { min: 1, max: limits::FLOWS }, "1", "number of sessions"),
    optional("start", Kind::Either(&TIME_OR_ZERO, &START), "`\"0 s\"`", "start times of the sessions"),
    optional("pages", Kind::Integer { min: 1, max: limits::ROUNDS }, "1", "pages of a session"),
    optional(
        "page_gap",
        Kind::Either(&TIME_OR_ZERO, &DELAYS),
        "`{ exponential = \"500 ms\" }`",
        "time from the beginning of a page's last object to the next page",
    ),
    optional("objects", COUNT_OR_LAW, "`{ pareto_ii = { mean = 4, shape = 1.5 } }`", "objects of a page"),
    optional(
        "object_gap",
        Kind::Either(&TIME_OR_ZERO, &DELAYS),
        "`{ exponential = \"50 ms\" }`",
        "time from the beginning of an object to the beginning of the next, whether or not it has arrived",
    ),
    optional(
        "size",
        Kind::Either(&Kind::Amount, &SIZES),
        "`{ pareto_ii = { mean = \"4 packets\", shape = 1.2 } }`",
        "size of an object",
    ),
    optional(
        "connections",
        words(&["per-object", "persistent"]),
        "`\"per-object\"`",
        "`per-object`: a TCP connection for each object (HTTP/1.0); `persistent`: `parallel` connections for all objects of a session (HTTP/1.1)",
    ),
    optional(
        "parallel",
        Kind::Integer { min: 1, max: limits::PARALLEL },
        "1",
        "persistent connections of a session, which carry its objects in turn",
    ),
];

/// `[[web]]`.
pub static WEB: Section = Section {
    name: "[[web]]",
    doc: "Sessions of pages of objects. Object `k` of page `j` of session `i` is `<name>.<i>.<j>.<k>` in results, persistent connection `j` is `<name>.<i>.<j>`. The other keys are those of `[[flow]]`, for each connection.",
    keys: &joined::<{ WEB_KEYS.len() + STACK.len() }>(WEB_KEYS, STACK),
};
