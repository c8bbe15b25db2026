//! Each captured connection run again on the inferred path, so that the user sees how far to trust the rest.
//!
//! Packets do not say which congestion control sent them. Each connection is run again under a few common ones, and
//! the one nearest to the observed in time and in packets sent again is shown, by name.

use firstflight_capture::{Connection, ExitReason};
use firstflight_control::units::Nanos;
use firstflight_scenario::{Dist, SchemeSpec};
use firstflight_sim::outcome::simulate;
use rayon::prelude::*;

use super::exit_of;
use super::path::Subject;
use crate::network::{Built, build};
use crate::progress::Progress;
use crate::results::{CapturedTrace, ConnectionResult, Series};
use crate::trace::simulate_traced;

/// What captured senders may have run.
const CANDIDATES: [&str; 4] = ["slow-start+reno", "slow-start+cubic", "hystart+++reno", "hystart+++cubic"];

/// Re-runs beside what was captured, in the order of the connections.
pub(super) fn rerun(
    subject: &Subject<'_>,
    progress: &dyn Progress,
) -> Vec<(ConnectionResult, CapturedTrace)> {
    let candidates: Vec<SchemeSpec> =
        CANDIDATES.iter().map(|label| SchemeSpec::parse(label).expect("a registered chain")).collect();
    subject
        .connections()
        .par_iter()
        .map(|connection| {
            let pair = if subject.path_unknown() {
                (
                    result(connection),
                    CapturedTrace { observed: observed(connection), ..CapturedTrace::default() },
                )
            } else {
                nearest(subject, connection, &candidates)
            };
            progress.advance(1);
            pair
        })
        .collect()
}

fn nearest(
    subject: &Subject<'_>,
    connection: &Connection,
    candidates: &[SchemeSpec],
) -> (ConnectionResult, CapturedTrace) {
    let observed_series = observed(connection);
    let tried = candidates.iter().map(|scheme| {
        let built = again(subject, connection, scheme);
        let outcome = simulate(&built.network);
        let completion = outcome.flows[0].completions.first().map(|&t| Nanos(t).as_secs_f64());
        let retransmits = outcome.flows[0].retransmits;
        (scheme, built, distance(connection, completion, retransmits))
    });
    let best = tried.min_by(|(_, _, a), (_, _, b)| a.total_cmp(b)).expect("there are candidates");
    let (scheme, built, _) = best;
    let (outcome, traced) = simulate_traced(&built.network);
    let flow = &outcome.flows[0];
    let result = ConnectionResult {
        rerun_completion_s: flow.completions.first().map(|&t| Nanos(t).as_secs_f64()),
        rerun_retransmits: flow.retransmits,
        scheme: scheme.label(),
        rerun_startup_exit: exit_of(&built, &outcome),
        ..result(connection)
    };
    let trace = CapturedTrace {
        observed: observed_series,
        rerun: traced.series,
        rerun_retransmits_s: traced.retransmits_s,
        ..CapturedTrace::default()
    };
    (result, trace)
}

/// The connection on the inferred path: as many bytes, all written at once.
fn again(subject: &Subject<'_>, connection: &Connection, scheme: &SchemeSpec) -> Built {
    let mut scenario = subject.central().clone();
    let flow = &mut scenario.flows[0];
    flow.scheme = scheme.clone();
    flow.size = Some(Dist::Fixed(connection.observed.bytes.max(1)));
    // What was asked for is what is run: a transfer without the background of the path.
    scenario.flows.truncate(1);
    build(&scenario, scenario.seed, Nanos::from_secs(1)).expect("common schemes run on any inferred path")
}

/// How far a re-run is from what was observed: the relative difference of the completion times, and that of the
/// shares of packets sent again, which tells schemes apart that took as long.
fn distance(connection: &Connection, completion: Option<f64>, retransmits: u64) -> f64 {
    let observed = &connection.observed;
    let took = |end: Nanos| end.saturating_sub(observed.first_data).as_secs_f64();
    let time = match (observed.completion.map(took), completion) {
        (Some(seen), Some(ran)) if seen > 0.0 => (ran / seen).ln().abs(),
        (None, _) => 0.0,
        _ => f64::INFINITY,
    };
    let packets = observed.packets.max(1) as f64;
    time + (retransmits as f64 - observed.retransmits as f64).abs() / packets
}

fn result(connection: &Connection) -> ConnectionResult {
    let seen = &connection.observed;
    ConnectionResult {
        bytes: seen.bytes,
        observed_completion_s: seen.completion.map(|end| end.saturating_sub(seen.first_data).as_secs_f64()),
        rerun_completion_s: None,
        observed_retransmits: seen.retransmits,
        rerun_retransmits: 0,
        name: format!("{} > {}", connection.sender, connection.receiver),
        scheme: String::new(),
        startup: startup_sentence(connection),
        rerun_startup_exit: None,
    }
}

/// What the connection did in its start-up.
fn startup_sentence(connection: &Connection) -> String {
    let seen = &connection.observed;
    let first = format!("sent {} packets before the first acknowledgement", seen.first_flight_packets);
    let Some(exit) = &seen.startup.exit else {
        return format!("{first} and grew to the end of the transfer");
    };
    let why = match exit.reason {
        ExitReason::Loss => "when packets were lost",
        ExitReason::Mark => "at a congestion mark",
        ExitReason::Slowed => "without a loss",
    };
    let at = exit.time.saturating_sub(seen.first_data).as_secs_f64() * 1e3;
    format!(
        "{first} and stopped growing {why} after {at:.0} ms with {:.0} packets in flight",
        exit.cwnd_packets
    )
}

/// What the capture shows over time, counted from the first data packet.
fn observed(connection: &Connection) -> Series {
    let seen = &connection.observed;
    let begin = seen.first_data.as_secs_f64();
    let packet = f64::from(seen.mss.max(1));
    // Both curves are steps: each point of one is joined by the last of the other.
    let mut points: Vec<(f64, Option<f64>, Option<f64>)> = vec![];
    points.extend(seen.series.flight.iter().map(|&(t, bytes)| (t, Some(bytes / packet), None)));
    points.extend(seen.series.delivered.iter().map(|&(t, bytes)| (t, None, Some(bytes))));
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut series = Series::default();
    let (mut flight, mut delivered) = (0.0, 0.0);
    for (t, new_flight, new_delivered) in points {
        flight = new_flight.unwrap_or(flight);
        delivered = new_delivered.unwrap_or(delivered);
        series.time_s.push((t - begin).max(0.0));
        series.in_flight_packets.push(flight);
        series.delivered_bytes.push(delivered);
    }
    series
}
