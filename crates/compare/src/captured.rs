//! Re-runs of the captured connections on the paths that explain them, which show how far the other results can be
//! trusted. The most similar re-run is shown, with the name of its scheme.

use firstflight_document::seconds::Seconds;

use firstflight_capture::{Connection, ExitReason, Observed};
use firstflight_random::Dist;
use firstflight_scenario::Candidate;

use crate::connections::is_bulk;
use crate::halt::Halt;
use crate::path::Subject;
use crate::replication::Replication;
use crate::resemblance::distance;
use firstflight_explain::{Explanation, late};
use firstflight_hosts::host::{FlowChoice, Observe, Run};
use firstflight_hosts::parallel::try_map;
use firstflight_hosts::progress::{Progress, go_on};
use firstflight_quantile::type_7;
use firstflight_results::{CapturedTrace, ConnectionResult, LimitedBy, Series, TimeSequence};

/// Re-runs of each connection.
const RERUNS: u32 = 12;

/// Minimum departure. Even over an exactly known path the transfers of a real kernel depart from a simulator that makes
/// the same decisions, because packets do not show every state of the ends (`docs/predictions.md`), and the statistics
/// that paths are compared by do not tell smaller differences.
const LEAST_DEPARTURE: f64 = 0.01;
/// Departure above which a warning is given.
const LARGE_DEPARTURE: f64 = 0.1;

/// A concurrent connection with at least this share of its data makes a connection not alone.
const DISTURBING: f64 = 0.1;

/// Captured connections and their re-runs.
pub(super) struct Captured {
    /// Results, in the order of the capture.
    pub(super) connections: Vec<ConnectionResult>,
    /// Series, in the same order.
    pub(super) traces: Vec<CapturedTrace>,
    /// Relative error of the re-runs: the median of those that are comparable; `None` if none is.
    pub(super) departure: Option<f64>,
    /// Warnings about the re-runs.
    pub(super) warnings: Vec<String>,
    /// Time-sequence graph of a single connection.
    pub(super) sequence: Option<TimeSequence>,
}

/// Indices of the connections to re-run.
pub(super) fn reruns(subject: &Subject<'_>) -> Vec<usize> {
    if subject.path_unknown() { vec![] } else { subject.on_path().to_vec() }
}

impl Captured {
    /// Re-runs the connections with the indices `reruns`.
    ///
    /// # Errors
    /// If the host cannot run a common scheme on the path.
    pub(super) fn of(subject: &Subject<'_>, reruns: &[usize], progress: &dyn Progress) -> Result<Self, Halt> {
        let all = subject.connections();
        let (mut connections, mut traces): (Vec<_>, Vec<_>) = all
            .iter()
            .map(|connection| {
                let trace = CapturedTrace {
                    observed: observed(connection),
                    observed_retransmits_s: retransmission_times(connection),
                    ..CapturedTrace::default()
                };
                (result(connection), trace)
            })
            .unzip();
        let rerun = try_map(reruns, |&index| {
            go_on(progress)?;
            let pair = nearest(subject, all[index])?;
            progress.advance(1);
            Ok::<_, Halt>((index, pair))
        })?;
        let mut departures: Vec<f64> = vec![];
        for (index, pair) in rerun {
            if let Some((result, trace, range)) = pair {
                departures.extend(off(subject, index, range));
                (connections[index], traces[index]) = (result, trace);
            }
        }
        let mut warnings = vec![];
        if !reruns.is_empty() && reruns.len() < all.len() {
            let others = all.len() - reruns.len();
            warnings.push(format!(
                "{others} of {} captured connections are not re-run: they took another path or carried less data",
                all.len()
            ));
        }
        departures.sort_by(f64::total_cmp);
        let departure = (!departures.is_empty()).then(|| type_7(&departures, 0.5));
        if let Some(departure) = departure.filter(|&departure| departure > LARGE_DEPARTURE) {
            warnings.push(format!(
                "re-runs of the captured connections depart by {:.0} %, and intervals are widened accordingly; possible causes: other \
                 traffic, a sender or queue that is not simulated, or a path that changed",
                departure * 100.0
            ));
        }
        let sequence = if let [only] = all[..] { Some(sequence(only)) } else { None };
        Ok(Self { connections, traces, departure, warnings, sequence })
    }

