//! The generated parts of `docs/scenarios.md`.

use core::fmt::Write;

use firstflight_contract::Role;
use firstflight_document::format::Section;
use firstflight_document::reference::renew;
use firstflight_document::reference::tables_with;
use firstflight_host::stack::{Detection, Pacing, Tokens};

use crate::format::{QUEUE, SECTIONS};
use crate::model::{Growth, Network, Queue};
use crate::preset::PRESETS;
use crate::profile::{InitialWindow, Profile, Stack};
use crate::scheme::labels_of;
use crate::{Limit, limits};
use firstflight_document::quantity::{
    BDP_UNITS, BYTE_UNITS, PACKET_UNITS, RATE_UNITS, TIME_UNITS, show_bytes, show_rate, show_time,
};

/// The page with every generated part renewed, between its `<!-- generated: name -->` and `<!-- end -->` lines.
///
/// # Panics
/// If a part does not exist, or an end is missing.
pub fn refresh(page: &str) -> String {
    renew(page, part)
}

fn part(name: &str) -> String {
    match name {
        "units" => units(),
        "tables" => tables_with(SECTIONS, disciplines),
        "profiles" => profiles(),
        "presets" => presets(),
        "limits" => the_limits(),
        "schemes" => schemes(),
        other => panic!("there is no generated part \"{other}\""),
    }
}

fn units() -> String {
    let mut out = String::from("| Quantity | Units |\n|---|---|\n");
    for (quantity, tables) in [
        ("rate", &[RATE_UNITS][..]),
        ("time", &[TIME_UNITS]),
        ("size", &[BYTE_UNITS]),
        ("amount", &[BYTE_UNITS, PACKET_UNITS]),
        ("buffer, threshold", &[BYTE_UNITS, PACKET_UNITS, BDP_UNITS]),
    ] {
        let units: Vec<_> = tables.iter().copied().flatten().map(|(unit, _)| format!("`{unit}`")).collect();
        let _ = writeln!(out, "| {quantity} | {} |", units.join(" "));
    }
    out
}

/// The keys of each discipline, before the table of their keys.
fn disciplines(section: &Section) -> String {
    let mut out = String::new();
    if section.name != QUEUE.name {
        return out;
    }
    for info in Queue::INFO.iter().filter(|info| !info.keys.is_empty()) {
        let keys: Vec<_> = info.keys.iter().map(|key| format!("`{}`", key.name)).collect();
        let _ = writeln!(out, "- `{}` ({}): {}", info.label, info.source, keys.join(", "));
    }
    out + "\n"
}

fn profiles() -> String {
    let mut out = String::from("| |");
    for profile in Profile::ALL {
        let _ = write!(out, " `{}` |", profile.word());
    }
    let _ = writeln!(out, "\n|---{}|", "|---".repeat(Profile::ALL.len()));
    let mut row = |name: &str, cell: &dyn Fn(&Stack) -> String| {
        let cells: Vec<_> = Profile::ALL.iter().map(|profile| cell(profile.stack())).collect();
        let _ = writeln!(out, "| {name} | {} |", cells.join(" | "));
    };
    let yes = |flag: bool| String::from(if flag { "true" } else { "false" });
    row("`startup`", &|s| {
        let whole = s.whole.map(|whole| format!("{whole} for the whole connection, else "));
        let own = s.startup_with.iter().map(|(avoidance, startup)| format!("{startup} before {avoidance}, "));
        whole.unwrap_or_default()
            + &own.collect::<String>()
            + if s.startup_with.is_empty() { "" } else { "else " }
            + s.startup
    });
    row("`avoidance`", &|s| s.avoidance.into());
    row("parameters of schemes", &|s| {
        let set = s.parameters.iter().map(|(label, name, word)| format!("{label}: {name} = {word}"));
        set.collect::<Vec<_>>().join(", ")
    });
    row("`recovery`", &|s| s.recovery.word().into());
    row("`initial_window`", &|s| match s.initial_window {
        InitialWindow::Packets(n) => format!("{n} packets"),
        InitialWindow::Bytes(bytes) => format!("{bytes} B"),
        InitialWindow::Rfc3390 => "rfc3390".into(),
        InitialWindow::Rfc9002 => "rfc9002".into(),
        InitialWindow::Rfc6928 => "10 packets, but at most 14600 B or 2 packets (RFC 6928)".into(),
    });
    let offer = |bytes: Option<u64>| bytes.map_or("unlimited".into(), show_bytes);
    row("`receive_window`", &|s| offer(s.receive_window));
    row("`initial_receive_window`", &|s| offer(s.initial_receive_window));
    row("`receiver`", &|s| s.receiver.word().into());
    row("`delayed_ack_timer`", &|s| show_time(s.delayed_ack_timer));
    row("`byte_counting`", &|s| match s.growth {
        Growth::PerAck => "false".into(),
        Growth::ByteCounting => "true".into(),
        Growth::AllAcked => "neither: every acknowledged byte counts".into(),
    });
    row("`min_rto`", &|s| show_time(s.min_rto));
    row("largest retransmission timeout", &|s| show_time(s.max_rto));
    row("`rto_granularity`", &|s| show_time(s.rto_granularity));
    row("`idle_restart`", &|s| s.idle_restart.word().into());
    row("`limited_transmit`", &|s| yes(s.limited_transmit));
    row("`handshake`", &|s| yes(s.handshake));
    row("`send_buffer`", &|s| if s.is_quic() { offer(s.send_buffer) } else { "-".into() });
    row("headers of a packet, size of an ACK", &|s| match s.ack_size() {
        ack if ack == s.header => format!("{ack} B"),
        ack => format!("{} B, {ack} B", s.header),
    });
    let pacing = |s: &Stack| match s.rules.pacing {
        Pacing::Optional => "at rates of schemes, or by `paced`".into(),
        Pacing::Tokens(Tokens { percent, .. }) => {
            let [start, later] = percent.map(|percent| percent as f64 / 100.0);
            let later = if start == later { String::new() } else { format!(", {later} after slow start") };
            format!("always, {start} windows a round trip{later}")
        }
        Pacing::Rates => "at rates of schemes".into(),
        Pacing::Schemes if s.is_quic() => "never".into(),
        Pacing::Schemes => "at rates of schemes".into(),
    };
    row("losses are found by", &|s| {
        match s.rules.detection {
            Detection::Duplicates => "duplicate ACKs",
            Detection::Times => "time",
            Detection::Packets => "packet numbers and time",
        }
        .into()
    });
    row("pacing", &pacing);
    row("windows count", &|s| (if s.rules.whole_packets { "whole packets" } else { "bytes" }).into());
    out
}

