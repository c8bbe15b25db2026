//! The ranked table for terminals.

use firstflight_study::results::{CompareReport, Completion, SchemeResult};

use crate::format::{TimeScale, bytes, count, percent, printable};
use crate::headline::headline;
use crate::names::Names;
use crate::path::path_line;

/// Whether to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// ANSI colours, for a terminal.
    Ansi,
    /// Plain text, for files and pipes.
    None,
}

/// What a column shows.
#[derive(Clone, Copy, PartialEq)]
enum Column {
    Rank,
    Scheme,
    Median,
    MedianCi,
    P95,
    P95Ci,
    Gain,
    GainCi,
    Drops,
    Exit,
    ExitReason,
}

use Column::{Drops, Exit, ExitReason, Gain, GainCi, Median, MedianCi, P95, P95Ci, Rank, Scheme};

/// From the fullest to the barest; the first that fits the terminal is taken.
const LAYOUTS: [&[Column]; 5] = [
    &[Rank, Scheme, Median, MedianCi, P95, P95Ci, Gain, GainCi, Drops, Exit, ExitReason],
    &[Rank, Scheme, Median, MedianCi, P95, Gain, GainCi, Drops, Exit, ExitReason],
    &[Rank, Scheme, Median, MedianCi, P95, Gain, Drops, Exit, ExitReason],
    &[Rank, Scheme, Median, MedianCi, P95, Gain, Drops, Exit],
    &[Rank, Scheme, Median, P95, Gain, Drops, Exit],
];

const GAP: &str = "  ";

/// The answer, the path and one ranked table for each size, for a terminal of `width` columns.
///
/// Below about 60 columns the tables are wider than the terminal rather than incomplete.
pub fn table(report: &CompareReport, width: usize, colour: Colour) -> String {
    let names = Names::of(report);
    let comparison = &report.comparison;
    let mut out = String::new();
    let mut line = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    line(&paint(&printable(&comparison.title), Style::Bold, colour));
    wrap(&path_line(&comparison.path), width).iter().for_each(|l| line(l));
    if let Some(avoidance) = &names.shared {
        line(&format!("Every scheme goes on with {avoidance}."));
    }
    let answer = headline(report, &names);
    line("");
    wrap(&answer.lead, width).iter().for_each(|l| line(&paint(l, Style::Bold, colour)));
    for size in comparison.sizes() {
        line("");
        let ranked = comparison.ranked(size);
        for (i, text) in
            size_table(size, &ranked, &names, comparison.baseline.as_deref(), width).iter().enumerate()
        {
            let style = match (i, ranked.get(i.saturating_sub(2))) {
                (0, _) => Style::Bold,
                (1, _) => Style::Dim,
                (_, Some(r)) if r.ties_with_best && r.completion_s.is_some() => Style::Green,
                _ => Style::Plain,
            };
            line(&paint(text, style, colour));
        }
    }
    line("");
    let provenance = &comparison.provenance;
    let legend = format!(
        "{} replications each, common random numbers, [95 % intervals]; a * ties with the best; exit window at the \
         end of start-up, x the bandwidth-delay product; dropped packets per transfer.",
        provenance.replications
    );
    wrap(&legend, width).iter().for_each(|l| line(&paint(l, Style::Dim, colour)));
    for warning in &comparison.warnings {
        let warning = format!("warning: {}", printable(warning));
        wrap(&warning, width).iter().for_each(|l| line(&paint(l, Style::Yellow, colour)));
    }
    // They have kept numbers and units on one line; a reader who searches the output types plain spaces.
    out.replace('\u{a0}', " ")
}

