//! The cells of an experiment: its scenario at every combination of the points of its axes.

use firstflight_scenario::seconds::Seconds;
use std::fmt::Write;

use firstflight_contract::Nanos;
use firstflight_scenario::quantity::parse_time;
use firstflight_scenario::{Network, Scenario, parse};
use sha2::{Digest, Sha256};

use crate::array::Dimension;
use crate::error::PaperError;
use crate::experiment::{Axis, Experiment};
use crate::library::Paper;
use crate::log::SyntheticLog;
use crate::settings::{remove, set};

/// One combination.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// What is run, everything set.
    pub(crate) subject: Subject,
    /// Names it and all that is equal to it: the hash of the scenario without its title.
    pub(crate) hash: String,
}

/// What is run.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    /// A scenario, in the simulator.
    Scenario(Box<Scenario>),
    /// The study of a synthetic log.
    Log(Box<SyntheticLog>),
}

impl Subject {
    /// The seed of the first replication.
    pub(crate) fn seed(&self) -> u64 {
        match self {
            Self::Scenario(scenario) => scenario.seed,
            Self::Log(log) => log.seed(),
        }
    }

    /// About how much work a run is, in no unit.
    pub(crate) fn work(&self) -> u64 {
        match self {
            Self::Scenario(scenario) => work(scenario),
            Self::Log(_) => 1_000_000,
        }
    }
}

/// All cells of an experiment, the last axis the fastest.
///
/// # Errors
/// If a setting does not fit the scenario, or gives one that is not valid.
pub(crate) fn cells(paper: &Paper, name: &str, experiment: &Experiment) -> Result<Vec<Cell>, PaperError> {
    let file = format!("{}/experiments/{name}.toml", paper.folder);
    let scenario = format!("{}/scenarios/{}", paper.folder, experiment.scenario);
    let text = paper.scenarios.get(&experiment.scenario).ok_or_else(|| {
        let known: Vec<&str> = paper.scenarios.keys().map(String::as_str).collect();
        PaperError::new(&file, format!("there is no {scenario}; there are {}", known.join(", ")))
    })?;
    let base: toml::Table =
        text.parse().map_err(|error: toml::de::Error| PaperError::new(&scenario, error.message()))?;
    let count = experiment.axes.iter().map(|axis| axis.points.len()).product();
    (0..count).map(|index| cell(&base, &experiment.axes, index, &file, &scenario)).collect()
}

fn cell(
    base: &toml::Table,
    axes: &[Axis],
    mut index: usize,
    file: &str,
    scenario: &str,
) -> Result<Cell, PaperError> {
    let mut places = vec![0; axes.len()];
    for (place, axis) in places.iter_mut().zip(axes).rev() {
        *place = index % axis.points.len();
        index /= axis.points.len();
    }
    let mut document = base.clone();
    let points: Vec<_> = axes.iter().zip(&places).map(|(axis, &place)| &axis.points[place]).collect();
    let named = points.iter().map(|point| point.name.as_str()).collect::<Vec<_>>().join(", ");
    let wrong = |why: String| PaperError::new(file, format!("at {named}: {why}"));
    for point in &points {
        point.remove.iter().try_for_each(|path| remove(&mut document, path)).map_err(wrong)?;
        point.set.iter().try_for_each(|(path, value)| set(&mut document, path, value)).map_err(wrong)?;
    }
    if document.contains_key("synthetic") {
        let text = document.to_string();
        let log = SyntheticLog::read(document).map_err(wrong)?;
        return Ok(Cell { subject: Subject::Log(Box::new(log)), hash: digest([text.as_str()]) });
    }
    let loaded = parse(&document.to_string(), scenario).map_err(|error| wrong(error.to_string()))?;
    let mut scenario = loaded.scenario;
    scenario.title.clear();
    Ok(Cell { hash: scenario.hash(), subject: Subject::Scenario(Box::new(scenario)) })
}

/// The axes of an experiment's arrays.
pub(crate) fn dimensions(experiment: &Experiment) -> Vec<Dimension> {
    let dimension = |axis: &Axis| Dimension {
        name: axis.name.clone(),
        title: axis.title.clone(),
        points: axis.points.iter().map(|point| point.name.clone()).collect(),
        x: axis.points.iter().enumerate().map(|(i, point)| point.x.unwrap_or(i as f64)).collect(),
    };
    experiment.axes.iter().map(dimension).collect()
}

/// The grid of an experiment.
///
/// # Errors
/// If it is no time above zero.
pub(crate) fn grid(experiment: &Experiment) -> Result<Nanos, String> {
    match parse_time(&experiment.grid) {
        Ok(grid) if grid.0 > 0 => Ok(grid),
        Ok(_) => Err("grid: zero; expected a time above zero".into()),
        Err(error) => Err(format!("grid: {error}")),
    }
}

/// About how much work a run is, in no unit: what its links can carry while it lasts.
fn work(scenario: &Scenario) -> u64 {
    let seconds = scenario.duration.map_or(10.0, Seconds::as_secs_f64);
    let rate = match &scenario.network {
        Network::Dumbbell(path) => 2.0 * path.rate.0 as f64,
        // Not all links of a large graph are busy at once.
        Network::Graph(graph) => {
            let sum: f64 = graph.links.iter().map(|link| link.rate.0 as f64).sum();
            sum / (graph.links.len() as f64 / 8.0).max(1.0).sqrt()
        }
    };
    ((rate * seconds / f64::from(scenario.packet.size) / 8.0) as u64).max(1)
}

/// SHA-256 of texts, in hexadecimal.
pub(crate) fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update(text.as_bytes());
        hasher.update([0]);
    }
    hasher.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
