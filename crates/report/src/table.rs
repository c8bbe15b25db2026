//! Ranked tables for terminals.

use firstflight_results::{CompareReport, Comparison, Completion, SchemeResult};

use crate::advice::advice;
use crate::format::{TimeScale, bytes, count, counted, percent, printable, worth_having, wrap};
use crate::headline::{SizeAnswer, headline, recommended};
use crate::names::{Names, SAME};
use crate::networks;
use crate::path::{captured_lines, path_line, widened};
use crate::rows::{Row, rows};
use crate::shown::shown;
use crate::spread::Spread;

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
    Harm,
    HarmCi,
    Exit,
    ExitReason,
}

use Column::{
    Drops, Exit, ExitReason, Gain, GainCi, Harm, HarmCi, Median, MedianCi, P95, P95Ci, Rank, Scheme,
};

/// A choice of columns.
#[derive(Clone, Copy)]
struct Layout {
    columns: &'static [Column],
    /// Whether headings take two lines where one would widen their column.
    two_lines: bool,
}

/// Layouts from the widest; the first one that fits the terminal is used, or else the last.
const LAYOUTS: [Layout; 10] = [
    one_line(&[
        Rank, Scheme, Median, MedianCi, P95, P95Ci, Gain, GainCi, Drops, Harm, HarmCi, Exit, ExitReason,
    ]),
    one_line(&[Rank, Scheme, Median, MedianCi, P95, Gain, GainCi, Drops, Harm, HarmCi, Exit, ExitReason]),
    one_line(&[Rank, Scheme, Median, MedianCi, P95, Gain, GainCi, Drops, Harm, HarmCi, Exit]),
    one_line(&[Rank, Scheme, Median, MedianCi, P95, Gain, Drops, Harm, HarmCi, Exit]),
    one_line(&[Rank, Scheme, Median, MedianCi, P95, Gain, Drops, Harm, Exit]),
    one_line(&[Rank, Scheme, Median, P95, Gain, Drops, Harm, Exit]),
    two_lines(&[Rank, Scheme, Median, P95, Gain, Drops, Harm, Exit]),
    two_lines(&[Rank, Scheme, Median, P95, Gain, Drops, Harm]),
    two_lines(&[Rank, Scheme, Median, Gain, Drops, Harm]),
    two_lines(&[Rank, Scheme, Median, Gain, Drops]),
];

const fn one_line(columns: &'static [Column]) -> Layout {
    Layout { columns, two_lines: false }
}

const fn two_lines(columns: &'static [Column]) -> Layout {
    Layout { columns, two_lines: true }
}

const GAP: &str = "  ";

