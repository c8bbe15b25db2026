//! What a connection's packets say about each piece of its data: when it was sent, again, and known to have arrived.
//!
//! The walk is that of tcptrace (Ostermann) and of the sender's own scoreboard (RFC 6675): data packets add pieces
//! or mark them sent again, acknowledgements and SACK blocks mark them arrived. Segments larger than the path's, as
//! segmentation offload leaves them in a capture at the sender, are cut into the pieces the hardware sends.

use firstflight_contract::Nanos;

use crate::flows::{Flow, Packet, Side};
use crate::view::View;
use crate::walk::walk;

/// A stretch of data that travels as one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// When it was first sent; [`Nanos::NEVER`] where the capture missed that.
    pub(crate) sent: Nanos,
    /// The latest it may have been: later than that only where the capture shows no more than the packets around it.
    pub(crate) sent_by: Nanos,
    /// Offset of its first byte in the data.
    pub(crate) start: u64,
    pub(crate) len: u32,
    /// Length of the IP packet it travels in.
    pub(crate) wire: u32,
    /// How often it was sent again.
    pub(crate) resent: u32,
    /// When it was last sent again; while the capture has missed it: when that showed.
    pub(crate) resent_at: Nanos,
    /// Time stamp option of its first retransmission; while the capture has missed it: of the packet that showed it.
    pub(crate) resent_stamp: Option<u32>,
    /// When it was known to have arrived; [`Nanos::NEVER`] if it was not.
    pub(crate) delivered: Nanos,
    /// The receiver had it before the retransmission came.
    pub(crate) spurious: bool,
    /// Of what its acknowledgement newly reported it was sent last: its arrival released the acknowledgement.
    pub(crate) prompt: bool,
}

impl Piece {
    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    pub(crate) fn arrived(&self) -> bool {
        self.delivered != Nanos::NEVER
    }

    /// Whether its first transmission got lost.
    pub(crate) fn lost(&self) -> bool {
        self.resent > 0 && !self.spurious
    }

    /// Whether `packet`, with a piece that the capture has missed so far, is a retransmission of it, and not the
    /// original on a slower way: it was stamped after the packet that showed the gap; without stamps, it comes later
    /// than packets overtake each other (the 3 ms of Wireshark's analysis).
    pub(crate) fn fills_a_hole(&self, packet: &Packet) -> bool {
        const OVERTAKEN: Nanos = Nanos::from_millis(3);
        match (self.resent_stamp, packet.timestamps) {
            (Some(shown), Some((stamp, _))) => (stamp.wrapping_sub(shown) as i32) > 0,
            _ => packet.at.saturating_sub(self.resent_at) > OVERTAKEN,
        }
    }

    /// Round trip of a piece that arrived and was sent once (Karn's rule).
    pub(crate) fn rtt(&self) -> Option<Nanos> {
        let clear = self.arrived() && self.resent == 0 && self.sent != Nanos::NEVER;
        clear.then(|| self.delivered.saturating_sub(self.sent))
    }
}

/// An acknowledgement as it passed the point of capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    pub(crate) at: Nanos,
    /// Bytes from the first data byte that are acknowledged cumulatively.
    pub(crate) ack: u64,
    /// Data bytes it newly reports as arrived, cumulatively or selectively.
    pub(crate) bytes: u64,
    /// The same in bytes on the wire.
    pub(crate) wire: u64,
    /// Of the pieces it newly reports: the first one in sequence and the one sent last.
    pub(crate) pieces: Option<(u32, u32)>,
    /// Bytes in flight after it: sent, and not known to have arrived.
    pub(crate) flight: u64,
    /// The receive window it advertises, where its scale is known.
    pub(crate) window: Option<u64>,
    /// Length of its IP packet.
    pub(crate) ip_len: u32,
    /// It carries no data itself.
    pub(crate) pure: bool,
    /// It carries SACK blocks or repeats the last acknowledgement: the receiver misses something.
    pub(crate) disordered: bool,
    /// It echoes a congestion mark.
    pub(crate) marked: bool,
}

/// A moment the sender sent data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) at: Nanos,
    pub(crate) len: u32,
    /// Bytes in flight after it.
    pub(crate) flight: u64,
    /// Where the data sent so far ends.
    pub(crate) end: u64,
    /// It carried data for the first time, at least in part.
    pub(crate) new: bool,
    /// Acknowledgements seen before it.
    pub(crate) acks_before: u32,
}

