//! What a paper claims, as statements about what is measured.

use serde::{Deserialize, Serialize};

use crate::expression::{Chain, parse};

/// A `[[claim]]`: one line of the target list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The line.
    pub id: String,
    /// What the paper says, where that is clearer than the line itself.
    #[serde(default)]
    pub expected: Option<String>,
    /// Always told.
    #[serde(default)]
    pub note: Option<String>,
    /// Told where it differs: why, as far as `because` shows it.
    #[serde(default)]
    pub cause: Option<String>,
    /// Told where it differs and the cause is not known: what was tried.
    #[serde(default)]
    pub open: Option<String>,
    /// Why it cannot be checked; then it has no statements.
    #[serde(default)]
    pub not_checkable: Option<String>,
    /// What must hold for the claim to match.
    #[serde(default, rename = "statement")]
    pub statements: Vec<Statement>,
    /// What must hold for the cause to be shown.
    #[serde(default)]
    pub because: Vec<Statement>,
}

/// Something that holds or does not.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, try_from = "Written")]
pub struct Statement {
    /// As it was written.
    pub text: String,
    /// The same, read.
    pub that: Chain,
    /// The values expected, where it is no comparison.
    pub is: Vec<f64>,
    /// How far from them, or from each other, values may be.
    pub tolerance: Option<Tolerance>,
    /// At how many points.
    pub holds: Holds,
    /// Which of several readings of the paper it belongs to.
    pub reading: Option<String>,
}

/// How far off is near.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// As a share of what is expected.
    Relative(f64),
    /// In its unit.
    Absolute(f64),
}

/// At how many of its points a statement must hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// At all.
    #[default]
    Everywhere,
    /// At more than half.
    Mostly,
    /// At one at least.
    Somewhere,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    that: String,
    is: Option<NumberOrNumbers>,
    within: Option<f64>,
    by: Option<f64>,
    #[serde(default)]
    holds: Holds,
    reading: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrNumbers {
    One(f64),
    Several(Vec<f64>),
}

impl TryFrom<Written> for Statement {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { that: text, is, within, by, holds, reading } = written;
        let that = parse(&text)?;
        // A value without a tolerance is exact; a comparison has none unless it says so.
        let exact = is.is_some().then_some(Tolerance::Absolute(0.0));
        let tolerance = match (within, by) {
            (Some(share), None) => Some(Tolerance::Relative(share)),
            (None, Some(amount)) => Some(Tolerance::Absolute(amount)),
            (None, None) => exact,
            (Some(_), Some(_)) => return Err(format!("\"{text}\": either `within` or `by`")),
        };
        let is = match is {
            None => vec![],
            Some(NumberOrNumbers::One(value)) => vec![value],
            Some(NumberOrNumbers::Several(values)) => values,
        };
        match (is.is_empty(), that.then.is_empty()) {
            (true, true) => return Err(format!("\"{text}\": a value needs `is`, or a comparison")),
            (false, false) => return Err(format!("\"{text}\": a comparison has no `is`")),
            _ => {}
        }
        Ok(Self { text, that, is, tolerance, holds, reading })
    }
}

impl Claim {
    /// The experiments its verdict stands on.
    pub fn experiments(&self) -> Vec<&str> {
        let all = self.statements.iter().chain(&self.because);
        let mut names: Vec<&str> = all.flat_map(|statement| statement.that.experiments()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// What is wrong with it, if anything is.
    pub(crate) fn check(&self) -> Result<(), String> {
        match (&self.not_checkable, self.statements.is_empty()) {
            (Some(_), false) => Err(format!("{}: what is not checkable has no statements", self.id)),
            (None, true) => Err(format!("{}: a claim needs a statement, or `not_checkable`", self.id)),
            _ => Ok(()),
        }
    }
}
