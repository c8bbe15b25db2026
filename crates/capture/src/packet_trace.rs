//! Packet trace of a connection: for each piece of its data the times of transmission, retransmission and
//! arrival.
//!
//! The method is that of tcptrace (Ostermann) and of the sender's scoreboard (RFC 6675): data packets add
//! pieces or mark them retransmitted; acknowledgements and SACK blocks mark them delivered. Segments larger
//! than the path's, which segmentation offload leaves in a capture at the sender, are split into the packets
//! that the hardware sends.

mod walk;

use firstflight_contract::Nanos;

use crate::ecn::CongestionMarks;
use crate::flows::{Epoch, Flow, Packet};
use crate::numbers::Numbers;
use crate::segment::Segment;
use crate::side::Side;
use crate::source::{Source, is_full};
use crate::view::View;
use walk::walk;

/// A range of data that travels as one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Time of the first transmission; [`Nanos::NEVER`] if the capture missed it.
    pub(crate) sent: Nanos,
    /// Latest possible time of the first transmission; later than `sent` only if the capture shows no more
    /// than the packets around it.
    pub(crate) sent_by: Nanos,
    /// Offset of the first byte in the data.
    pub(crate) start: u64,
    pub(crate) len: u32,
    /// Number of its last transmission among those of the connection, from 1.
    pub(crate) number: u32,
    /// Length of its IP packet, bytes.
    pub(crate) wire: u32,
    /// Number of retransmissions.
    pub(crate) resent: u32,
    /// Time of the last retransmission. For a piece that the capture missed: time of the packet that revealed the gap.
    pub(crate) resent_at: Nanos,
    /// Time stamp option of the first retransmission. For a missed piece: of the packet that revealed the gap.
    pub(crate) resent_stamp: Option<u32>,
    /// Time at which the sender learned of the arrival; [`Nanos::NEVER`] if the sender never did.
    pub(crate) delivered: Nanos,
    /// Whether the receiver had the data before the retransmission arrived.
    pub(crate) spurious: bool,
    /// Whether the arrival of the piece released its acknowledgement: the piece was sent last of all that the
    /// acknowledgement newly reports.
    pub(crate) prompt: bool,
    /// Epoch of the last transmission; `None` if the capture's clock stepped between it and the acknowledgement.
    pub(crate) epoch: Option<Epoch>,
}

impl Piece {
    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    pub(crate) fn arrived(&self) -> bool {
        self.delivered != Nanos::NEVER
    }

    /// Whether it was sent once and arrived, but the capture's clock stepped in between.
    pub(crate) fn is_cut(&self) -> bool {
        self.arrived() && self.resent == 0 && self.sent != Nanos::NEVER && self.epoch.is_none()
    }

    /// Whether its first transmission was lost.
    pub(crate) fn lost(&self) -> bool {
        self.resent > 0 && !self.spurious
    }

    /// Whether `packet` is a retransmission, and not the original on a slower path. The packet contains a piece that the
    /// capture missed so far. The stamp of a retransmission is later than that of the packet that revealed the gap. Without
    /// stamps, a retransmission arrives more than 3 ms later: packets overtake each other within 3 ms (Wireshark's limit).
    pub(crate) fn fills_a_hole(&self, packet: &Packet) -> bool {
        const OVERTAKEN: Nanos = Nanos::from_millis(3);
        match (self.resent_stamp, packet.timestamps) {
            (Some(shown), Some((stamp, _))) => (stamp.wrapping_sub(shown) as i32) > 0,
            _ => packet.at.saturating_sub(self.resent_at) > OVERTAKEN,
        }
    }

    /// Round trip of a piece that was sent once and arrived (Karn's rule), without a step of the capture's clock.
    pub(crate) fn rtt(&self) -> Option<Nanos> {
        let clear = self.arrived() && self.resent == 0 && self.sent != Nanos::NEVER && self.epoch.is_some();
        clear.then(|| self.delivered.saturating_sub(self.sent))
    }
}

