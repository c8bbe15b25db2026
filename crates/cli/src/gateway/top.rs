//! `firstflight gateway top`: the networks with the most connections, live.

use std::thread;
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::{Socket, halted, trial, word};
use crate::arguments::whole;
use crate::failure::Failure;
use crate::output::{json_line, print, show};
use crate::table::{Align, table};

/// Time between two pictures.
const PAUSE: Duration = Duration::from_secs(1);

/// Show the networks with the most connections: estimate, plan and effect, renewed every second
///
/// On a terminal the picture is renewed until Ctrl-C. Elsewhere one picture is printed, or --times of them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway top
  firstflight gateway top --times 10 --json")]
pub(crate) struct Options {
    /// Number of pictures
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=1_000_000))]
    times: Option<u64>,
    /// Number of networks
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<u32>(1..=1000))]
    rows: u32,
    #[command(flatten)]
    socket: Socket,
}

pub(super) fn execute(options: &Options) -> Result<(), Failure> {
    let terminal = console::Term::stdout();
    let live = terminal.is_term() && !options.socket.json;
    let times = options.times.unwrap_or(if live { u64::MAX } else { 1 });
    for time in 0..times {
        if time > 0 {
            thread::sleep(PAUSE);
        }
        let status = options.socket.get("/v1/status")?;
        let found = options.socket.get(&format!("/v1/prefixes?limit={}", options.rows))?;
        if options.socket.json {
            print(&json_line(&found))?;
            continue;
        }
        if live {
            terminal.clear_screen().map_err(Failure::from_stdout)?;
        }
        show(&picture(&status, &found))?;
    }
    Ok(())
}

fn picture(status: &Value, found: &Value) -> String {
    format!(
        "mode {}{}; {} networks, {} with a plan; {}\n\n{}",
        word(&status["mode"]),
        halted(status),
        status["prefixes"],
        status["plans"],
        trial(&status["trial"]),
        networks(found["prefixes"].as_array().map_or(&[], Vec::as_slice))
    )
}

/// The table of networks, each as `GET /v1/explain` answers.
pub(super) fn networks(found: &[Value]) -> String {
    let number =
        |value: &Value, digits: usize| value.as_f64().map_or("-".to_owned(), |x| format!("{x:.digits$}"));
    let columns = [
        ("network", Align::Left),
        ("hosts", Align::Right),
        ("samples", Align::Right),
        ("estimate", Align::Right),
        ("window", Align::Right),
        ("given", Align::Right),
        ("open", Align::Right),
        ("in flight", Align::Right),
        ("time ratio", Align::Right),
        ("why no plan", Align::Left),
    ];
    let rows: Vec<[String; 10]> = found
        .iter()
        .map(|row| {
            [
                word(&row["prefix"]).to_owned(),
                number(&row["hosts"], 0),
                number(&row["estimate"]["samples"], 0),
                number(&row["estimate"]["window_segments"], 1),
                number(&row["plan"]["window_segments"], 0),
                number(&row["given_segments"], 1),
                number(&row["live_connections"], 0),
                number(&row["in_flight_segments"], 0),
                number(&row["trial"]["completion_ratio"]["mean"], 2),
                row["why_no_plan"].as_str().unwrap_or_default().to_owned(),
            ]
        })
        .collect();
    table(columns, &rows)
}
