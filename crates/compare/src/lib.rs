//! Comparison of schemes: completion times of transfers on a path, and the losses that they cause.
//!
//! Every scheme runs the same replications, with the same draws of everything random or unknown about the
//! path. Differences between schemes are thus caused by the schemes, and are reported pair by pair.

pub mod advice;
mod bench;
mod captured;
mod defaults;
#[cfg(feature = "gateway")]
pub mod gateway;
#[cfg(test)]
mod harm_on_paths;
mod inferred;
mod input;
mod mix;
mod networks;
mod paired;
mod path;
mod recommended;
mod recording;
mod replication;
mod resemblance;
mod risks;
mod summary;

use firstflight_document::{Error, Places, Problem};
use firstflight_scenario::{Candidate, Profile, Settings};
use firstflight_schemes::catalogue::Schemes;

use std::collections::{BTreeMap, BTreeSet};

use crate::advice::harm::{Bystanders, Contender, Contest, HarmBySize, Part, settle};
use crate::advice::how::{self, Route};
use captured::Captured;
use firstflight_hosts::host::{FlowChoice, Host, Observe, Refusal, Run};
use firstflight_hosts::memory::{self, Estimate};
use firstflight_hosts::parallel::{try_map, with_threads};
use firstflight_hosts::progress::{self, Progress, go_on};
use firstflight_results::{
    CompareReport, Comparison, Copies, Harm, Provenance, Risk, Sample, SampleSet, SchemeResult, Trace,
};
use networks::Networks;
use path::Subject;
use recommended::{Entry, Facts, Origin, Question, Weights};
use replication::Replication;
use summary::{Cell, References, Replications};

pub(crate) use bench::Bench;
pub use defaults::{
    DEFAULT_AVOIDANCE, DEFAULT_CANDIDATES, DEFAULT_REPLICATIONS, DEFAULT_SIZES, DEFAULT_STARTUPS,
    DEFAULT_WINDOWS, default_candidates, default_startups, present,
};
pub use firstflight_explain::Breadth;
pub use inferred::inferred_path;
pub use input::{Input, Known, is_capture};
pub use recommended::Limits;
pub use recording::{admit_recordings, recordings, shown_run};

/// End of work without its answer.
pub(crate) type Halt = progress::Halt<Error>;

/// A comparison to run.
#[derive(Clone, Debug)]
pub struct Request {
    /// Path, or its source.
    pub input: Input,
    /// Schemes with their settings, in the order of the request.
    pub schemes: Vec<Candidate>,
    /// Transfer sizes, bytes.
    pub sizes: Vec<u64>,
    /// Stack that runs the schemes.
    pub profile: Profile,
    /// Replications per scheme and size if anything is random or unknown; at least one.
    pub runs: u32,
    /// Seed of all random streams.
    pub seed: u64,
    /// Candidate paths of each kind with which the search for the paths that explain a capture begins; at least one.
    pub candidates: u32,
    /// Paths from which forecasts are drawn: all that explain the capture, except in experiments.
    pub breadth: Breadth,
    /// Seed of the search for the paths that explain a capture. `None` is `seed`, except in experiments.
    pub search_seed: Option<u64>,
    /// Whether a candidate that no deployed stack has is refused.
    pub deployable: bool,
    /// Whether the harm to bystanders is measured. Without it no limit of harm holds.
    pub harm: bool,
    /// Limits of what a recommended candidate may cost.
    pub limits: Limits,
    /// Whether the answer weighs the sizes by the transfers of a capture. Otherwise all count alike.
    pub weighs_by_capture: bool,
    /// Limit of the memory of all runs and their results, bytes. It changes no result.
    pub memory: u64,
    /// Command line, for provenance.
    pub command: String,
    /// Source revision of the program, for provenance.
    pub revision: String,
}

