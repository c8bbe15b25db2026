//! `firstflight gateway simulate`: the gateway on the traffic of a capture or a recording, in the simulator.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use firstflight::build::{Flow, Path};
use firstflight::{Progress, Run, Scenario};
use firstflight_contract::Nanos;
use firstflight_gateway::{Arm, Connection, Event, Gateway, Mode, STOCK, Settings, Stage};
use firstflight_paths::Prefix;
use serde::Serialize;
use serde_json::json;

use super::{observed, read};
use crate::captures;
use crate::failure::{Failure, wrong_at};
use crate::output::{print_json, show};
use crate::progress::Bar;
use crate::table::{Align, table};

/// Stack of the simulated server: Linux with cubic.
const STARTUP: &str = "hystart-linux";
const AVOIDANCE: &str = "cubic";
/// Time between two ticks of the gateway.
const TICK: Nanos = Nanos::from_secs(1);
/// Upper bounds of the size classes, segments, and their names.
const CLASSES: [(u64, &str); 4] =
    [(10, "below 10"), (45, "10 to 44"), (200, "45 to 199"), (u64::MAX, "200 or more")];
/// Networks in the table of those that lose.
const LOSERS: usize = 10;

/// Run the gateway on the traffic of a capture or a recording, in the simulator
///
/// The estimator, the plans, the holdout and the reverts are those of the running gateway. Each connection is simulated twice,
/// as the stack starts it and as the gateway would have, on the path of its network: the greatest delivery rate and the least
/// round-trip time that its connections measured. The queue of a path is not measured; --buffer sets it. Connections do not
/// meet each other in the simulation.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway simulate server.pcap
  firstflight gateway simulate events.jsonl --buffer \"0.5 BDP\"
  firstflight gateway simulate events.jsonl --json")]
pub(super) struct Options {
    /// A capture at the server, or a recording of `gateway run --record`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Depth of the queue at each bottleneck
    #[arg(long, value_name = "DEPTH", default_value = "1 BDP")]
    buffer: String,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// Path of a network.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    /// Greatest rate, bytes per second.
    rate: u64,
    /// Least round-trip time.
    rtt: Nanos,
    mss: u32,
}

/// A simulated transfer.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    completion: Nanos,
    /// Greatest delivery within a round trip, segments.
    burst: u64,
    sent: u32,
    retransmits: u32,
    timeouts: u32,
    first_window_lost: bool,
    exit: Option<u32>,
    window: u32,
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

