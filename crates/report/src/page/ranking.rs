//! Ranked tables, one for each size, with the intervals drawn on one time axis.

use firstflight_results::{CompareReport, Comparison, SchemeResult};
use maud::{Markup, html};

use super::forest;
use crate::figure::Look as Mark;
use crate::format::{TimeScale, bytes, count, counted, percent, percent_magnitude, printable, worth_having};
use crate::headline::recommended;
use crate::names::{Names, SAME};
use crate::path::widened;
use crate::rows::{Row, rows};
use crate::spread::Spread;

pub(super) fn section(report: &CompareReport, names: &Names) -> Markup {
    let comparison = &report.comparison;
    let spread = Spread::of(&comparison.path);
    if let Some(why) = &comparison.no_answer {
        return html! {
            section #ranking aria-labelledby="ranking-title" {
                h2 #ranking-title { "Ranking" }
                p.note.warn { "There is no ranking: " (printable(why)) "." }
            }
        };
    }
    html! {
        section #ranking aria-labelledby="ranking-title" {
            h2 #ranking-title { "Ranking" }
            p.note {
                "Ranked by median completion time over "
                (counted(f64::from(comparison.provenance.replications), "replication", "replications"))
                ". Every scheme ran with the same random numbers. Small numbers beside the median and whiskers: "
                (spread.name()) "; other small numbers: 95\u{a0}% intervals. In the drawing, the dot is the median and the "
                "open circle the 95th percentile. The difference is that of the medians; it is coloured if it is worth having: "
                "at least " (worth_having()) ", and beyond its interval. "
                @if comparison.results.iter().any(|it| it.harm.is_some()) {
                    "Harm: “may be above” if the replications do not show whether it is within the limit. "
                }
                span.tie { "=" } " marks schemes whose difference from the best is not worth having."
            }
            @for size in comparison.sizes() {
                @let max_harm =
                    comparison.recommended.iter().find(|it| it.size_bytes == size).and_then(|it| it.max_harm);
                @let ranked = comparison.ranked(size);
                @let has_harm = ranked.iter().any(|it| it.harm.is_some());
                (size_table(size, &ranked,
                    &Look { names, comparison, spread, has_harm, max_harm },
                    recommended(comparison, size)))
            }
        }
    }
}

/// Settings that all tables share.
struct Look<'a> {
    names: &'a Names,
    comparison: &'a Comparison,
    spread: Spread,
    has_harm: bool,
    max_harm: Option<f64>,
}

fn size_table(size: u64, ranked: &[&SchemeResult], look: &Look<'_>, recommended: Option<&str>) -> Markup {
    let scale = TimeScale::of(ranked.iter().filter_map(|r| r.completion_s).map(|c| c.p95));
    let axis = forest::Axis::over(ranked, look.spread);
    html! {
        div.scroll role="region" tabindex="0" aria-label={ "Ranking at " (bytes(size)) } {
            table.ranking {
                caption { (bytes(size)) }
                thead {
                    tr {
                        th scope="col" { "#" }
                        th scope="col" { "Scheme" }
                        th.num scope="col" { "Median, " (scale.unit) }
                        th.num scope="col" { "95th pct., " (scale.unit) }
                        th.drawn scope="col" { (axis.heading(scale)) }
                        @if let Some(reference) = look.comparison.reference() {
                            th.num scope="col" { "Difference from" br; (look.names.get(reference).own) }
                        }
                        th.num scope="col" { "Dropped" br; span.unit { "packets" } }
                        @if look.has_harm {
                            th.num scope="col" { "Harm" br; span.unit { "times the present" } }
                        }
                        th.num scope="col" { "Retransmitted" br; span.unit { "packets" } }
                        th scope="col" { "End of start-up" br; span.unit { "window, × BDP, reason" } }
                    }
                }
                tbody {
                    @for it in rows(ranked, look.names) {
                        (row(&it, look, scale, &axis, recommended == Some(it.result.scheme.as_str())))
                    }
                }
            }
        }
        @if let Some(note) = widened(ranked) { p.note.warn { (note) } }
    }
}

