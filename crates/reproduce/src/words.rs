//! The words of papers and their tolerances: one table for all claims.

use std::collections::BTreeMap;

use serde::Deserialize;

/// `words.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    /// The words by name.
    #[serde(default)]
    word: BTreeMap<String, Word>,
}

/// A word, and what it allows. Without keys, an order is any difference, and a number is equal.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Word {
    /// The word's sense, for pages.
    pub means: String,
    /// Distance that counts as equal, as a share of the expected value or of the other side.
    #[serde(default)]
    pub within: f64,
    /// Distance that counts as equal, in the unit of the value.
    #[serde(default)]
    pub by: f64,
    /// Whether half a unit of the last printed digit counts as equal; the statement states the unit.
    #[serde(default)]
    pub rounded: bool,
    /// Least ratio of the larger to the smaller side of an order.
    #[serde(default = "one")]
    pub least: f64,
    /// Largest ratio of the larger to the smaller side of an order.
    #[serde(default = "endless")]
    pub most: f64,
    /// Whether the claim quotes the paper's sentence.
    #[serde(default)]
    pub quoted: bool,
}

fn one() -> f64 {
    1.0
}

fn endless() -> f64 {
    f64::INFINITY
}

/// Tolerance of a statement, from its word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Distance that counts as equal, as a share of the expected value or of the other side.
    pub within: f64,
    /// Distance that counts as equal, in the unit of the value.
    pub by: f64,
    /// Least ratio of the larger to the smaller side of an order.
    pub least: f64,
    /// Largest ratio of the larger to the smaller side of an order.
    pub most: f64,
}

impl Tolerance {
    /// An order by any difference; a number that is equal.
    pub const NONE: Self = Self { within: 0.0, by: 0.0, least: 1.0, most: f64::INFINITY };
}

impl Words {
    /// The word `name`.
    pub fn get(&self, name: &str) -> Option<&Word> {
        self.word.get(name)
    }

    /// All words by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Word)> {
        self.word.iter().map(|(name, word)| (name.as_str(), word))
    }

    /// Checks that every number is in its range.
    ///
    /// # Errors
    /// The first word with a number out of range.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, word) in &self.word {
            let shares = [word.within, word.by];
            if shares.iter().any(|share| !share.is_finite() || *share < 0.0) {
                return Err(format!("word.{name}: `within` and `by` are numbers from 0 on"));
            }
            if !(word.least >= 1.0 && word.most > word.least) {
                return Err(format!("word.{name}: expected 1 <= `least` < `most`"));
            }
        }
        Ok(())
    }
}

impl Word {
    /// Tolerance of the word; `digit` is the unit of the last printed digit.
    ///
    /// # Errors
    /// If the word needs the unit and there is none, or the other way round.
    pub(crate) fn tolerance(&self, digit: Option<f64>) -> Result<Tolerance, String> {
        let by = match (self.rounded, digit) {
            // Half a unit, and the rounding of the unit itself.
            (true, Some(unit)) if unit > 0.0 => 0.500_000_1 * unit,
            (true, _) => return Err("the word needs `digit`, the unit of the last printed digit".into()),
            (false, Some(_)) => return Err("`digit` belongs to a word that is `rounded`".into()),
            (false, None) => self.by,
        };
        Ok(Tolerance { within: self.within, by, least: self.least, most: self.most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_of_the_last_digit_goes_with_words_that_are_rounded() {
        let rounded = Word { rounded: true, least: 1.0, most: f64::INFINITY, ..Word::default() };
        let allowed = rounded.tolerance(Some(0.1)).expect("a unit").by;
        assert!(allowed > 0.05 && allowed < 0.0501, "{allowed}");
        assert!(rounded.tolerance(None).is_err() && rounded.tolerance(Some(0.0)).is_err());
        assert!(Word::default().tolerance(Some(0.1)).is_err());
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        for text in ["within = -0.1", "by = nan", "least = 0.5", "least = 2\nmost = 1.5"] {
            let words: Words = toml::from_str(&format!("[word.x]\nmeans = \"x\"\n{text}")).expect(text);
            assert!(words.check().is_err(), "{text}");
        }
    }
}
