//! The transfers of a comparison: every candidate at every size, in every replication.

use firstflight_document::Error;
use firstflight_hosts::host::{FlowChoice, Observe, Run};
use firstflight_hosts::memory::Estimate;
use firstflight_hosts::stats;
use firstflight_results::{Sample, Trace};
use firstflight_scenario::Candidate;

use crate::halt::Halt;
use crate::path::Subject;
use crate::replication::Replication;
use crate::request::Request;

/// Result of one replication, with its rows in the page and the table, bytes.
const REPLICATION: u64 = 400;
/// Time series of one scheme at one size, with its plot, bytes.
const SERIES: u64 = 2_000_000;

/// One replication of one scheme at one size.
pub(crate) struct Task<'a> {
    pub(crate) scheme: &'a Candidate,
    pub(crate) size: u64,
    pub(crate) replication: Replication,
}

/// All transfers, by size, by scheme in the order of the request, and by replication; none if the path is unknown.
pub(crate) fn tasks<'a>(request: &'a Request, subject: &Subject<'_>) -> Vec<Task<'a>> {
    if subject.path_unknown() {
        return vec![];
    }
    let replications = subject.replications(request);
    let mut tasks = vec![];
    for size in request.ascending() {
        for scheme in &request.schemes {
            tasks.extend(replications.iter().map(|&replication| Task { scheme, size, replication }));
        }
    }
    tasks
}

/// Estimated memory of this number of transfers.
pub(crate) fn estimate(request: &Request, subject: &Subject<'_>, tasks: usize) -> Result<Estimate, Error> {
    let largest = *request.sizes.iter().max().expect("at least one size");
    let mut estimate = subject.estimate(&request.schemes[0], largest, &subject.observe())?;
    estimate.add("runs", 0.0, (tasks as u64 * REPLICATION) as f64);
    let cells = tasks as u64 / subject.replications(request).len() as u64;
    estimate.add("sizes", 0.0, (cells * SERIES) as f64);
    Ok(estimate)
}

/// Result of a task.
#[derive(Clone, Copy)]
pub(crate) struct TransferRun {
    pub(crate) sample: Sample,
    pub(crate) others_drops: u64,
}

impl TransferRun {
    /// # Errors
    /// If the host refuses the run.
    pub(crate) fn of(task: &Task<'_>, subject: &Subject<'_>) -> Result<Self, Halt> {
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

/// All replications of one scheme at one size.
#[derive(Clone, Copy)]
pub(crate) struct Cell<'a> {
    pub(crate) scheme: &'a Candidate,
    pub(crate) size: u64,
    pub(crate) runs: &'a [TransferRun],
}

impl Cell<'_> {
    /// Completion times, ascending.
    pub(crate) fn times(&self) -> Vec<f64> {
        let mut times: Vec<f64> = self.runs.iter().filter_map(|run| run.sample.completion_s).collect();
        times.sort_by(f64::total_cmp);
        times
    }

    /// Index of the replication whose completion is nearest the median; 0 if none finished.
    fn nearest_to_median(&self) -> usize {
        let Some(completion) = stats::completion(&self.times()) else { return 0 };
        let distance = |run: &TransferRun| {
            run.sample.completion_s.map_or(f64::INFINITY, |time| (time - completion.median).abs())
        };
        let distances: Vec<f64> = self.runs.iter().map(distance).collect();
        (0..distances.len()).min_by(|&a, &b| distances[a].total_cmp(&distances[b])).unwrap_or(0)
    }

    /// Time series of the replication nearest the median. `place` gives the path of a replication, by its index.
    ///
    /// # Errors
    /// If the host refuses the run.
    pub(crate) fn trace<'s>(
        &self,
        place: impl Fn(usize) -> (&'s Subject<'s>, Replication),
    ) -> Result<Trace, Halt> {
        let nearest = self.nearest_to_median();
        let (subject, replication) = place(nearest);
        let observe = Observe { flow: Some(FlowChoice::First), ..subject.observe() };
        let Run { result, flow, .. } = subject.run(self.scheme, self.size, replication, &observe)?;
        let flow = flow.expect("the run observes a flow");
        Ok(Trace {
            scheme: self.scheme.label(),
            size_bytes: self.size,
            replication: nearest as u32,
            completion_s: result.flows[0].completion_s,
            startup_exit: flow.startup_exit,
            losses_s: flow.losses_s,
            series: flow.series,
        })
    }
}
