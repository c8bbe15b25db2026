//! The error of sweeps.

use std::fmt::{self, Display};

use firstflight_scenario as scenario;

/// An error in a sweep: place, problem, expected, nearest valid name. Displayed on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// File, position in it, point of the sweep, key.
    pub place: String,
    /// The problem.
    pub problem: String,
    /// Valid values.
    pub expected: Option<String>,
    /// Valid name that is nearest to the one given.
    pub nearest: Option<String>,
}

impl Error {
    /// An error at `place`. Line breaks in `problem` become spaces.
    pub fn new(place: impl Into<String>, problem: impl Display) -> Self {
        let problem = problem.to_string();
        let lines = problem.lines().map(str::trim).filter(|line| !line.is_empty());
        Self {
            place: place.into(),
            problem: lines.collect::<Vec<_>>().join(" "),
            expected: None,
            nearest: None,
        }
    }

    /// Adds the valid values.
    pub fn expecting(self, expected: impl Into<String>) -> Self {
        Self { expected: Some(expected.into()), ..self }
    }

    /// Adds the one of `known` that is nearest to `name`, if one is near.
    pub fn near<'a>(self, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self { nearest: scenario::nearest(name, known).map(Into::into), ..self }
    }

    /// Puts `place` before the place of this error.
    pub fn within(self, place: &str) -> Self {
        let inner = if self.place.is_empty() { String::new() } else { format!(": {}", self.place) };
        Self { place: format!("{place}{inner}"), ..self }
    }

    /// An error of a scenario that has no file of its own: key and value are the place.
    pub(super) fn of_scenario(error: &scenario::Error) -> Self {
        let place = match (error.place.key.as_str(), &error.place.value) {
            (key, Some(value)) if !key.is_empty() => format!("{key} = {value}"),
            (key, _) => key.into(),
        };
        Self {
            expected: error.expected.clone(),
            nearest: error.nearest.clone(),
            ..Self::new(place, &error.problem)
        }
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        write!(f, "{}", self.problem)?;
        if let Some(expected) = &self.expected {
            write!(f, "; expected {expected}")?;
        }
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean \"{nearest}\"?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
