//! Link traces: the capacity of a link over time, from a file in one of two formats or from a program.

mod amounts;
mod check;
pub(crate) mod columns;
mod lines;
mod pairs;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use firstflight_contract::{Nanos, Rate};
use sha2::{Digest, Sha256};

use crate::limits;
use check::Flaw;
use columns::Columns;
use firstflight_document::file::text_beside;
use firstflight_document::{Error, Own, Problem, Value};
use lines::Lines;

/// Bytes of a full packet that a delivery opportunity carries.
const OPPORTUNITY: u64 = 1500;

/// Name of a trace that stands in the scenario itself.
const INLINE: &str = "trace.text";

/// Nanoseconds in the unit of mahimahi's format.
const MILLISECOND: u64 = 1_000_000;

/// A trace in place of a rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTrace {
    /// Name of the file in the scenario, or of a trace that no file holds.
    pub file: String,
    /// SHA-256 of the file, in hexadecimal; see [`LinkTrace::opportunities`] for a trace that no file holds.
    pub sha256: String,
    /// Columns of the file that are read.
    pub columns: Box<Columns>,
    /// Capacity over time.
    pub schedule: Arc<Schedule>,
}

/// Capacity of a link over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Times of delivery opportunities, ascending; after the last, which is above zero, they repeat, counted from it.
    Opportunities(Vec<Nanos>),
    /// Rates with the times from which they hold; the times begin with zero and rise; the last rate, above zero, holds for
    /// ever.
    Rates(Vec<(Nanos, Rate)>),
}

impl LinkTrace {
    /// A trace from the text of a file; `file` is its name.
    ///
    /// # Errors
    /// As [`Schedule::parse`].
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        Self::parse_columns(text, file, Columns::default())
    }

    /// A trace from these columns of the text of a file; `file` is its name.
    ///
    /// # Errors
    /// As [`Schedule::parse_columns`].
    pub(crate) fn parse_columns(text: &str, file: &str, columns: Columns) -> Result<Self, Error> {
        Self::named(text, file, file, columns)
    }

    /// A trace from `text`, whose file is `file` in the scenario and `shown` in errors.
    fn named(text: &str, file: &str, shown: &str, columns: Columns) -> Result<Self, Error> {
        let schedule = Schedule::parse_columns(text, shown, &columns)?;
        Ok(Self { columns: Box::new(columns), ..Self::of(file, text, schedule) })
    }

    fn of(file: &str, text: &str, schedule: Schedule) -> Self {
        let sha256 = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { file: file.into(), sha256, columns: Box::default(), schedule: Arc::new(schedule) }
    }

    /// A trace whose lines stand in the scenario.
    ///
    /// # Errors
    /// As [`Schedule::parse_columns`]; the lines are counted from the first of `text`.
    pub(crate) fn inline(text: &str, columns: Columns) -> Result<Self, Error> {
        let mut trace = Self::parse_columns(text, INLINE, columns)?;
        trace.columns.text = Some(text.into());
        Ok(trace)
    }

    /// A trace `name` that no file holds: the delivery opportunities at these ascending times, each of a full packet. After
    /// the last, which is above zero, they repeat, counted from it.
    ///
    /// `sha256` is the hash of the times in nanoseconds, one in a line. Scenarios with the trace run, but their text names
    /// a file that does not exist.
    ///
    /// # Errors
    /// The first [`Error`] found; the rules are those of a file.
    pub fn opportunities(name: &str, times: Vec<Nanos>) -> Result<Self, Error> {
        check::opportunities(&times).map_err(|flaw| unfit(name, flaw))?;
        let text = text_of(&times, |text, time| writeln!(text, "{}", time.0));
        Ok(Self::of(name, &text, Schedule::Opportunities(times)))
    }

    /// A trace `name` that no file holds: rates with the ascending times from which they hold. The first holds from zero,
    /// the last, which is above zero, for ever.
    ///
    /// `sha256` is the hash of lines of nanoseconds, a comma and bit/s. Scenarios with the trace run, but their text
    /// names a file that does not exist.
    ///
    /// # Errors
    /// The first [`Error`] found; the rules are those of a file.
    pub fn rates(name: &str, steps: Vec<(Nanos, Rate)>) -> Result<Self, Error> {
        check::rates(&steps).map_err(|flaw| unfit(name, flaw))?;
        let text = text_of(&steps, |text, (from, rate)| writeln!(text, "{},{}", from.0, rate.0));
        Ok(Self::of(name, &text, Schedule::Rates(steps)))
    }

    /// Reads the trace `file` in `folder`.
    pub(crate) fn load(file: &str, folder: &Path, columns: Columns) -> Result<Self, Error> {
        let unreadable = |why| Error::new(Problem::Unreadable(why));
        let (text, shown) = text_beside(file, folder, limits::TRACE).map_err(unreadable)?;
        Self::named(&text, file, &shown, columns)
    }
}

