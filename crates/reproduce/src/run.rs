//! Runs experiments: every cell once for each seed, each run once for all experiments that need it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use firstflight_contract::Nanos;
use firstflight_scenario::Scenario;
use firstflight_study::host::{FlowChoice, Host, LinkReadings, Observe, Refusal};
use firstflight_study::progress::Progress;
use rayon::prelude::*;
use thiserror::Error;

use crate::array::{Array, Dimension};
use crate::cell::{Cell, Subject, cells, digest, dimensions, grid};
use crate::error::PaperError;
use crate::evidence::{Evidence, Measured, Provenance};
use crate::experiment::Experiment;
use crate::library::{Library, Paper};
use crate::log::SyntheticLog;
use crate::metric::{Kind, Metric, Ran};
use crate::number::rounded;
use crate::registers::Registers;
use crate::store::{Done, Values};
pub use crate::store::{SOURCES, Store};

/// Why experiments could not be run.
#[derive(Debug, Error)]
pub enum RunError {
    /// Something in the files of a paper.
    #[error(transparent)]
    Paper(#[from] PaperError),
    /// Results cannot be kept.
    #[error("results cannot be kept: {0}")]
    Store(#[from] io::Error),
}

/// Which experiments are run, and how often.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection<'a> {
    /// Only this paper's, by folder.
    pub paper: Option<&'a str>,
    /// Only these, by name.
    pub experiments: Option<&'a [&'a str]>,
    /// Only those that are quick.
    pub quick: bool,
    /// In place of every number of replications above one.
    pub replications: Option<u32>,
    /// The seed of the first replication, in place of the scenarios' own.
    pub seed: Option<u64>,
}

impl Selection<'_> {
    fn wants(&self, paper: &Paper, name: &str, experiment: &Experiment) -> bool {
        self.paper.is_none_or(|folder| folder == paper.folder)
            && self.experiments.is_none_or(|names| names.contains(&name))
            && (experiment.quick || !self.quick)
    }

    fn replications(&self, experiment: &Experiment) -> u32 {
        match self.replications {
            Some(count) if experiment.replications > 1 => count,
            _ => experiment.replications,
        }
    }
}

/// An experiment that is to be run.
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

/// One run, and all metrics that are wanted of it.
struct Job<'a> {
    subject: &'a Subject,
    seed: u64,
    grid: Nanos,
    metrics: BTreeMap<String, &'a Metric>,
    /// Names the experiment in errors.
    file: String,
}

/// Runs what `selection` says and `store` does not know.
///
/// # Errors
/// If a paper's files are wrong, a scenario asks for what the simulator does not have, or results cannot be kept.
pub fn run(
    host: &dyn Host,
    library: &Library,
    selection: &Selection<'_>,
    store: &Store,
    provenance: Provenance,
    progress: &dyn Progress,
) -> Result<Evidence, RunError> {
    let planned = plan(library, selection)?;
    let mut jobs: BTreeMap<String, Job<'_>> = BTreeMap::new();
    for one in &planned {
        for cell in &one.cells {
            for replication in 0..one.replications {
                let job = jobs.entry(one.run(cell, replication)).or_insert_with(|| Job {
                    subject: &cell.subject,
                    seed: one.seed(cell, replication),
                    grid: one.grid,
                    metrics: BTreeMap::new(),
                    file: one.file(),
                });
                let metrics = one.experiment.metrics.iter();
                job.metrics.extend(metrics.map(|(name, metric)| (one.keys[name.as_str()].clone(), metric)));
            }
        }
    }
    let done = work_off(host, &jobs, store, progress)?;
    let mut evidence = Evidence { provenance, ..Evidence::default() };
    for one in &planned {
        let measured = one.collect(&done)?;
        let paper = evidence.papers.entry(one.paper.folder.clone()).or_default();
        paper.experiments.insert(one.name.into(), measured);
    }
    Ok(evidence)
}

/// The hash of all that defines each experiment, by paper and name: what [`Measured::definition`] is compared with.
///
/// # Errors
/// If a paper's files are wrong.
pub fn definitions(library: &Library) -> Result<BTreeMap<(String, String), String>, PaperError> {
    let planned = plan(library, &Selection::default())?;
    Ok(planned
        .iter()
        .map(|one| ((one.paper.folder.clone(), one.name.to_owned()), one.definition()))
        .collect())
}