/// An acknowledgement at the point of capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CapturedAck {
    pub(crate) at: Nanos,
    /// Cumulatively acknowledged bytes, from the first data byte.
    pub(crate) ack: u64,
    /// Data bytes newly reported as arrived, cumulatively or selectively.
    pub(crate) bytes: u64,
    /// The same in bytes on the wire.
    pub(crate) wire: u64,
    /// First piece in sequence and last piece sent, of the pieces newly reported.
    pub(crate) pieces: Option<(u32, u32)>,
    /// Bytes in flight after it: sent and not known to have arrived.
    pub(crate) flight: u64,
    /// Advertised receive window, bytes, if its scale is known.
    pub(crate) window: Option<u64>,
    /// Length of its IP packet.
    pub(crate) ip_len: u32,
    /// Whether it carries no data.
    pub(crate) pure: bool,
    /// Whether it has SACK blocks or repeats the previous acknowledgement, so the receiver misses data.
    pub(crate) disordered: bool,
    /// Whether it echoes a congestion mark.
    pub(crate) marked: bool,
    /// Epoch of the capture's clock.
    pub(crate) epoch: Epoch,
}

#[cfg(test)]
impl CapturedAck {
    /// An acknowledgement without data, SACK blocks or mark that newly reports packets of `bytes` up to `ack`.
    pub(crate) fn pure(at: Nanos, ack: u64, bytes: u64) -> Self {
        Self {
            at,
            ack,
            bytes,
            wire: bytes,
            pieces: None,
            flight: 0,
            window: None,
            ip_len: 40,
            pure: true,
            disordered: false,
            marked: false,
            epoch: Epoch::MIN,
        }
    }
}

/// A transmission of data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentPacket {
    pub(crate) at: Nanos,
    pub(crate) len: u32,
    /// Bytes in flight after it.
    pub(crate) flight: u64,
    /// End of the data sent so far.
    pub(crate) end: u64,
    /// Whether it carried new data, at least in part.
    pub(crate) new: bool,
    /// Whether it ends with a partial segment, so that the application had no more data.
    pub(crate) short: bool,
    /// Number of acknowledgements before it.
    pub(crate) acks_before: u32,
}

/// Data, acknowledgements and transmissions of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketTrace {
    /// Pieces of the data, in sequence.
    pub(crate) pieces: Vec<Piece>,
    pub(crate) acks: Vec<CapturedAck>,
    pub(crate) sends: Vec<SentPacket>,
    /// Payload of a full segment, bytes.
    pub(crate) mss: u32,
    /// Whether nothing in the capture shows the payload of a full segment, so that it is that of Ethernet.
    pub(crate) mss_assumed: bool,
    /// IP and TCP headers of a data packet, bytes.
    pub(crate) header: u32,
    /// Time of the receiver's first data after the arrival of the last data byte.
    pub(crate) answered: Option<Nanos>,
    /// Retransmitted data packets.
    pub(crate) resent_packets: u64,
    /// Retransmissions after a silence of a timeout.
    pub(crate) timeouts: u64,
    /// Size of the IP packets of SYN and SYN-ACK together, bytes, if the capture has the handshake.
    pub(crate) handshake_bytes: u32,
    /// Reason why the analysis ended before the packets did.
    pub(crate) cut: Option<Cut>,
    /// Data packets that the capture missed.
    pub(crate) missed: u64,
    /// Congestion marks, if the connection counts them.
    pub(crate) marks: Option<CongestionMarks>,
    /// Packets and times that are left out.
    pub(crate) left_out: LeftOut,
    /// Times of retransmissions, one per packet.
    pub(crate) resent_times: Vec<Nanos>,
    /// Transmissions of pieces.
    pub(crate) transmissions: u32,
    /// Transmissions that another one of their piece followed, with the index of the piece.
    pub(crate) superseded: Vec<(u32, u32)>,
    /// Origin of the sender's times.
    pub(crate) view: View,
    /// Resolution of the capture's clock.
    pub(crate) clock_step: Nanos,
    /// Source of the packets.
    pub(crate) source: Source,
    /// Share of the data packets of which it is open whether they arrived.
    pub(crate) open: f64,
    /// UDP payload of each transmission; none of a connection of TCP.
    pub(crate) datagrams: Vec<u32>,
}

