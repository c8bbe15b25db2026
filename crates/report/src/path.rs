//! The path in words.

use firstflight_study::results::{ConnectionResult, PathResult, SchemeResult};

use crate::format::{bytes, counted, list, printable, rate, significant, time};

/// What one line says of the path; unknown values are named as such.
pub(crate) fn path_line(path: &PathResult) -> String {
    let unknown = |what: &str| format!("{what} not known");
    let loss = match path.loss {
        Some(0.0) => "no random loss".to_owned(),
        Some(loss) => format!("{}\u{a0}% random loss", significant(loss * 100.0)),
        None => unknown("random loss"),
    };
    let parts = [
        path.rate_bit_s.map_or_else(|| unknown("rate"), |r| rate(r as f64)),
        path.rtt_ms
            .map_or_else(|| unknown("round-trip time"), |r| format!("{}\u{a0}ms round trip", significant(r))),
        path.buffer_packets.map_or_else(
            || unknown("buffer"),
            |b| format!("{} of buffer", counted(b as f64, "packet", "packets")),
        ),
        loss,
    ];
    let from = path
        .inferred_from
        .as_ref()
        .map_or_else(|| "Path: ".to_owned(), |file| format!("Path inferred from {}: ", printable(file)));
    format!("{from}{}.", parts.join(", "))
}

/// Bandwidth-delay product in full segments, without the buffer; `None` if a part of it is not known.
pub(crate) fn bdp_packets(path: &PathResult) -> Option<f64> {
    let bytes = path.rate_bit_s? as f64 / 8.0 * path.rtt_ms? / 1000.0;
    Some(bytes / path.mss_bytes.filter(|&m| m > 0)? as f64)
}

/// A value of the path with its unit, by the name of its field.
pub(crate) fn path_value(field: &str, value: f64) -> String {
    match field {
        "rate_bit_s" => rate(value),
        "rtt_ms" => format!("{}\u{a0}ms", significant(value)),
        "loss" => format!("{}\u{a0}%", significant(value * 100.0)),
        "mss_bytes" => format!("{}\u{a0}B", significant(value)),
        "buffer_packets" | "initial_window_packets" => counted(value, "packet", "packets"),
        _ => significant(value),
    }
}

/// What a field of the path is called.
pub(crate) fn path_field(field: &str) -> &str {
    match field {
        "rate_bit_s" => "Bottleneck rate",
        "rtt_ms" => "Round-trip propagation",
        "buffer_packets" => "Bottleneck buffer",
        "loss" => "Random loss",
        "mss_bytes" => "Segment payload",
        "initial_window_packets" => "Initial window",
        "receiver" => "Receiver",
        other => other,
    }
}

/// What the intervals of one size cover beyond chance; `None` if nothing.
pub(crate) fn widened(ranked: &[&SchemeResult]) -> Option<String> {
    let mut unknown: Vec<String> = Vec::new();
    for field in ranked.iter().flat_map(|r| &r.widened_by) {
        let name = path_field(field).to_lowercase();
        if !unknown.contains(&name) {
            unknown.push(name);
        }
    }
    (!unknown.is_empty()).then(|| format!("The intervals cover what is not known of the {}.", list(&unknown)))
}

/// Captured connections shown one by one; more are counted.
const MOST_CONNECTIONS: usize = 5;

/// What each captured connection did, and its re-run beside it.
pub(crate) fn captured_lines(connections: &[ConnectionResult]) -> Vec<String> {
    let finished = |completion: Option<f64>, unfinished: &str| completion.map_or(unfinished.into(), time);
    let mut lines: Vec<String> = connections
        .iter()
        .take(MOST_CONNECTIONS)
        .map(|c| {
            let seen = finished(c.observed_completion_s, "unknown time, as the capture ends before");
            let mut text = format!(
                "Captured: {} in {seen}, {} sent again; it {}.",
                bytes(c.bytes),
                counted(c.observed_retransmits as f64, "packet", "packets"),
                printable(&c.startup)
            );
            if !c.scheme.is_empty() {
                let ran = finished(c.rerun_completion_s, "more than the time allowed");
                let again = counted(c.rerun_retransmits as f64, "packet", "packets");
                text += &format!(" Re-run as {}: {ran}, {again} sent again.", c.scheme);
            }
            text
        })
        .collect();
    if connections.len() > MOST_CONNECTIONS {
        lines.push(format!(
            "{} more captured connections are in the report.",
            connections.len() - MOST_CONNECTIONS
        ));
    }
    lines
}