/// The answer, the path and one ranked table for each size, for a terminal of `width` columns.
///
/// On a terminal too narrow for the last of [`LAYOUTS`], the tables have its columns and are wider than the terminal.
pub fn table(report: &CompareReport, width: usize, colour: Colour) -> String {
    let report = &*shown(report);
    let names = Names::of(report);
    let comparison = &report.comparison;
    let mut out = String::new();
    let mut line = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    line(&paint(&printable(&comparison.title), Style::Bold, colour));
    wrap(&path_line(comparison), width).iter().for_each(|l| line(l));
    if let Some(note) = names.shared_avoidance_note() {
        wrap(&note, width).iter().for_each(|l| line(l));
    }
    let answer = headline(report, &names);
    // Those of many networks are in the page.
    let connections = if comparison.groups.is_empty() { &comparison.connections[..] } else { &[] };
    for text in captured_lines(connections) {
        wrap(&text, width).iter().for_each(|l| line(l));
    }
    line("");
    wrap(&answer.lead, width).iter().for_each(|l| line(&paint(l, Style::Bold, colour)));
    for detail in &answer.details {
        wrap(detail, width).iter().for_each(|l| line(l));
    }
    if !comparison.groups.is_empty() {
        line("");
        line(&paint("By network", Style::Bold, colour));
        let networks = networks::table(comparison, &names, width);
        line(&paint(&networks.heading, Style::Dim, colour));
        for (text, loses) in &networks.rows {
            line(&paint(text, if *loses { Style::Yellow } else { Style::Plain }, colour));
        }
        wrap(&networks.note, width).iter().for_each(|l| line(&paint(l, Style::Dim, colour)));
    }
    let spread = Spread::of(&comparison.path);
    for (place, size) in comparison.sizes().into_iter().enumerate() {
        line("");
        let ranked = comparison.ranked(size);
        let look = Look {
            names: &names,
            comparison,
            spread,
            recommended: recommended(comparison, size),
            max_harm: comparison
                .recommended
                .iter()
                .find(|it| it.size_bytes == size)
                .and_then(|it| it.max_harm),
        };
        let table_rows = rows(&ranked, &names);
        let grid = size_table(&table_rows, &look, width);
        line(&paint(&format!("{}, completion time", bytes(size)), Style::Bold, colour));
        grid.headings().iter().for_each(|text| line(&paint(text, Style::Dim, colour)));
        for (lines, row) in grid.rows().iter().zip(&table_rows) {
            let style = if look.recommends(row.result) { Style::Green } else { Style::Plain };
            lines.iter().for_each(|text| line(&paint(text, style, colour)));
        }
        // The answer for a single size stands above.
        let note = answer.by_size.get(place).filter(|_| answer.by_size.len() > 1).map(SizeAnswer::note);
        if let Some(note) = note.filter(|note| !note.is_empty()) {
            wrap(&note, width).iter().for_each(|text| line(text));
        }
        for note in notes(&ranked, &names) {
            wrap(&note, width).iter().for_each(|l| line(&paint(l, Style::Yellow, colour)));
        }
    }
    for one in advice(comparison, &names) {
        line("");
        line(&paint(&format!("To do: {}", one.title), Style::Bold, colour));
        one.cost.iter().flat_map(|text| wrap(text, width)).for_each(|l| line(&l));
        if one.how.is_empty() {
            line("This stack does not have it.");
        }
        // Commands stay on one line, so that they can be copied.
        one.how.iter().for_each(|way| line(&format!("  {way}")));
    }
    line("");
    if !comparison.results.is_empty() {
        let legend = legend(comparison, spread);
        wrap(&legend, width).iter().for_each(|l| line(&paint(l, Style::Dim, colour)));
    }
    for warning in &comparison.warnings {
        let warning = format!("warning: {}", printable(warning));
        wrap(&warning, width).iter().for_each(|l| line(&paint(l, Style::Yellow, colour)));
    }
    // No-break spaces kept numbers and units together while wrapping. Plain spaces make the output searchable.
    out.replace('\u{a0}', " ")
}

fn legend(comparison: &Comparison, spread: Spread) -> String {
    let measured = comparison.results.iter().any(|it| it.harm.is_some());
    let limit = comparison.recommended.iter().find_map(|it| it.max_harm);
    let harm = match (measured, limit) {
        (false, _) => String::new(),
        (true, None) => HARM.to_owned(),
        (true, Some(limit)) => {
            format!("{HARM} !: above the limit of {limit:.2}; ?: may be above it.")
        }
    };
    format!(
        "{} of each scheme, with common random numbers. [ ] after a median: {}; after a difference: its 95\u{a0}% interval. \
         >: recommended. *: no difference worth having from the best: below {}, or not beyond its interval. vs: difference of the \
         medians, negative is sooner. dropped: mean packets per transfer. exit window: congestion window at the end of \
         start-up, in packets; x: times the bandwidth-delay product.{harm}",
        counted(f64::from(comparison.provenance.replications), "replication", "replications"),
        spread.name(),
        worth_having(),
    )
}

/// Explanation of the harm.
const HARM: &str = " harm: time of a bulk flow or of short requests at the same bottleneck, whichever decides on the limit, over \
    that beside the present scheme.";

/// Settings that the cells of one table share.
struct Look<'a> {
    names: &'a Names,
    comparison: &'a Comparison,
    spread: Spread,
    /// Label of the recommended scheme.
    recommended: Option<&'a str>,
    max_harm: Option<f64>,
}

impl Look<'_> {
    fn recommends(&self, result: &SchemeResult) -> bool {
        self.recommended == Some(result.scheme.as_str())
    }
}

