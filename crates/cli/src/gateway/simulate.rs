//! `firstflight gateway simulate`: the gateway on the traffic of a capture, a recording or an access log, in the simulator.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use firstflight::build::{Flow, Path};
use firstflight::{Progress, Run, Scenario, compare};
use firstflight_accesslog::{Keep, Request};
use firstflight_contract::{Nanos, mul_div};
use firstflight_daemon::report;
use firstflight_gateway::{Arm, Connection, Decision, Event, Gateway, Mode, STOCK, Settings, Stage};
use firstflight_paths::Prefix;
use firstflight_results::Harm;
use firstflight_scenario::quantity::{parse_rate, parse_time};
use firstflight_scenario::quoted;
use serde::Serialize;
use serde_json::json;

use super::read;
use crate::captures;
use crate::failure::{Failure, wrong_at};
use crate::keys::option;
use crate::log::for_each_request;
use crate::output::{print_json, show};
use crate::progress::Bar;
use crate::table::{Align, table};

/// Stack of the simulated server: Linux with cubic.
const STARTUP: &str = "hystart-linux";
const AVOIDANCE: &str = "cubic";
/// Payload of a full segment on a path of a log, bytes.
const MSS: u32 = 1448;
/// Headers of a segment, bytes.
const HEADERS: u32 = 52;
/// Segments below which each size is simulated by itself.
const EXACT: u64 = 256;
/// Larger sizes are rounded to a part of their power of two: two to the power of this are in one.
const FINE: u32 = 4;
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
        let others = server.live.get(&prefix).copied().unwrap_or(0);
        let plan = server.gateway.plan(report.peer);
        let arm = plan.map_or(Arm::Stock, |plan| plan.arm(others, held_out(number as u64, plan.holdout)));
        let stock = simulator.transfer(path, report.bytes, Arm::Stock)?;
        let with = simulator.transfer(path, report.bytes, arm)?;
        server.begin(prefix, number, connection(report, path, arm, &with, at + with.completion));
        let segments = report.bytes / u64::from(path.mss);
        rows.push(Row { prefix, bytes: report.bytes, segments, stock, with, arm });
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

/// Time at which a connection was established.
fn began(report: &Connection) -> Nanos {
    report.at.saturating_sub(report.age)
}

/// The gateway and its live connections, in simulated time.
struct Server {
    gateway: Gateway,
    decisions: Vec<Decision>,
    /// Connections by their end and number.
    ends: BTreeMap<(Nanos, usize), (Prefix, Connection)>,
    /// Live connections of each network that has some.
    live: BTreeMap<Prefix, u32>,
    ticked: Nanos,
}

impl Server {
    fn new(settings: Settings) -> Self {
        let (ends, live) = (BTreeMap::new(), BTreeMap::new());
        Self { gateway: Gateway::new(settings), decisions: vec![], ends, live, ticked: Nanos::ZERO }
    }

    /// Has the gateway see, in order of time, all ends and ticks up to this time.
    fn advance(&mut self, to: Nanos) {
        loop {
            let tick = self.ticked + TICK;
            match self.ends.first_entry() {
                Some(first) if first.key().0 <= to.min(tick) => {
                    let (prefix, connection) = first.remove();
                    if let Some(live) = self.live.get_mut(&prefix) {
                        *live -= 1;
                        if *live == 0 {
                            self.live.remove(&prefix);
                        }
                    }
                    self.gateway.report(&connection, &mut self.decisions);
                }
                _ if tick <= to => {
                    self.ticked = tick;
                    self.gateway.tick(tick, &mut self.decisions);
                }
                _ => return,
            }
        }
    }

    fn begin(&mut self, prefix: Prefix, number: usize, connection: Connection) {
        *self.live.entry(prefix).or_default() += 1;
        self.ends.insert((connection.at, number), (prefix, connection));
    }

    fn finish(&mut self) {
        if let Some(((last, _), _)) = self.ends.last_key_value() {
            self.advance(*last);
        }
    }
}

