//! Claims of a paper, as statements about metrics.

use serde::{Deserialize, Serialize};

use crate::expression::{Chain, parse};

/// A `[[claim]]`: one line of the target list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Id of the line.
    pub id: String,
    /// The paper's statement, where it is clearer than the line itself.
    #[serde(default)]
    pub expected: Option<String>,
    /// Remark, always printed.
    #[serde(default)]
    pub note: Option<String>,
    /// Cause of a difference, printed where the claim differs; `because` shows it.
    #[serde(default)]
    pub cause: Option<String>,
    /// Attempts to find an unknown cause, printed where the claim differs.
    #[serde(default)]
    pub open: Option<String>,
    /// Reason why the claim cannot be checked; such a claim has no statements.
    #[serde(default)]
    pub not_checkable: Option<String>,
    /// Statements that must hold for the claim to match.
    #[serde(default, rename = "statement")]
    pub statements: Vec<Statement>,
    /// Statements that must hold for the cause to be shown.
    #[serde(default)]
    pub because: Vec<Statement>,
}

/// A statement that holds or does not.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, try_from = "Written")]
pub struct Statement {
    /// Text as written.
    pub text: String,
    /// The text, parsed.
    pub that: Chain,
    /// Expected values; empty in a comparison.
    pub is: Vec<f64>,
    /// Tolerance of expected values, or of `~`.
    pub tolerance: Option<Tolerance>,
    /// Number of points at which the statement must hold.
    pub holds: Holds,
    /// Reading of the paper that the statement belongs to, if the paper has several.
    pub reading: Option<String>,
}

/// Distance from an expected value that counts as equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// As a share of the expected value.
    Relative(f64),
    /// In the unit of the value.
    Absolute(f64),
}

/// Number of points at which a statement must hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// All points.
    #[default]
    Everywhere,
    /// More than half of the points.
    Mostly,
    /// At least one point.
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
        // The default tolerance of a value is zero; a comparison has no default.
        let exact = is.is_some().then_some(Tolerance::Absolute(0.0));
        let tolerance = match (within, by) {
            (Some(share), None) => Some(Tolerance::Relative(share)),
            (None, Some(amount)) => Some(Tolerance::Absolute(amount)),
            (None, None) => exact,
            (Some(_), Some(_)) => {
                return Err(format!("\"{text}\": both `within` and `by`; expected one of them"));
            }
        };
        let is = match is {
            None => vec![],
            Some(NumberOrNumbers::One(value)) => vec![value],
            Some(NumberOrNumbers::Several(values)) => values,
        };
        match (is.is_empty(), that.then.is_empty()) {
            (true, true) => {
                return Err(format!("\"{text}\": neither `is` nor a comparison; expected one of them"));
            }
            (false, false) => {
                return Err(format!("\"{text}\": both `is` and a comparison; expected one of them"));
            }
            _ => {}
        }
        Ok(Self { text, that, is, tolerance, holds, reading })
    }
}

impl Claim {
    /// Names of the experiments that the verdict depends on.
    pub fn experiments(&self) -> Vec<&str> {
        let all = self.statements.iter().chain(&self.because);
        let mut names: Vec<&str> = all.flat_map(|statement| statement.that.experiments()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Checks that the claim has statements, or a reason to have none.
    pub(crate) fn check(&self) -> Result<(), String> {
        match (&self.not_checkable, self.statements.is_empty()) {
            (Some(_), false) => Err("both `not_checkable` and statements; expected one of them".into()),
            (None, true) => Err("no statement; expected one, or `not_checkable`".into()),
            _ => Ok(()),
        }
    }
}
