//! Connections of QUIC in the form of those of TCP, so that both have their statistics and estimates from the same code.
//!
//! Packets of QUIC are numbered, and a retransmission has a new number. Here each packet with data has a range of a byte stream, as a
//! segment of TCP has; a packet that carries lost data again has the range of the lost packet. An acknowledgement of packets is then one of
//! ranges: a cumulative one with SACK blocks. [`qlog`] reads numbers and acknowledgements from the log of an end; [`model`] estimates them
//! for a capture, in which they are encrypted.

mod behaviour;
mod bytes;
mod datagrams;
mod flow_control;
#[cfg(feature = "keys")]
mod keys;
mod model;
mod offload;
pub(crate) mod qlog;
mod scoreboard;
mod spin;
mod windows;

use std::net::SocketAddr;

use firstflight_contract::Nanos;

use crate::flows::{Epoch, Flow};
use crate::opening::Opening;
use crate::packet::{Flags, TcpPacket};
use crate::registers::Registers;
use crate::side::Side;
use crate::source::{Source, full_size, is_full};
use crate::tap::Tap;
use crate::vantage::Vantage;
use bytes::Bytes;
use scoreboard::{Reported, Scoreboard};
use windows::Windows;

pub(crate) use datagrams::Datagrams;
#[cfg(feature = "keys")]
pub use keys::KeyLog;

/// Maximum number of events of one connection that are kept.
pub(crate) const MAX_EVENTS: usize = 1 << 20;

/// Bytes of QUIC in front of and behind the data of a full packet, without the connection ID: the first byte, a packet number of 2 bytes, the
/// tag of 16 bytes, and a STREAM frame's header with an offset below 2^30 (RFC 9000 sections 17.3.1 and 19.8, RFC 9001 section 5.3).
const OVERHEAD: u32 = 27;

/// Event of a recorded connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A packet with data was sent.
    Sent {
        /// Packet number.
        number: u64,
        /// Bytes of QUIC, from the first byte of the packet to its tag.
        size: u32,
        /// The known places of its data.
        data: Data,
    },
    /// The other side's packets in some ranges were acknowledged.
    Acked {
        /// Index of the first in [`Recorded::ranges`].
        first: u32,
        /// Their number. There is none if only a limit of flow control was raised.
        count: u32,
        /// Bytes that the other side may then send, if they are known.
        room: Option<u32>,
    },
    /// The other side may send this many bytes from the start. There is at most one for each side.
    Allowed(u32),
    /// The other side declared its packet lost.
    Lost(u64),
}

/// Ranges that the packets of one sender have: by packets, or by bytes where the places of all data are known.
#[derive(Debug)]
enum Board {
    Packets(Scoreboard),
    Bytes(Bytes),
}

impl Board {
    fn of(source: Source) -> Self {
        match source {
            Source::Opened => Self::Bytes(Bytes::default()),
            Source::Segments | Source::Qlog | Source::Datagrams => Self::Packets(Scoreboard::default()),
        }
    }

    /// End of the data sent so far.
    fn high(&self) -> u64 {
        match self {
            Self::Packets(board) => board.high(),
            Self::Bytes(board) => board.high(),
        }
    }

    /// All data before is acknowledged.
    fn cumulative(&self) -> u64 {
        match self {
            Self::Packets(board) => board.cumulative(),
            Self::Bytes(board) => board.cumulative(),
        }
    }

    fn acknowledge(&mut self, numbers: &[(u64, u64)]) -> Reported {
        match self {
            Self::Packets(board) => board.acknowledge(numbers),
            Self::Bytes(board) => board.acknowledge(numbers),
        }
    }

    fn lose(&mut self, number: u64) {
        // Where the places are known, so is what a retransmission repeats.
        if let Self::Packets(board) = self {
            board.lose(number);
        }
    }
}

/// Places of the data of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Data {
    /// They are not known.
    Unknown,
    /// Place of the last data.
    Last(Place),
    #[cfg_attr(not(feature = "keys"), allow(dead_code, reason = "only keys show all places"))]
    /// All of them: index of the first in [`Recorded::places`], and their number.
    All {
        /// Index.
        first: u32,
        /// Number.
        count: u32,
    },
}

/// Place of a packet's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Stream and offset of its first byte.
    pub(crate) first: (u64, u64),
    /// Bytes.
    pub(crate) len: u64,
}