impl Request {
    /// The usual sizes, replications and limits on this input, without a scheme.
    pub fn of(input: impl Into<Input>) -> Self {
        Self {
            input: input.into(),
            schemes: vec![],
            sizes: DEFAULT_SIZES.to_vec(),
            profile: Profile::Linux,
            runs: DEFAULT_REPLICATIONS,
            seed: 1,
            candidates: DEFAULT_CANDIDATES,
            breadth: Breadth::All,
            search_seed: None,
            deployable: false,
            harm: true,
            limits: Limits::default(),
            weighs_by_capture: true,
            memory: memory::DEFAULT,
            command: String::new(),
            revision: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// The schemes with their settings, as labels of built-in schemes.
    ///
    /// # Errors
    /// If a label is no scheme, or there is no such setting.
    pub fn schemes(mut self, chains: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, Error> {
        let (known, profile) = (Schemes::built_in(), self.input.profile(self.profile));
        let parse = |chain: &str| Candidate::parse_on(chain, &known, profile);
        self.schemes = chains.into_iter().map(|chain| parse(chain.as_ref())).collect::<Result<_, _>>()?;
        Ok(self)
    }
}

impl Request {
    /// Weights of the sizes in the answer.
    fn weights(&self) -> Weights {
        match &self.input {
            Input::Capture { capture, .. } if self.weighs_by_capture => {
                Weights::of_capture(capture, &ascending(&self.sizes))
            }
            _ => Weights::default(),
        }
    }

    fn origin(&self) -> Origin {
        if matches!(self.input, Input::Capture { .. }) { Origin::Captured } else { Origin::Given }
    }
}

/// Compares the schemes.
///
/// # Errors
/// [`Error`] if a value of the path is missing, there is no scheme or size, a scheme cannot run on the path, or the
/// comparison takes more memory than the limit.
pub fn compare(host: &dyn Host, request: &Request, progress: &dyn Progress) -> Result<CompareReport, Error> {
    let at_least_one = |key: &str| Error::new(Problem::Missing).at_key(key).expecting("at least one");
    if request.schemes.is_empty() {
        return Err(at_least_one("schemes"));
    }
    if request.sizes.is_empty() {
        return Err(at_least_one("sizes"));
    }
    if let Some(networks) = Networks::of(request) {
        return mix::compare(host, request, &networks, progress);
    }
    let subject = Subject::of(host, request)?;
    Ok(Answer::of(request, subject, Extent::WHOLE, progress)?.report)
}

/// Number of networks of clients that a comparison of `request` answers one after another; 0 if it is of a single path.
pub fn networks(request: &Request) -> usize {
    Networks::of(request).map_or(0, |networks| networks.answered.len())
}

/// Work for one path.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// Whether there are more replications with bystanders where the harm is near the limit.
    settle: bool,
    /// Whether there are time series of the replications nearest the medians.
    traces: bool,
}

impl Extent {
    const WHOLE: Self = Self { settle: true, traces: true };
}

/// The answer for one path.
struct Answer<'a> {
    subject: Subject<'a>,
    report: CompareReport,
    /// Replications, by size, by scheme in the order of the request, and by number; none if the path is unknown.
    runs: Vec<TransferRun>,
    /// The bystanders; `None` if harm cannot be measured.
    bystanders: Option<Bystanders>,
}

impl<'a> Answer<'a> {
    /// # Errors
    /// As [`compare`], and if the progress is stopped.
    fn of(
        request: &Request,
        subject: Subject<'a>,
        extent: Extent,
        progress: &dyn Progress,
    ) -> Result<Self, Halt> {
        subject.can(request)?;
        let subject = subject.with_explanation(request, progress);
        let tasks = tasks(request, &subject);
        let reruns = captured::reruns(&subject);
        let threads = subject.admit(&estimate(request, &subject, tasks.len())?)?;
        let present = Candidate::from(present(subject.profile()));
        let measured = harm_sizes(request, &subject);
        let bench = Bench::new(&subject, request.seed);
        let mut bystanders =
            failed(Bystanders::new(&bench, present, &request.schemes, &measured, !extent.settle))?;
        let first = bystanders.as_ref().map_or(0, Bystanders::first_steps);
        progress.begin("simulations", (tasks.len() + reruns.len()) as u64 + first);
        let answer = with_threads(threads, || {
            let runs = try_map(&tasks, |task| {
                go_on(progress)?;
                let run = TransferRun::of(task, &subject);
                progress.advance(1);
                run
            })?;
            let captured = Captured::of(&subject, &reruns, progress)?;
            let cells: Vec<&Task<'_>> =
                tasks.chunks(subject.replications(request).len()).map(|cell| &cell[0]).collect();
            let risks = try_map(&cells, |cell| risks::random_loss(&subject, cell.scheme, cell.size))?;
            let mut report = report(request, &subject, &tasks, &runs, &risks, captured, extent)?;
            let harm =
                bystanders.as_mut().map_err(|error| Halt::Failed(error.clone())).and_then(|bystanders| {
                    // Nothing is recommended without an answer.
                    if report.comparison.no_answer.is_some() {
                        return Ok(vec![]);
                    }
                    bystanders.first(&bench, &request.schemes, progress)?;
                    if let Some(limit) = request.limits.most_harm().filter(|_| extent.settle) {
                        let question = question(&report.comparison, &report.samples, request, &subject);
                        let contests = contests(&report.comparison.results, &measured, &question);
                        let shares = vec![1.0; measured.len()];
                        let part = Part { shares, bench: Bench::new(&subject, request.seed), bystanders };
                        settle(&mut [part], &request.schemes, limit, &contests, progress)?;
                    }
                    Ok(bystanders.harm())
                });
            go_on(progress)?;
            advise(&mut report, request, &subject, &measured, failed(harm)?);
            Ok::<_, Halt>((report, runs))
        });
        progress.finish();
        let (report, runs) = answer?;
        Ok(Self { bystanders: bystanders.ok(), subject, report, runs })
    }
}

/// The result of work that may fail without an end of the whole.
///
/// # Errors
/// If the work was stopped.
fn failed<T>(result: Result<T, Halt>) -> Result<Result<T, Error>, Halt> {
    match result {
        Ok(done) => Ok(Ok(done)),
        Err(Halt::Failed(error)) => Ok(Err(error)),
        Err(Halt::Stopped) => Err(Halt::Stopped),
    }
}

/// Result of one replication, with its rows in the page and the table, bytes.
const REPLICATION: u64 = 400;
/// Time series of one scheme at one size, with its plot, bytes.
const SERIES: u64 = 2_000_000;

/// Estimated memory of all `tasks`.
fn estimate(request: &Request, subject: &Subject<'_>, tasks: usize) -> Result<Estimate, Error> {
    let largest = *request.sizes.iter().max().expect("at least one size");
    let mut estimate = subject.estimate(&request.schemes[0], largest, &subject.observe())?;
    estimate.add("runs", 0.0, (tasks as u64 * REPLICATION) as f64);
    let cells = tasks as u64 / subject.replications(request).len() as u64;
    estimate.add("sizes", 0.0, (cells * SERIES) as f64);
    Ok(estimate)
}

/// The sizes in ascending order, each once.
fn ascending(sizes: &[u64]) -> Vec<u64> {
    let sizes: BTreeSet<u64> = sizes.iter().copied().collect();
    sizes.into_iter().collect()
}

/// One replication of one scheme at one size.
struct Task<'a> {
    scheme: &'a Candidate,
    size: u64,
    replication: Replication,
}

