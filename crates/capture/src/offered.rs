//! Packets as they were offered to a bottleneck, with their fates.
//!
//! A packet's fate is decided by the state that the packets before it left behind. A model of a bottleneck can therefore be
//! judged packet by packet, without a simulation: by what it says about each fate, given those before.

use firstflight_contract::Nanos;

use crate::packet_trace::{PacketTrace, Piece};
use crate::seconds::Seconds;

/// A packet in front of a bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offered {
    /// Seconds since the first packet.
    pub at: f64,
    /// Bytes of data.
    pub bytes: f64,
    /// Whether it passed.
    pub passed: bool,
    /// Round trip beyond the shortest one, seconds: the time that it waited. `None` if the packet was retransmitted, if its
    /// acknowledgement was released by a later packet, or if the receiver waited for one.
    pub waited: Option<f64>,
}

/// Packets of a connection in the order in which they were sent. Of several retransmissions of a packet the last one arrived; the
/// others were lost, and their times are not known.
pub(crate) fn offered(trace: &PacketTrace) -> Vec<Offered> {
    let Some(begin) = trace.sends.first().map(|send| send.at) else { return vec![] };
    let since = |at: Nanos| at.saturating_sub(begin).as_secs_f64();
    let prompt = |piece: &Piece| piece.rtt().filter(|_| piece.prompt);
    let shortest = trace.pieces.iter().filter_map(prompt).min().unwrap_or_default();
    let alone = reported_alone(trace);
    let (mut offered, mut before) = (vec![], None);
    for (piece, alone) in trace.pieces.iter().zip(alone) {
        if piece.sent == Nanos::NEVER {
            continue;
        }
        let bytes = f64::from(piece.len);
        let rtt = prompt(piece).filter(|rtt| !alone || !is_delayed(before, (piece.sent, *rtt)));
        before = rtt.map(|rtt| (piece.sent, rtt)).or(before);
        let waited = rtt.map(|rtt| rtt.saturating_sub(shortest).as_secs_f64());
        offered.push(Offered { at: since(piece.sent), bytes, passed: !piece.lost(), waited });
        if piece.resent > 0 && piece.arrived() {
            offered.push(Offered { at: since(piece.resent_at), bytes, passed: true, waited: None });
        }
    }
    // Packets of one instant are in the order of the data.
    offered.sort_by(|a, b| a.at.total_cmp(&b.at));
    offered
}

/// Pieces that are all that an acknowledgement newly reports.
fn reported_alone(trace: &PacketTrace) -> Vec<bool> {
    let mut alone = vec![false; trace.pieces.len()];
    for (first, last) in trace.acks.iter().filter_map(|ack| ack.pieces) {
        if first == last {
            alone[last as usize] = true;
        }
    }
    alone
}

/// Whether a receiver that waited for a second packet explains the round trip of one that is reported alone: no queue grows so much since
/// the packet before. Each has the time at which it was sent, and its round trip.
fn is_delayed(before: Option<(Nanos, Nanos)>, (sent, rtt): (Nanos, Nanos)) -> bool {
    /// Half of the shortest time that Linux waits (`TCP_DELACK_MIN`).
    const WAIT: Nanos = Nanos::from_millis(20);
    /// Times the bottleneck's rate at which others fill a queue.
    const FILLED: u64 = 10;
    before.is_some_and(|(earlier, shorter)| {
        let grown = FILLED.saturating_mul(sent.saturating_sub(earlier).0);
        rtt.saturating_sub(shorter).0 > WAIT.0.saturating_add(grown)
    })
}

/// Numbers of the transmissions that were lost, ascending, among all packets of data, from 1. A packet that was sent once and never arrived
/// does not count: the capture may have ended before its acknowledgement.
pub(crate) fn dropped(trace: &PacketTrace) -> Vec<u32> {
    // A part of a connection has the pieces of that part.
    let lost = |&&(_, piece): &&(u32, u32)| trace.pieces.get(piece as usize).is_some_and(Piece::lost);
    let mut dropped: Vec<u32> = trace.superseded.iter().filter(lost).map(|(number, _)| *number).collect();
    dropped.sort_unstable();
    dropped
}

#[cfg(test)]
mod tests {
    use firstflight_contract::Nanos;

    use crate::Source;
    use crate::simulated::{Simulated, SimulatedPacket};

    #[test]
    fn an_acknowledgement_that_waited_for_a_second_packet_shows_no_queue() {
        let data = |us: u64, number: u64| {
            let packet = SimulatedPacket::Data { start: 1000 * number, len: 1000, carried: 1000 };
            (Nanos::from_micros(us), packet)
        };
        let ack = |us: u64, number: u64| {
            (Nanos::from_micros(us), SimulatedPacket::Ack { ack: 1000 * number, blocks: [(0, 0); 4] })
        };
        let waits = |packets: Vec<(Nanos, SimulatedPacket)>| -> Vec<Option<f64>> {
            let seen = Simulated::new(Source::Segments, 1000, 52, packets);
            seen.offered().iter().map(|one| one.waited.map(|waited| (waited * 1e3).round())).collect()
        };
        // Three packets at once, 1 ms each at the bottleneck. The third is acknowledged 40 ms late.
        let burst = [data(0, 0), data(10, 1), data(20, 2)];
        assert_eq!(waits([&burst[..], &[ack(52_000, 2), ack(93_000, 3)]].concat()), [None, Some(0.0), None]);
        // It is acknowledged alone, 1 ms later than the second.
        assert_eq!(
            waits([&burst[..], &[ack(52_000, 2), ack(53_000, 3)]].concat()),
            [None, Some(0.0), Some(1.0)]
        );
        // 100 ms after the burst others may have filled the queue.
        let later = [ack(52_000, 2), ack(53_000, 3), data(100_000, 3), ack(192_000, 4)];
        assert_eq!(waits([&burst[..], &later].concat()), [None, Some(0.0), Some(1.0), Some(40.0)]);
    }

    #[test]
    fn a_lost_packet_has_the_number_of_its_transmission() {
        let data =
            |ms, start| (Nanos::from_millis(ms), SimulatedPacket::Data { start, len: 1000, carried: 1000 });
        let ack = |ms, ack, block| {
            let blocks = [block, (0, 0), (0, 0), (0, 0)];
            (Nanos::from_millis(ms), SimulatedPacket::Ack { ack, blocks })
        };
        // The second of four packets is lost, and so is its retransmission, the fifth. The sixth transmission is new data, the seventh arrives.
        let packets = [
            data(0, 0),
            data(1, 1000),
            data(2, 2000),
            data(3, 3000),
            ack(50, 1000, (0, 0)),
            ack(52, 1000, (2000, 3000)),
            ack(53, 1000, (2000, 4000)),
            data(54, 1000),
            data(55, 4000),
            ack(105, 1000, (2000, 5000)),
            data(300, 1000),
            ack(350, 5000, (0, 0)),
        ];
        let seen = Simulated::new(Source::Segments, 1000, 52, packets);
        assert_eq!(seen.dropped(), [2, 5]);
        let lost = seen.offered().iter().filter(|packet| !packet.passed).count();
        assert_eq!(lost, 1, "the time of a lost retransmission is not known");
    }
}