fn plan<'a>(library: &'a Library, selection: &Selection<'_>) -> Result<Vec<Planned<'a>>, PaperError> {
    let mut planned = vec![];
    for paper in &library.papers {
        for (name, experiment) in &paper.experiments {
            if !selection.wants(paper, name, experiment) {
                continue;
            }
            let file = format!("{}/experiments/{name}.toml", paper.folder);
            let mut keys = BTreeMap::new();
            for (metric, definition) in &experiment.metrics {
                definition.kind().map_err(|why| PaperError::new(&file, format!("metric {metric}: {why}")))?;
                let untitled = Metric { title: String::new(), ..definition.clone() };
                keys.insert(metric.as_str(), serde_json::to_string(&untitled).expect("texts and numbers"));
            }
            let grid = grid(experiment).map_err(|why| PaperError::new(&file, why))?;
            let replications = selection.replications(experiment);
            let cells = cells(paper, name, experiment)?;
            let seed = selection.seed;
            planned.push(Planned { paper, name, experiment, cells, replications, seed, grid, keys });
        }
    }
    Ok(planned)
}

/// Runs every job that the store does not know, the longest first.
fn work_off<'a>(
    host: &dyn Host,
    jobs: &'a BTreeMap<String, Job<'a>>,
    store: &Store,
    progress: &dyn Progress,
) -> Result<BTreeMap<&'a str, Done>, RunError> {
    let mut done: BTreeMap<&str, Done> = BTreeMap::new();
    let mut open: Vec<(u64, &str, &Job<'_>)> = vec![];
    for (key, job) in jobs {
        match store.get(key, &job.metrics) {
            Some(known) => {
                done.insert(key, known.clone());
            }
            None => open.push((job.subject.work(), key, job)),
        }
    }
    open.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    progress.begin("work", open.iter().map(|(work, ..)| work).sum());
    let results: Result<Vec<_>, RunError> = open
        .par_iter()
        // One at a time to each thread, or the longest would all go to the first.
        .with_max_len(1)
        .map(|&(work, key, job)| {
            let one = match job.subject {
                Subject::Scenario(scenario) => perform(host, job, scenario)?,
                Subject::Log(log) => study(job, log)?,
            };
            store.put(key, &one)?;
            progress.advance(work);
            Ok((key, one))
        })
        .collect();
    progress.finish();
    done.extend(results?);
    Ok(done)
}

fn study(job: &Job<'_>, log: &SyntheticLog) -> Result<Done, PaperError> {
    let wrong = |why: String| PaperError::new(&job.file, why);
    let analysis = log.study(job.seed).map_err(wrong)?;
    let value = |(key, metric): (&String, &&Metric)| {
        let mut measured =
            metric.of_log(&analysis).map_err(|why| wrong(format!("{}: {why}", metric.title)))?;
        measured.values.iter_mut().for_each(|value| *value = rounded(*value));
        Ok((key.clone(), Values::of(measured)))
    };
    Ok(Done { packet_hops: 0, metrics: job.metrics.iter().map(value).collect::<Result<_, PaperError>>()? })
}

