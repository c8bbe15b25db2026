//! Traces of times and rates: two columns, or two of several that the first line names.

use firstflight_contract::{Nanos, Rate};

use super::Schedule;
use super::check;
use super::columns::{Columns, MEGABITS, RateUnit, SECONDS, TimeUnit};
use super::columns::{is_other_time, is_rate, is_time, is_unclear, rate_unit, time_unit};
use super::lines::{Lines, unlike};
use crate::limits;
use firstflight_document::quantity::{show_rate, show_time};
use firstflight_document::seconds::Seconds;
use firstflight_document::{Error, Problem, calendar, clipped, nearest, token};

const PAIR: &str = "seconds and Mbit/s, such as 0.5,12.5";
const PAIR_OR_NAMES: &str =
    "seconds and Mbit/s, such as 0.5,12.5, or a first line with names of columns, such as time,rate";
const UNITS: &str = "the units: trace = { file = …, unit = \"kbit/s\", time_unit = \"ms\" }, or unit = \"Mbit/s\", time_unit = \"s\" if they are these";
/// Numbers without a unit that are more likely those of other units than seconds and Mbit/s: of 8,416 public traces in seconds and
/// Mbit/s the longest takes 82,758 s, and none that takes more than 800 s exceeds 37 Mbit/s. Oboe's 428 traces, in ms and kbit/s,
/// have 133,991 and more, and 378 and more.
const LONG: Nanos = Nanos::from_secs(86_400);
const FAST: Rate = Rate(10_000_000_000);
const LONG_AND_FAST: (Nanos, Rate) = (Nanos::from_secs(3_600), Rate(100_000_000));
/// Nanoseconds since 1970 of September 2001: a time since the beginning of a trace has fewer.
const SINCE_1970: i128 = 1_000_000_000_000_000_000;
/// The slowest link that carries anything, bit/s.
const SLOWEST: f64 = 1.0;

/// Columns that name the session of a row, in FCC's, Puffer's and Lumos5G's collections.
const SESSIONS: [&str; 3] = ["unit_id", "session_id", "run_num"];

/// The character between the columns of a line; `None` for white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Separator(Option<char>);

impl Separator {
    fn of(line: &str) -> Self {
        Self([';', '\t', ','].into_iter().find(|separator| line.contains(*separator)))
    }

    /// The fields of a line, without quotation marks and without an empty one at the end.
    fn split(self, line: &str) -> Vec<&str> {
        let Some(separator) = self.0 else { return line.split_whitespace().collect() };
        let mut quoted = false;
        let ends = |c: char| {
            quoted ^= c == '"';
            c == separator && !quoted
        };
        let mut fields: Vec<_> = line.split(ends).map(|field| unquoted(field.trim())).collect();
        if fields.len() > 1 && fields.last() == Some(&"") {
            fields.pop();
        }
        fields
    }
}

fn unquoted(field: &str) -> &str {
    field.strip_prefix('"').and_then(|field| field.strip_suffix('"')).unwrap_or(field)
}

/// Whether a line has one column: those of mahimahi's format do.
pub(super) fn is_single(line: &str) -> bool {
    Separator::of(line).split(line).len() < 2
}

/// Place of the columns in a line, and their units.
#[derive(Debug)]
struct Shape {
    separator: Separator,
    fields: usize,
    time: usize,
    rate: usize,
    unit: RateUnit,
    /// Whether the file or the scenario states the unit of the rate.
    has_unit: bool,
    /// `None` for the unit that the first time's size shows.
    time_unit: Option<TimeUnit>,
    session: Option<usize>,
    /// Whether the columns have names.
    named: bool,
    /// Whether the first row has them, and not a comment.
    begins_with_names: bool,
}

/// A time of a row.
#[derive(Clone, Copy)]
struct Moment {
    /// Nanoseconds.
    at: i128,
    /// Whether it is a date with whole seconds, which rows may repeat.
    coarse: bool,
}

