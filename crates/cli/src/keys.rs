//! Options that are keys of the scenario format. They are put into a scenario and read by the format's own reader, so
//! that a value means the same in both places and is refused with the same words.

use std::fmt::Write;

use firstflight_scenario::{Error, Loaded, parse};

use crate::failure::{Failure, Wrong};

/// A scenario that is being put together.
#[derive(Debug, Default)]
pub(crate) struct Keys(String);

impl Keys {
    /// Begins a table; `header` is written as in a file.
    pub(crate) fn table(mut self, header: &str) -> Self {
        let _ = writeln!(self.0, "{header}");
        self
    }

    /// Sets a key to a value in TOML's notation.
    pub(crate) fn raw(mut self, key: &str, value: &str) -> Self {
        let _ = writeln!(self.0, "{key} = {value}");
        self
    }

    /// Sets a key to a text, if there is one.
    pub(crate) fn text(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.raw(key, &quoted(value)),
            None => self,
        }
    }

    /// Reads it.
    pub(crate) fn read(&self) -> Result<Loaded, Failure> {
        parse(&self.0, "command line").map_err(|error| in_option(&error))
    }
}

/// The same error told of the option `--min-rto` in place of the key `flow[0].min_rto`.
fn in_option(error: &Error) -> Failure {
    let key = error.key.rsplit('.').next().filter(|key| !key.ends_with(']') && !key.is_empty());
    let place = key.map_or("command line".into(), |key| option(key, error.value.as_deref()));
    let wrong = Wrong::at(place, &error.problem).nearest(error.nearest.as_deref());
    match &error.expected {
        Some(expected) => wrong.expected(expected).into(),
        None => wrong.into(),
    }
}

/// An option as errors show it, by its name or its key; `value` as it shall be shown.
pub(crate) fn option(name: &str, value: Option<&str>) -> String {
    let name = name.replace('_', "-");
    match value {
        Some(value) => format!("--{name} {value}"),
        None => format!("--{name}"),
    }
}

/// A text in TOML's notation.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_can_leave_its_quotes() {
        let path = Keys::default().table("[path]").text("rate", Some("1\"\nrtt = \"\\\u{7f}"));
        let failure = path.raw("rtt", "\"1 ms\"").raw("buffer", "\"1 BDP\"").read().expect_err("not a rate");
        let Failure::Because(message) = failure else { panic!("{failure:?}") };
        assert!(message.starts_with("--rate \"1\\\"\\u000Artt"), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }

    #[test]
    fn an_error_names_the_option_and_not_the_key() {
        let flow = Keys::default()
            .raw("duration", "\"1 s\"")
            .table("[path]")
            .raw("rate", "\"1 Gbit/s\"")
            .raw("rtt", "\"1 ms\"")
            .raw("buffer", "\"1 BDP\"")
            .table("[[flow]]")
            .text("min_rto", Some("200"));
        let Err(Failure::Because(message)) = flow.read() else { panic!("the unit is missing") };
        assert!(message.starts_with("--min-rto \"200\": the unit is missing; expected a time"), "{message}");
    }
}
