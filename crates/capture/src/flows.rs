//! One connection of a capture: its packets, with unwrapped sequence numbers.

use std::net::SocketAddr;

use firstflight_contract::Nanos;

use crate::clock::Epoch;
use crate::groups::{GroupId, client};
use crate::packet::{Flags, TcpPacket};
use crate::transfers::Exchange;

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
    /// Data bytes, each counted once.
    pub(crate) new_bytes: u64,
    /// Whether it has sent its last byte.
    finished: bool,
    /// Encapsulations of its last packet with something new.
    layers: Option<u32>,
    /// Highest acknowledgement it sent.
    acked: Option<u64>,
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

    /// New bytes of a data packet from `start` to `end`, with those that the capture missed in front of it.
    fn news(&self, start: u64, end: u64) -> u64 {
        // a longer gap is an implausible number
        const MISSED: u64 = 100_000_000;
        let Some(high) = self.high.filter(|high| start.saturating_sub(*high) <= MISSED) else {
            return end - start;
        };
        end.saturating_sub(high)
    }
}

/// Packets of one connection.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) ends: [SocketAddr; 2],
    pub(crate) packets: Vec<Packet>,
    sacks: Vec<(u64, u64)>,
    pub(crate) sides: [End; 2],
    /// Side of the client.
    pub(crate) client: Side,
    /// Group of its client's network, from the first data on.
    pub(crate) group: Option<GroupId>,
    /// The transfer that is running.
    pub(crate) exchange: Exchange,
    /// Time of the last packet.
    pub(crate) last: Nanos,
    /// Whether packets are kept; otherwise they are counted only.
    pub(crate) keeps: bool,
    /// Whether the connection was reset.
    pub(crate) reset: bool,
}

/// A packet that was added to its connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Added {
    pub(crate) side: Side,
    /// Data bytes that were not seen before.
    pub(crate) new_bytes: u64,
    /// Side and bytes of the transfer that the packet ended.
    pub(crate) ended: Option<(Side, u64)>,
}

/// Error: the capture already contains the packet.
pub(crate) struct Duplicate;

