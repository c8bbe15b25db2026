//! Results: the JSON object, the tables, and the files of the command.

use std::path::PathBuf;

use firstflight::recording::Recording;
use firstflight::sweep::Axis;
use firstflight_report::{Folder, OutputError, html, stage_all, stage_tables, stage_traces, trace_files};
use firstflight_results::{
    CompareReport, ConnectionResult, LinkResult, PathEstimate, PathResult, RunResult, SampleRow, SweepRow,
};
use pyo3::exceptions::{PyKeyError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::{Deserialize, Serialize};

use crate::error::raised;
use crate::rows;
use crate::table::Table;

/// The result of a call, from which the classes of the package are made.
#[pyclass(frozen, module = "firstflight._firstflight")]
pub struct Outcome(pub(crate) Kind);

/// Results of each call. Their JSON form goes to other processes.
#[derive(Serialize, Deserialize)]
pub(crate) enum Kind {
    /// Of run.
    Run {
        /// Rows.
        result: Box<RunResult>,
        /// Every flow of the first run over time, if asked for.
        samples: Vec<SampleRow>,
        /// Packets of the first run, if asked for.
        #[serde(skip)]
        packets: Packets,
    },
    /// Of compare.
    Comparison {
        /// Rows and time series.
        report: Box<CompareReport>,
        /// Packets of the runs nearest the medians, if asked for.
        #[serde(skip)]
        packets: Packets,
    },
    /// Of infer.
    Path(Box<PathResult>),
    /// Of sweep.
    Sweep {
        /// Factors, the last the fastest.
        axes: Vec<Axis>,
        /// A row for each run.
        rows: Vec<SweepRow>,
    },
}

/// Recorded packets.
pub(crate) enum Packets {
    /// As the simulator recorded them.
    Recorded(Vec<Recording>),
    /// As name and content of the files that `write` makes of them; of a result from another process.
    Files(Vec<(String, Vec<u8>)>),
}

impl Default for Packets {
    fn default() -> Self {
        Self::Recorded(vec![])
    }
}

impl Packets {
    fn stage(&self, folder: &mut Folder) -> Result<(), OutputError> {
        match self {
            Self::Recorded(recordings) => recordings.iter().try_for_each(|it| stage_traces(folder, it)),
            Self::Files(files) => files
                .iter()
                .try_for_each(|(name, content)| folder.stage(name, |file| file.write_all(content))),
        }
    }

    fn files(&self) -> std::io::Result<Vec<(String, Vec<u8>)>> {
        match self {
            Self::Recorded(recordings) => {
                let files = recordings.iter().map(trace_files).collect::<Result<Vec<_>, _>>();
                Ok(files?.concat())
            }
            Self::Files(files) => Ok(files.clone()),
        }
    }
}

impl Kind {
    fn packets(&mut self) -> Option<&mut Packets> {
        match self {
            Self::Run { packets, .. } | Self::Comparison { packets, .. } => Some(packets),
            Self::Path(_) | Self::Sweep { .. } => None,
        }
    }

    /// The links of every run of a run.
    fn links(&self) -> Vec<&LinkResult> {
        let Self::Run { result, .. } = self else { return vec![] };
        std::iter::once(&**result).chain(&result.runs).flat_map(|run| &run.links).collect()
    }

    /// The counters of the links that JSON leaves out: packets transmitted, packets waiting at the end.
    fn counters(&self) -> Vec<(u64, u64)> {
        self.links().iter().map(|link| (link.packets, link.waiting_packets)).collect()
    }

    fn set_counters(&mut self, counters: &[(u64, u64)]) {
        let Self::Run { result, .. } = self else { return };
        let RunResult { links, runs, .. } = &mut **result;
        let links = links.iter_mut().chain(runs.iter_mut().flat_map(|run| &mut run.links));
        for (link, &(packets, waiting)) in links.zip(counters) {
            (link.packets, link.waiting_packets) = (packets, waiting);
        }
    }
}

/// A result without the times that differ between two runs of the same seed.
fn without_cost(result: &RunResult) -> RunResult {
    let mut result = result.clone();
    let clear = |run: &mut RunResult| (run.engine.cpu_s, run.engine.wall_s) = (None, None);
    result.runs.iter_mut().for_each(clear);
    clear(&mut result);
    result
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Run { result, samples, .. }, Self::Run { result: other, samples: others, .. }) => {
                samples == others && without_cost(result) == without_cost(other)
            }
            (Self::Comparison { report, .. }, Self::Comparison { report: other, .. }) => report == other,
            (Self::Path(path), Self::Path(other)) => path == other,
            (Self::Sweep { axes, rows }, Self::Sweep { axes: other, rows: others }) => {
                axes == other && rows == others
            }
            _ => false,
        }
    }
}

