//! The reply to a request, from its finished parts.

use firstflight_results::{
    Answer, CapturedTrace, CompareReport, Comparison, ConnectionResult, NetworkResult, PathResult,
    Provenance, SchemeResult, TimeSequence, Trace,
};
use firstflight_scenario::Candidate;

use crate::differences::{Differences, INTERVAL_METHOD, References, same};
use crate::input::Input;
use crate::path::Subject;
use crate::recommended::Recommendation;
use crate::request::Request;

/// The finished parts of a reply.
pub(crate) struct Parts {
    pub(crate) title: String,
    pub(crate) path: PathResult,
    /// Captured connections that are shown, and their series in the same order.
    pub(crate) connections: Vec<ConnectionResult>,
    pub(crate) captured: Vec<CapturedTrace>,
    pub(crate) sequence: Option<TimeSequence>,
    /// The rows of `differences`, with their costs.
    pub(crate) results: Vec<SchemeResult>,
    pub(crate) differences: Differences,
    pub(crate) recommendation: Recommendation,
    pub(crate) answer: Answer,
    /// The networks of a server.
    pub(crate) groups: Vec<NetworkResult>,
    pub(crate) no_answer: Option<String>,
    pub(crate) departure: Option<f64>,
    pub(crate) provenance: Provenance,
    pub(crate) warnings: Vec<String>,
    pub(crate) traces: Vec<Trace>,
}

/// The reply to a request.
pub(crate) fn reply(request: &Request, parts: Parts) -> CompareReport {
    let Parts { differences, recommendation, .. } = parts;
    let Differences { samples, references: References { baseline, present }, .. } = differences;
    let schemes: Vec<String> = request.schemes.iter().map(Candidate::label).collect();
    let comparison = Comparison {
        title: parts.title,
        path: parts.path,
        connections: parts.connections,
        copies: request.input.copies(),
        results: parts.results,
        answer: Some(parts.answer),
        recommended: recommendation.at_each_size,
        for_all_sizes: recommendation.for_all_sizes,
        groups: parts.groups,
        no_answer: parts.no_answer,
        departure: parts.departure,
        same: same(&schemes, &samples),
        schemes,
        baseline,
        present,
        provenance: parts.provenance,
        warnings: parts.warnings,
        passed_over: request.input.passed_over(),
    };
    CompareReport {
        comparison,
        samples,
        traces: parts.traces,
        captured: parts.captured,
        sequence: parts.sequence,
    }
}

/// Origin of the numbers of a subject with this number of replications.
pub(crate) fn provenance(request: &Request, subject: &Subject<'_>, replications: usize) -> Provenance {
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
        scenario: subject.scenario_text(),
        command: request.command.clone(),
        host: subject.host().name().into(),
        // The browser has no system.
        machine: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH).trim().into(),
        interval_method: INTERVAL_METHOD.into(),
        chosen_by: request.by.to_string(),
        inputs,
    }
}
