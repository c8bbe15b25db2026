//! What experiments leave: the objects that `run --json` and `compare --json` print, and the samples and
//! series that the report needs beyond them.
//!
//! Every number carries its unit in its name. An absent value is `null`, never zero: a flow that did not finish
//! has no completion time, a capture that never filled the queue does not know the buffer. Fields beyond those
//! promised to scripts may be added, never renamed or removed.

mod comparison;
mod report;
mod run;

use firstflight_contract::Exit;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use comparison::*;
pub use report::*;
pub use run::*;

/// A 95 % confidence interval: its lower and its upper end, in the unit of the value it belongs to.
pub type Ci95 = [f64; 2];

/// A mean and its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// Its interval; `None` from a single run, which cannot tell.
    pub ci95: Option<Ci95>,
}

/// The words of the contract for [`Exit`].
mod exit_word {
    use super::{Deserialize, Deserializer, Exit, Serializer};
    use serde::de::Error as _;

    pub(super) fn serialize<S: Serializer>(exit: &Exit, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(exit.label())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Exit, D::Error> {
        let word = String::deserialize(from)?;
        Exit::ALL.into_iter().find(|e| e.label() == word).ok_or_else(|| {
            let words: Vec<_> = Exit::ALL.iter().map(|e| e.label()).collect();
            D::Error::custom(format!("`{word}` is no exit reason; one of {} was expected", words.join(", ")))
        })
    }
}