impl Own for LinkTrace {
    fn is(&self) -> &'static str {
        "this is a trace"
    }

    /// The file and its columns, followed by a comment with its hash; or the lines.
    fn toml(&self) -> String {
        let Columns { column, unit, time, time_unit, text } = &*self.columns;
        let file = if self.columns.are_usual() {
            Value::text(&*self.file)
        } else {
            let chosen = [
                ("file", text.is_none().then_some(&*self.file)),
                ("text", text.as_deref()),
                ("column", column.as_deref()),
                ("unit", unit.map(|unit| unit.name)),
                ("time", time.as_deref()),
                ("time_unit", time_unit.map(|unit| unit.name)),
            ];
            Value::table(chosen.into_iter().filter_map(|(key, value)| Some((key, Value::text(value?)))))
        };
        format!("{file} # SHA-256 {}", self.sha256)
    }
}

/// The error that the trace `name`, which no file holds, has this flaw.
fn unfit(name: &str, Flaw { entry, problem, expected }: Flaw) -> Error {
    let error = Error::invalid(format!("entry {}: {problem}", entry + 1)).in_file(name, None);
    match expected {
        Some(expected) => error.expecting(expected),
        None => error,
    }
}

/// A line for each entry.
fn text_of<T>(entries: &[T], line: impl Fn(&mut String, &T) -> std::fmt::Result) -> String {
    let mut text = String::new();
    for entry in entries {
        line(&mut text, entry).expect("a text takes every line");
    }
    text
}

impl Schedule {
    /// Reads a trace: times and rates if the first line has two columns or more, else mahimahi's format. `file` is its name
    /// in errors.
    ///
    /// # Errors
    /// The first [`Error`] found, with its line.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        Self::parse_columns(text, file, &Columns::default())
    }

    /// As [`Schedule::parse`]; `columns` are those that are read if there are several.
    ///
    /// # Errors
    /// The first [`Error`] found, with its line; also if the columns cannot be recognised by their names.
    pub(crate) fn parse_columns(text: &str, file: &str, columns: &Columns) -> Result<Self, Error> {
        let lines = Lines { text: text.strip_prefix('\u{feff}').unwrap_or(text), file };
        let first = lines.rows().next();
        match first {
            Some((number, line)) if pairs::is_single(line) && !columns.are_usual() => {
                let problem =
                    "the trace has one column: those of mahimahi's format have no names and no units";
                Err(lines.wrong(number, problem.into(), "trace = \"FILE\""))
            }
            Some(_) if columns.are_usual() && amounts::are_here(&lines) => amounts::rates(&lines),
            Some((_, line)) if !pairs::is_single(line) => pairs::rates(&lines, columns),
            _ => lines.opportunities(),
        }
    }

    /// The mean rate: full packets of 1500 bytes over the trace's length; of rates the mean until the last line, or
    /// the only one; at least 1 bit/s.
    pub fn mean(&self) -> Rate {
        match self {
            Self::Opportunities(times) => {
                let bits = times.len() as u128 * u128::from(OPPORTUNITY) * 8;
                Rate((bits * 1_000_000_000 / u128::from(times[times.len() - 1].0)).max(1) as u64)
            }
            Self::Rates(steps) => {
                let (length, last) = steps[steps.len() - 1];
                let carried = steps
                    .windows(2)
                    .map(|pair| u128::from(pair[0].1.0) * u128::from((pair[1].0 - pair[0].0).0));
                let mean = carried.sum::<u128>().checked_div(length.0.into());
                Rate(mean.map_or(last.0, |mean| mean.max(1) as u64))
            }
        }
    }

    /// The highest rate: the most full packets in any one millisecond; of rates the highest.
    pub fn fastest(&self) -> Rate {
        match self {
            Self::Opportunities(times) => {
                let most = check::in_a_millisecond(times).map(|(_, packets)| packets).max().unwrap_or(0);
                Rate(most as u64 * OPPORTUNITY * 8 * 1000)
            }
            Self::Rates(steps) => steps.iter().map(|step| step.1).max().unwrap_or(Rate(0)),
        }
    }
}
