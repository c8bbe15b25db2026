//! The path in words.

use firstflight_study::results::PathResult;

use crate::format::{counted, printable, rate, significant};

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