pub(super) fn execute(options: &Options) -> Result<(), Failure> {
    let reports = reports(options)?;
    let settings = Settings { mode: Mode::Enforce, split: None, ..Settings::default() };
    let paths = paths(&reports, &settings);
    let mut gateway = Gateway::new(settings);
    let (mut decisions, mut rows, mut live) = (vec![], vec![], BTreeMap::<Prefix, Vec<Nanos>>::new());
    let mut simulator = Simulations { buffer: &options.buffer, known: BTreeMap::new() };
    let first = reports[0].at;
    let mut ticked = Nanos::ZERO;
    let bar = Bar::new();
    bar.begin("connections", reports.len() as u64);
    for (number, report) in reports.iter().enumerate() {
        // The gateway's clock shows a second at the first report.
        let at = report.at.saturating_sub(first) + TICK;
        while ticked + TICK <= at {
            ticked += TICK;
            gateway.tick(ticked, &mut decisions);
        }
        let prefix = network(report.peer, gateway.settings());
        let Some(path) = paths.get(&prefix) else { continue };
        let others = live.entry(prefix).or_default();
        others.retain(|end| *end > at);
        let (arm, window) = match gateway.plan(report.peer) {
            None => (Arm::Stock, STOCK),
            Some(plan) if held_out(number as u64, plan.holdout) => (Arm::Holdout, STOCK),
            Some(plan) => {
                let window = (plan.window / (others.len() as u32 + 1)).max(STOCK);
                (Arm::Planned(window), window)
            }
        };
        let stock = simulator.transfer(path, report.bytes, STOCK)?;
        let with = simulator.transfer(path, report.bytes, window)?;
        others.push(at + with.completion);
        gateway.report(&connection(report, path, arm, &with, at + with.completion), &mut decisions);
        rows.push((prefix, report.bytes / u64::from(path.mss), stock, with, window));
        bar.advance(1);
    }
    bar.finish();
    let effects: Vec<_> = CLASSES
        .iter()
        .scan(0, |from, &(to, name)| {
            let of = effect(name, rows.iter().filter(|row| (*from..to).contains(&row.1)));
            *from = to;
            Some(of)
        })
        .flatten()
        .collect();
    let mut networks: Vec<_> = paths
        .keys()
        .filter_map(|prefix| effect(&prefix.to_string(), rows.iter().filter(|row| row.0 == *prefix)))
        .collect();
    networks.retain(|row| row.planned > 0);
    networks.sort_by(|a, b| b.later_p95.total_cmp(&a.later_p95));
    let verdict = gateway.verdict();
    let lines: Vec<_> = decisions.iter().map(ToString::to_string).collect();
    if options.json {
        return print_json(&json!({
            "connections": rows.len(),
            "networks": paths.len(),
            "plans": gateway.planned(),
            "decisions": lines.len(),
            "sizes": effects,
            "by_network": networks,
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
    show(&text)
}

/// Connections of the file that ended, by time.
fn reports(options: &Options) -> Result<Vec<Connection>, Failure> {
    let head = captures::head(&options.file).unwrap_or_default();
    let mut reports: Vec<Connection> = if captures::is_one(&options.file, &head) {
        let (_, capture) = captures::read(&[&options.file])?;
        capture.connections.iter().filter_map(observed::report).collect()
    } else {
        let place = options.file.display();
        let text = String::from_utf8(read(&options.file)?).map_err(|_| wrong_at(&place, "not a text"))?;
        let mut found = vec![];
        for (number, line) in text.lines().enumerate() {
            match Event::parse(line, number + 1) {
                Ok(Event::Report(connection)) => found.push(connection),
                Ok(_) => {}
                Err(error) => {
                    let why = format!(
                        "{error}; expected a capture, or a recording of `firstflight gateway run --record`"
                    );
                    return Err(wrong_at(&place, why).into());
                }
            }
        }
        found
    };
    reports.retain(|report| {
        report.stage == Stage::Ended && report.bytes > 0 && report.mss > 0 && report.rate > 0
    });
    reports.sort_by_key(|report| report.at);
    if reports.is_empty() {
        let why = "no connection with data, a delivery rate and a round-trip time";
        return Err(wrong_at(options.file.display(), why).into());
    }
    Ok(reports)
}

fn network(address: IpAddr, settings: &Settings) -> Prefix {
    let (v4, v6) = settings.bits;
    Prefix::around(address, if address.to_canonical().is_ipv4() { v4 } else { v6 })
}

/// The path of each network.
fn paths(reports: &[Connection], settings: &Settings) -> BTreeMap<Prefix, Measured> {
    let mut paths = BTreeMap::<Prefix, Measured>::new();
    for report in reports.iter().filter(|report| report.min_rtt > Nanos::ZERO) {
        let path = paths.entry(network(report.peer, settings)).or_default();
        path.rate = path.rate.max(report.rate);
        path.rtt = if path.rtt == Nanos::ZERO { report.min_rtt } else { path.rtt.min(report.min_rtt) };
        path.mss = path.mss.max(report.mss);
    }
    paths
}

/// Whether the connection of this number is held out: a fixed choice, so that the same file gives the same answer.
fn held_out(number: u64, holdout: u16) -> bool {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 32) * 1000) >> 32 < u64::from(holdout)
}

/// The simulated report.
fn connection(report: &Connection, path: &Measured, arm: Arm, with: &Transfer, at: Nanos) -> Connection {
    Connection {
        at,
        arm,
        age: with.completion,
        busy: with.completion,
        handshake_rtt: path.rtt,
        min_rtt: path.rtt,
        srtt: path.rtt,
        rate: with.burst * u64::from(path.mss) * 1_000_000_000 / path.rtt.0.max(1),
        // A transfer that never left start-up was limited by its size.
        limited: with.exit.is_none(),
        cwnd: with.window,
        ssthresh: with.exit,
        sent: with.sent,
        retransmits: with.retransmits,
        timeouts: with.timeouts,
        first_window_lost: with.first_window_lost,
        ..*report
    }
}

/// Transfers that were simulated, each once.
struct Simulations<'a> {
    buffer: &'a str,
    known: BTreeMap<(u64, Nanos, u64, u32), Transfer>,
}

impl Simulations<'_> {
    fn transfer(&mut self, path: &Measured, bytes: u64, window: u32) -> Result<Transfer, Failure> {
        let key = (path.rate, path.rtt, bytes, window);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let transfer = simulate(path, self.buffer, bytes, window)?;
        self.known.insert(key, transfer);
        Ok(transfer)
    }
}

