//! Queueing disciplines.

use super::rows::*;
use super::{Kind, Section};
use crate::choices::words;
use crate::limits;

/// A queueing discipline: its label, or a table with parameters.
pub(crate) const QUEUE_KIND: Kind =
    Kind::Shared("type-queue", &Kind::Either(&words(QueueKind::WORDS), &QUEUE));

words! {
    /// Kinds of queueing disciplines.
    QueueKind {
        /// [`Queue::DropTail`](crate::model::Queue::DropTail).
        DropTail = "drop-tail",
        /// [`Queue::Red`](crate::model::Queue::Red).
        Red = "red",
        /// [`Queue::Choke`](crate::model::Queue::Choke).
        Choke = "choke",
        /// [`Queue::Codel`](crate::model::Queue::Codel).
        Codel = "codel",
        /// [`Queue::FqCodel`](crate::model::Queue::FqCodel).
        FqCodel = "fq-codel",
        /// [`Queue::Priority`](crate::model::Queue::Priority).
        Priority = "priority",
        /// [`Queue::Policer`](crate::model::Queue::Policer).
        Policer = "policer",
        /// [`Router::QuickStart`](crate::model::Router::QuickStart).
        QuickStart = "quick-start",
        /// [`Router::Xcp`](crate::model::Router::Xcp).
        Xcp = "xcp",
        /// [`Router::Vcp`](crate::model::Router::Vcp).
        Vcp = "vcp",
    }
}

/// Keys of each discipline beside `kind`.
pub const QUEUE_KEYS: &[(&str, &[&str])] = &[
    ("drop-tail", &[]),
    ("red", &["min", "max", "weight", "max_p", "gentle", "ecn", "mean_packet"]),
    ("choke", &["min", "max", "weight", "max_p", "gentle", "ecn"]),
    ("codel", &["target", "interval", "ecn"]),
    ("fq-codel", &["target", "interval", "ecn", "quantum", "flows"]),
    ("priority", &[]),
    ("policer", &["rate", "burst"]),
    ("quick-start", &["threshold", "share"]),
    ("xcp", &["alpha", "beta", "gamma"]),
    ("vcp", &["utilization"]),
];

/// A `queue` with parameters.
pub static QUEUE: Section = Section {
    name: "queue",
    doc: "A discipline with its parameters. `drop-tail` and `priority` have none. `red` (Floyd and Jacobson 1993) has `min` to `mean_packet`; `choke` (Pan and others 2000), in packet mode, has `min` to `ecn`; `codel` (RFC 8289) has `target`, `interval` and `ecn`; `fq-codel` (RFC 8290) has these and `quantum` and `flows`; `policer` (RFC 2697) needs `rate` and `burst`; `quick-start` (RFC 4782) has `threshold` and `share`; `xcp` (Katabi and others 2002) has `alpha` to `gamma`; `vcp` (Xia and others 2005) has `utilization`.",
    keys: &[
        required("kind", words(QueueKind::WORDS), "the discipline"),
        optional(
            "min",
            THRESHOLD,
            "`\"0.1 BDP\"`; required on a link",
            "average queue from which packets are dropped or marked",
        ),
        optional(
            "max",
            THRESHOLD,
            "`\"0.3 BDP\"`; required on a link",
            "average queue at which the probability is `max_p`",
        ),
        optional("weight", Kind::Number(FRACTION), "0.002", "weight of a new sample in the average"),
        optional("max_p", Kind::Number(FRACTION), "0.1", "probability at `max`"),
        optional(
            "gentle",
            Kind::Flag,
            "true",
            "beyond `max` the probability rises to 1 at twice `max`, instead of at once",
        ),
        optional(
            "ecn",
            Kind::Flag,
            "false",
            "mark packets instead of dropping them, except if there is no room",
        ),
        optional(
            "mean_packet",
            Kind::Bytes,
            "packet mode",
            "byte mode, as ns-2 has it: the queue is counted in bytes; `min`, `max` and the buffer count packets of this mean size; a packet is dropped or marked in proportion to its size",
        ),
        optional("target", TIME, "`\"5 ms\"`", "acceptable waiting time"),
        optional(
            "interval",
            TIME,
            "`\"100 ms\"`",
            "time for which waits must exceed `target`, about a long round trip",
        ),
        optional("quantum", Kind::Bytes, "`\"1514 B\"`", "bytes that a flow's queue sends in its turn"),
        optional("flows", Kind::Integer { min: 1, max: limits::FLOW_QUEUES }, "1024", "number of queues"),
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
            "share of the spare bandwidth that a round trip distributes",
        ),
        optional(
            "beta",
            Kind::Number(FRACTION),
            "0.226",
            "share of the standing queue that a round trip removes",
        ),
        optional(
            "gamma",
            Kind::Number(FRACTION),
            "0.1",
            "share of the traffic that a round trip redistributes",
        ),
        optional("utilization", Kind::Number(FRACTION), "0.98", "target share of the link in use"),
        optional("rate", Kind::Rate, "required by `policer`", "rate at which a policer's tokens accrue"),
        optional(
            "burst",
            Kind::Bytes,
            "required by `policer`",
            "size of a policer's bucket, at least one full packet; it is full at the start",
        ),
    ],
};
