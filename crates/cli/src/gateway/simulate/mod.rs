//! `firstflight gateway simulate`: the gateway on the traffic of a capture, a recording or an access log, in the simulator.

mod server;
mod traffic;
mod transfer;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use firstflight::Progress;
use firstflight_contract::Nanos;
use firstflight_gateway::{Connection, Mode, STOCK, Settings, Start};
use firstflight_paths::Prefix;
use firstflight_results::Harm;
use serde::Serialize;
use serde_json::json;

use server::Server;
use traffic::{Measured, Traffic, began, network, paths, traffic};
use transfer::{Simulations, Transfer, harm, rounded};

use crate::failure::Failure;
use crate::output::{print_json, show};
use crate::progress::Bar;
use crate::table::{Align, table};

/// Time between two ticks of the gateway.
const TICK: Nanos = Nanos::from_secs(1);
/// Upper bounds of the size classes, segments, and their names.
const CLASSES: [(u64, &str); 4] =
    [(10, "below 10"), (45, "10 to 44"), (200, "45 to 199"), (u64::MAX, "200 or more")];
/// Networks in the table of those that lose.
const LOSERS: usize = 10;

/// Networks beside whose transfers others are simulated.
const HARMED: usize = 5;

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

/// Result for a group of connections.
#[derive(Clone, Debug, Serialize)]
struct Effect {
    /// Segments of a transfer, or the network.
    of: String,
    connections: usize,
    /// Connections that were given another window than the stack's.
    planned: usize,
    /// Median of the completion time as the stack starts connections, seconds.
    stock_s: f64,
    /// Median as the gateway starts them.
    gateway_s: f64,
    /// Median of the share of time that a planned connection saves; zero without one.
    sooner: f64,
    /// 95th percentile of the share of time that a planned connection loses; negative if all are sooner.
    later_p95: f64,
    stock_retransmits: u64,
    gateway_retransmits: u64,
}

/// Harm to others that share the bottleneck of a network with planned transfers.
#[derive(Clone, Debug, Serialize)]
struct Harmed {
    network: String,
    /// Median size and first window of its planned transfers that are longer than the stack's own first window.
    bytes: u64,
    window_segments: u32,
    /// Time of the others beside such a transfer, over that beside one that the stack starts: a bulk flow, and short requests.
    /// `None` if one of them did not end.
    harm: Option<Harm>,
}

pub(super) fn execute(options: &Options) -> Result<(), Failure> {
    let Traffic { reports, left_out } = traffic(options)?;
    let settings = Settings { mode: Mode::Enforce, split: None, ..Settings::default() };
    let paths = paths(&reports, &settings);
    let mut server = Server::new(settings);
    let mut rows = vec![];
    let mut simulator = Simulations { buffer: &options.buffer, known: BTreeMap::new() };
    let first = began(&reports[0]);
    let bar = Bar::new();
    bar.begin("connections", reports.len() as u64);
    for (number, report) in reports.iter().enumerate() {
        // The gateway's clock shows a second at the first beginning.
        let at = began(report).saturating_sub(first) + TICK;
        server.advance(at);
        let prefix = network(report.peer, server.gateway.settings());
        let Some(path) = paths.get(&prefix) else { continue };
        let others = server.in_flight(&prefix);
        let plan = server.gateway.plan(report.peer);
        let start =
            plan.map_or(Start::STOCK, |plan| plan.start(others, held_out(number as u64, plan.holdout)));
        let stock = simulator.transfer(path, report.bytes, Start::STOCK)?;
        let with = simulator.transfer(path, report.bytes, start)?;
        server.begin(prefix, number, connection(report, path, start, &with, at + with.completion));
        let segments = report.bytes / u64::from(path.mss);
        rows.push(Row { prefix, bytes: report.bytes, segments, stock, with, start });
        bar.advance(1);
    }
    server.finish();
    let Server { gateway, decisions, .. } = server;
    bar.finish();
    let effects: Vec<_> = CLASSES
        .iter()
        .scan(0, |from, &(to, name)| {
            let of = effect(name, rows.iter().filter(|row| (*from..to).contains(&row.segments)));
            *from = to;
            Some(of)
        })
        .flatten()
        .collect();
    let mut networks: Vec<_> = paths
        .keys()
        .filter_map(|prefix| effect(&prefix.to_string(), rows.iter().filter(|row| row.prefix == *prefix)))
        .collect();
    networks.retain(|row| row.planned > 0);
    networks.sort_by(|a, b| b.later_p95.total_cmp(&a.later_p95));
    let harmed = harmed(&rows, &paths, &options.buffer)?;
    let verdict = gateway.verdict();
    let lines: Vec<_> = decisions.iter().map(ToString::to_string).collect();
    if options.json {
        return print_json(&json!({
            "connections": rows.len(),
            "left_out": left_out,
            "networks": paths.len(),
            "plans": gateway.planned(),
            "decisions": lines.len(),
            "sizes": effects,
            "by_network": networks,
            "harm_to_others": harmed,
            "trial": {
                "blocks": verdict.trial.blocks,
                "completion_ratio": verdict.trial.effect,
                "reverted": verdict.reverted.is_some(),
            },
        }));
    }
    let mut text = format!(
        "{} connections to {} networks, {} with a plan at the end; {} decisions\n\n",
        rows.len(),
        paths.len(),
        gateway.planned(),
        lines.len()
    );
    text += &pictured("segments", &effects);
    networks.truncate(LOSERS);
    text += &format!("\n{}", pictured("network, those that lose most first", &networks));
    if !harmed.is_empty() {
        text += &format!("\n{}", others(&harmed));
    }
    if left_out > 0 {
        text += &format!("\n{left_out} left out: without a size, or without a measurement\n");
    }
    show(&text)
}

