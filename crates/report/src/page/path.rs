//! The path and the uncertainty of each of its values.

use firstflight_results::{PathEstimate, PathResult};
use maud::{Markup, html};

use crate::format::printable;
use crate::path::{given_beside_capture, path_field, path_value};

pub(super) fn section(path: &PathResult) -> Markup {
    html! {
        section #path aria-labelledby="path-title" {
            h2 #path-title { "Path" @if path.inferred_from.is_some() { " and its uncertainty" } }
            @match &path.inferred_from {
                Some(file) => p.note { "Inferred from " b { (printable(file)) } "." },
                None => p.note { "Given by the command line, the scenario or the preset." },
            }
            div.scroll role="region" tabindex="0" aria-label="Path" {
                table {
                    thead {
                        tr {
                            th scope="col" { "Quantity" }
                            th.num scope="col" { "Value" }
                            @if !path.estimates.is_empty() {
                                th.num scope="col" { "Range" }
                                th scope="col" { "Inferred from" }
                            }
                        }
                    }
                    tbody {
                        @if path.estimates.is_empty() {
                            @for (field, text) in given(path) {
                                tr {
                                    th scope="row" { (path_field(field)) }
                                    td.num { (text) }
                                }
                            }
                        } @else {
                            @for (field, text) in given(path) {
                                @if given_beside_capture(path, field) {
                                    tr {
                                        th scope="row" { (path_field(field)) }
                                        td.num { b { (text) } }
                                        td {}
                                        td.text { "Given, not inferred" }
                                    }
                                }
                            }
                            @for estimate in &path.estimates { (estimate_row(estimate)) }
                        }
                        @if let Some(bdp) = path.bdp_packets {
                            tr.derived {
                                th scope="row" { "Bandwidth-delay product" }
                                td.num { (path_value("buffer_packets", bdp as f64)) }
                                @if !path.estimates.is_empty() {
                                    td {}
                                    td.text { "Rate times round-trip propagation, in packets on the wire" }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Values of a path that was given rather than inferred, with units.
fn given(path: &PathResult) -> Vec<(&'static str, String)> {
    let numbers = [
        ("rate_bit_s", path.rate_bit_s.map(|v| v as f64)),
        ("rtt_ms", path.rtt_ms),
        ("buffer_packets", path.buffer_packets.map(|v| v as f64)),
        ("loss", path.loss),
        ("mss_bytes", path.mss_bytes.map(|v| v as f64)),
        ("initial_window_packets", path.initial_window_packets.map(|v| v as f64)),
    ];
    let numbers = numbers.into_iter().filter_map(|(field, value)| Some((field, path_value(field, value?))));
    let receiver = path.receiver.iter().map(|word| ("receiver", printable(word)));
    numbers.chain(receiver).collect()
}

fn estimate_row(estimate: &PathEstimate) -> Markup {
    let field = estimate.field.as_str();
    let taken = match (&estimate.word, estimate.value) {
        (Some(word), _) => Some(printable(word)),
        (None, value) => value.map(|v| path_value(field, v)),
    };
    let shown = |v: f64| path_value(field, v);
    let within = match (estimate.low, estimate.high) {
        (Some(low), Some(high)) if low == high => shown(low),
        (Some(low), Some(high)) => format!("{} … {}", shown(low), shown(high)),
        (Some(low), None) => format!("at least {}", shown(low)),
        (None, Some(high)) => format!("at most {}", shown(high)),
        (None, None) => String::new(),
    };
    html! {
        tr.unknown[taken.is_none()] {
            th scope="row" { (path_field(field)) }
            td.num { @match &taken { Some(taken) => b { (taken) }, None => span.warn { "unknown" } } }
            td.num { (within) }
            td.text { (printable(&estimate.how)) }
        }
    }
}
