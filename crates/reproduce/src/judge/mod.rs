//! Compares the claims of papers with measured values.

mod bench;
mod statement;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use bench::Bench;
pub use statement::decided;
use statement::{check, singly};

use crate::checked::{Checked, Outcome, Share};
use crate::claim::{Claim, Statement};
use crate::evidence::{Evidence, Measurements};
use crate::library::{Fitted, Library};

/// Result of a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every statement holds.
    Matches,
    /// Some statements hold, others do not.
    Partly,
    /// No statement fails, and at least one is undecided.
    Undecided,
    /// No statement holds, and at least one fails.
    Differs,
    /// A statement fails, and the paper's own set-up rules it out.
    Refuted,
    /// The claim cannot be checked, or was not run.
    #[default]
    NotCheckable,
}

impl Verdict {
    /// All verdicts, in the order of tables.
    pub const ALL: [Self; 6] =
        [Self::Matches, Self::Partly, Self::Undecided, Self::Differs, Self::Refuted, Self::NotCheckable];

    /// The verdict in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Matches => "matches",
            Self::Partly => "partly",
            Self::Undecided => "undecided",
            Self::Differs => "differs",
            Self::Refuted => "refuted",
            Self::NotCheckable => "not-checkable",
        }
    }

    /// The verdict in tables.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Refuted => "refuted by its own set-up",
            Self::NotCheckable => "not checkable",
            _ => self.word(),
        }
    }
}

/// Strength of the cause of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// With the cause in place, every failed statement holds, by the same word.
    Shown,
    /// The same, but with a value that was fitted so that it holds.
    Fitted,
    /// The runs agree with the cause.
    Consistent,
    /// No run shows the cause, or one contradicts it.
    Conjecture,
}

impl Shown {
    /// The strength as printed.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::Fitted => "shown with fitted values",
            Self::Consistent => "consistent",
            Self::Conjecture => "conjecture",
        }
    }
}

/// The cause of a difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// Strength.
    pub shown: Shown,
    /// Values that were fitted so that the turns hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fitted: Vec<String>,
    /// The cause, in words.
    pub text: String,
}

/// The verdict on one line of the target list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Id of the line.
    pub id: String,
    /// Key of the paper: `AS`.
    pub paper: String,
    /// Figure, table or section of the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// Value or statement in the paper.
    pub expected: String,
    /// The paper's own sentence, if a word is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// Measured values; empty if nothing was measured.
    pub measured: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Statements that hold, of the reading that is judged.
    pub held: usize,
    /// Statements that are undecided.
    pub undecided: usize,
    /// Statements in all.
    pub of: usize,
    /// The reading that is judged, if the paper has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<String>,
    /// Number of readings that the paper as printed allows.
    pub readings: usize,
    /// Whether the paper's values are lost, and others were assumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
    /// Values that were fitted to this line or to another, and are used here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fitted: Vec<Fitted>,
    /// Single runs that show all statements at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single: Option<Share>,
    /// Fewest replications of an experiment with random draws behind a statement that is judged; 1 without one.
    pub seeds: u32,
    /// Cause of a difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The argument by which a line is refuted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// Reason of a difference or of a claim that cannot be checked, and remarks.
    pub why: String,
    /// Change of the statements that was made after results had been seen, with its reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revised: Option<String>,
    /// Kind of the line.
    pub kind: String,
    /// Statements of the claim.
    pub statements: Vec<Checked>,
    /// Statements that agree with the cause of a difference.
    pub because: Vec<Checked>,
    /// Statements of the claim, with the cause in place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Checked>,
    /// Statements that rule the claim out by its own set-up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refutation: Vec<Checked>,
    /// Names of the experiments that the verdict depends on.
    pub experiments: Vec<String>,
}

impl Judged {
    /// The verdict, with the number of statements that hold if they differ.
    pub fn title(&self) -> String {
        match self.verdict {
            Verdict::Partly => format!("partly ({} of {})", self.held, self.of),
            Verdict::Undecided => format!("undecided ({} of {} hold)", self.held, self.of),
            Verdict::Differs if self.undecided > 0 => {
                format!("differs ({} of {} undecided)", self.undecided, self.of)
            }
            other => other.title().to_owned(),
        }
    }

