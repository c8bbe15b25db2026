//! What to know before trusting the numbers, and how to get them again.

use firstflight_study::results::{CompareReport, Provenance};
use maud::{Markup, html};

use crate::format::{bytes, list, printable};
use crate::path::path_field;

pub(super) fn caveats(report: &CompareReport) -> Markup {
    let comparison = &report.comparison;
    let unknown: Vec<_> =
        comparison.path.cannot_tell.iter().map(|field| path_field(field).to_lowercase()).collect();
    html! {
        section #caveats aria-labelledby="caveats-title" {
            h2 #caveats-title { "Caveats" }
            ul.caveats {
                @for warning in &comparison.warnings { li.warning { b { "Warning: " } (printable(warning)) } }
                @if !unknown.is_empty() {
                    li {
                        "The capture cannot tell the " (list(&unknown)) ". Results that depend on it carry the interval "
                        "that its whole range causes."
                    }
                }
                @if comparison.path.inferred_from.is_some() {
                    li {
                        "The other schemes are answered for the path as inferred. Cross traffic that the captured "
                        "connections met is part of that path; how it would have reacted to another start is not known."
                    }
                }
                li {
                    "These are runs in the " (printable(&comparison.provenance.host)) ", not measurements on the path. "
                    "The intervals hold the randomness between replications, not the error of the model."
                }
                li {
                    "Dropped packets count those of every flow on the path during the transfer: a start that finishes "
                    "sooner by filling the queue shows here what it did to itself and to others."
                }
            }
        }
    }
}

pub(super) fn provenance(provenance: &Provenance) -> Markup {
    html! {
        section #provenance aria-labelledby="provenance-title" {
            h2 #provenance-title { "Provenance, and how to reproduce this" }
            div.command {
                pre tabindex="0" { code #command { (printable(&provenance.command)) } }
                button #copy type="button" hidden { "Copy" }
            }
            dl {
                dt { "Version" } dd { (printable(&provenance.version)) " (" (printable(&provenance.revision)) ")" }
                dt { "Seed" } dd { (provenance.seed) }
                dt { "Replications" } dd { (provenance.replications) " of each scheme at each size" }
                dt { "Intervals" } dd { (printable(&provenance.interval_method)) }
                dt { "Ran in" } dd { (printable(&provenance.host)) ", on " (printable(&provenance.machine)) }
                dt { "Scenario" } dd.hash { "SHA-256 " (printable(&provenance.scenario_sha256)) }
                @for input in &provenance.inputs {
                    dt { "Read" }
                    dd { (printable(&input.name)) ", " (bytes(input.bytes)) ", " span.hash { "SHA-256 " (printable(&input.sha256)) } }
                }
            }
            details {
                summary { "The scenario that was run" }
                pre tabindex="0" { code { (provenance.scenario) } }
            }
        }
    }
}