pub(super) fn rates(lines: &Lines<'_>, columns: &Columns) -> Result<Schedule, Error> {
    let mut rows = lines.rows().peekable();
    let Some(&(first, line)) = rows.peek() else {
        return Err(lines.wrong(0, "the trace has no rates".into(), PAIR));
    };
    let shape = shape(lines, first, line, columns)?;
    if shape.begins_with_names {
        rows.next();
    }
    let mut steps: Vec<(Nanos, Rate)> = vec![];
    let (mut places, mut start, mut unit, mut session) = (vec![], None, shape.time_unit, None);
    let mut is_absolute = false;
    for (number, line) in rows {
        let fields = shape.separator.split(line);
        let wrong = |problem| Err(lines.wrong(number, problem, &shape.expected()));
        if fields.len() != shape.fields {
            return wrong(shape.miscounted(line, fields.len()));
        }
        if let Some(at) = shape.session
            && *session.get_or_insert(fields[at]) != fields[at]
        {
            return wrong("the rows are those of several sessions: expected a file for each".into());
        }
        let Some(moment) = moment(fields[shape.time], &mut unit) else {
            return wrong(shape.not_a("time", fields[shape.time], line));
        };
        let Some(rate) = fields[shape.rate].parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0) else {
            return wrong(shape.not_a("rate", fields[shape.rate], line));
        };
        let rate = shape
            .rate(fields[shape.rate], rate)
            .map_err(|why| lines.wrong(number, why, &shape.expected()))?;
        is_absolute |= moment.at >= SINCE_1970;
        let at = moment.at - *start.get_or_insert(moment.at);
        let Ok(at) = u64::try_from(at) else {
            return wrong(format!("{} lies before the first time", token(fields[shape.time])));
        };
        if at > limits::TIME.0 {
            let most = limits::TIME.as_secs_f64();
            return wrong(format!(
                "{} lies more than {most} s after the first time",
                token(fields[shape.time])
            ));
        }
        match steps.last_mut() {
            // A logger with whole seconds can write two rows in one: the last holds from then on.
            Some(last) if moment.coarse && last.0.0 == at => last.1 = rate,
            _ => {
                steps.push((Nanos(at), rate));
                places.push(number);
            }
        }
    }
    check::rates(&steps).map_err(|flaw| {
        let line = places.get(flaw.entry).copied().unwrap_or(first);
        lines.wrong(line, flaw.problem, flaw.expected.as_deref().unwrap_or(PAIR))
    })?;
    shape.plausible(&steps, is_absolute).map_err(|why| lines.wrong(first, why, UNITS))?;
    Ok(Schedule::Rates(steps))
}

impl Shape {
    fn expected(&self) -> String {
        let usual = self.unit == MEGABITS && self.time_unit.is_none_or(|unit| unit == SECONDS);
        if usual { PAIR.into() } else { format!("a time and a rate in {}", self.unit.name) }
    }

    fn miscounted(&self, line: &str, found: usize) -> String {
        if !self.named {
            return unlike(line, "such a pair");
        }
        let plural = if found == 1 { "" } else { "s" };
        format!("this line has {found} column{plural}, the line with the names has {}", self.fields)
    }

    /// The problem of a field that is not `what`; a field is shown only if it is a number in another way of writing.
    fn not_a(&self, what: &str, field: &str, line: &str) -> String {
        if self.separator.0 != Some(',') && field.contains(',') {
            return format!("\"{}\" has a decimal comma; expected a point", token(field));
        }
        if !self.named { unlike(line, "such a pair") } else { unlike(field, &format!("a {what}")) }
    }

    /// Refuses numbers without units that are hardly seconds and Mbit/s.
    fn plausible(&self, steps: &[(Nanos, Rate)], is_absolute: bool) -> Result<(), String> {
        let fastest = steps.iter().map(|step| step.1).max().unwrap_or(Rate(0));
        let length = steps.last().map_or(Nanos::ZERO, |step| step.0);
        let (unstated, untimed) = (!self.has_unit, self.time_unit.is_none() && !is_absolute);
        let together = length > LONG_AND_FAST.0 && fastest > LONG_AND_FAST.1;
        if !(unstated && fastest > FAST || untimed && length > LONG || unstated && untimed && together) {
            return Ok(());
        }
        let (fastest, length) = (show_rate(fastest), show_time(length));
        Err(format!("without units, these are rates up to {fastest} over {length}, which is hardly meant"))
    }

