//! Queueing disciplines.

use super::rows::*;
use super::{Kind, Section};
use crate::limits;

/// A queueing discipline: its label, or a table with parameters.
pub const QUEUE_KIND: Kind = Kind::Either(&words(QUEUE_WORDS), &QUEUE);
const QUEUE_WORDS: &[&str] = &[
    "drop-tail", //
    "red",
    "choke",
    "codel",
    "fq-codel",
    "priority",
    "quick-start",
    "xcp",
    "vcp",
];

/// The keys that each discipline takes beside `kind`.
pub const QUEUE_KEYS: &[(&str, &[&str])] = &[
    ("drop-tail", &[]),
    ("red", &["min", "max", "weight", "max_p", "gentle", "ecn"]),
    ("choke", &["min", "max", "weight", "max_p", "gentle", "ecn"]),
    ("codel", &["target", "interval", "ecn"]),
    ("fq-codel", &["target", "interval", "ecn", "quantum", "flows"]),
    ("priority", &[]),
    ("quick-start", &["threshold", "share"]),
    ("xcp", &["alpha", "beta", "gamma"]),
    ("vcp", &["utilization"]),
];

/// A `queue` with parameters.
pub static QUEUE: Section = Section {
    name: "queue",
    doc: "A discipline with its parameters. `drop-tail` has none. `min` to `ecn` are those of `red` (Floyd and Jacobson 1993), in packet mode, and of `choke` (Pan and others 2000); `target`, `interval` and `ecn` those of `codel` (RFC 8289) and `fq-codel` (RFC 8290), which has `quantum` and `flows` beside them; `threshold` and `share` those of `quick-start` (RFC 4782), `alpha` to `gamma` those of `xcp` (Katabi and others 2002), `utilization` that of `vcp` (Xia and others 2005).",
    keys: &[
        required("kind", words(QUEUE_WORDS), "the discipline"),
        optional(
            "min",
            Kind::Threshold,
            "`\"0.1 BDP\"`; required on a link",
            "average queue from which packets are dropped or marked",
        ),
        optional(
            "max",
            Kind::Threshold,
            "`\"0.3 BDP\"`; required on a link",
            "average queue at which the chance reaches `max_p`",
        ),
        optional("weight", Kind::Number(FRACTION), "0.002", "weight of a new sample in the average"),
        optional("max_p", Kind::Number(FRACTION), "0.1", "chance at `max`"),
        optional(
            "gentle",
            Kind::Flag,
            "true",
            "beyond `max` the chance rises to 1 at twice `max`, instead of at once",
        ),
        optional(
            "ecn",
            Kind::Flag,
            "false",
            "mark instead of dropping where the discipline, not the room, decides",
        ),
        optional("target", TIME, "`\"5 ms\"`", "wait below which a queue does no harm"),
        optional(
            "interval",
            TIME,
            "`\"100 ms\"`",
            "time that a longer wait must last, about a long round trip",
        ),
        optional("quantum", Kind::Bytes, "`\"1514 B\"`", "what a flow's queue may send in its turn"),
        optional(
            "flows",
            Kind::Integer { min: 1, max: limits::FLOW_QUEUES },
            "1024",
            "queues that flows are spread over",
        ),
        optional(
            "threshold",
            Kind::Number(FRACTION),
            "0.85",
            "share of the link in use, at its peak of the last second, below which a rate is granted",
        ),
        optional("share", Kind::Number(FRACTION), "0.85", "share of the link up to which rates are granted"),
        optional(
            "alpha",
            Kind::Number(FRACTION),
            "0.4",
            "share of the spare bandwidth handed out in a round trip",
        ),
        optional(
            "beta",
            Kind::Number(FRACTION),
            "0.226",
            "share of the standing queue taken back in a round trip",
        ),
        optional(
            "gamma",
            Kind::Number(FRACTION),
            "0.1",
            "share of the traffic that changes hands in a round trip",
        ),
        optional("utilization", Kind::Number(FRACTION), "0.98", "share of the link that is to be used"),
    ],
};
