//! Sweeps in memory.

use firstflight::sweep::{Axis, FactorColumn, Point, Sweep, assign, leading_number};
use firstflight::{Candidate, Error, Loaded, Profile, Progress, Run};
use firstflight_results::SweepRow;
use firstflight_scenario::{Network, Source};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::error::raised;
use crate::job::Job;
use crate::outcome::{Kind, Outcome};
use crate::quantity::completed;
use crate::rows::places;
use crate::scenario::{Scenario, value_of};
use crate::scheme::Chosen;
use crate::study::{bytes, count, profile_of, size};

/// Runs a scenario at every combination of the values of keys. firstflight.sweep is the function for users.
#[pyfunction]
#[pyo3(signature = (factors: "list[tuple[list[str], list[list[object]]]]", *, base, schemes: "collections.abc.Sequence[object] | None" = None, avoidance = "cubic", sizes = None, profile = "linux", replications = 1, seed = None, memory = None, progress: "collections.abc.Callable[[str, int, int], object] | None" = None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn sweep(
    py: Python<'_>,
    factors: Vec<Factor<'_>>,
    base: PyRef<'_, Scenario>,
    schemes: Option<Vec<Bound<'_, PyAny>>>,
    avoidance: &str,
    sizes: Option<Vec<String>>,
    profile: &str,
    replications: u32,
    seed: Option<u64>,
    memory: Option<&str>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Outcome> {
    let job = Job::default();
    let axes = axes(&factors)?;
    let chosen = schemes.map(|schemes| Chosen::read(&schemes, avoidance, &job)).transpose()?;
    let base: &Scenario = &base;
    let host = job.host();
    let rows = job.wait(py, progress, || {
        let limit = bytes(memory)?;
        let mut sweep = base.sweep()?.memory(limit);
        for axis in &axes {
            sweep = sweep.crossed(axis.clone());
        }
        // Two keys of one column are refused before the first run.
        FactorColumn::of_axes(&axes).map_err(|error| sweep.at(&[], error))?;
        let profile = profile_of(profile)?;
        let stack = base.loaded().scenario.flows.first().map_or(profile, |flow| flow.profile);
        let plan = Plan {
            schemes: match &chosen {
                Some(chosen) => chosen.candidates(stack)?.into_iter().map(Some).collect(),
                None => vec![None],
            },
            sizes: match sizes {
                Some(sizes) => sizes.iter().map(|text| size(text).map(Some)).collect::<Result<_, _>>()?,
                None => vec![None],
            },
            profile,
            sweep,
            axes: &axes,
        };
        let replications = count(replications)?;
        let tasks = plan.tasks(base)?;
        let run = |task: &Task| {
            let mut run = Run::of(task.loaded.clone()).replications(replications).memory(limit).host(&host);
            if let Some(seed) = seed {
                run = run.seed(seed);
            }
            let result = run.execute().map_err(|error| plan.sweep.at(&plan.point(task.cell), error))?;
            job.advance(1);
            Ok::<_, Error>(task.rows(&result))
        };
        // All checks come before the first run.
        for task in &tasks {
            let run = Run::of(task.loaded.clone()).replications(replications).memory(limit).host(&host);
            run.check(false, false).map_err(|error| plan.sweep.at(&plan.point(task.cell), error))?;
        }
        job.begin("runs", tasks.len() as u64);
        let rows = tasks.par_iter().with_max_len(1).map(run);
        Ok(rows.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    })?;
    Ok(Outcome(Kind::Sweep { axes, rows }))
}

/// Keys that vary together, and the values of all of them at each point.
type Factor<'py> = (Vec<String>, Vec<Vec<Bound<'py, PyAny>>>);

