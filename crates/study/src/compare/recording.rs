//! The shown runs of a comparison, packet by packet.

use firstflight_scenario::quantity::show_bytes;
use firstflight_scenario::{Error, SchemeSpec};

use super::Request;
use super::captured::again;
use super::path::Subject;
use crate::host::{Host, Observe, Run};
use crate::parallel::map;
use crate::trace::record::Recording;
use firstflight_results::CompareReport;

/// Every packet and register of the replication nearest the median of each scheme and size, in the order of the
/// results of `report`, which answers `request`; then of the re-runs of captured connections.
///
/// # Errors
/// As [`super::compare`].
pub fn recordings(
    host: &dyn Host,
    request: &Request,
    report: &CompareReport,
) -> Result<Vec<Recording>, Error> {
    let subject = Subject::of(host, request)?;
    let replications = subject.replications(request);
    let packets = Observe { packets: true, ..Observe::default() };
    let shown = map(&report.traces, |trace| {
        let scheme = request.schemes.iter().find(|scheme| scheme.label() == trace.scheme);
        let scheme = scheme.expect("a report is of the schemes of its request");
        let replication = replications[trace.replication as usize];
        let run = subject.run(scheme, trace.size_bytes, replication, &packets);
        let name = format!("{}-{}", trace.scheme, show_bytes(trace.size_bytes).replace(' ', ""));
        recorded(run, name)
    });
    let connections = subject.connections().iter().zip(&report.comparison.connections).enumerate();
    let rerun = connections.filter(|(_, (_, result))| !result.scheme.is_empty());
    let reruns = rerun.map(|(index, (connection, result))| {
        let scheme = SchemeSpec::parse(&result.scheme).expect("it was run under this chain");
        let run = again(&subject, connection, &scheme, &packets);
        recorded(run, format!("rerun-{}", index + 1))
    });
    Ok(shown.into_iter().chain(reruns).collect())
}

/// The packets of a run, under the name of its files.
fn recorded(run: Run, name: String) -> Recording {
    Recording { name, ..run.recording.expect("packets were asked for") }
}
