//! Caveats of the results, and the provenance from which they can be reproduced.

use firstflight_results::{CompareReport, Provenance};
use maud::{Markup, html};

use crate::format::{bytes, lines, list, printable};
use crate::path::path_field;

pub(super) fn caveats(report: &CompareReport) -> Markup {
    let comparison = &report.comparison;
    // Values that differ between the networks of a mix are known in each.
    let of_path = if comparison.groups.is_empty() { &comparison.path.cannot_tell[..] } else { &[] };
    let unknown: Vec<_> = of_path.iter().map(|field| path_field(field).to_lowercase()).collect();
    html! {
        section #caveats aria-labelledby="caveats-title" {
            h2 #caveats-title { "Caveats" }
            ul.caveats {
                @for warning in &comparison.warnings { li.warning { b { "Warning: " } (printable(warning)) } }
                @for network in &comparison.groups {
                    @for warning in &network.warnings {
                        li { b { (printable(&network.network)) ": " } (printable(warning)) }
                    }
                }
                @if !unknown.is_empty() {
                    li {
                        "The capture does not determine the " (list(&unknown)) ". The replications draw it from its whole "
                        "range, and the ranges of a further transfer include the effect."
                    }
                }
                @if comparison.path.inferred_from.is_some() {
                    li {
                        @if comparison.groups.is_empty() { "All schemes run on the inferred path. " }
                        @else { "All schemes run on the inferred paths of the networks. " }
                        "Cross traffic that shared the path with the captured "
                        "connections is part of it; how that traffic would have reacted to another scheme is unknown."
                    }
                }
                li {
                    "The results are runs in the " (printable(&comparison.provenance.host)) ", not measurements on the path. "
                    "The intervals include the randomness between replications, not the error of the model."
                }
                li {
                    "Dropped packets are those of all flows on the path during the transfer. They show the cost of a scheme "
                    "that finishes sooner by filling the queue, to itself and to other flows."
                }
            }
        }
    }
}

pub(super) fn provenance(provenance: &Provenance) -> Markup {
    html! {
        section #provenance aria-labelledby="provenance-title" {
            h2 #provenance-title { "Provenance: the command that reproduces this page" }
            div.command {
                pre tabindex="0" { code data-copied="command" { (printable(&provenance.command)) } }
                button.copy type="button" data-copies="command" hidden { "Copy" }
            }
            dl {
                dt { "Version" } dd { (printable(&provenance.version)) " (" (printable(&provenance.revision)) ")" }
                dt { "Seed" } dd { (provenance.seed) }
                dt { "Replications" } dd { (provenance.replications) " of each scheme at each size" }
                dt { "Intervals" } dd { (printable(&provenance.interval_method)) }
                dt { "Host" } dd { (printable(&provenance.host)) ", on " (printable(&provenance.machine)) }
                dt { "Scenario" } dd.hash { "SHA-256 " (printable(&provenance.scenario_sha256)) }
                @for input in &provenance.inputs {
                    dt { "Input file" }
                    dd { (printable(&input.name)) ", " (bytes(input.bytes)) ", " span.hash { "SHA-256 " (printable(&input.sha256)) } }
                }
            }
            details {
                summary { "Scenario of the runs" }
                pre tabindex="0" { code { (lines(&provenance.scenario)) } }
            }
        }
    }
}