/// Packets and times of a connection that contradict all others and are left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeftOut {
    /// Data packets with impossible numbers.
    pub(crate) data: u64,
    /// Acknowledgements of data that was not sent.
    pub(crate) acks: u64,
    /// Pauses with data outstanding that no sender makes, from the packet before to the packet after.
    pub(crate) pauses: Vec<(Nanos, Nanos)>,
    /// Bytes between parts of the data that are too far apart for each of them to be a piece.
    pub(crate) missed_bytes: u64,
}

/// Reason why the rest of a connection is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The capture has more pieces than [`MAX_PIECES`].
    Pieces,
    /// The connection has more retransmitted pieces than [`MAX_RETRANSMITTED`].
    Retransmitted,
}

/// Maximum number of pieces per capture. The number of packets is bounded already; this bounds the pieces of
/// huge segments.
pub(crate) const MAX_PIECES: usize = 1 << 22;

/// Maximum number of retransmitted pieces per connection, each counted as often as it was retransmitted; only
/// damaged or hostile files reach it.
pub(crate) const MAX_RETRANSMITTED: u64 = 1 << 26;

impl PacketTrace {
    /// Analyses the packets of `flow` with `sender` as the sender of the data. `budget` is the rest of
    /// [`MAX_PIECES`].
    pub(crate) fn new(flow: &Flow, sender: Side, budget: &mut usize) -> Self {
        let data = || flow.packets.iter().filter(|packet| packet.side == sender && packet.payload > 0);
        let ranges = data().map(|packet| {
            let start = packet.data_start();
            (start, start + u64::from(packet.payload))
        });
        let first = flow.end(sender).syn().map(|syn| syn + 1);
        let Some(numbers) = Numbers::new(ranges, first) else { return Self::default() };
        let Segment { payload: mss, header, assumed } = Segment::of(flow, sender);
        let (source, open) = (flow.source, flow.open);
        let mut empty = Self { mss, header, mss_assumed: assumed, source, open, ..Self::default() };
        let sent = data().count();
        (empty.pieces, empty.sends) = (Vec::with_capacity(sent), Vec::with_capacity(sent));
        empty.acks.reserve(flow.packets.iter().filter(|packet| packet.side != sender).count());
        let mut trace = walk(flow, sender, empty, numbers, budget);
        trace.settle_spurious();
        trace
    }

    /// Smallest round trip of a piece sent once.
    pub(crate) fn min_rtt(&self) -> Option<Nanos> {
        self.pieces.iter().filter_map(Piece::rtt).min()
    }

    /// Whether a packet with this payload is a full one. The datagrams of a connection of QUIC grow while its sender searches the path's MTU.
    pub(crate) fn is_full(&self, payload: u32) -> bool {
        match self.source {
            Source::Segments => payload >= self.mss,
            Source::Qlog | Source::Opened | Source::Datagrams => is_full(payload, self.mss),
        }
    }

    /// End of the data seen or known of.
    pub(crate) fn end(&self) -> u64 {
        self.pieces.last().map_or(0, Piece::end)
    }

    /// Marks retransmissions as spurious whose acknowledgement came within half the shortest round trip: it
    /// acknowledges the original.
    fn settle_spurious(&mut self) {
        let Some(min_rtt) = self.min_rtt() else { return };
        for piece in &mut self.pieces {
            let after = piece.delivered.saturating_sub(piece.resent_at);
            if piece.resent == 1 && piece.arrived() && piece.epoch.is_some() && after.0 < min_rtt.0 / 2 {
                piece.spurious = true;
            }
        }
    }
}

/// Shift of the receiver's window field; `None` if the SYNs or their options are missing. Both sides must
/// have offered scaling.
pub(crate) fn receive_scale(flow: &Flow, sender: Side) -> Option<u8> {
    let own = flow.end(sender).syns.own()?;
    let peer = flow.end(sender.other()).syns.own()?;
    if own.cut || peer.cut {
        return None;
    }
    Some(if own.window_scale.is_some() { peer.window_scale.unwrap_or(0) } else { 0 })
}
