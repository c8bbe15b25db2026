//! Compares the claims of papers with measured values.

use std::collections::BTreeMap;

use firstflight_study::stats::mean_ci95;
use firstflight_study::sweep::Array;
use serde::{Deserialize, Serialize};

use crate::checked::{Checked, PointOf};
use crate::claim::{Claim, Holds, Statement, Tolerance};
use crate::evidence::Measurements;
use crate::expression::{Label, Reading, Relation, Source, find};
use crate::library::{Library, Ns2, Paper};
use crate::number::rounded;

/// Result of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The measured values are those of the paper.
    Matches,
    /// The measured values differ from those of the paper.
    Differs,
    /// The claim cannot be checked, or was not run.
    NotCheckable,
}

impl Verdict {
    /// The verdict as printed.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Matches => "matches",
            Self::Differs => "differs",
            Self::NotCheckable => "not-checkable",
        }
    }
}

/// The verdict on one line of the target list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Measured values; empty if nothing was measured.
    pub measured: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Reason of a difference or of a claim that cannot be checked, and remarks.
    pub why: String,
    /// Kind of the line.
    pub kind: String,
    /// Statements of the claim.
    pub statements: Vec<Checked>,
    /// Statements that show the cause of a difference.
    pub because: Vec<Checked>,
    /// Names of the experiments that the verdict depends on.
    pub experiments: Vec<String>,
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
            measured: String::new(),
            verdict: Verdict::NotCheckable,
            why: NO_CLAIM.into(),
            kind: target.kind.clone(),
            statements: vec![],
            because: vec![],
            experiments: vec![],
        };
        let Some((paper, claim)) = library.claim(&target.id) else { return judged };
        let ours = evidence.papers.get(&paper.folder).unwrap_or(&nothing);
        let ran = claim.experiments().iter().all(|name| ours.experiments.contains_key(*name));
        judged.experiments = claim.experiments().into_iter().map(Into::into).collect();
        if let Some(expected) = &claim.expected {
            judged.expected.clone_from(expected);
        }
        match (&claim.not_checkable, ran, &benches[paper.folder.as_str()]) {
            (Some(reason), ..) => judged.why = reason.clone(),
            (None, false, _) => judged.why = not_run.into(),
            (None, true, Err(problem)) => judged.why = problem.clone(),
            (None, true, Ok(bench)) => decide(&mut judged, claim, bench),
        }
        if let Some(note) = &claim.note {
            judged.why = [judged.why.as_str(), note]
                .iter()
                .filter(|t| !t.is_empty())
                .copied()
                .collect::<Vec<_>>()
                .join(" ");
        }
        judged
    });
    judged.collect()
}

fn decide(judged: &mut Judged, claim: &Claim, bench: &Bench<'_>) {
    judged.statements = claim.statements.iter().map(|statement| check(statement, bench)).collect();
    judged.because = claim.because.iter().map(|statement| check(statement, bench)).collect();
    judged.measured = summed_up(&judged.statements);
    let common = judged.statements.iter().filter(|one| one.reading.is_none()).all(|one| one.holds);
    let readings: Vec<&String> = judged.statements.iter().filter_map(|one| one.reading.as_ref()).collect();
    let fits = |reading: &String| {
        judged.statements.iter().filter(|one| one.reading.as_ref() == Some(reading)).all(|one| one.holds)
    };
    let mut fitting: Vec<&String> = readings.iter().copied().filter(|reading| fits(reading)).collect();
    fitting.dedup();
    let matches = common && (readings.is_empty() || !fitting.is_empty());
    judged.verdict = if matches { Verdict::Matches } else { Verdict::Differs };
    let mut why = vec![];
    if !readings.is_empty() {
        why.push(match fitting.is_empty() {
            true => "No reading fits.".to_owned(),
            false => {
                let names: Vec<&str> = fitting.iter().map(|name| name.as_str()).collect();
                format!("The reading that fits: {}.", names.join("; "))
            }
        });
    }
    if !matches {
        why.extend(judged.statements.iter().filter(|one| !one.holds).map(Checked::failed));
        why.extend(claim.cause.clone());
        why.extend(claim.open.as_ref().map(|tried| format!("The cause is not known. {tried}")));
        if let Some(unshown) = judged.because.iter().find(|one| !one.holds) {
            why.push(format!("But this is not shown: {}.", unshown.failed()));
        }
    }
    judged.why = why.join(" ");
}

