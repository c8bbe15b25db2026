//! Sources: flows, telnet, web, UDP.

use proptest::prelude::*;

use crate::scale::Scale;
use crate::scheme;
use crate::text::{flag, given, laws, line, lines, number, optional, packets, table, time, word};

/// Ends of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// Across a path, in either direction.
    Path,
    /// Those of the topology.
    Topology,
    /// Nodes `n0` to this number.
    Nodes(usize),
}

/// All sources of a scenario; at least one.
pub(crate) fn traffic(scale: Scale, ends: &Ends) -> BoxedStrategy<String> {
    let ends = *ends;
    let flows = prop::collection::vec(tabled("flow", scale, ends, transfers(scale)), 0..3);
    let telnet = optional(0.15, tabled("telnet", scale, ends, messages(scale)));
    let web = optional(0.15, tabled("web", scale, ends, pages(scale)));
    let udp = prop::collection::vec(datagrams(scale, ends), 0..2);
    let all = (flows, telnet, web, udp).prop_map(|(flows, telnet, web, udp)| {
        flows.concat() + &telnet.unwrap_or_default() + &web.unwrap_or_default() + &udp.concat()
    });
    all.prop_filter("no traffic", |text| !text.is_empty()).boxed()
}

/// A table of TCP connections: where they lead, its own keys, and those of all connections.
fn tabled(kind: &'static str, scale: Scale, ends: Ends, own: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let head = Just(format!("[[{kind}]]\n")).boxed();
    lines(vec![head, between(ends, 0.2), own, connection(scale, 0.15)])
}

/// Keys of the ends; several receivers with the probability `several`.
fn between(ends: Ends, several: f64) -> BoxedStrategy<String> {
    match ends {
        Ends::Path => line(0.3, "direction", word(&["forward", "reverse"])),
        Ends::Topology => Just(String::new()).boxed(),
        Ends::Nodes(nodes) => (0..nodes, 1..nodes, prop::bool::weighted(several))
            .prop_map(move |(from, step, several)| {
                let to = |step: usize| format!("\"n{}\"", (from + step) % nodes);
                // Each connection draws one of them.
                let to = match several {
                    true => format!("[{}]", (1..=step).map(to).collect::<Vec<_>>().join(", ")),
                    false => to(step),
                };
                format!("from = \"n{from}\"\nto = {to}\n")
            })
            .boxed(),
    }
}

/// Keys of `[[flow]]`, for a table `name` within another.
pub(crate) fn flow(scale: Scale, name: &str, share: f64) -> BoxedStrategy<String> {
    lines(vec![Just(name.to_owned()).boxed(), transfers(scale), connection(scale, share)])
}

/// Sizes: fixed, or of every distribution.
fn sizes() -> BoxedStrategy<String> {
    let size = prop_oneof![packets(200), (1..200_000_u32).prop_map(|bytes| format!("\"{bytes} B\""))].boxed();
    let tail = table(vec![("from", packets(100)), ("shape", number(1.1, 3.0))]);
    let lognormal = table(vec![("median", packets(50)), ("sigma", number(0.0, 2.0)), ("tail", tail)]);
    prop_oneof![4 => size.clone(), 1 => laws(&size, true), 1 => table(vec![("lognormal", lognormal)])].boxed()
}

fn start(scale: Scale) -> BoxedStrategy<String> {
    let some = || time(scale.duration / 2);
    let law = |kind: &'static str| table(vec![(kind, some())]);
    let two = (0..=scale.duration / 4, 0..=scale.duration / 4)
        .prop_map(|(from, more)| format!("{{ uniform = [\"{from} ns\", \"{} ns\"] }}", from + more));
    prop_oneof![3 => some(), 1 => law("every"), 1 => law("exponential"), 1 => two].boxed()
}

fn delays(scale: Scale) -> BoxedStrategy<String> {
    let delay = time(scale.rtt);
    prop_oneof![delay.clone(), laws(&delay, false)].boxed()
}

/// Times of traffic: at least a hundredth of the run, so that a run has few.
fn spells(scale: Scale) -> BoxedStrategy<String> {
    let (few, many) = (scale.duration / 2 + 1, scale.duration / 100 + 1);
    (many..=few.max(many)).prop_map(|time| format!("\"{time} ns\"")).boxed()
}

/// Keys of `[[flow]]` alone.
fn transfers(scale: Scale) -> BoxedStrategy<String> {
    let count = (1..4_u32).prop_map(|count| count.to_string()).boxed();
    let rounds = table(vec![
        ("count", (1..5_u32).prop_map(|count| count.to_string()).boxed()),
        ("idle", time(scale.duration / 4)),
        ("jitter", time(scale.duration / 8)),
    ]);
    let lifetime = spells(scale);
    lines(vec![
        line(0.9, "count", count.clone()),
        line(0.6, "size", sizes()),
        line(0.3, "start", start(scale)),
        line(0.15, "lifetime", prop_oneof![lifetime.clone(), laws(&lifetime, false)].boxed()),
        line(0.15, "parallel", count),
        line(0.15, "rounds", rounds),
    ])
}

