//! Options that correspond to keys of the scenario format. They are written into a scenario that the format's reader
//! checks, so that values have the same meaning and the same errors in both places.

use std::fmt::Write;

use firstflight_scenario::{Error, Loaded, parse};

use crate::failure::{Failure, Wrong, clipped};

/// Builder of a scenario's text.
#[derive(Debug, Default)]
pub(crate) struct Keys(String);

impl Keys {
    /// Starts a table; `header` has the notation of TOML, such as `[path]`.
    pub(crate) fn table(mut self, header: &str) -> Self {
        let _ = writeln!(self.0, "{header}");
        self
    }

    /// Sets a key to a value in TOML's notation.
    pub(crate) fn raw(mut self, key: &str, value: &str) -> Self {
        let _ = writeln!(self.0, "{key} = {value}");
        self
    }

    /// Sets a key to a text; does nothing for `None`.
    pub(crate) fn text(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.raw(key, &quoted(value)),
            None => self,
        }
    }

    /// Reads the scenario.
    pub(crate) fn read(&self) -> Result<Loaded, Failure> {
        parse(&self.0, "command line").map_err(|error| in_option(&error))
    }
}

/// Converts an error about a key, such as `flow[0].min_rto`, to one about its option, `--min-rto`.
fn in_option(error: &Error) -> Failure {
    let key = error.place.key.rsplit('.').next().filter(|key| !key.ends_with(']') && !key.is_empty());
    let place = key.map_or("command line".into(), |key| option(key, error.place.value.as_deref()));
    let wrong = Wrong::at(place, &error.problem).nearest(error.nearest.as_deref());
    match &error.expected {
        Some(expected) => wrong.expected(expected).into(),
        None => wrong.into(),
    }
}

/// An option as errors show it. `name` is the option's name or key; `value` is shown as far as a message has room for it.
pub(crate) fn option(name: &str, value: Option<&str>) -> String {
    let name = name.replace('_', "-");
    match value {
        Some(value) => format!("--{name} {}", clipped(value)),
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
    fn values_are_escaped_within_quotes() {
        let path = Keys::default().table("[path]").text("rate", Some("1\"\nrtt = \"\\\u{7f}"));
        let failure = path.raw("rtt", "\"1 ms\"").raw("buffer", "\"1 BDP\"").read().expect_err("not a rate");
        let Failure::Because(message) = failure else { panic!("{failure:?}") };
        assert!(message.starts_with("--rate \"1\\\"\\u000Artt"), "{message}");
    }

    #[test]
    fn errors_name_the_option_instead_of_the_key() {
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
