//! Compares the claims of papers with measured values.

use std::collections::BTreeMap;

use firstflight_study::stats::mean_ci95;
use firstflight_study::sweep::Array;
use serde::{Deserialize, Serialize};

use crate::checked::{Checked, Outcome, PointOf, Ratio, Share};
use crate::claim::{Claim, Holds, Statement};
use crate::evidence::Measurements;
use crate::expression::{Label, Reading, Relation, Source, find};
use crate::library::{Fitted, Library, Ns2, Paper};
use crate::number::rounded;
use crate::words::Tolerance;

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
    /// Fewest replications of an experiment with random draws; 1 without one.
    pub seeds: u32,
    /// Cause of a difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The argument by which a line is refuted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// Reason of a difference or of a claim that cannot be checked, and remarks.
    pub why: String,
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
        // Where all hold, a setting says less than a result.
        let result = || self.judged().find(|one| one.word.as_deref() != Some("exact"));
        of(Outcome::Fails).or_else(|| of(Outcome::Undecided)).or_else(result).or_else(|| self.judged().next())
    }
}

/// Values of ns-2, in the form of measured values.
struct Other {
    values: BTreeMap<(String, String), Array>,
}

impl Source for Other {
    fn metric(&self, experiment: &str, metric: &str) -> Result<&Array, String> {
        self.values
            .get(&(experiment.to_owned(), metric.to_owned()))
            .ok_or_else(|| format!("ns-2 was not asked for {experiment}.{metric}"))
    }
}

/// The measured values of a paper, and those of ns-2.
pub struct Bench<'a> {
    ours: &'a Measurements,
    ns2: Other,
}

impl<'a> Bench<'a> {
    /// Joins the measurements of a paper with its values of ns-2.
    ///
    /// # Errors
    /// If a value of ns-2 does not fit an experiment.
    pub fn of(paper: &Paper, ours: &'a Measurements) -> Result<Self, String> {
        let mut values = BTreeMap::new();
        for given in &paper.ns2 {
            let (experiment, metric) = given
                .what
                .split_once('.')
                .ok_or_else(|| format!("ns2: {}: expected experiment.metric", given.what))?;
            // An experiment that was not run has no array to fill.
            let Ok(array) = ours.metric(experiment, metric) else { continue };
            let slot = values.entry((experiment.to_owned(), metric.to_owned())).or_insert_with(|| Array {
                axes: array.axes.clone(),
                samples: 1,
                values: vec![f64::NAN; array.points()],
            });
            fill(slot, given).map_err(|why| format!("ns2: {} at {:?}: {why}", given.what, given.at))?;
        }
        Ok(Self { ours, ns2: Other { values } })
    }

    /// Evaluates expressions over the measured values.
    pub fn ours(&self) -> Reading<'_, Measurements> {
        Reading::of(self.ours)
    }

    /// Values of an expression in ns-2; `None` if ns-2 has none.
    pub fn ns2(&self, expression: &crate::expression::Expression) -> Option<Array> {
        let array = Reading::of(&self.ns2).evaluate(expression).ok()?;
        array.values.iter().any(|value| !value.is_nan()).then_some(array)
    }
}

/// Puts values of ns-2 at their points.
fn fill(slot: &mut Array, given: &Ns2) -> Result<(), String> {
    let fixed: Vec<(usize, usize)> =
        given.at.iter().map(|at| find(slot, &Label::read(at))).collect::<Result<_, _>>()?;
    let wanted: Vec<usize> = (0..slot.points())
        .filter(|&index| {
            let place = slot.place(index);
            fixed.iter().all(|&(axis, point)| place[axis] == point)
        })
        .collect();
    if wanted.len() != given.values.len() {
        return Err(format!("{} values for {} points", given.values.len(), wanted.len()));
    }
    wanted.into_iter().zip(&given.values).for_each(|(index, value)| slot.values[index] = *value);
    Ok(())
}

/// Reason of a line without a claim.
const NO_CLAIM: &str = "No claim of the papers' files speaks of it.";

