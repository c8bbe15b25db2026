//! One connection whose packets are opened as they are captured.

use firstflight_contract::Nanos;

use super::super::flow_control::Credit;
use super::super::{Data, Event, MAX_EVENTS, Place};
use super::hello::{self, Crypto};
use super::secrets::Keys;
use super::wire::{Frame, Packet, Version, frames, packets};
use super::{KeyLog, Random};
use crate::side::Side;

/// A datagram with its captured bytes.
#[derive(Clone, Copy, Debug)]
pub(in crate::quic) struct Captured<'a> {
    pub(in crate::quic) at: Nanos,
    pub(in crate::quic) from_client: bool,
    pub(in crate::quic) bytes: &'a [u8],
    /// Bytes behind the UDP header, on the wire.
    pub(in crate::quic) size: u32,
    /// Length of the connection ID of the receiver in short headers, if it is known.
    pub(in crate::quic) id_len: Option<u32>,
}

/// Connection that is opened.
#[derive(Debug, Default)]
pub(in crate::quic) struct Opened {
    /// Connection ID to which the client sent its Initial packets.
    original: Vec<u8>,
    version: Option<Version>,
    crypto: [Crypto; 2],
    random: Option<Random>,
    keys: Option<[Keys; 2]>,
    /// Reason why there are no keys.
    missing: Option<String>,
    credit: [Credit; 2],
    /// Whether a side has sent data.
    began: [bool; 2],
    pub(in crate::quic) events: Vec<(Nanos, Side, Event)>,
    pub(in crate::quic) ranges: Vec<(u64, u64)>,
    pub(in crate::quic) places: Vec<Place>,
    /// Length of the latest packet of each side that was one of several in a datagram.
    joined: [usize; 2],
    opened: u64,
    sealed: u64,
    cut: u64,
    beyond: u64,
    unknown: Option<(u64, u64)>,
}

impl Opened {
    /// Opens the packets of a datagram.
    pub(in crate::quic) fn datagram(&mut self, log: &KeyLog, one: Captured<'_>) {
        if (one.bytes.len() as u64) < u64::from(one.size) {
            self.cut += 1;
            return;
        }
        for packet in packets(one.bytes) {
            match packet {
                Packet::Initial { version, bytes, to, number_at } => {
                    self.initial(one.from_client, version, bytes, to, number_at);
                    self.find_keys(log);
                }
                Packet::Short(bytes) => self.short(one, bytes),
                Packet::Other => {}
            }
        }
    }

    /// An Initial packet, which any observer can open (RFC 9001 section 5.2). After a Retry the client sends to another connection ID.
    fn initial(&mut self, from_client: bool, version: Version, bytes: &[u8], to: &[u8], number_at: usize) {
        let side = usize::from(!from_client);
        let open = |id: &[u8]| {
            let mut keys = Keys::initial(version, id)?;
            keys[side].open(bytes, number_at)
        };
        let known = open(&self.original);
        let content = match known {
            None if from_client => open(to).inspect(|_| self.original = to.to_vec()),
            known => known,
        };
        let Some(content) = content else { return };
        if !from_client {
            // The server chooses among compatible versions (RFC 9368).
            self.version = Some(version);
        }
        for frame in frames(&content.frames) {
            if let Frame::Crypto { offset, data } = frame {
                self.crypto[side].take(offset, data);
            }
        }
    }

    fn find_keys(&mut self, log: &KeyLog) {
        if self.keys.is_some() {
            return;
        }
        let [client, server] = &self.crypto;
        self.random = self.random.or_else(|| hello::random(client));
        if let Some(limits) = hello::limits(client) {
            self.credit[1].announce(limits);
        }
        let (Some(random), Some(suite), Some(version)) = (self.random, hello::suite(server), self.version)
        else {
            return;
        };
        let name: String = random.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let found = match log.of(&random) {
            None => Err(format!("the key log has no secret of the client random {name}...")),
            Some([None, _]) => {
                Err(format!("the key log lacks CLIENT_TRAFFIC_SECRET_0 of the client random {name}..."))
            }
            Some([_, None]) => {
                Err(format!("the key log lacks SERVER_TRAFFIC_SECRET_0 of the client random {name}..."))
            }
            Some([Some(client), Some(server)]) => {
                let [client, server] = [client, server].map(|secret| Keys::of(suite, version, secret));
                let lengths =
                    || format!("the secrets of the client random {name}... are not of its cipher suite");
                client.zip(server).map(<[Keys; 2]>::from).ok_or_else(lengths)
            }
        };
        match found {
            Ok(keys) => self.keys = Some(keys),
            Err(why) => self.missing = Some(why),
        }
    }

    /// A packet with a short header, or several of one length that the host joined.
    fn short(&mut self, one: Captured<'_>, bytes: &[u8]) {
        /// Lengths of packets that hosts join.
        const JOINED: std::ops::RangeInclusive<usize> = 600..=1472;
        let side = usize::from(!one.from_client);
        let (Some(keys), Some(id)) = (&mut self.keys, one.id_len) else {
            self.sealed += 1;
            return;
        };
        let offset = 1 + id as usize;
        let mut open = |bytes: &[u8]| keys[side].open(bytes, offset);
        if let Some(content) = open(bytes) {
            return self.content(one, content.number, bytes.len(), &content.frames);
        }
        if bytes.len() <= *JOINED.end() {
            self.sealed += 1;
            return;
        }
        let known = self.joined[side];
        let lengths = [known].into_iter().filter(|known| *known > 0).chain(JOINED.rev());
        let found =
            lengths.filter(|len| *len < bytes.len()).find_map(|len| Some((len, open(&bytes[..len])?)));
        let Some((len, content)) = found else {
            self.sealed += 1;
            return;
        };
        self.joined[side] = len;
        self.content(one, content.number, len, &content.frames);
        for bytes in bytes[len..].chunks(len) {
            let opened = self.keys.as_mut().and_then(|keys| keys[side].open(bytes, offset));
            match opened {
                Some(content) => self.content(one, content.number, bytes.len(), &content.frames),
                None => self.sealed += 1,
            }
        }
    }

