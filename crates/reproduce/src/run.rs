//! Runs experiments: every cell once per seed, and each run once for all experiments that need it.

use std::collections::BTreeMap;

use firstflight_contract::Nanos;
use firstflight_hosts::host::{Host, Refusal};
use firstflight_hosts::memory::{self, Estimate};
use firstflight_hosts::progress::Progress;
use firstflight_sweep::{self as sweep, Array, Axis, Dimension, Task, digest, execute, within, wrong};

use crate::PaperError;
use crate::cell::{Cell, cells, grid};
use crate::evidence::{Evidence, Measured, Provenance};
use crate::experiment::Experiment;
use crate::library::{Library, Paper};
use crate::metric::{Kind, Metric};
use crate::number::rounded;
pub use crate::observe::Done;
use crate::observe::Job;
use crate::sequential::Replications;

/// Results of finished runs: metrics, by scenario, seed and grid.
pub type Store = sweep::Store<Done>;

/// Version of the results of `host`: the sources of runs and of metrics, and the host's name.
pub fn version(host: &dyn Host) -> String {
    format!("{} {} {}", sweep::SOURCES, env!("FIRSTFLIGHT_METRIC_SOURCES"), host.name())
}

/// Selection of experiments, and of their replications and seeds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection<'a> {
    /// Only experiments of this paper, named by its folder.
    pub paper: Option<&'a str>,
    /// Only experiments of these names.
    pub experiments: Option<&'a [&'a str]>,
    /// Only quick experiments.
    pub quick: bool,
    /// Replications of every experiment that has more than one.
    pub replications: Option<u32>,
    /// Replications of single experiments, where they are more than the above.
    pub more: Option<&'a Replications>,
    /// Seed of the first replication, in place of the scenarios' own.
    pub seed: Option<u64>,
    /// Limit of the memory of a run, and of all descriptions of runs, bytes; `None` is [`memory::DEFAULT`].
    pub memory: Option<u64>,
}

impl Selection<'_> {
    fn memory(&self) -> u64 {
        self.memory.unwrap_or(memory::DEFAULT)
    }

    fn wants(&self, paper: &Paper, name: &str, experiment: &Experiment) -> bool {
        self.paper.is_none_or(|folder| folder == paper.folder)
            && self.experiments.is_none_or(|names| names.contains(&name))
            && (experiment.quick || !self.quick)
    }

    fn replications(&self, paper: &Paper, name: &str, experiment: &Experiment) -> u32 {
        if experiment.replications < 2 {
            return experiment.replications;
        }
        let more = self.more.and_then(|more| more.get(&(paper.folder.clone(), name.to_owned())));
        self.replications.unwrap_or(experiment.replications).max(more.copied().unwrap_or(0))
    }
}

/// A selected experiment.
struct Planned<'a> {
    paper: &'a Paper,
    name: &'a str,
    experiment: &'a Experiment,
    cells: Vec<Cell>,
    replications: u32,
    seed: Option<u64>,
    grid: Nanos,
    /// Each metric's definition, by name.
    keys: BTreeMap<&'a str, String>,
}