impl Flow {
    pub(crate) fn new(packet: &TcpPacket) -> Self {
        Self {
            ends: [packet.from, packet.to],
            packets: Vec::new(),
            sacks: Vec::new(),
            sides: [End::default(); 2],
            client: client(packet),
            group: None,
            exchange: Exchange::default(),
            last: Nanos::ZERO,
            keeps: true,
            reset: false,
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
    pub(crate) fn is_succeeded_by(&self, at: Nanos, packet: &TcpPacket) -> bool {
        let written_late = self.packets.first().is_some_and(|first| at <= first.at);
        if !packet.flags.has(Flags::SYN) || packet.flags.has(Flags::ACK) || written_late {
            return false;
        }
        match self.end(self.side_of(packet)) {
            End { syn: Some(syn), .. } => *syn as u32 != packet.seq,
            End { high, .. } => high.is_some(),
        }
    }

    /// Whether both ends have finished, or one has reset the connection.
    pub(crate) fn closed(&self) -> bool {
        self.reset || self.sides.iter().all(|end| end.finished)
    }

    /// Data bytes in both directions, each counted once.
    pub(crate) fn bytes(&self) -> u64 {
        self.sides.iter().map(|end| end.new_bytes).sum()
    }

    /// Leaves out the packets after the first `most`, and those to come.
    pub(crate) fn cut(&mut self, most: usize) {
        self.keeps = false;
        if let Some(first) = self.packets.get(most) {
            self.sacks.truncate(first.sack_start as usize);
            self.packets.truncate(most);
        }
        self.packets.shrink_to_fit();
        self.sacks.shrink_to_fit();
    }

    /// Its packets so far as a connection of their own; later ones are not kept.
    pub(crate) fn split_off(&mut self) -> Self {
        self.keeps = false;
        let (packets, sacks) = (std::mem::take(&mut self.packets), std::mem::take(&mut self.sacks));
        let Self { ends, sides, client, group, exchange, last, keeps, reset, .. } = *self;
        Self { ends, packets, sacks, sides, client, group, exchange, last, keeps, reset }
    }

    /// Adds the packet with this `number` in the file. Returns its side and its new bytes.
    pub(crate) fn add(&mut self, at: Nanos, packet: &TcpPacket, number: u32) -> Result<Added, Duplicate> {
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
            sack_count: packet.sack.get().len() as u8,
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
        // A host, a tunnel's end or a switch is often captured on both sides, where the packets may be cut differently.
        let end = &self.sides[own];
        let news = end.high < Some(added.end()) || has_ack && end.acked < Some(ack);
        if end.layers.is_some_and(|layers| layers != packet.layers) && !news {
            return Err(Duplicate);
        }
        for &(from, to) in packet.sack.get() {
            let block = (self.sides[peer].unwrap(from), self.sides[peer].unwrap(to));
            if self.keeps {
                self.sacks.push(block);
            }
        }
        let new_bytes = match packet.payload {
            0 => 0,
            _ => self.sides[own].news(added.data_start(), added.data_start() + u64::from(packet.payload)),
        };
        // before the peer's own numbers advance: data that was not acknowledged may have followed it
        let has_all = has_ack && self.sides[peer].high <= Some(ack);
        self.sides[own].advance(added.end());
        if has_ack {
            self.sides[peer].advance(ack);
        }
        let end = &mut self.sides[own];
        if news {
            end.layers = Some(packet.layers);
        }
        if has_ack {
            end.acked = end.acked.max(Some(ack));
        }
        end.payload += u64::from(packet.payload);
        end.new_bytes += new_bytes;
        end.finished |= packet.flags.has(Flags::FIN);
        if packet.flags.has(Flags::SYN) {
            end.syn = Some(seq);
            end.syn_cut |= !packet.whole;
            end.mss = packet.mss.or(end.mss);
            end.window_scale = packet.window_scale.or(end.window_scale);
        }
        self.last = self.last.max(at);
        let ended = if new_bytes > 0 { self.exchange.add(side, new_bytes, has_all) } else { None };
        if self.keeps {
            self.packets.push(added);
        }
        Ok(Added { side, new_bytes, ended })
    }

    /// Adds a packet of a simulated connection whose SYNs were added: of `side`, with `payload` bytes from the offset `start` of its
    /// data on and an ACK up to the offset `ack` of the other side's. Such a packet is captured once, and its numbers do not
    /// wrap, which would have to be found out of any other.
    pub(crate) fn add_simulated(
        &mut self,
        at: Nanos,
        side: Side,
        (start, payload, header): (u64, u32, u32),
        (ack, blocks): (u64, &[(u64, u64)]),
    ) {
        let first = |side: Side| self.end(side).syn.map_or(End::ORIGIN, |syn| syn + 1);
        let (own, peer) = (first(side), first(side.other()));
        let sack_start = self.sacks.len() as u32;
        self.sacks.extend(blocks.iter().map(|(from, to)| (peer + from, peer + to)));
        self.sides[side as usize].payload += u64::from(payload);
        self.last = self.last.max(at);
        self.packets.push(Packet {
            at,
            seq: own + start,
            ack: peer + ack,
            payload,
            ip_len: header + payload,
            timestamps: None,
            sack_start,
            sack_count: blocks.len() as u8,
            window: 0,
            ip_id: None,
            flags: Flags(Flags::ACK),
            side,
            number: self.packets.len() as u32 + 1,
            epoch: Epoch::MIN,
        });
    }

    /// Smallest positive difference between the sorted packet times, an estimate of the clock's resolution.
    pub(crate) fn clock_step(&self) -> Nanos {
        let same_epoch = self.packets.windows(2).filter(|pair| pair[0].epoch == pair[1].epoch);
        let steps = same_epoch.map(|pair| pair[1].at.saturating_sub(pair[0].at));
        steps.filter(|step| *step > Nanos::ZERO).min().unwrap_or_default()
    }

    pub(crate) fn carried_data(&self) -> bool {
        self.sides.iter().any(|end| end.payload > 0)
    }

    /// Side that sent more data.
    pub(crate) fn sender(&self) -> Side {
        if self.sides[0].payload >= self.sides[1].payload { Side::First } else { Side::Second }
    }
}