    fn push(&mut self, at: Nanos, side: Side, event: Event) {
        if self.events.len() < MAX_EVENTS {
            self.events.push((at, side, event));
        } else {
            self.beyond += 1;
        }
    }

    /// Takes the frames of a packet.
    fn content(&mut self, one: Captured<'_>, number: u64, size: usize, content: &[u8]) {
        self.opened += 1;
        let side = if one.from_client { Side::First } else { Side::Second };
        let (own, peer) = (side as usize, side.other() as usize);
        let all = frames(content);
        if let Some(Frame::Unknown(kind)) = all.last() {
            let count = self.unknown.map_or(0, |(_, count)| count);
            self.unknown = Some((*kind, count + 1));
        }
        // A frame of one end raises the limit of the other.
        let mut raised = false;
        for frame in &all {
            raised |= match *frame {
                Frame::MaxData(limit) => self.credit[peer].raise(limit),
                Frame::MaxStreamData { id, limit } => self.credit[peer].raise_stream(id, limit),
                _ => false,
            };
        }
        let room = |log: &Self| {
            let room = log.credit[peer].room(side.other() == Side::First);
            room.map(|room| u32::try_from(room).unwrap_or(u32::MAX))
        };
        let mut acknowledged = false;
        for frame in &all {
            let Frame::Ack(ranges) = frame else { continue };
            if self.ranges.len() + ranges.len() > 4 * MAX_EVENTS {
                self.beyond += 1;
                continue;
            }
            acknowledged = true;
            let (first, count) = (self.ranges.len() as u32, ranges.len() as u32);
            self.ranges.extend(ranges);
            self.push(one.at, side, Event::Acked { first, count, room: room(self) });
        }
        if raised && !acknowledged {
            self.push(one.at, side, Event::Acked { first: 0, count: 0, room: room(self) });
        }
        // Before its first data, an end may send what the transport parameters of the other let it.
        let first = all.iter().find_map(|frame| match frame {
            Frame::Stream { id, .. } => Some(*id),
            _ => None,
        });
        let limit = first.and_then(|id| self.credit[own].room_before(id, one.from_client));
        for frame in &all {
            if let Frame::Stream { id, offset, len, ends } = *frame {
                self.credit[own].send(id, offset.saturating_add(len), ends);
            }
        }
        // Each DATAGRAM frame has offsets of its own.
        let mut alone = number << 16;
        let places = all.iter().filter_map(|frame| match *frame {
            Frame::Stream { id, offset, len, .. } => Some(Place { first: (id, offset), len }),
            Frame::Datagram(len) => {
                alone += len;
                Some(Place { first: (u64::MAX, alone - len), len })
            }
            _ => None,
        });
        let first = self.places.len();
        self.places.extend(places.filter(|place| place.len > 0));
        let count = self.places.len() - first;
        if count == 0 {
            return;
        }
        if let Some(limit) = limit.filter(|_| !self.began[own]) {
            self.push(one.at, side.other(), Event::Allowed(u32::try_from(limit).unwrap_or(u32::MAX)));
        }
        self.began[own] = true;
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let data = Data::All { first: first as u32, count: count as u32 };
        self.push(one.at, side, Event::Sent { number, size, data });
    }

    /// Sentences about packets that are left out.
    ///
    /// # Errors
    /// The sentence of a connection that was not opened.
    pub(in crate::quic) fn finish(&self) -> Result<Vec<String>, String> {
        if self.began == [false; 2] || self.sealed > self.opened {
            return Err(self.missing.clone().unwrap_or_else(|| self.without_keys()));
        }
        let count = |count: u64, what: &str| (count > 0).then(|| format!("{count} packets {what}"));
        let unknown = self.unknown.map(|(kind, count)| {
            format!("{count} packets have a frame of an unknown type ({kind:#x}); the frames behind it are not read")
        });
        let sealed = count(self.sealed, "are not opened by the secrets of the key log and are left out");
        let cut = count(
            self.cut,
            "were not captured whole and are left out; tcpdump keeps whole packets with -s 0",
        );
        let beyond = count(self.beyond, &format!("behind the first {MAX_EVENTS} events are left out"));
        Ok([unknown, sealed, cut, beyond].into_iter().flatten().collect())
    }

    fn without_keys(&self) -> String {
        if self.cut > 0 {
            return "its packets were not captured whole; tcpdump keeps whole packets with -s 0".into();
        }
        if self.keys.is_none() {
            return "the capture lacks its first packets, by which a key log names connections".into();
        }
        if self.opened == 0 || self.sealed > self.opened {
            return "the secrets of the key log do not open its packets".into();
        }
        "its packets carry no data".into()
    }
}
