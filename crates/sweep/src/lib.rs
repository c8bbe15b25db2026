//! Sweeps: a scenario, run at every combination of the points of several axes, under several seeds.
//!
//! A [`Sweep`] gives [`Cell`]s and serialisable [`Job`]s. [`Sweep::run`] makes those runs that a [`Store`] lacks; the store
//! is in memory or in a file. Nothing here names a host or a measured quantity.
//!
//! ```
//! use firstflight_hosts::host::Observe;
//! use firstflight_hosts::progress::Silent;
//! use firstflight_hosts::simulator::Simulator;
//! use firstflight_sweep::{Axis, Store, Sweep, version};
//!
//! let base = r#"
//!     [path]
//!     rate = "10 Mbit/s"
//!     rtt = "50 ms"
//!     buffer = "50 packets"
//!     [[flow]]
//!     name = "short"
//!     size = "30 KB"
//! "#;
//! let sweep = Sweep::new(base, "base.toml")?
//!     .crossed(Axis::of("path.rate", ["10 Mbit/s", "20 Mbit/s"]))
//!     .crossed(Axis::of("flow.short.startup", ["slow-start", "hystart++"]))
//!     .replications(2);
//! let observe = Observe::default();
//! let store = Store::memory(&version(&Simulator, &observe));
//! let swept = sweep.run(&Simulator, &observe, &store, |run| run.result.flows[0].completion_s, &Silent)?;
//! let completion = swept.array(|seconds| seconds.unwrap_or(f64::NAN));
//! assert_eq!((completion.points(), completion.samples), (4, 2));
//! assert!(completion.at(2)[0] < completion.at(0)[0], "a faster link, the same scheme");
//! # Ok::<(), firstflight_sweep::Error>(())
//! ```

mod array;
mod axis;
mod columns;
#[cfg(feature = "files")]
mod dataset;
mod digest;
mod error;
mod grid;
mod job;
mod plan;
mod sample;
mod settings;
#[cfg(feature = "files")]
mod shared;
mod store;
mod unit;

use firstflight_scenario::{Scenario, parse};
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::Table;

pub use array::{Array, Dimension, Mismatch};
pub use axis::{Axis, Point, leading_number};
pub use columns::{FactorColumn, assign};
#[cfg(feature = "files")]
pub use dataset::{Alone, Dataset, Made, State, ranges};
pub use digest::digest;
pub use error::{Error, within, wrong};
pub use grid::{Grid, MEASURES, Replications, Sample, refresh, schema_text};
pub use job::{Job, Key, Task, execute, work};
pub use plan::{Halt, Plan, totals};
pub use sample::{Sampler, Spread};
pub use store::{Damage, Store};

use firstflight_hosts::host::{Host, Observe, Refusal, Run};
use firstflight_hosts::memory::{self, Estimate};
use firstflight_hosts::parallel::with_threads;
use firstflight_hosts::progress::Progress;

/// Hash of the sources that simulated results depend on: those of this crate and of every crate below it.
pub const SOURCES: &str = env!("FIRSTFLIGHT_SOURCES");

/// The version of a host's results: everything that a run's result depends on besides scenario and seed. Equal versions
/// have the same sources, the same host and the same observation; the limit of the memory changes no result.
pub fn version(host: &dyn Host, observe: &Observe) -> String {
    let observe = Observe { memory: memory::DEFAULT, ..observe.clone() };
    format!("{SOURCES} {} {}", host.name(), &digest([format!("{observe:?}").as_str()])[..16])
}

/// Memory of a cell for each byte of its text: the document, and what is read from it.
const CELL: f64 = 20.0;
/// Memory of a run beside the text of its scenario, bytes.
const JOB: f64 = 1_000.0;

/// A base scenario, the axes along which its keys vary, and the seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    file: String,
    base: Table,
    axes: Vec<Axis>,
    replications: u32,
    seed: Option<u64>,
    memory: u64,
}

/// One combination of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Name of the point on each axis.
    pub point: Vec<String>,
    /// The scenario with every key set; its title is empty.
    pub scenario: Scenario,
    /// Hash of the scenario.
    pub hash: String,
}

/// The base document of a sweep with the keys of one combination set, before it is read as a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Name of the point on each axis.
    pub point: Vec<String>,
    /// The document.
    pub table: Table,
}