/// Keys of `[[telnet]]` alone.
fn messages(scale: Scale) -> BoxedStrategy<String> {
    let interval = prop_oneof![8 => laws(&spells(scale), false), 1 => Just("\"tcplib\"".to_owned())].boxed();
    lines(vec![
        line(0.5, "count", (1..3_u32).prop_map(|count| count.to_string()).boxed()),
        given("interval", interval),
        line(0.5, "size", packets(3)),
        line(0.3, "start", time(scale.duration / 2)),
    ])
}

/// Keys of `[[web]]` alone.
fn pages(scale: Scale) -> BoxedStrategy<String> {
    let count = |most: u32| (1..=most).prop_map(|count| count.to_string()).boxed();
    let objects = number(0.1, 5.0);
    let gap = spells(scale);
    lines(vec![
        line(0.5, "sessions", count(3)),
        line(0.5, "pages", count(3)),
        given("page_gap", prop_oneof![gap.clone(), laws(&gap, false)].boxed()),
        given("objects", prop_oneof![count(4), laws(&objects, true)].boxed()),
        given("object_gap", prop_oneof![gap.clone(), laws(&gap, false)].boxed()),
        line(0.5, "size", sizes()),
        line(0.5, "connections", word(&["per-object", "persistent"])),
        line(0.3, "parallel", count(3)),
    ])
}

/// Keys of every TCP connection, each with the probability `share`.
fn connection(scale: Scale, share: f64) -> BoxedStrategy<String> {
    let window = || prop_oneof![packets(100), Just("\"unlimited\"".to_owned())].boxed();
    lines(vec![
        line(0.7, "profile", word(PROFILES)),
        scheme::keys(),
        line(0.3, "recovery", word(&["tahoe", "reno", "newreno", "sack"])),
        line(share / 3.0, "partial_acks", word(&["impatient", "slow-but-steady", "ns2-2002"])),
        line(share / 6.0, "sack_walk", walks()),
        first_window(share),
        line(share, "initial_ssthresh", window()),
        line(share, "receive_window", window()),
        line(share / 3.0, "initial_receive_window", packets(50)),
        line(
            share,
            "receiver",
            word(&["ack-every-packet", "delayed-ack", "quickack-then-delayed", "tuned-buffer"]),
        ),
        line(share, "delayed_ack_timer", time(500_000_000)),
        line(share / 3.0, "receiver_reads", (1..100_000_u32).prop_map(|n| format!("\"{n} B\"")).boxed()),
        line(share / 3.0, "byte_counting", flag()),
        line(share, "min_rto", time(10_000_000_000)),
        line(share, "rto_granularity", time(500_000_000)),
        line(share, "idle_restart", word(&["restart", "keep", "validate", "pace"])),
        line(share, "limited_transmit", flag()),
        line(share, "handshake", flag()),
        line(share / 3.0, "data_in_syn", word(&["never", "tfo", "t/tcp"])),
        line(share, "cluster", word(&["one", "two"])),
        line(share, "extra_rtt", delays(scale)),
    ])
}

/// Profiles: quinn stands for all stacks of QUIC, which refuse many keys. `tests/properties` runs the others.
const PROFILES: &[&str] = &["rfc", "ns2", "linux", "quinn"];

/// The initial window and its pacing. A pace of its own is possible with some windows only.
fn first_window(share: f64) -> BoxedStrategy<String> {
    let rules = word(&["rfc3390", "rfc6928", "rfc9002"]);
    let any = lines(vec![
        line(share, "initial_window", prop_oneof![packets(100), rules].boxed()),
        line(share / 3.0, "paced", flag()),
    ]);
    let own = (11..100_u64, 0.0..1.0).prop_map(|(window, more)| {
        let pace = window + (more * window as f64) as u64;
        format!("initial_window = \"{window} packets\"\npaced = true\ninitial_pace = \"{pace} packets\"\n")
    });
    prop_oneof![9 => any, 1 => own.boxed()].boxed()
}

/// Times of a host for each packet that an ACK makes it visit, with and without a limit of the ACKs that wait.
fn walks() -> BoxedStrategy<String> {
    let limited =
        (time(1_000_000), 1..300_u32).prop_map(|(walk, acks)| format!("{walk}\nack_backlog = {acks}"));
    prop_oneof![time(1_000_000), limited].boxed()
}

/// A `[[udp]]` that sends at most some hundred packets.
fn datagrams(scale: Scale, ends: Ends) -> BoxedStrategy<String> {
    let own = (40.min(scale.packet)..=scale.packet, 1..400_u64).prop_map(move |(size, packets)| {
        let rate = (size * packets) as f64 * 8e9 / scale.duration as f64;
        format!("size = \"{size} B\"\nrate = \"{} bit/s\"\n", rate.clamp(1.0, 1e14) as u64)
    });
    let spell = spells(scale);
    let spells = || prop_oneof![spell.clone(), laws(&spell, false)].boxed();
    let on_off = table(vec![("on", spells()), ("off", spells())]);
    lines(vec![
        Just("[[udp]]\n".to_owned()).boxed(),
        between(ends, 0.0),
        own.boxed(),
        line(0.3, "start", time(scale.duration / 2)),
        line(0.4, "on_off", on_off),
    ])
}
