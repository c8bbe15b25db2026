//! `firstflight gateway simulate`: the gateway on the traffic of a capture, a recording or an access log, in the simulator.

mod traffic;

use std::path::PathBuf;

use clap::Args;
use firstflight::Progress;
use firstflight_compare::gateway::{Effect, Harmed, Simulated, simulate};
use firstflight_gateway::Settings;
use serde_json::json;

use traffic::{Traffic, traffic};

use crate::failure::Failure;
use crate::output::{print_json, show};
use crate::progress::Bar;
use crate::table::{Align, table};

/// Networks in the table of those that lose.
const LOSERS: usize = 10;

/// Run the gateway on the traffic of a capture, a recording or an access log, in the simulator
///
/// The estimator, the plans, the holdout and the reverts are those of the running gateway. Each connection is simulated twice,
/// as the stack starts it and as the gateway would have, on the path of its network: the greatest delivery rate and the least
/// round-trip time that its connections measured. A log has no paths: --rate and --rtt set one for all networks, and each request
/// counts as a connection of its own. The queue of a path is not measured; --buffer sets it. Connections do not meet each other in
/// the simulation; the harm to others is that of a transfer of the median size, started as planned, to a bulk flow and to short
/// requests that share its bottleneck.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway simulate server.pcap
  firstflight gateway simulate events.jsonl --buffer \"0.5 BDP\"
  firstflight gateway simulate access.log --rate \"20 Mbit/s\" --rtt \"60 ms\"
  firstflight gateway simulate events.jsonl --json")]
pub(super) struct Options {
    /// A capture at the server, a recording of `gateway run --record`, an access log, or - for a log on standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Depth of the queue at each bottleneck
    #[arg(long, value_name = "DEPTH", default_value = "1 BDP")]
    buffer: String,
    /// Rate of every path, for a log
    #[arg(long, value_name = "RATE", requires = "rtt")]
    rate: Option<String>,
    /// Round-trip time of every path, for a log
    #[arg(long, value_name = "TIME", requires = "rate")]
    rtt: Option<String>,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

pub(super) fn execute(options: &Options) -> Result<(), Failure> {
    let Traffic { reports, left_out } = traffic(options)?;
    let bar = Bar::new();
    let simulated = simulate(&reports, &options.buffer, &bar)?;
    bar.finish();
    let Simulated { connections, networks, planned, decisions, by_size, mut by_network, harmed, verdict } =
        simulated;
    if options.json {
        return print_json(&json!({
            "connections": connections,
            "left_out": left_out,
            "networks": networks,
            "plans": planned,
            "decisions": decisions,
            "sizes": by_size,
            "by_network": by_network,
            "harm_to_others": harmed,
            "trial": {
                "blocks": verdict.trial.blocks,
                "completion_ratio": verdict.trial.effect,
                "reverted": verdict.reverted.is_some(),
            },
        }));
    }
    let mut text = format!(
        "{connections} connections to {networks} networks, {planned} with a plan at the end; {decisions} decisions\n\n"
    );
    if by_size.is_empty() {
        text += "there is no table: no connection has a size and a measured path\n";
    } else {
        text += &pictured("segments", &by_size);
        by_network.truncate(LOSERS);
        text += &format!("\n{}", pictured("network, those that lose most first", &by_network));
    }
    if planned == 0 {
        let Settings { samples, hosts, .. } = Settings::default();
        text += &format!(
            "\nno network has a plan at the end: one needs {samples} measurements of {hosts} hosts, and a path that holds more than \
             the stack's window\n"
        );
    }
    if !harmed.is_empty() {
        text += &format!("\n{}", others(&harmed));
    }
    if left_out > 0 {
        text += &format!("\n{left_out} left out: without a size, or without a measurement\n");
    }
    show(&text)
}

fn others(harmed: &[Harmed]) -> String {
    let columns = [
        ("others in the network", Align::Left),
        ("transfer", Align::Right),
        ("window", Align::Right),
        ("bulk flow takes", Align::Right),
        ("short requests take", Align::Right),
    ];
    let times = |of: Option<f64>| of.map_or("unknown".to_owned(), |times| format!("x {times:.3}"));
    let rows: Vec<_> = harmed
        .iter()
        .map(|row| {
            [
                row.network.clone(),
                format!("{} B", row.bytes),
                row.window_segments.to_string(),
                times(row.harm.map(|harm| harm.bulk)),
                times(row.harm.map(|harm| harm.request_response)),
            ]
        })
        .collect();
    table(columns, &rows)
}

fn pictured(of: &str, effects: &[Effect]) -> String {
    let columns = [
        (of, Align::Left),
        ("connections", Align::Right),
        ("planned", Align::Right),
        ("stock, median", Align::Right),
        ("gateway, median", Align::Right),
        ("planned sooner by", Align::Right),
        ("p95 later by", Align::Right),
        ("retransmits", Align::Right),
    ];
    let rows: Vec<_> = effects
        .iter()
        .map(|row| {
            [
                row.of.clone(),
                row.connections.to_string(),
                row.planned.to_string(),
                format!("{:.3} s", row.stock_s),
                format!("{:.3} s", row.gateway_s),
                format!("{:.0} %", 100.0 * row.sooner),
                format!("{:.0} %", 100.0 * row.later_p95),
                format!("{} -> {}", row.stock_retransmits, row.gateway_retransmits),
            ]
        })
        .collect();
    table(columns, &rows)
}