/// Results of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Swept<T> {
    /// The axes, the last the fastest.
    pub axes: Vec<Dimension>,
    /// Runs per cell.
    pub replications: u32,
    /// One result per job, in the order of [`Sweep::jobs`].
    pub runs: Vec<T>,
}

impl Sweep {
    /// The base scenario as text, without axes; `file` is its name in errors. The text is read as a scenario only by
    /// [`Sweep::cells`], with the keys of each cell set.
    ///
    /// # Errors
    /// If the text is not TOML.
    pub fn new(text: &str, file: &str) -> Result<Self, Error> {
        let base = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            wrong(format!("{file}:{line}"), error.message())
        })?;
        let memory = memory::DEFAULT;
        Ok(Self { file: file.into(), base, axes: vec![], replications: 1, seed: None, memory })
    }

    /// The same sweep, crossed with one more axis, which varies faster than the axes before it.
    pub fn crossed(mut self, axis: Axis) -> Self {
        self.axes.push(axis);
        self
    }

    /// The same sweep with this number of runs per cell, under consecutive seeds; at least one.
    pub fn replications(self, replications: u32) -> Self {
        Self { replications: replications.max(1), ..self }
    }

    /// The same sweep with this seed for the first replication, in place of the scenario's own.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed: Some(seed), ..self }
    }

    /// The same sweep with this limit of the memory for all cells, bytes, in place of [`memory::DEFAULT`]. The limit of each
    /// run is that of the observation.
    pub fn memory(self, memory: u64) -> Self {
        Self { memory, ..self }
    }

    /// The axes.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The documents of all cells, the last axis the fastest.
    ///
    /// # Errors
    /// If an axis has no point, the cells take more memory than the limit, or a key does not fit the base document.
    pub fn documents(&self) -> Result<Vec<Document>, Error> {
        if let Some(axis) = self.axes.iter().find(|axis| axis.points.is_empty()) {
            return Err(wrong(&self.file, format!("axis {} has no point", axis.name)));
        }
        let count = self.admit(self.base.to_string().len(), 0)?;
        (0..count).map(|index| self.document(index)).collect()
    }

    /// Number of cells, if the memory for as many texts of `length` bytes, and what is read from them, is within the limit.
    fn admit(&self, length: usize, runs: u32) -> Result<usize, Error> {
        let count: f64 = self.axes.iter().map(|axis| axis.points.len() as f64).product();
        let length = length as f64;
        let mut estimate = Estimate::default();
        estimate.add("axes", 0.0, count * (CELL * length + f64::from(runs) * (length + JOB)));
        let refused = |refusal: Refusal| within(&self.file, Error::invalid(refusal.why).at_key(refusal.key));
        estimate.admit(1, self.memory).map_err(refused)?;
        Ok(count as usize)
    }

    fn document(&self, mut index: usize) -> Result<Document, Error> {
        let mut points: Vec<&Point> = vec![];
        for axis in self.axes.iter().rev() {
            points.push(&axis.points[index % axis.points.len()]);
            index /= axis.points.len();
        }
        points.reverse();
        let point: Vec<String> = points.iter().map(|point| point.name.clone()).collect();
        let mut table = self.base.clone();
        let mut fill = || -> Result<(), Error> {
            for point in &points {
                point.remove.iter().try_for_each(|path| settings::remove(&mut table, path))?;
                point.set.iter().try_for_each(|(path, value)| settings::set(&mut table, path, value))?;
            }
            Ok(())
        };
        fill().map_err(|error| self.at(&point, error))?;
        Ok(Document { point, table })
    }

    /// Reads the document of a cell as a scenario.
    ///
    /// # Errors
    /// If the document is not a valid scenario.
    pub fn cell(&self, document: Document) -> Result<Cell, Error> {
        let Document { point, table } = document;
        let mut scenario = match parse(&table.to_string(), &self.file) {
            Ok(loaded) => loaded.scenario,
            Err(error) => return Err(self.at(&point, error.in_file("", None))),
        };
        scenario.title.clear();
        Ok(Cell { point, hash: scenario.hash(), scenario })
    }

    /// All cells, the last axis the fastest.
    ///
    /// # Errors
    /// If an axis has no point, or a cell is not a valid scenario.
    pub fn cells(&self) -> Result<Vec<Cell>, Error> {
        let mut cells: Vec<Cell> = vec![];
        for document in self.documents()? {
            let cell = self.cell(document)?;
            if cells.is_empty() {
                // Written out, a short text may be a large graph; each run has that text.
                self.admit(cell.scenario.to_toml().len(), self.replications)?;
            }
            cells.push(cell);
        }
        Ok(cells)
    }

    /// All jobs: cell by cell, and within each cell replication by replication.
    ///
    /// # Errors
    /// As [`Sweep::cells`].
    pub fn jobs(&self, version: &str) -> Result<Vec<Job>, Error> {
        let cells = self.cells()?;
        Ok(cells.iter().enumerate().flat_map(|(i, cell)| self.jobs_of(i, cell, version)).collect())
    }

    fn jobs_of(&self, index: usize, cell: &Cell, version: &str) -> Vec<Job> {
        let first = self.seed.unwrap_or(cell.scenario.seed);
        let text = cell.scenario.to_toml();
        let key = |replication: u32| Key {
            scenario: cell.hash.clone(),
            seed: first.wrapping_add(replication.into()),
            version: version.into(),
        };
        let job =
            |replication| Job { key: key(replication), scenario: text.clone(), cell: index, replication };
        (0..self.replications).map(job).collect()
    }

    /// Runs every job that the store lacks on a host, and keeps of each run the result of `measure`. Equal runs are made
    /// once. The version of the store is that of [`version`].
    ///
    /// # Errors
    /// As [`Sweep::cells`]; if the host cannot run a cell, before anything is run; if the store cannot be written.
    pub fn run<T>(
        &self,
        host: &dyn Host,
        observe: &Observe,
        store: &Store<T>,
        measure: impl Fn(Run) -> T + Sync,
        progress: &dyn Progress,
    ) -> Result<Swept<T>, Error>
    where
        T: Clone + Send + Serialize + DeserializeOwned,
    {
        let cells = self.cells()?;
        let refused = |cell: &Cell, refusal: Refusal| {
            self.at(&cell.point, Error::invalid(refusal.why).at_key(refusal.key))
        };
        let mut threads = usize::MAX;
        for cell in &cells {
            let estimate = host.check(&cell.scenario, observe).map_err(|refusal| refused(cell, refusal))?;
            estimate.admit(1, observe.memory).map_err(|refusal| refused(cell, refusal))?;
            threads = threads.min(estimate.threads(1, observe.memory));
        }
        let task = |job: Job| Task { run: job.key.run(), work: work(&cells[job.cell].scenario), job };
        let jobs = cells.iter().enumerate().flat_map(|(i, cell)| self.jobs_of(i, cell, store.version()));
        let tasks: Vec<Task<Job>> = jobs.map(task).collect();
        let make = |Task { job, .. }: &Task<Job>| {
            let cell = &cells[job.cell];
            let run = host.run(&cell.scenario, job.key.seed, observe);
            run.map(&measure).map_err(|halt| halt.map(|refusal| refused(cell, refusal)))
        };
        let runs = with_threads(threads, || {
            execute(&tasks, store, |_, _| true, |task| make(task).map_err(Error::from), progress)
        })?;
        Ok(Swept { axes: self.dimensions(), replications: self.replications, runs })
    }

    /// The axes without their settings, for arrays of results.
    pub fn dimensions(&self) -> Vec<Dimension> {
        self.axes.iter().map(Axis::dimension).collect()
    }

    /// Adds the sweep's file and a point to the place of an error.
    pub fn at(&self, point: &[String], error: Error) -> Error {
        match point.is_empty() {
            true => within(&self.file, error),
            false => within(&format!("{}: at {}", self.file, point.join(", ")), error),
        }
    }
}

impl<T> Swept<T> {
    /// The runs of cell `index`, in order of seeds.
    pub fn cell(&self, index: usize) -> &[T] {
        let length = self.replications as usize;
        &self.runs[index * length..(index + 1) * length]
    }

    /// One number of every run, along the axes.
    pub fn array(&self, measure: impl Fn(&T) -> f64) -> Array {
        Array {
            axes: self.axes.clone(),
            samples: self.replications as usize,
            values: self.runs.iter().map(measure).collect(),
        }
    }
}