/// Makes the runs that `selection` needs and `store` lacks on `host`, and collects the metrics. The store is one of
/// [`version`].
///
/// # Errors
/// If a file of a paper is wrong, the host cannot run a scenario, or the store cannot be written.
pub fn run(
    host: &dyn Host,
    library: &Library,
    selection: &Selection<'_>,
    store: &Store,
    provenance: Provenance,
    progress: &dyn Progress,
) -> Result<Evidence, PaperError> {
    let planned = plan(library, selection)?;
    let memory = selection.memory();
    for one in &planned {
        one.admit(memory).map_err(|refusal| within(&one.file(), refused(refusal)))?;
    }
    let mut jobs: BTreeMap<String, Job<'_>> = BTreeMap::new();
    for one in &planned {
        for cell in &one.cells {
            for replication in 0..one.replications {
                let job = jobs.entry(one.run(cell, replication)).or_insert_with(|| Job {
                    subject: &cell.subject,
                    seed: one.seed(cell, replication),
                    grid: one.grid,
                    memory,
                    metrics: BTreeMap::new(),
                    file: one.file(),
                });
                let metrics = one.experiment.metrics.iter();
                job.metrics.extend(metrics.map(|(name, metric)| (one.keys[name.as_str()].clone(), metric)));
            }
        }
    }
    let tasks: Vec<Task<Job<'_>>> =
        jobs.into_iter().map(|(run, job)| Task { run, work: job.subject.work(), job }).collect();
    let measure = |Task { run, job, .. }: &Task<Job<'_>>| {
        let mut done = job.measure(host)?;
        // Metrics that another selection measured of the same run stay known.
        let known = store.get(run).map_or(BTreeMap::new(), |known| known.metrics);
        known.into_iter().for_each(|(key, values)| {
            done.metrics.entry(key).or_insert(values);
        });
        Ok::<_, PaperError>(done)
    };
    let results = execute(&tasks, store, Job::is_answered_by, measure, progress)?;
    let done: BTreeMap<&str, Done> = tasks.iter().map(|task| task.run.as_str()).zip(results).collect();
    let mut evidence = Evidence { provenance, ..Evidence::default() };
    for one in &planned {
        let measured = one.collect(&done).map_err(|error| within(&one.file(), error))?;
        let paper = evidence.papers.entry(one.paper.folder.clone()).or_default();
        paper.experiments.insert(one.name.into(), measured);
    }
    Ok(evidence)
}

/// The hash of each experiment's definition, by paper and name: compare with [`Measured::definition`]. The descriptions of the
/// cells of an experiment may take `memory` bytes; `None` is [`memory::DEFAULT`].
///
/// # Errors
/// If a file of a paper is wrong, or the cells take more memory.
pub fn definitions(
    library: &Library,
    memory: Option<u64>,
) -> Result<BTreeMap<(String, String), String>, PaperError> {
    let planned = plan(library, &Selection { memory, ..Selection::default() })?;
    let definition = |one: &Planned<'_>| ((one.paper.folder.clone(), one.name.to_owned()), one.definition());
    Ok(planned.iter().map(definition).collect())
}

fn plan<'a>(library: &'a Library, selection: &Selection<'_>) -> Result<Vec<Planned<'a>>, PaperError> {
    let mut planned = vec![];
    for paper in &library.papers {
        for (name, experiment) in &paper.experiments {
            if !selection.wants(paper, name, experiment) {
                continue;
            }
            let file = file(paper, name);
            if experiment.replications == 0 {
                let error = wrong(format!("{file}: replications = 0"), "no run");
                return Err(error.expecting("at least 1"));
            }
            let mut keys = BTreeMap::new();
            for (metric, definition) in &experiment.metrics {
                let invalid = |why| wrong(format!("{file}: metric {metric}"), why);
                definition.kind().map_err(invalid)?;
                let untitled = Metric { title: String::new(), ..definition.clone() };
                keys.insert(metric.as_str(), serde_json::to_string(&untitled).expect("texts and numbers"));
            }
            planned.push(Planned {
                paper,
                name,
                experiment,
                cells: cells(paper, &file, experiment, selection.memory())?,
                replications: selection.replications(paper, name, experiment),
                seed: selection.seed,
                grid: grid(experiment).map_err(|error| within(&file, error))?,
                keys,
            });
        }
    }
    Ok(planned)
}

/// The file of an experiment.
fn file(paper: &Paper, name: &str) -> String {
    format!("{}/experiments/{name}.toml", paper.folder)
}

/// The error of a refusal.
pub(crate) fn refused(refusal: Refusal) -> PaperError {
    PaperError::invalid(refusal.why).at_key(refusal.key)
}

/// Memory of a run that is planned, and of each of its values, bytes.
const PLANNED: f64 = 1_000.0;

