//! Captured connections: their names, and the choice of those that show a path.

use std::collections::BTreeMap;
use std::net::IpAddr;

use firstflight_capture::Connection;
use firstflight_document::seconds::Seconds;

/// Maximum number of re-runs, for the connections with most data, so that a capture of thousands takes only
/// seconds.
const MOST_RERUNS: usize = 32;

/// A connection without data to send for more than this share of its time is no bulk transfer, but its re-run
/// is one.
const APPLICATION_LIMITED: f64 = 0.05;

/// Name of a connection in results.
pub(crate) fn name(connection: &Connection) -> String {
    format!("{} > {}", connection.sender, connection.receiver)
}

/// Indices of the connections between the two addresses that exchanged most data, those with most data first.
pub(crate) fn between_busiest(connections: &[&Connection]) -> Vec<usize> {
    let pair = |connection: &Connection| (connection.sender.ip(), connection.receiver.ip());
    let mut bytes: BTreeMap<(IpAddr, IpAddr), u64> = BTreeMap::new();
    for connection in connections {
        *bytes.entry(pair(connection)).or_default() += connection.observed.bytes;
    }
    let busiest = bytes.iter().max_by_key(|(_, bytes)| **bytes).map(|(pair, _)| *pair);
    let on_path = (0..connections.len()).filter(|&index| Some(pair(connections[index])) == busiest);
    largest(connections, on_path.collect())
}

/// Those of `indices` whose connections have most data, in its order.
pub(crate) fn largest(connections: &[&Connection], mut indices: Vec<usize>) -> Vec<usize> {
    indices.sort_by_key(|&index| std::cmp::Reverse(connections[index].observed.bytes));
    indices.truncate(MOST_RERUNS);
    indices
}

/// Whether the application always had data to send.
pub(crate) fn is_bulk(connection: &Connection) -> bool {
    let seen = &connection.observed;
    let end = seen.series.delivered.last().map_or(0.0, |&(at, _)| at);
    seen.application_limited.as_secs_f64() <= APPLICATION_LIMITED * end
}