/// A connection, seen from its data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    /// The data, in sequence.
    pub(crate) pieces: Vec<Piece>,
    pub(crate) acks: Vec<Ack>,
    pub(crate) sends: Vec<Sending>,
    /// Payload of a full segment.
    pub(crate) mss: u32,
    /// IP and TCP headers of a data packet.
    pub(crate) header: u32,
    /// When the receiver's first data after the last data byte's arrival came.
    pub(crate) answered: Option<Nanos>,
    /// Data packets sent again.
    pub(crate) resent_packets: u64,
    /// Retransmissions that came out of silence.
    pub(crate) timeouts: u64,
    /// IP packets of SYN and SYN-ACK together, where the handshake is there.
    pub(crate) handshake_bytes: u32,
    /// The walk ended before the packets did.
    pub(crate) cut: bool,
    /// Data packets that the capture missed.
    pub(crate) missed: u64,
    /// When data was sent again, a time for each packet.
    pub(crate) resent_times: Vec<Nanos>,
    /// How the sender's times were come by.
    pub(crate) view: View,
    /// How exact the capture's own times are.
    pub(crate) clock_step: Nanos,
}

/// Pieces kept for one capture. Packets are bounded already; this bounds what a few huge segments are cut into.
pub(crate) const MAX_PIECES: usize = 1 << 22;

/// No path carries less than this much data in a full packet (IPv4 demands 68-byte packets).
const MIN_MSS: u32 = 28;

impl Trace {
    /// Walks the packets of `flow` whose data `sender` sent. `budget` is what is left of [`MAX_PIECES`].
    pub(crate) fn new(flow: &Flow, sender: Side, budget: &mut usize) -> Self {
        let data = || flow.packets.iter().filter(|packet| packet.side == sender && packet.payload > 0);
        let Some(first) = data().map(Packet::data_start).min() else { return Self::default() };
        let origin = flow.end(sender).syn.map_or(first, |syn| syn + 1);
        let (mss, header) = segment_size(flow, sender);
        let empty = Self { mss, header, ..Self::default() };
        let mut trace = walk(flow, sender, empty, origin, budget);
        trace.settle_spurious();
        trace
    }

    /// Smallest round trip of a piece sent once.
    pub(crate) fn min_rtt(&self) -> Option<Nanos> {
        self.pieces.iter().filter_map(Piece::rtt).min()
    }

    /// All the data bytes seen or known of.
    pub(crate) fn end(&self) -> u64 {
        self.pieces.last().map_or(0, Piece::end)
    }

    /// An acknowledgement sooner after a retransmission than half the shortest round trip is that of the original.
    fn settle_spurious(&mut self) {
        let Some(min_rtt) = self.min_rtt() else { return };
        for piece in &mut self.pieces {
            let after = piece.delivered.saturating_sub(piece.resent_at);
            if piece.resent == 1 && piece.arrived() && after.0 < min_rtt.0 / 2 {
                piece.spurious = true;
            }
        }
    }
}

/// How far to shift the receiver's window field left; `None` where the SYNs or their options are missing. Both sides must have offered.
pub(crate) fn receive_scale(flow: &Flow, sender: Side) -> Option<u8> {
    let (own, peer) = (flow.end(sender), flow.end(sender.other()));
    let (Some(_), Some(_)) = (own.syn, peer.syn) else { return None };
    if own.syn_cut || peer.syn_cut {
        return None;
    }
    Some(if own.window_scale.is_some() { peer.window_scale.unwrap_or(0) } else { 0 })
}

/// Payload of a full segment, and the headers in front of it.
///
/// The SYNs tell the first (RFC 9293, section 3.7.1: the smaller of what both announce, less the options every segment
/// carries); without them it is the largest payload that fits an Ethernet packet, or the largest one at all; where
/// offload left larger ones and most of them are multiples of what Ethernet takes, it is that. A largest payload that
/// comes again and again, below what the SYNs allow, is the path's own (path MTU discovery).
fn segment_size(flow: &Flow, sender: Side) -> (u32, u32) {
    const ETHERNET: u32 = 1500;
    let data = || flow.packets.iter().filter(|packet| packet.side == sender && packet.payload > 0);
    let header = data().map(|packet| packet.ip_len - packet.payload).min().unwrap_or(0);
    let stamps = if data().any(|packet| packet.timestamps.is_some()) { 12 } else { 0 };
    let announced = match (flow.end(sender).mss, flow.end(sender.other()).mss) {
        (Some(own), Some(peer)) => Some(own.min(peer)),
        (Some(only), None) | (None, Some(only)) => Some(only),
        (None, None) => None,
    };
    let limit = announced.map(|mss| u32::from(mss).saturating_sub(stamps));
    let largest_up_to = |most: u32| data().map(|packet| packet.payload).filter(|&len| len <= most).max();
    let largest = data().map(|packet| packet.payload).max().unwrap_or(1);
    let path_mtu =
        largest < limit.unwrap_or(0) && data().filter(|packet| packet.payload == largest).count() >= 3;
    let ethernet = ETHERNET.saturating_sub(header).max(1);
    let offloaded = || data().map(|packet| packet.payload).filter(|&len| len > ethernet);
    let multiples = offloaded().filter(|len| len % ethernet == 0).count();
    let mss = match limit {
        Some(_) if path_mtu => largest,
        Some(limit) => limit,
        None if 2 * multiples > offloaded().count() => ethernet,
        None => largest_up_to(ethernet).unwrap_or(largest),
    };
    (mss.max(MIN_MSS), header)
}
