//! The gateway on the connections of a server, in the simulator: each connection as the stack starts it, and as the gateway does.

mod expected;
mod paths;
mod server;
mod transfer;

use std::collections::BTreeMap;

use firstflight_contract::Nanos;
use firstflight_gateway::{Connection, HostVerdict, Mode, STOCK, Settings, Start};
use firstflight_hosts::progress::Progress;
use firstflight_paths::Prefix;
use firstflight_quantile::type_1;
use firstflight_results::Harm;
use firstflight_scenario::Error;
use serde::Serialize;

pub use expected::{BBR, Expected, expected};
pub use paths::{Measured, began};
pub use transfer::{HEADERS, MSS};

use paths::{network, paths};
use server::Server;
use transfer::{Simulations, Transfer, harm, rounded};

/// Time between two ticks of the gateway.
const TICK: Nanos = Nanos::from_secs(1);
/// Upper bounds of the size classes, segments, and their names.
const CLASSES: [(u64, &str); 4] =
    [(10, "below 10"), (45, "10 to 44"), (200, "45 to 199"), (u64::MAX, "200 or more")];

/// Networks beside whose transfers others are simulated.
const HARMED: usize = 5;

/// Effect of the gateway on the connections of a server.
pub struct Simulated {
    /// Number of connections that were simulated.
    pub connections: usize,
    /// Number of networks.
    pub networks: usize,
    /// Networks with a plan at the end.
    pub planned: usize,
    /// Number of the gateway's decisions.
    pub decisions: usize,
    /// Effect by size.
    pub by_size: Vec<Effect>,
    /// Effect by network, of those with a planned connection; those that lose most first.
    pub by_network: Vec<Effect>,
    /// Harm to others beside planned transfers.
    pub harmed: Vec<Harmed>,
    /// The gateway's own trial.
    pub verdict: HostVerdict,
}

/// Result for a group of connections.
#[derive(Clone, Debug, Serialize)]
pub struct Effect {
    /// Segments of a transfer, or the network.
    pub of: String,
    /// Number of connections.
    pub connections: usize,
    /// Connections that were given another window than the stack's.
    pub planned: usize,
    /// Median of the completion time as the stack starts connections, seconds.
    pub stock_s: f64,
    /// Median as the gateway starts them.
    pub gateway_s: f64,
    /// Median of the share of time that a planned connection saves; zero without one.
    pub sooner: f64,
    /// 95th percentile of the share of time that a planned connection loses; negative if all are sooner.
    pub later_p95: f64,
    /// Segments retransmitted as the stack starts connections.
    pub stock_retransmits: u64,
    /// Segments retransmitted as the gateway starts them.
    pub gateway_retransmits: u64,
}

/// Harm to others that share the bottleneck of a network with planned transfers.
#[derive(Clone, Debug, Serialize)]
pub struct Harmed {
    /// The network.
    pub network: String,
    /// Median size of its planned transfers that are longer than the stack's own first window.
    pub bytes: u64,
    /// Median first window of these transfers.
    pub window_segments: u32,
    /// Time of the others beside such a transfer, over that beside one that the stack starts: a bulk flow, and short requests.
    /// `None` if one of them did not end.
    pub harm: Option<Harm>,
}

/// Runs the gateway on these connections, in the order of their beginnings; at least one. `buffer` is the queue of every path.
///
/// # Errors
/// If the simulator refuses a path, or a transfer does not end.
pub fn simulate(reports: &[Connection], buffer: &str, progress: &dyn Progress) -> Result<Simulated, Error> {
    let settings = Settings { mode: Mode::Enforce, split: None, ..Settings::default() };
    let paths = paths(reports, &settings);
    let mut server = Server::new(settings);
    let mut rows = vec![];
    let mut simulator = Simulations { buffer, known: BTreeMap::new() };
    let first = began(&reports[0]);
    progress.begin("connections", reports.len() as u64);
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
        progress.advance(1);
    }
    server.finish();
    let Server { gateway, decisions, .. } = server;
    progress.finish();
    let by_size: Vec<Effect> = CLASSES
        .iter()
        .scan(0, |from, &(to, name)| {
            let of = effect(name, rows.iter().filter(|row| (*from..to).contains(&row.segments)));
            *from = to;
            Some(of)
        })
        .flatten()
        .collect();
    let mut by_network: Vec<Effect> = paths
        .keys()
        .filter_map(|prefix| effect(&prefix.to_string(), rows.iter().filter(|row| row.prefix == *prefix)))
        .collect();
    by_network.retain(|row| row.planned > 0);
    by_network.sort_by(|a, b| b.later_p95.total_cmp(&a.later_p95));
    let harmed = harmed(&rows, &paths, buffer, progress)?;
    Ok(Simulated {
        connections: rows.len(),
        networks: paths.len(),
        planned: gateway.planned(),
        decisions: decisions.len(),
        by_size,
        by_network,
        harmed,
        verdict: gateway.verdict(),
    })
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
fn harmed(
    rows: &[Row],
    paths: &BTreeMap<Prefix, Measured>,
    buffer: &str,
    progress: &dyn Progress,
) -> Result<Vec<Harmed>, Error> {
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
            None => *known.entry(key).or_insert(harm(path, buffer, bytes, (window, pace), progress)?),
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

/// Quantile by type 1 of Hyndman and Fan; zero for no values.
fn quantile(ascending: &[f64], p: f64) -> f64 {
    type_1(ascending.iter().map(|&value| (value, 1.0)), p).unwrap_or(0.0)
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