fn tasks<'a>(request: &'a Request, subject: &Subject<'_>) -> Vec<Task<'a>> {
    if subject.path_unknown() {
        return vec![];
    }
    let replications = subject.replications(request);
    let mut tasks = vec![];
    for size in ascending(&request.sizes) {
        for scheme in &request.schemes {
            tasks.extend(replications.iter().map(|&replication| Task { scheme, size, replication }));
        }
    }
    tasks
}

/// Result of a task.
#[derive(Clone, Copy)]
struct TransferRun {
    sample: Sample,
    others_drops: u64,
}

impl TransferRun {
    fn of(task: &Task<'_>, subject: &Subject<'_>) -> Result<Self, Halt> {
        let run = subject.run(task.scheme, task.size, task.replication, &subject.observe())?;
        let flow = &run.result.flows[0];
        let drops = run.result.flows.iter().map(|flow| flow.lost_packets).sum();
        Ok(Self {
            sample: Sample {
                seed: task.replication.own_seed(),
                completion_s: flow.completion_s,
                retransmits: flow.retransmits,
                timeouts: flow.timeouts,
                drops,
                startup_exit: flow.startup_exit,
            },
            others_drops: drops - flow.lost_packets,
        })
    }
}

fn report(
    request: &Request,
    subject: &Subject<'_>,
    tasks: &[Task<'_>],
    runs: &[TransferRun],
    risks: &[Option<Risk>],
    captured: Captured,
    extent: Extent,
) -> Result<CompareReport, Halt> {
    let replications = subject.replications(request);
    let cells = tasks.chunks(replications.len()).zip(runs.chunks(replications.len()));
    let cells: Vec<Cell<'_>> =
        cells.map(|(tasks, runs)| Cell { scheme: tasks[0].scheme, size: tasks[0].size, runs }).collect();
    let baseline = baseline(request);
    let departure = matches!(request.input, Input::Capture { .. }).then_some(captured.departure);
    let present = present_label(request, subject.profile());
    let references = References { baseline: baseline.as_deref(), present: present.as_deref() };
    let widened_by = subject.uncertain_fields();
    let (mut results, order) =
        summary::results(&cells, references, &widened_by, &|_| departure, request.seed);
    for (row, &cell) in results.iter_mut().zip(&order) {
        row.risks = risks[cell].iter().cloned().collect();
    }
    let samples = summary::samples(&cells, &order);
    let traced = if extent.traces { &order[..] } else { &[] };
    let traces: Vec<Trace> = try_map(traced, |&cell| {
        let Cell { scheme, size, runs } = cells[cell];
        let nearest = summary::nearest_to_median(runs);
        trace(scheme, size, replications[nearest], subject)
    })?;
    let mut warnings = subject.warnings(replications.len());
    warnings.extend(captured.warnings);
    let no_answer =
        recommended::no_answer(subject.path_unknown(), subject.unlike(), captured.measured_departure);
    let schemes: Vec<String> = request.schemes.iter().map(Candidate::label).collect();
    let comparison = Comparison {
        title: subject.title(),
        path: subject.path_result(),
        connections: captured.connections,
        copies: copies(&request.input),
        results,
        answer: None,
        recommended: vec![],
        for_all_sizes: None,
        groups: vec![],
        no_answer,
        departure: captured.measured_departure,
        same: summary::same(&schemes, &samples),
        schemes,
        baseline,
        present,
        provenance: provenance(request, subject, replications.len()),
        warnings,
        passed_over: request.input.passed_over(),
    };
    Ok(CompareReport { comparison, samples, traces, captured: captured.traces })
}

/// Packets that are left out of a capture because it contains them another time.
fn copies(input: &Input) -> Option<Copies> {
    let Input::Capture { capture, .. } = input else { return None };
    let seen = capture.counts.copies;
    (seen.all() > 0).then_some(Copies {
        same_interface: seen.same_interface,
        other_interface: seen.other_interface,
        other_side_of_router: seen.other_side_of_router,
        other_file: seen.other_file,
        other_end: seen.other_end,
    })
}

/// Label of the baseline, if it is compared.
fn baseline(request: &Request) -> Option<String> {
    request.schemes.iter().find(|it| is_baseline(it)).map(Candidate::label)
}

/// Label of the scheme that the stack has now, if it is compared.
fn present_label(request: &Request, profile: Profile) -> Option<String> {
    let present = present(profile).label();
    request.schemes.iter().any(|it| it.label() == present).then_some(present)
}

/// The sizes at which harm is measured, ascending.
fn harm_sizes(request: &Request, subject: &Subject<'_>) -> Vec<u64> {
    if request.harm && !subject.path_unknown() { ascending(&request.sizes) } else { vec![] }
}

/// Adds to every result the harm that its candidate does and how it is had, and makes the recommendations.
fn advise(
    report: &mut CompareReport,
    request: &Request,
    subject: &Subject<'_>,
    sizes: &[u64],
    harm: Result<HarmBySize, Error>,
) {
    let CompareReport { comparison, samples, .. } = report;
    let harm = harm.unwrap_or_else(|error| {
        comparison.warnings.push(format!("the harm to other connections is not measured: {error}"));
        vec![]
    });
    let bdp = subject.bdp_packets().unwrap_or(1);
    for result in &mut comparison.results {
        let Some(place) = request.schemes.iter().position(|it| it.label() == result.scheme) else { continue };
        result.how = how::how(&request.schemes[place], bdp, subject.profile());
        let at = sizes.iter().position(|&size| size == result.size_bytes);
        result.harm = at.and_then(|at| harm.get(at)?.get(place).copied().flatten());
    }
    share_harm(&mut comparison.results);
    let (results, sizes) = (&comparison.results, &request.sizes);
    let question = question(comparison, samples, request, subject);
    let for_all_sizes = recommended::for_all_sizes(results, sizes, &question);
    let recommended = recommended::recommended(results, sizes, &question, for_all_sizes.as_ref());
    let weights = request.weights();
    let facts = Facts {
        weights: &weights,
        commands: &|candidate| how::change(candidate, &[Route { to: None, bdp }], subject.profile()),
        profile: subject.profile(),
        origin: request.origin(),
        departure: comparison.departure,
        unknown: &comparison.path.cannot_tell,
        groups: &[],
    };
    let answer = Some(recommended::answer(results, sizes, &question.weighed(&weights), &facts));
    (comparison.recommended, comparison.for_all_sizes, comparison.answer) =
        (recommended, for_all_sizes, answer);
}

/// Gives equal candidates the harm of the one that stands for them, if that has more replications.
fn share_harm(results: &mut [SchemeResult]) {
    let of = |it: &SchemeResult| ((it.size_bytes, it.scheme.clone()), it.harm);
    let known: BTreeMap<(u64, String), Option<Harm>> = results.iter().map(of).collect();
    for row in results {
        let Some(other) = row.same_as.clone() else { continue };
        let shared = known.get(&(row.size_bytes, other)).copied().flatten();
        let more = |harm: &Harm| row.harm.is_some_and(|own| own.replications < harm.replications);
        row.harm = shared.filter(more).or(row.harm);
    }
}

fn question<'a>(
    comparison: &'a Comparison,
    samples: &'a [SampleSet],
    request: &'a Request,
    subject: &Subject<'_>,
) -> Question<'a> {
    let departure = captured::widening(comparison.departure);
    let captured = matches!(request.input, Input::Capture { .. });
    let departures = request.sizes.iter().filter(|_| captured).map(|&size| (size, departure)).collect();
    Question {
        candidates: &request.schemes,
        present: comparison.present.as_deref(),
        baseline: comparison.baseline.as_deref(),
        limits: request.limits,
        payload: subject.payload().into(),
        no_answer: comparison.no_answer.as_deref(),
        replications: Replications { samples, departures, weights: BTreeMap::new() },
    }
}

