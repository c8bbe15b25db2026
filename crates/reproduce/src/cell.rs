//! The cells of an experiment: a scenario or a synthetic log at every combination of the points of its axes.

use firstflight_contract::Nanos;
use firstflight_document::nearest;
use firstflight_document::quantity::parse_time;
use firstflight_scenario::Scenario;
use firstflight_sweep::{Document, Sweep, digest, work, wrong};

use crate::PaperError;
use crate::experiment::Experiment;
use crate::library::Paper;
use crate::log::SyntheticLog;

/// One combination.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// The scenario or log, with every key set.
    pub(crate) subject: Subject,
    /// Hash of the subject without its title: equal cells have equal hashes.
    pub(crate) hash: String,
}

/// The subject of a run.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    /// A scenario, run by a host.
    Scenario(Box<Scenario>),
    /// A synthetic log, generated and analysed.
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

    /// Estimated work of a run, in no unit.
    pub(crate) fn work(&self) -> u64 {
        match self {
            Self::Scenario(scenario) => work(scenario),
            Self::Log(_) => 1_000_000,
        }
    }
}

/// All cells of an experiment, the last axis the fastest, whose descriptions take at most `memory` bytes.
///
/// # Errors
/// If a key does not fit the scenario, a cell is not valid, or the cells take more memory.
pub(crate) fn cells(
    paper: &Paper,
    file: &str,
    experiment: &Experiment,
    memory: u64,
) -> Result<Vec<Cell>, PaperError> {
    let name = &experiment.scenario;
    let text = paper.scenarios.get(name).ok_or_else(|| {
        let known: Vec<&str> = paper.scenarios.keys().map(String::as_str).collect();
        wrong(format!("{file}: scenario = \"{name}\""), "no such scenario")
            .expecting(known.join(", "))
            .near(nearest(name, known.iter().copied()))
    })?;
    // Errors of the file itself name it; errors of a cell name the experiment that sets the keys.
    Sweep::new(text, &format!("{}/scenarios/{name}", paper.folder))?;
    let sweep = experiment.axes.iter().cloned().fold(Sweep::new(text, file)?.memory(memory), Sweep::crossed);
    let cell = |document| cell(&sweep, document);
    sweep.documents()?.into_iter().map(cell).collect()
}

fn cell(sweep: &Sweep, document: Document) -> Result<Cell, PaperError> {
    if document.table.contains_key("synthetic") {
        let hash = digest([document.table.to_string().as_str()]);
        let log = SyntheticLog::read(document.table);
        let log = log.map_err(|why| sweep.at(&document.point, wrong("", why)))?;
        return Ok(Cell { subject: Subject::Log(Box::new(log)), hash });
    }
    let cell = sweep.cell(document)?;
    Ok(Cell { subject: Subject::Scenario(Box::new(cell.scenario)), hash: cell.hash })
}

/// The interval of an experiment's deliveries.
///
/// # Errors
/// If it is no time above zero.
pub(crate) fn grid(experiment: &Experiment) -> Result<Nanos, PaperError> {
    let invalid =
        |why: String| wrong(format!("grid = \"{}\"", experiment.grid), why).expecting("a time above zero");
    match parse_time(&experiment.grid) {
        Ok(grid) if grid.0 > 0 => Ok(grid),
        Ok(_) => Err(invalid("zero".into())),
        Err(error) => Err(invalid(error.to_string())),
    }
}
