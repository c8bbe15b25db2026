//! Ranked tables for terminals.

use firstflight_results::{CompareReport, Completion, SchemeResult};

use crate::format::{TimeScale, bytes, count, counted, percent, printable};
use crate::headline::headline;
use crate::names::Names;
use crate::path::{captured_lines, path_line, widened};

/// Colouring of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// ANSI colours, for a terminal.
    Ansi,
    /// Plain text, for files and pipes.
    None,
}

/// Columns of a ranked table.
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

/// Layouts from the widest; the first one that fits the terminal is used.
const LAYOUTS: [&[Column]; 4] = [
    &[Rank, Scheme, Median, MedianCi, P95, P95Ci, Gain, GainCi, Drops, Exit, ExitReason],
    &[Rank, Scheme, Median, MedianCi, P95, Gain, GainCi, Drops, Exit, ExitReason],
    &[Rank, Scheme, Median, MedianCi, P95, Gain, GainCi, Drops, Exit],
    &[Rank, Scheme, Median, MedianCi, P95, Gain, Drops, Exit],
];

/// Layout if none of [`LAYOUTS`] fits.
const NARROWEST: &[Column] = &[Rank, Scheme, Median, P95, Gain, Drops, Exit];

const GAP: &str = "  ";

/// The answer, the path and one ranked table for each size, for a terminal of `width` columns.
///
/// On a terminal narrower than [`NARROWEST`], the tables are complete and wider than the terminal.
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
    if let Some(note) = names.shared_avoidance_note() {
        wrap(&note, width).iter().for_each(|l| line(l));
    }
    let answer = headline(report, &names);
    for text in captured_lines(&comparison.connections) {
        wrap(&text, width).iter().for_each(|l| line(l));
    }
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
                (_, Some(r)) if r.completion_s.is_some() && (r.ties_with_best || r.rank == 1) => Style::Green,
                _ => Style::Plain,
            };
            line(&paint(text, style, colour));
        }
        for note in notes(&ranked, &names) {
            wrap(&note, width).iter().for_each(|l| line(&paint(l, Style::Yellow, colour)));
        }
    }
    line("");
    let provenance = &comparison.provenance;
    let legend = format!(
        "{} of each scheme, with common random numbers. [ ]: 95 % interval. *: no significant difference from the best. \
         dropped: mean packets per transfer. exit window: congestion window at the end of start-up, in packets; x: times \
         the bandwidth-delay product.",
        counted(f64::from(provenance.replications), "replication", "replications")
    );
    wrap(&legend, width).iter().for_each(|l| line(&paint(l, Style::Dim, colour)));
    for warning in &comparison.warnings {
        let warning = format!("warning: {}", printable(warning));
        wrap(&warning, width).iter().for_each(|l| line(&paint(l, Style::Yellow, colour)));
    }
    // No-break spaces kept numbers and units together while wrapping. Plain spaces make the output searchable.
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
    let grid = |layout| Grid::new(layout, ranked, names, scale, baseline);
    let fitting =
        LAYOUTS.into_iter().map(grid).find(|g| g.width() <= width).unwrap_or_else(|| grid(NARROWEST));
    std::iter::once(format!("{}, completion time", bytes(size))).chain(fitting.lines()).collect()
}

/// Notes under the table of one size: unfinished replications and uncertain path values.
fn notes(ranked: &[&SchemeResult], names: &Names) -> Vec<String> {
    let unfinished = ranked.iter().filter(|r| r.unfinished > 0 && r.completion_s.is_some()).map(|r| {
        let name = &names.get(&r.scheme).short;
        format!(
            "{name}: {} of {} replications did not finish within the time limit.",
            r.unfinished, r.replications
        )
    });
    unfinished.chain(widened(ranked)).collect()
}

/// The cells of a table in one layout.
struct Grid {
    layout: &'static [Column],
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
    widths: Vec<usize>,
}

impl Grid {
    fn new(
        layout: &'static [Column],
        ranked: &[&SchemeResult],
        names: &Names,
        scale: TimeScale,
        baseline: Option<&str>,
    ) -> Self {
        let heading: Vec<String> = layout.iter().map(|&c| heading(c, scale, baseline)).collect();
        let row = |r: &&SchemeResult| layout.iter().map(|&c| cell(c, r, names, scale)).collect();
        let rows: Vec<Vec<String>> = ranked.iter().map(row).collect();
        let mut widths: Vec<usize> = (0..layout.len())
            .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
            .collect();
        for column in 0..layout.len() {
            // The heading of a value spans its interval.
            let interval =
                if is_interval(layout.get(column + 1)) { GAP.len() + widths[column + 1] } else { 0 };
            widths[column] = widths[column].max(heading[column].chars().count().saturating_sub(interval));
        }
        Self { layout, heading, rows, widths }
    }

    fn width(&self) -> usize {
        self.widths.iter().sum::<usize>() + GAP.len() * (self.widths.len() - 1)
    }

    fn lines(self) -> Vec<String> {
        let mut heading = String::new();
        for (i, (text, &width)) in self.heading.iter().zip(&self.widths).enumerate() {
            let over_interval = is_interval(self.layout.get(i + 1));
            let cell = match (over_interval, self.layout[i]) {
                (_, MedianCi | P95Ci | GainCi) => continue,
                (true, _) => format!("{text:<all$}", all = width + GAP.len() + self.widths[i + 1]),
                (false, Scheme | ExitReason) => format!("{text:<width$}"),
                (false, _) => format!("{text:>width$}"),
            };
            heading += if i == 0 { "" } else { GAP };
            heading += &cell;
        }
        let rows = self.rows.iter().map(|row| {
            let cells = row.iter().zip(&self.widths).zip(self.layout).map(|((text, &width), column)| {
                let left = matches!(column, Scheme | MedianCi | P95Ci | GainCi | ExitReason);
                if left { format!("{text:<width$}") } else { format!("{text:>width$}") }
            });
            cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
        });
        std::iter::once(heading.trim_end().to_owned()).chain(rows).collect()
    }
}

fn is_interval(column: Option<&Column>) -> bool {
    matches!(column, Some(MedianCi | P95Ci | GainCi))
}

fn heading(column: Column, scale: TimeScale, baseline: Option<&str>) -> String {
    match column {
        Rank => "# ".to_owned(),
        Scheme => "scheme".to_owned(),
        Median => format!("median {}", scale.unit),
        P95 => format!("p95 {}", scale.unit),
        MedianCi | P95Ci | GainCi => String::new(),
        Gain => baseline.map_or_else(String::new, |b| format!("vs {b}")),
        Drops => "dropped".to_owned(),
        Exit => "exit window".to_owned(),
        ExitReason => "reason".to_owned(),
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
            || "no exit".to_owned(),
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

/// `text` broken at spaces into lines of at most `width` characters; a longer word gets its own line.
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

/// `text` with the SGR codes of ECMA-48.
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