/// Events of one connection of QUIC, by their times.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    pub(crate) source: Source,
    pub(crate) opening: Option<Opening>,
    /// Length of the connection IDs in the packets of the client and of the server.
    pub(crate) ids: [u32; 2],
    /// Time, side that sent the packet, event. The client is [`Side::First`].
    pub(crate) events: Vec<(Nanos, Side, Event)>,
    /// Times at which the clock was set: no sample spans one.
    pub(crate) epochs: Vec<Nanos>,
    /// Ranges of packet numbers, both ends included.
    pub(crate) ranges: Vec<(u64, u64)>,
    /// Places of the data of packets of which all are known.
    pub(crate) places: Vec<Place>,
    /// Number of the first packet in the order of the files.
    pub(crate) first: u32,
    /// Share of the packets of which it is open whether they arrived.
    pub(crate) open: f64,
    /// Side whose packets are those that arrived: the other one recorded them.
    pub(crate) arrives: Option<Side>,
    /// Registers that the sender reported.
    pub(crate) registers: Option<Registers>,
}

impl Recorded {
    /// IP and UDP headers, bytes.
    pub(crate) fn ip_udp(&self) -> u32 {
        if self.client.is_ipv6() { 48 } else { 28 }
    }

    fn sizes(&self, side: Side) -> impl Iterator<Item = u32> + Clone {
        self.events.iter().filter_map(move |(_, of, event)| match event {
            Event::Sent { size, .. } if *of == side => Some(*size),
            _ => None,
        })
    }

    /// Data of a full packet of a side, and the mean of the other bytes in packets of the size `full`, some of which have ACK frames. `None` if places
    /// are not known.
    fn data_of_a_packet(&self, side: Side, full: u32) -> Option<(u32, u32)> {
        let known = self.events.iter().filter_map(|(_, of, event)| match event {
            Event::Sent { size, data: data @ Data::All { .. }, .. } if *of == side => {
                let sum: u64 = self.places_of(*data).iter().map(|place| place.len).sum();
                Some((*size, u32::try_from(sum).ok()?))
            }
            _ => None,
        });
        let known: Vec<(u32, u32)> = known.collect();
        let data = full_size(known.iter().map(|one| one.1))?;
        let others = known.iter().filter(|(size, _)| *size == full);
        let others: Vec<u64> = others.map(|(size, data)| size.saturating_sub(*data).into()).collect();
        let count = others.len().max(1) as u64;
        let mean = (others.iter().sum::<u64>() + count / 2) / count;
        Some((data.max(1), u32::try_from(mean).unwrap_or(OVERHEAD)))
    }

    /// The places of a packet's data, if all are known.
    fn places_of(&self, data: Data) -> &[Place] {
        match data {
            Data::All { first, count } => &self.places[first as usize..][..count as usize],
            Data::Unknown | Data::Last(_) => &[],
        }
    }

