//! Sections with plots: the elements that scripts draw into, their controls, descriptions and tables.

use firstflight_results::{CompareReport, ConnectionResult, Series, Trace};
use maud::{Markup, html};

use super::{breakable, scheme};
use crate::figure::Look;
use crate::format::{TimeScale, bytes, count, list, percent, printable, time};
use crate::names::{Name, Names};
use crate::path::limits;
use crate::spread::Spread;

/// Completion time by transfer size. The ranking tables list the same numbers.
pub(super) fn by_size(report: &CompareReport, names: &Names) -> Markup {
    let comparison = &report.comparison;
    if comparison.results.is_empty() {
        return html! {};
    }
    let sizes: Vec<_> = comparison.sizes().into_iter().map(bytes).collect();
    let spread = Spread::of(&comparison.path).name();
    html! {
        section #by-size aria-labelledby="by-size-title" {
            h2 #by-size-title { "Completion time by size" }
            div.controls.scripted hidden {
                @if let Some(reference) = comparison.reference() {
                    div.choice role="group" aria-label="Show" data-choice="measure" {
                        button type="button" aria-pressed="true" data-value="relative" {
                            "Difference from " (names.get(reference).own)
                        }
                        button type="button" aria-pressed="false" data-value="time" { "Time" }
                    }
                }
            }
            figure {
                div #plot-sizes .plot data-height="320" data-label={
                    "Completion time of " (names.iter().count()) " schemes at " (list(&sizes))
                    ". Whiskers: " (spread) ". The ranking tables list the same numbers."
                } {}
                figcaption {
                    span #sizes-caption { "Median completion time" }
                    ". Whiskers of times: " (spread) "; of differences: their 95 % interval. The ranking tables list the "
                    "same numbers." (hidden_note(names))
                }
            }
            (legend(report, names, "sizes"))
        }
    }
}

/// Congestion window, packets in flight, queue and delivered bytes over time. The reader chooses the size and the
/// schemes.
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
            h2 #over-time-title { "Start-up over time" }
            p.note {
                "For each scheme, the replication nearest its median. A ringed mark and an upright dashed line show the end of "
                "start-up, ticks along the top of the queue plot dropped packets, and a large mark the end of the transfer. "
                "Drag to zoom and double-click to reset. While a plot has the focus, the arrow keys move the cursor of all "
                "four, and Escape resets the zoom." (hidden_note(names))
            }
            div.controls.scripted hidden {
                div.choice role="group" aria-label="Transfer size" data-choice="size" {
                    @for &size in &sizes {
                        button type="button" aria-pressed=(if size == shown { "true" } else { "false" })
                            data-value=(size) { (bytes(size)) }
                    }
                }
            }
            (values_of_schemes(report, names))
            div.panels {
                @for (id, name) in panels {
                    figure {
                        figcaption { (name) }
                        div id={ "plot-" (id) } .plot data-height="210" data-label={
                            (name) " over time. The table below lists start-up exits, losses and completion times."
                        } {}
                    }
                }
            }
            @for &size in &sizes {
                (trace_table(size, report, names))
            }
        }
    }
}

/// Sentence about schemes that plots do not show at first; empty if they show all.
fn hidden_note(names: &Names) -> String {
    let all = names.iter().count();
    match all.saturating_sub(SHOWN) {
        0 => String::new(),
        _ => format!(
            " At first at most {SHOWN} of the {all} schemes are shown: the scheme that the others are compared with, and the best."
        ),
    }
}

/// Most schemes that plots show until the reader chooses others.
const SHOWN: usize = 7;

/// Schemes in the order of the legends: first those that plots show at first, then the others. Each with its index and
/// whether it is shown. Shown are the reference and the best over all sizes; of schemes that do the same, one.
fn listed<'a>(report: &CompareReport, names: &'a Names) -> Vec<(usize, &'a Name, bool)> {
    let comparison = &report.comparison;
    let rank = |name: &Name| -> u32 {
        comparison.results.iter().filter(|r| r.scheme == name.label()).map(|r| r.rank).sum()
    };
    let is_reference = |name: &Name| comparison.reference().is_some_and(|it| it == name.label());
    let mut all: Vec<(usize, &Name, bool)> =
        names.iter().enumerate().map(|(i, name)| (i, name, false)).collect();
    if all.len() <= SHOWN {
        all.iter_mut().for_each(|(_, _, shown)| *shown = true);
        return all;
    }
    all.sort_by_key(|(_, name, _)| (!is_reference(name), rank(name)));
    let mut shown: Vec<&str> = vec![];
    for (_, name, is_shown) in &mut all {
        let same = |other: &&str| {
            let both = |group: &&Vec<String>| {
                let has = |label: &str| group.iter().any(|one| one == label);
                has(other) && has(name.label())
            };
            comparison.same.iter().any(|group| both(&group))
        };
        if shown.len() < SHOWN && !shown.iter().any(same) {
            shown.push(name.label());
            *is_shown = true;
        }
    }
    all.sort_by_key(|(_, _, is_shown)| !is_shown);
    all
}

/// Check boxes that show and hide schemes, with the marks of the plot: its legend.
fn legend(report: &CompareReport, names: &Names, of: &str) -> Markup {
    html! {
        fieldset.legend.scripted data-legend=(of) hidden {
            legend.hidden-visually { "Schemes shown" }
            @for (i, name, shown) in listed(report, names) {
                label {
                    input type="checkbox" checked[shown] value=(i);
                    (Look::of(name.colour).swatch())
                    span { (breakable(&name.short)) }
                }
            }
        }
    }
}

