//! A valid scenario around every table of the format, and values of every kind.

#![allow(dead_code, reason = "each test file uses only some of it")]

use firstflight_net::catalogue::Discipline as Info;
use firstflight_scenario::Queue;
use firstflight_scenario::format::{self, Custom, Floor, Kind, Section};
use firstflight_scenario::limits;

/// A GraphML file beside the scenarios.
pub(crate) const GRAPH: (&str, &str) = (
    "net.graphml",
    "<graphml><graph><node id=\"a\"/><node id=\"b\"/><edge source=\"a\" target=\"b\"/></graph></graphml>",
);

/// A trace of which a column has no name.
pub(crate) const TRACE: (&str, &str) = ("up.csv", "time,rate,,x\n0,1,1,0\n1,2,2,0\n");

const PATH: &str = "[path]\nrate = \"10 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"50 packets\"\n";
const NODES: &str = "[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n";
const LINK: &str = "[[link]]\nfrom = \"a\"\nto = \"b\"\nboth = true\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nbuffer = \"9 packets\"\n";

/// A table in a scenario that is valid with the keys `given`.
pub(crate) struct Context {
    pub(crate) section: &'static Section,
    before: String,
    given: &'static [(&'static str, &'static str)],
    /// Whether the table stands on one line.
    inline: bool,
    after: &'static str,
}

impl Context {
    /// The scenario with `key = value` in the table, and the line of that key.
    pub(crate) fn with(&self, key: &str, value: &str, duration: &str) -> (String, usize) {
        let has = |info: &&Info| info.keys.iter().any(|own| own.name == key);
        let queue = Queue::INFO.iter().find(has).map(|info| info.label);
        let companion = match (self.section.name, key) {
            ("queue", "rate") => "kind = \"policer\", burst = \"60 KB\"".into(),
            ("queue", "burst") => "kind = \"policer\", rate = \"8 Mbit/s\"".into(),
            ("queue", "kind") if value == "\"policer\"" => "rate = \"8 Mbit/s\", burst = \"60 KB\"".into(),
            ("queue", _) if key != "kind" => format!("kind = \"{}\"", queue.expect("a queue has the key")),
            ("[[flow]]" | "[[telnet]]" | "[[web]]", "partial_acks") => "recovery = \"newreno\"".into(),
            ("[[flow]]" | "[[telnet]]" | "[[web]]", "send_buffer") => "profile = \"quinn\"".into(),
            ("[[flow]]" | "[[telnet]]" | "[[web]]", "ack_backlog") => "sack_walk = \"1 us\"".into(),
            ("[[web]]", "parallel") => "connections = \"persistent\"".into(),
            _ => String::new(),
        };
        let replaced = |given: &str| given == key || given == "rate" && key == "trace";
        let given = self.given.iter().filter(|(given, _)| !replaced(given));
        let mut entries: Vec<_> = given.map(|(key, value)| format!("{key} = {value}")).collect();
        entries.extend(Some(companion).filter(|companion| !companion.is_empty()));
        entries.push(format!("{key} = {value}"));
        let root = self.section.name == format::ROOT.name;
        // The root has its keys before all tables, and one network.
        let before = match (root, key) {
            (true, "duration") => String::new(),
            (true, _) => format!("duration = \"{duration}\"\n"),
            _ => format!("duration = \"{duration}\"\n{}", self.before),
        };
        let after = match (root, key) {
            (true, "path" | "topology" | "node" | "link") => "",
            (true, "flow") => PATH,
            _ => self.after,
        };
        let text = match self.inline {
            true => format!("{before}{}{after}", entries.join(", ")),
            false => format!("{before}{}\n{after}", entries.join("\n")),
        };
        let line = match self.inline {
            true => before.lines().count(),
            false => before.lines().count() + entries.len(),
        };
        (text, line)
    }
}

