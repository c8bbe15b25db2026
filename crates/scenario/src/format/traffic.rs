//! Sources other than transfers.

use super::laws::{COUNT_OR_LAW, DELAYS, SIZES, TIMES};
use super::tables::{STACK, START, TIME, TIME_OR_ZERO, joined, optional, words};
use super::{Key, Kind, Section};
use crate::limits;

const TELNET_KEYS: &[Key] = &[
    optional("name", Kind::Name, "`telnet` and the table's index from 0", "name of the group"),
    optional("count", Kind::Integer { min: 1, max: limits::FLOWS }, "1", "how many connections"),
    optional("start", Kind::Either(&TIME_OR_ZERO, &START), "`\"0 s\"`", "when each starts"),
    optional("lifetime", Kind::Either(&TIME, &TIMES), "until the run ends", "how long each sends"),
    optional(
        "interval",
        Kind::Either(&words(&["tcplib"]), &TIMES),
        "`\"tcplib\"`",
        "from one message to the next, whether or not it has arrived: as tcplib has it, or a distribution",
    ),
    optional(
        "size",
        Kind::Either(&Kind::Amount, &SIZES),
        "`\"1 packets\"`",
        "of every message of a connection",
    ),
];

/// `[[telnet]]`.
pub static TELNET: Section = Section {
    name: "[[telnet]]",
    doc: "TCP connections that send a small message now and then. The other keys are those of `[[flow]]`.",
    keys: &joined::<{ TELNET_KEYS.len() + STACK.len() }>(TELNET_KEYS, STACK),
};

const WEB_KEYS: &[Key] = &[
    optional("name", Kind::Name, "`web` and the table's index from 0", "name of the group"),
    optional("sessions", Kind::Integer { min: 1, max: limits::FLOWS }, "1", "how many sessions"),
    optional("start", Kind::Either(&TIME_OR_ZERO, &START), "`\"0 s\"`", "when each session starts"),
    optional("pages", Kind::Integer { min: 1, max: limits::ROUNDS }, "1", "pages of a session"),
    optional(
        "page_gap",
        Kind::Either(&TIME_OR_ZERO, &DELAYS),
        "`{ exponential = \"500 ms\" }`",
        "from the beginning of a page's last object to the next page",
    ),
    optional("objects", COUNT_OR_LAW, "`{ pareto_ii = { mean = 4, shape = 1.5 } }`", "objects of a page"),
    optional(
        "object_gap",
        Kind::Either(&TIME_OR_ZERO, &DELAYS),
        "`{ exponential = \"50 ms\" }`",
        "from the beginning of an object to that of the next, whether or not it has arrived",
    ),
    optional(
        "size",
        Kind::Either(&Kind::Amount, &SIZES),
        "`{ pareto_ii = { mean = \"4 packets\", shape = 1.2 } }`",
        "of an object",
    ),
    optional(
        "connections",
        words(&["per-object", "persistent"]),
        "`\"per-object\"`",
        "whether each object has a TCP connection of its own (HTTP/1.0), or a session has `parallel` of them for all (HTTP/1.1)",
    ),
    optional(
        "parallel",
        Kind::Integer { min: 1, max: limits::PARALLEL },
        "1",
        "persistent connections of a session, which take its objects in turns",
    ),
];

/// `[[web]]`.
pub static WEB: Section = Section {
    name: "[[web]]",
    doc: "Sessions of pages of objects. Object `k` of page `j` of session `i` is `<name>.<i>.<j>.<k>` in results, persistent connection `j` is `<name>.<i>.<j>`. The other keys are those of `[[flow]]`, for each connection.",
    keys: &joined::<{ WEB_KEYS.len() + STACK.len() }>(WEB_KEYS, STACK),
};
