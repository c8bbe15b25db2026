//! The comparison on one path.

use std::collections::BTreeMap;

use firstflight_document::Error;
use firstflight_explain::Explanation;
use firstflight_hosts::host::Host;
use firstflight_hosts::parallel::{try_map, with_threads};
use firstflight_hosts::progress::{Progress, go_on};
use firstflight_results::{Answer, CompareReport, Risk, SchemeResult, Trace};
use firstflight_scenario::Candidate;

use crate::bench::Bench;
use crate::captured::{Captured, reruns};
use crate::costs::Costs;
use crate::differences::{Differences, References};
use crate::halt::{Halt, failed};
use crate::harm::{Bystanders, Contest, Part, settle};
use crate::how::{Route, how};
use crate::input::Input;
use crate::path::Subject;
use crate::recommended::{Facts, Origin, Question, Recommendation, answer, contests, no_answer};
use crate::reply::{Parts, provenance, reply};
use crate::request::Request;
use crate::risks;
use crate::transfers::{Cell, TransferRun, estimate, tasks};

/// Compares the schemes on the path of a request. The second value is the paths that explain its capture, if it has one.
///
/// # Errors
/// As [`crate::compare`].
pub(crate) fn compare(
    host: &dyn Host,
    request: &Request,
    progress: &dyn Progress,
) -> Result<(CompareReport, Option<Explanation>), Error> {
    let measured = Measured::of(request, Subject::of(host, request)?, Extent::WHOLE, progress)?;
    let Outcome { results, recommendation, warnings } = measured.outcome(request);
    let answer = measured.answer(request, &results);
    let Measured { subject, captured, differences, traces, no_answer, .. } = measured;
    let parts = Parts {
        title: subject.title(),
        path: subject.path_result(),
        connections: captured.connections,
        captured: captured.traces,
        sequence: captured.sequence,
        provenance: provenance(request, &subject, subject.replications(request).len()),
        departure: captured.departure,
        groups: vec![],
        differences,
        results,
        recommendation,
        answer,
        no_answer,
        warnings,
        traces,
    };
    let explanation = subject.into_explanation();
    Ok((reply(request, parts), explanation))
}

/// Work for one path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Whether there are more replications with bystanders where the harm is near the limit.
    pub(crate) settle: bool,
    /// Whether there are time series of the replications nearest the medians.
    pub(crate) traces: bool,
}

impl Extent {
    const WHOLE: Self = Self { settle: true, traces: true };
}

/// One path, and what was measured on it.
pub(crate) struct Measured<'a> {
    pub(crate) subject: Subject<'a>,
    /// Replications, by size, by scheme in the order of the request, and by number; none if the path is unknown.
    pub(crate) runs: Vec<TransferRun>,
    pub(crate) captured: Captured,
    pub(crate) differences: Differences,
    /// Reason why the differences are no answer.
    pub(crate) no_answer: Option<String>,
    /// Times of the bystanders; an error if harm cannot be measured.
    pub(crate) bystanders: Result<Bystanders, Error>,
    /// Risk of each scheme at each size, in the order of the replications.
    risks: Vec<Option<Risk>>,
    /// Time series, in the order of the differences.
    traces: Vec<Trace>,
}

/// Results and recommendation on one path.
pub(crate) struct Outcome {
    pub(crate) results: Vec<SchemeResult>,
    pub(crate) recommendation: Recommendation,
    pub(crate) warnings: Vec<String>,
}

impl<'a> Measured<'a> {
    /// # Errors
    /// As [`compare`], and if the progress is stopped.
    pub(crate) fn of(
        request: &Request,
        subject: Subject<'a>,
        extent: Extent,
        progress: &dyn Progress,
    ) -> Result<Self, Halt> {
        subject.can(request)?;
        let subject = subject.with_explanation(request, progress);
        let tasks = tasks(request, &subject);
        let reruns = reruns(&subject);
        let threads = subject.admit(&estimate(request, &subject, tasks.len())?)?;
        let bystanders = failed(bystanders(request, &subject, extent))?;
        let first = bystanders.as_ref().map_or(0, Bystanders::first_steps);
        progress.begin("simulations", (tasks.len() + reruns.len()) as u64 + first);
        let measured = with_threads(threads, || {
            let runs = try_map(&tasks, |task| {
                go_on(progress)?;
                let run = TransferRun::of(task, &subject)?;
                progress.advance(1);
                Ok::<_, Halt>(run)
            })?;
            let captured = Captured::of(&subject, &reruns, progress)?;
            let replications = subject.replications(request);
            let cells = tasks.chunks(replications.len()).zip(runs.chunks(replications.len()));
            let cells: Vec<Cell<'_>> = cells
                .map(|(tasks, runs)| Cell { scheme: tasks[0].scheme, size: tasks[0].size, runs })
                .collect();
            let risks = try_map(&cells, |cell| risks::random_loss(&subject, cell.scheme, cell.size))?;
            let is_capture = matches!(request.input, Input::Capture { .. });
            let sizes = request.sizes.iter().filter(|_| is_capture);
            let departures: BTreeMap<u64, f64> = sizes.map(|&size| (size, captured.widening())).collect();
            let references = References::of(request);
            let widened_by = subject.uncertain_fields();
            let differences =
                Differences::of(&cells, references, &widened_by, departures, (request.by, request.seed));
            let traced = if extent.traces { &differences.order[..] } else { &[] };
            let place = |index: usize| (&subject, replications[index]);
            let traces = try_map(traced, |&cell| cells[cell].trace(place))?;
            let no_answer = no_answer(subject.path_unknown(), subject.unlike(), captured.departure);
            let bystanders = match &no_answer {
                // Nothing is recommended without an answer.
                Some(_) => bystanders,
                None => {
                    let question = Question::of(request, &differences, subject.payload().into(), None);
                    let sizes = if extent.settle { harm_sizes(request, &subject) } else { vec![] };
                    let of_stack = (&request.weights(), subject.profile());
                    let contests = contests(&differences.rows, &sizes, &question, of_stack);
                    let looked = |it| look(request, &subject, it, &contests, progress);
                    failed(bystanders.map_err(Halt::Failed).and_then(looked))?
                }
            };
            go_on(progress)?;
            Ok(Self { subject, runs, captured, differences, no_answer, bystanders, risks, traces })
        });
        progress.finish();
        measured
    }