/// A context for every table.
pub(crate) fn contexts() -> Vec<Context> {
    let flow = "[[flow]]\nsize = \"3 KB\"\n";
    let table = |section, before: &str, given, after| Context {
        section,
        before: before.into(),
        given,
        inline: false,
        after,
    };
    let inline = |section, before: &str, given, after| Context {
        section,
        before: format!("{PATH}{before}"),
        given,
        inline: true,
        after,
    };
    let mean_size: &[_] = &[("mean", "\"3 KB\""), ("shape", "1.5")];
    let mean_time: &[_] = &[("mean", "\"1 ms\""), ("shape", "1.5")];
    vec![
        table(
            &format::ROOT,
            "",
            &[],
            "[path]\nrate = \"10 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"50 packets\"\n[[flow]]\nsize = \"3 KB\"\n",
        ),
        table(
            &format::PATH,
            "[path]\n",
            &[("rate", "\"10 Mbit/s\""), ("rtt", "\"20 ms\""), ("buffer", "\"50 packets\"")],
            "[[flow]]\nsize = \"3 KB\"\n",
        ),
        table(&format::PACKET, &format!("{PATH}[packet]\n"), &[], "[[flow]]\nsize = \"3 KB\"\n"),
        table(&format::FLOW, &format!("{PATH}[[flow]]\n"), &[("size", "\"3 KB\"")], ""),
        table(&format::TELNET, &format!("{PATH}[[telnet]]\n"), &[], ""),
        table(&format::WEB, &format!("{PATH}[[web]]\n"), &[("size", "\"3 KB\"")], ""),
        table(&format::UDP, &format!("{PATH}{flow}[[udp]]\n"), &[("rate", "\"1 Mbit/s\"")], ""),
        table(
            &format::NODE,
            &format!("{LINK}{NODES}[[node]]\n"),
            &[("name", "\"c\"")],
            "[[link]]\nfrom = \"c\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nbuffer = \"9 packets\"\n",
        ),
        table(
            &format::LINK,
            &format!("{NODES}[[link]]\n"),
            &[
                ("from", "\"a\""),
                ("to", "\"b\""),
                ("both", "true"),
                ("rate", "\"1 Mbit/s\""),
                ("delay", "\"1 ms\""),
                ("buffer", "\"9 packets\""),
            ],
            "[[link]]\nname = \"way-back\"\nfrom = \"b\"\nto = \"a\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nbuffer = \"9 packets\"\n\
             [[flow]]\nsize = \"3 KB\"\nfrom = \"a\"\nto = \"b\"\n",
        ),
        table(
            &format::PARKING_LOT,
            "[topology]\n",
            &[
                ("kind", "\"parking-lot\""),
                ("hops", "2"),
                ("rate", "\"1 Mbit/s\""),
                ("rtt", "\"9 ms\""),
                ("buffer", "\"9 packets\""),
            ],
            "[[flow]]\nsize = \"3 KB\"\n",
        ),
        table(
            &format::THREE_ROUTER,
            "[topology]\n",
            &[("kind", "\"three-router\"")],
            "[[flow]]\nsize = \"3 KB\"\n",
        ),
        table(
            &format::TRANSIT_STUB,
            "[topology]\n",
            &[("kind", "\"transit-stub\""), ("delay", "\"0.1 ms\"")],
            "[[flow]]\nsize = \"3 KB\"\n",
        ),
        table(
            &format::GRAPHML,
            "[topology]\n",
            &[
                ("kind", "\"graphml\""),
                ("file", "\"net.graphml\""),
                ("rate", "\"1 Mbit/s\""),
                ("delay", "\"1 ms\""),
                ("buffer", "\"9 packets\""),
            ],
            "[[flow]]\nsize = \"3 KB\"\nfrom = \"a\"\nto = \"b\"\n",
        ),
        Context {
            before: "[path]\nrtt = \"20 ms\"\nbuffer = \"50 packets\"\ntrace = { ".into(),
            ..inline(&format::TRACE, "", &[("file", "\"up.csv\"")], " }\n[[flow]]\nsize = \"3 KB\"\n")
        },
        Context {
            before: "[topology]\nkind = \"transit-stub\"\ndelay = \"0.1 ms\"\nstub = { ".into(),
            ..inline(&format::LEVEL, "", &[("n", "2"), ("alpha", "1")], " }\n[[flow]]\nsize = \"3 KB\"\n")
        },
        inline(
            &format::ROUNDS,
            &format!("{flow}rounds = {{ "),
            &[("count", "2"), ("idle", "\"1 ms\"")],
            " }\n",
        ),
        inline(&format::START, &format!("{flow}start = {{ "), &[], " }\n"),
        inline(&format::SIZES, "[[flow]]\nsize = { ", &[], " }\n"),
        inline(&format::TIMES, "[[flow]]\nlifetime = { ", &[], " }\n"),
        inline(&format::DELAYS, &format!("{flow}extra_rtt = {{ "), &[], " }\n"),
        inline(&format::PARETO_SIZE, "[[flow]]\nsize = { pareto = { ", mean_size, " } }\n"),
        inline(&format::PARETO_TIME, "[[flow]]\nlifetime = { pareto = { ", mean_time, " } }\n"),
        inline(&format::PARETO_DELAY, &format!("{flow}extra_rtt = {{ pareto = {{ "), mean_time, " } }\n"),
        inline(
            &format::LOGNORMAL,
            "[[flow]]\nsize = { lognormal = { ",
            &[("median", "\"3 KB\""), ("sigma", "1")],
            " } }\n",
        ),
        inline(
            &format::TAIL,
            "[[flow]]\nsize = { lognormal = { median = \"3 KB\", sigma = 1, tail = { ",
            &[("from", "\"30 KB\""), ("shape", "1.5")],
            " } } }\n",
        ),
        inline(&format::COUNTS, "[[web]]\nobjects = { ", &[], " }\n"),
        inline(
            &format::PARETO_COUNT,
            "[[web]]\nobjects = { pareto = { ",
            &[("mean", "4"), ("shape", "1.5")],
            " } }\n",
        ),
        inline(
            &format::SHAPER,
            "shaper = { ",
            &[("rate", "\"8 Mbit/s\""), ("burst", "\"60 KB\"")],
            " }\n[[flow]]\nsize = \"3 KB\"\n",
        ),
        inline(
            &format::LOSS,
            "loss = { ",
            &[("mean", "0.01"), ("burst", "4")],
            " }\n[[flow]]\nsize = \"3 KB\"\n",
        ),
        inline(
            &format::REORDER,
            "reorder = { ",
            &[("share", "0.01"), ("delay", "\"5 ms\"")],
            " }\n[[flow]]\nsize = \"3 KB\"\n",
        ),
        inline(&format::QUEUE, "queue = { ", &[], " }\n[[flow]]\nsize = \"3 KB\"\n"),
        inline(
            &format::ON_OFF,
            &format!("{flow}[[udp]]\nrate = \"1 Mbit/s\"\non_off = {{ "),
            &[("on", "\"1 ms\""), ("off", "\"1 ms\"")],
            " }\n",
        ),
    ]
}