/// The candidates that could be recommended at each of `sizes`, ascending, and for all of them together if there are several.
fn contests(results: &[SchemeResult], sizes: &[u64], question: &Question<'_>) -> Vec<Contest> {
    let place = |label: &str| question.candidates.iter().position(|scheme| scheme.label() == label);
    let contest = |at: Vec<usize>| {
        let of_contest: Vec<u64> = at.iter().map(|&at| sizes[at]).collect();
        let all = recommended::contenders(results, &of_contest, question);
        let contender = |it: &Entry<'_>| {
            let faster = all.iter().enumerate().filter(|(_, other)| question.later(it, other));
            let later_than = faster.map(|(number, _)| number).collect();
            let stands_in = |row: &&SchemeResult| place(row.same_as.as_ref().unwrap_or(&row.scheme));
            let places: Option<Vec<usize>> = it.rows.iter().map(stands_in).collect();
            Contender { places: places.expect("results are of candidates"), later_than }
        };
        Contest { contenders: all.iter().map(contender).collect(), sizes: at }
    };
    let together = (sizes.len() > 1).then(|| (0..sizes.len()).collect());
    (0..sizes.len()).map(|at| vec![at]).chain(together).map(contest).collect()
}

/// Whether a candidate may be the baseline: slow start with the settings of its stack.
fn is_baseline(candidate: &Candidate) -> bool {
    candidate.scheme.startup() == "slow-start" && candidate.settings == Settings::default()
}

