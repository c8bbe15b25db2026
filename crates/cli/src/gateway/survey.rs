//! `firstflight gateway survey`: what a gateway would bring to a server, before anything is installed.

use std::path::PathBuf;

use clap::Args;
use firstflight_accesslog::{Grouping, Keep, Request, WindowShare, Windows};
use firstflight_contract::Nanos;
use firstflight_daemon::report;
use firstflight_document::quantity::show_time;
use firstflight_gateway::{Found, Judged, Settings, Sized, Survey};
use serde::Serialize;

use crate::captures;
use crate::failure::{Failure, wrong_at};
use crate::log::{COLUMNS, LogFormat, Read, for_each_request, row};
use crate::output::{print_json, show};
use crate::table::table;

/// Ages up to which a network counts as seen, seconds.
const WINDOWS: [u64; 4] = [60, 300, 600, 1800];

/// Say from a log or a capture what sharing between connections would bring to this server
///
/// For a web server's access log: how often a request comes from a network with another recent request, how many networks
/// are held, the share of requests that would find a plan, and the memory. `firstflight log --help` lists the formats. A
/// capture at the server, such as the ring of files of `firstflight capture`, also shows whether the hosts of a network share a
/// path.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway survey /var/log/nginx/access.log
  zcat $(ls -rv access.log.*.gz) | firstflight gateway survey -
  firstflight gateway survey server.pcap --json")]
pub(super) struct Options {
    /// An access log, a capture, the files of a ring by the name that tcpdump was given, a folder of captures, or - for a log on
    /// standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    format: LogFormat,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Output {
    requests: u64,
    span_s: f64,
    windows: Vec<WindowShare>,
    hits: f64,
    sized: Option<Sized>,
    prefixes: u64,
    bytes: u64,
    judged: Option<Judged>,
    /// Absent for a capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<Read>,
}

pub(super) fn execute(options: &Options) -> Result<(), Failure> {
    let settings = Settings::default();
    let (v4, v6) = settings.bits;
    let mut survey = Survey::new(&settings);
    let mut windows = Windows::new(&WINDOWS.map(Nanos::from_secs), &Grouping::bits(v4, v6));
    let log = if captures::are_named(&options.file)? {
        if options.format.chosen().is_some() {
            return Err(wrong_at("--format", "this is a capture; expected it with an access log only").into());
        }
        let (_, capture) = captures::read(&[&options.file])?;
        let mut reports: Vec<_> = capture.connections.iter().filter_map(report).collect();
        if reports.is_empty() {
            let why = "no connection of the capture shows data that its host sent, and a round-trip time";
            return Err(wrong_at(options.file.display(), why).into());
        }
        reports.sort_by_key(|report| report.at);
        for report in &reports {
            survey.add_measured(report);
            windows.add(Request { at: report.at, client: report.peer, bytes: None, bottleneck: None });
        }
        None
    } else {
        let format = options.format.chosen();
        let add = |request: Request| {
            survey.add(request.at, request.client, request.bytes);
            windows.add(request);
        };
        Some(for_each_request(&options.file, Keep::All, format, add)?)
    };
    let found = survey.finish();
    let windows = match windows.finish() {
        // A capture has measurements, which are a result without windows.
        Err(_) if log.is_none() => vec![],
        windows => windows.map_err(|error| wrong_at(options.file.display(), error))?,
    };
    if let Some(log) = &log {
        log.warn();
    }
    if !options.json {
        return show(&text(&found, &windows));
    }
    let Found { requests, span_s, hits, sized, prefixes, bytes, judged } = found;
    print_json(&Output { requests, span_s, windows, hits, sized, prefixes, bytes, judged, log })
}

fn text(found: &Found, windows: &[WindowShare]) -> String {
    let rows: Vec<_> = windows.iter().map(row).collect();
    let mut text = if rows.is_empty() {
        let (spans, least) = (Nanos((found.span_s * 1e9) as u64), Nanos::from_secs(WINDOWS[0]));
        format!(
            "the capture spans {}, less than the shortest window, {}\n",
            show_time(spans),
            show_time(least)
        )
    } else {
        format!("{}\n", table(COLUMNS, &rows))
    };
    text += &format!(
        "at most {:.1} % of {} requests would have found a plan; {} networks at a time, {:.1} kB of memory\n",
        100.0 * found.hits,
        found.requests,
        found.prefixes,
        found.bytes as f64 / 1e3
    );
    if let Some(sized) = found.sized {
        text += &format!(
            "of {} requests with a size {:.1} % carry more than the 10 segments with which Linux starts; {:.1} % do and would have \
             found a plan, with {:.1} % of the bytes\n",
            sized.requests,
            100.0 * sized.larger,
            100.0 * sized.larger_hits,
            100.0 * sized.bytes_share
        );
    }
    text += &match found.judged {
        Some(judged) if judged.prefixes > 0 => {
            format!(
                "hosts disagree in {} of {} networks with enough data; of {} connections that would have had a plan, {} met a \
                 path that holds less than half or more than twice of what their network's estimate says\n",
                judged.disagree, judged.prefixes, judged.connections, judged.wrong
            )
        }
        Some(_) => "no network has enough data to show whether its hosts share a path\n".to_owned(),
        None => {
            "a log does not show whether the hosts of a network share a path; a capture does\n".to_owned()
        }
    };
    text
}
