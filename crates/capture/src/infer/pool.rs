//! Selection and grouping of connections that shared a path, and the comparison of their estimates.

use std::collections::BTreeMap;
use std::net::IpAddr;

use firstflight_contract::Nanos;

use crate::estimate::{Estimate, Inferred};
use crate::observed::Connection;

/// Connections in the direction, between two hosts, that carried most data.
pub(super) fn busiest_pair<'a>(
    connections: &'a [Connection],
    notes: &mut Vec<String>,
) -> Vec<&'a Connection> {
    let mut bytes: BTreeMap<(IpAddr, IpAddr), u64> = BTreeMap::new();
    let pair = |connection: &Connection| (connection.sender.ip(), connection.receiver.ip());
    for connection in connections {
        *bytes.entry(pair(connection)).or_default() += connection.observed.bytes;
    }
    let busiest = bytes.iter().max_by_key(|(_, bytes)| **bytes).map(|(pair, _)| *pair);
    let pooled: Vec<_> = connections.iter().filter(|connection| Some(pair(connection)) == busiest).collect();
    if let (Some((from, to)), true) = (busiest, pooled.len() < connections.len()) {
        let others = connections.len() - pooled.len();
        notes.push(format!(
            "only the connections from {from} to {to} are used; {others} are between other hosts"
        ));
    }
    pooled
}

/// Times of the first data packet and of the last acknowledgement.
pub(super) fn span(connection: &Connection) -> (Nanos, Nanos) {
    let first = connection.trace.sends.first().map_or(Nanos::ZERO, |send| send.at);
    let last = connection.trace.acks.last().map_or(first, |ack| ack.at);
    (first, last)
}

/// Groups of connections that overlap in time, so that each shared the path only with others of its group.
pub(super) fn concurrent<'a>(connections: &[&'a Connection]) -> Vec<Vec<&'a Connection>> {
    let mut sorted: Vec<_> = connections.iter().map(|connection| (span(connection), *connection)).collect();
    sorted.sort_by_key(|(span, _)| *span);
    let (mut groups, mut until) = (Vec::<Vec<&Connection>>::new(), Nanos::ZERO);
    for ((first, last), connection) in sorted {
        match groups.last_mut().filter(|_| first < until) {
            Some(group) => group.push(connection),
            None => groups.push(vec![connection]),
        }
        until = until.max(last);
    }
    groups
}

/// Relative differences below this do not count as contradictions.
const MATTERS: f64 = 0.02;
/// Of many 95 % intervals some miss the truth; more than one in five is not chance.
const CHANCE: f64 = 0.2;

/// Compares the estimates of `groups` with the estimate `pooled`. If they contradict it, the interval is
/// widened to their range, and a note is added: if the path changed between connections, more connections do
/// not make the estimate more precise.
pub(super) fn settle(
    pooled: Inferred<Estimate>,
    groups: &[Inferred<Estimate>],
    what: &str,
    show: impl Fn(f64) -> String,
    notes: &mut Vec<String>,
) -> Inferred<Estimate> {
    let Inferred::Known(mut pooled) = pooled else { return pooled };
    let known = || groups.iter().filter_map(Inferred::known);
    let apart = |one: &&Estimate| {
        (one.low > pooled.high || one.high < pooled.low)
            && (one.value - pooled.value).abs() > MATTERS * pooled.value
    };
    let (count, contradicting) = (known().count(), known().filter(apart).count());
    if contradicting as f64 <= CHANCE * count as f64 {
        return Inferred::Known(pooled);
    }
    let least = known().map(|one| one.value).fold(pooled.low, f64::min);
    let most = known().map(|one| one.value).fold(pooled.high, f64::max);
    notes.push(format!(
        "the connections do not agree on the {what}: {contradicting} of {count} groups contradict the others, from {} to {}",
        show(least),
        show(most)
    ));
    (pooled.low, pooled.high) = (least, most);
    Inferred::Known(pooled)
}