    /// The statements of the reading that is judged.
    pub fn judged(&self) -> impl Iterator<Item = &Checked> {
        self.statements
            .iter()
            .filter(|one| one.judged && (one.reading.is_none() || one.reading == self.reading))
    }

    /// The statement that decides: the first that fails, else the first that is undecided, else the first that is no setting.
    pub fn deciding(&self) -> Option<&Checked> {
        let of = |outcome: Outcome| self.judged().find(|one| one.outcome == outcome);
        // If all hold, the setting is a weaker reason than a result.
        let result = || self.judged().find(|one| one.word.as_deref() != Some("exact"));
        of(Outcome::Fails).or_else(|| of(Outcome::Undecided)).or_else(result).or_else(|| self.judged().next())
    }
}

/// Reason of a line without a claim.
const NO_CLAIM: &str = "No claim of the papers' files speaks of it.";

/// The verdict on every line of the target list, in the order of the list. A line that needs an experiment that was not run
/// is not checkable; `not_run` is the reason.
pub fn judge(library: &Library, evidence: &Evidence, not_run: &str) -> Vec<Judged> {
    let nothing = Measurements::default();
    let benches: BTreeMap<&str, Result<Bench<'_>, String>> = library
        .papers
        .iter()
        .map(|paper| {
            let ours = evidence.papers.get(&paper.folder).unwrap_or(&nothing);
            (paper.folder.as_str(), Bench::of(paper, ours))
        })
        .collect();
    let judged = library.targets.iter().map(|target| {
        let mut judged = Judged {
            id: target.id.clone(),
            paper: target.paper.clone(),
            place: target.place.clone(),
            expected: format!("{}: {}", target.metric, target.value),
            why: NO_CLAIM.into(),
            kind: target.kind.clone(),
            seeds: 1,
            ..Judged::default()
        };
        let Some((paper, claim)) = library.claim(&target.id) else { return judged };
        let ours = evidence.papers.get(&paper.folder).unwrap_or(&nothing);
        let ran = claim.experiments().iter().all(|name| ours.experiments.contains_key(*name));
        judged.experiments = claim.experiments().into_iter().map(Into::into).collect();
        if let Some(expected) = &claim.expected {
            judged.expected.clone_from(expected);
        }
        judged.says.clone_from(&claim.says);
        judged.revised.clone_from(&claim.revised);
        judged.assumed = paper.about.assumed.is_some();
        let uses = |one: &&Fitted| one.to.iter().chain(&one.used_by).any(|id| *id == target.id);
        judged.fitted = paper.about.fitted.iter().filter(uses).cloned().collect();
        if claim.conflict.is_some() {
            judged.kind = "conflict".into();
        }
        match (&claim.not_checkable, ran, &benches[paper.folder.as_str()]) {
            (Some(reason), ..) => judged.why = reason.clone(),
            (None, false, _) => judged.why = not_run.into(),
            (None, true, Err(problem)) => judged.why = problem.clone(),
            (None, true, Ok(bench)) => {
                judged.seeds = seeds(claim, bench, |place| claim.is_judged(&claim.statements[place])).0;
                decide(&mut judged, claim, bench);
            }
        }
        let remarks = claim.conflict.iter().chain(&claim.note).map(String::as_str);
        let parts: Vec<&str> =
            std::iter::once(judged.why.as_str()).chain(remarks).filter(|text| !text.is_empty()).collect();
        judged.why = parts.join(" ");
        judged
    });
    judged.collect()
}

