//! Division of the connections of a client network by the bottleneck that they crossed.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::infer_together;
use super::pool::span;
use crate::estimate::{Estimate, Inferred, PathEstimate};
use crate::observed::Connection;

/// Factor between two rates, or two round trips, from which on they are those of two bottlenecks. Estimates of one bottleneck
/// at different times differ by less, and the access lines that a provider sells by more.
const APART: f64 = 1.25;

/// Difference of two round trips, seconds, that is none: the hosts of one site are up to so far from their access link.
const NEAR: f64 = 0.005;

/// `connections` by the bottleneck that they seem to have crossed, the one with most data first. The order of the connections
/// is kept within each.
///
/// The connections between the same two hosts are taken to cross the same bottleneck. Those of two pairs of hosts cross the
/// same one, unless their round trips differ by more than a quarter and 5 ms, or their rates by more than a quarter. Where the
/// connections of two pairs overlap in time, they may have shared the rate of the bottleneck, so that only round trips count.
pub fn bottlenecks<'a>(connections: &[&'a Connection]) -> Vec<Vec<&'a Connection>> {
    let mut pairs: BTreeMap<(IpAddr, IpAddr), Vec<&Connection>> = BTreeMap::new();
    for &connection in connections {
        let pair = (connection.sender.ip(), connection.receiver.ip());
        pairs.entry(pair).or_default().push(connection);
    }
    let mut pairs: Vec<Vec<&Connection>> = pairs.into_values().collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse(bytes(pair)));
    // each bottleneck with the estimates of its first pair, which has most data
    let mut found: Vec<(PathEstimate, Vec<&Connection>)> = vec![];
    for pair in pairs {
        let path = infer_together(&pair);
        let same = |(other, all): &&mut (PathEstimate, Vec<&Connection>)| {
            resemble(&path, other, overlap(&pair, all))
        };
        match found.iter_mut().find(same) {
            Some((_, all)) => all.extend(pair),
            None => found.push((path, pair)),
        }
    }
    found.sort_by_key(|(_, all)| std::cmp::Reverse(bytes(all)));
    let place = |connection: &&Connection| {
        connections.iter().position(|other| std::ptr::eq(*other, *connection)).unwrap_or(usize::MAX)
    };
    let in_order = |(_, mut all): (PathEstimate, Vec<&'a Connection>)| {
        all.sort_by_key(place);
        all
    };
    found.into_iter().map(in_order).collect()
}

fn bytes(connections: &[&Connection]) -> u64 {
    connections.iter().map(|connection| connection.observed.bytes).sum()
}

/// Whether any connection of `these` ran at the same time as one of `others`.
fn overlap(these: &[&Connection], others: &[&Connection]) -> bool {
    let meet = |one: &Connection, other: &Connection| {
        let ((from, until), (begin, end)) = (span(one), span(other));
        from < end && begin < until
    };
    these.iter().any(|one| others.iter().any(|other| meet(one, other)))
}

/// Whether two paths may have the same bottleneck.
fn resemble(one: &PathEstimate, other: &PathEstimate, concurrent: bool) -> bool {
    near(&one.rtt, &other.rtt, NEAR) && (concurrent || near(&one.rate, &other.rate, 0.0))
}

/// Whether the intervals of two values are less than a factor of [`APART`] or the difference `least` apart.
fn near(one: &Inferred<Estimate>, other: &Inferred<Estimate>, least: f64) -> bool {
    let ends = |value: &Inferred<Estimate>| match value {
        Inferred::Known(known) => (known.low, known.high),
        Inferred::Unknown(unknown) => (unknown.low.unwrap_or(0.0), unknown.high.unwrap_or(f64::INFINITY)),
    };
    let ((low, high), (other_low, other_high)) = (ends(one), ends(other));
    let below = |high: f64, low: f64| low > APART * high && low > high + least;
    !below(high, other_low) && !below(other_high, low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Unknown;

    fn known(low: f64, high: f64) -> Inferred<Estimate> {
        Inferred::Known(Estimate { value: (low + high) / 2.0, low, high, how: String::new() })
    }

    #[test]
    fn values_are_near_unless_their_intervals_are_a_quarter_apart() {
        // 20 to 21 and 26 to 30 Mbit/s: 26 < 1.25 * 21 = 26.25; 27 to 30: 27 > 26.25
        assert!(near(&known(20e6, 21e6), &known(26e6, 30e6), 0.0));
        assert!(!near(&known(20e6, 21e6), &known(27e6, 30e6), 0.0));
        assert!(!near(&known(27e6, 30e6), &known(20e6, 21e6), 0.0));
        // 2 ms and 6 ms are a factor of three, and 4 ms, apart
        assert!(near(&known(0.002, 0.002), &known(0.006, 0.006), NEAR));
        assert!(!near(&known(0.002, 0.002), &known(0.008, 0.008), NEAR));
        let at_least = |low| Inferred::Unknown(Unknown { why: String::new(), low: Some(low), high: None });
        assert!(near(&at_least(5e6), &known(20e6, 20e6), 0.0));
        assert!(!near(&at_least(50e6), &known(20e6, 20e6), 0.0));
    }
}
