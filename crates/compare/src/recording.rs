//! Packet-by-packet recordings of the runs shown in a comparison.

use firstflight_capture::Connection;
use firstflight_document::Error;
use firstflight_document::quantity::show_bytes;
use firstflight_scenario::{Candidate, Scenario};

use crate::captured;
use crate::halt::Halt;
use crate::mix::drawn_from;
use crate::networks::Networks;
use crate::path::Subject;
use crate::replication::Replication;
use crate::request::Request;
use firstflight_hosts::host::{Host, Observe, Run};
use firstflight_hosts::memory::Estimate;
use firstflight_hosts::parallel::try_map;
use firstflight_hosts::progress::Silent;
use firstflight_hosts::trace::record::Recording;
use firstflight_results::{CompareReport, ConnectionResult, Trace};

/// Checks that the memory of [`recordings`] is within the limit of `request`. Nothing is run.
///
/// # Errors
/// As [`super::compare`].
pub fn admit_recordings(host: &dyn Host, request: &Request) -> Result<(), Error> {
    match Networks::of(request) {
        None => admit(&Subject::of(host, request)?, request),
        Some(networks) => {
            // A network that cannot be compared has no recordings.
            let subjects = networks.answered.iter().map(|it| Subject::of_network(host, request, it));
            subjects.flatten().try_for_each(|subject| admit(&subject, request))
        }
    }
}

fn admit(subject: &Subject<'_>, request: &Request) -> Result<(), Error> {
    let packets = packets(subject);
    let mut estimate = Estimate::default();
    for &size in &request.sizes {
        for scheme in &request.schemes {
            estimate.include(subject.estimate(scheme, size, &packets)?);
        }
    }
    subject.admit(&estimate).map(drop)
}

/// Every packet and register of the replication nearest the median for each scheme and size, in the order of
/// the results of `report`, which answers `request`; then those of the re-runs of captured connections.
///
/// # Errors
/// As [`super::compare`].
pub fn recordings(
    host: &dyn Host,
    request: &Request,
    report: &CompareReport,
) -> Result<Vec<Recording>, Error> {
    admit_recordings(host, request)?;
    let of = request.runs.max(1);
    let connections = &report.comparison.connections;
    let Some(networks) = Networks::of(request) else {
        let subject = Subject::explained(host, request, &Silent)?;
        let replications = subject.replications(request);
        let shown =
            shown(&subject, request, report, &|trace| Some(replications[trace.replication as usize]))?;
        let reruns = reruns(&subject, subject.connections(), connections, 0)?;
        return Ok(shown.into_iter().map(|(_, one)| one).chain(reruns).collect());
    };
    let (mut all, mut with_reruns, mut before) = (vec![], vec![], 0);
    for (place, network) in networks.answered.iter().enumerate().take(report.comparison.groups.len()) {
        // A network that cannot be compared has neither runs nor re-runs.
        let Ok(subject) = Subject::of_network(host, request, network) else { continue };
        let connections_shown = network.shown();
        let own = connections.get(before..before + connections_shown.len()).unwrap_or_default();
        if !network.shows(own) {
            continue;
        }
        let subject = subject.with_explanation(request, &Silent);
        all.extend(shown(&subject, request, report, &|trace| {
            let groups = &report.comparison.groups;
            let draw = drawn_from(&networks.answered, groups, trace.size_bytes, of, trace.replication);
            let own = draw.filter(|(network, _)| *network == place);
            own.map(|(_, index)| Replication { index, of: network.runs, seed: request.seed })
        })?);
        let of_own: Vec<&Connection> =
            connections_shown.into_iter().map(|index| subject.connections()[index]).collect();
        with_reruns.extend(reruns(&subject, &of_own, own, before)?);
        before += own.len();
    }
    all.sort_by_key(|(place, _)| *place);
    Ok(all.into_iter().map(|(_, one)| one).chain(with_reruns).collect())
}

/// Scenario and seed of the replication that trace number `place` of `report` shows: a run of both is that replication.
/// `report` answers `request`.
///
/// # Errors
/// As [`super::compare`], and if there is no such trace.
pub fn shown_run(
    host: &dyn Host,
    request: &Request,
    report: &CompareReport,
    place: usize,
) -> Result<(Scenario, u64), Error> {
    let trace = report.traces.get(place).ok_or_else(|| Error::invalid("there is no such replication"))?;
    let networks = Networks::of(request);
    let of = request.runs.max(1);
    let (subject, replication) = match &networks {
        None => {
            let subject = Subject::explained(host, request, &Silent)?;
            let replication = subject.replications(request)[trace.replication as usize];
            (subject, replication)
        }
        Some(networks) => {
            let groups = &report.comparison.groups;
            let draw = drawn_from(&networks.answered, groups, trace.size_bytes, of, trace.replication);
            let (network, index) = draw.ok_or_else(|| Error::invalid("the replication has no network"))?;
            let network = &networks.answered[network];
            let subject = Subject::of_network(host, request, network)?;
            let replication = Replication { index, of: network.runs, seed: request.seed };
            (subject.with_explanation(request, &Silent), replication)
        }
    };
    let scenario = subject.scenario_of(of_label(request, &trace.scheme), trace.size_bytes, replication);
    Ok((scenario, replication.own_seed()))
}

/// The candidate of this label.
fn of_label<'a>(request: &'a Request, label: &str) -> &'a Candidate {
    let scheme = request.schemes.iter().find(|scheme| scheme.label() == label);
    scheme.expect("a report has the schemes of its request")
}

fn packets(subject: &Subject<'_>) -> Observe {
    Observe { packets: true, ..subject.observe() }
}

/// The recordings of the traces of `report` that `replication` places on the subject's path, each with its number among all
/// traces.
fn shown(
    subject: &Subject<'_>,
    request: &Request,
    report: &CompareReport,
    replication: &(dyn Fn(&Trace) -> Option<Replication> + Sync),
) -> Result<Vec<(usize, Recording)>, Halt> {
    let packets = packets(subject);
    let traces = report.traces.iter().enumerate();
    let placed = traces.filter_map(|(place, trace)| Some((place, trace, replication(trace)?)));
    let placed: Vec<(usize, &Trace, Replication)> = placed.collect();
    try_map(&placed, |&(place, trace, replication)| {
        let scheme = of_label(request, &trace.scheme);
        let run = subject.run(scheme, trace.size_bytes, replication, &packets)?;
        let name = format!("{}-{}", trace.scheme, show_bytes(trace.size_bytes).replace(' ', ""));
        Ok::<_, Halt>((place, recorded(run, name)))
    })
}

/// The recordings of the re-runs of some of a subject's connections, whose results follow `before` others in the report.
fn reruns(
    subject: &Subject<'_>,
    connections: &[&Connection],
    results: &[ConnectionResult],
    before: usize,
) -> Result<Vec<Recording>, Halt> {
    let packets = packets(subject);
    let connections = connections.iter().zip(results).enumerate();
    let with_rerun = connections.filter(|(_, (_, result))| !result.scheme.is_empty());
    let reruns = with_rerun.filter_map(|(index, (connection, _))| {
        let run = captured::recorded(subject, connection, &packets).transpose()?;
        Some(run.map(|run| recorded(run, format!("rerun-{}", before + index + 1))))
    });
    reruns.collect()
}

/// Recording of a run, under the name of its files.
fn recorded(run: Run, name: String) -> Recording {
    Recording { name, ..run.recording.expect("the run records packets") }
}
