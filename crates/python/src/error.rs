//! Errors of the library as `firstflight.Error`.

use std::fmt::Display;

use pyo3::PyErr;

pyo3::import_exception!(firstflight._error, Error);

/// The exception `firstflight.Error` with the message of a command: one line.
pub(crate) fn raised(why: impl Display) -> PyErr {
    Error::new_err(why.to_string())
}
