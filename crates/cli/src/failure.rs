//! Failures of commands: the error message and the exit code.

use std::fmt::{self, Display};
use std::io;

/// A failure, from which `main` makes a message and an exit code.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Bad input, or an output that cannot be written: one message, exit code 2.
    Because(String),
    /// No arguments: the help on standard error, exit code 2.
    NoArguments(String),
    /// Standard output was closed by its reader, such as `head`: no message, exit code 0.
    ReaderGone,
}

impl Failure {
    /// Failure with the message `why`.
    pub(crate) fn new(why: impl Display) -> Self {
        Self::Because(why.to_string())
    }

    /// Failure to write standard output.
    pub(crate) fn from_stdout(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::new(format!("cannot write to standard output: {error}")),
        }
    }
}

impl From<firstflight_scenario::Error> for Failure {
    fn from(error: firstflight_scenario::Error) -> Self {
        Self::new(error)
    }
}

impl From<firstflight_report::OutputError> for Failure {
    fn from(error: firstflight_report::OutputError) -> Self {
        Self::new(error)
    }
}

impl From<Wrong> for Failure {
    fn from(wrong: Wrong) -> Self {
        Self::new(wrong)
    }
}

/// An error outside scenario files. Its message has the same parts in the same order as theirs: place, problem, expected
/// value, nearest valid name.
#[derive(Debug)]
pub(crate) struct Wrong {
    place: String,
    problem: String,
    expected: Option<String>,
    nearest: Option<String>,
}

impl Wrong {
    /// Error `problem` at `place`, which is an option with its value, or a line with its key and value.
    pub(crate) fn at(place: impl Display, problem: impl Display) -> Self {
        Self { place: place.to_string(), problem: problem.to_string(), expected: None, nearest: None }
    }

    /// Adds the values that are valid.
    pub(crate) fn expected(self, expected: impl Display) -> Self {
        Self { expected: Some(expected.to_string()), ..self }
    }

    /// Adds the nearest valid name, if there is one.
    pub(crate) fn nearest(self, nearest: Option<&str>) -> Self {
        Self { nearest: nearest.map(String::from), ..self }
    }
}

impl Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)?;
        if let Some(expected) = &self.expected {
            write!(f, "; expected {expected}")?;
        }
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean \"{nearest}\"?"),
            None => Ok(()),
        }
    }
}