/// Time series of a replication.
fn trace(
    scheme: &Candidate,
    size: u64,
    replication: Replication,
    subject: &Subject<'_>,
) -> Result<Trace, Halt> {
    let observe = Observe { flow: Some(FlowChoice::First), ..subject.observe() };
    let Run { result, flow, .. } = subject.run(scheme, size, replication, &observe)?;
    let flow = flow.expect("the run observes a flow");
    Ok(Trace {
        scheme: scheme.label(),
        size_bytes: size,
        replication: replication.index,
        completion_s: result.flows[0].completion_s,
        startup_exit: flow.startup_exit,
        losses_s: flow.losses_s,
        series: flow.series,
    })
}

fn provenance(request: &Request, subject: &Subject<'_>, replications: usize) -> Provenance {
    let scenario = subject.scenario_text();
    let inputs = match &request.input {
        Input::Capture { file, .. } => vec![file.clone()],
        _ => vec![],
    };
    Provenance {
        version: env!("CARGO_PKG_VERSION").into(),
        revision: request.revision.clone(),
        seed: request.seed,
        replications: replications as u32,
        scenario_sha256: subject.scenario_hash(),
        scenario,
        command: request.command.clone(),
        host: subject.host().name().into(),
        // The browser has no system.
        machine: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH).trim().into(),
        interval_method: summary::INTERVAL_METHOD.into(),
        inputs,
    }
}

/// Converts a refusal of the host to an error, at its place in the file or at the scheme's label.
fn refused(refusal: Refusal, places: Option<&Places>, scheme: &Candidate) -> Error {
    match places {
        Some(places)
            if ![".startup", ".paced", ".initial_pace", ".idle_restart"]
                .iter()
                .any(|key| refusal.key.ends_with(key)) =>
        {
            places.refuse(&refusal.key, refusal.why)
        }
        _ => Error::invalid(refusal.why).at_key(scheme.label()),
    }
}
