//! An experiment: a sweep of one scenario, and the metrics of its runs.

use std::collections::BTreeMap;

use firstflight_sweep::Axis;
use serde::Deserialize;

use crate::metric::Metric;

/// A file of `experiments/`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Title, for pages.
    pub title: String,
    /// File in `scenarios/`: a scenario, or the description of a synthetic log, which has `synthetic = true`.
    pub scenario: String,
    /// Runs per cell, under consecutive seeds; at least one.
    #[serde(default = "one")]
    pub replications: u32,
    /// Whether `--quick` and every test run include the experiment.
    #[serde(default)]
    pub quick: bool,
    /// Interval at which deliveries are recorded, as a time of the scenario format.
    #[serde(default = "second")]
    pub grid: String,
    /// Values that the paper leaves open, and the values chosen.
    #[serde(default)]
    pub about: String,
    /// The axes. Cells are all combinations of their points, the last axis the fastest.
    #[serde(default, rename = "axis")]
    pub axes: Vec<Axis>,
    /// Metrics by name.
    #[serde(default, rename = "metric")]
    pub metrics: BTreeMap<String, Metric>,
}

fn one() -> u32 {
    1
}

fn second() -> String {
    "1 s".into()
}