/// A kind that only scenarios have.
macro_rules! custom {
    ($name:literal) => {
        Kind::Custom(Custom { name: $name, .. })
    };
}

fn quoted(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| format!("\"{text}\"")).collect()
}

/// The number next to `bound` on the side of `towards`.
fn beyond(bound: f64, towards: f64) -> f64 {
    if towards > bound { bound.next_up() } else { bound.next_down() }
}

/// Values that a kind does not have: of another type, with another unit, below and above its range.
pub(crate) fn invalid(kind: &Kind) -> Vec<String> {
    let and = |mut all: Vec<String>, more: &[&str]| {
        all.extend(more.iter().map(|text| (*text).to_owned()));
        all
    };
    let name = |most: usize| and(quoted(&["", "a b", &"n".repeat(most + 1)]), &["5", "true"]);
    match kind.bare() {
        Kind::Text | custom!("file") => and(vec![], &["5", "true", "[]"]),
        Kind::Name | Kind::Names => name(limits::NAME),
        custom!("link name") => name(limits::LINK_NAME),
        Kind::Flag => and(quoted(&["true"]), &["1", "1979-05-27"]),
        Kind::Integer { min, max } => {
            let ends = [i128::from(*min) - 1, i128::from(*max) + 1].map(|n| n.to_string());
            and(quoted(&["3"]), &["1.5", "true", &ends[0], &ends[1]])
        }
        Kind::Count { max } => and(quoted(&["many"]), &["0", "-1", "true", "1.5", &(max + 1).to_string()]),
        Kind::Number(range) => {
            let low = if range.min_taken { beyond(range.min, -1.0) } else { range.min };
            let high = if range.max_taken { beyond(range.max, f64::INFINITY) } else { range.max };
            and(quoted(&["0.5"]), &["true", "nan", "inf", &format!("{low:?}"), &format!("{high:?}")])
        }
        Kind::Rate => {
            and(quoted(&["5 s", "5", "0 bit/s", "-1 bit/s", "0.5 bit/s", "101 Tbit/s"]), &["5", "true"])
        }
        Kind::Time(floor) | Kind::Delay(floor) => {
            let below = if *floor == Floor::Zero { "-1 ns" } else { "0 s" };
            let above = if matches!(kind, Kind::Time(_)) { "100000001 s" } else { "3601 s" };
            and(quoted(&["5 packets", "5", below, above, "0.5 ns"]), &["5", "true"])
        }
        Kind::Bytes => and(quoted(&["5 packets", "5", "0 B", "1000001 GB", "0.5 B"]), &["5", "true"]),
        Kind::Amount | custom!("initial window") | Kind::AmountOrUnlimited => and(
            quoted(&["5 ms", "5", "0 packets", "0 B", "-1 B", "1000000000001 packets", "1000001 GB", "much"]),
            &["5", "true"],
        ),
        custom!("buffer") | custom!("link buffer") => and(
            quoted(&["5 ms", "5", "0 packets", "1 B", "4294967296 packets", "1000001 GB", "1001 BDP"]),
            &["5", "true"],
        ),
        custom!("threshold") => {
            and(quoted(&["5 ms", "5", "-1 packets", "1000000000001 packets", "1001 BDP"]), &["5", "true"])
        }
        Kind::Word(_) => and(quoted(&["no-such-word", &"w".repeat(1000)]), &["5", "true"]),
        custom!("reads") => and(quoted(&["5 packets", "0 B", "never", "1000001 GB"]), &["5", "true"]),
        custom!("startup") | custom!("avoidance") => {
            and(quoted(&["no-such-scheme", ""]), &["5", "true", "{ kind = 5 }"])
        }
        Kind::Pair(of) => {
            let bad = invalid(of).into_iter().map(|value| format!("[{value}, {value}]"));
            and(bad.collect(), &["5", "[]"])
        }
        Kind::List(of) => {
            and(invalid(of).into_iter().map(|value| format!("[{value}]")).collect(), &["5", "[]"])
        }
        Kind::Map(_) | Kind::Any(_) => and(vec![], &["1979-05-27"]),
        Kind::Either(plain, _) => and(invalid(plain), &["1979-05-27", "{ no_such_key = 1 }"]),
        Kind::Table(_) | Kind::Tables(_) | Kind::Variants(_) => and(quoted(&["5 s"]), &["5", "true"]),
        other => unreachable!("{other:?}"),
    }
}

