//! A line that is no event.

use core::fmt::{self, Display};

/// Why a line is refused: place, problem, expected value, nearest valid name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    place: String,
    problem: String,
    expected: Option<String>,
    nearest: Option<String>,
}

impl Error {
    pub(crate) fn new(place: String, problem: impl Display) -> Self {
        Self { place, problem: problem.to_string(), expected: None, nearest: None }
    }

    pub(crate) fn expected(self, expected: impl Display) -> Self {
        Self { expected: Some(expected.to_string()), ..self }
    }

    pub(crate) fn nearest(self, nearest: Option<&str>) -> Self {
        Self { nearest: nearest.map(String::from), ..self }
    }
}

/// Most characters of a key or value that a message repeats.
const LONGEST: usize = 80;

/// The beginning of `text`, as long as a message has room for.
pub(crate) fn clipped(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

impl Display for Error {
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

impl core::error::Error for Error {}