/// The table of one size, in the first layout that fits.
fn size_table(rows: &[Row<'_>], look: &Look<'_>, width: usize) -> Grid {
    let times = rows.iter().filter_map(|row| row.result.completion_s);
    let scale = TimeScale::of(times.map(|completion| completion.p95));
    let grid = |layout| Grid::new(layout, rows, look, scale);
    let [.., last] = LAYOUTS;
    LAYOUTS.into_iter().map(grid).find(|g| g.width() <= width).unwrap_or_else(|| grid(last))
}

/// Notes under the table of one size: unfinished replications and uncertain path values.
fn notes(ranked: &[&SchemeResult], names: &Names) -> Vec<String> {
    let unfinished = ranked.iter().filter(|r| r.unfinished > 0 && r.completion_s.is_some()).map(|r| {
        let name = &names.get(&r.scheme).own;
        format!(
            "{name}: {} of {} replications did not finish within the time limit.",
            r.unfinished, r.replications
        )
    });
    unfinished.chain(widened(ranked)).collect()
}

/// The cells of a table in one layout.
struct Grid {
    columns: Vec<Column>,
    /// Lines of the headings; the first line of each is empty if its heading takes one line.
    heading: Vec<[String; 2]>,
    cells: Vec<Vec<String>>,
    widths: Vec<usize>,
}

impl Grid {
    fn new(layout: Layout, rows: &[Row<'_>], look: &Look<'_>, scale: TimeScale) -> Self {
        let measured = rows.iter().any(|row| row.result.harm.is_some());
        let shown = |column: &Column| measured || !matches!(column, Harm | HarmCi);
        let columns: Vec<Column> = layout.columns.iter().copied().filter(shown).collect();
        let row = |row: &Row<'_>| columns.iter().map(|&column| cell(column, row, look, scale)).collect();
        let cells: Vec<Vec<String>> = rows.iter().map(row).collect();
        let length = |text: &str| text.chars().count();
        let widest = |text: &String| text.lines().map(length).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..columns.len())
            .map(|column| cells.iter().map(|row| widest(&row[column])).max().unwrap_or(0))
            .collect();
        let mut headings = vec![];
        for (i, &column) in columns.iter().enumerate() {
            let text = heading(column, scale, look);
            let lines = match text.rsplit_once(' ') {
                Some((first, last)) if layout.two_lines && length(&text) > widths[i] && !last.is_empty() => {
                    [first.to_owned(), last.to_owned()]
                }
                _ => [String::new(), text],
            };
            // The heading of a value spans its interval.
            let interval = if is_interval(columns.get(i + 1)) { GAP.len() + widths[i + 1] } else { 0 };
            let longest = lines.iter().map(|line| length(line)).max().unwrap_or(0);
            widths[i] = widths[i].max(longest.saturating_sub(interval));
            headings.push(lines);
        }
        Self { columns, heading: headings, cells, widths }
    }

    fn width(&self) -> usize {
        self.widths.iter().sum::<usize>() + GAP.len() * (self.widths.len() - 1)
    }

    /// One or two lines of headings.
    fn headings(&self) -> Vec<String> {
        let lines = [0, 1].map(|part| self.heading_line(|lines| &lines[part]));
        lines.into_iter().filter(|line| !line.is_empty()).collect()
    }

    fn heading_line(&self, part: impl Fn(&[String; 2]) -> &str) -> String {
        let mut line = String::new();
        for (i, (lines, &width)) in self.heading.iter().zip(&self.widths).enumerate() {
            let text = part(lines);
            let over_interval = is_interval(self.columns.get(i + 1));
            let cell = match (over_interval, self.columns[i]) {
                (_, MedianCi | P95Ci | GainCi | HarmCi) => continue,
                (true, _) => format!("{text:<all$}", all = width + GAP.len() + self.widths[i + 1]),
                (false, Scheme | ExitReason) => format!("{text:<width$}"),
                (false, _) => format!("{text:>width$}"),
            };
            line += if i == 0 { "" } else { GAP };
            line += &cell;
        }
        line.trim_end().to_owned()
    }

    /// The lines of each row: the first with every value, and one for each further name of the scheme.
    fn rows(&self) -> Vec<Vec<String>> {
        let line = |row: &Vec<String>, number: usize| {
            let cells = row.iter().zip(&self.widths).zip(&self.columns).map(|((text, &width), column)| {
                let text = text.lines().nth(number).unwrap_or("");
                let left = matches!(column, Scheme | MedianCi | P95Ci | GainCi | HarmCi | ExitReason);
                if left { format!("{text:<width$}") } else { format!("{text:>width$}") }
            });
            cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
        };
        let lines = |row: &Vec<String>| {
            let most = row.iter().map(|text| text.lines().count()).max().unwrap_or(0);
            (0..most).map(|number| line(row, number)).collect()
        };
        self.cells.iter().map(lines).collect()
    }
}

fn is_interval(column: Option<&Column>) -> bool {
    matches!(column, Some(MedianCi | P95Ci | GainCi | HarmCi))
}

fn heading(column: Column, scale: TimeScale, look: &Look<'_>) -> String {
    match column {
        Rank => "# ".to_owned(),
        Scheme => "scheme".to_owned(),
        Median => format!("median {}", scale.unit),
        P95 => format!("p95 {}", scale.unit),
        MedianCi | P95Ci | GainCi | HarmCi => String::new(),
        Gain => {
            let reference = look.comparison.reference();
            reference.map_or_else(String::new, |it| format!("vs {}", look.names.get(it).own))
        }
        Drops => "dropped".to_owned(),
        Harm => "harm".to_owned(),
        Exit => "exit window".to_owned(),
        ExitReason => "reason".to_owned(),
    }
}

/// One cell; further names of the scheme are lines of their own.
fn cell(column: Column, row: &Row<'_>, look: &Look<'_>, scale: TimeScale) -> String {
    let result = row.result;
    let completion =
        |write: &dyn Fn(Completion) -> String| result.completion_s.map_or_else(String::new, write);
    match column {
        Rank => {
            let tie = result.ties_with_best && result.completion_s.is_some() && row.place > 1;
            let mark = if look.recommends(result) { ">" } else { "" };
            format!("{mark}{}{}", row.place, if tie { "*" } else { " " })
        }
        Scheme => row.names.replace(SAME, &format!("\n{}", SAME.trim_start())),
        Median => result.completion_s.map_or_else(|| "none finished".to_owned(), |c| scale.value(c.median)),
        P95 => completion(&|c| scale.value(c.p95)),
        MedianCi => completion(&|c| format!("[{}]", scale.interval(look.spread.ends(&c)))),
        P95Ci => completion(&|c| format!("[{}]", scale.interval(c.p95_ci95))),
        Gain => look.comparison.difference(result).map_or_else(String::new, |d| percent(d.relative)),
        GainCi => look.comparison.difference(result).map_or_else(String::new, |d| {
            let [low, high] = d.relative_ci95;
            format!(
                "[{}…{}]",
                percent(low).trim_end_matches("\u{a0}%"),
                percent(high).trim_end_matches("\u{a0}%")
            )
        }),
        Drops => count(result.drops.mean),
        Harm => result.harm.map_or_else(String::new, |harm| {
            let mark = match look.max_harm.map(|limit| harm.within(limit)) {
                Some(Some(false)) => "!",
                Some(None) => "?",
                None | Some(Some(true)) => " ",
            };
            format!("{:.2}{mark}", harm.deciding(look.max_harm).0)
        }),
        HarmCi => result
            .harm
            .map(|harm| harm.deciding(look.max_harm).1)
            .filter(|[low, high]| low < high)
            .map_or_else(String::new, |[low, high]| format!("[{low:.2}–{high:.2}]")),
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

#[derive(Clone, Copy)]
pub(crate) enum Style {
    Plain,
    Bold,
    Dim,
    Green,
    Yellow,
}

/// `text` with the SGR codes of ECMA-48.
pub(crate) fn paint(text: &str, style: Style, colour: Colour) -> String {
    let code = match (colour, style) {
        (Colour::None, _) | (_, Style::Plain) => return text.to_owned(),
        (_, Style::Bold) => 1,
        (_, Style::Dim) => 2,
        (_, Style::Green) => 32,
        (_, Style::Yellow) => 33,
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}
