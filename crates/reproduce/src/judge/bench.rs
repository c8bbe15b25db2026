//! The values that statements are checked against: measured ones, and those of ns-2.

use std::collections::BTreeMap;

use firstflight_sweep::Array;

use crate::evidence::Measurements;
use crate::expression::{Expression, Label, Reading, Source, find};
use crate::library::{Ns2Cells, Paper};
use crate::metric::Kind;

/// Values of ns-2, in the form of measured values.
struct Other {
    values: BTreeMap<(String, String), Array>,
    /// Values of scenarios, which are settings of ns-2 as well.
    settings: BTreeMap<(String, String), Array>,
}

impl Source for Other {
    fn metric(&self, experiment: &str, metric: &str) -> Result<&Array, String> {
        let key = (experiment.to_owned(), metric.to_owned());
        self.values
            .get(&key)
            .or_else(|| self.settings.get(&key))
            .ok_or_else(|| format!("ns-2 was not asked for {experiment}.{metric}"))
    }
}

/// The measured values over the seeds that ns-2 ran; those that ns-2 does not have over all.
struct Ours<'a> {
    all: &'a Measurements,
    /// Where ns-2 ran fewer seeds than ran here.
    first: BTreeMap<(String, String), Array>,
}

impl Source for Ours<'_> {
    fn metric(&self, experiment: &str, metric: &str) -> Result<&Array, String> {
        let first = self.first.get(&(experiment.to_owned(), metric.to_owned()));
        first.map_or_else(|| self.all.metric(experiment, metric), Ok)
    }
}

/// The measured values of a paper, and those of ns-2.
pub struct Bench<'a> {
    ours: Ours<'a>,
    ns2: Other,
}

impl<'a> Bench<'a> {
    /// Measurements without values of ns-2.
    #[cfg(test)]
    pub(super) fn alone(ours: &'a Measurements) -> Self {
        Self {
            ours: Ours { all: ours, first: BTreeMap::new() },
            ns2: Other { values: BTreeMap::new(), settings: BTreeMap::new() },
        }
    }

    /// Joins the measurements of a paper with its values of ns-2.
    ///
    /// # Errors
    /// If a value of ns-2 does not fit an experiment, or values of a metric have different seeds.
    pub fn of(paper: &Paper, ours: &'a Measurements) -> Result<Self, String> {
        let mut values = BTreeMap::new();
        let mut seeds = BTreeMap::new();
        for (given, ran) in
            paper.ns2.iter().flat_map(|one| one.cells.iter().map(|given| (given, one.replayed())))
        {
            let (experiment, metric) = given
                .metric
                .split_once('.')
                .ok_or_else(|| format!("ns2: {}: expected experiment.metric", given.metric))?;
            // An experiment that was not run has no array to fill.
            let Ok(array) = ours.metric(experiment, metric) else { continue };
            let key = (experiment.to_owned(), metric.to_owned());
            let known = *seeds.entry(key.clone()).or_insert(ran);
            if known != ran {
                let text = |seeds: Option<u32>| {
                    seeds.map_or("draws of its own".into(), |seeds| format!("{seeds} seeds"))
                };
                return Err(format!(
                    "ns2: {} at {:?} has {}, an earlier value has {}; expected the same",
                    given.metric,
                    given.at,
                    text(ran),
                    text(known)
                ));
            }
            let slot = values.entry(key).or_insert_with(|| Array {
                axes: array.axes.clone(),
                samples: 1,
                values: vec![f64::NAN; array.points()],
            });
            fill(slot, given).map_err(|why| format!("ns2: {} at {:?}: {why}", given.metric, given.at))?;
        }
        let mut settings = BTreeMap::new();
        for (experiment, definition) in &paper.experiments {
            let read = definition.metrics.iter().filter(|(_, one)| matches!(one.kind(), Ok(Kind::Scenario)));
            for (metric, _) in read {
                if let Ok(array) = ours.metric(experiment, metric) {
                    settings.insert((experiment.clone(), metric.clone()), array.clone());
                }
            }
        }
        let first = seeds.into_iter().filter_map(|(key, seeds)| {
            let all = ours.metric(&key.0, &key.1).ok()?;
            Some((key, samples(all, seeds? as usize)?))
        });
        Ok(Self { ours: Ours { all: ours, first: first.collect() }, ns2: Other { values, settings } })
    }

    /// Evaluates expressions over the measured values.
    pub fn ours(&self) -> Reading<'_, Measurements> {
        Reading::of(self.ours.all)
    }

    /// Evaluates expressions over the seeds that ns-2 ran.
    pub(super) fn in_seeds_of_ns2(&self) -> Reading<'_, impl Source> {
        Reading::of(&self.ours)
    }

    /// Our values over the seeds that ns-2 ran; `None` if ns-2 has no value, or as many seeds as ran here.
    pub fn paired(&self, expression: &Expression) -> Option<Array> {
        self.has_more_seeds(expression).then(|| self.in_seeds_of_ns2().evaluate(expression).ok())?
    }

    /// Whether ns-2 ran fewer seeds than ran here of a metric of the expression.
    pub(super) fn has_more_seeds(&self, expression: &Expression) -> bool {
        expression.has_metric(&|experiment: &str, metric: &str| {
            self.ours.first.contains_key(&(experiment.to_owned(), metric.to_owned()))
        })
    }

    /// Replications of an experiment; 1 if it was not run.
    pub(super) fn replications(&self, experiment: &str) -> u32 {
        self.ours.all.experiments.get(experiment).map_or(1, |measured| measured.replications)
    }

    /// Values of an expression in ns-2; `None` if ns-2 has none. Numbers and settings alone are no values of ns-2.
    pub fn ns2(&self, expression: &Expression) -> Option<Array> {
        self.ns2_beside(expression).filter(|_| self.is_of_ns2(expression))
    }

    /// The same of a side of a statement: numbers and settings are values beside another side's.
    pub(super) fn ns2_beside(&self, expression: &Expression) -> Option<Array> {
        let array = Reading::of(&self.ns2).evaluate(expression).ok()?;
        array.values.iter().any(|value| !value.is_nan()).then_some(array)
    }

    /// Whether ns-2 was asked for a metric of the expression.
    pub(super) fn is_of_ns2(&self, expression: &Expression) -> bool {
        let given = |experiment: &str, metric: &str| {
            self.ns2.values.contains_key(&(experiment.to_owned(), metric.to_owned()))
        };
        expression.has_metric(&given)
    }
}

/// The first samples of each point; `None` if there are no more than these.
fn samples(all: &Array, first: usize) -> Option<Array> {
    let values = all.values.chunks(all.samples).flat_map(|each| each.iter().take(first).copied());
    (first < all.samples).then(|| Array { axes: all.axes.clone(), samples: first, values: values.collect() })
}

/// Puts values of ns-2 at their points.
fn fill(slot: &mut Array, given: &Ns2Cells) -> Result<(), String> {
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
