//! Connections of a capture: packets grouped by connection, with unwrapped sequence numbers.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use firstflight_contract::Nanos;

use crate::observed::Connection;
use crate::packet::{Flags, TcpPacket};
use crate::packet_trace::MAX_PIECES;

/// Maximum number of connections. Packets of later ones, as a port scan causes, are left out with a warning.
const MAX_FLOWS: usize = 1 << 16;

/// A packet of a flow, reduced to the fields that the analysis needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) at: Nanos,
    /// Unwrapped sequence number of the first byte, or of the SYN if there is one.
    pub(crate) seq: u64,
    /// Cumulative acknowledgement in the peer's unwrapped numbers; invalid without the ACK flag.
    pub(crate) ack: u64,
    pub(crate) payload: u32,
    pub(crate) ip_len: u32,
    pub(crate) timestamps: Option<(u32, u32)>,
    /// SACK blocks: index of the first in [`Flow::sacks`], and their number.
    sack_start: u32,
    sack_count: u8,
    /// Window field of the header, not scaled.
    pub(crate) window: u16,
    ip_id: Option<u16>,
    pub(crate) flags: Flags,
    pub(crate) side: Side,
}

impl Packet {
    /// Sequence number after the last byte; SYN and FIN count as one each.
    fn end(&self) -> u64 {
        let flags = u64::from(self.flags.has(Flags::SYN)) + u64::from(self.flags.has(Flags::FIN));
        self.seq + u64::from(self.payload) + flags
    }

    /// Sequence number of the first data byte.
    pub(crate) fn data_start(&self) -> u64 {
        self.seq + u64::from(self.flags.has(Flags::SYN))
    }

    /// Whether `other` is the same packet, captured on another interface. If there is no IP identification,
    /// as in IPv6, data with equal time stamps counts as the same, because no sender retransmits within a
    /// millisecond. (A duplicate acknowledgement does no harm.)
    fn is_the_same(&self, other: &Self) -> bool {
        const AT_ONCE: u64 = 1_000_000;
        let by_stamps = || {
            let data = self.payload > 0 && self.timestamps.is_some();
            data && self.at.0.abs_diff(other.at.0) < AT_ONCE
        };
        self.side == other.side
            && self.ip_id == other.ip_id
            && (self.ip_id.is_some() || by_stamps())
            && (self.seq, self.ack, self.payload, self.window)
                == (other.seq, other.ack, other.payload, other.window)
            && self.timestamps == other.timestamps
            && self.flags == other.flags
    }
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// End whose packet came first in the capture.
    First,
    Second,
}

impl Side {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// Options and progress of one end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct End {
    /// Highest sequence number seen, in packets of this end or acknowledgements of the other.
    high: Option<u64>,
    /// Sequence number of the SYN.
    pub(crate) syn: Option<u64>,
    pub(crate) mss: Option<u16>,
    pub(crate) window_scale: Option<u8>,
    /// Whether the capture truncated the options of the SYN, so that they are unknown.
    pub(crate) syn_cut: bool,
    pub(crate) payload: u64,
}

impl End {
    /// Offset of the unwrapped numbers, so that none below the first one seen is negative.
    const ORIGIN: u64 = 1 << 32;

    /// Unwraps `seq`: the number within half the sequence space of the highest one so far.
    fn unwrap(&mut self, seq: u32) -> u64 {
        let Some(high) = self.high else {
            let first = Self::ORIGIN + u64::from(seq);
            self.high = Some(first);
            return first;
        };
        // high >= ORIGIN, so half the space below it is still positive
        high.wrapping_add_signed(i64::from(seq.wrapping_sub(high as u32) as i32))
    }

    fn advance(&mut self, to: u64) {
        self.high = self.high.max(Some(to));
    }
}

/// Packets of one connection.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) ends: [SocketAddr; 2],
    pub(crate) packets: Vec<Packet>,
    sacks: Vec<(u64, u64)>,
    pub(crate) sides: [End; 2],
}

/// Error: the capture already contains the packet.
pub(crate) struct Duplicate;

impl Flow {
    fn new(packet: &TcpPacket) -> Self {
        Self {
            ends: [packet.from, packet.to],
            packets: Vec::new(),
            sacks: Vec::new(),
            sides: [End::default(); 2],
        }
    }

    pub(crate) fn end(&self, side: Side) -> &End {
        &self.sides[side as usize]
    }

    pub(crate) fn sacks(&self, packet: &Packet) -> &[(u64, u64)] {
        &self.sacks[packet.sack_start as usize..][..usize::from(packet.sack_count)]
    }

    fn side_of(&self, packet: &TcpPacket) -> Side {
        if packet.from == self.ends[0] { Side::First } else { Side::Second }
    }

    /// Whether `packet` opens another connection between the same ports.
    fn is_succeeded_by(&self, at: Nanos, packet: &TcpPacket) -> bool {
        let written_late = self.packets.first().is_some_and(|first| at <= first.at);
        if !packet.flags.has(Flags::SYN) || packet.flags.has(Flags::ACK) || written_late {
            return false;
        }
        match self.end(self.side_of(packet)) {
            End { syn: Some(syn), .. } => *syn as u32 != packet.seq,
            End { high, .. } => high.is_some(),
        }
    }