    /// The share by which ranges are widened: the departure, and at least a minimum.
    pub(super) fn widening(&self) -> f64 {
        self.departure.unwrap_or(0.0).max(LEAST_DEPARTURE)
    }
}

/// Relative distance of a connection's time from the `range` of its re-runs; `None` unless the connection was a single
/// transfer and alone on the path.
fn off(subject: &Subject<'_>, index: usize, range: [f64; 2]) -> Option<f64> {
    let connections = subject.connections();
    let connection = connections[index];
    let alone = connections.iter().enumerate().all(|(other, it)| other == index || !disturbs(it, connection));
    let seen = result(connection).observed_completion_s.filter(|seen| *seen > 0.0)?;
    let [low, high] = range;
    (is_bulk(connection) && alone).then(|| (low / seen - 1.0).max(seen / high - 1.0).max(0.0))
}

/// Whether `one` carried enough data concurrently with `other` to slow it down.
fn disturbs(one: &Connection, other: &Connection) -> bool {
    let span = |connection: &Connection| {
        let seen = &connection.observed;
        let end = seen.series.delivered.last().map_or(0.0, |&(at, _)| at);
        let begin = seen.established.as_secs_f64();
        (begin, begin + end)
    };
    let ((from, until), (begin, end)) = (span(one), span(other));
    from < end && begin < until && one.observed.bytes as f64 > DISTURBING * other.observed.bytes as f64
}

/// Re-run that is most similar to the connection, and the shortest and longest time of all its re-runs; `None` if none
/// finished.
fn nearest(
    subject: &Subject<'_>,
    connection: &Connection,
) -> Result<Option<(ConnectionResult, CapturedTrace, [f64; 2])>, Halt> {
    let seen = observed(connection);
    let observe = Observe { flow: Some(FlowChoice::First), ..subject.observe() };
    let Some((of, range)) = most_similar(subject, connection, &seen)? else { return Ok(None) };
    let Run { mut result, flow, .. } = rerun(subject, connection, of, &observe)?;
    let (simulated, flow) = (result.flows.swap_remove(0), flow.expect("the run observes a flow"));
    let sender = sender(subject, connection, of);
    let result = ConnectionResult {
        rerun_completion_s: simulated.completion_s,
        rerun_retransmits: simulated.retransmits,
        scheme: sender.label(),
        rerun_initial_ssthresh_packets: sender.settings.ssthresh.map(|threshold| threshold.packets(1)),
        rerun_startup_exit: simulated.startup_exit,
        ..self::result(connection)
    };
    let trace = CapturedTrace {
        observed: seen,
        observed_retransmits_s: retransmission_times(connection),
        rerun: flow.series,
        rerun_retransmits_s: flow.retransmits_s,
    };
    Ok(Some((result, trace, range)))
}

/// The most similar re-run of a connection, with its packets.
///
/// # Errors
/// If the host refuses a path.
pub(super) fn recorded(
    subject: &Subject<'_>,
    connection: &Connection,
    packets: &Observe,
) -> Result<Option<Run>, Halt> {
    let found = most_similar(subject, connection, &observed(connection))?;
    found.map(|(of, _)| rerun(subject, connection, of, packets)).transpose()
}

/// The re-run of the likeliest sender whose deliveries are most similar to those `seen`, and the shortest and longest time of all
/// re-runs. If the sender has no re-run that ends, the most similar of all.
fn most_similar(
    subject: &Subject<'_>,
    connection: &Connection,
    seen: &Series,
) -> Result<Option<(Replication, [f64; 2])>, Halt> {
    let observe = Observe { flow: Some(FlowChoice::First), ..subject.observe() };
    let likeliest = explanation(subject).likeliest_sender(index(subject, connection));
    let (mut best, mut range) = (None, [f64::INFINITY, 0.0_f64]);
    for index in 0..RERUNS {
        let of = Replication { index, of: RERUNS, seed: subject.base().seed };
        let Run { result, flow, .. } = rerun(subject, connection, of, &observe)?;
        let Some(took) = result.flows[0].completion_s else { continue };
        range = [range[0].min(took), range[1].max(took)];
        let retransmits = [connection.observed.retransmits, result.flows[0].retransmits];
        let series = &flow.expect("the run observes a flow").series;
        let apart = distance(seen, series, retransmits, connection.observed.packets);
        let unlikely = likeliest.is_some_and(|likeliest| sender(subject, connection, of) != likeliest);
        if best.is_none_or(|(_, least)| (unlikely, apart) < least) {
            best = Some((of, (unlikely, apart)));
        }
    }
    Ok(best.map(|(of, _)| (of, range)))
}

