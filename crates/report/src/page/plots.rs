//! The places where scripts draw, each with the controls, the description and the table that go with it.

use firstflight_study::results::{CompareReport, ConnectionResult, Series, Trace};
use maud::{Markup, html};

use super::scheme;
use crate::format::{TimeScale, bytes, count, list, percent, printable, time};
use crate::names::Names;

/// Completion time by size; a table of the same numbers is the ranking.
pub(super) fn by_size(report: &CompareReport, names: &Names) -> Markup {
    let comparison = &report.comparison;
    let sizes: Vec<_> = comparison.sizes().into_iter().map(bytes).collect();
    html! {
        section #by-size aria-labelledby="by-size-title" {
            h2 #by-size-title { "Completion time by size" }
            div.controls.scripted hidden {
                @if let Some(baseline) = &comparison.baseline {
                    div.choice role="group" aria-label="Show" data-choice="measure" {
                        button type="button" aria-pressed="true" data-value="relative" {
                            "Against " (names.get(baseline).short)
                        }
                        button type="button" aria-pressed="false" data-value="time" { "Time" }
                    }
                }
            }
            figure {
                div #plot-sizes .plot data-height="320" data-label={
                    "Completion time of " (names.iter().count()) " schemes at " (list(&sizes))
                    ", with 95 % intervals. The ranking tables hold the same numbers."
                } {}
                figcaption {
                    span #sizes-caption { "Median completion time" }
                    ". Whiskers are 95 % intervals. The numbers are those of the ranking."
                }
            }
            (legend(names, "sizes"))
        }
    }
}

/// Window, flight, queue and delivery over time, for a size and a set of schemes to be chosen.
pub(super) fn over_time(report: &CompareReport, names: &Names) -> Markup {
    if report.traces.is_empty() {
        return html! {};
    }
    let mut sizes: Vec<u64> = report.traces.iter().map(|t| t.size_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let shown = sizes[sizes.len() / 2];
    let panels = [
        ("cwnd", "Congestion window, packets"),
        ("in-flight", "Packets in flight"),
        ("queue", "Packets waiting at the bottleneck"),
        ("delivered", "Delivered"),
    ];
    html! {
        section #over-time aria-labelledby="over-time-title" {
            h2 #over-time-title { "The start, over time" }
            p.note {
                "For each scheme the replication nearest its median. A diamond and a dashed line mark the end of start-up, "
                "ticks along the top of the queue mark dropped packets, a dot marks the end of the transfer. Drag to zoom, "
                "double-click to see all; with a plot in focus, the arrow keys move the cursor and Escape shows all again."
            }
            div.controls.scripted hidden {
                div.choice role="group" aria-label="Transfer size" data-choice="size" {
                    @for &size in &sizes {
                        button type="button" aria-pressed=(if size == shown { "true" } else { "false" })
                            data-value=(size) { (bytes(size)) }
                    }
                }
            }
            (legend(names, "traces"))
            div.panels {
                @for (id, name) in panels {
                    figure {
                        figcaption { (name) }
                        div id={ "plot-" (id) } .plot data-height="210" data-label={
                            (name) " over time. Start-up exits, losses and completions stand in the table below."
                        } {}
                    }
                }
            }
            p #readout .readout aria-live="polite" {}
            @for &size in &sizes {
                (trace_table(size, report, names))
            }
        }
    }
}

/// Boxes that show and hide schemes; the swatches are the legend of the plots.
fn legend(names: &Names, of: &str) -> Markup {
    html! {
        fieldset.legend.scripted data-legend=(of) hidden {
            legend.hidden-visually { "Schemes shown" }
            @for (i, name) in names.iter().enumerate() {
                label {
                    input type="checkbox" checked value=(i);
                    span.key.{ "c" (super::palette(name.colour)) }.dashed[name.colour > 8] aria-hidden="true" {}
                    (name.short)
                }
            }
        }
    }
}