fn decide(judged: &mut Judged, claim: &Claim, bench: &Bench<'_>) {
    let all = |statements: &[Statement], name: &str| -> Vec<Checked> {
        let numbered = (1..).zip(statements);
        numbered
            .map(|(number, one)| {
                check(one, format!("{}{name}.{number}", claim.id), claim.is_judged(one), bench)
            })
            .collect()
    };
    judged.statements = all(&claim.statements, "");
    judged.because = all(&claim.because, ".because");
    judged.turns = all(&claim.turns, ".turns");
    judged.refutation = all(&claim.refutation, ".refutation");
    let mut readings: Vec<Option<&String>> = vec![];
    for one in claim.statements.iter().filter(|one| claim.is_judged(one) && one.reading.is_some()) {
        if !readings.contains(&one.reading.as_ref()) {
            readings.push(one.reading.as_ref());
        }
    }
    judged.readings = readings.len();
    if readings.is_empty() {
        readings.push(None);
    }
    let count = |reading: Option<&String>, outcome: Outcome| {
        let of = |one: &&Checked| one.judged && (one.reading.is_none() || one.reading.as_ref() == reading);
        judged.statements.iter().filter(of).filter(|one| one.outcome == outcome).count()
    };
    // The reading in which least fails, then the one in which least is undecided, then the first.
    let best = readings
        .into_iter()
        .min_by_key(|reading| (count(*reading, Outcome::Fails), count(*reading, Outcome::Undecided)))
        .flatten()
        .cloned();
    let [held, open, failed] =
        [Outcome::Holds, Outcome::Undecided, Outcome::Fails].map(|outcome| count(best.as_ref(), outcome));
    judged.reading = best;
    (judged.held, judged.undecided, judged.of) = (held, open, held + open + failed);
    let impossible = claim.refuted.is_some()
        && judged.refutation.iter().all(Checked::holds)
        && !judged.refutation.is_empty();
    judged.verdict = match (held, open, failed) {
        (_, 0, 0) => Verdict::Matches,
        (_, _, 0) => Verdict::Undecided,
        _ if impossible => Verdict::Refuted,
        (0, ..) => Verdict::Differs,
        _ => Verdict::Partly,
    };
    judged.measured = summed_up(judged.judged());
    judged.single = together(claim, judged, bench);
    if failed > 0 {
        judged.cause = cause(claim, judged);
    }
    let mut why = vec![];
    if let (Some(reading), true) = (&judged.reading, judged.readings > 1) {
        why.push(format!("Judged in the reading: {reading}."));
    }
    if judged.verdict == Verdict::Refuted {
        judged.argument.clone_from(&claim.refuted);
        why.extend(claim.refuted.clone());
    }
    if judged.verdict == Verdict::Undecided {
        why.push(undecided(claim, judged, bench));
    }
    match &judged.cause {
        Some(cause) => why.push(match cause.shown {
            Shown::Shown => format!("Cause, shown: {}", cause.text),
            Shown::Fitted => {
                format!("Cause, shown with fitted values ({}): {}", cause.fitted.join("; "), cause.text)
            }
            Shown::Consistent => format!("Cause, consistent with the runs but not shown: {}", cause.text),
            Shown::Conjecture => format!("Cause, a conjecture: {}", cause.text),
        }),
        None if failed > 0 => {
            why.extend(claim.open.as_ref().map(|tried| format!("The cause is not known. {tried}")));
        }
        None => {}
    }
    judged.why = why.join(" ");
}

/// Most replications of an experiment: a claim that is still undecided then stays so.
pub const MOST_SEEDS: u32 = 60;

/// Fewest and most replications of the experiments with random draws behind statements of a claim, chosen by their places; 1
/// without one.
fn seeds(claim: &Claim, bench: &Bench<'_>, chosen: impl Fn(usize) -> bool) -> (u32, u32) {
    let of = claim.statements.iter().enumerate().filter(|(place, _)| chosen(*place));
    let counts = of.flat_map(|(_, one)| one.that.experiments()).map(|name| bench.replications(name));
    let counts: Vec<u32> = counts.filter(|count| *count > 1).collect();
    (counts.iter().min().copied().unwrap_or(1), counts.iter().max().copied().unwrap_or(1))
}