fn perform(host: &dyn Host, job: &Job<'_>, scenario: &Scenario) -> Result<Done, PaperError> {
    let kinds: Vec<Kind> =
        job.metrics.values().map(|metric| metric.kind().expect("checked before")).collect();
    let wrong = |why: String| PaperError::new(&job.file, why);
    let refused = |refusal: Refusal| wrong(format!("{}: {}", refusal.key, refusal.why));
    let mut times = BTreeSet::new();
    let mut readings = LinkReadings::default();
    for (link, at) in job.metrics.values().filter_map(|metric| metric.readings(scenario)) {
        readings.links.insert(link.into());
        times.extend(at);
    }
    readings.times = times.into_iter().collect();
    let result = match kinds.iter().all(|kind| matches!(kind, Kind::Scenario)) {
        true => None,
        false => {
            let observe = Observe { grid: job.grid, links: readings.clone(), ..Observe::default() };
            Some(host.run(scenario, job.seed, &observe).map_err(refused)?.result)
        }
    };
    let hops = result.as_ref().map_or(0, |result| result.engine.packet_hops);
    let mut registers = Registers::new();
    for (metric, kind) in job.metrics.values().zip(&kinds) {
        if let (Kind::Registers, Some(name)) = (kind, &metric.flow)
            && !registers.contains_key(name)
        {
            let observe = Observe { flow: Some(FlowChoice::Named(name.clone())), ..Observe::default() };
            let run = host.run(scenario, job.seed, &observe).map_err(refused)?;
            registers.insert(name.clone(), run.flow.expect("a flow was asked for"));
        }
    }
    let ran = Ran { scenario, result: result.as_ref(), read_at: &readings.times, registers: &registers };
    let mut metrics = BTreeMap::new();
    for (key, metric) in &job.metrics {
        let mut measured = metric.measure(&ran).map_err(|why| wrong(format!("{}: {why}", metric.title)))?;
        measured.values.iter_mut().for_each(|value| *value = rounded(*value));
        metrics.insert(key.clone(), Values::of(measured));
    }
    Ok(Done { packet_hops: hops, metrics })
}

impl Planned<'_> {
    fn file(&self) -> String {
        format!("{}/experiments/{}.toml", self.paper.folder, self.name)
    }

    /// Names one run: by all that it depends on.
    fn run(&self, cell: &Cell, replication: u32) -> String {
        format!("{} {} {}", cell.hash, self.seed(cell, replication), self.grid.0)
    }

    fn seed(&self, cell: &Cell, replication: u32) -> u64 {
        self.seed.unwrap_or_else(|| cell.subject.seed()).wrapping_add(replication.into())
    }

    /// Whether all it measures is read from scenarios; their runs may be made for other experiments.
    fn runs_nothing(&self) -> bool {
        self.experiment.metrics.values().all(|metric| matches!(metric.kind(), Ok(Kind::Scenario)))
    }

    fn definition(&self) -> String {
        let count = format!("{} {}", self.experiment.replications, self.grid.0);
        let axes = dimensions(self.experiment);
        let axes = serde_json::to_string(&axes).expect("texts and numbers");
        let metrics = self.keys.iter().flat_map(|(name, key)| [*name, key.as_str()]);
        digest(self.cells.iter().map(|cell| cell.hash.as_str()).chain([count.as_str(), &axes]).chain(metrics))
    }

    fn collect(&self, done: &BTreeMap<&str, Done>) -> Result<Measured, PaperError> {
        let runs: Vec<Vec<&Done>> = self
            .cells
            .iter()
            .map(|cell| (0..self.replications).map(|r| &done[self.run(cell, r).as_str()]).collect())
            .collect();
        let mut metrics = BTreeMap::new();
        for (name, metric) in &self.experiment.metrics {
            let array = self.array(metric, &self.keys[name.as_str()], &runs);
            let array = array.map_err(|why| PaperError::new(self.file(), format!("metric {name}: {why}")))?;
            metrics.insert(name.clone(), array);
        }
        Ok(Measured {
            definition: self.definition(),
            replications: self.replications,
            packet_hops: if self.runs_nothing() {
                0
            } else {
                runs.iter().flatten().map(|one| one.packet_hops).sum()
            },
            metrics,
        })
    }

    /// All values of a metric, the metric's own axis last.
    fn array(&self, metric: &Metric, key: &str, runs: &[Vec<&Done>]) -> Result<Array, String> {
        let values = |one: &Done| one.metrics[key].values().collect::<Vec<_>>();
        let own = runs
            .iter()
            .flatten()
            .map(|one| one.metrics[key].axis())
            .max_by_key(|axis| axis.map_or(0, |(_, x)| x.len()));
        let mut axes = dimensions(self.experiment);
        // Replications of what is only read from the scenario are all the same.
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
        let mut all = vec![];
        for cell in runs {
            let samples: Vec<Vec<f64>> = cell.iter().take(samples).map(|one| values(one)).collect();
            for i in 0..length {
                // A run that ended before has nothing here.
                all.extend(samples.iter().map(|values| values.get(i).copied().unwrap_or(f64::NAN)));
            }
        }
        Ok(Array { axes, samples, values: all })
    }
}
