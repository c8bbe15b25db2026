//! The jobs of a sweep, and their execution.

use std::collections::BTreeMap;

use firstflight_document::seconds::Seconds;
use firstflight_scenario::{Network, Scenario, parse};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Error, Store, within};
use firstflight_hosts::host::{Host, Observe, Refusal, Run};
use firstflight_hosts::parallel::try_map;
use firstflight_hosts::progress::Progress;

/// One run of a sweep: all that another process or machine needs to make it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Identity of the run.
    pub key: Key,
    /// The scenario as a file that leaves nothing to a default.
    pub scenario: String,
    /// Index of the cell, the last axis fastest.
    pub cell: usize,
    /// Index of the replication.
    pub replication: u32,
}

/// Identity of a run: equal keys are equal runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// Hash of the scenario without its title.
    pub scenario: String,
    /// Seed of the run.
    pub seed: u64,
    /// Version of the results: see [`version`](super::version).
    pub version: String,
}

impl Key {
    /// Name of the run in a [`Store`] of this version.
    pub fn run(&self) -> String {
        format!("{} {}", self.scenario, self.seed)
    }
}

impl Job {
    /// The scenario, read.
    ///
    /// # Errors
    /// If the text is not a scenario.
    pub fn scenario(&self) -> Result<Scenario, Error> {
        let loaded = parse(&self.scenario, "").map_err(|error| self.named(error.in_file("", None)))?;
        Ok(loaded.scenario)
    }

    /// Runs the job on a host.
    ///
    /// # Errors
    /// If the text is not a scenario, or the host cannot run the scenario.
    pub fn run(&self, host: &dyn Host, observe: &Observe) -> Result<Run, Error> {
        let run = host.run(&self.scenario()?, self.key.seed, observe);
        let refused = |refusal: Refusal| Error::invalid(refusal.why).at_key(refusal.key);
        run.map_err(|halt| self.named(halt.map(refused).into()))
    }

    fn named(&self, error: Error) -> Error {
        within(&format!("job of cell {}, replication {}", self.cell, self.replication), error)
    }
}

/// Work that a [`Store`] may already know.
#[derive(Clone, Debug)]
pub struct Task<J> {
    /// Name of the run: tasks of the same name are the same run.
    pub run: String,
    /// Estimated work, in any unit.
    pub work: u64,
    /// Description of the run.
    pub job: J,
}

/// Results of all tasks, in the order of the tasks, whatever the number of threads. `measure` makes those runs that the
/// store lacks, or knows without being `complete`; each run once, the longest first. Every result is stored as it comes.
///
/// # Errors
/// An error of `measure`, or an [`Error`] of the store. Results that came before are stored.
pub fn execute<J, T, E>(
    tasks: &[Task<J>],
    store: &Store<T>,
    complete: impl Fn(&J, &T) -> bool,
    measure: impl Fn(&Task<J>) -> Result<T, E> + Sync,
    progress: &dyn Progress,
) -> Result<Vec<T>, E>
where
    J: Sync,
    T: Clone + Send + Serialize + DeserializeOwned,
    E: From<Error> + Send,
{
    let mut done: BTreeMap<&str, Option<T>> = BTreeMap::new();
    let mut open: Vec<&Task<J>> = vec![];
    for task in tasks {
        done.entry(&task.run).or_insert_with(|| {
            let known = store.get(&task.run).filter(|known| complete(&task.job, known));
            if known.is_none() {
                open.push(task);
            }
            known
        });
    }
    open.sort_by(|a, b| b.work.cmp(&a.work).then_with(|| a.run.cmp(&b.run)));
    progress.begin("work", open.iter().map(|task| task.work).sum());
    let results = try_map(&open, |task| {
        let result = measure(task)?;
        store.put(&task.run, result.clone())?;
        progress.advance(task.work);
        Ok::<_, E>(result)
    });
    progress.finish();
    for (task, result) in open.iter().zip(results?) {
        done.insert(&task.run, Some(result));
    }
    Ok(tasks.iter().map(|task| done[task.run.as_str()].clone().expect("known or made")).collect())
}

/// Estimated work of a run, in no unit: the packets that the links can carry in its duration.
pub fn work(scenario: &Scenario) -> u64 {
    let seconds = scenario.duration.map_or(10.0, Seconds::as_secs_f64);
    let rate = match &scenario.network {
        Network::Dumbbell(path) => 2.0 * path.rate.0 as f64,
        // The links of a large graph are not all busy at once.
        Network::Graph(graph) => {
            let sum: f64 = graph.links.iter().map(|link| link.rate.0 as f64).sum();
            sum / (graph.links.len() as f64 / 8.0).max(1.0).sqrt()
        }
    };
    ((rate * seconds / f64::from(scenario.packet.size) / 8.0) as u64).max(1)
}
