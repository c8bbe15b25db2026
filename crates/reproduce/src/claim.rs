//! Claims of a paper, as statements about metrics.

use firstflight_document::nearest;
use serde::{Deserialize, Serialize};

use crate::expression::{Chain, Relation, parse};
use crate::words::{Tolerance, Words};

/// A `[[claim]]`: one line of the target list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Id of the line.
    pub id: String,
    /// The paper's statement, where it is clearer than the line itself.
    #[serde(default)]
    pub expected: Option<String>,
    /// The paper's own sentence, exactly; a word of the table needs it.
    #[serde(default)]
    pub says: Option<String>,
    /// Contradiction within the paper; such a line is of kind `conflict`.
    #[serde(default)]
    pub conflict: Option<String>,
    /// Readings that the paper as printed allows, if not all: the others take a value that the paper does not state.
    #[serde(default)]
    pub as_printed: Vec<String>,
    /// Remark, always printed.
    #[serde(default)]
    pub note: Option<String>,
    /// Change of the statements that was made after results had been seen, with its reason; always printed.
    #[serde(default)]
    pub revised: Option<String>,
    /// Cause of a difference, printed where the claim differs; `because` and `turns` show it.
    #[serde(default)]
    pub cause: Option<String>,
    /// Attempts to find an unknown cause, printed where the claim differs.
    #[serde(default)]
    pub open: Option<String>,
    /// The paper's own set-up rules the statement out: the argument; `refutation` computes it.
    #[serde(default)]
    pub refuted: Option<String>,
    /// Reason why the claim cannot be checked; such a claim has no statements.
    #[serde(default)]
    pub not_checkable: Option<String>,
    /// Statements that must hold for the claim to match.
    #[serde(default, rename = "statement")]
    pub statements: Vec<Statement>,
    /// Statements that must hold for the cause to be consistent with the runs.
    #[serde(default)]
    pub because: Vec<Statement>,
    /// Statements of the claim as they are under the cause: they must hold for the cause to be shown.
    #[serde(default)]
    pub turns: Vec<Statement>,
    /// Statements that must hold for the claim to be refuted by its own set-up.
    #[serde(default)]
    pub refutation: Vec<Statement>,
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
    /// Word of the table that the statement uses.
    pub word: Option<String>,
    /// Unit of the last printed digit of the expected values.
    pub digit: Option<f64>,
    /// Tolerance of the word, once the table is known.
    pub tolerance: Tolerance,
    /// Number of points at which the statement must hold.
    pub holds: Holds,
    /// Reading of the paper that the statement belongs to, if the paper has several.
    pub reading: Option<String>,
    /// Names of points that the statement does not speak of.
    pub except: Vec<String>,
    /// Reason why the statement is measured but not judged.
    pub not_judged: Option<String>,
    /// Of `turns`: number of the statement, from 1, that it stands for.
    pub turned: Option<usize>,
    /// Of `turns`: value that the paper does not state, chosen so that the turn holds.
    pub fitted: Option<String>,
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
    word: Option<String>,
    digit: Option<f64>,
    #[serde(default)]
    holds: Holds,
    reading: Option<String>,
    #[serde(default)]
    except: Vec<String>,
    not_judged: Option<String>,
    statement: Option<usize>,
    fitted: Option<String>,
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
        let Written { that: text, is, word, digit, holds, reading, except, not_judged, statement, fitted } =
            written;
        let that = parse(&text)?;
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
        let tolerance = Tolerance::NONE;
        Ok(Self {
            text,
            that,
            is,
            word,
            digit,
            tolerance,
            holds,
            reading,
            except,
            not_judged,
            turned: statement,
            fitted,
        })
    }
}

impl Statement {
    /// Sets what the statement allows, from the table of words.
    ///
    /// # Errors
    /// If the word is unknown, or needs what the statement lacks.
    fn learn(&mut self, words: &Words) -> Result<(), String> {
        let Some(name) = &self.word else {
            let near = self.that.then.iter().any(|(relation, _)| *relation == Relation::Near);
            return match (self.is.is_empty(), near) {
                (true, false) => Ok(()),
                _ => Err(format!("\"{}\": a number and `~` need a word of words.toml", self.text)),
            };
        };
        let known = || words.iter().map(|(name, _)| name);
        let word = words.get(name).ok_or_else(|| {
            let near =
                nearest(name, known()).map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
            let all = known().collect::<Vec<_>>().join(", ");
            format!("\"{}\": no word \"{name}\" in words.toml; expected one of: {all}{near}", self.text)
        })?;
        self.tolerance = word.tolerance(self.digit).map_err(|why| format!("\"{}\": {why}", self.text))?;
        Ok(())
    }
}

