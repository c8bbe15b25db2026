//! Sentences about the path and the captured connections.

use firstflight_results::{Comparison, ConnectionResult, LimitedBy, PathResult, SchemeResult};

use crate::format::{bytes, counted, list, percent_magnitude, printable, rate, significant, time};

/// The path or, of a mix, its networks with the ranges of their values.
pub(crate) fn path_line(comparison: &Comparison) -> String {
    if comparison.groups.is_empty() { single_path(&comparison.path) } else { networks_line(comparison) }
}

/// `Mix of 8 networks from day.pcap: rates from 5 to 40 Mbit/s, round-trip times from 20 to 180 ms.`
fn networks_line(comparison: &Comparison) -> String {
    let path = &comparison.path;
    let answered = comparison.groups.iter().filter(|it| it.no_answer.is_none()).count();
    let range = |field: &str, one: &str, several: &str| {
        let estimate = path.estimates.iter().find(|it| it.field == field)?;
        let (low, high) = (path_value(field, estimate.low?), path_value(field, estimate.high?));
        Some(if low == high { format!("{one} {low}") } else { format!("{several} from {low} to {high}") })
    };
    let ranges = [
        range("rate_bit_s", "rate", "rates"),
        range("rtt_ms", "round-trip time", "round-trip times"),
        range("buffer_packets", "buffer", "buffers"),
    ];
    let ranges: Vec<String> = ranges.into_iter().flatten().collect();
    let from =
        path.inferred_from.as_deref().map_or_else(String::new, |file| format!(" from {}", printable(file)));
    let ranges = if ranges.is_empty() { String::new() } else { format!(": {}", ranges.join(", ")) };
    format!("Mix of {}{from}{ranges}.", counted(answered as f64, "network", "networks"))
}

/// One line with the values of the path; a value that is not known reads "unknown", and one that was given beside a
/// capture "given".
fn single_path(path: &PathResult) -> String {
    let unknown = |name: &str| format!("{name} unknown");
    let value = |field: &str, text: String| {
        if given_beside_capture(path, field) { format!("{text} (given)") } else { text }
    };
    let parts = [
        path.rate_bit_s.map_or_else(|| unknown("rate"), |r| value("rate_bit_s", rate(r as f64))),
        path.rtt_ms.map_or_else(
            || unknown("round-trip time"),
            |r| value("rtt_ms", format!("round-trip time {}\u{a0}ms", significant(r))),
        ),
        path.buffer_packets.map_or_else(
            || unknown("buffer"),
            |b| value("buffer_packets", format!("buffer {}", counted(b as f64, "packet", "packets"))),
        ),
        path.loss.map_or_else(|| unknown("random loss"), |loss| value("loss", random_loss(path, loss))),
    ];
    let from = path
        .inferred_from
        .as_ref()
        .map_or_else(|| "Path: ".to_owned(), |file| format!("Path inferred from {}: ", printable(file)));
    format!("{from}{}{}.", kinds(path), parts.join(", "))
}

/// The likeliest kind of path and its share, if it is not a plain queue or not the only one: `a policer (97 %), `.
pub(crate) fn kinds(path: &PathResult) -> String {
    /// Share below which a kind is not named.
    const LEAST: f64 = 0.2;
    let named: Vec<String> = path
        .kinds
        .iter()
        .filter(|it| it.weight >= LEAST)
        .map(|it| format!("{} ({})", kind(&it.kind), percent_magnitude(it.weight)))
        .collect();
    match (&named[..], path.kind.as_deref()) {
        ([], _) | ([_], Some("drop-tail")) => String::new(),
        _ => format!("{}; ", named.join(" or ")),
    }
}

/// A kind of path in words.
fn kind(label: &str) -> String {
    let words = match label {
        "drop-tail" => "drop-tail queue",
        "red" => "RED",
        "codel" => "CoDel",
        "fq-codel" => "FQ-CoDel",
        "policer" => "policer",
        "varying-rate" => "varying rate",
        "aggregating" => "packets in aggregates",
        "other-traffic" => "other traffic",
        "limited-return-path" => "limited return path",
        "token-bucket" => "token bucket",
        other => return printable(other),
    };
    words.into()
}

/// Whether a value was given although the path was inferred from a capture.
pub(crate) fn given_beside_capture(path: &PathResult, field: &str) -> bool {
    let inferred = path.estimates.iter().any(|estimate| estimate.field == field);
    path.inferred_from.is_some() && !inferred
}