/// Runs a bulk transfer of the same size as the connection on one of the paths that explain the capture, with the scheme
/// that its sender then ran.
///
/// # Errors
/// If the host cannot run it.
fn rerun(
    subject: &Subject<'_>,
    connection: &Connection,
    of: Replication,
    observe: &Observe,
) -> Result<Run, Halt> {
    let path = explanation(subject).at(of.share());
    let mut scenario = path.scenario(subject.base(), late(connection), of.own_seed());
    let payload = subject.payload();
    sender(subject, connection, of).apply(&mut scenario.flows[0], payload, 1);
    scenario.flows[0].size = Some(Dist::Fixed(connection.observed.bytes.max(1)));
    // One transfer takes little memory, as much as its capture at most.
    let observe = Observe { memory: u64::MAX, ..observe.clone() };
    let run = subject.host().run(&scenario, of.own_seed(), &observe);
    run.map_err(|halt| halt.map(|refusal| subject.too_large(refusal)))
}

fn explanation<'a>(subject: &'a Subject<'_>) -> &'a Explanation {
    subject.explanation().expect("connections are re-run on the paths that explain them")
}

/// Index of a connection of the subject.
fn index(subject: &Subject<'_>, connection: &Connection) -> usize {
    let own = subject.connections().iter().position(|it| std::ptr::eq(*it, connection));
    own.expect("a connection of the subject")
}

/// Sender of a re-run.
fn sender<'a>(subject: &'a Subject<'_>, connection: &Connection, of: Replication) -> &'a Candidate {
    explanation(subject).at(of.share()).sender(index(subject, connection), of.index)
}

fn result(connection: &Connection) -> ConnectionResult {
    let seen = &connection.observed;
    ConnectionResult {
        bytes: seen.bytes,
        observed_completion_s: seen.completion.map(|end| end.saturating_sub(seen.first_data).as_secs_f64()),
        rerun_completion_s: None,
        observed_retransmits: seen.retransmits,
        rerun_retransmits: 0,
        name: connection.name(),
        scheme: String::new(),
        rerun_initial_ssthresh_packets: None,
        startup: startup_sentence(connection),
        limited_by: limited_by(seen),
        rerun_startup_exit: None,
    }
}

fn limited_by(seen: &Observed) -> LimitedBy {
    LimitedBy {
        congestion_window_s: seen.congestion_limited.as_secs_f64(),
        receive_window_s: seen.window_limited.as_secs_f64(),
        application_s: seen.application_limited.as_secs_f64(),
    }
}

/// Share of a connection's time from which on the receive window is named as the end of its growth.
const WINDOW_LIMITED: f64 = 0.05;

/// Summary of the connection's start-up.
fn startup_sentence(connection: &Connection) -> String {
    let seen = &connection.observed;
    let packets = match seen.first_flight_packets {
        1 => "one packet".to_owned(),
        many => format!("{many} packets"),
    };
    let first = format!("sent {packets} before the first acknowledgement");
    let Some(exit) = &seen.startup.exit else {
        let until = match seen.completion {
            _ if limited_by(seen).receive_window_share() > WINDOW_LIMITED => {
                "until the receive window limited it"
            }
            Some(_) => "to the end of the transfer",
            None => "to the end of the capture",
        };
        return format!("{first} and grew {until}");
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

fn sequence(connection: &Connection) -> TimeSequence {
    let firstflight_capture::TimeSequence { sent, acked, allowed, resent, rtt } = connection.time_sequence();
    TimeSequence { sent, acked, allowed, resent, rtt }
}

/// Times of retransmissions, seconds since the first data packet.
fn retransmission_times(connection: &Connection) -> Vec<f64> {
    let begin = connection.observed.first_data.as_secs_f64();
    connection.observed.series.retransmissions.iter().map(|at| at - begin).collect()
}

/// Observed series, with times counted from the first data packet.
fn observed(connection: &Connection) -> Series {
    let seen = &connection.observed;
    let begin = seen.first_data.as_secs_f64();
    let packet = f64::from(seen.mss.max(1));
    // Both curves are steps: each point of one gets the last value of the other.
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