impl Claim {
    /// Statements that are not about the line itself: causes and arguments.
    fn others(&self) -> impl Iterator<Item = &Statement> {
        self.because.iter().chain(&self.turns).chain(&self.refutation)
    }

    /// Names of the experiments that the verdict and its cause depend on.
    pub fn experiments(&self) -> Vec<&str> {
        let all = self.statements.iter().chain(self.others());
        let mut names: Vec<&str> = all.flat_map(|statement| statement.that.experiments()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether a statement is judged: the paper as printed allows its reading.
    pub(crate) fn is_judged(&self, statement: &Statement) -> bool {
        if statement.not_judged.is_some() {
            return false;
        }
        let Some(reading) = &statement.reading else { return true };
        self.as_printed.is_empty() || self.as_printed.contains(reading)
    }

    /// Checks the claim, and sets what its statements allow.
    pub(crate) fn learn(&mut self, words: &Words) -> Result<(), String> {
        match (&self.not_checkable, self.statements.is_empty()) {
            (Some(_), false) => {
                return Err("both `not_checkable` and statements; expected one of them".into());
            }
            (None, true) => return Err("no statement; expected one, or `not_checkable`".into()),
            _ => {}
        }
        let all = [&mut self.statements, &mut self.because, &mut self.turns, &mut self.refutation]
            .into_iter()
            .flatten();
        for statement in all {
            statement.learn(words)?;
        }
        let quoted = |one: &&Statement| {
            one.word.as_ref().and_then(|name| words.get(name)).is_some_and(|word| word.quoted)
        };
        if let (None, Some(one)) = (&self.says, self.statements.iter().find(quoted)) {
            let word = one.word.as_deref().unwrap_or_default();
            return Err(format!("\"{}\": the word \"{word}\" needs `says`, the paper's sentence", one.text));
        }
        if let Some(unknown) = self
            .as_printed
            .iter()
            .find(|reading| self.statements.iter().all(|one| one.reading.as_ref() != Some(*reading)))
        {
            return Err(format!("as_printed: no statement has the reading \"{unknown}\""));
        }
        if let Some(one) = self.statements.iter().find(|one| !one.except.is_empty() && !one.is.is_empty()) {
            return Err(format!("\"{}\": `except` belongs to a comparison", one.text));
        }
        if self.refuted.is_some() == self.refutation.is_empty() {
            return Err("`refuted` and `refutation` go together".into());
        }
        let plain = self.statements.iter().chain(&self.because).chain(&self.refutation);
        if let Some(one) = plain.into_iter().find(|one| one.turned.is_some() || one.fitted.is_some()) {
            return Err(format!("\"{}\": `statement` and `fitted` belong to `turns`", one.text));
        }
        for turn in &self.turns {
            // A cause is judged by the rule of the line.
            let of = turn.turned.and_then(|number| self.statements.get(number.checked_sub(1)?));
            let Some(of) = of else {
                return Err(format!(
                    "\"{}\": `statement` is the number of the statement that it turns, from 1 to {}",
                    turn.text,
                    self.statements.len()
                ));
            };
            let relations =
                |one: &Statement| one.that.then.iter().map(|(relation, _)| *relation).collect::<Vec<_>>();
            let alike = |a: &[f64], b: &[f64]| match (a, b) {
                (&[one], many) | (many, &[one]) => many.iter().all(|value| *value == one),
                _ => a == b,
            };
            if (&turn.word, relations(turn)) != (&of.word, relations(of)) || !alike(&turn.is, &of.is) {
                return Err(format!(
                    "\"{}\" is not judged as the statement that it turns: \"{}\"",
                    turn.text, of.text
                ));
            }
        }
        Ok(())
    }
}