/// Summary of the statements: the values of few statements, else the number that hold.
fn summed_up(statements: &[Checked]) -> String {
    const FEW: usize = 5;
    if statements.len() <= FEW {
        return statements.iter().map(Checked::summary).collect::<Vec<_>>().join("; ");
    }
    let held = statements.iter().filter(|one| one.holds).count();
    let points: usize = statements.iter().map(|one| one.points.len()).sum();
    format!("{held} of {} statements hold, which speak of {points} points", statements.len())
}

fn check(statement: &Statement, bench: &Bench<'_>) -> Checked {
    let mut checked = Checked {
        that: statement.text.clone(),
        reading: statement.reading.clone(),
        holds: false,
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
            let held = points.iter().filter(|point| point.holds).count();
            checked.holds = match statement.holds {
                Holds::Everywhere => held == points.len(),
                Holds::Mostly => 2 * held > points.len(),
                Holds::Somewhere => held > 0,
            };
            checked.points = points;
        }
    }
    checked
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
    let near = |value: f64, expected: f64| match statement.tolerance.expect("checked when it was read") {
        Tolerance::Relative(share) => (value - expected).abs() <= share * expected.abs(),
        Tolerance::Absolute(amount) => (value - expected).abs() <= amount,
    };
    Ok(statement
        .is
        .iter()
        .enumerate()
        .map(|(index, &expected)| {
            let (mean, ci95) = mean_ci95(array.at(index));
            PointOf {
                at: array.label(index).into_iter().map(Into::into).collect(),
                expected: Some(expected),
                measured: vec![finite(mean)],
                ci95: ci95
                    .map(|ends| ends.map(rounded))
                    .filter(|ends| ends.iter().all(|end| end.is_finite())),
                ns2: ns2.as_ref().map(|array| vec![finite(array.at(index)[0])]),
                holds: near(mean, expected),
                undecided: false,
            }
        })
        .collect())
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then(|| rounded(value))
}