fn row(
    Row { place, names, result }: &Row<'_>,
    look: &Look<'_>,
    scale: TimeScale,
    axis: &forest::Axis,
    recommended: bool,
) -> Markup {
    let tie = result.ties_with_best && *place > 1 && result.completion_s.is_some();
    let colour = look.names.get(&result.scheme).colour;
    html! {
        tr.best[recommended] {
            td.rank { (place) @if tie { span.tie title="no difference worth having from the best" { "=" } } }
            th scope="row" {
                @for (number, name) in names.split(SAME).enumerate() {
                    // A line may end between the names of equal schemes.
                    @if number == 0 { span.scheme { (Mark::of(colour).swatch()) (name) } }
                    @else { " " span.scheme { (SAME.trim_start()) (name) } }
                }
                @if recommended { span.ci { "recommended" } }
            }
            @if let Some(completion) = result.completion_s {
                td.num {
                    b { (scale.value(completion.median)) }
                    (interval(&scale.interval(look.spread.ends(&completion))))
                }
                td.num { (scale.value(completion.p95)) (interval(&scale.interval(completion.p95_ci95))) }
                td.drawn { (axis.mark(&completion, colour)) }
            } @else {
                td colspan="3" { "none finished within the time limit" }
            }
            @if look.comparison.reference().is_some() {
                td.num {
                    @if let Some(difference) = look.comparison.difference(result) {
                        @let [low, high] = difference.relative_ci95;
                        span.sooner[difference.worth_having()].later[difference.worth_avoiding()] {
                            (percent(difference.relative))
                        }
                        (interval(&format!("{} … {}", percent(low).trim_end_matches("\u{a0}%"), percent(high))))
                    } @else { span.dim { "reference" } }
                }
            }
            td.num {
                (count(result.drops.mean))
                @if let Some([low, high]) = result.drops.ci95 && low < high {
                    (interval(&format!("{}–{}", count(low), count(high))))
                }
                @if result.others_drops_mean > 0.0 {
                    span.ci { (count(result.others_drops_mean)) " from other flows" }
                }
            }
            @if look.has_harm { td.num { (harm(result, look.max_harm)) } }
            td.num {
                (count(result.retransmits_mean))
                @if result.timeouts_mean > 0.0 { span.ci { (count(result.timeouts_mean)) " timeouts" } }
            }
            td { (exit(result)) (remarks(result)) }
        }
    }
}

fn interval(text: &str) -> Markup {
    html! { span.ci { (text) } }
}

/// Harm to the bystander that decides on the limit.
fn harm(result: &SchemeResult, limit: Option<f64>) -> Markup {
    let Some(harm) = result.harm else { return html! { span.dim { "a bystander did not end" } } };
    let (ratio, [low, high]) = harm.deciding(limit);
    let within = limit.map_or(Some(true), |limit| harm.within(limit));
    html! {
        span.later[within == Some(false)] { (format!("{ratio:.2}")) }
        @if low < high { (interval(&format!("{low:.2}–{high:.2}"))) }
        @match within {
            Some(true) => {}
            Some(false) => { span.ci { "above the limit" } }
            None => { span.ci { "may be above the limit" } }
        }
    }
}

fn exit(result: &SchemeResult) -> Markup {
    let Some(exit) = result.startup_exit else { return html! { span.dim { "not during the transfer" } } };
    html! {
        (count(exit.cwnd_packets))
        @if exit.bdp_packets > 0.0 { ", " b { (format!("{:.2}", exit.cwnd_packets / exit.bdp_packets)) " ×" } }
        ", " (exit.reason.label())
        @if exit.agreed < 0.995 { span.ci { "in " (percent_magnitude(exit.agreed)) " of the replications" } }
    }
}

fn remarks(result: &SchemeResult) -> Markup {
    html! {
        @if result.unfinished > 0 && result.completion_s.is_some() {
            span.ci.warn { (result.unfinished) " of " (result.replications) " did not finish" }
        }
    }
}