/// Legend of the plots over time, with a check box for each scheme and the values at the cursor.
fn values_of_schemes(report: &CompareReport, names: &Names) -> Markup {
    let columns =
        [("cwnd", "Window"), ("in_flight", "In flight"), ("queue", "Queue"), ("delivered", "Delivered")];
    let rows = listed(report, names).into_iter().map(|(i, name, shown)| {
        let label = html! {
            label {
                input type="checkbox" checked[shown] value=(i);
                (Look::of(name.colour).key())
                span { (breakable(&name.short)) }
            }
        };
        (i.to_string(), label)
    });
    html! { div data-legend="traces" .readout.scripted hidden { (values("readout", &columns, rows)) } }
}

/// Table that scripts fill with the values at the cursor: a row for each line, named by its key, and a column for each
/// plot.
fn values(id: &str, columns: &[(&str, &str)], rows: impl Iterator<Item = (String, Markup)>) -> Markup {
    html! {
        table id=(id) {
            caption data-heading { "Values at the cursor: point at a plot, or press an arrow key in it" }
            thead {
                tr {
                    th scope="col" { span.hidden-visually { "Line" } }
                    @for (_, name) in columns { th.num scope="col" { (name) } }
                }
            }
            tbody {
                @for (row, label) in rows {
                    tr data-row=(row) {
                        th scope="row" { (label) }
                        @for (column, _) in columns { td.num data-column=(column) {} }
                    }
                }
            }
        }
    }
}

/// Table of the replications that the four plots draw at one size.
fn trace_table(size: u64, report: &CompareReport, names: &Names) -> Markup {
    let traces: Vec<&Trace> = report.traces.iter().filter(|t| t.size_bytes == size).collect();
    html! {
        div.scroll data-size=(size) role="region" tabindex="0" aria-label={ "Start-up at " (bytes(size)) } {
            table {
                caption { "Replications in the plots, " (bytes(size)) }
                thead {
                    tr {
                        th scope="col" { "Scheme" }
                        th.num scope="col" { "Start-up ends" }
                        th.num scope="col" { "Window at the end" }
                        th scope="col" { "Reason" }
                        th.num scope="col" { "Lost of those sent before" }
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
                                td.num { (exit.lost_before_exit_packets) }
                            } @else {
                                td.dim colspan="4" { "not during the transfer" }
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

/// Captured connections and their re-runs.
pub(super) fn captured(report: &CompareReport) -> Markup {
    let connections = &report.comparison.connections;
    if connections.is_empty() {
        return html! {};
    }
    let drawn = |series: &Series| !series.time_s.is_empty();
    let any_drawn = report.captured.iter().any(|c| drawn(&c.observed) || drawn(&c.rerun));
    html! {
        section #captured aria-labelledby="captured-title" {
            h2 #captured-title { "Captured connections and their re-runs" }
            p.note {
                "Each connection of the capture was run again in the simulator, on the inferred path. If the re-run is close "
                "to the captured connection, the model fits this path; if not, trust the other results less."
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
                }
                div.readout.scripted hidden {
                    (values("captured-readout", &[("delivered", "Delivered"), ("in_flight", "In flight")], sides()))
                }
                p.note.scripted hidden {
                    "Ticks along the top: retransmissions, of the captured connection above and of the re-run below."
                }
                div.panels {
                    @for (id, name) in [("captured-delivered", "Delivered"), ("captured-in-flight", "Packets in flight")] {
                        figure {
                            figcaption { (name) }
                            div id={ "plot-" (id) } .plot data-height="230" data-label={
                                (name) " over time, captured and re-run. The table above lists the totals."
                            } {}
                        }
                    }
                }
            }
        }
    }
}

/// Legend of the plots of a captured connection and its re-run.
fn sides() -> impl Iterator<Item = (String, Markup)> {
    [("observed", "captured"), ("rerun", "re-run")].into_iter().map(|(side, name)| {
        let label = html! {
            span.side {
                svg.key.(side) viewBox="0 -6 40 12" aria-hidden="true" { line x1="0" x2="40" y1="0" y2="0" {} }
                (name)
            }
        };
        (side.to_owned(), label)
    })
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
                        th.num scope="col" { "Difference" }
                        th.num scope="col" { "Retransmitted" br; span.unit { "captured / re-run" } }
                        th scope="col" { "Limited by" br; span.unit { "share of the time" } }
                        th scope="col" { "Start-up: the connection …" }
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
                            td.num { b { (difference(connection)) } }
                            td.num { (connection.observed_retransmits) " / " (connection.rerun_retransmits) }
                            td.limits {
                                @for (what, seconds, share) in limits(&connection.limited_by) {
                                    div.limit { (format!("{:.0}\u{a0}%", share * 100.0)) " " (what) span.ci { (time(seconds)) } }
                                }
                            }
                            td.text { (printable(&connection.startup)) }
                        }
                    }
                }
            }
        }
    }
}

/// Relative difference of the re-run's completion time from the captured one.
fn difference(connection: &ConnectionResult) -> String {
    match (connection.observed_completion_s, connection.rerun_completion_s) {
        (Some(observed), Some(rerun)) if observed > 0.0 => percent(rerun / observed - 1.0),
        _ => "–".to_owned(),
    }
}