fn simulate(path: &Measured, buffer: &str, bytes: u64, window: u32) -> Result<Transfer, Failure> {
    // Rates count payload; a packet has 52 bytes of headers besides.
    let rate = 8.0 * path.rate as f64 * f64::from(path.mss + 52) / f64::from(path.mss);
    let rtt_s = path.rtt.0 as f64 / 1e9;
    let links = Path::new(format!("{rate:.0} bit/s"), format!("{:.6} ms", rtt_s * 1e3), buffer);
    let mut flow = Flow::new().size(format!("{bytes} B")).text("profile", Some("linux"));
    flow = flow.text("startup", Some(STARTUP)).text("avoidance", Some(AVOIDANCE));
    flow = flow.text("initial_window", Some(&format!("{window} packets")));
    if window > STOCK {
        flow = flow.paced(true);
    }
    let scenario = Scenario::builder().path(links).flow(flow).build()?;
    let result = Run::of(&scenario).grid(path.rtt).execute()?;
    let flow = &result.flows[0];
    let Some(completion) = flow.completion_s else {
        return Err(Failure::new(format!("a transfer of {bytes} bytes did not end in the simulation")));
    };
    let steps = flow.delivered_at.iter().map(|(_, packets)| *packets);
    let burst = steps.clone().zip(steps.skip(1)).map(|(before, after)| after - before).max().unwrap_or(0);
    let first = flow.delivered_at.first().map_or(flow.delivered_packets, |(_, packets)| *packets);
    let exit = flow.startup_exit.as_ref();
    Ok(Transfer {
        completion: Nanos((completion * 1e9) as u64),
        burst: burst.max(first),
        sent: (flow.delivered_packets + flow.retransmits) as u32,
        retransmits: flow.retransmits as u32,
        timeouts: flow.timeouts as u32,
        // The loss of a first window is seen one to two round trips after the start, any other one later.
        first_window_lost: flow.retransmits > 0 && exit.is_some_and(|exit| exit.time_s < 2.0 * rtt_s),
        exit: exit.map(|exit| exit.cwnd_packets as u32),
        window: flow.final_cwnd_packets as u32,
    })
}

/// One connection: network, segments, as the stack starts it, as the gateway does, and the gateway's first window.
type Row = (Prefix, u64, Transfer, Transfer, u32);

/// The effect on some connections; [`None`] if there are none.
fn effect<'a>(of: &str, rows: impl Iterator<Item = &'a Row>) -> Option<Effect> {
    let rows: Vec<&Row> = rows.collect();
    if rows.is_empty() {
        return None;
    }
    let seconds = |time: Nanos| time.0 as f64 / 1e9;
    let mut stock: Vec<_> = rows.iter().map(|row| seconds(row.2.completion)).collect();
    let mut with: Vec<_> = rows.iter().map(|row| seconds(row.3.completion)).collect();
    let mut ratios: Vec<_> = rows
        .iter()
        .filter(|row| row.4 > STOCK)
        .map(|row| seconds(row.3.completion) / seconds(row.2.completion))
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
        stock_retransmits: sum(|row| row.2.retransmits),
        gateway_retransmits: sum(|row| row.3.retransmits),
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
    fn a_window_that_fits_the_path_saves_a_round_trip_of_a_short_transfer() {
        // 8 Mbit/s of packets of 1500 bytes, 50 ms: 33 packets. 30 KB are 21 segments: 10 and 11, or 21 at once.
        let path = Measured { rate: 1_000_000 * 1448 / 1500, rtt: Nanos::from_millis(50), mss: 1448 };
        let [stock, planned] =
            [10, 34].map(|window| simulate(&path, "1 BDP", 30_000, window).expect("it runs"));
        // Two round trips and the 11 packets' time on the link, 1.5 ms each; one and 21 packets', paced over half of one.
        let seconds = |transfer: &Transfer| transfer.completion.0 as f64 / 1e9;
        assert!((seconds(&stock) - 0.1165).abs() < 0.003, "{stock:?}");
        assert!((seconds(&planned) - 0.0815).abs() < 0.006, "{planned:?}");
        assert_eq!((stock.retransmits, planned.retransmits), (0, 0));
    }

    #[test]
    fn a_twentieth_of_the_connections_is_held_out_with_50_of_a_thousand() {
        let held = (0..100_000).filter(|number| held_out(*number, 50)).count();
        assert!((4_700..5_300).contains(&held), "{held}");
        assert!((0..1000).all(|number| !held_out(number, 0)));
    }
}
