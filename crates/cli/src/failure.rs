//! Failures of commands: the error message and the exit code.

use std::fmt::Display;
use std::io;

use firstflight_document::Error;

/// A failure, from which `main` makes a message and an exit code.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Bad input, or an output that cannot be written: one message, exit code 2.
    Because(String),
    /// No arguments: the help on standard error, exit code 2.
    NoArguments(String),
    /// The work ran, and a stated check failed, which the output reports: no message, exit code 1.
    Unmet,
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

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(error)
    }
}

impl From<firstflight_report::OutputError> for Failure {
    fn from(error: firstflight_report::OutputError) -> Self {
        Self::new(error)
    }
}

/// The error `problem` at `place`, which is no scenario file: an option with its value, an argument or another file.
pub(crate) fn wrong_at(place: impl Display, problem: impl Display) -> Error {
    Error::invalid(problem.to_string()).in_file(&place.to_string(), None)
}
