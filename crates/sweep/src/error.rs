//! Errors of sweeps: the one of scenarios, at places that no scenario file has.

use std::fmt::Display;

pub use firstflight_document::Error;

/// An error at `place`: a file, a point of the sweep, a key. Line breaks in `problem` become spaces.
pub fn wrong(place: impl AsRef<str>, problem: impl Display) -> Error {
    let problem = problem.to_string();
    let lines: Vec<&str> = problem.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Error::invalid(lines.join(" ")).in_file(place.as_ref(), None)
}

/// The same error with `place` before its place.
pub fn within(place: &str, error: Error) -> Error {
    let inner = &error.place.file;
    let file = if inner.is_empty() { place.to_owned() } else { format!("{place}: {inner}") };
    let position = error.place.position;
    error.in_file(&file, position)
}
