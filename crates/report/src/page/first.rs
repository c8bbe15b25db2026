//! The first screen: the one setting to have, its commands, the times now and then, and the facts behind it.

use firstflight_results::{Answer, AnswerAtSize, CompareReport, PairedDifference};
use maud::{Markup, html};

use crate::answer::{facts, gained, starts_as};
use crate::format::{bytes, percent_magnitude, printable, time};
use crate::path::path_line;

/// Height of a pair of bars, pixels.
const HEIGHT: u32 = 34;

/// The section; `title` names the input. Results without an answer have no sentence.
pub(super) fn section(report: &CompareReport, title: &str) -> Markup {
    let comparison = &report.comparison;
    html! {
        section #answer aria-labelledby="title" {
            h1 #title { (title) }
            @match &comparison.answer {
                Some(answer) => {
                    @if let Some(text) = starts_as(answer) { p.starts { (text) } }
                    p.lead { (printable(&answer.sentence)) }
                    (commands(answer))
                    (times(answer))
                    dl.facts {
                        @for (name, text) in facts(report, answer) {
                            div { dt { (name) } dd { (text) } }
                        }
                    }
                }
                None => p.path { (path_line(comparison)) }
            }
            @if let [first, others @ ..] = comparison.warnings.as_slice() {
                p.notice {
                    b { "Warning: " } (printable(first)) ". "
                    a href="#caveats" {
                        @if others.is_empty() { "All caveats" } @else {
                            (others.len()) " more warnings, and all caveats"
                        }
                    }
                }
            }
        }
    }
}

/// The commands of the setting, with a button that copies them.
fn commands(answer: &Answer) -> Markup {
    html! {
        @if !answer.commands.is_empty() {
            div.command {
                pre data-copied="setting" { code {
                    @for (place, command) in answer.commands.iter().enumerate() {
                        @if place > 0 { "\n" }
                        (printable(command))
                    }
                } }
                button.copy.scripted type="button" data-copies="setting" hidden { "Copy" }
            }
        }
    }
}

/// A row for each size: the median time now and then as bars whose scale is that row's, the gain, and the harm with its limit.
fn times(answer: &Answer) -> Markup {
    let weighed = answer.uncounted.is_some_and(|share| share < 1.0);
    html! {
        @if !answer.sizes.is_empty() {
            table.times {
                caption.hidden-visually { "Median time of a transfer now and with the setting, by size" }
                @for it in &answer.sizes {
                    tr {
                        th scope="row" {
                            (bytes(it.size_bytes))
                            @if weighed { span.dim { (format!("{:.0}\u{a0}%", it.weight * 100.0)) span.wide-only { " of transfers" } } }
                        }
                        td.bars { (bars(it)) }
                        td.value {
                            span.dim { "now " (it.now_s.map_or_else(|| "never".into(), time)) }
                            @if let Some(then) = it.then_s { b { "then " (time(then)) } }
                        }
                        @if answer.setting.is_some() { td.value { (gain(it)) (harm(it, answer.max_harm)) } }
                    }
                }
            }
        }
    }
}

/// Two bars: now above then. The longer one has the whole width.
fn bars(it: &AnswerAtSize) -> Markup {
    let longest = it.now_s.into_iter().chain(it.then_s).fold(0.0, f64::max);
    let width =
        |seconds: f64| if longest > 0.0 { format!("{:.1}%", seconds / longest * 100.0) } else { "0".into() };
    let half = (HEIGHT - 6) / 2;
    let class = if it.gain.is_some_and(|gain| gain <= -PairedDifference::WORTH_HAVING) {
        "then worse"
    } else {
        "then"
    };
    html! {
        svg width="100%" height=(HEIGHT) aria-hidden="true" {
            @if let Some(now) = it.now_s {
                rect.now x="0" y="2" width=(width(now)) height=(half) {}
            }
            @if let Some(then) = it.then_s {
                rect class=(class) x="0" y=(half + 4) width=(width(then)) height=(half) {}
            }
        }
    }
}

fn gain(it: &AnswerAtSize) -> Markup {
    let class = match it.gain {
        Some(gain) if gain >= PairedDifference::WORTH_HAVING => "sooner",
        Some(gain) if gain <= -PairedDifference::WORTH_HAVING => "later",
        _ => "dim",
    };
    html! { span class=(class) { (it.gain.map_or_else(|| "no gain known".into(), gained)) } }
}

/// The harm at a size, coloured by its place between none and the limit.
fn harm(it: &AnswerAtSize, limit: Option<f64>) -> Markup {
    let Some(harm) = it.harm else { return html! {} };
    let class = match limit {
        Some(limit) if harm > limit => "over",
        _ if harm >= 1.0 + PairedDifference::WORTH_HAVING => "some",
        _ => "none",
    };
    let words = match harm - 1.0 {
        more if more < 0.0005 => "others wait no longer".to_owned(),
        more => format!("others wait {} longer", percent_magnitude(more)),
    };
    let limit =
        limit.map_or_else(String::new, |limit| format!(" (limit {})", percent_magnitude(limit - 1.0)));
    html! { span class={ "harm " (class) } { (words) (limit) } }
}
