//! One connection of a capture: its packets, with unwrapped sequence numbers.

use std::hash::Hash;
use std::net::SocketAddr;
use std::num::NonZeroU16;

use firstflight_contract::Nanos;

use crate::copy_place::CopyPlace;
use crate::groups::{GroupId, client};
use crate::packet::{Flags, TcpPacket};
use crate::registers::Registers;
use crate::side::Side;
use crate::source::Source;
use crate::successor::{Arrival, OddSyns, Owner, Successor};
use crate::syn::{Syn, Syns};
use crate::tap::Tap;
use crate::transfers::Exchange;
use crate::vantage::Vantage;

/// Number of the stretch between two steps of the capture's clock, from one.
pub(crate) type Epoch = NonZeroU16;

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
    /// IPv4 identification, if it is not zero (RFC 6864: that of an unfragmentable packet is arbitrary).
    pub(crate) ip_id: Option<u16>,
    pub(crate) flags: Flags,
    pub(crate) side: Side,
    pub(crate) tap: Tap,
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

    /// Whether it has no sequence number of its own: neither data nor SYN nor FIN.
    pub(crate) fn is_pure(&self) -> bool {
        self.seq == self.end()
    }

    /// Its bytes, as far as they are kept. Copies of a packet have the same, and so do most retransmissions without IP identification and
    /// time stamps.
    pub(crate) fn identity(&self) -> impl Ord + Hash + use<> {
        let Self { side, seq, payload, ack, window, flags, timestamps, ip_id, .. } = *self;
        (side as u8, seq, payload, ack, window, flags.0, timestamps, ip_id)
    }

    /// Whether `other`, an earlier packet of the connection, is surely the same: with the same identification, at nearly the same time.
    fn is_copy_of(&self, other: &Self) -> bool {
        /// Less than any round trip between two hosts with a network between them. Later copies are found when the
        /// whole connection is known ([`crate::copies`]).
        const AT_ONCE: u64 = 100_000;
        self.ip_id.is_some()
            && self.at.0.abs_diff(other.at.0) < AT_ONCE
            && self.identity() == other.identity()
    }
}

/// Options and progress of one end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct End {
    /// Highest plausible sequence number seen, in packets of this end or acknowledgements of the other.
    high: Option<u64>,
    /// Highest acknowledgement that it sent.
    acknowledges: Option<u64>,
    /// The last number that was implausibly high.
    odd: Option<u64>,
    pub(crate) syns: Syns,
    pub(crate) payload: u64,
    /// Data bytes, each counted once.
    pub(crate) new_bytes: u64,
    /// Whether it has sent its last byte.
    finished: bool,
    /// Latest IP identification, and how often the next packet had the same and another one.
    identification: Option<u16>,
    same_identification: u32,
    new_identification: u32,
}

impl End {
    /// Offset of the unwrapped numbers, so that none below the first one seen is negative.
    const ORIGIN: u64 = 1 << 32;

    /// A number that is higher by more than this is implausible, unless the next packet goes on from it: then the capture
    /// missed what lies between.
    const FAR: u64 = 100_000_000;

    /// Whether its IP identification changes from packet to packet, so that it identifies them.
    pub(crate) fn identifies(&self) -> bool {
        self.new_identification >= self.same_identification
    }

    fn identify(&mut self, id: Option<u16>) {
        if let (Some(before), Some(id)) = (self.identification, id) {
            *if before == id { &mut self.same_identification } else { &mut self.new_identification } += 1;
        }
        self.identification = id;
    }