    /// Whole bits per second, to the nearest.
    fn rate(&self, text: &str, rate: f64) -> Result<Rate, String> {
        let (bits, name) = (self.unit.bits as f64, self.unit.name);
        let most = check::FASTEST.0 as f64 / bits;
        match rate * bits {
            _ if rate > most => Err(format!("{} {name} is above the limit of {most} {name}", token(text))),
            value if value > 0.0 && value < SLOWEST => {
                Err(format!("{} {name} is below the limit of 1 bit/s", token(text)))
            }
            value => Ok(Rate(value.round() as u64)),
        }
    }
}

/// The columns of a trace whose first row is `line`.
fn shape(lines: &Lines<'_>, first: usize, line: &str, columns: &Columns) -> Result<Shape, Error> {
    let separator = Separator::of(line);
    let fields = separator.split(line);
    let has_values = fields.iter().any(|field| is_value(field));
    let names = if has_values {
        comment_with_names(lines, first, separator, fields.len())
    } else {
        Some(fields.clone())
    };
    if let Some(names) = names {
        let known = names.iter().any(|name| is_rate(name) || is_time(name) > 0);
        if !known && columns.column.is_none() {
            return Err(lines.wrong(first, unlike(line, "such a pair"), PAIR_OR_NAMES));
        }
        let shape = named(lines, first, separator, &names, columns)?;
        return Ok(Shape { begins_with_names: !has_values, ..shape });
    }
    let wrong = |problem: String, expected: &str| Err(lines.wrong(first, problem, expected));
    if let Some(name) = columns.column.as_ref().or(columns.time.as_ref()) {
        let problem = format!("there is no column \"{}\": no line has names of columns", clipped(name));
        return wrong(problem, "a first line such as time,rate");
    }
    if fields.len() != 2 {
        return wrong(unlike(line, "such a pair"), PAIR_OR_NAMES);
    }
    if columns.unit.is_none()
        && let Some(unit) = lines.comments(first).flat_map(str::split_whitespace).find_map(RateUnit::of)
        && unit != MEGABITS
    {
        let problem = format!("a comment above has the unit {}, and the columns have no names", unit.name);
        return wrong(problem, &format!("trace = {{ file = …, unit = \"{}\" }}, or another unit", unit.name));
    }
    let (unit, time_unit) = (columns.unit.unwrap_or(MEGABITS), columns.time_unit);
    Ok(Shape {
        separator,
        fields: 2,
        time: 0,
        rate: 1,
        unit,
        has_unit: columns.unit.is_some(),
        time_unit,
        session: None,
        named: false,
        begins_with_names: false,
    })
}

/// The names in the last comment above the first row, if it has as many words as the row has columns and they are those of a
/// time and a rate.
fn comment_with_names<'a>(
    lines: &Lines<'a>,
    first: usize,
    separator: Separator,
    fields: usize,
) -> Option<Vec<&'a str>> {
    let comment = lines.comments(first).last()?;
    [separator, Separator::of(comment)].into_iter().find_map(|separator| {
        let names = separator.split(comment);
        let fits = names.len() == fields && names.iter().any(|name| is_time(name) > 0);
        (fits && names.iter().any(|name| is_rate(name))).then_some(names)
    })
}

