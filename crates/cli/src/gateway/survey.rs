//! `firstflight gateway survey`: what a gateway would bring to a server, before anything is installed.

use std::path::PathBuf;

use clap::Args;
use firstflight_accesslog::Keep;
use firstflight_contract::Nanos;
use firstflight_daemon::report;
use firstflight_gateway::{Found, Settings, Survey};

use crate::captures;
use crate::failure::{Failure, wrong_at};
use crate::log::{COLUMNS, for_each_request, row};
use crate::output::{print_json, show};
use crate::table::table;

/// Ages up to which a network counts as seen, seconds.
const WINDOWS: [u64; 4] = [60, 300, 600, 1800];

/// Say from a log or a capture what sharing between connections would bring to this server
///
/// For a web server's access log: how often a request comes from a network with another recent request, how many networks
/// are held, the share of requests that would find a plan, and the memory. A capture at the server also shows whether the
/// hosts of a network share a path.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway survey /var/log/nginx/access.log
  zcat access.log.*.gz | firstflight gateway survey -
  firstflight gateway survey server.pcap --json")]
pub(super) struct Options {
    /// An access log, a capture, or - for a log on standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

pub(super) fn execute(options: &Options) -> Result<(), Failure> {
    let mut survey = Survey::new(&Settings::default(), &WINDOWS.map(Nanos::from_secs));
    let head = captures::head(&options.file)?;
    if captures::is_one(&options.file, &head) {
        let (_, capture) = captures::read(&[&options.file])?;
        let mut reports: Vec<_> = capture.connections.iter().filter_map(report).collect();
        reports.sort_by_key(|report| report.at);
        reports.iter().for_each(|report| survey.add_measured(report));
    } else {
        for_each_request(&options.file, Keep::All, |request| survey.add(request.at, request.client))?;
    }
    let found = survey.finish().map_err(|error| wrong_at(options.file.display(), error))?;
    if options.json { print_json(&found) } else { show(&text(&found)) }
}

fn text(found: &Found) -> String {
    let rows: Vec<_> = found.windows.iter().map(row).collect();
    let mut text = format!("{}\n", table(COLUMNS, &rows));
    text += &format!(
        "at most {:.1} % of {} requests would have found a plan; {} networks at a time, {:.1} kB of memory\n",
        100.0 * found.hits,
        found.requests,
        found.prefixes,
        found.bytes as f64 / 1e3
    );
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
