//! The self-contained HTML page. All text and numbers are in the markup; scripts only draw plots.

mod advice;
mod data;
mod first;
mod forest;
mod look;
mod networks;
mod path;
mod plots;
mod ranking;
mod sequence;
mod tradeoff;
mod trust;

use firstflight_results::CompareReport;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::figure::Look;
use crate::format::printable;
use crate::headline::headline;
use crate::names::Names;
use crate::policy::policy;
use crate::shown::shown;

/// Name of the page in the output folder.
pub const REPORT_FILE: &str = "report.html";

/// The library of the plots, its licence and its style sheet.
pub const UPLOT_JS: &str = include_str!("../../assets/vendor/uplot/uPlot.iife.min.js");
const UPLOT_CSS: &str = include_str!("../../assets/vendor/uplot/uPlot.min.css");
const UPLOT_LICENCE: &str = include_str!("../../assets/vendor/uplot/LICENSE");
const REPORT_CSS: &str = include_str!("../../assets/report.css");
const MAIN_JS: &str = include_str!("../../assets/main.js");

/// Scripts that draw the plots of [`Sections`]: the functions `fold()`, `copying()`, `sizes(data)`, `traces(data)` and
/// `captured(data)`, and the objects `theme` and `plot`.
pub const DRAWING_JS: [&str; 7] = [
    include_str!("../../assets/theme.js"),
    include_str!("../../assets/fold.js"),
    include_str!("../../assets/copy.js"),
    include_str!("../../assets/plot.js"),
    include_str!("../../assets/sizes.js"),
    include_str!("../../assets/traces.js"),
    include_str!("../../assets/captured.js"),
];

/// Style sheet of the page.
pub fn style() -> String {
    format!("{UPLOT_CSS}\n{REPORT_CSS}")
}

/// The content of the page, for a page that shows one report after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sections {
    /// Sections of the page's `main` element.
    pub html: String,
    /// JSON for [`DRAWING_JS`]. It has no `<`.
    pub data: String,
}

impl Sections {
    /// The content of [`html`]'s page.
    pub fn of(report: &CompareReport) -> Self {
        let report = &*shown(report);
        let names = Names::of(report);
        Self { html: sections(report, &names).into_string(), data: data::json(report, &names) }
    }
}

/// The page as one HTML document. The same report gives the same bytes.
pub fn html(report: &CompareReport) -> String {
    let report = &*shown(report);
    let names = Names::of(report);
    let script = format!("\"use strict\";\n{}{MAIN_JS}", DRAWING_JS.concat());
    let style = style();
    let title = printable(&report.comparison.title);
    let page = html! {
        (DOCTYPE)
        html lang="en" data-ready="false" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy(&[UPLOT_JS, &script], &[&style]));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (title) " · firstflight compare" }
                style { (PreEscaped(&style)) }
            }
            body {
                a.skip href="#answer" { "Skip to the answer" }
                header.top {
                    div.wide {
                        p.product { "firstflight " span { "compare" } }
                        button #theme type="button" hidden { "Colours: automatic" }
                    }
                }
                main { (sections(report, &names)) }
                footer { (licences()) }
                script #data type="application/json" { (PreEscaped(data::json(report, &names))) }
                script { (PreEscaped(UPLOT_JS)) }
                script { (PreEscaped(&script)) }
            }
        }
    };
    page.into_string()
}

/// The first screen, and the sections behind it, which unfold.
fn sections(report: &CompareReport, names: &Names) -> Markup {
    let comparison = &report.comparison;
    let caveats = match comparison.warnings.len() {
        0 => "limits of these results".to_owned(),
        1 => "a warning, and limits of these results".to_owned(),
        many => format!("{many} warnings, and limits of these results"),
    };
    html! {
        (first::section(report, &printable(&comparison.title)))
        (fold("Each size", "the recommendation for one size alone, with its reasons", &html! {
            (by_size(report, names))
            (advice::section(&crate::advice::advice(comparison, names)))
        }))
        (fold("Time against harm", "every candidate, in one picture for each size",
            &tradeoff::section(&crate::advice::pictures(comparison, names))))
        (fold("Networks", "every network of clients", &networks::section(comparison, names)))
        (fold("Ranking", "every candidate with its intervals, cost and harm", &ranking::section(report, names)))
        (fold("Plots by size", "completion time of every candidate", &plots::by_size(report, names)))
        (fold("Plots over time", "window, flight, queue and delivered data", &plots::over_time(report, names)))
        (fold("Captured connections", "each beside its re-run", &plots::captured(report)))
        (fold("Graphs of the connection", "time-sequence graph and round trips", &sequence::section(report)))
        (fold("Path", "its values, and how sure they are", &path::section(&comparison.path)))
        (fold("Caveats", &caveats, &trust::caveats(report)))
        (fold("Provenance", "the command that reproduces this page", &trust::provenance(&comparison.provenance)))
    }
}

/// Sections that unfold at a click; nothing if they are empty.
fn fold(title: &str, about: &str, sections: &Markup) -> Markup {
    html! {
        @if !sections.0.is_empty() {
            details.fold {
                summary { (title) span.dim { (about) } }
                (sections)
            }
        }
    }
}

/// The answer for all sizes by every scheme, and one card for each size.
fn by_size(report: &CompareReport, names: &Names) -> Markup {
    let answer = headline(report, names);
    html! {
        section #by-each aria-label="Each size" {
            p.detail { b { (answer.lead) } }
            @for detail in &answer.details { p.detail { (detail) } }
            @if answer.by_size.len() > 1 {
                ul.cards {
                    @for size in &answer.by_size {
                        li {
                            h3 {
                                (size.size)
                                @if let Some(recommended) = &size.recommended {
                                    span.winner { (scheme(names, recommended)) }
                                }
                            }
                            p { (size.text()) }
                        }
                    }
                }
            }
            @if let Some(note) = names.shared_avoidance_note() { p.note { (note) } }
        }
    }
}

/// The licence of the plots, as markup for a footer.
pub fn licences() -> Markup {
    html! {
        details {
            summary { "This page contains uPlot (MIT licence)" }
            pre { (UPLOT_LICENCE) }
        }
    }
}

/// Form and name of a scheme.
fn scheme(names: &Names, label: &str) -> Markup {
    let name = names.get(label);
    html! { span.scheme { (Look::of(name.colour).swatch()) (breakable(&name.short)) } }
}

/// A name that may be broken after `+` and before `@`.
fn breakable(name: &str) -> Markup {
    let ends = name.match_indices(['+', '@']).map(|(i, mark)| if mark == "+" { i + 1 } else { i });
    let mut from = 0;
    let mut parts = vec![];
    for end in ends.filter(|&end| !name[end..].is_empty() && !name[end..].starts_with('+')) {
        parts.push(&name[from..end]);
        from = end;
    }
    html! { @for part in parts.iter().filter(|part| !part.is_empty()) { (part) wbr; } (&name[from..]) }
}

/// Colour of the palette of the scheme with number `colour` of [`crate::names::Name`].
fn palette(colour: usize) -> usize {
    Look::of(colour).colour
}
