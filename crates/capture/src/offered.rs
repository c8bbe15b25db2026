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
