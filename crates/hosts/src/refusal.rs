//! Refusal of a scenario.

use std::fmt;

/// The part of a scenario that a host cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Key in the scenario: `flow[0].startup`.
    pub key: String,
    /// Reason, as a whole sentence.
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.why)
    }
}

impl std::error::Error for Refusal {}