type Rows = firstflight_results::Table;

#[pymethods]
impl Outcome {
    /// The object that the command prints with --json, as text; of a sweep its factors and rows.
    fn json(&self) -> PyResult<String> {
        match &self.0 {
            Kind::Run { result, .. } => json(result),
            Kind::Comparison { report, .. } => json(&report.comparison),
            Kind::Path(path) => json(path),
            Kind::Sweep { axes, rows } => rows::json(axes, rows),
        }
    }

    /// Title of a run, and its number of runs and of flows in the first one; other results have none.
    fn summary(&self) -> Option<(String, usize, usize)> {
        let Kind::Run { result, .. } = &self.0 else { return None };
        Some((result.title.clone(), result.every_run().len(), result.flows.len()))
    }

    /// The keys that a sweep varies, in the order of their columns; empty for other results.
    fn factors(&self) -> Vec<String> {
        let Kind::Sweep { axes, .. } = &self.0 else { return vec![] };
        axes.iter().flat_map(|axis| axis.points[0].set.keys().cloned()).collect()
    }

    /// The table of this name. Raises KeyError if the result has none.
    fn table(&self, name: &str) -> PyResult<Table> {
        Table::of(&self.rows(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().0 == self.0)
    }

    /// A result goes to other processes as JSON, with the counters of its links that JSON leaves out and the files of its packets.
    #[pyo3(signature = () -> "tuple[object, tuple[str, list[tuple[int, int]], list[tuple[str, bytes]]]]")]
    #[expect(clippy::type_complexity, reason = "the answer of __reduce__ in Python")]
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (String, Vec<(u64, u64)>, Vec<(String, Bound<'py, PyBytes>)>))> {
        let files = match &self.0 {
            Kind::Run { packets, .. } | Kind::Comparison { packets, .. } => packets.files()?,
            Kind::Path(_) | Kind::Sweep { .. } => vec![],
        };
        let files = files.into_iter().map(|(name, content)| (name, PyBytes::new(py, &content))).collect();
        Ok((py.get_type::<Self>().getattr("restored")?, (json(&self.0)?, self.0.counters(), files)))
    }

    /// The result that another process sent.
    #[staticmethod]
    fn restored(text: &str, counters: Vec<(u64, u64)>, files: Vec<(String, Vec<u8>)>) -> PyResult<Self> {
        let mut kind: Kind = serde_json::from_str(text).map_err(raised)?;
        kind.set_counters(&counters);
        if let Some(packets) = kind.packets() {
            *packets = Packets::Files(files);
        }
        Ok(Self(kind))
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
            (Kind::Sweep { axes, rows }, "sweep") => Some(rows::table(axes, rows.clone())),
            _ => None,
        }
    }

    fn written(&self, folder: &std::path::Path) -> Result<Vec<PathBuf>, OutputError> {
        let mut folder = Folder::open(folder)?;
        match &self.0 {
            Kind::Run { result, samples, packets } => {
                let text = json(result).unwrap_or_default() + "\n";
                folder.stage("run.json", |file| file.write_all(text.as_bytes()))?;
                stage_tables(&mut folder, result, samples.clone(), env!("CARGO_PKG_VERSION"))?;
                packets.stage(&mut folder)?;
            }
            Kind::Comparison { report, packets } => {
                stage_all(&mut folder, report)?;
                packets.stage(&mut folder)?;
            }
            Kind::Path(_) | Kind::Sweep { .. } => {}
        }
        folder.commit()
    }
}

fn estimates(path: &PathResult) -> Rows {
    let estimates: &[PathEstimate] = &path.estimates;
    Rows::of("estimate", estimates.iter().cloned())
}

pub(crate) fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(raised)
}
