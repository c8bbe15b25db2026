//! Runs of the league: a dataset for each start on each scenario, made where parts are missing, then read.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use firstflight_document::Error;
use firstflight_hosts::host::{Host, Observe};
use firstflight_hosts::parallel::{try_map, with_threads};
use firstflight_hosts::progress::Progress;
use firstflight_sweep::{Dataset, Plan, version};

use crate::grid::grid;
use crate::library::{League, Scenario, Start};
use crate::outcome::{Outcome, outcome};
use crate::rows::Rows;
use crate::standing::{Results, standings};

/// A start on a scenario: its sweep, and its dataset.
struct Pair<'a> {
    start: (&'a str, &'a Start),
    scenario: (&'a str, &'a Scenario),
    plan: Plan,
    dataset: Dataset,
    open: Vec<u64>,
}

/// State of a league whose runs were asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// The results; `None` if the user ended the work before all datasets were there.
    pub results: Option<Results>,
    /// Parts that were there before.
    pub before: u64,
    /// Parts that were made now.
    pub made: u64,
    /// Files that were not used, and why.
    pub refused: Vec<String>,
}

/// Settings of a run of the league.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Folder of the datasets: `FOLDER/<scenario>/<start>`.
    pub folder: &'a Path,
    /// Whether samples and sizes are few.
    pub quick: bool,
    /// Most threads.
    pub threads: usize,
}

/// Runs what is missing of the league, and summarises it.
///
/// # Errors
/// If a start and a scenario make no valid sweep, or a dataset cannot be used or written. Finished parts stay.
pub fn run(
    league: &League,
    settings: &Settings<'_>,
    (host, observe): (&dyn Host, &Observe),
    progress: &dyn Progress,
) -> Result<Done, Error> {
    type Asked<'a> = (&'a str, &'a Scenario, &'a str, &'a Start);
    let all: Vec<Asked<'_>> = league
        .scenarios
        .iter()
        .flat_map(|(name, scenario)| {
            let runs = league.starts.iter().filter(|(_, start)| start.runs_on(name));
            runs.map(move |(start, it)| (name.as_str(), scenario, start.as_str(), it))
        })
        .collect();
    let hash = version(host, observe);
    let threads = settings.threads.max(1);
    with_threads(threads, || {
        // Every pair is checked before anything is written.
        let plans = try_map(&all, |(name, scenario, start_name, start)| {
            let plan = Plan::new(grid(league, (name, scenario), (start_name, start), settings.quick)?)?;
            plan.check(host, observe)?;
            Ok::<_, Error>(plan)
        })?;
        let mut opened = vec![];
        for (&(name, scenario, start_name, start), plan) in all.iter().zip(plans) {
            let dataset = Dataset::open(&settings.folder.join(name).join(start_name), &plan, &hash)?;
            let state = dataset.state(0..plan.parts())?;
            let (start, scenario) = ((start_name, start), (name, scenario));
            let pair = Pair { start, scenario, plan, dataset, open: state.open };
            opened.push((pair, state.finished, state.refused));
        }
        let before = opened.iter().map(|(_, finished, _)| finished).sum();
        let refused = opened.iter().flat_map(|(_, _, refused)| refused.clone()).collect();
        let pairs: Vec<Pair<'_>> = opened.into_iter().map(|(pair, ..)| pair).collect();
        let steps = |pair: &Pair<'_>| pair.open.iter().map(|&part| pair.plan.steps(part)).sum::<u64>();
        progress.begin("league", pairs.iter().map(steps).sum());
        let quiet = Whole(progress);
        let made = make_all(&pairs, threads, (host, observe), &quiet);
        progress.finish();
        let (made, stopped) = made?;
        let results = (!stopped).then(|| results(league, settings.quick, &hash, &pairs)).transpose()?;
        Ok(Done { results, before, made, refused })
    })
}

/// Makes the open parts of all pairs, each pair by one of the threads; the number of parts, and whether the user ended the work.
///
/// Threads of their own, because a thread of the pool that waits for the runs of one dataset would begin the next one on its stack.
fn make_all(
    pairs: &[Pair<'_>],
    threads: usize,
    (host, observe): (&dyn Host, &Observe),
    progress: &dyn Progress,
) -> Result<(u64, bool), Error> {
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut parts, mut stopped) = (0, false);
        while let Some(pair) = pairs.get(next.fetch_add(1, Ordering::Relaxed)) {
            if stopped || pair.open.is_empty() {
                continue;
            }
            let _alone = pair.dataset.alone()?;
            let made = pair.dataset.make(&pair.plan, &pair.open, (host, observe, 1), progress)?;
            (parts, stopped) = (parts + made.parts, made.stopped);
        }
        Ok::<_, Error>((parts, stopped))
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let (mut parts, mut stopped) = (0, false);
        for worker in workers {
            let (made, ended) = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            (parts, stopped) = (parts + made, stopped || ended);
        }
        Ok((parts, stopped))
    })
}

fn results(league: &League, quick: bool, version: &str, pairs: &[Pair<'_>]) -> Result<Results, Error> {
    let of_reference: Vec<&Pair<'_>> = pairs.iter().filter(|pair| pair.start.0 == league.reference).collect();
    let references =
        try_map(&of_reference, |pair| Ok::<_, Error>((pair.scenario.0, Rows::read(&pair.dataset)?)))?;
    let references: BTreeMap<&str, Rows> = references.into_iter().collect();
    let outcomes: Vec<Outcome> = try_map(pairs, |pair| {
        let (name, scenario) = pair.scenario;
        let rows = Rows::read(&pair.dataset)?;
        let value = |cell: u64| pair.plan.combination(cell / pair.plan.points());
        Ok::<_, Error>(outcome((pair.start.0, name), scenario, &rows, &references[name], &value))
    })?;
    Ok(Results {
        league: league.version.clone(),
        version: version.into(),
        quick,
        reference: league.reference.clone(),
        standings: standings(league, &outcomes),
        outcomes,
    })
}

/// The progress of one dataset as a part of the whole.
struct Whole<'a>(&'a dyn Progress);

impl Progress for Whole<'_> {
    fn begin(&self, _: &str, _: u64) {}

    fn advance(&self, by: u64) {
        self.0.advance(by);
    }

    fn finish(&self) {}

    fn stopped(&self) -> bool {
        self.0.stopped()
    }
}
