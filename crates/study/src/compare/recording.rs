//! Packet-by-packet recordings of the runs shown in a comparison.

use firstflight_scenario::Error;
use firstflight_scenario::quantity::show_bytes;

use super::Request;
use super::captured;
use super::path::Subject;
use crate::host::{Host, Observe, Run};
use crate::memory::Estimate;
use crate::parallel::try_map;
use crate::progress::Silent;
use crate::trace::record::Recording;
use firstflight_results::CompareReport;

/// Checks that the memory of [`recordings`] is within the limit of `request`. Nothing is run.
///
/// # Errors
/// As [`super::compare`].
pub fn admit_recordings(host: &dyn Host, request: &Request) -> Result<(), Error> {
    let subject = Subject::of(host, request)?;
    let packets = Observe { packets: true, ..subject.observe() };
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
    let subject = Subject::explained(host, request, &Silent)?;
    let replications = subject.replications(request);
    let packets = Observe { packets: true, ..subject.observe() };
    let shown = try_map(&report.traces, |trace| {
        let scheme = request.schemes.iter().find(|scheme| scheme.label() == trace.scheme);
        let scheme = scheme.expect("a report has the schemes of its request");
        let replication = replications[trace.replication as usize];
        let run = subject.run(scheme, trace.size_bytes, replication, &packets)?;
        let name = format!("{}-{}", trace.scheme, show_bytes(trace.size_bytes).replace(' ', ""));
        Ok::<_, Error>(recorded(run, name))
    })?;
    let connections = subject.connections().iter().zip(&report.comparison.connections).enumerate();
    let with_rerun = connections.filter(|(_, (_, result))| !result.scheme.is_empty());
    let reruns = with_rerun.filter_map(|(index, (connection, _))| {
        let run = captured::recorded(&subject, connection, &packets).transpose()?;
        Some(run.map(|run| recorded(run, format!("rerun-{}", index + 1))))
    });
    shown.into_iter().map(Ok).chain(reruns).collect()
}

/// Recording of a run, under the name of its files.
fn recorded(run: Run, name: String) -> Recording {
    Recording { name, ..run.recording.expect("the run records packets") }
}