/// Connections of the file that ended, by the time of their beginning.
struct Traffic {
    reports: Vec<Connection>,
    /// Connections and requests that cannot be simulated.
    left_out: usize,
}

fn traffic(options: &Options) -> Result<Traffic, Failure> {
    let place = options.file.display();
    let head = captures::head(&options.file);
    let mut reports: Vec<Connection>;
    let found;
    if captures::is_one(&options.file, head.as_deref().unwrap_or_default()) {
        let (_, capture) = captures::read(&[&options.file])?;
        found = capture.connections.len();
        reports = capture.connections.iter().filter_map(report).collect();
    } else if head.map_err(|error| wrong_at(&place, error))?.trim_ascii_start().starts_with(b"{") {
        let text = String::from_utf8(read(&options.file)?).map_err(|_| wrong_at(&place, "not a text"))?;
        reports = vec![];
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
        for_each_request(&options.file, Keep::All, |request| {
            requests += 1;
            sized.extend(requested(&request, &path));
        })?;
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
    Ok(Traffic { left_out: found - reports.len(), reports })
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
        cwnd: 0,
        ssthresh: None,
        receive_window: u64::MAX,
        sent: 0,
        retransmits: 0,
        timeouts: 0,
        first_window_lost: false,
    })
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
    fn transfer(&mut self, path: &Measured, bytes: u64, arm: Arm) -> Result<Transfer, Failure> {
        let bytes = rounded(bytes, path.mss);
        let key = (path.rate, path.rtt, bytes, arm.window());
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let transfer = simulate(path, self.buffer, bytes, arm)?;
        self.known.insert(key, transfer);
        Ok(transfer)
    }
}

/// The size that is simulated in place of this one: the same below 256 segments, else within 4 %. A log of weeks has so fewer
/// transfers to simulate than requests.
fn rounded(bytes: u64, mss: u32) -> u64 {
    let segments = bytes.div_ceil(mss.into());
    if segments < EXACT {
        return bytes;
    }
    let step = 1 << (segments.ilog2() - FINE);
    (segments + step / 2) / step * step * u64::from(mss)
}

/// The path of a network, with one flow of these bytes as an arm starts it.
fn scenario(path: &Measured, buffer: &str, bytes: u64, arm: Arm) -> Result<Scenario, Failure> {
    // Rates count payload.
    let rate = 8.0 * path.rate as f64 * f64::from(path.mss + HEADERS) / f64::from(path.mss);
    let rtt_s = path.rtt.0 as f64 / 1e9;
    let links = Path::new(format!("{rate:.0} bit/s"), format!("{:.6} ms", rtt_s * 1e3), buffer);
    let mut flow = Flow::new().size(format!("{bytes} B")).text("profile", Some("linux"));
    flow = flow.text("startup", Some(STARTUP)).text("avoidance", Some(AVOIDANCE));
    flow = flow.text("initial_window", Some(&format!("{} packets", arm.window())));
    if arm.is_larger() {
        flow = flow.paced(true);
    }
    Ok(Scenario::builder().path(links).flow(flow).build()?)
}