    /// Sequence number of the SYN.
    pub(crate) fn syn(&self) -> Option<u64> {
        self.syns.own().map(|syn| syn.seq)
    }

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
        match self.high {
            Some(high) if to > high.saturating_add(Self::FAR) => {
                let goes_on = |odd: u64| odd < to && to - odd <= Self::FAR;
                let (high, odd) = if self.odd.is_some_and(goes_on) { (to, None) } else { (high, Some(to)) };
                (self.high, self.odd) = (Some(high), odd);
            }
            _ => self.high = self.high.max(Some(to)),
        }
    }

    /// The other end acknowledges all before `ack`, which may show that the connection's SYN is another than the first one.
    fn acknowledge_syn(&mut self, ack: u32) {
        if let Some(syn) = self.syns.acknowledge(ack) {
            (self.high, self.odd) = (Some(syn.seq + 1), None);
        }
    }

    /// New bytes of a data packet from `start` to `end`, with those that the capture missed in front of it.
    fn new_between(&self, start: u64, end: u64) -> u64 {
        let Some(high) = self.high else { return end - start };
        if start.saturating_sub(high) > Self::FAR {
            // bytes count once the next packet goes on from an implausible number
            let goes_on = self.odd.is_some_and(|odd| odd <= start && start - odd <= Self::FAR);
            return if goes_on { end - start } else { 0 };
        }
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
    /// Whether a side reset the connection, and which sides sent since then: if both did, it was no reset of this connection.
    reset: bool,
    since_reset: [bool; 2],
    /// Packets that reported nothing new: retransmissions, copies, repeated acknowledgements.
    pub(crate) repeats: u64,
    /// SYNs that may open the next connection between the same ports.
    successor: Successor,
    /// Source of the packets.
    pub(crate) source: Source,
    /// Whether datagrams of QUIC without data count as data, since nothing shows what they carry.
    pub(crate) counts_probes: bool,
    /// Share of the data packets of which it is open whether they arrived.
    pub(crate) open: f64,
    /// UDP payload of each packet with data of the two sides, in the order in which they left; none of a connection of TCP.
    pub(crate) datagrams: [Vec<u32>; 2],
    /// Registers that the sender reported, if its log has them.
    pub(crate) registers: Option<Registers>,
    /// Place of the recording, where the source states it.
    pub(crate) vantage: Option<Vantage>,
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

/// Error: the capture already contains the packet, at a place of this kind.
pub(crate) struct Duplicate(pub(crate) CopyPlace);

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
            since_reset: [false; 2],
            repeats: 0,
            successor: Successor::default(),
            source: Source::default(),
            counts_probes: false,
            open: 0.0,
            datagrams: [vec![], vec![]],
            registers: None,
            vantage: None,
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

    /// Connection of a packet between the same ports: this one or the next.
    pub(crate) fn place(&mut self, at: Nanos, packet: &TcpPacket, tap: Tap) -> Owner {
        /// Farthest number that packets of the connection may have: more than any window holds at the point of capture.
        const NEAR: u32 = 1 << 24;
        let arrival = || Arrival { at, packet: packet.clone(), tap };
        if self.opens_another(at, packet) {
            let peer = self.end(self.side_of(packet).other());
            let answered = peer.syn().is_some() || peer.acknowledges.is_some() || self.carried_data();
            if self.closed() || !answered {
                return Owner::Next(vec![]);
            }
            self.successor.open(arrival());
            return Owner::Held;
        }
        let ends = (self.ends, &self.sides);
        let is_near = |number: u32| {
            let high = ends.1[usize::from(ends.0[0] != packet.from)].high;
            high.is_none_or(|high| number.wrapping_sub((high as u32).wrapping_sub(NEAR)) <= 2 * NEAR)
        };
        self.successor.place(arrival, packet, is_near)
    }

    /// Whether `packet` is a SYN with another number than the connection's.
    fn opens_another(&self, at: Nanos, packet: &TcpPacket) -> bool {
        let written_late = self.packets.first().is_some_and(|first| at <= first.at);
        if !packet.flags.has(Flags::SYN) || packet.flags.has(Flags::ACK) || written_late {
            return false;
        }
        let end = self.end(self.side_of(packet));
        end.syn().map_or(end.high.is_some(), |syn| syn as u32 != packet.seq)
    }

    /// Whether both ends have finished, or one has reset the connection.
    pub(crate) fn closed(&self) -> bool {
        self.reset && self.since_reset != [true; 2] || self.sides.iter().all(|end| end.finished)
    }

    /// A reset, which may have any numbers and contains no information on the path.
    pub(crate) fn reset(&mut self, at: Nanos) {
        (self.reset, self.since_reset, self.last) = (true, [false; 2], self.last.max(at));
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
        let successor = Successor::default();
        let Self { ends, sides, client, group, exchange, last, keeps, reset, since_reset, repeats, .. } =
            *self;
        let (source, open, registers, vantage) = (self.source, self.open, self.registers, self.vantage);
        let counts_probes = self.counts_probes;
        Self {
            ends,
            packets,
            sacks,
            sides,
            client,
            group,
            exchange,
            last,
            keeps,
            reset,
            since_reset,
            repeats,
            successor,
            source,
            counts_probes,
            open,
            datagrams: std::mem::take(&mut self.datagrams),
            registers,
            vantage,
        }
    }

    /// Adds the packet with this `number` in the file, captured at `tap`. Returns its side and its new bytes.
    pub(crate) fn add(
        &mut self,
        at: Nanos,
        packet: &TcpPacket,
        number: u32,
        tap: Tap,
    ) -> Result<Added, Duplicate> {
        let side = self.side_of(packet);
        let [own, peer] = match side {
            Side::First => [0, 1],
            Side::Second => [1, 0],
        };
        let has_ack = packet.flags.has(Flags::ACK);
        if has_ack && self.sides[peer].syns.undecided() {
            self.sides[peer].acknowledge_syn(packet.ack);
        }
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
            ip_id: packet.ip_id.filter(|id| *id != 0),
            flags: packet.flags,
            side,
            tap: tap.behind(packet.hops, packet.layers),
            number,
            epoch: Epoch::MIN,
        };
        // copies of a packet follow each other closely
        const LOOK_BACK: usize = 8;
        let mut before = self.packets.iter().rev().take(LOOK_BACK);
        let same = before.find(|earlier| added.is_copy_of(earlier) && self.sides[own].identifies());
        if let Some(earlier) = same {
            return Err(Duplicate(CopyPlace::of(earlier.tap, added.tap)));
        }
        self.sides[own].identify(added.ip_id);
        let repeats = if added.is_pure() {
            has_ack && Some(ack) <= self.sides[own].acknowledges
        } else {
            Some(added.end()) <= self.sides[own].high
        };
        for &(from, to) in packet.sack.get() {
            let block = (self.sides[peer].unwrap(from), self.sides[peer].unwrap(to));
            if self.keeps {
                self.sacks.push(block);
            }
        }
        let new_bytes = match packet.payload {
            0 => 0,
            _ => self.sides[own]
                .new_between(added.data_start(), added.data_start() + u64::from(packet.payload)),
        };
        let opens = packet.flags.has(Flags::SYN);
        let belongs = !opens || self.sides[own].syns.add(Syn::new(seq, packet));
        // before the peer's own numbers advance: data that was not acknowledged may have followed it
        let has_all = has_ack && self.sides[peer].high <= Some(ack);
        if belongs {
            self.sides[own].advance(added.end());
        }
        if has_ack {
            self.sides[peer].advance(ack);
            self.sides[own].acknowledges = self.sides[own].acknowledges.max(Some(ack));
        }
        let end = &mut self.sides[own];
        end.payload += u64::from(packet.payload);
        end.new_bytes += new_bytes;
        end.finished |= packet.flags.has(Flags::FIN);
        self.since_reset[own] |= self.reset;
        self.repeats += u64::from(repeats);
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
        let first = |side: Side| self.end(side).syn().map_or(End::ORIGIN, |syn| syn + 1);
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
            tap: Tap::default(),
            number: self.packets.len() as u32 + 1,
            epoch: Epoch::MIN,
        });
    }

    /// Counts the data bytes of the packets again, after some were left out.
    pub(crate) fn count_payload(&mut self) {
        for side in [Side::First, Side::Second] {
            let own = self.packets.iter().filter(|packet| packet.side == side);
            self.sides[side as usize].payload = own.map(|packet| u64::from(packet.payload)).sum();
        }
    }

    /// Leaves out SYNs with another number than the connection's. Returns their numbers.
    pub(crate) fn drop_odd_syns(&mut self) -> OddSyns {
        let syns = [Side::First, Side::Second].map(|side| self.end(side).syn());
        let mut odd = self.successor.end();
        self.packets.retain(|packet| {
            let own = !packet.flags.has(Flags::SYN)
                || syns[packet.side as usize].is_none_or(|syn| syn == packet.seq);
            if !own {
                odd.count(packet.flags);
            }
            own
        });
        odd
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