    fn add(&mut self, at: Nanos, packet: &TcpPacket) -> Result<(), Duplicate> {
        let side = self.side_of(packet);
        let [own, peer] = match side {
            Side::First => [0, 1],
            Side::Second => [1, 0],
        };
        let has_ack = packet.flags.has(Flags::ACK);
        let seq = self.sides[own].unwrap(packet.seq);
        let ack = if has_ack { self.sides[peer].unwrap(packet.ack) } else { 0 };
        let sack_start = self.sacks.len() as u32;
        let added = Packet {
            at,
            seq,
            ack,
            payload: packet.payload,
            ip_len: packet.ip_len,
            timestamps: packet.timestamps,
            sack_start,
            sack_count: packet.sack.len() as u8,
            window: packet.window,
            // RFC 6864: the identification of an unfragmentable packet is arbitrary; some systems send zero
            ip_id: packet.ip_id.filter(|id| *id != 0),
            flags: packet.flags,
            side,
        };
        // copies of a packet follow each other closely
        const LOOK_BACK: usize = 8;
        if self.packets.iter().rev().take(LOOK_BACK).any(|earlier| earlier.is_the_same(&added)) {
            return Err(Duplicate);
        }
        for &(from, to) in &packet.sack {
            let block = (self.sides[peer].unwrap(from), self.sides[peer].unwrap(to));
            self.sacks.push(block);
        }
        self.sides[own].advance(added.end());
        if has_ack {
            self.sides[peer].advance(ack);
        }
        let end = &mut self.sides[own];
        end.payload += u64::from(packet.payload);
        if packet.flags.has(Flags::SYN) {
            end.syn = Some(seq);
            end.syn_cut |= !packet.whole;
            end.mss = packet.mss.or(end.mss);
            end.window_scale = packet.window_scale.or(end.window_scale);
        }
        self.packets.push(added);
        Ok(())
    }

    /// Number of packets before the first one of a side that continues at a much earlier time, if any. A
    /// packet with earlier sequence numbers does not count: it was only written late.
    fn before_the_clock_was_set_back(&self) -> Option<usize> {
        const MUCH: Nanos = Nanos::from_millis(100);
        let mut latest: [Option<&Packet>; 2] = [None; 2];
        self.packets.iter().position(|packet| {
            let latest = &mut latest[packet.side as usize];
            let goes_on = |last: &&Packet| (packet.seq, packet.ack) > (last.seq, last.ack);
            let back = latest.filter(goes_on).is_some_and(|last| last.at.saturating_sub(packet.at) > MUCH);
            *latest = latest.filter(|last| last.at > packet.at).or(Some(packet));
            back
        })
    }

    /// Smallest positive step between the sorted packet times, an estimate of the clock's resolution.
    pub(crate) fn clock_step(&self) -> Nanos {
        let steps = self.packets.windows(2).map(|pair| pair[1].at.saturating_sub(pair[0].at));
        steps.filter(|step| *step > Nanos::ZERO).min().unwrap_or_default()
    }

    /// Side that sent more data.
    pub(crate) fn sender(&self) -> Side {
        if self.sides[0].payload >= self.sides[1].payload { Side::First } else { Side::Second }
    }
}

/// Connections of a capture while it is read.
#[derive(Default)]
pub(crate) struct Flows {
    flows: Vec<Flow>,
    /// Latest connection between two endpoints, lower address first.
    latest: BTreeMap<(SocketAddr, SocketAddr), usize>,
    left_out: u64,
}

impl Flows {
    /// Adds a packet to its connection.
    pub(crate) fn add(&mut self, at: Nanos, packet: &TcpPacket) -> Result<(), Duplicate> {
        // a reset may carry any sequence numbers and contains no information on the path
        if packet.flags.has(Flags::RST) {
            return Ok(());
        }
        let key = (packet.from.min(packet.to), packet.from.max(packet.to));
        let known =
            self.latest.get(&key).copied().filter(|&index| !self.flows[index].is_succeeded_by(at, packet));
        let index = match known {
            Some(index) => index,
            None if self.flows.len() == MAX_FLOWS => {
                self.left_out += 1;
                return Ok(());
            }
            None => {
                self.flows.push(Flow::new(packet));
                self.latest.insert(key, self.flows.len() - 1);
                self.flows.len() - 1
            }
        };
        self.flows[index].add(at, packet)
    }

    /// Analyses the connections that carried data.
    pub(crate) fn into_connections(self, warnings: &mut Vec<String>) -> Vec<Connection> {
        if self.left_out > 0 {
            warnings.push(format!(
                "{} packets belong to connections after the first {MAX_FLOWS} and are left out",
                self.left_out
            ));
        }
        let start = self.flows.iter().flat_map(|flow| &flow.packets).map(|packet| packet.at).min();
        let Some(start) = start else { return Vec::new() };
        let with_data = self.flows.into_iter().filter(|flow| flow.sides.iter().any(|end| end.payload > 0));
        let mut budget = MAX_PIECES;
        with_data
            .filter_map(|mut flow| {
                if let Some(kept) = flow.before_the_clock_was_set_back() {
                    let [one, other] = flow.ends;
                    warnings.push(format!(
                        "{one} - {other}: the capture's clock was set back; only the first {kept} packets are used"
                    ));
                    flow.packets.truncate(kept);
                }
                // several interfaces, or several threads of a writer, leave packets slightly out of order
                flow.packets.sort_by_key(|packet| packet.at);
                Connection::new(&mut flow, start, &mut budget, warnings)
            })
            .collect()
    }
}
