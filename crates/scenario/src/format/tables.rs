//! The tables of a scenario file.

use super::laws::*;
use super::topologies::*;
use super::traffic::*;
use super::{Absent, Floor, Key, Kind, Range, Section};
use crate::limits;
use crate::model::{DataInSyn, Direction, IdleRestart, PartialAcks, Receiver, Recovery};
use crate::profile::Profile;

pub(super) const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, absent: Absent::Refused, doc }
}

pub(super) const fn optional(name: &'static str, kind: Kind, means: &'static str, doc: &'static str) -> Key {
    Key { name, kind, absent: Absent::Means(means), doc }
}

pub(super) const fn habit(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, absent: Absent::Profile, doc }
}

pub(super) const fn words(words: &'static [&'static str]) -> Kind {
    Kind::Word(words)
}

/// The keys of two lists.
pub(super) const fn joined<const N: usize>(first: &[Key], second: &[Key]) -> [Key; N] {
    let mut all = [first[0]; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < first.len() { first[i] } else { second[i - first.len()] };
        i += 1;
    }
    all
}

pub(super) const PROBABILITY: Range = Range { min: 0.0, min_taken: true, max: 1.0, max_taken: false };
pub(super) const FRACTION: Range = Range { min: 0.0, min_taken: false, max: 1.0, max_taken: true };
// A Pareto variable has no mean at a shape of 1 or below, and is constant to four digits at 10 000.
pub(super) const SHAPE: Range = Range { min: 1.0, min_taken: false, max: 10_000.0, max_taken: true };

pub(super) const TIME: Kind = Kind::Time(Floor::AboveZero);
pub(super) const TIME_OR_ZERO: Kind = Kind::Time(Floor::Zero);
pub(super) const DELAY: Kind = Kind::Delay(Floor::Zero);

