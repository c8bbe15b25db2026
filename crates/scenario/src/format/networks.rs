//! Networks that a file lists: a path, or nodes and links; and packet sizes.

use super::queues::QUEUE_KIND;
use super::rows::*;
use super::{Floor, Kind, Range, Section};
use crate::limits;
use crate::trace::columns::{RATE_UNITS, TIME_UNITS};

/// `[path]`.
pub static PATH: Section = Section {
    name: "[path]",
    doc: "A dumbbell: one bottleneck in each direction, every flow with access links of its own.",
    keys: &[
        optional("rate", Kind::Rate, "an error, unless there is a `trace`", "bottleneck, each direction"),
        optional(
            "trace",
            TRACE_KIND,
            "absent",
            "a trace of the bottleneck's rate, in place of `rate`, each direction",
        ),
        required(
            "rtt",
            Kind::Delay(Floor::AboveZero),
            "two-way propagation of the whole path, without queueing and serialisation",
        ),
        required("buffer", BUFFER, "room for waiting packets, without the one in transmission"),
        optional(
            "queue",
            QUEUE_KIND,
            "`\"drop-tail\"`",
            "queueing discipline of the bottleneck, each direction",
        ),
        optional(
            "shaper",
            Kind::Table(&SHAPER),
            "absent",
            "token bucket for which the packets of the queue wait, each direction",
        ),
        optional("loss", LOSS_KIND, "0", "independent per-packet loss, or loss in bursts, each direction"),
        optional("drop", DROP_KIND, "none", DROP),
        optional(
            "reorder",
            Kind::Table(&REORDER),
            "absent",
            "packets that take longer, so that others overtake them, each direction",
        ),
        optional(
            "access_rate",
            Kind::Rate,
            "10 x `rate`, at most 100 Tbit/s",
            "rate of each flow's own access links",
        ),
    ],
};

/// A file with a trace, or a table with the columns of it that are read.
pub(crate) const TRACE_KIND: Kind = Kind::Either(&FILE, &TRACE);

/// A trace of a file with several columns.
pub static TRACE: Section = Section {
    name: "trace",
    doc: "A trace of a rate in a file with several columns, or in other units than seconds and Mbit/s; or a trace that stands in the scenario itself.",
    keys: &[
        optional("file", FILE, "`text` is given", "the file"),
        optional(
            "text",
            Kind::Text,
            "`file` is given",
            "the lines of the trace, as a file has them: a scenario with this key names no file",
        ),
        optional(
            "column",
            Kind::Text,
            "the only one whose name is that of a rate",
            "name of the column with the rate, as in the first line of the file",
        ),
        optional("unit", words(RATE_UNITS), "that in the column's name, else Mbit/s", "unit of the rate"),
        optional(
            "time",
            Kind::Text,
            "the only one whose name is that of a time",
            "name of the column with the time, as in the first line of the file",
        ),
        optional(
            "time_unit",
            words(TIME_UNITS),
            "that in the column's name, else s; for times since 1970 by their size",
            "unit of the time",
        ),
    ],
};

/// A token-bucket shaper.
pub static SHAPER: Section = Section {
    name: "shaper",
    doc: "A token bucket, full at the start (tc-tbf of Linux without a peak rate): the first waiting packet leaves when the line is free and the bucket has a token for each of its bytes. The queue is drop-tail, red or policer.",
    keys: &[
        required("rate", Kind::Rate, "rate at which tokens accrue; bursts cross at the rate of the link"),
        required(
            "burst",
            Kind::Bytes,
            "size of the bucket, at least one full packet; longer packets are dropped",
        ),
    ],
};

/// Random loss: its probability, or a table.
pub(crate) const LOSS_KIND: Kind = Kind::Either(&Kind::Number(PROBABILITY), &LOSS);
const BURST: Range = Range { min: 1.0, min_taken: true, max: limits::COUNT, max_taken: true };