fn named(
    lines: &Lines<'_>,
    first: usize,
    separator: Separator,
    names: &[&str],
    columns: &Columns,
) -> Result<Shape, Error> {
    // The file may be any that can be read: its words are shown only if they look like names of columns.
    let known = names.iter().any(|name| is_rate(name) || is_time(name) > 0);
    let all = || match known {
        true => format!("one of: {}", names.iter().map(|name| token(name)).collect::<Vec<_>>().join(", ")),
        false => "the name of a column of the file".into(),
    };
    let fail = |problem: Problem, expected: String| {
        Error::new(problem).in_file(lines.file, Some((first + 1, 1))).expecting(expected)
    };
    let find = |name: &str| match names.iter().filter(|one| **one == name).count() {
        1 => Ok(names.iter().position(|one| *one == name).unwrap_or_default()),
        0 => {
            let problem = Problem::UnknownName { what: "column", name: name.into() };
            Err(fail(problem, all()).near(nearest(name, names.iter().copied().filter(|_| known))))
        }
        count => {
            Err(fail(Problem::Invalid(format!("{count} columns are named \"{}\"", clipped(name))), all()))
        }
    };
    let only = |what: &str, key: &str, found: Vec<usize>| match found[..] {
        [one] => Ok(one),
        [] => {
            let problem = format!("no column is recognised as the {what}");
            Err(fail(Problem::Invalid(problem), format!("in trace = {{ file = …, … }} {key} = {}", all())))
        }
        _ => {
            let choices: Vec<_> =
                found.iter().map(|at| format!("{key} = \"{}\"", clipped(names[*at]))).collect();
            let problem = format!("{} columns could be the {what}", found.len());
            Err(fail(
                Problem::Invalid(problem),
                format!("in trace = {{ file = …, … }} {}", choices.join(" or ")),
            ))
        }
    };
    let with = |is: &dyn Fn(&str) -> bool| (0..names.len()).filter(|at| is(names[*at])).collect::<Vec<_>>();
    let rate = match &columns.column {
        Some(name) => find(name)?,
        None => only("rate", "column", with(&is_rate))?,
    };
    let time = match &columns.time {
        Some(name) => find(name)?,
        None => {
            let sure = with(&|name| is_time(name) == 2);
            let found = if sure.is_empty() { with(&|name| is_time(name) == 1) } else { sure };
            only("time", "time", found.into_iter().filter(|at| *at != rate).collect())?
        }
    };
    if columns.unit.is_none() && is_unclear(names[rate]) {
        let problem =
            "the unit in the name of the rate could be one of bits or of bytes, has no time, or is another"
                .to_owned();
        let expected = "in trace = { file = …, … } unit = \"Mbit/s\" or another one";
        return Err(fail(Problem::Invalid(problem), expected.into()));
    }
    if columns.time_unit.is_none() && is_other_time(names[time]) {
        let problem = Problem::Invalid("the time has a unit that is not read".into());
        return Err(fail(problem, "in trace = { file = …, … } time_unit = \"s\" or a shorter one".into()));
    }
    let unit = columns.unit.or_else(|| rate_unit(names[rate]));
    Ok(Shape {
        separator,
        fields: names.len(),
        time,
        rate,
        unit: unit.unwrap_or(MEGABITS),
        has_unit: unit.is_some(),
        time_unit: columns.time_unit.or_else(|| time_unit(names[time])),
        session: names.iter().position(|name| SESSIONS.contains(name)),
        named: true,
        begins_with_names: true,
    })
}

/// Whether a field is a number or a date rather than a name.
fn is_value(field: &str) -> bool {
    field.parse::<f64>().is_ok_and(f64::is_finite) || calendar::stamp(field.as_bytes()).is_some()
}

/// The time in a field. The first number shows the unit, unless it is known.
fn moment(field: &str, unit: &mut Option<TimeUnit>) -> Option<Moment> {
    if let Some(at) = calendar::stamp(field.as_bytes()) {
        return Some(Moment { at: at.0.into(), coarse: at.0.is_multiple_of(1_000_000_000) });
    }
    let number = field.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)?;
    let whole = field.split(['.', 'e', 'E']).next().unwrap_or_default().trim_start_matches(['+', '0']);
    let unit = *unit.get_or_insert_with(|| TimeUnit::of_size(whole.len()));
    let at = exact(field, unit.digits).or_else(|| {
        let nanos = number * 10_f64.powi(unit.digits as i32);
        (nanos < 1e30).then(|| libm::round(nanos) as i128)
    })?;
    Some(Moment { at, coarse: false })
}

/// Nanoseconds of digits with or without a decimal point, to the nearest: no `f64` has those of a time since 1970. `digits` are
/// those of the unit.
fn exact(text: &str, digits: u32) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.len() <= 20 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let digit = |at: usize| fraction.as_bytes().get(at).map_or(0, |byte| i128::from(byte - b'0'));
    let whole = if whole.is_empty() { 0 } else { whole.parse::<i128>().ok()? };
    let nanos = (0..digits as usize).fold(whole, |sum, at| 10 * sum + digit(at));
    Some(nanos + i128::from(digit(digits as usize) >= 5))
}