/// Compares the sides of a statement with each other.
fn compare(statement: &Statement, bench: &Bench<'_>) -> Result<Vec<PointOf>, String> {
    let sides: Vec<Array> =
        statement.that.sides().map(|side| bench.ours().evaluate(side)).collect::<Result<_, _>>()?;
    // Every side is repeated along the axes that only other sides have.
    let zero = sides.iter().try_fold(Array::number(0.0), |sum, side| sum.with(side, |_, _| 0.0))?;
    let spread = |array: &Array| zero.with(array, |_, value| value);
    let sides: Vec<Array> = sides.iter().map(spread).collect::<Result<_, _>>()?;
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
    for index in 0..zero.points() {
        let (mut holds, mut undecided) = (true, false);
        let mut worst = None;
        for (pair, (relation, _)) in sides.windows(2).zip(&statement.that.then) {
            let (left, right) = (pair[0].at(index), pair[1].at(index));
            let of = |f: fn(f64, f64) -> f64| {
                mean_ci95(&left.iter().zip(right).map(|(a, b)| f(*a, *b)).collect::<Vec<_>>())
            };
            let (mean, ci95) = match relation {
                Relation::Near => of(|a, b| a / b),
                Relation::Above | Relation::Below => of(|a, b| a - b),
            };
            let [low, high] = ci95.unwrap_or([mean, mean]);
            // Range in which the difference, or the ratio, satisfies the relation.
            let (from, to) = match (relation, statement.tolerance) {
                (Relation::Above, _) => (0.0_f64.next_up(), f64::INFINITY),
                (Relation::Below, _) => (f64::NEG_INFINITY, 0.0_f64.next_down()),
                (Relation::Near, Some(Tolerance::Relative(share))) => (1.0 - share, 1.0 + share),
                (Relation::Near, _) => return Err("`~` needs `within`".into()),
            };
            let good = low >= from && high <= to;
            let open = !good && low <= to && high >= from;
            if worst.is_none() || (holds && !good) {
                worst =
                    ci95.map(|ends| ends.map(rounded)).filter(|ends| ends.iter().all(|end| end.is_finite()));
            }
            // One contradicted pair contradicts the chain.
            undecided = if holds { open } else { undecided && (good || open) };
            holds &= good;
        }
        points.push(PointOf {
            at: zero.label(index).into_iter().map(Into::into).collect(),
            expected: None,
            measured: sides.iter().map(|side| finite(mean_ci95(side.at(index)).0)).collect(),
            ci95: worst,
            ns2: ns2.as_ref().map(|all| all.iter().map(|side| finite(side.at(index)[0])).collect()),
            holds,
            undecided: undecided && !holds,
        });
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstflight_study::sweep::Axis;

    use crate::evidence::Measured;

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

    fn holds(ours: &Measurements, statement: &str) -> bool {
        let statement: Statement = toml::from_str(statement).expect("a statement");
        let bench = Bench { ours, ns2: Other { values: BTreeMap::new() } };
        let checked = check(&statement, &bench);
        assert_eq!(checked.problem, None);
        checked.holds
    }

    #[test]
    fn an_order_holds_if_the_interval_of_the_paired_difference_excludes_zero() {
        // Differences 1, 3, 2, 2: mean 2, deviation 0.816; t(3) = 3.182, so 2 +- 1.30. The spread of either side, ten, does
        // not matter.
        let paired = measured([10., 20., 30., 20.], [11., 23., 32., 22.]);
        assert!(holds(&paired, "that = \"e.m[JS] > e.m[Reno]\""));
        assert!(!holds(&paired, "that = \"e.m[JS] < e.m[Reno]\""));
        // Differences 1, -1, 3, 1: mean 1, deviation 1.63: 1 +- 2.6.
        let loose = measured([10., 20., 30., 20.], [11., 19., 33., 21.]);
        assert!(!holds(&loose, "that = \"e.m[JS] > e.m[Reno]\""));
        assert!(!holds(&loose, "that = \"e.m[JS] < e.m[Reno]\""));
    }

    #[test]
    fn an_order_that_does_not_hold_is_contradicted_or_undecided() {
        let of = |reno: [f64; 4], js: [f64; 4], that: &str| {
            let statement: Statement = toml::from_str(that).expect("a statement");
            let ours = measured(reno, js);
            check(&statement, &Bench { ours: &ours, ns2: Other { values: BTreeMap::new() } }).failed()
        };
        // The differences of the test above: 2 +- 1.30, and 1 +- 2.6.
        let (paired, loose) = ([11., 23., 32., 22.], [11., 19., 33., 21.]);
        let reno = [10., 20., 30., 20.];
        let below = "that = \"e.m[JS] < e.m[Reno]\"";
        assert_eq!(of(reno, paired, below), "\"e.m[JS] < e.m[Reno]\" does not hold.");
        let open = "\"e.m[JS] < e.m[Reno]\" is undecided (the interval includes both).";
        assert_eq!(of(reno, loose, below), open);
        let chain = "that = \"e.m[JS] < e.m[Reno] < 0\"";
        assert!(of(reno, loose, chain).contains("does not hold"));
    }

    #[test]
    fn near_holds_if_the_interval_of_the_ratio_is_within_the_tolerance() {
        // Ratios 1.01, 0.99, 1.01, 0.99: mean 1, deviation 0.0115: 1 +- 0.018.
        let near = measured([100.; 4], [101., 99., 101., 99.]);
        assert!(holds(&near, "that = \"e.m[JS] ~ e.m[Reno]\"\nwithin = 0.02"));
        assert!(!holds(&near, "that = \"e.m[JS] ~ e.m[Reno]\"\nwithin = 0.015"));
    }

    #[test]
    fn a_statement_about_a_missing_value_does_not_hold() {
        let nothing = measured([1.; 4], [f64::NAN; 4]);
        for statement in
            ["that = \"e.m[JS] > 0\"", "that = \"e.m[JS] < 9\"", "that = \"e.m[JS]\"\nis = 1\nwithin = 9"]
        {
            assert!(!holds(&nothing, statement), "{statement}");
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
