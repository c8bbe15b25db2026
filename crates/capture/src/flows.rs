//! Connections of a capture: packets grouped by connection, with unwrapped sequence numbers.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use firstflight_contract::Nanos;

use crate::clock::{self, Epoch};
use crate::error::Problem;
use crate::observed::Connection;
use crate::packet::{Flags, TcpPacket};
use crate::packet_trace::MAX_PIECES;

/// Maximum number of connections. At the limit, the oldest one that carried no data makes room for the next, as a
/// port scan leaves them; if all carried data, packets of later connections are left out. Both with a warning.
pub(crate) const MAX_FLOWS: usize = 1 << 16;

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
    /// Number in the order of the file.
    pub(crate) number: u32,
    /// Stretch between two steps of the capture's clock.
    pub(crate) epoch: Epoch,
}

impl Packet {
    /// Sequence number after the last byte; SYN and FIN count as one each.
    pub(crate) fn end(&self) -> u64 {
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

    fn add(&mut self, at: Nanos, packet: &TcpPacket, number: u32) -> Result<(), Duplicate> {
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
            number,
            epoch: Epoch::MIN,
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

    /// Smallest positive difference between the sorted packet times, an estimate of the clock's resolution.
    pub(crate) fn clock_step(&self) -> Nanos {
        let same_epoch = self.packets.windows(2).filter(|pair| pair[0].epoch == pair[1].epoch);
        let steps = same_epoch.map(|pair| pair[1].at.saturating_sub(pair[0].at));
        steps.filter(|step| *step > Nanos::ZERO).min().unwrap_or_default()
    }

    fn carried_data(&self) -> bool {
        self.sides.iter().any(|end| end.payload > 0)
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
    /// Connections in the order of their first packet, of which those that carry data by now are passed over.
    without_data: VecDeque<usize>,
    /// Packets added so far.
    added: u32,
    /// Packets kept.
    kept: usize,
    /// Connections without data that made room for others.
    dropped: u64,
    /// Packets of connections for which there was no room.
    left_out: u64,
}

impl Flows {
    /// Number of packets in memory.
    pub(crate) fn kept(&self) -> usize {
        self.kept
    }

    /// Adds a packet to its connection.
    pub(crate) fn add(&mut self, at: Nanos, packet: &TcpPacket) -> Result<(), Duplicate> {
        // a reset may carry any sequence numbers and contains no information on the path
        if packet.flags.has(Flags::RST) {
            return Ok(());
        }
        let key = key(packet.from, packet.to);
        let known =
            self.latest.get(&key).copied().filter(|&index| !self.flows[index].is_succeeded_by(at, packet));
        let Some(index) = known.or_else(|| self.open(packet)) else {
            self.left_out += 1;
            return Ok(());
        };
        self.flows[index].add(at, packet, self.added)?;
        self.added = self.added.saturating_add(1);
        self.kept += 1;
        Ok(())
    }

    /// Index of a new connection, if there is room. At the limit, the oldest connection without data makes room:
    /// a flood of SYNs cannot push out transfers.
    fn open(&mut self, packet: &TcpPacket) -> Option<usize> {
        let flow = Flow::new(packet);
        let index = if self.flows.len() < MAX_FLOWS {
            self.flows.push(flow);
            self.flows.len() - 1
        } else {
            let index = self.drop_oldest_without_data()?;
            self.flows[index] = flow;
            index
        };
        self.latest.insert(key(packet.from, packet.to), index);
        self.without_data.push_back(index);
        Some(index)
    }

    fn drop_oldest_without_data(&mut self) -> Option<usize> {
        let index = std::iter::from_fn(|| self.without_data.pop_front())
            .find(|&index| !self.flows[index].carried_data())?;
        let flow = &self.flows[index];
        let [one, other] = flow.ends;
        if self.latest.get(&key(one, other)) == Some(&index) {
            self.latest.remove(&key(one, other));
        }
        self.kept -= flow.packets.len();
        self.dropped += 1;
        Some(index)
    }

    /// Analyses the connections that carried data.
    ///
    /// # Errors
    /// [`Problem::NoData`] or [`Problem::NoneUsable`] if no connection is left.
    pub(crate) fn into_connections(self, warnings: &mut Vec<String>) -> Result<Vec<Connection>, Problem> {
        if self.dropped > 0 {
            warnings.push(format!(
                "at most {MAX_FLOWS} connections are kept; {} that had carried no data made room for later ones",
                self.dropped
            ));
        }
        if self.left_out > 0 {
            warnings.push(format!(
                "at most {MAX_FLOWS} connections are kept; {} packets of others are left out, which begin after these carried data",
                self.left_out
            ));
        }
        let mut flows = self.flows;
        warnings.extend(clock::warning(&clock::mend(&mut flows)));
        let start = flows.iter().flat_map(|flow| &flow.packets).map(|packet| packet.at).min();
        flows.retain(Flow::carried_data);
        let (Some(start), false) = (start, flows.is_empty()) else { return Err(Problem::NoData) };
        flows.sort_by_key(|flow| flow.packets.first().map(|packet| packet.number));
        let mut budget = MAX_PIECES;
        let connections = flows.into_iter().filter_map(|mut flow| {
            // several interfaces, or several threads of a writer, leave packets slightly out of order
            flow.packets.sort_by_key(|packet| packet.at);
            Connection::new(&mut flow, start, &mut budget, warnings)
        });
        let connections: Vec<_> = connections.collect();
        if connections.is_empty() { Err(Problem::NoneUsable) } else { Ok(connections) }
    }
}

/// Two endpoints, lower address first.
fn key(one: SocketAddr, other: SocketAddr) -> (SocketAddr, SocketAddr) {
    (one.min(other), one.max(other))
}
