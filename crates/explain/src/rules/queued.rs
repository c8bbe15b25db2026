//! The queue that each packet found.

use firstflight_capture::Offered;

use super::fates::{Fates, logistic};

/// Least error of the queue's length, packets: a packet that is leaving is a part of one.
const LEAST_ERROR: f64 = 0.1;

/// Whole units of time of the disciplines, nanoseconds to them, in the time of a full packet.
pub(super) const TICKS: f64 = 1e6;

/// Most packets of a connection that are judged: the first ones.
const MOST: usize = 4000;

/// A packet at the queue. Times and lengths are in full packets at the bottleneck's rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) at: f64,
    /// Length of the queue that it found.
    pub(super) found: f64,
    /// Size, in full packets.
    pub(super) size: f64,
    /// Difference of its own time from the length that the packet before left; `None` if one of them is not known.
    apart: Option<f64>,
    pub(super) lost: bool,
}

/// Packets of connections at a bottleneck with a constant rate, and the time of a full packet there, seconds.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(super) connections: Vec<Vec<Packet>>,
    pub(super) packet: f64,
    /// Error of the lengths of the queue, packets.
    pub(super) error: f64,
}

/// A time in packets as one of the disciplines.
pub(super) fn ticks(packets: f64) -> u64 {
    (packets * TICKS) as u64
}

/// Lengths of the queue that the packets of a connection found: the time that they waited or, where that is not known, the queue
/// that the packet before left, less what has been sent since (D. Lindley, "The theory of queues with a single server",
/// Mathematical Proceedings of the Cambridge Philosophical Society 48(2), 1952).
fn at_queue(offered: &[Offered], packet: f64) -> Vec<Packet> {
    let full = offered.iter().map(|one| one.bytes).fold(1.0, f64::max);
    let mut queued: Vec<Packet> = vec![];
    let mut known = false;
    for one in offered.iter().take(MOST) {
        let at = one.at / packet;
        let left = queued.last().map_or(0.0, |before| {
            let added = if before.lost { 0.0 } else { 1.0 };
            (before.found + added - (at - before.at)).max(0.0)
        });
        let own = one.waited.map(|waited| waited / packet);
        // An empty queue stays empty: only where packets wait do two times differ by the errors of hosts alone.
        let apart = own.filter(|_| known && left > 0.0).map(|own| own - left);
        known = own.is_some();
        let size = one.bytes / full;
        queued.push(Packet { at, found: own.unwrap_or(left), size, apart, lost: !one.passed });
    }
    queued
}

/// Error of the lengths of a queue: that of a logistic distribution whose differences of two have this median.
fn error<'a>(packets: impl Iterator<Item = &'a Packet>) -> f64 {
    let mut apart: Vec<f64> = packets.filter_map(|packet| packet.apart).map(f64::abs).collect();
    apart.sort_by(f64::total_cmp);
    let median = apart.get(apart.len() / 2).copied().unwrap_or(0.0);
    // Half of a logistic distribution is within ln 3 of its middle, and a difference varies by the root of two more.
    (median / (libm::log(3.0) * core::f64::consts::SQRT_2)).max(LEAST_ERROR)
}

impl Queued {
    /// Packets of connections; a full one takes `packet` seconds.
    pub(crate) fn new(connections: &[&[Offered]], packet: f64) -> Self {
        let connections: Vec<Vec<Packet>> =
            connections.iter().map(|offered| at_queue(offered, packet)).collect();
        let error = error(connections.iter().flatten());
        Self { connections, packet, error }
    }

    /// Packets of all connections.
    pub(super) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.connections.iter().flatten()
    }

    /// Share of the packets that were lost.
    pub(crate) fn lost(&self) -> f64 {
        let lost = self.packets().filter(|packet| packet.lost).count();
        lost as f64 / self.packets().count().max(1) as f64
    }

    /// Longest queue that a packet found and passed.
    pub(crate) fn longest(&self) -> f64 {
        self.packets().filter(|packet| !packet.lost).map(|packet| packet.found).fold(0.0, f64::max)
    }

    /// Fates under a rule that is made anew for each connection, and asked packet by packet for the probability of a drop.
    pub(super) fn fates<R: FnMut(&Packet) -> f64>(&self, mut rule: impl FnMut() -> R) -> Fates {
        let mut fates = Fates::default();
        for connection in &self.connections {
            fates.begin();
            let mut of_rule = rule();
            connection.iter().for_each(|packet| fates.add(of_rule(packet), packet.lost));
        }
        fates
    }

    /// Probability that a buffer is full which the queue exceeds by this many packets. Most lengths have the usual error, and some
    /// have ten times as much, because a host was late.
    pub(super) fn full(&self, beyond: f64) -> f64 {
        const LATE: f64 = 0.05;
        (1.0 - LATE) * logistic(beyond / self.error) + LATE * logistic(beyond / (10.0 * self.error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_finds_what_the_one_before_left() {
        let offered = |ms: f64, waited: Option<f64>, passed: bool| Offered {
            at: ms * 1e-3,
            bytes: 1448.0,
            passed,
            waited: waited.map(|ms| ms * 1e-3),
        };
        // A full packet takes 2 ms. The second comes 1 ms after the first, which found an empty queue: half a packet is left. The third
        // comes at once after it and is lost; the fourth finds the same queue, since a lost packet adds nothing.
        let seen = [
            offered(0.0, Some(0.0), true),
            offered(1.0, None, true),
            offered(1.0, None, false),
            offered(1.0, None, true),
            offered(9.0, Some(0.4), true),
        ];
        let found: Vec<f64> = at_queue(&seen, 2e-3).iter().map(|packet| packet.found).collect();
        let expected = [0.0, 0.5, 1.5, 1.5, 0.2];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
    }
}