/// Whether the connection of this number is held out: a fixed choice, so that the same file gives the same answer.
fn held_out(number: u64, holdout: u16) -> bool {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 32) * 1000) >> 32 < u64::from(holdout)
}

/// The simulated report.
fn connection(report: &Connection, path: &Measured, start: Start, with: &Transfer, at: Nanos) -> Connection {
    Connection {
        at,
        arm: start.arm,
        age: with.completion,
        busy: with.completion,
        handshake_rtt: path.rtt,
        min_rtt: path.rtt,
        srtt: path.rtt,
        // An ACK that fills a hole acknowledges more than arrived in its round trip, but no path delivers faster than its rate.
        rate: (with.burst * u64::from(path.mss) * 1_000_000_000 / path.rtt.0.max(1)).min(path.rate),
        // A transfer that never left start-up was limited by its size.
        limited: with.exit.is_none(),
        // Each is simulated by itself.
        shared: false,
        cwnd: with.window,
        ssthresh: with.exit,
        sent: with.sent,
        retransmits: with.retransmits,
        timeouts: with.timeouts,
        first_window_lost: with.first_window_lost,
        ..*report
    }
}

/// One connection: as the stack starts it, and as the gateway does.
struct Row {
    prefix: Prefix,
    bytes: u64,
    segments: u64,
    stock: Transfer,
    with: Transfer,
    start: Start,
}

/// Harm to others in the networks with the most planned connections that are longer than the stack's own first window.
fn harmed(rows: &[Row], paths: &BTreeMap<Prefix, Measured>, buffer: &str) -> Result<Vec<Harmed>, Failure> {
    let mut planned = BTreeMap::<Prefix, Vec<&Row>>::new();
    // A shorter transfer is sent at once in both cases.
    for row in rows.iter().filter(|row| row.start.arm.is_larger() && row.segments >= STOCK.into()) {
        planned.entry(row.prefix).or_default().push(row);
    }
    let mut networks: Vec<_> = planned.into_iter().collect();
    networks.sort_by_key(|(prefix, rows)| (std::cmp::Reverse(rows.len()), *prefix));
    let mut known = BTreeMap::new();
    let each = networks.into_iter().take(HARMED).map(|(prefix, rows)| {
        let path = &paths[&prefix];
        let bytes = rounded(middle(rows.iter().map(|row| row.bytes).collect()), path.mss);
        let (window, pace) =
            middle(rows.iter().map(|row| (row.start.arm.window(), row.start.pace)).collect());
        let key = (path.rate, path.rtt, bytes, window, pace);
        let harm = match known.get(&key) {
            Some(harm) => *harm,
            None => *known.entry(key).or_insert(harm(path, buffer, bytes, (window, pace))?),
        };
        Ok(Harmed { network: prefix.to_string(), bytes, window_segments: window, harm })
    });
    each.collect()
}

/// The middle one of some values, at least one.
fn middle<T: Copy + Ord>(mut values: Vec<T>) -> T {
    values.sort_unstable();
    values[values.len() / 2]
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

/// The effect on some connections; [`None`] if there are none.
fn effect<'a>(of: &str, rows: impl Iterator<Item = &'a Row>) -> Option<Effect> {
    let rows: Vec<&Row> = rows.collect();
    if rows.is_empty() {
        return None;
    }
    let seconds = |time: Nanos| time.0 as f64 / 1e9;
    let mut stock: Vec<_> = rows.iter().map(|row| seconds(row.stock.completion)).collect();
    let mut with: Vec<_> = rows.iter().map(|row| seconds(row.with.completion)).collect();
    let mut ratios: Vec<_> = rows
        .iter()
        .filter(|row| row.start.arm.is_larger())
        .map(|row| seconds(row.with.completion) / seconds(row.stock.completion))
        .collect();
    for values in [&mut stock, &mut with, &mut ratios] {
        values.sort_by(f64::total_cmp);
    }
    let sum = |of: fn(&Row) -> u32| rows.iter().map(|row| u64::from(of(row))).sum();
    Some(Effect {
        of: of.to_owned(),
        connections: rows.len(),
        planned: ratios.len(),
        stock_s: quantile(&stock, 0.5),
        gateway_s: quantile(&with, 0.5),
        sooner: if ratios.is_empty() { 0.0 } else { 1.0 - quantile(&ratios, 0.5) },
        later_p95: if ratios.is_empty() { 0.0 } else { quantile(&ratios, 0.95) - 1.0 },
        stock_retransmits: sum(|row| row.stock.retransmits),
        gateway_retransmits: sum(|row| row.with.retransmits),
    })
}

/// Quantile of ascending values: the smallest that at least the share `q` of them does not exceed.
fn quantile(values: &[f64], q: f64) -> f64 {
    values[((q * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_twentieth_of_the_connections_is_held_out_with_50_of_a_thousand() {
        let held = (0..100_000).filter(|number| held_out(*number, 50)).count();
        assert!((4_700..5_300).contains(&held), "{held}");
        assert!((0..1000).all(|number| !held_out(number, 0)));
    }
}
