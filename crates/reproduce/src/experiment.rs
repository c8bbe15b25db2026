//! An experiment: one scenario, run at every combination of the points of its axes.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::metric::Metric;
use crate::number::leading_number;

/// A file of `experiments/`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// What is varied and measured.
    pub title: String,
    /// File name of the scenario, in `scenarios/`; or of a description of a synthetic log, which says `synthetic = true`.
    pub scenario: String,
    /// Runs of every cell, under seeds one after another.
    #[serde(default = "one")]
    pub replications: u32,
    /// Whether it is cheap enough for every test run.
    #[serde(default)]
    pub quick: bool,
    /// Grid on which deliveries are recorded, as a time of the scenario format.
    #[serde(default = "second")]
    pub grid: String,
    /// What the paper leaves open here, and what was taken.
    #[serde(default)]
    pub about: String,
    /// What is varied; cells are all combinations, the last axis the fastest.
    #[serde(default, rename = "axis")]
    pub axes: Vec<Axis>,
    /// What is measured, by name.
    #[serde(default, rename = "metric")]
    pub metrics: BTreeMap<String, Metric>,
}

fn one() -> u32 {
    1
}

fn second() -> String {
    "1 s".into()
}

/// One thing that is varied.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, try_from = "WrittenAxis")]
pub struct Axis {
    /// Its name in expressions.
    pub name: String,
    /// What it measures, with its unit, for plots.
    pub title: String,
    /// Its points, in order.
    pub points: Vec<Point>,
}

/// One point of an axis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Its name in expressions and legends.
    pub name: String,
    /// Where it stands on a plot.
    #[serde(default)]
    pub x: Option<f64>,
    /// Keys of the scenario, and what they are here.
    #[serde(default)]
    pub set: BTreeMap<String, toml::Value>,
    /// Keys or groups of the scenario that are not there here.
    #[serde(default)]
    pub remove: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenAxis {
    name: String,
    title: Option<String>,
    key: Option<String>,
    #[serde(default)]
    values: Vec<toml::Value>,
    #[serde(default)]
    points: Vec<Point>,
}

impl TryFrom<WrittenAxis> for Axis {
    type Error = String;

    fn try_from(written: WrittenAxis) -> Result<Self, String> {
        let WrittenAxis { name, title, key, values, mut points } = written;
        match (key, values.is_empty(), points.is_empty()) {
            (Some(key), false, true) => {
                points = values.into_iter().map(|value| Point::of(&key, value)).collect()
            }
            (None, true, false) => {}
            _ => return Err(format!("axis {name} needs either `key` with `values`, or `points`")),
        }
        for point in &mut points {
            point.x = point.x.or_else(|| leading_number(&point.name));
        }
        Ok(Self { title: title.unwrap_or_else(|| name.clone()), name, points })
    }
}

impl Point {
    /// The point at which one key has this value.
    fn of(key: &str, value: toml::Value) -> Self {
        let name = match &value {
            toml::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Self { name, x: None, set: BTreeMap::from([(key.to_owned(), value)]), remove: vec![] }
    }
}
