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
    /// Round trip beyond the shortest one, seconds: the time that it waited. `None` if the packet was retransmitted, or its
    /// acknowledgement was released by a later packet.
    pub waited: Option<f64>,
}

/// Packets of a connection in the order in which they were sent. Of several retransmissions of a packet the last one arrived; the
/// others were lost, and their times are not known.
pub(crate) fn offered(trace: &PacketTrace) -> Vec<Offered> {
    let Some(begin) = trace.sends.first().map(|send| send.at) else { return vec![] };
    let since = |at: Nanos| at.saturating_sub(begin).as_secs_f64();
    let prompt = |piece: &Piece| piece.rtt().filter(|_| piece.prompt);
    let shortest = trace.pieces.iter().filter_map(prompt).min().unwrap_or_default();
    let mut offered = vec![];
    for piece in trace.pieces.iter().filter(|piece| piece.sent != Nanos::NEVER) {
        let bytes = f64::from(piece.len);
        let waited = prompt(piece).map(|rtt| rtt.saturating_sub(shortest).as_secs_f64());
        offered.push(Offered { at: since(piece.sent), bytes, passed: !piece.lost(), waited });
        if piece.resent > 0 && piece.arrived() {
            offered.push(Offered { at: since(piece.resent_at), bytes, passed: true, waited: None });
        }
    }
    // Packets of one instant are in the order of the data.
    offered.sort_by(|a, b| a.at.total_cmp(&b.at));
    offered
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