/// What the four plots show at one size.
fn trace_table(size: u64, report: &CompareReport, names: &Names) -> Markup {
    let traces: Vec<&Trace> = report.traces.iter().filter(|t| t.size_bytes == size).collect();
    html! {
        div.scroll data-size=(size) role="region" tabindex="0" aria-label={ "The start at " (bytes(size)) } {
            table {
                caption { "The replications drawn, " (bytes(size)) }
                thead {
                    tr {
                        th scope="col" { "Scheme" }
                        th.num scope="col" { "Start-up ends" }
                        th.num scope="col" { "Window then" }
                        th scope="col" { "By" }
                        th.num scope="col" { "Lost of it" }
                        th.num scope="col" { "Largest window" }
                        th.num scope="col" { "Longest queue" }
                        th.num scope="col" { "First loss" }
                        th.num scope="col" { "Losses" }
                        th.num scope="col" { "Finished" }
                    }
                }
                tbody {
                    @for trace in traces {
                        tr {
                            th scope="row" { (scheme(names, &trace.scheme)) }
                            @if let Some(exit) = trace.startup_exit {
                                td.num { (time(exit.time_s)) }
                                td.num { (count(exit.cwnd_packets)) }
                                td { (exit.reason.label()) }
                                td.num { (exit.overshoot_packets) }
                            } @else {
                                td.dim colspan="4" { "outlasts the transfer" }
                            }
                            td.num { (largest(&trace.series.cwnd_packets)) }
                            td.num { (largest(&trace.series.queue_packets)) }
                            td.num { (trace.losses_s.first().map_or_else(|| "–".to_owned(), |&t| time(t))) }
                            td.num { (trace.losses_s.len()) }
                            td.num { (trace.completion_s.map_or_else(|| "no".to_owned(), time)) }
                        }
                    }
                }
            }
        }
    }
}

fn largest(column: &[f64]) -> String {
    column.iter().copied().reduce(f64::max).map_or_else(|| "–".to_owned(), count)
}

/// Every captured connection beside its re-run.
pub(super) fn captured(report: &CompareReport) -> Markup {
    let connections = &report.comparison.connections;
    if connections.is_empty() {
        return html! {};
    }
    let drawn = |series: &Series| !series.time_s.is_empty();
    let any_drawn = report.captured.iter().any(|c| drawn(&c.observed) || drawn(&c.rerun));
    html! {
        section #captured aria-labelledby="captured-title" {
            h2 #captured-title { "The captured connections, and the same ones re-run" }
            p.note {
                "Each connection of the capture was run again in the simulator, on the path inferred. How closely the re-run "
                "follows the original says how far to trust the rest of this page."
            }
            (connection_table(connections))
            @if any_drawn {
                div.controls.scripted hidden {
                    label.select {
                        "Connection "
                        select #connection {
                            @for (i, connection) in connections.iter().enumerate() {
                                option value=(i) {
                                    (i + 1) ": " (printable(&connection.name)) ", " (bytes(connection.bytes))
                                }
                            }
                        }
                    }
                    span.key.observed aria-hidden="true" {} "captured"
                    span.key.rerun aria-hidden="true" {} "re-run"
                    span.dim { "ticks along the top: retransmissions, captured above re-run" }
                }
                div.panels {
                    @for (id, name) in [("captured-delivered", "Delivered"), ("captured-in-flight", "Packets in flight")] {
                        figure {
                            figcaption { (name) }
                            div id={ "plot-" (id) } .plot data-height="230" data-label={
                                (name) " over time, captured and re-run. The table above holds the totals."
                            } {}
                        }
                    }
                }
                p #captured-readout .readout aria-live="polite" {}
            }
        }
    }
}

fn connection_table(connections: &[ConnectionResult]) -> Markup {
    let times = connections.iter().flat_map(|c| [c.observed_completion_s, c.rerun_completion_s]).flatten();
    let scale = TimeScale::of(times);
    let shown = |seconds: Option<f64>| seconds.map_or_else(|| "–".to_owned(), |s| scale.value(s));
    html! {
        div.scroll role="region" tabindex="0" aria-label="Captured connections and their re-runs" {
            table {
                thead {
                    tr {
                        th scope="col" { "#" }
                        th scope="col" { "Connection" }
                        th.num scope="col" { "Size" }
                        th.num scope="col" { "Captured, " (scale.unit) }
                        th.num scope="col" { "Re-run, " (scale.unit) }
                        th.num scope="col" { "Off by" }
                        th.num scope="col" { "Resent" br; span.unit { "captured / re-run" } }
                        th scope="col" { "What its start-up did" }
                    }
                }
                tbody {
                    @for (i, connection) in connections.iter().enumerate() {
                        tr {
                            td.rank { (i + 1) }
                            th scope="row" {
                                (printable(&connection.name)) span.ci { "re-run as " (printable(&connection.scheme)) }
                            }
                            td.num { (bytes(connection.bytes)) }
                            td.num { (shown(connection.observed_completion_s)) }
                            td.num { (shown(connection.rerun_completion_s)) }
                            td.num { b { (error(connection)) } }
                            td.num { (connection.observed_retransmits) " / " (connection.rerun_retransmits) }
                            td.text { (printable(&connection.startup)) }
                        }
                    }
                }
            }
        }
    }
}

/// How far the re-run's completion time is from the captured one.
fn error(connection: &ConnectionResult) -> String {
    match (connection.observed_completion_s, connection.rerun_completion_s) {
        (Some(observed), Some(rerun)) if observed > 0.0 => percent(rerun / observed - 1.0),
        _ => "–".to_owned(),
    }
}
