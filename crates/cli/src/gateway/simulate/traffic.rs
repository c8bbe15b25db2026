//! The traffic that is simulated: connections of a capture, a recording or an access log.

use firstflight_accesslog::{Keep, Request};
use firstflight_compare::gateway::{HEADERS, MSS, Measured, began};
use firstflight_contract::{Nanos, mul_div};
use firstflight_daemon::report;
use firstflight_document::quantity::{parse_rate, parse_time};
use firstflight_document::quoted;
use firstflight_gateway::{Arm, Connection, Event, Stage};

use super::Options;
use crate::captures;
use crate::failure::{Failure, wrong_at};
use crate::gateway::read;
use crate::keys::option;
use crate::log::for_each_request;

/// Connections of the file that ended, by the time of their beginning.
pub(super) struct Traffic {
    pub(super) reports: Vec<Connection>,
    /// Connections and requests that cannot be simulated.
    pub(super) left_out: usize,
}

pub(super) fn traffic(options: &Options) -> Result<Traffic, Failure> {
    let place = options.file.display();
    let is_capture = captures::are_named(&options.file)?;
    let head = if is_capture { vec![] } else { captures::head(&options.file)? };
    let (mut reports, mut log): (Vec<Connection>, _) = (vec![], None);
    let found;
    if is_capture {
        let (_, capture) = captures::read(&[&options.file])?;
        found = capture.connections.len();
        reports = capture.connections.iter().filter_map(report).collect();
    } else if is_recording(&head) {
        let text = String::from_utf8(read(&options.file)?).map_err(|_| wrong_at(&place, "not a text"))?;
        for (number, line) in text.lines().enumerate() {
            match Event::parse(line, number + 1) {
                Ok(Event::Report(connection)) if connection.stage == Stage::Ended => reports.push(connection),
                Ok(_) => {}
                Err(error) => {
                    let why = format!("{error}; expected a recording of `firstflight gateway run --record`");
                    return Err(wrong_at(&place, why).into());
                }
            }
        }
        found = reports.len();
    } else {
        let path = path_of_all(options)?;
        let (mut requests, mut sized) = (0, vec![]);
        log = Some(for_each_request(&options.file, Keep::All, None, |request| {
            requests += 1;
            sized.extend(requested(&request, &path));
        })?);
        (found, reports) = (requests, sized);
    }
    if options.rate.is_some() && reports.iter().any(|report| report.cwnd > 0) {
        let why = "the file has measurements of its paths; expected it with an access log only";
        return Err(wrong_at("--rate", why).into());
    }
    reports.retain(|report| report.bytes > 0 && report.mss > 0 && report.rate > 0);
    reports.sort_by_key(began);
    if reports.is_empty() {
        let why = "no connection with data, a delivery rate and a round-trip time";
        return Err(wrong_at(place, why).into());
    }
    if let Some(log) = log {
        log.warn();
    }
    Ok(Traffic { left_out: found - reports.len(), reports })
}

/// Whether these are the first bytes of a recording: its lines are objects of one event, as those of a log in JSON are not.
fn is_recording(head: &[u8]) -> bool {
    let head = head.trim_ascii_start();
    ["start", "report", "tick", "order", "remote", "decide"].iter().any(|event| {
        let quoted = format!("\"{event}\"");
        head.strip_prefix(b"{").is_some_and(|rest| rest.trim_ascii_start().starts_with(quoted.as_bytes()))
    })
}

/// The path of `--rate` and `--rtt`.
fn path_of_all(options: &Options) -> Result<Measured, Failure> {
    let (Some(rate), Some(rtt)) = (&options.rate, &options.rtt) else {
        let why = "an access log does not state the paths of its clients; expected --rate and --rtt";
        return Err(wrong_at(options.file.display(), why).into());
    };
    let wrong = |name, text: &String, error: firstflight::Error| {
        Failure::from(wrong_at(option(name, Some(&quoted(text))), &error.problem))
    };
    let bits = parse_rate(rate).map_err(|error| wrong("rate", rate, error))?;
    let rtt = parse_time(rtt).map_err(|error| wrong("rtt", rtt, error))?;
    if rtt == Nanos::ZERO {
        return Err(wrong_at("--rtt", "zero; expected a time above zero, such as \"60 ms\"").into());
    }
    Ok(Measured { rate: mul_div(bits.0, MSS.into(), 8 * u64::from(MSS + HEADERS)), rtt, mss: MSS })
}

/// A request of a log as the report of a connection on this path; [`None`] without a size.
fn requested(request: &Request, path: &Measured) -> Option<Connection> {
    Some(Connection {
        at: request.at,
        peer: request.client,
        arm: Arm::Stock,
        stage: Stage::Ended,
        age: Nanos::ZERO,
        busy: Nanos::ZERO,
        mss: path.mss,
        bytes: request.bytes.filter(|bytes| *bytes > 0)?,
        handshake_rtt: path.rtt,
        min_rtt: path.rtt,
        srtt: path.rtt,
        rate: path.rate,
        limited: false,
        shared: false,
        cwnd: 0,
        ssthresh: None,
        receive_window: u64::MAX,
        sent: 0,
        retransmits: 0,
        timeouts: 0,
        first_window_lost: 0,
    })
}