/// The whole file.
pub static ROOT: Section = Section {
    name: "Top level",
    doc: "Exactly one of `path`, `topology`, and `node` with `link` says what the traffic crosses.",
    keys: &[
        optional("title", Kind::Text, "empty", "for people"),
        optional("duration", TIME, "until every flow has finished", "when to stop"),
        optional(
            "seed",
            Kind::Integer { min: 0, max: i64::MAX as u64 },
            "1",
            "what every random stream of the run derives from",
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
        optional("telnet", Kind::Tables(&TELNET), "none", "TCP connections that send a message now and then"),
        optional("web", Kind::Tables(&WEB), "none", "sessions of web pages"),
    ],
};

/// `[path]`.
pub static PATH: Section = Section {
    name: "[path]",
    doc: "A dumbbell: one bottleneck in each direction, every flow with access links of its own.",
    keys: &[
        optional("rate", Kind::Rate, "an error, unless there is a `trace`", "bottleneck, each direction"),
        optional(
            "trace",
            Kind::File,
            "absent",
            "a trace of the bottleneck in place of `rate`, each direction",
        ),
        required(
            "rtt",
            Kind::Delay(Floor::AboveZero),
            "two-way propagation of the whole path, no queueing, no serialisation",
        ),
        required("buffer", Kind::Buffer, "room for packets that wait, the one in transmission not counted"),
        optional("queue", QUEUE_KIND, "`\"drop-tail\"`", "the bottleneck's discipline, each direction"),
        optional("loss", Kind::Number(PROBABILITY), "0", "independent per-packet loss, each direction"),
        optional("access_rate", Kind::Rate, "10 x `rate`", "rate of each flow's own access links"),
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
        required("name", Kind::Name, "what links and flows call it"),
        optional(
            "access_rate",
            Kind::Rate,
            "10 x the fastest link at the node",
            "rate of the access links by which the endpoints of flows reach the node",
        ),
        optional(
            "subnet",
            Kind::Name,
            "none",
            "a name that flows may give for all its nodes; what comes from one subnet or node and goes to one subnet or node shares a bottleneck",
        ),
    ],
};

/// `[[link]]`.
pub static LINK: Section = Section {
    name: "[[link]]",
    doc: "A link of a graph, one direction. It has no BDP of its own: buffer and thresholds are in packets or bytes.",
    keys: &[
        required("from", Kind::Name, "the node it leaves"),
        required("to", Kind::Name, "the node it reaches"),
        optional(
            "name",
            Kind::Name,
            "`<from>-<to>`",
            "its name in results; the second of `both` is `<name>-back`, or `<to>-<from>` without a name",
        ),
        optional("both", Kind::Flag, "false", "whether there is an equal link the other way"),
        optional("rate", Kind::Rate, "an error, unless there is a `trace`", "its rate"),
        optional("trace", Kind::File, "absent", "a trace in place of `rate`"),
        required("delay", DELAY, "one-way propagation"),
        optional(
            "cost",
            Kind::Integer { min: 1, max: limits::COST },
            "1",
            "flows take the path of least cost; of several, that of fewest links; of these, that whose links come first in the file",
        ),
        required(
            "buffer",
            Kind::LinkBuffer,
            "room for packets that wait, the one in transmission not counted",
        ),
        optional("queue", QUEUE_KIND, "`\"drop-tail\"`", "its discipline"),
        optional("loss", Kind::Number(PROBABILITY), "0", "independent per-packet loss"),
    ],
};

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

/// What sends, and how much.
const TRANSFERS: &[Key] = &[
    optional("name", Kind::Name, "`flow` and the table's index from 0", "name of the group"),
    optional(
        "count",
        Kind::Count { max: limits::FLOWS },
        "`\"unlimited\"` where they arrive by `every` or `exponential`, else 1",
        "how many flows; `unlimited` are all that begin before `duration` ends",
    ),
    optional("start", Kind::Either(&TIME_OR_ZERO, &START), "`\"0 s\"`", "when each starts"),
    optional(
        "size",
        Kind::Either(&Kind::AmountOrUnlimited, &SIZES),
        "`\"unlimited\"`",
        "what each has to deliver, application bytes or full packets",
    ),
    optional("lifetime", Kind::Either(&TIME, &TIMES), "until `size` is delivered", "flows that end by time"),
    optional(
        "parallel",
        Kind::Integer { min: 1, max: limits::PARALLEL },
        "1",
        "connections over which each flow is split: they begin together and share `size` evenly; connection `j` of flow `bulk.<i>` is `bulk.<i>.<j>`",
    ),
    optional(
        "rounds",
        Kind::Table(&ROUNDS),
        "one",
        "the same connection sends `size` again after an idle time",
    ),
];

/// The keys of the stack that sends, and of its endpoints: the same for every source of TCP traffic.
pub const STACK: &[Key] = &[
    optional("profile", words(Profile::WORDS), "`\"rfc\"`", "the stack that sets the defaults below"),
    habit("startup", Kind::Startup, "how the connection starts"),
    habit(
        "avoidance",
        Kind::Avoidance,
        "how it goes on; not with a start-up that rules the whole connection",
    ),
    habit("recovery", words(Recovery::WORDS), "how losses are found and repaired"),
    optional(
        "partial_acks",
        words(PartialAcks::WORDS),
        "`\"impatient\"`",
        "what an ACK does that acknowledges a part of what was out when the repair began; only with recovery `newreno`, not under profile `linux`: see below",
    ),
    habit("initial_window", Kind::InitialWindow, "initial window, at least one packet"),
    optional(
        "initial_ssthresh",
        Kind::AmountOrUnlimited,
        "`\"unlimited\"`",
        "initial slow-start threshold, at least one packet",
    ),
    habit("receive_window", Kind::AmountOrUnlimited, "what the receiver offers at most, at least one packet"),
    habit(
        "initial_receive_window",
        Kind::AmountOrUnlimited,
        "what it offers at first, `receive_window` at most; the window opens by two packets for each that arrives",
    ),
    habit("receiver", words(Receiver::WORDS), "when the receiver acknowledges"),
    habit("delayed_ack_timer", TIME, "how long a receiver that delays ACKs waits for a second packet"),
    optional(
        "receiver_reads",
        Kind::Reads,
        "`\"eager\"`",
        "when the receiving application reads: at once, or only when that much has come",
    ),
    habit(
        "byte_counting",
        Kind::Flag,
        "whether an ACK enlarges the window by the bytes it acknowledges, two packets at most (RFC 3465)",
    ),
    habit("min_rto", TIME, "smallest retransmission timeout"),
    habit("rto_granularity", TIME, "clock granularity of the retransmission timeout"),
    habit("idle_restart", words(IdleRestart::WORDS), "what an idle time does to the window: see below"),
    habit(
        "limited_transmit",
        Kind::Flag,
        "whether the first two duplicate ACKs release a new packet each (RFC 3042)",
    ),
    habit("handshake", Kind::Flag, "whether a handshake precedes the data"),
    optional(
        "data_in_syn",
        words(DataInSyn::WORDS),
        "`\"never\"`",
        "whether data leaves with the handshake's first packet, or right behind it: see below",
    ),
    optional("cluster", Kind::Name, "the topology tells", "flows of equal name share a bottleneck"),
    optional("direction", words(Direction::WORDS), "`\"forward\"`", "which way across a `[path]`"),
    optional(
        "from",
        Kind::Names,
        "the topology's; required in a graph",
        "node that sends the data, or several of which each flow has one: names of nodes, of subnets, or of what subnets begin with before a `-`",
    ),
    optional(
        "to",
        Kind::Names,
        "the topology's; required in a graph",
        "node that receives the data, or several; as many in `from` and `to` are pairs",
    ),
    optional(
        "extra_rtt",
        Kind::Either(&DELAY, &DELAYS),
        "`\"0 ms\"`",
        "propagation of each flow beyond the network's, both ways together",
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
        optional("name", Kind::Name, "`udp` and the table's index from 0", "its name in results"),
        required("rate", Kind::Rate, "rate on the wire while it is on"),
        optional("size", Kind::Bytes, "a full packet's", "its packets on the wire, headers included"),
        optional("start", TIME_OR_ZERO, "`\"0 s\"`", "when it begins, with an on period"),
        optional("on_off", Kind::Table(&ON_OFF), "always on", "alternating periods"),
        optional("direction", words(Direction::WORDS), "`\"forward\"`", "which way across a `[path]`"),
        optional("from", Kind::Name, "as in `[[flow]]`", "node that sends"),
        optional("to", Kind::Name, "as in `[[flow]]`", "node that receives"),
    ],
};

/// `on_off`.
pub static ON_OFF: Section = Section {
    name: "on_off",
    doc: "Lengths of the periods in which a source sends, and does not.",
    keys: &[
        required("on", Kind::Either(&TIME, &TIMES), "length of a period in which it sends"),
        required("off", Kind::Either(&TIME, &TIMES), "length of a period in which it does not"),
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
            "how many transfers, the first included",
        ),
        required("idle", TIME_OR_ZERO, "from the end of a transfer to the beginning of the next"),
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
            "a Poisson process with this mean gap, the first gap before the first flow",
        ),
        optional("uniform", Kind::Pair(&TIME_OR_ZERO), "", "each on its own, uniformly between the two"),
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
    &QUEUE,
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
