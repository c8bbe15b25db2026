//! Packets that later ones overtook: their number, and the extent of it in packets and in time (A. Morton et al., "Packet
//! Reordering Metrics", RFC 4737).
//!
//! A capture at the sender shows arrivals by acknowledgements: a SACK block that reports a later packet and, after it, an
//! acknowledgement of the packet itself. A capture elsewhere shows the same acknowledgements, so that both count alike. A
//! packet whose original was lost is no such packet, nor is its retransmission; one that was retransmitted although its
//! original was on its way is.

use firstflight_contract::Nanos;
use serde::Serialize;

use crate::packet_trace::{PacketTrace, Piece};
use crate::seconds::Seconds;

/// Overtaken packets of a connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reordering {
    /// Number of overtaken packets. Only the first missing packet counts at a time: an acknowledgement has room for three or
    /// four SACK blocks, so that others may be reported late for another reason. Behind a loss none count.
    pub packets: u64,
    /// Packets sent later that arrived before, median and most: the reordering extent of RFC 4737, section 4.2.1, of a packet
    /// that is late by itself.
    pub extent_packets: (u64, u64),
    /// Time after the first later arrival, seconds, median and longest: the late-time offset of RFC 4737, section 4.2.2.
    pub late_s: (f64, f64),
}

/// An overtaken packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overtaken {
    /// Index of its piece.
    index: usize,
    /// Packets sent later that arrived before it.
    pub(crate) extent: u64,
    /// Time after the first of them.
    pub(crate) late: Nanos,
}

/// Overtaken packets, in sequence.
pub(crate) fn overtaken(trace: &PacketTrace) -> Vec<Overtaken> {
    let pieces = &trace.pieces;
    // Time at which the first transmission was known to have arrived. No retransmission is acknowledged within half a round
    // trip.
    let soon = Nanos(trace.min_rtt().map_or(0, |rtt| rtt.0 / 2));
    let arrived = |piece: &Piece| match piece.resent {
        0 => piece.delivered,
        1 if piece.spurious && piece.delivered.saturating_sub(piece.resent_at) < soon => piece.delivered,
        _ => Nanos::NEVER,
    };
    let mut later = vec![Nanos::NEVER; pieces.len() + 1];
    for (index, piece) in pieces.iter().enumerate().rev() {
        later[index] = later[index + 1].min(arrived(piece));
    }
    let mut before = Nanos::ZERO;
    let mut found = vec![];
    for (index, piece) in pieces.iter().enumerate() {
        let own = arrived(piece);
        let first = before < piece.delivered;
        before = before.max(piece.delivered);
        if first && own != Nanos::NEVER && piece.sent != Nanos::NEVER && later[index + 1] < own {
            found.push(Overtaken { index, extent: 0, late: own.saturating_sub(later[index + 1]) });
        }
    }
    if found.is_empty() {
        return found;
    }
    let times: Vec<Nanos> = pieces.iter().map(arrived).collect();
    count_earlier(&times, &mut found);
    found
}

/// Counts for each packet the later ones that arrived before it: a binary indexed tree over the packets that have arrived (P.
/// Fenwick, Software: Practice and Experience 24(3), 1994).
fn count_earlier(times: &[Nanos], found: &mut [Overtaken]) {
    let mut arrivals: Vec<usize> = (0..times.len()).filter(|&index| times[index] != Nanos::NEVER).collect();
    arrivals.sort_by_key(|&index| times[index]);
    let mut tree = vec![0_u64; times.len() + 1];
    let mut next = arrivals.iter().peekable();
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|&one| times[found[one].index]);
    let mut arrived = 0;
    for one in order {
        let own = found[one].index;
        while let Some(&index) = next.next_if(|&&index| times[index] < times[own]) {
            arrived += 1;
            let mut at = index + 1;
            while at < tree.len() {
                tree[at] += 1;
                at += at & at.wrapping_neg();
            }
        }
        let (mut up_to, mut at) = (0, own + 1);
        while at > 0 {
            up_to += tree[at];
            at &= at - 1;
        }
        found[one].extent = arrived - up_to;
    }
}

impl Reordering {
    /// `None` if no packet was overtaken.
    pub(crate) fn of(trace: &PacketTrace) -> Option<Self> {
        let found = overtaken(trace);
        let extents = sorted(found.iter().map(|one| one.extent));
        let late = sorted(found.iter().map(|one| one.late));
        Some(Self {
            packets: found.len() as u64,
            extent_packets: (middle(&extents)?, *extents.last()?),
            late_s: (middle(&late)?.as_secs_f64(), late.last()?.as_secs_f64()),
        })
    }
}

fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values
}

/// Median of sorted values: of an even number, the lower one.
fn middle<T: Copy>(sorted: &[T]) -> Option<T> {
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

/// Statistics for [`crate::summary::NAMES`]: the square root of the number of overtaken packets; the logarithms of the median
/// extent and of two quantiles of the time, in seconds and at least `shortest`; and the square root of the number of
/// retransmissions of packets that were on their way.
pub(crate) fn statistics(trace: &PacketTrace, shortest: f64) -> [f64; 5] {
    let found = overtaken(trace);
    let extents = sorted(found.iter().map(|one| one.extent));
    let late = sorted(found.iter().map(|one| one.late));
    let spurious = trace.pieces.iter().filter(|piece| piece.resent > 0 && piece.spurious).count();
    let extent = middle(&extents).unwrap_or(1).max(1);
    let time = |share: f64| {
        let at = (late.len().saturating_sub(1) as f64 * share).round() as usize;
        libm::log(late.get(at).map_or(0.0, |late| late.as_secs_f64()).max(shortest))
    };
    [(found.len() as f64).sqrt(), libm::log(extent as f64), time(0.5), time(0.9), (spurious as f64).sqrt()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::Epoch;

    /// Packets in sequence: time of arrival, milliseconds, and whether it is that of a retransmission after a loss.
    fn trace(arrivals: &[(u64, bool)]) -> PacketTrace {
        let piece = |(index, &(at, lost)): (usize, &(u64, bool))| Piece {
            sent: Nanos::ZERO,
            sent_by: Nanos::ZERO,
            start: 1000 * index as u64,
            len: 1000,
            number: 0,
            wire: 1040,
            resent: u32::from(lost),
            resent_at: Nanos::ZERO,
            resent_stamp: None,
            delivered: Nanos::from_millis(at),
            spurious: false,
            prompt: true,
            epoch: Some(Epoch::MIN),
        };
        PacketTrace { pieces: arrivals.iter().enumerate().map(piece).collect(), ..PacketTrace::default() }
    }

    #[test]
    fn overtaken_packets_with_their_extents_and_times() {
        // The second of eight arrives after the third and the fourth, 5 ms after the third; the sixth after the seventh, by 1
        // ms. The order of arrival is 0 2 3 1 4 6 5 7.
        let times = [10, 17, 12, 13, 18, 21, 20, 22].map(|at| (at, false));
        let seen = Reordering::of(&trace(&times)).expect("two are overtaken");
        assert_eq!(seen, Reordering { packets: 2, extent_packets: (1, 2), late_s: (0.001, 0.005) });
        let [count, extent, half, most, spurious] = statistics(&trace(&times), 50e-6);
        assert_eq!((count, spurious), (2_f64.sqrt(), 0.0));
        assert_eq!(extent, 0.0, "the median extent is one packet");
        // Of two, the quantile 50 % rounds up to the later one.
        assert!((half - 0.005_f64.ln()).abs() < 1e-12 && half == most, "{half} {most}");
    }

    #[test]
    fn a_lost_packet_is_not_overtaken_and_none_behind_it_counts() {
        // The second was lost and arrives by its retransmission; the fourth is late as well, but behind the hole.
        let times = [(10, false), (120, true), (12, false), (15, false), (13, false), (121, false)];
        assert_eq!(Reordering::of(&trace(&times)), None);
        assert_eq!(statistics(&trace(&times), 50e-6), [0.0, 0.0, 50e-6_f64.ln(), 50e-6_f64.ln(), 0.0]);
    }

    #[test]
    fn a_packet_retransmitted_while_it_was_on_its_way_is_overtaken() {
        let mut trace = trace(&[(10, false), (18, true), (12, false), (13, false), (14, false), (15, false)]);
        // Retransmitted 4 ms before the acknowledgement, and the shortest round trip is 10 ms.
        (trace.pieces[1].spurious, trace.pieces[1].resent_at) = (true, Nanos::from_millis(14));
        let seen = Reordering::of(&trace).expect("the original was late");
        assert_eq!(seen, Reordering { packets: 1, extent_packets: (4, 4), late_s: (0.006, 0.006) });
        assert_eq!(statistics(&trace, 50e-6)[4], 1.0);
        // 5 ms is half a round trip: the retransmission may have been acknowledged.
        trace.pieces[1].resent_at = Nanos::from_millis(13);
        assert_eq!(Reordering::of(&trace), None);
    }

    #[test]
    fn packets_that_one_acknowledgement_reports_together_are_in_order() {
        assert_eq!(Reordering::of(&trace(&[(10, false), (12, false), (12, false), (12, false)])), None);
    }
}