/// The axes of factors.
fn axes(factors: &[Factor<'_>]) -> PyResult<Vec<Axis>> {
    let axis = |(keys, points): &Factor<'_>| {
        let name = keys.join(", ");
        let point = |values: &Vec<Bound<'_, PyAny>>| {
            let value = |(key, value): (&String, &Bound<'_, PyAny>)| {
                completed(key, value_of(value, key)?).map_err(raised)
            };
            let values = keys.iter().zip(values).map(value).collect::<PyResult<Vec<_>>>()?;
            let shown = |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), Into::into);
            let name = values.iter().map(shown).collect::<Vec<String>>().join(", ");
            let set = keys.iter().cloned().zip(values).collect();
            Ok(Point { x: leading_number(&name), name, set, remove: vec![] })
        };
        let points = points.iter().map(point).collect::<PyResult<Vec<_>>>()?;
        if points.is_empty() {
            return Err(raised(Error::invalid("no value").at_key(name).expecting("at least one")));
        }
        Ok(Axis { name: name.clone(), title: name, points })
    };
    factors.iter().map(axis).collect()
}

/// A sweep with everything that it varies.
struct Plan<'a> {
    sweep: Sweep,
    axes: &'a [Axis],
    schemes: Vec<Option<Candidate>>,
    sizes: Vec<Option<u64>>,
    profile: Profile,
}

/// The replications of one scheme at one size in one cell.
struct Task {
    cell: usize,
    scheme: String,
    hash: String,
    loaded: Loaded,
    /// Name of the measured flow.
    flow: String,
}

impl Plan<'_> {
    /// All tasks, the last axis the fastest, then the schemes, then the sizes.
    fn tasks(&self, base: &Scenario) -> Result<Vec<Task>, Error> {
        let mut tasks = vec![];
        for (cell, document) in self.sweep.documents()?.iter().enumerate() {
            let mut loaded = base.at(&self.sweep, document)?;
            let hash = loaded.scenario.hash()[..32].to_owned();
            if loaded.scenario.flows.is_empty() && loaded.scenario.udp.is_empty() {
                loaded.scenario.flows = self.transfer(&loaded.scenario)?.flows;
            }
            for scheme in &self.schemes {
                for size in &self.sizes {
                    let task = Task::of(cell, &hash, &loaded, scheme.as_ref(), *size);
                    tasks.push(task.map_err(|error| self.sweep.at(&document.point, error))?);
                }
            }
        }
        Ok(tasks)
    }

    /// A scenario with one transfer, for a path without traffic.
    fn transfer(&self, on: &firstflight::Scenario) -> Result<firstflight::Scenario, Error> {
        let Network::Dumbbell(_) = &on.network else {
            return Err(Error::invalid("the scenario has no traffic").expecting("a [[flow]] with its ends"));
        };
        let flow = firstflight::build::Flow::new().name("transfer").profile(self.profile).size("300 KB");
        let path = firstflight::build::Path::new("1 Gbit/s", "1 ms", "1 BDP");
        firstflight::Scenario::builder().path(path).flow(flow).build()
    }

    /// Name of the point of a cell on each axis.
    fn point(&self, cell: usize) -> Vec<String> {
        places(self.axes, cell)
            .iter()
            .zip(self.axes)
            .map(|(&at, axis)| axis.points[at].name.clone())
            .collect()
    }
}

impl Task {
    fn of(
        cell: usize,
        hash: &str,
        loaded: &Loaded,
        scheme: Option<&Candidate>,
        size: Option<u64>,
    ) -> Result<Self, Error> {
        // The values of the keys are no longer those of the file.
        let mut loaded = Loaded::from(&loaded.scenario);
        let scenario = &mut loaded.scenario;
        let Some(at) = scenario.flows.iter().position(|flow| flow.source == Source::Flow) else {
            return Err(Error::invalid("the scenario has no [[flow]] to measure").expecting("at least one"));
        };
        assign(scenario, at, scheme, size)?;
        let group = &scenario.flows[at];
        let label = scheme.map_or_else(|| group.scheme.label(), Candidate::label);
        let flow = format!("{}.0", group.name);
        Ok(Self { cell, scheme: label, hash: hash.into(), loaded, flow })
    }

    /// A row for each run.
    fn rows(&self, result: &firstflight_results::RunResult) -> Vec<SweepRow> {
        let runs = (0..).zip(result.every_run());
        let row = |(replication, run): (u64, &firstflight_results::RunResult)| {
            let flow = run.flows.iter().find(|flow| flow.name == self.flow)?;
            let scheme = self.scheme.clone();
            Some(SweepRow::new((self.cell as u64, replication), scheme, &self.hash, run, flow))
        };
        runs.filter_map(row).collect()
    }
}