/// The smallest and the largest values of a kind; the words of a kind that has words.
pub(crate) fn extremes(kind: &Kind) -> Vec<String> {
    match kind.bare() {
        Kind::Text => quoted(&["", &"t".repeat(100_000)]),
        Kind::Name | Kind::Names => quoted(&["n", &"n".repeat(limits::NAME)]),
        custom!("link name") => quoted(&["n", &"n".repeat(limits::LINK_NAME - "-back".len())]),
        Kind::Flag => vec!["true".into(), "false".into()],
        Kind::Integer { min, max } => vec![min.to_string(), max.to_string()],
        Kind::Count { max } => vec!["1".into(), max.to_string(), "\"unlimited\"".into()],
        Kind::Number(range) => {
            let low = if range.min_taken { range.min } else { beyond(range.min, f64::INFINITY) };
            let high = if range.max_taken { range.max } else { beyond(range.max, -1.0) };
            vec![format!("{low:?}"), format!("{high:?}")]
        }
        Kind::Rate => quoted(&["1 bit/s", "100 Tbit/s"]),
        Kind::Time(floor) | Kind::Delay(floor) => {
            let above = if matches!(kind, Kind::Time(_)) { "100000000 s" } else { "3600 s" };
            quoted(&[if *floor == Floor::Zero { "0 s" } else { "1 ns" }, above])
        }
        Kind::Bytes => quoted(&["1 B", "1000 B", "1000000 GB"]),
        Kind::Amount => {
            quoted(&["1 B", "1000000 GB", "1 packets", "1000000000000 packets", "4294967294 packets"])
        }
        custom!("initial window") => {
            quoted(&["1 packets", "1000000 packets", "1 B", "rfc3390", "rfc6928", "rfc9002"])
        }
        Kind::AmountOrUnlimited => {
            quoted(&["1 B", "1 packets", "1000000 packets", "4294967294 packets", "1000000 GB", "unlimited"])
        }
        custom!("buffer") => {
            quoted(&["1 packets", "4294967295 packets", "1500 B", "1000000 GB", "0.1 BDP", "1000 BDP"])
        }
        custom!("link buffer") => quoted(&["1 packets", "4294967295 packets", "1500 B", "1000000 GB"]),
        custom!("threshold") => {
            quoted(&["0 packets", "0.000001 packets", "1000000000000 packets", "0 BDP", "1000 BDP", "1 B"])
        }
        Kind::Word(words) => quoted(words),
        custom!("reads") => quoted(&["eager", "1 B", "1460000000 B", "1000000 GB"]),
        Kind::Pair(of) => {
            let ends = extremes(of);
            vec![
                format!("[{0}, {0}]", ends[0]),
                format!("[{}, {}]", ends[0], ends[1]),
                format!("[{0}, {0}]", ends[1]),
            ]
        }
        Kind::List(of) => extremes(of).into_iter().map(|value| format!("[{value}]")).collect(),
        Kind::Either(plain, _) => extremes(plain),
        custom!("file")
        | Kind::Map(_)
        | Kind::Any(_)
        | custom!("startup")
        | custom!("avoidance")
        | Kind::Table(_)
        | Kind::Tables(_)
        | Kind::Variants(_) => vec![],
        other => unreachable!("{other:?}"),
    }
}
