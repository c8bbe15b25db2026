//! One statement against the measured values: its outcome at each point, with the margin that its word asks for.

use firstflight_hosts::stats::{mean_ci95, t_975};
use firstflight_sweep::Array;

use super::{Bench, MOST_SEEDS};
use crate::checked::{Checked, Outcome, Paired, PointOf, Ratio, Share};
use crate::claim::{Holds, Statement};
use crate::expression::{Reading, Relation, Source};
use crate::number::rounded;
use crate::words::Tolerance;

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

pub(super) fn check(statement: &Statement, id: String, judged: bool, bench: &Bench<'_>) -> Checked {
    let mut checked = Checked {
        id,
        that: statement.text.clone(),
        word: statement.word.clone(),
        reading: statement.reading.clone(),
        judged,
        not_judged: statement.not_judged.clone(),
        outcome: Outcome::Fails,
        needs: None,
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
            if checked.outcome == Outcome::Undecided {
                checked.needs = points.iter().filter_map(|point| point.needs).max();
            }
            checked.points = points;
            let runs = singly(statement, bench);
            checked.single = (runs.len() > 1)
                .then(|| Share { show: runs.iter().filter(|shows| **shows).count(), of: runs.len() });
        }
    }
    checked
}

/// Whether each single run shows the statement.
pub(super) fn singly(statement: &Statement, bench: &Bench<'_>) -> Vec<bool> {
    let Ok(sides) = aligned(statement, bench.ours()) else { return vec![] };
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

    fn outcome(&self) -> Outcome {
        decided(&self.values, self.inclusive)
    }

    /// Replications at which an undecided margin would be decided if its mean and its deviation stayed as they are;
    /// one more than [`MOST_SEEDS`] if not even these decide.
    fn needs(&self) -> Option<u32> {
        if self.outcome() != Outcome::Undecided {
            return None;
        }
        let (mean, ci95) = mean_ci95(&self.values);
        let deviation = (ci95?[1] - mean) / half_width(self.values.len() as u32);
        let decides = |count: &u32| half_width(*count) * deviation <= 0.9 * mean.abs();
        Some((self.values.len() as u32 + 1..=MOST_SEEDS).find(decides).unwrap_or(MOST_SEEDS + 1))
    }
}

/// Outcome of the distances of a statement from its border, one a replication and above zero where the statement holds
/// (`inclusive`: or at zero). The 95 % interval of the mean must be clear of zero by a tenth of the mean; without an interval
/// the sign of the mean decides.
pub fn decided(distances: &[f64], inclusive: bool) -> Outcome {
    let (mean, ci95) = mean_ci95(distances);
    let Some([low, high]) = ci95.filter(|[low, high]| low < high) else {
        return sign((mean, inclusive));
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

/// Decides without an interval.
fn sign((value, inclusive): (f64, bool)) -> Outcome {
    if value > 0.0 || (inclusive && value == 0.0) { Outcome::Holds } else { Outcome::Fails }
}

/// The sides of a statement, repeated along the axes that only other sides have. A value has one side.
fn aligned(statement: &Statement, values: Reading<'_, impl Source>) -> Result<Vec<Array>, String> {
    let sides: Vec<Array> =
        statement.that.sides().map(|side| values.evaluate(side)).collect::<Result<_, _>>()?;
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

/// Replications at which all margins would be decided, [`Margin::needs`]; `None` if they are.
fn needs(margins: &[Margin]) -> Option<u32> {
    margins.iter().filter_map(Margin::needs).max()
}

/// Half of the 95 % interval of the mean of `count` values, at least 2, whose standard deviation is 1.
fn half_width(count: u32) -> f64 {
    t_975(count as usize - 1) / f64::from(count).sqrt()
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

/// The sides over the seeds that ns-2 ran; `None` if ns-2 has no value, or as many seeds as ran here.
fn paired(statement: &Statement, bench: &Bench<'_>) -> Option<Vec<Array>> {
    if !statement.that.sides().any(|side| bench.has_more_seeds(side)) {
        return None;
    }
    aligned(statement, bench.in_seeds_of_ns2()).ok()
}

/// The paired values of one point, if ns-2 has one.
fn paired_at(paired: Option<&Vec<Array>>, index: usize, ns2: Option<&Vec<Option<f64>>>) -> Option<Paired> {
    let sides = paired.filter(|_| ns2.is_some_and(|sides| sides.iter().any(Option::is_some)))?;
    let measured = sides.iter().map(|side| finite(mean_ci95(side.at(index)).0)).collect();
    Some(Paired { seeds: sides[0].samples, measured })
}

/// Compares values with the expected ones.
fn values(statement: &Statement, bench: &Bench<'_>) -> Result<Vec<PointOf>, String> {
    let array = bench.ours().evaluate(&statement.that.first)?;
    let ns2 = bench.ns2(&statement.that.first);
    let paired = paired(statement, bench);
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
            paired: paired_at(paired.as_ref(), index, ns2.as_ref()),
            at: array.label(index).into_iter().map(Into::into).collect(),
            expected: Some(expected),
            measured: vec![finite(mean)],
            ci95: finite_range(ci95),
            one_run: one_run(values),
            ratio: ratio(values, &[expected], ns2.as_ref().and_then(|sides| sides[0]), Some(expected)),
            ns2,
            outcome: worst(&near(statement, values, expected)),
            needs: needs(&near(statement, values, expected)),
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
    let sides = aligned(statement, bench.ours())?;
    let zero = &sides[0];
    let paired = paired(statement, bench);
    let ns2: Option<Vec<Array>> = statement
        .that
        .sides()
        .map(|side| {
            bench.ns2_beside(side).and_then(|array| {
                let single = Array { samples: 1, values: vec![0.0; zero.points()], axes: zero.axes.clone() };
                single.with(&array, |_, value| value).ok()
            })
        })
        .collect::<Option<_>>()
        .filter(|_| statement.that.sides().any(|side| bench.is_of_ns2(side)));
    let mut points = vec![];
    for index in spoken(statement, zero) {
        let ns2: Option<Vec<Option<f64>>> =
            ns2.as_ref().map(|all| all.iter().map(|side| finite(side.at(index)[0])).collect());
        // The first pair with the worst outcome is shown.
        let mut shown: Option<(Outcome, Vec<f64>, Option<Ratio>)> = None;
        let mut needs = None;
        for (number, (pair, (relation, _))) in sides.windows(2).zip(&statement.that.then).enumerate() {
            let (left, right) = (pair[0].at(index), pair[1].at(index));
            let margins = ordered(statement, *relation, left, right);
            let outcome = worst(&margins);
            needs = needs.max(self::needs(&margins));
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
            paired: paired_at(paired.as_ref(), index, ns2.as_ref()),
            ratio,
            ns2,
            outcome,
            needs,
        });
    }
    Ok(points)
}
