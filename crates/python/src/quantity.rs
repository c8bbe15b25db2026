//! Quantities from Python: texts with their unit, or numbers in bit/s, seconds and bytes.

use firstflight::quantity::{BYTE_UNITS, RATE_UNITS, TIME_UNITS, parse_bytes, parse_rate, parse_time};
use firstflight::{Error, parse_share};
use firstflight_document::format::{Kind, Section};
use firstflight_document::{Problem, QuantityProblem};
use firstflight_scenario::format::ROOT;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use toml::{Table, Value};

use crate::error::raised;

/// A measure that a number may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Numbers are bit/s.
    Rate,
    /// Numbers are seconds.
    Time,
    /// Numbers are bytes.
    Size,
    /// Texts may be percentages.
    Share,
}

impl Measure {
    fn of_word(word: &str) -> Option<Self> {
        [("rate", Self::Rate), ("time", Self::Time), ("size", Self::Size), ("share", Self::Share)]
            .into_iter()
            .find_map(|(name, measure)| (name == word).then_some(measure))
    }

    fn of_kind(kind: &Kind) -> Option<Self> {
        match kind {
            Kind::Rate => Some(Self::Rate),
            Kind::Time(_) | Kind::Delay(_) => Some(Self::Time),
            Kind::Bytes | Kind::AmountOrUnlimited => Some(Self::Size),
            // A probability or a share.
            Kind::Number(range) if range.max <= 1.0 => Some(Self::Share),
            Kind::Shared(_, kind) | Kind::Either(kind, _) => Self::of_kind(kind),
            _ => None,
        }
    }

    const fn expected(self) -> &'static str {
        match self {
            Self::Rate => "a rate such as \"40 Mbit/s\", or a number of bit/s",
            Self::Time => "a time such as \"100 ms\", or a number of seconds",
            Self::Size => "a size such as \"300 KB\", or a number of bytes",
            Self::Share => "a share such as 0.01 or \"1%\"",
        }
    }

    /// The smallest unit, the number of them in a unit of a number, and all units with their number of the smallest ones.
    const fn units(self) -> (&'static str, f64, &'static [(&'static str, u64)]) {
        match self {
            Self::Rate => ("bit/s", 1.0, RATE_UNITS),
            Self::Time => ("ns", 1e9, TIME_UNITS),
            Self::Size => ("B", 1.0, BYTE_UNITS),
            Self::Share => ("", 1.0, &[]),
        }
    }

    /// The text of a number, rounded to whole bit/s, nanoseconds or bytes.
    fn of_number(self, number: f64) -> Result<String, Error> {
        if !number.is_finite() || number < 0.0 {
            let why = if number < 0.0 { "negative" } else { "not a finite number" };
            return Err(Error::invalid(why).expecting(self.expected()));
        }
        if self == Self::Share {
            return Ok(number.to_string());
        }
        let (unit, per, _) = self.units();
        Ok(format!("{:.0} {unit}", (number * per).round()))
    }

    /// The text, rounded if it is finer than whole bit/s, nanoseconds or bytes. A text that is no quantity stays as it is.
    fn of_text(self, text: &str) -> String {
        let parsed = match self {
            Self::Rate => parse_rate(text).map(drop),
            Self::Time => parse_time(text).map(drop),
            Self::Size => parse_bytes(text).map(drop),
            Self::Share => return text.into(),
        };
        let finer = |error: &Error| matches!(error.problem, Problem::Quantity(QuantityProblem::NotWhole(_)));
        if !parsed.is_err_and(|error| finer(&error)) {
            return text.into();
        }
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (unit, _, units) = self.units();
        let scale = units.iter().find_map(|(name, scale)| (*name == text[end..].trim()).then_some(*scale));
        match (text[..end].parse::<f64>(), scale) {
            (Ok(number), Some(scale)) => format!("{:.0} {unit}", (number * scale as f64).round()),
            _ => text.into(),
        }
    }
}

/// The text of a quantity, from a text or a number. `measure` is rate, time, size or share. Raises firstflight.Error with the keyword
/// if the value is neither, or no finite number of zero or more.
#[pyfunction]
#[pyo3(signature = (keyword, value: "object", measure))]
pub fn quantity(keyword: &str, value: &Bound<'_, PyAny>, measure: &str) -> PyResult<String> {
    let Some(measure) = Measure::of_word(measure) else {
        return Err(raised(Error::unknown_name("measure", measure, ["rate", "time", "size", "share"])));
    };
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(measure.of_text(&text.to_cow()?));
    }
    let wrong = |error: Error| raised(error.at_key(keyword).in_file("", None));
    match number(value) {
        Some(number) => {
            let shown = |error: Error| wrong(error.with_value(number.to_string()));
            measure.of_number(number).map_err(shown)
        }
        None => Err(wrong(of_type(value, measure.expected()))),
    }
}

