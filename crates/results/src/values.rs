//! Values that several objects have.

use crate::object::object;

/// A 95 % confidence interval: its lower and its upper end, in the unit of the value it belongs to.
pub type Ci95 = [f64; 2];

object! {
    /// A mean and its 95 % confidence interval.
    pub struct Mean: Copy = "mean" {
        /// Mean.
        mean: f64,
        /// Lower and upper end of the interval; null for a single value.
        ci95: Option<Ci95> [""; Any] => nested,
    }
}

/// Exit reasons as the words of the contract.
pub(crate) mod exit_word {
    use firstflight_contract::Exit;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(exit: &Exit, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(exit.label())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Exit, D::Error> {
        let word = String::deserialize(from)?;
        Exit::ALL.into_iter().find(|e| e.label() == word).ok_or_else(|| {
            let words: Vec<_> = Exit::ALL.iter().map(|e| e.label()).collect();
            D::Error::custom(format!("`{word}` is no exit reason; one of {} was expected", words.join(", ")))
        })
    }
}
