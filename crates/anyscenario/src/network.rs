//! Networks: paths, links, and every generated topology.

use proptest::prelude::*;

use crate::scale::{LONGEST_DELAY, Scale};
use crate::text::{flag, given, line, lines, ns, number, packets, table, time, word};
use crate::traffic::{self, Ends};

/// A network as text.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) text: String,
    pub(crate) ends: Ends,
}

pub(crate) fn network(scale: Scale) -> BoxedStrategy<Drawn> {
    let drawn = |ends: Ends| move |text: String| Drawn { text, ends };
    prop_oneof![
        6 => path(scale).prop_map(drawn(Ends::Path)),
        3 => links(scale),
        1 => topology(scale, "parking-lot").prop_map(drawn(Ends::Topology)),
        1 => topology(scale, "three-router").prop_map(drawn(Ends::Topology)),
        1 => topology(scale, "transit-stub").prop_map(drawn(Ends::Topology)),
    ]
    .boxed()
}

fn rate(rate: u64) -> String {
    format!("\"{} bit/s\"", rate.clamp(1, 100_000_000_000_000))
}

/// Rates from a tenth of `around` to ten times it.
fn rates(around: u64) -> BoxedStrategy<String> {
    (-1.0..1.0_f64).prop_map(move |power| rate((around as f64 * 10_f64.powf(power)) as u64)).boxed()
}

fn buffer(scale: Scale, bdp: bool) -> BoxedStrategy<String> {
    let packet = scale.packet;
    let bytes = (packet..packet * 100).prop_map(|bytes| format!("\"{bytes} B\""));
    let mut kinds = vec![packets(100), bytes.boxed(), packets(1_000_000_000)];
    if bdp {
        kinds.push((1..40_u32).prop_map(|tenths| format!("\"{}.{} BDP\"", tenths / 10, tenths % 10)).boxed());
    }
    proptest::strategy::Union::new(kinds).boxed()
}

/// Keys of a token bucket.
fn bucket(scale: Scale) -> Vec<(&'static str, BoxedStrategy<String>)> {
    let burst = (scale.packet..scale.packet * 100).prop_map(|bytes| format!("\"{bytes} B\""));
    vec![("rate", rates(scale.rate)), ("burst", burst.boxed())]
}

/// A queue or none, and a shaper or none: not every queue takes one.
fn queue_and_shaper(scale: Scale) -> BoxedStrategy<String> {
    let policed = table([vec![("kind", Just("\"policer\"".to_owned()).boxed())], bucket(scale)].concat());
    let shaped = lines(vec![line(0.3, "queue", policed), given("shaper", table(bucket(scale)))]);
    prop_oneof![9 => line(0.6, "queue", queue(scale)), 1 => shaped].boxed()
}

/// A queue by its label, or with parameters.
fn queue(scale: Scale) -> BoxedStrategy<String> {
    let red = |kind: &'static str| {
        // Only RED has a byte mode.
        let mean = if kind == "red" { 0..2000_u32 } else { 0..1 };
        let keys = (1..50_u32, 1..50_u32, number(0.0, 1.0), number(0.0, 1.0), flag(), flag(), mean);
        keys.prop_map(move |(min, above, weight, max_p, gentle, ecn, mean)| {
            let max = min + above;
            // Half of the queues are in packet mode.
            let bytes = match mean {
                1..1000 => format!(", mean_packet = \"{mean} B\""),
                _ => String::new(),
            };
            format!(
                "{{ kind = \"{kind}\", min = \"{min} packets\", max = \"{max} packets\", weight = {weight}, \
                 max_p = {max_p}, gentle = {gentle}, ecn = {ecn}{bytes} }}"
            )
        })
        .boxed()
    };
    let kind = |kind: &'static str| ("kind", Just(format!("\"{kind}\"")).boxed());
    let share = || number(0.0, 1.0);
    let delays = || vec![("target", time(scale.rtt)), ("interval", time(scale.rtt)), ("ecn", flag())];
    let fair = vec![
        kind("fq-codel"),
        ("quantum", (1..3000_u32).prop_map(|bytes| format!("\"{bytes} B\"")).boxed()),
        ("flows", (1..64_u32).prop_map(|flows| flows.to_string()).boxed()),
    ];
    let policer = [vec![kind("policer")], bucket(scale)].concat();
    prop_oneof![
        5 => Just("\"drop-tail\"".to_owned()),
        1 => word(&["priority", "codel", "fq-codel", "quick-start", "xcp", "vcp"]),
        1 => red("red"),
        1 => red("choke"),
        1 => table([vec![kind("codel")], delays()].concat()),
        1 => table([fair, delays()].concat()),
        1 => table(policer),
        1 => table(vec![kind("quick-start"), ("threshold", share()), ("share", share())]),
        1 => table(vec![kind("xcp"), ("alpha", share()), ("beta", share()), ("gamma", share())]),
        1 => table(vec![kind("vcp"), ("utilization", share())]),
    ]
    .boxed()
}

fn loss() -> BoxedStrategy<String> {
    // Runs from 2 packets on are longer than those of independent losses up to a share of a half.
    let bursty = (number(0.0, 0.4), 2..50_u32)
        .prop_map(|(mean, burst)| format!("{{ mean = {mean}, burst = {burst} }}"))
        .boxed();
    prop_oneof![3 => number(0.0, 0.05), 1 => number(0.0, 1.0), 1 => bursty].boxed()
}