impl Planned<'_> {
    /// Refuses an experiment whose runs cannot even be listed within `limit` bytes.
    fn admit(&self, limit: u64) -> Result<(), Refusal> {
        let runs = self.cells.len() as f64 * f64::from(self.replications);
        let mut estimate = Estimate::default();
        estimate.add("replications", 0.0, runs * PLANNED * (1 + self.keys.len()) as f64);
        estimate.admit(1, limit)
    }

    fn file(&self) -> String {
        file(self.paper, self.name)
    }

    /// Name of a run: cell, seed and grid.
    fn run(&self, cell: &Cell, replication: u32) -> String {
        format!("{} {} {}", cell.hash, self.seed(cell, replication), self.grid.0)
    }

    fn seed(&self, cell: &Cell, replication: u32) -> u64 {
        self.seed.unwrap_or_else(|| cell.subject.seed()).wrapping_add(replication.into())
    }

    /// Whether every metric is read from the scenario. Other experiments may still need the runs.
    fn runs_nothing(&self) -> bool {
        self.experiment.metrics.values().all(|metric| matches!(metric.kind(), Ok(Kind::Scenario)))
    }

    fn axes(&self) -> Vec<Dimension> {
        self.experiment.axes.iter().map(Axis::dimension).collect()
    }

    fn definition(&self) -> String {
        let count = format!("{} {}", self.experiment.replications, self.grid.0);
        let axes = serde_json::to_string(&self.axes()).expect("texts and numbers");
        let metrics = self.keys.iter().flat_map(|(name, key)| [*name, key.as_str()]);
        digest(self.cells.iter().map(|cell| cell.hash.as_str()).chain([count.as_str(), &axes]).chain(metrics))
    }

    fn collect(&self, done: &BTreeMap<&str, Done>) -> Result<Measured, PaperError> {
        let runs_of =
            |cell: &Cell| (0..self.replications).map(|r| &done[self.run(cell, r).as_str()]).collect();
        let runs: Vec<Vec<&Done>> = self.cells.iter().map(runs_of).collect();
        let mut metrics = BTreeMap::new();
        for (name, metric) in &self.experiment.metrics {
            let array = self.array(metric, &self.keys[name.as_str()], &runs);
            let array = array.map_err(|why| wrong(format!("metric {name}"), why))?;
            metrics.insert(name.clone(), array);
        }
        let hops = || runs.iter().flatten().map(|one| one.packet_hops).sum();
        Ok(Measured {
            definition: self.definition(),
            replications: self.replications,
            packet_hops: if self.runs_nothing() { 0 } else { hops() },
            version: String::new(),
            metrics,
        })
    }

    /// All values of a metric, the metric's own axis last.
    fn array(&self, metric: &Metric, key: &str, runs: &[Vec<&Done>]) -> Result<Array, String> {
        // Runs may differ in length: the longest gives the axis.
        let own = runs
            .iter()
            .flatten()
            .map(|one| one.metrics[key].axis())
            .max_by_key(|axis| axis.map_or(0, |(_, x)| x.len()));
        let mut axes = self.axes();
        // All replications of what is read from the scenario are equal.
        let samples = match metric.kind()? {
            Kind::Scenario => 1,
            _ => self.replications as usize,
        };
        let mut length = 1;
        if let Some(Some((name, x))) = own {
            // Multiples of an interval are round numbers.
            let x: Vec<f64> = x.iter().copied().map(rounded).collect();
            length = x.len();
            let title = match name {
                "time" => "time, s",
                "window" => "window, s",
                "within" => "since the start of each flow, s",
                _ => "share of all, %",
            };
            let points = x.iter().map(f64::to_string).collect();
            axes.push(Dimension { name: name.into(), title: title.into(), points, x });
        }
        let mut values = vec![];
        for cell in runs {
            for i in 0..length {
                // A run that ended earlier has no value here.
                values.extend(cell.iter().take(samples).map(|one| one.metrics[key].at(i)));
            }
        }
        Ok(Array { axes, samples, values })
    }
}