/// A title line, a heading line and one line for each scheme.
fn size_table(
    size: u64,
    ranked: &[&SchemeResult],
    names: &Names,
    baseline: Option<&str>,
    width: usize,
) -> Vec<String> {
    let scale = TimeScale::of(ranked.iter().filter_map(|r| r.completion_s).map(|c| c.p95));
    let baseline = baseline.map(|b| names.get(b).short.as_str());
    let grid = |layout: &[Column]| -> Vec<Vec<String>> {
        let heading = layout.iter().map(|&c| heading(c, scale, baseline)).collect();
        let rows = ranked.iter().map(|r| layout.iter().map(|&c| cell(c, r, names, scale)).collect());
        std::iter::once(heading).chain(rows).collect()
    };
    let total = |grid: &[Vec<String>]| widths(grid).iter().sum::<usize>() + GAP.len() * (grid[0].len() - 1);
    let layout = LAYOUTS.into_iter().find(|l| total(&grid(l)) <= width).unwrap_or(LAYOUTS[LAYOUTS.len() - 1]);
    let grid = grid(layout);
    let widths = widths(&grid);
    let rows = grid.iter().map(|row| {
        let cells = row.iter().zip(&widths).zip(layout).map(|((text, &width), column)| {
            let left = matches!(column, Scheme | MedianCi | P95Ci | GainCi | ExitReason);
            if left { format!("{text:<width$}") } else { format!("{text:>width$}") }
        });
        cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    });
    std::iter::once(format!("{}, completion time", bytes(size))).chain(rows).collect()
}

fn widths(grid: &[Vec<String>]) -> Vec<usize> {
    let width = |column: usize| grid.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    (0..grid[0].len()).map(width).collect()
}

fn heading(column: Column, scale: TimeScale, baseline: Option<&str>) -> String {
    match column {
        Rank => "#".to_owned(),
        Scheme => "scheme".to_owned(),
        Median => format!("median {}", scale.unit),
        P95 => format!("p95 {}", scale.unit),
        MedianCi | P95Ci | GainCi => String::new(),
        Gain => baseline.map_or_else(String::new, |b| format!("vs {b}")),
        Drops => "dropped".to_owned(),
        Exit => "exit window".to_owned(),
        ExitReason => "by".to_owned(),
    }
}

fn cell(column: Column, result: &SchemeResult, names: &Names, scale: TimeScale) -> String {
    let completion =
        |write: &dyn Fn(Completion) -> String| result.completion_s.map_or_else(String::new, write);
    match column {
        Rank => {
            let tie = result.ties_with_best && result.completion_s.is_some() && result.rank > 1;
            format!("{}{}", result.rank, if tie { "*" } else { " " })
        }
        Scheme => names.get(&result.scheme).short.clone(),
        Median => result.completion_s.map_or_else(|| "none finished".to_owned(), |c| scale.value(c.median)),
        P95 => completion(&|c| scale.value(c.p95)),
        MedianCi => completion(&|c| format!("[{}]", scale.interval(c.ci95))),
        P95Ci => completion(&|c| format!("[{}]", scale.interval(c.p95_ci95))),
        Gain => result.against_baseline.map_or_else(String::new, |d| percent(d.relative)),
        GainCi => result.against_baseline.map_or_else(String::new, |d| {
            let [low, high] = d.relative_ci95;
            format!(
                "[{}…{}]",
                percent(low).trim_end_matches("\u{a0}%"),
                percent(high).trim_end_matches("\u{a0}%")
            )
        }),
        Drops => count(result.drops.mean),
        Exit => result.startup_exit.map_or_else(
            || "still in".to_owned(),
            |e| {
                let of_bdp = if e.bdp_packets > 0.0 {
                    format!(" = {:.2}x", e.cwnd_packets / e.bdp_packets)
                } else {
                    String::new()
                };
                format!("{}{of_bdp}", count(e.cwnd_packets))
            },
        ),
        ExitReason => result.startup_exit.map_or_else(String::new, |e| e.reason.label().to_owned()),
    }
}

/// Lines of at most `width` characters, broken at spaces; a longer word has a line of its own.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[derive(Clone, Copy)]
enum Style {
    Plain,
    Bold,
    Dim,
    Green,
    Yellow,
}

/// SGR codes of ECMA-48.
fn paint(text: &str, style: Style, colour: Colour) -> String {
    let code = match (colour, style) {
        (Colour::None, _) | (_, Style::Plain) => return text.to_owned(),
        (_, Style::Bold) => 1,
        (_, Style::Dim) => 2,
        (_, Style::Green) => 32,
        (_, Style::Yellow) => 33,
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}
