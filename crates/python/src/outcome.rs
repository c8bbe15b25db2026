//! Results: the JSON object, the tables, and the files of the command.

use std::path::PathBuf;

use firstflight::recording::Recording;
use firstflight_report::{Folder, OutputError, html, stage_all, stage_tables, stage_traces};
use firstflight_results::{CompareReport, ConnectionResult, PathEstimate, PathResult, RunResult, SampleRow};
use pyo3::exceptions::{PyKeyError, PyOSError};
use pyo3::prelude::*;
use serde::Serialize;

use crate::error::raised;
use crate::table::Table;

/// The result of a call, from which the classes of the package are made.
#[pyclass(frozen, module = "firstflight._firstflight")]
pub struct Outcome(pub(crate) Kind);

/// Results of each call.
pub(crate) enum Kind {
    /// Of run.
    Run {
        /// Rows.
        result: Box<RunResult>,
        /// Every flow of the first run over time, if asked for.
        samples: Vec<SampleRow>,
        /// Packets of the first run, if asked for.
        recording: Option<Recording>,
    },
    /// Of compare.
    Comparison {
        /// Rows and time series.
        report: Box<CompareReport>,
        /// Packets of the runs nearest the medians, if asked for.
        recordings: Vec<Recording>,
    },
    /// Of infer.
    Path(Box<PathResult>),
    /// Of sweep.
    Sweep(firstflight_results::Table),
}

type Rows = firstflight_results::Table;

#[pymethods]
impl Outcome {
    /// The object that the command prints with --json, as text. A sweep has none.
    fn json(&self) -> PyResult<String> {
        match &self.0 {
            Kind::Run { result, .. } => json(result),
            Kind::Comparison { report, .. } => json(&report.comparison),
            Kind::Path(path) => json(path),
            Kind::Sweep(_) => Err(raised("a sweep has tables only")),
        }
    }

    /// The table of this name. Raises KeyError if the result has none.
    fn table(&self, name: &str) -> PyResult<Table> {
        Table::of(&self.rows(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?)
    }

    /// Writes the files of the command into a folder, which is created if it is missing, and answers their paths. Either all files
    /// are written, or none.
    #[pyo3(signature = (folder: "str | os.PathLike[str]") -> "list[str]")]
    fn write(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Vec<PathBuf>> {
        py.detach(|| self.written(&folder)).map_err(|error| PyOSError::new_err(error.to_string()))
    }

    /// The page of a comparison.
    fn page(&self, py: Python<'_>) -> PyResult<String> {
        match &self.0 {
            Kind::Comparison { report, .. } => Ok(py.detach(|| html(report))),
            _ => Err(raised("only a comparison has a page")),
        }
    }
}

impl Outcome {
    fn rows(&self, name: &str) -> Option<Rows> {
        match (&self.0, name) {
            (Kind::Run { result, .. }, "run") => Some(Rows::of_runs(result)),
            (Kind::Run { result, .. }, "flow") => Some(Rows::of_flows(result)),
            (Kind::Run { result, .. }, "link") => Some(Rows::of_links(result)),
            (Kind::Run { samples, .. }, "sample") => Some(Rows::of_samples(samples.iter().cloned())),
            (Kind::Comparison { report, .. }, "result") => Some(Rows::of_results(&report.comparison)),
            (Kind::Comparison { report, .. }, "replication") => Some(Rows::of_replications(report)),
            (Kind::Comparison { report, .. }, "window") => Some(Rows::of_windows(report)),
            (Kind::Comparison { report, .. }, "network") => Rows::of_networks(&report.comparison),
            (Kind::Comparison { report, .. }, "connection") => {
                let connections: &[ConnectionResult] = &report.comparison.connections;
                Some(Rows::of("connection", connections.iter().cloned()))
            }
            (Kind::Comparison { report, .. }, "estimate") => Some(estimates(&report.comparison.path)),
            (Kind::Path(path), "estimate") => Some(estimates(path)),
            (Kind::Sweep(table), "sweep") => Some(table.clone()),
            _ => None,
        }
    }

    fn written(&self, folder: &std::path::Path) -> Result<Vec<PathBuf>, OutputError> {
        let mut folder = Folder::open(folder)?;
        match &self.0 {
            Kind::Run { result, samples, recording } => {
                let text = json(result).unwrap_or_default() + "\n";
                folder.stage("run.json", |file| file.write_all(text.as_bytes()))?;
                stage_tables(&mut folder, result, samples.clone(), env!("CARGO_PKG_VERSION"))?;
                recording.iter().try_for_each(|recording| stage_traces(&mut folder, recording))?;
            }
            Kind::Comparison { report, recordings } => {
                stage_all(&mut folder, report)?;
                recordings.iter().try_for_each(|recording| stage_traces(&mut folder, recording))?;
            }
            Kind::Path(_) | Kind::Sweep(_) => {}
        }
        folder.commit()
    }
}

fn estimates(path: &PathResult) -> Rows {
    let estimates: &[PathEstimate] = &path.estimates;
    Rows::of("estimate", estimates.iter().cloned())
}

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(raised)
}