    /// The connection as a flow; `None` if neither side sent data.
    pub(crate) fn into_flow(self) -> Option<Flow> {
        let [client, server] =
            [Side::First, Side::Second].map(|side| self.sizes(side).map(u64::from).sum::<u64>());
        let sender = if client >= server { Side::First } else { Side::Second };
        let full = full_size(self.sizes(sender))?;
        let (mss, header) = self.data_of_a_packet(sender, full).unwrap_or_else(|| {
            let header = OVERHEAD + self.ids[sender as usize];
            (full.saturating_sub(header).max(1), header)
        });
        let mut flow = self.begin(mss);
        let ends = self.ends_of_data();
        let mut boards = [(); 2].map(|()| Board::of(self.source));
        let mut windows = Windows::default();
        for (_, side, event) in &self.events {
            if let Event::Allowed(room) = event {
                windows.limit(*side, Some(u64::from(*room)));
            }
        }
        // A server may send data before the handshake is confirmed (RFC 9001 section 4.1).
        let mut confirmed = self.opening.map(|opening| opening.confirmed);
        for (index, &(at, side, event)) in self.events.iter().enumerate() {
            let (own, peer) = (side as usize, side.other() as usize);
            if let Some(confirmed) = confirmed.take_if(|confirmed| *confirmed <= at) {
                flow.add_simulated(confirmed, Side::First, (0, 0, PURE), (0, &[]));
            }
            match event {
                Event::Sent { number, size, data } => {
                    let ack = boards[peer].cumulative();
                    let ranges = match &mut boards[own] {
                        Board::Packets(board) => {
                            let len = size.min(full).saturating_sub(header).max(1);
                            vec![match (data, self.arrives == Some(side)) {
                                (Data::Last(place), true) => board.arrive(number, len, place),
                                (Data::Last(place), false) => board.send(number, len, Some(place)),
                                (Data::Unknown | Data::All { .. }, _) => board.send(number, len, None),
                            }]
                        }
                        Board::Bytes(board) => {
                            board.send(number, self.places_of(data), self.arrives == Some(side))
                        }
                    };
                    // A packet with lost data and new data is one of each.
                    let mut rest = size;
                    for (index, &(start, len)) in ranges.iter().enumerate().rev() {
                        let carried = if index == 0 { rest } else { len.min(rest) };
                        rest = rest.saturating_sub(len);
                        flow.add_simulated(at, side, (start, len, header + self.ip_udp()), (ack, &[]));
                        flow.datagrams[own].push(carried);
                    }
                    if ranges.is_empty() {
                        continue;
                    }
                    if let Some(packet) = flow.packets.last_mut().filter(|_| ends[index]) {
                        packet.flags.0 |= Flags::PUSH;
                    }
                }
                Event::Acked { first, count, room } => {
                    let ranges = &self.ranges[first as usize..][..count as usize];
                    let highest = boards[own].high();
                    let mut add = |blocks: &[(u64, u64)], ack: u64| {
                        flow.add_simulated(at, side, (highest, 0, PURE + self.ip_udp()), (ack, blocks));
                    };
                    let reported = boards[peer].acknowledge(ranges);
                    for range in reported.again {
                        add(&[range, range], boards[peer].cumulative());
                    }
                    add(&reported.blocks, boards[peer].cumulative());
                    windows.limit(side, room.map(|room| boards[peer].high() + u64::from(room)));
                }
                Event::Allowed(_) => {}
                Event::Lost(number) => boards[peer].lose(number),
            }
            windows.add(&flow, &boards);
        }
        windows.finish(&mut flow);
        for packet in &mut flow.packets {
            let before = self.epochs.partition_point(|begin| *begin <= packet.at);
            packet.epoch = Epoch::MIN.saturating_add(u16::try_from(before).unwrap_or(u16::MAX));
        }
        (flow.sides.iter().any(|end| end.payload > 0)).then_some(flow)
    }

    /// The flow with the first packets of the handshake.
    fn begin(&self, mss: u32) -> Flow {
        let packet = |from, to, flags, ip_len| TcpPacket::opening(from, to, flags, ip_len, mss);
        let (client, server) = (self.client, self.server);
        let first = packet(client, server, Flags::SYN, PURE);
        let mut flow = Flow::new(&first);
        (flow.source, flow.open, flow.registers) = (self.source, self.open, self.registers);
        let unknown = |event: &Event| matches!(event, Event::Sent { data: Data::Unknown, .. });
        flow.counts_probes = self.events.iter().any(|(.., event)| unknown(event));
        let of_end = if self.arrives.is_some() { Vantage::Receiver } else { Vantage::Sender };
        flow.vantage = (self.source == Source::Qlog).then_some(of_end);
        flow.packets.reserve(self.events.len() + 3);
        if let Some(opening) = self.opening {
            let answer = packet(server, client, Flags::SYN | Flags::ACK, opening.answer_len);
            for (at, packet) in [(opening.opened, first), (opening.answered, answer)] {
                // The packets of a handshake are no copies of each other.
                let _ = flow.add(at, &packet, self.first, Tap::default());
            }
        }
        flow
    }

    /// For each event, whether it is the end of the application's data so far: a packet that is shorter than those before it, and that no
    /// other packet follows at once.
    fn ends_of_data(&self) -> Vec<bool> {
        /// Time within which a host sends the packets of one write.
        const AT_ONCE: Nanos = Nanos::from_millis(1);
        let mut ends = vec![false; self.events.len()];
        let mut before: [Option<(usize, Nanos)>; 2] = [None; 2];
        let mut recent = [[0; 16]; 2];
        let mut count = [0; 2];
        for (index, &(at, side, event)) in self.events.iter().enumerate() {
            let Event::Sent { size, .. } = event else { continue };
            let own = side as usize;
            if let Some((short, sent)) = before[own].take() {
                ends[short] = at.saturating_sub(sent) > AT_ONCE;
            }
            recent[own][count[own] % 16] = size;
            count[own] += 1;
            if !is_full(size, recent[own].into_iter().max().unwrap_or(0)) {
                before[own] = Some((index, at));
            }
        }
        before.into_iter().flatten().for_each(|(last, _)| ends[last] = true);
        ends
    }
}

/// Bytes of a datagram that only acknowledges, without IP and UDP headers.
const PURE: u32 = 32;