fn presets() -> String {
    let mut out = String::from("| Name | Path | Rate | RTT | Buffer | Loss |\n|---|---|---|---|---|---|\n");
    for preset in PRESETS {
        let scenario = preset.load().scenario;
        let Network::Dumbbell(path) = scenario.network else { unreachable!("presets are paths") };
        let buffer = match path.buffer {
            Limit::Packets(n) => format!("{n} packets"),
            Limit::Bytes(n) => firstflight_document::quantity::show_bytes(n),
        };
        let (rate, rtt) = (show_rate(path.rate), show_time(path.rtt));
        let (name, title, loss) = (preset.name, scenario.title, path.loss);
        let _ = writeln!(out, "| `{name}` | {title} | {rate} | {rtt} | {buffer} | {loss} |");
    }
    out
}

fn the_limits() -> String {
    let rows = [
        ("a file", format!("{} bytes", limits::FILE)),
        ("a trace of a link", format!("{} bytes", limits::TRACE)),
        ("a rate, and at least 1 bit/s", show_rate(limits::RATE)),
        ("a time", show_time(limits::TIME)),
        ("a propagation delay or RTT", show_time(limits::DELAY)),
        ("a size", firstflight_document::quantity::show_bytes(limits::BYTES)),
        ("a number of packets", limits::PACKETS.to_string()),
        ("a window", format!("{} packets", limits::WINDOW)),
        ("what one connection sends", format!("{} packets", limits::SEGMENTS)),
        ("a buffer", format!("{} packets", limits::QUEUE)),
        ("a buffer or threshold in BDP", format!("{} BDP", limits::BDP_MILLIONTHS / 1_000_000)),
        ("a packet", format!("{} B", limits::PACKET)),
        ("flows in all", limits::FLOWS.to_string()),
        ("`[[flow]]` and `[[udp]]` tables, each", limits::GROUPS.to_string()),
        ("nodes", limits::NODES.to_string()),
        ("links, each direction counted", limits::LINKS.to_string()),
        ("hops of a parking lot", limits::HOPS.to_string()),
        ("phases of a scheme", limits::PHASES.to_string()),
        ("a name", format!("{} characters", limits::NAME)),
        ("the name of a link", format!("{} characters", limits::LINK_NAME)),
    ];
    let mut out = String::from("| | At most |\n|---|---|\n");
    for (what, most) in rows {
        let _ = writeln!(out, "| {what} | {most} |");
    }
    out
}

fn schemes() -> String {
    let mut out = String::new();
    for (what, roles) in [
        ("`startup`", &[Role::Startup][..]),
        ("`avoidance`", &[Role::Avoidance]),
        ("`startup` that needs no `avoidance`", &[Role::Standalone]),
    ] {
        let labels: Vec<_> = labels_of(roles).map(|label| format!("`{label}`")).collect();
        if !labels.is_empty() {
            let _ = writeln!(out, "- {what}: {}", labels.join(", "));
        }
    }
    out
}
