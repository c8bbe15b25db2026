//! Why a command ended without its result.

use std::fmt::{self, Display};
use std::io;

/// What `main` turns into a message and an exit code.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Bad input, or an output that cannot be written: one message, exit code 2.
    Because(String),
    /// Standard output was closed: nobody is left to tell.
    ReaderGone,
}

impl Failure {
    /// With what `why` says, on one line: what comes from outside cannot drive the terminal.
    pub(crate) fn new(why: impl Display) -> Self {
        let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
        Self::Because(why.to_string().chars().map(shown).collect())
    }

    /// Standard output cannot be written.
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

/// Something wrong that is not in a scenario file, told in the same words and order as there.
#[derive(Debug)]
pub(crate) struct Wrong {
    place: String,
    problem: String,
    expected: Option<String>,
    nearest: Option<String>,
}

impl Wrong {
    /// `problem` at `place`: an option with its value, or a line with its key and value.
    pub(crate) fn at(place: impl Display, problem: impl Display) -> Self {
        Self { place: place.to_string(), problem: problem.to_string(), expected: None, nearest: None }
    }

    /// What would have been right.
    pub(crate) fn expected(self, expected: impl Display) -> Self {
        Self { expected: Some(expected.to_string()), ..self }
    }

    /// The valid name nearest to the one written, if one is near.
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