    /// Results and recommendation, with the harm as it is known now.
    pub(crate) fn outcome(&self, request: &Request) -> Outcome {
        let Self { subject, captured, differences, no_answer, bystanders, .. } = self;
        let bdp = subject.bdp_packets().unwrap_or(1);
        let results = differences.with_costs(|row, cell| {
            let place = request.place(&row.scheme).expect("results are of candidates");
            Costs {
                harm: bystanders.as_ref().ok().and_then(|it| it.harm(row.size_bytes, place)),
                risks: self.risks[cell].iter().cloned().collect(),
                how: how(&request.schemes[place], bdp, subject.profile()),
            }
        });
        let question = Question::of(request, differences, subject.payload().into(), no_answer.as_deref());
        let recommendation = Recommendation::of(&results, &request.ascending(), &question);
        let not_measured = bystanders.as_ref().err();
        let not_measured =
            not_measured.map(|error| format!("the harm to other connections is not measured: {error}"));
        let warnings = subject.warnings(subject.replications(request).len());
        let warnings = request.stands_in().into_iter().chain(warnings);
        let warnings = warnings.chain(captured.warnings.iter().cloned()).chain(not_measured);
        Outcome { results, recommendation, warnings: warnings.collect() }
    }

    /// The one setting to have, from results with their costs.
    fn answer(&self, request: &Request, results: &[SchemeResult]) -> Answer {
        let Self { subject, captured, differences, no_answer, .. } = self;
        let captured_path = matches!(request.input, Input::Capture { .. });
        let routes = [Route { to: None, bdp: subject.bdp_packets().unwrap_or(1) }];
        let facts = Facts {
            weights: &request.weights(),
            routes: &routes,
            profile: subject.profile(),
            origin: if captured_path { Origin::Captured } else { Origin::Given },
            present: request.present(),
            starts_as: request.starts_as(),
            departure: captured.departure,
            unknown: &subject.path_result().cannot_tell,
            groups: &[],
        };
        let question = Question::of(request, differences, subject.payload().into(), no_answer.as_deref());
        answer(results, &request.ascending(), &question.weighed(facts.weights), &facts)
    }
}

/// The sizes at which harm is measured, ascending.
fn harm_sizes(request: &Request, subject: &Subject<'_>) -> Vec<u64> {
    if request.harm && !subject.path_unknown() { request.ascending() } else { vec![] }
}

/// The bystanders of a path, none of which has run.
///
/// # Errors
/// If harm cannot be measured.
fn bystanders(request: &Request, subject: &Subject<'_>, extent: Extent) -> Result<Bystanders, Halt> {
    let present = Candidate::from(request.present());
    let sizes = harm_sizes(request, subject);
    let bench = Bench::new(subject, request.seed);
    Bystanders::new(&bench, present, &request.schemes, &sizes, !extent.settle)
}

/// The first look at the bystanders of a path, and further looks for the `contests`.
///
/// # Errors
/// If the host refuses a run, or the progress is stopped.
fn look(
    request: &Request,
    subject: &Subject<'_>,
    mut bystanders: Bystanders,
    contests: &[Contest],
    progress: &dyn Progress,
) -> Result<Bystanders, Halt> {
    let bench = Bench::new(subject, request.seed);
    bystanders.first(&bench, &request.schemes, progress)?;
    if let Some(limit) = request.limits.most_harm() {
        let shares = vec![1.0; request.ascending().len()];
        let part = Part { shares, bench, bystanders: &mut bystanders };
        settle(&mut [part], &request.schemes, limit, contests, progress)?;
    }
    Ok(bystanders)
}