fn simulate(path: &Measured, buffer: &str, bytes: u64, arm: Arm) -> Result<Transfer, Failure> {
    let rtt_s = path.rtt.0 as f64 / 1e9;
    let scenario = scenario(path, buffer, bytes, arm)?;
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

/// One connection: as the stack starts it, and as the gateway does.
struct Row {
    prefix: Prefix,
    bytes: u64,
    segments: u64,
    stock: Transfer,
    with: Transfer,
    arm: Arm,
}

/// Harm to others in the networks with the most planned connections that are longer than the stack's own first window.
fn harmed(rows: &[Row], paths: &BTreeMap<Prefix, Measured>, buffer: &str) -> Result<Vec<Harmed>, Failure> {
    let mut planned = BTreeMap::<Prefix, Vec<&Row>>::new();
    // A shorter transfer is sent at once in both cases.
    for row in rows.iter().filter(|row| row.arm.is_larger() && row.segments >= STOCK.into()) {
        planned.entry(row.prefix).or_default().push(row);
    }
    let mut networks: Vec<_> = planned.into_iter().collect();
    networks.sort_by_key(|(prefix, rows)| (std::cmp::Reverse(rows.len()), *prefix));
    let mut known = BTreeMap::new();
    let each = networks.into_iter().take(HARMED).map(|(prefix, rows)| {
        let middle = |mut values: Vec<u64>| {
            values.sort_unstable();
            values[values.len() / 2]
        };
        let path = &paths[&prefix];
        let bytes = rounded(middle(rows.iter().map(|row| row.bytes).collect()), path.mss);
        let window = middle(rows.iter().map(|row| row.arm.window().into()).collect()) as u32;
        let key = (path.rate, path.rtt, bytes, window);
        let harm = match known.get(&key) {
            Some(harm) => *harm,
            None => *known.entry(key).or_insert(harm(path, buffer, bytes, window)?),
        };
        Ok(Harmed { network: prefix.to_string(), bytes, window_segments: window, harm })
    });
    each.collect()
}

/// Harm of a transfer with this first window, as `compare` measures it.
fn harm(path: &Measured, buffer: &str, bytes: u64, window: u32) -> Result<Option<Harm>, Failure> {
    let chain = format!("{STARTUP}+{AVOIDANCE}@iw{window}+paced");
    let bar = Bar::new();
    let comparison = compare(scenario(path, buffer, bytes, Arm::Stock)?)
        .schemes([chain])?
        .transfers(vec![bytes])
        .progress(&bar)
        .execute()?
        .comparison;
    bar.finish();
    Ok(comparison.results.first().and_then(|result| result.harm))
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
        .filter(|row| row.arm.is_larger())
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
    fn a_window_that_fits_the_path_saves_a_round_trip_of_a_short_transfer() {
        // 8 Mbit/s of packets of 1500 bytes, 50 ms: 33 packets. 30 KB are 21 segments: 10 and 11, or 21 at once.
        let path = Measured { rate: 1_000_000 * 1448 / 1500, rtt: Nanos::from_millis(50), mss: 1448 };
        let [stock, planned] =
            [Arm::Stock, Arm::Planned(34)].map(|arm| simulate(&path, "1 BDP", 30_000, arm).expect("it runs"));
        // Two round trips and the 11 packets' time on the link, 1.5 ms each; one and 21 packets', paced over half of one.
        let seconds = |transfer: &Transfer| transfer.completion.0 as f64 / 1e9;
        assert!((seconds(&stock) - 0.1165).abs() < 0.003, "{stock:?}");
        assert!((seconds(&planned) - 0.0815).abs() < 0.006, "{planned:?}");
        assert_eq!((stock.retransmits, planned.retransmits), (0, 0));
    }

    #[test]
    fn a_size_is_simulated_within_three_per_cent_and_a_small_one_exactly() {
        for bytes in [1, 1448, 30_000, 255 * 1448] {
            assert_eq!(rounded(bytes, 1448), bytes);
        }
        // 2^20 bytes are 725 segments: 32 segments are a sixteenth of 512, and 23 of them are nearest.
        assert_eq!(rounded(1 << 20, 1448), 23 * 32 * 1448);
        let worst = (1..20_000_u64).map(|i| {
            let bytes = i * 100_003;
            (rounded(bytes, 1448) as f64 / bytes as f64 - 1.0).abs()
        });
        assert!(worst.fold(0.0, f64::max) < 0.04);
    }

    #[test]
    fn a_twentieth_of_the_connections_is_held_out_with_50_of_a_thousand() {
        let held = (0..100_000).filter(|number| held_out(*number, 50)).count();
        assert!((4_700..5_300).contains(&held), "{held}");
        assert!((0..1000).all(|number| !held_out(number, 0)));
    }
}