/// The error of a value of another type.
pub(crate) fn of_type(value: &Bound<'_, PyAny>, expected: &str) -> Error {
    let found = value.get_type().name().map_or_else(|_| "unknown".into(), |name| name.to_string());
    Error::invalid(format!("a value of type {found}")).expecting(expected)
}

/// A number of Python or of another library, such as a scalar of numpy. A bool is none.
pub(crate) fn number(value: &Bound<'_, PyAny>) -> Option<f64> {
    let flag = value.is_instance_of::<PyBool>() || value.get_type().name().is_ok_and(|name| name == "bool");
    if flag { None } else { value.extract().ok() }
}

/// Replaces numbers and percentages of the keys of a scenario by the values of the format.
///
/// # Errors
/// If a number is negative or not finite.
pub(crate) fn complete(table: &mut Table) -> Result<(), Error> {
    complete_section(table, &ROOT, "")
}

fn complete_section(table: &mut Table, section: &Section, place: &str) -> Result<(), Error> {
    for (name, value) in table.iter_mut() {
        if let Some(key) = section.keys.iter().find(|key| key.name == name) {
            complete_value(value, &key.kind, &format!("{place}{name}"))?;
        }
    }
    Ok(())
}

fn complete_value(value: &mut Value, kind: &Kind, place: &str) -> Result<(), Error> {
    match (&mut *value, kind) {
        (_, Kind::Shared(_, kind)) => return complete_value(value, kind, place),
        (Value::Table(table), Kind::Table(section) | Kind::Either(_, section)) => {
            return complete_section(table, section, &format!("{place}."));
        }
        (Value::Array(tables), Kind::Tables(section)) => {
            for (at, table) in tables.iter_mut().enumerate() {
                if let Value::Table(table) = table {
                    complete_section(table, section, &format!("{place}[{at}]."))?;
                }
            }
            return Ok(());
        }
        _ => {}
    }
    let Some(measure) = Measure::of_kind(kind) else { return Ok(()) };
    *value = in_format(value, measure).map_err(|error| error.at_key(place).with_value(value.to_string()))?;
    Ok(())
}

/// A value of a key as the format has it.
fn in_format(value: &Value, measure: Measure) -> Result<Value, Error> {
    let number = match value {
        Value::Integer(number) => *number as f64,
        Value::Float(number) => *number,
        Value::String(text) if measure == Measure::Share => {
            let share = text.trim().ends_with('%').then(|| parse_share(text)).flatten();
            return Ok(share.map_or_else(|| value.clone(), Value::Float));
        }
        Value::String(text) => return Ok(Value::String(measure.of_text(text))),
        other => return Ok(other.clone()),
    };
    match measure {
        Measure::Share => Ok(value.clone()),
        _ => measure.of_number(number).map(Value::String),
    }
}

/// A value of a key with its tables, `flow.bulk.size`, as the format has it.
///
/// # Errors
/// As [`complete`].
pub(crate) fn completed(key: &str, mut value: Value) -> Result<Value, Error> {
    let Some(kind) = kind_of(key) else { return Ok(value) };
    complete_value(&mut value, kind, key)?;
    Ok(value)
}

/// Kind of a key with its tables. The name of a group follows the name of its tables.
fn kind_of(key: &str) -> Option<&'static Kind> {
    let mut words = key.split('.');
    let mut section = &ROOT;
    loop {
        let word = words.next()?;
        let mut kind = &section.keys.iter().find(|key| key.name == word)?.kind;
        while let Kind::Shared(_, inner) = kind {
            kind = inner;
        }
        if words.clone().next().is_none() {
            return Some(kind);
        }
        section = match kind {
            Kind::Table(section) | Kind::Either(_, section) => section,
            Kind::Tables(section) => {
                words.next()?;
                section
            }
            _ => return None,
        };
    }
}