/// Random loss in bursts.
pub static LOSS: Section = Section {
    name: "loss",
    doc: "Random loss in bursts (Gilbert 1960, Elliott 1963): the link is good or bad, and loses exactly the packets of its bad times. It changes from packet to packet with probabilities that give `mean` and `burst`.",
    keys: &[
        required("mean", Kind::Number(PROBABILITY), "share of the packets that are lost"),
        required(
            "burst",
            Kind::Number(BURST),
            "mean number of packets in a run of losses: 1 for independent losses, or more than their 1 / (1 - `mean`)",
        ),
    ],
};

/// Losses by number.
pub(crate) const DROP_KIND: Kind = Kind::List(&Kind::Integer { min: 1, max: limits::SEGMENTS });
const DROP: &str = "numbers of the packets of each flow that are lost: its packets with data count from 1, retransmissions too; see below";

/// Reordering.
pub static REORDER: Section = Section {
    name: "reorder",
    doc: "Two lanes behind the line, as of networks that send the packets of a connection over parallel ways (Bennett, Partridge and Shectman 1999): each packet takes one of them, and each lane keeps its order. A packet on the slower lane is overtaken by those that follow it within `delay`. `delay D reorder P%` of tc-netem(8) is `share` = 1 - P / 100, `delay` = D.",
    keys: &[
        required("share", Kind::Number(PROBABILITY), "share of the packets that take the slower lane"),
        required("delay", Kind::Delay(Floor::AboveZero), "time that the slower lane takes longer"),
        optional(
            "burst",
            Kind::Number(BURST),
            "1",
            "mean number of packets in a run on the slower lane: 1 for independent choices, or more than their 1 / (1 - `share`)",
        ),
    ],
};

/// `[packet]`.
pub static PACKET: Section = Section {
    name: "[packet]",
    doc: "Sizes on the wire, headers included. A full packet carries `size` less the headers of the flow's profile.",
    keys: &[
        optional("size", Kind::Bytes, "`\"1500 B\"`", "a full data packet"),
        optional("ack_size", Kind::Bytes, "the headers of the flow's profile", "an ACK"),
    ],
};

/// `[[node]]`.
pub static NODE: Section = Section {
    name: "[[node]]",
    doc: "A node of a graph.",
    keys: &[
        required("name", Kind::Name, "name by which links and flows refer to the node"),
        optional(
            "access_rate",
            Kind::Rate,
            "10 x the fastest link at the node, at most 100 Tbit/s",
            "rate of the access links by which the endpoints of flows reach the node",
        ),
        optional(
            "subnet",
            Kind::Name,
            "none",
            "a name by which flows refer to all its nodes; traffic from one subnet or node to one subnet or node shares a bottleneck",
        ),
    ],
};

/// `[[link]]`.
pub static LINK: Section = Section {
    name: "[[link]]",
    doc: "A link of a graph, one direction. A link has no BDP: buffer and thresholds are in packets or bytes.",
    keys: &[
        required("from", Kind::Name, "node that the link leaves"),
        required("to", Kind::Name, "node that the link reaches"),
        optional(
            "name",
            LINK_NAME,
            "`<from>-<to>`",
            "name in results; with `both`, the second link is `<name>-back`, or `<to>-<from>` without a name",
        ),
        optional("both", Kind::Flag, "false", "whether an equal link leads the other way"),
        optional("rate", Kind::Rate, "an error, unless there is a `trace`", "rate"),
        optional("trace", TRACE_KIND, "absent", "a trace of the rate, in place of `rate`"),
        required("delay", DELAY, "one-way propagation"),
        optional(
            "cost",
            Kind::Integer { min: 1, max: limits::COST },
            "1",
            "cost of a path over the link; flows take the path of least cost; of several, the one with the fewest links; of these, the one whose links come first in the file",
        ),
        required("buffer", LINK_BUFFER, "room for waiting packets, without the one in transmission"),
        optional("queue", QUEUE_KIND, "`\"drop-tail\"`", "queueing discipline"),
        optional(
            "shaper",
            Kind::Table(&SHAPER),
            "absent",
            "token bucket for which the packets of the queue wait",
        ),
        optional("loss", LOSS_KIND, "0", "independent per-packet loss, or loss in bursts"),
        optional("drop", DROP_KIND, "none", DROP),
        optional(
            "reorder",
            Kind::Table(&REORDER),
            "absent",
            "packets that take longer, so that others overtake them",
        ),
    ],
};