/// The probability of a random loss. A capture without one only bounds it, so runs may still meet one.
fn random_loss(path: &PathResult, loss: f64) -> String {
    let bound = path.estimates.iter().find(|estimate| estimate.field == "loss").and_then(|it| it.high);
    match bound.filter(|&bound| bound > 0.0) {
        _ if loss > 0.0 => format!("{} random loss", path_value("loss", loss)),
        Some(bound) => format!("no random loss seen (at most {})", path_value("loss", two_digits(bound))),
        None => "no random loss".to_owned(),
    }
}

/// `value` rounded to two significant digits.
fn two_digits(value: f64) -> f64 {
    format!("{value:.1e}").parse().unwrap_or(value)
}

/// Value of the path's field `field`, with its unit.
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

/// Display name of the path's field `field`.
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

/// Sentence that names the unknown path values that the ranges of one size include; `None` if there are none.
pub(crate) fn widened(ranked: &[&SchemeResult]) -> Option<String> {
    let mut unknown: Vec<String> = Vec::new();
    for field in ranked.iter().flat_map(|r| &r.widened_by) {
        let name = path_field(field).to_lowercase();
        if !unknown.contains(&name) {
            unknown.push(name);
        }
    }
    (!unknown.is_empty()).then(|| {
        format!("The ranges of a further transfer include the uncertainty of the {}.", list(&unknown))
    })
}

/// Limits of a sender: each with its time in seconds and its share, the longest first. Shares below half a percent
/// are left out.
pub(crate) fn limits(by: &LimitedBy) -> Vec<(&'static str, f64, f64)> {
    const LEAST: f64 = 0.005;
    let limits = [
        ("congestion window", by.congestion_window_s),
        ("receive window", by.receive_window_s),
        ("application", by.application_s),
    ];
    let total: f64 = limits.iter().map(|(_, seconds)| seconds).sum();
    let shares = limits.into_iter().map(|(what, seconds)| (what, seconds, seconds / total));
    let mut named: Vec<_> = shares.filter(|(_, _, share)| *share >= LEAST).collect();
    named.sort_by(|(_, a, _), (_, b, _)| b.total_cmp(a));
    named
}

/// The limits as a sentence: `Limited by the congestion window for 0.5 s (83 %), the application for 0.1 s (17 %).` `None`
/// without any time.
fn limits_sentence(by: &LimitedBy) -> Option<String> {
    let one = |(what, seconds, share): (&str, f64, f64)| {
        format!("the {what} for {} ({:.0} %)", time(seconds), share * 100.0)
    };
    let named: Vec<String> = limits(by).into_iter().map(one).collect();
    (!named.is_empty()).then(|| format!("Limited by {}.", named.join(", ")))
}

/// Captured connections that get a line of their own.
const MOST_CONNECTIONS: usize = 5;

/// One line for each captured connection, with its re-run in the simulator.
pub(crate) fn captured_lines(connections: &[ConnectionResult]) -> Vec<String> {
    let retransmitted =
        |packets: u64| format!("{} retransmitted", counted(packets as f64, "packet", "packets"));
    let mut lines: Vec<String> = connections
        .iter()
        .take(MOST_CONNECTIONS)
        .map(|c| {
            let observed = c.observed_completion_s.map_or_else(
                || "; the capture ends before the transfer".to_owned(),
                |seconds| format!(" in {}", time(seconds)),
            );
            let mut text = format!(
                "Captured: {}{observed}, {}. The connection {}.{}",
                bytes(c.bytes),
                retransmitted(c.observed_retransmits),
                printable(&c.startup),
                limits_sentence(&c.limited_by).map(|sentence| format!(" {sentence}")).unwrap_or_default()
            );
            if !c.scheme.is_empty() {
                let rerun = c
                    .rerun_completion_s
                    .map_or_else(|| "not finished within the time limit".to_owned(), time);
                let packets = retransmitted(c.rerun_retransmits);
                text += &format!(" Re-run in the simulator as {}: {rerun}, {packets}.", printable(&c.scheme));
            }
            text
        })
        .collect();
    if connections.len() > MOST_CONNECTIONS {
        lines.push(format!(
            "{} more captured connections are listed in the HTML report.",
            connections.len() - MOST_CONNECTIONS
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_named_longest_first_with_their_share() {
        // 0.3 + 0.1 + 0.001 s: 74.8 %, 24.9 % and 0.2 %, which is too little to name
        let by = LimitedBy { congestion_window_s: 0.1, receive_window_s: 0.3, application_s: 0.001 };
        let text = limits_sentence(&by).map(|text| text.replace('\u{a0}', " "));
        assert_eq!(
            text.as_deref(),
            Some("Limited by the receive window for 300 ms (75 %), the congestion window for 100 ms (25 %).")
        );
        assert_eq!(limits_sentence(&LimitedBy::default()), None);
        assert!(limits(&LimitedBy::default()).is_empty());
    }
}