/// The verdict on every line of the target list, in the order of the list. A line that needs an experiment that was not run
/// is not checkable; `not_run` is the reason.
pub fn judge(library: &Library, evidence: &crate::evidence::Evidence, not_run: &str) -> Vec<Judged> {
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
                let replicated = judged
                    .experiments
                    .iter()
                    .map(|name| ours.experiments[name].replications)
                    .filter(|count| *count > 1);
                judged.seeds = replicated.min().unwrap_or(1);
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
        why.push(match judged.seeds >= MOST_SEEDS {
            true => {
                format!("All {MOST_SEEDS} seeds are spent, and the interval still includes both outcomes.")
            }
            false => format!("After {} seeds the interval still includes both outcomes.", judged.seeds),
        });
    }
    match &judged.cause {
        Some(cause) => why.push(match cause.shown {
            Shown::Shown => format!("Cause, shown: {}", cause.text),
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
    let shown = match failed.map(|(number, _)| number).all(turned) {
        true if agrees => Shown::Shown,
        _ if agrees && supported => Shown::Consistent,
        _ => Shown::Conjecture,
    };
    Some(Cause { shown, text })
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

/// The outcome over points, as the statement asks for all, for most or for one.
fn over(holds: Holds, outcomes: &[Outcome]) -> Outcome {
    // A statement about no point shows nothing.
    if outcomes.is_empty() {
        return Outcome::Fails;
    }
    let count = |wanted: Outcome| outcomes.iter().filter(|one| **one == wanted).count();
    let (held, failed) = (count(Outcome::Holds), count(Outcome::Fails));
    let [good, bad] = match holds {
        Holds::Everywhere => [held == outcomes.len(), failed > 0],
        Holds::Mostly => [2 * held > outcomes.len(), 2 * failed >= outcomes.len()],
        Holds::Somewhere => [held > 0, failed == outcomes.len()],
    };
    match (good, bad) {
        (true, _) => Outcome::Holds,
        (false, true) => Outcome::Fails,
        (false, false) => Outcome::Undecided,
    }
}

fn check(statement: &Statement, id: String, judged: bool, bench: &Bench<'_>) -> Checked {
    let mut checked = Checked {
        id,
        that: statement.text.clone(),
        word: statement.word.clone(),
        reading: statement.reading.clone(),
        judged,
        not_judged: statement.not_judged.clone(),
        outcome: Outcome::Fails,
        single: None,
        points: vec![],
        problem: None,
    };
    let points = match statement.is.is_empty() {
        true => compare(statement, bench),
        false => values(statement, bench),
    };
    match points {
        Err(problem) => checked.problem = Some(problem),
        Ok(points) => {
            let outcomes: Vec<Outcome> = points.iter().map(|point| point.outcome).collect();
            checked.outcome = over(statement.holds, &outcomes);
            checked.points = points;
            let runs = singly(statement, bench);
            checked.single = (runs.len() > 1)
                .then(|| Share { show: runs.iter().filter(|shows| **shows).count(), of: runs.len() });
        }
    }
    checked
}

/// Whether each single run shows the statement.
fn singly(statement: &Statement, bench: &Bench<'_>) -> Vec<bool> {
    let Ok(sides) = aligned(statement, bench) else { return vec![] };
    let seeds = sides.iter().map(|side| side.samples).filter(|count| *count > 1).min().unwrap_or(1);
    let points = spoken(statement, &sides[0]);
    let value = |side: &Array, index: usize, seed: usize| {
        let all = side.at(index);
        *all.get(seed).unwrap_or(&all[0])
    };
    let shows = |seed: usize| {
        let at = |index: &usize| {
            let index = *index;
            let one: Vec<f64> = sides.iter().map(|side| value(side, index, seed)).collect();
            margins(statement, index, &one)
                .into_iter()
                .map(|margin| sign(margin.at(0)))
                .max()
                .unwrap_or(Outcome::Fails)
        };
        over(statement.holds, &points.iter().map(at).collect::<Vec<_>>()) == Outcome::Holds
    };
    (0..seeds).map(shows).collect()
}

/// The points that a statement speaks of.
fn spoken(statement: &Statement, array: &Array) -> Vec<usize> {
    let named =
        |index: &usize| array.label(*index).iter().any(|name| statement.except.iter().any(|one| one == name));
    (0..array.points()).filter(|index| !named(index)).collect()
}

/// Distances that must all be above zero, or at least zero.
struct Margin {
    values: Vec<f64>,
    inclusive: bool,
}

impl Margin {
    fn at(&self, index: usize) -> (f64, bool) {
        (self.values[index], self.inclusive)
    }

    /// Decides over the replications: the interval must be clear of zero by a tenth of the mean.
    fn outcome(&self) -> Outcome {
        let (mean, ci95) = mean_ci95(&self.values);
        let Some([low, high]) = ci95.filter(|[low, high]| low < high) else {
            return sign((mean, self.inclusive));
        };
        let tenth = 0.1 * mean.abs();
        match (low >= tenth && low > 0.0, high <= -tenth && high < 0.0) {
            (true, _) => Outcome::Holds,
            (_, true) => Outcome::Fails,
            // A value that is missing decides against the statement.
            _ if !mean.is_finite() => Outcome::Fails,
            _ => Outcome::Undecided,
        }
    }
}

/// Decides without an interval.
fn sign((value, inclusive): (f64, bool)) -> Outcome {
    if value > 0.0 || (inclusive && value == 0.0) { Outcome::Holds } else { Outcome::Fails }
}

/// The sides of a statement, repeated along the axes that only other sides have. A value has one side.
fn aligned(statement: &Statement, bench: &Bench<'_>) -> Result<Vec<Array>, String> {
    let sides: Vec<Array> =
        statement.that.sides().map(|side| bench.ours().evaluate(side)).collect::<Result<_, _>>()?;
    let zero = sides.iter().try_fold(Array::number(0.0), |sum, side| sum.with(side, |_, _| 0.0))?;
    sides.iter().map(|side| zero.with(side, |_, value| value)).collect()
}

/// The margins of one point, each side with one sample.
fn margins(statement: &Statement, index: usize, sides: &[f64]) -> Vec<Margin> {
    let sides: Vec<&[f64]> = sides.iter().map(std::slice::from_ref).collect();
    match statement.is.get(index) {
        Some(&expected) => near(statement, sides[0], expected),
        None => {
            let pairs = sides.windows(2).zip(&statement.that.then);
            pairs.flat_map(|(pair, (relation, _))| ordered(statement, *relation, pair[0], pair[1])).collect()
        }
    }
}

/// The margins of a value: its distances from both ends of the range that counts as equal.
fn near(statement: &Statement, values: &[f64], expected: f64) -> Vec<Margin> {
    let Tolerance { within, by, .. } = statement.tolerance;
    // The rounding of sums must not decide.
    let room = (within * expected.abs()).max(by) + 1e-12 * expected.abs();
    let of = |f: &dyn Fn(f64) -> f64| Margin {
        values: values.iter().map(|value| f(*value)).collect(),
        inclusive: true,
    };
    vec![of(&|value| value - (expected - room)), of(&|value| expected + room - value)]
}

/// The margins of a comparison.
fn ordered(statement: &Statement, relation: Relation, left: &[f64], right: &[f64]) -> Vec<Margin> {
    let Tolerance { within, by, least, most } = statement.tolerance;
    let paired = |a: &[f64], b: &[f64], f: &dyn Fn(f64, f64) -> f64, inclusive: bool| Margin {
        values: a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect(),
        inclusive,
    };
    let (large, small) = match relation {
        Relation::Above => (left, right),
        Relation::Below => (right, left),
        Relation::Near if within > 0.0 => {
            let ratio = |a: f64, b: f64| a / b;
            return vec![
                paired(left, right, &|a, b| ratio(a, b) - (1.0 - within), true),
                paired(left, right, &|a, b| 1.0 + within - ratio(a, b), true),
            ];
        }
        Relation::Near => {
            return vec![
                paired(left, right, &|a, b| by - (a - b), true),
                paired(left, right, &|a, b| by + (a - b), true),
            ];
        }
    };
    let least = least * (1.0 - within);
    let mut margins = vec![paired(large, small, &|a, b| a - least * b + by, false)];
    if most.is_finite() {
        margins.push(paired(large, small, &|a, b| most * b - a, false));
    }
    margins
}

/// The worst outcome of margins.
fn worst(margins: &[Margin]) -> Outcome {
    margins.iter().map(Margin::outcome).max().unwrap_or(Outcome::Fails)
}

/// The 95 % interval in which the value of one further run lies, by Student's t.
fn one_run(values: &[f64]) -> Option<[f64; 2]> {
    let (mean, ci95) = mean_ci95(values);
    let half = (ci95?[1] - mean) * (values.len() as f64 + 1.0).sqrt();
    finite_range(Some([mean - half, mean + half]))
}

fn finite_range(ends: Option<[f64; 2]>) -> Option<[f64; 2]> {
    ends.filter(|ends| ends.iter().all(|end| end.is_finite())).map(|ends| ends.map(rounded))
}

/// Compares values with the expected ones.
fn values(statement: &Statement, bench: &Bench<'_>) -> Result<Vec<PointOf>, String> {
    let array = bench.ours().evaluate(&statement.that.first)?;
    let ns2 = bench.ns2(&statement.that.first);
    if array.points() != statement.is.len() {
        let open: Vec<&str> = array.axes.iter().map(|axis| axis.name.as_str()).collect();
        let (points, expected) = (array.points(), statement.is.len());
        return Err(format!(
            "{points} points are open (axes {}), and {expected} values expected",
            open.join(", ")
        ));
    }
    let point = |(index, &expected): (usize, &f64)| {
        let values = array.at(index);
        let (mean, ci95) = mean_ci95(values);
        let ns2 = ns2.as_ref().map(|array| vec![finite(array.at(index)[0])]);
        PointOf {
            at: array.label(index).into_iter().map(Into::into).collect(),
            expected: Some(expected),
            measured: vec![finite(mean)],
            ci95: finite_range(ci95),
            one_run: one_run(values),
            ratio: ratio(values, &[expected], ns2.as_ref().and_then(|sides| sides[0]), Some(expected)),
            ns2,
            outcome: worst(&near(statement, values, expected)),
        }
    };
    Ok(statement.is.iter().enumerate().map(point).collect())
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then(|| rounded(value))
}

/// Ratio of `a` to `b`, paired by seed; `None` if it is not a number above zero.
fn ratio(a: &[f64], b: &[f64], ns2_a: Option<f64>, ns2_b: Option<f64>) -> Option<Ratio> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let proper = |value: f64| Some(rounded(value)).filter(|value| value.is_finite() && *value > 0.0);
    let each: Vec<f64> = (0..a.len().max(b.len()))
        .filter_map(|i| {
            Some(a.get(i).or((a.len() == 1).then(|| &a[0]))? / b.get(i).or((b.len() == 1).then(|| &b[0]))?)
        })
        .collect();
    let ns2 = ns2_a.zip(ns2_b).and_then(|(a, b)| proper(a / b));
    Some(Ratio { here: proper(mean(a) / mean(b))?, ci95: finite_range(mean_ci95(&each).1), ns2 })
}

/// Compares the sides of a statement with each other.
fn compare(statement: &Statement, bench: &Bench<'_>) -> Result<Vec<PointOf>, String> {
    let sides = aligned(statement, bench)?;
    let zero = &sides[0];
    let ns2: Option<Vec<Array>> = statement
        .that
        .sides()
        .map(|side| {
            bench.ns2(side).and_then(|array| {
                let single = Array { samples: 1, values: vec![0.0; zero.points()], axes: zero.axes.clone() };
                single.with(&array, |_, value| value).ok()
            })
        })
        .collect();
    let mut points = vec![];
    for index in spoken(statement, zero) {
        let ns2: Option<Vec<Option<f64>>> =
            ns2.as_ref().map(|all| all.iter().map(|side| finite(side.at(index)[0])).collect());
        // The first pair with the worst outcome is shown.
        let mut shown: Option<(Outcome, Vec<f64>, Option<Ratio>)> = None;
        for (number, (pair, (relation, _))) in sides.windows(2).zip(&statement.that.then).enumerate() {
            let (left, right) = (pair[0].at(index), pair[1].at(index));
            let outcome = worst(&ordered(statement, *relation, left, right));
            if shown.as_ref().is_none_or(|(known, ..)| outcome > *known) {
                let of = |f: fn(f64, f64) -> f64| left.iter().zip(right).map(|(a, b)| f(*a, *b)).collect();
                let difference: Vec<f64> = match relation {
                    Relation::Near => of(|a, b| a / b),
                    Relation::Above | Relation::Below => of(|a, b| a - b),
                };
                let other = |side: usize| ns2.as_ref().and_then(|sides| sides[side]);
                let ratio = match relation {
                    Relation::Below => ratio(right, left, other(number + 1), other(number)),
                    _ => ratio(left, right, other(number), other(number + 1)),
                };
                shown = Some((outcome, difference, ratio));
            }
        }
        let (outcome, difference, ratio) = shown.expect("a comparison has a relation");
        points.push(PointOf {
            at: zero.label(index).into_iter().map(Into::into).collect(),
            expected: None,
            measured: sides.iter().map(|side| finite(mean_ci95(side.at(index)).0)).collect(),
            ci95: finite_range(mean_ci95(&difference).1),
            one_run: one_run(&difference),
            ratio,
            ns2,
            outcome,
        });
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstflight_study::sweep::Axis;

    use crate::evidence::Measured;
    use crate::words::Words;

    /// Two schemes, four replications each.
    fn measured(reno: [f64; 4], js: [f64; 4]) -> Measurements {
        let array = Array {
            axes: vec![Axis::of("scheme", ["Reno", "JS"]).dimension()],
            samples: 4,
            values: [reno, js].concat(),
        };
        let metrics = BTreeMap::from([("m".to_owned(), array)]);
        let one = Measured { metrics, ..Measured::default() };
        Measurements { experiments: BTreeMap::from([("e".to_owned(), one)]) }
    }

    /// Words with round tolerances.
    fn words() -> Words {
        toml::from_str(
            "[word.percent]\nmeans = \"x\"\nwithin = 0.02\n[word.near]\nmeans = \"x\"\nwithin = 0.015\n\
             [word.points]\nmeans = \"x\"\nby = 9\n[word.slightly]\nmeans = \"x\"\nmost = 1.1\n[word.much]\nmeans = \"x\"\nleast = 1.25\n",
        )
        .expect("words")
    }

    fn claim(text: &str) -> Claim {
        let mut claim: Claim = toml::from_str(&format!("id = \"X\"\n{text}")).expect("a claim");
        claim.learn(&words()).unwrap_or_else(|why| panic!("{why}"));
        claim
    }

    fn checked(ours: &Measurements, statement: &str) -> Checked {
        let claim = claim(&format!("[[statement]]\n{statement}"));
        let bench = Bench { ours, ns2: Other { values: BTreeMap::new() } };
        check(&claim.statements[0], "X.1".into(), true, &bench)
    }

    fn outcome(ours: &Measurements, statement: &str) -> Outcome {
        let checked = checked(ours, statement);
        assert_eq!(checked.problem, None);
        checked.outcome
    }

    fn holds(ours: &Measurements, statement: &str) -> bool {
        outcome(ours, statement) == Outcome::Holds
    }

    #[test]
    fn an_order_holds_if_the_interval_of_the_paired_difference_is_clear_of_zero() {
        // Differences 1, 3, 2, 2: mean 2, deviation 0.816; t(3) = 3.182, so 2 +- 1.30. The spread of either side, ten, does
        // not matter.
        let paired = measured([10., 20., 30., 20.], [11., 23., 32., 22.]);
        assert_eq!(outcome(&paired, "that = \"e.m[JS] > e.m[Reno]\""), Outcome::Holds);
        assert_eq!(outcome(&paired, "that = \"e.m[JS] < e.m[Reno]\""), Outcome::Fails);
        // Differences 1, -1, 3, 1: mean 1, deviation 1.63: 1 +- 2.6.
        let loose = measured([10., 20., 30., 20.], [11., 19., 33., 21.]);
        assert_eq!(outcome(&loose, "that = \"e.m[JS] > e.m[Reno]\""), Outcome::Undecided);
        assert_eq!(outcome(&loose, "that = \"e.m[JS] < e.m[Reno]\""), Outcome::Undecided);
    }

    #[test]
    fn an_interval_within_a_tenth_of_the_effect_from_zero_is_undecided() {
        // Differences 1, 3, 2, 2 less 0.6: 1.4 +- 1.30 begins at 0.10, which is less than 0.14; less 0.5: 1.5 +- 1.30 begins at
        // 0.20, which is more than 0.15.
        let near = measured([10.6, 20.6, 30.6, 20.6], [11., 23., 32., 22.]);
        assert_eq!(outcome(&near, "that = \"e.m[JS] > e.m[Reno]\""), Outcome::Undecided);
        let clear = measured([10.5, 20.5, 30.5, 20.5], [11., 23., 32., 22.]);
        assert_eq!(outcome(&clear, "that = \"e.m[JS] > e.m[Reno]\""), Outcome::Holds);
    }

    #[test]
    fn a_contradicted_pair_contradicts_the_chain() {
        let loose = measured([10., 20., 30., 20.], [11., 19., 33., 21.]);
        assert_eq!(outcome(&loose, "that = \"e.m[JS] < e.m[Reno] < 0\""), Outcome::Fails);
    }

    #[test]
    fn near_holds_if_the_interval_of_the_ratio_is_within_the_tolerance() {
        // Ratios 1.01, 0.99, 1.01, 0.99: mean 1, deviation 0.0115: 1 +- 0.0184. From the ends of 2 % it stays away by 0.0016,
        // which is less than a tenth of 0.02; of 9 units of 100, far.
        let near = measured([100.; 4], [101., 99., 101., 99.]);
        assert_eq!(outcome(&near, "that = \"e.m[JS] ~ e.m[Reno]\"\nword = \"percent\""), Outcome::Undecided);
        assert_eq!(outcome(&near, "that = \"e.m[JS] ~ e.m[Reno]\"\nword = \"points\""), Outcome::Holds);
        let closer = measured([100.; 4], [100.5, 99.5, 100.5, 99.5]);
        assert_eq!(outcome(&closer, "that = \"e.m[JS] ~ e.m[Reno]\"\nword = \"percent\""), Outcome::Holds);
        let far = measured([100.; 4], [111., 109., 111., 109.]);
        assert_eq!(outcome(&far, "that = \"e.m[JS] ~ e.m[Reno]\"\nword = \"points\""), Outcome::Undecided);
        assert_eq!(outcome(&far, "that = \"e.m[JS] ~ e.m[Reno]\"\nword = \"percent\""), Outcome::Fails);
    }

    #[test]
    fn a_number_is_undecided_where_its_interval_crosses_the_tolerance() {
        // 100 +- 1.84 of 100 +- 9, of 92 +- 9 and of 80 +- 9.
        let ours = measured([100.; 4], [101., 99., 101., 99.]);
        for (expected, wanted) in [(100, Outcome::Holds), (92, Outcome::Undecided), (80, Outcome::Fails)] {
            let text = format!("that = \"e.m[JS]\"\nis = {expected}\nword = \"points\"");
            assert_eq!(outcome(&ours, &text), wanted, "{expected}");
        }
    }

    #[test]
    fn words_bound_the_size_of_an_order() {
        let by = |factor: f64| measured([100.; 4], [factor * 100.; 4]);
        for (factor, slightly, much) in
            [(0.9, false, false), (1.05, true, false), (1.2, false, false), (1.3, false, true)]
        {
            let ours = by(factor);
            let word =
                |word: &str| holds(&ours, &format!("that = \"e.m[JS] > e.m[Reno]\"\nword = \"{word}\""));
            assert_eq!((word("slightly"), word("much")), (slightly, much), "{factor}");
        }
        // With a tolerance an order may be missed by as much.
        assert!(holds(&by(0.99), "that = \"e.m[JS] > e.m[Reno]\"\nword = \"percent\""));
        assert!(!holds(&by(0.97), "that = \"e.m[JS] > e.m[Reno]\"\nword = \"percent\""));
    }

    #[test]
    fn single_runs_and_the_interval_of_one_further_run_are_given() {
        // Differences 1, -1, 3, 1: three of four above zero; 1 +- 3.182 x 1.633 x sqrt(1 + 1/4).
        let loose = measured([10., 20., 30., 20.], [11., 19., 33., 21.]);
        let checked = checked(&loose, "that = \"e.m[JS] > e.m[Reno]\"");
        assert_eq!(checked.single, Some(Share { show: 3, of: 4 }));
        let [low, high] = checked.points[0].one_run.expect("four runs");
        assert!((low + 4.81).abs() < 0.01 && (high - 6.81).abs() < 0.01, "{low} {high}");
        let ratio = checked.points[0].ratio.expect("positive values");
        assert!((ratio.here - 84. / 80.).abs() < 1e-6);
    }

    #[test]
    fn points_that_are_excepted_do_not_count() {
        let apart = measured([1., 1., 1., 1.], [3., 3., 3., 3.]);
        assert!(!holds(&apart, "that = \"e.m > 2\""));
        assert!(holds(&apart, "that = \"e.m > 2\"\nexcept = [\"Reno\"]"));
    }

    /// The verdict on a claim about JS at 2 and Reno at 1, four equal runs each.
    fn judged(text: &str) -> (Verdict, usize, usize, Option<Shown>) {
        let ours = measured([1.; 4], [2.; 4]);
        let claim = claim(text);
        let bench = Bench { ours: &ours, ns2: Other { values: BTreeMap::new() } };
        let mut judged = Judged { id: "X".into(), ..Judged::default() };
        decide(&mut judged, &claim, &bench);
        (judged.verdict, judged.held, judged.of, judged.cause.map(|cause| cause.shown))
    }

    const TRUE: &str = "[[statement]]\nthat = \"e.m[JS] > e.m[Reno]\"\n";
    const FALSE: &str = "[[statement]]\nthat = \"e.m[JS] < e.m[Reno]\"\n";

    #[test]
    fn a_verdict_counts_the_statements_that_hold() {
        assert_eq!(judged(&[TRUE, TRUE].concat()), (Verdict::Matches, 2, 2, None));
        assert_eq!(judged(&[TRUE, FALSE].concat()), (Verdict::Partly, 1, 2, None));
        assert_eq!(judged(&[FALSE, FALSE].concat()), (Verdict::Differs, 0, 2, None));
        let apart = format!("{TRUE}{FALSE}not_judged = \"no such choice\"\n");
        assert_eq!(judged(&apart), (Verdict::Matches, 1, 1, None));
    }

    #[test]
    fn a_reading_that_the_paper_does_not_print_is_not_judged() {
        let two = format!("{FALSE}reading = \"a\"\n{TRUE}reading = \"b\"\n");
        assert_eq!(judged(&two).0, Verdict::Matches);
        assert_eq!(judged(&format!("as_printed = [\"a\"]\n{two}")).0, Verdict::Differs);
    }

    #[test]
    fn a_claim_is_refuted_only_if_it_fails_and_its_own_set_up_rules_it_out() {
        let refuted = |statement: &str, argument: &str| {
            judged(&format!("refuted = \"x\"\n{statement}[[refutation]]\nthat = \"{argument}\"\n")).0
        };
        assert_eq!(refuted(FALSE, "1 < 2"), Verdict::Refuted);
        assert_eq!(refuted(FALSE, "2 < 1"), Verdict::Differs);
        assert_eq!(refuted(TRUE, "1 < 2"), Verdict::Matches);
    }

    #[test]
    fn a_cause_is_shown_only_if_it_turns_every_statement_that_fails() {
        let cause = |rest: &str| judged(&format!("cause = \"x\"\n{FALSE}{FALSE}{rest}")).3;
        let turn =
            |number: usize, that: &str| format!("[[turns]]\nstatement = {number}\nthat = \"{that}\"\n");
        let (yes, no) = ("e.m[Reno] < e.m[JS]", "e.m[JS] < e.m[Reno]");
        assert_eq!(cause(""), Some(Shown::Conjecture));
        assert_eq!(cause(&(turn(1, yes) + &turn(2, yes))), Some(Shown::Shown));
        assert_eq!(cause(&turn(1, yes)), Some(Shown::Consistent));
        assert_eq!(cause(&(turn(1, yes) + &turn(2, no))), Some(Shown::Consistent));
        assert_eq!(cause(&turn(1, no)), Some(Shown::Conjecture));
        assert_eq!(cause("[[because]]\nthat = \"1 < 2\"\n"), Some(Shown::Consistent));
        assert_eq!(cause("[[because]]\nthat = \"2 < 1\"\n"), Some(Shown::Conjecture));
        // Evidence against the cause outweighs the turn.
        let against = turn(1, yes) + &turn(2, yes) + "[[because]]\nthat = \"2 < 1\"\n";
        assert_eq!(cause(&against), Some(Shown::Conjecture));
    }

    #[test]
    fn a_cause_is_judged_by_the_rule_of_the_line() {
        let learn = |text: &str| {
            let mut claim: Claim =
                toml::from_str(&format!("id = \"X\"\ncause = \"x\"\n{text}")).expect("a claim");
            claim.learn(&words())
        };
        let line = "[[statement]]\nthat = \"e.m[JS]\"\nis = 2\nword = \"near\"\n";
        let turn = |word: &str, is: u32, of: u32| {
            format!("{line}[[turns]]\nstatement = {of}\nthat = \"e.m[Reno]\"\nis = {is}\nword = \"{word}\"\n")
        };
        assert_eq!(learn(&turn("near", 2, 1)), Ok(()));
        for text in [turn("percent", 2, 1), turn("near", 3, 1), turn("near", 2, 2)] {
            assert!(learn(&text).is_err(), "{text}");
        }
        let unknown = learn(&line.replace("near", "nearly")).expect_err("no such word");
        assert!(unknown.contains("did you mean \"near\""), "{unknown}");
    }

    #[test]
    fn a_statement_about_a_missing_value_does_not_hold() {
        let nothing = measured([1.; 4], [f64::NAN; 4]);
        for statement in [
            "that = \"e.m[JS] > 0\"",
            "that = \"e.m[JS] < 9\"",
            "that = \"e.m[JS]\"\nis = 1\nword = \"points\"",
        ] {
            assert_eq!(outcome(&nothing, statement), Outcome::Fails, "{statement}");
        }
    }

    #[test]
    fn somewhere_needs_one_point_and_mostly_more_than_half() {
        let apart = measured([1., 1., 1., 1.], [3., 3., 3., 3.]);
        assert!(!holds(&apart, "that = \"e.m > 2\""));
        assert!(holds(&apart, "that = \"e.m > 2\"\nholds = \"somewhere\""));
        assert!(!holds(&apart, "that = \"e.m > 2\"\nholds = \"mostly\""));
    }
}