/// Reason why a line is undecided: the seeds behind the statements that are.
fn undecided(claim: &Claim, judged: &Judged, bench: &Bench<'_>) -> String {
    let open = |place: usize| {
        let one = &judged.statements[place];
        one.judged && one.outcome == Outcome::Undecided
    };
    let spent = match seeds(claim, bench, open) {
        (MOST_SEEDS.., _) => {
            return format!(
                "All {MOST_SEEDS} seeds are spent, and the interval still includes both outcomes."
            );
        }
        (few, many) if few < many => format!("{few} to {many}"),
        (few, _) => few.to_string(),
    };
    let open = judged.statements.iter().enumerate().filter(|(place, _)| open(*place));
    let needs: Vec<u32> = open.filter_map(|(_, one)| one.needs).collect();
    let never = needs.iter().filter(|count| **count > MOST_SEEDS).count();
    let forecast = match (needs.iter().max(), never) {
        (None, _) => String::new(),
        (Some(most), 0) => format!(" If means and deviations stay as they are, {most} seeds decide."),
        (Some(_), all) if all == needs.len() => {
            format!(" If means and deviations stay as they are, {MOST_SEEDS} seeds decide nothing either.")
        }
        (Some(_), some) => format!(
            " If means and deviations stay as they are, {MOST_SEEDS} seeds leave {some} of {} undecided.",
            needs.len()
        ),
    };
    format!(
        "After {spent} seeds the interval still includes both outcomes; more are beyond the bound of --further.{forecast}"
    )
}

/// The cause of a difference, and how it is shown: every statement that fails has one of `turns` that holds.
fn cause(claim: &Claim, judged: &Judged) -> Option<Cause> {
    let text = claim.cause.clone()?;
    let turned = |number: usize| {
        let mut turns =
            claim.turns.iter().zip(&judged.turns).filter(|(one, _)| one.turned == Some(number)).peekable();
        turns.peek().is_some() && turns.all(|(_, checked)| checked.holds())
    };
    let failed = (1..).zip(&judged.statements).filter(|(_, one)| {
        one.outcome == Outcome::Fails
            && one.judged
            && (one.reading.is_none() || one.reading == judged.reading)
    });
    let agrees = judged.because.iter().all(Checked::holds);
    let supported = !judged.because.is_empty() || judged.turns.iter().any(Checked::holds);
    let mut fitted: Vec<String> = claim.turns.iter().filter_map(|turn| turn.fitted.clone()).collect();
    fitted.dedup();
    let shown = match failed.map(|(number, _)| number).all(turned) {
        true if agrees && fitted.is_empty() => Shown::Shown,
        true if agrees => Shown::Fitted,
        _ if agrees && supported => Shown::Consistent,
        _ => Shown::Conjecture,
    };
    Some(Cause { shown, fitted, text })
}

/// Single runs that show all statements of the judged reading at once; `None` without random draws.
fn together(claim: &Claim, judged: &Judged, bench: &Bench<'_>) -> Option<Share> {
    let of =
        |one: &&Statement| claim.is_judged(one) && (one.reading.is_none() || one.reading == judged.reading);
    let runs: Vec<Vec<bool>> = claim.statements.iter().filter(of).map(|one| singly(one, bench)).collect();
    let seeds = runs.iter().map(Vec::len).filter(|count| *count > 1).min()?;
    let shows = |seed: usize| runs.iter().all(|one| *one.get(seed).or(one.first()).unwrap_or(&false));
    Some(Share { show: (0..seeds).filter(|seed| shows(*seed)).count(), of: seeds })
}

/// Summary of the statements: the values of few statements, else the number that hold.
fn summed_up<'a>(statements: impl Iterator<Item = &'a Checked>) -> String {
    const FEW: usize = 5;
    let statements: Vec<&Checked> = statements.collect();
    if statements.len() <= FEW {
        return statements.iter().map(|one| one.summary()).collect::<Vec<_>>().join("; ");
    }
    let held = statements.iter().filter(|one| one.holds()).count();
    let points: usize = statements.iter().map(|one| one.points.len()).sum();
    format!("{held} of {} statements hold, which speak of {points} points", statements.len())
}
