//! A simulated connection in the form of a captured one, so that both have their statistics from the same code.

use std::net::{Ipv4Addr, SocketAddr};

use firstflight_contract::Nanos;

use crate::flows::Flow;
use crate::packet::{Blocks, Flags, TcpPacket};
use crate::packet_trace::{MAX_PIECES, PacketTrace};
use crate::summary::Summary;

/// A packet at a simulated sender. Offsets count bytes of data from zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimulatedPacket {
    /// Data was sent.
    Data {
        /// Offset of the first byte.
        start: u64,
        /// Payload, bytes.
        len: u32,
    },
    /// An acknowledgement arrived.
    Ack {
        /// Offset of the next expected byte.
        ack: u64,
        /// Selectively acknowledged ranges, at most four; empty ones are none.
        blocks: [(u64, u64); 4],
    },
}

/// Summary of a simulated connection whose full segments have `mss` bytes of payload behind `header` bytes of
/// headers. `packets` are in order of time. `None` if no data was delivered. Data beyond 2 GiB is not summarised.
pub fn summarise(
    mss: u32,
    header: u32,
    packets: impl IntoIterator<Item = (Nanos, SimulatedPacket)>,
) -> Option<Summary> {
    let end = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let (sender, receiver) = (end(1), end(2));
    // Data begins at sequence number 1, after the SYN.
    let number = |offset: u64| offset.wrapping_add(1) as u32;
    let blank = |from, to, flags| TcpPacket {
        from,
        to,
        seq: 1,
        ack: 1,
        window: 0,
        flags: Flags(flags),
        payload: 0,
        ip_len: header,
        ip_id: None,
        timestamps: None,
        mss: None,
        window_scale: None,
        sack: Blocks::default(),
        whole: true,
    };
    let opening =
        |from, to, flags| TcpPacket { seq: 0, mss: u16::try_from(mss).ok(), ..blank(from, to, flags) };
    let syn = opening(sender, receiver, Flags::SYN);
    let mut flow = Flow::new(&syn);
    let mut added = 0;
    let mut add = |at: Nanos, packet: &TcpPacket| {
        added += 1;
        // Simulated packets are never captured twice.
        let _ = flow.add(at, packet, added);
    };
    add(Nanos::ZERO, &syn);
    add(Nanos::ZERO, &opening(receiver, sender, Flags::SYN | Flags::ACK));
    for (at, packet) in packets {
        match packet {
            SimulatedPacket::Data { start, len } if start + u64::from(len) < 1 << 31 => {
                let data = TcpPacket {
                    seq: number(start),
                    payload: len,
                    ip_len: header + len,
                    ..blank(sender, receiver, Flags::ACK)
                };
                add(at, &data);
            }
            SimulatedPacket::Ack { ack, blocks } if ack < 1 << 31 => {
                let given = blocks.iter().filter(|(from, to)| to > from);
                let sack = Blocks::new(given.map(|&(from, to)| (number(from), number(to))));
                add(at, &TcpPacket { ack: number(ack), sack, ..blank(receiver, sender, Flags::ACK) });
            }
            SimulatedPacket::Data { .. } | SimulatedPacket::Ack { .. } => break,
        }
    }
    let side = flow.sender();
    Summary::of(&PacketTrace::new(&flow, side, &mut MAX_PIECES.clone()))
}