/// Ascending numbers of packets.
fn drops() -> BoxedStrategy<String> {
    prop::collection::btree_set(1..60_u32, 1..9)
        .prop_map(|numbers| format!("{:?}", Vec::from_iter(numbers)))
        .boxed()
}

fn reorder(scale: Scale) -> BoxedStrategy<String> {
    // Runs from 3 packets on are longer than those of independent choices up to a share of a half.
    let share = prop_oneof![3 => number(0.0, 0.05), 1 => number(0.0, 0.5)].boxed();
    table(vec![
        ("share", share),
        ("delay", (1..=scale.rtt.max(1)).prop_map(ns).boxed()),
        ("burst", prop_oneof![Just(1_u32), 3..20_u32].prop_map(|burst| burst.to_string()).boxed()),
    ])
}

fn path(scale: Scale) -> BoxedStrategy<String> {
    let Scale { rate: own, rtt, .. } = scale;
    lines(vec![
        Just(format!("[path]\nrate = {}\nrtt = {}\n", rate(own), ns(rtt))).boxed(),
        given("buffer", buffer(scale, true)),
        queue_and_shaper(scale),
        line(0.3, "loss", loss()),
        line(0.2, "drop", drops()),
        line(0.2, "reorder", reorder(scale)),
        line(0.2, "access_rate", rates(own)),
    ])
}

/// A chain of nodes with links both ways, and shortcuts.
fn links(scale: Scale) -> BoxedStrategy<Drawn> {
    (2..6_usize)
        .prop_flat_map(move |nodes| {
            let hop = (nodes - 1) as u64;
            let link = move |from: usize, to: usize| {
                lines(vec![
                    Just(format!("[[link]]\nfrom = \"n{from}\"\nto = \"n{to}\"\nboth = true\n")).boxed(),
                    given("rate", prop_oneof![Just(rate(scale.rate)), rates(scale.rate)].boxed()),
                    given("delay", time(scale.rtt / 2 / hop)),
                    given("buffer", buffer(scale, false)),
                    queue_and_shaper(scale),
                    line(0.3, "loss", loss()),
                    line(0.1, "drop", drops()),
                    line(0.1, "reorder", reorder(scale)),
                    line(0.2, "cost", (1..9_u32).prop_map(|cost| cost.to_string()).boxed()),
                ])
            };
            let node = |number: usize| {
                lines(vec![
                    Just(format!("[[node]]\nname = \"n{number}\"\n")).boxed(),
                    line(0.2, "access_rate", rates(scale.rate)),
                    line(0.2, "subnet", word(&["near", "far"])),
                ])
            };
            let chain = (1..nodes).map(|to| link(to - 1, to));
            let shortcut = if nodes > 2 { vec![link(0, nodes - 1)] } else { vec![] };
            let parts: Vec<_> = (0..nodes).map(node).chain(chain).chain(shortcut).collect();
            lines(parts).prop_map(move |text| Drawn { text, ends: Ends::Nodes(nodes) })
        })
        .boxed()
}

fn topology(scale: Scale, kind: &'static str) -> BoxedStrategy<String> {
    let count = |most: u32| (1..=most).prop_map(|n| n.to_string()).boxed();
    let delay = |share: u64| time((scale.rtt / share).min(LONGEST_DELAY));
    let own = Just(rate(scale.rate)).boxed();
    let mut keys = vec![
        Just(format!("[topology]\nkind = \"{kind}\"\n")).boxed(),
        given("rate", own),
        given("buffer", buffer(scale, false)),
        line(0.4, "queue", queue(scale)),
        line(0.2, "loss", loss()),
    ];
    let level = |nodes: u32| {
        let methods = word(&["random", "waxman", "exponential"]);
        table(vec![("n", count(nodes)), ("alpha", number(0.3, 1.0)), ("method", methods)])
    };
    keys.extend(match kind {
        "parking-lot" => vec![
            given("hops", count(5)),
            given("rtt", Just(ns(scale.rtt)).boxed()),
            line(0.2, "access_rate", rates(scale.rate)),
        ],
        "three-router" => vec![
            line(0.5, "clients", count(5)),
            line(0.5, "pairs", count(5)),
            given("delay", delay(8)),
            given("side_delay", delay(100)),
            line(0.2, "side_rate", rates(scale.rate)),
            line(0.5, "access_rate", rates(scale.rate)),
        ],
        _ => vec![
            given("top", level(2)),
            given("transit", level(3)),
            given("stub", level(3)),
            given("stubs", count(2)),
            line(0.3, "ts_edges", count(3)),
            line(0.3, "ss_edges", count(3)),
            line(0.5, "routing", word(&["policy", "hops", "delay"])),
            given("delay", delay(100)),
            line(0.5, "pairs", count(3)),
            line(0.2, "access_rate", rates(scale.rate)),
            line(0.3, "seed", count(1000)),
        ],
    });
    let cross = traffic::flow(scale, "", 0.15);
    keys.push(line(0.4, "cross", cross.prop_map(|keys| inline(&keys)).boxed()));
    lines(keys)
}

/// Lines of keys as a table within a line.
fn inline(keys: &str) -> String {
    format!("{{ {} }}", keys.lines().collect::<Vec<_>>().join(", "))
}
