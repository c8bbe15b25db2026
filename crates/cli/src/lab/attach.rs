//! `firstflight lab attach`: schemes for the applications of this machine.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clap::Args;
use firstflight_contract::Exit;
use firstflight_document::quantity::parse_time;
use firstflight_document::quoted;
use firstflight_kernel::{Offer, Totals};
use firstflight_scenario::SchemeSpec;
use serde_json::{Map, json};

use crate::failure::{Failure, wrong_at};
use crate::keys::option;
use crate::output::{json_line, print, show};

/// Time between two readings of the counts.
const TICK: Duration = Duration::from_millis(200);

/// Offer a scheme to the applications of this machine, until the command is stopped
///
/// The kernel gets a congestion control ff_NAME, which applications select by TCP_CONGESTION. With --cgroup, every connection that
/// the processes of a cgroup open or accept from now on uses it. No setting of the machine is changed, and the offer ends
/// with the command, however it ends; connections that use the scheme go on with it. Counts are printed when they change,
/// at most once a second. Needs root.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight lab attach hystart+++cubic
  firstflight lab attach past+reno --cgroup /sys/fs/cgroup/unified/web
  firstflight lab attach bbr --for \"10 s\" --json")]
pub(crate) struct Options {
    /// A start-up scheme and an avoidance scheme joined by +, or a standalone scheme, with their default parameters
    #[arg(value_name = "SCHEME")]
    scheme: String,
    /// Use the scheme for the connections of this cgroup: a folder of the cgroup2 hierarchy; its root is the whole machine
    #[arg(long, value_name = "PATH")]
    cgroup: Option<PathBuf>,
    /// Stop after this time
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true)]
    span: Option<String>,
    /// Print the counts as JSON, one object on each line
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    let scheme = SchemeSpec::parse(&options.scheme).map_err(|error| error.in_file("SCHEME", None))?;
    let labels: Vec<_> = scheme.phases().iter().map(|phase| phase.label()).collect();
    let ticks = options.span.as_deref().map(ticks).transpose()?;
    let mut offered = Offer::new(&labels).and_then(|offer| offer.load()).map_err(Failure::new)?;
    let selected = options.cgroup.as_deref().map(|cgroup| offered.select_for(cgroup)).transpose();
    let _selected = selected.map_err(Failure::new)?;
    if !options.json {
        let users = match &options.cgroup {
            None => "applications may select it".to_owned(),
            Some(cgroup) => format!("new connections of {} use it", cgroup.display()),
        };
        show(&format!("{} is {} until this command ends; {users}.\n", offered.name(), scheme.label()))?;
    }
    let per_second = (Duration::from_secs(1).as_millis() / TICK.as_millis()) as u64;
    let (mut shown, mut tick) = (None, 0);
    loop {
        let over = ticks.is_some_and(|ticks| tick >= ticks);
        if over || tick.is_multiple_of(per_second) {
            let totals = offered.totals().map_err(Failure::new)?;
            if shown != Some(totals) {
                match options.json {
                    true => print(&json_line(&object(offered.name(), &totals)))?,
                    false => show(&line(&totals))?,
                }
                shown = Some(totals);
            }
        }
        if over {
            return Ok(());
        }
        thread::sleep(TICK);
        tick += 1;
    }
}

/// The number of ticks in a time.
fn ticks(text: &str) -> Result<u64, Failure> {
    let time = parse_time(text).map_err(|error| {
        wrong_at(option("for", Some(&quoted(text))), &error.problem)
            .near(error.nearest.as_deref())
            .expecting("a time, such as \"10 s\"")
    })?;
    Ok(time.0.div_ceil(TICK.as_nanos() as u64))
}

/// The ends of start-up by reason, those that occurred.
fn exits(totals: &Totals) -> impl Iterator<Item = (&'static str, u64)> {
    Exit::ALL.into_iter().zip(totals.exits).filter(|(_, count)| *count > 0).map(|(exit, n)| (exit.label(), n))
}

fn line(totals: &Totals) -> String {
    let open = totals.connections.saturating_sub(totals.ended);
    let reasons: Vec<_> = exits(totals).map(|(reason, count)| format!("{count} {reason}")).collect();
    let ended = if reasons.is_empty() { "none".to_owned() } else { reasons.join(", ") };
    let mut line = format!(
        "{} connections, {open} of them open; start-up ended: {ended}; {} segments retransmitted",
        totals.connections, totals.retransmitted
    );
    if totals.panics > 0 {
        line += &format!("; {} panics of the scheme", totals.panics);
    }
    if totals.unselected > 0 {
        line += &format!("; {} connections kept their own congestion control", totals.unselected);
    }
    line + "\n"
}

fn object(name: &str, totals: &Totals) -> serde_json::Value {
    let exits: Map<_, _> = exits(totals).map(|(reason, count)| (reason.to_owned(), json!(count))).collect();
    json!({
        "congestion_control": name,
        "connections": totals.connections,
        "ended": totals.ended,
        "exits": exits,
        "retransmitted": totals.retransmitted,
        "panics": totals.panics,
        "unselected": totals.unselected,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_what_occurred() {
        let mut totals = Totals { connections: 12, ended: 9, retransmitted: 81, ..Totals::default() };
        assert_eq!(
            line(&totals),
            "12 connections, 3 of them open; start-up ended: none; 81 segments retransmitted\n"
        );
        totals.exits[Exit::Delay as usize] = 5;
        totals.exits[Exit::Loss as usize] = 4;
        totals.panics = 1;
        assert_eq!(
            line(&totals),
            "12 connections, 3 of them open; start-up ended: 4 loss, 5 delay; 81 segments retransmitted; 1 panics of the scheme\n"
        );
    }
}
