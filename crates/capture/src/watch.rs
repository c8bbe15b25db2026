//! Connections on a link while it is watched: each is analysed when it ends, and then forgotten, so that any time can be
//! watched in a fixed memory.

#[expect(
    clippy::disallowed_types,
    reason = "entries are looked up by their key, and never in the map's order"
)]
use std::collections::HashMap;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use firstflight_contract::Nanos;
use serde::Serialize;

use crate::container::for_each_frame;
use crate::copies;
use crate::decode::{Content, Decoder, PassedOver, Tally};
use crate::error::Error;
use crate::flows::{Added, Duplicate, Flow};
use crate::observed::Connection;
use crate::packet::{Flags, TcpPacket};
use crate::packet_trace::MAX_PIECES;
use crate::reader::{Next, failed, open};
use crate::side::key;
use crate::successor::{Arrival, Owner};
use crate::tap::Tap;

/// Time after which a connection that both ends have finished is analysed: its last packets may be late.
const LINGER: Nanos = Nanos::from_secs(1);
/// Silence after which a connection counts as ended.
const SILENT: Nanos = Nanos::from_secs(300);
/// Silence after which data of the client is a request that may start a transfer anew (Linux restarts an idle window after
/// a retransmission timeout, a second at most on most paths).
const IDLE: Nanos = Nanos::from_secs(1);
/// Connections that are looked at for one that makes room.
const LOOKED_AT: usize = 64;

/// Bounds of the memory of a [`Watch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Connections at a time.
    pub connections: usize,
    /// Packets of one connection. With the last of them the connection is analysed; later ones only show its end.
    pub of_connection: usize,
    /// Packets of all connections together.
    pub packets: usize,
}

impl Default for Room {
    /// At most 100 MB: 65 536 connections of some 500 bytes, and 2^19 packets of some 100 bytes.
    fn default() -> Self {
        Self { connections: 1 << 16, of_connection: 1 << 13, packets: 1 << 19 }
    }
}

/// Counts of a [`Watch`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Watched {
    /// Packets, of any kind.
    pub packets: u64,
    /// TCP packets.
    pub tcp: u64,
    /// Packets that may have carried TCP and could not be read: [`Watch::passed_over`] has their kinds.
    pub passed_over: u64,
    /// TCP packets whose options were cut off, so that window scale, SACK and time stamps are not known.
    pub cut_options: u64,
    /// SYNs with another number than that of their connection.
    pub odd_syns: u64,
    /// TCP packets seen twice, as a mirror that copies both ports of a path shows them; all else counts them once.
    pub duplicates: u64,
    /// Connections that were analysed.
    pub connections: u64,
    /// Connections without usable data.
    pub without_data: u64,
    /// Connections that made room for others before they ended. Those with data were analysed.
    pub early: u64,
}

/// A client's packet that may start a transfer: its SYN, or data after an idle time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Address of the client.
    pub client: IpAddr,
    /// Address and port of the server.
    pub server: SocketAddr,
}

/// Connections on a link while it is watched.
#[derive(Debug)]
pub struct Watch {
    room: Room,
    flows: Vec<Option<Flow>>,
    free: Vec<u32>,
    /// Connection between two endpoints, lower address first.
    #[expect(clippy::disallowed_types, reason = "as at its import")]
    open: HashMap<(SocketAddr, SocketAddr), u32>,
    /// Packets kept.
    kept: usize,
    /// Place where the next search for room begins.
    hand: usize,
    counts: Watched,
    ended: Vec<Connection>,
    decoder: Decoder,
    /// Packets that could not be read.
    passed: Tally,
}

impl Watch {
    /// A watch that has seen nothing.
    pub fn new(room: Room) -> Self {
        Self {
            room,
            flows: vec![],
            free: vec![],
            #[expect(clippy::disallowed_types, reason = "as at its import")]
            open: HashMap::new(),
            kept: 0,
            hand: 0,
            counts: Watched::default(),
            ended: vec![],
            decoder: Decoder::default(),
            passed: Tally::default(),
        }
    }

    /// Takes a frame of `link_type` (a number in the registry of the tcpdump group), of `wire_len` bytes, of which `data` was
    /// captured. Times do not run backwards by more than some milliseconds.
    pub fn frame(&mut self, at: Nanos, link_type: u32, data: &[u8], wire_len: u32) -> Option<Request> {
        self.counts.packets += 1;
        match self.decoder.decode(Some(at), link_type, data, wire_len) {
            Content::Tcp(packet) => {
                if !packet.whole {
                    self.passed.add_cut_options(data.len(), wire_len);
                }
                self.packet(at, &packet, Tap::new(0, 0, link_type, data))
            }
            Content::Passed(why) => {
                self.passed.add(why, data.len(), wire_len);
                None
            }
            Content::Udp(_) | Content::Fragment => None,
        }
    }

    /// Packets that may have carried TCP and could not be read, by their kind. Those of incomplete fragments count with
    /// [`Watch::finish`].
    pub fn passed_over(&self, name: &str) -> Vec<PassedOver> {
        self.passed.listed(name).collect()
    }

    /// A sentence about each kind of them.
    pub fn passed_over_sentences(&self) -> Vec<String> {
        self.passed.reasons().filter_map(|why| self.passed.sentence(why)).collect()
    }

    fn packet(&mut self, at: Nanos, packet: &TcpPacket, tap: Tap) -> Option<Request> {
        self.counts.tcp += 1;
        let key = key(packet.from, packet.to);
        let known = self.open.get(&key).copied();
        if packet.flags.has(Flags::RST) {
            if let Some(flow) = known.and_then(|index| self.flows[index as usize].as_mut()) {
                flow.reset(at);
            }
            return None;
        }
        let place = known
            .and_then(|index| Some((index, self.flows[index as usize].as_mut()?.place(at, packet, tap))));
        let index = match place {
            Some((index, Owner::Own)) => index,
            // It may open a connection, as every SYN may.
            Some((_, Owner::Held)) => return opening(packet),
            Some((index, Owner::Next(held))) => {
                self.end(index);
                let next = self.begin(held.first().map_or(packet, |first| &first.packet), key);
                for Arrival { at, packet, tap } in held {
                    self.take(next, at, &packet, tap);
                }
                next
            }
            None => {
                if self.open.len() >= self.room.connections {
                    self.make_room();
                }
                self.begin(packet, key)
            }
        };
        self.take(index, at, packet, tap)
    }

    /// Adds a packet to the connection at `index`, unless that made room for others.
    fn take(&mut self, index: u32, at: Nanos, packet: &TcpPacket, tap: Tap) -> Option<Request> {
        let number = self.counts.tcp as u32;
        let flow = self.flows[index as usize].as_mut()?;
        let (before, idle) = (flow.packets.len(), at.saturating_sub(flow.last) >= IDLE);
        let side = match flow.add(at, packet, number, tap) {
            Ok(Added { side, .. }) => side,
            Err(Duplicate(_)) => {
                self.counts.duplicates += 1;
                return None;
            }
        };
        self.kept += flow.packets.len() - before;
        let asks = side == flow.client && (opening(packet).is_some() || packet.payload > 0 && idle);
        if flow.packets.len() >= self.room.of_connection {
            self.kept -= flow.packets.len();
            let part = flow.split_off();
            self.analyse(part);
        } else if self.kept >= self.room.packets {
            self.make_room();
        }
        asks.then(|| request(packet))
    }

    fn begin(&mut self, packet: &TcpPacket, key: (SocketAddr, SocketAddr)) -> u32 {
        let flow = Some(Flow::new(packet));
        let index = match self.free.pop() {
            Some(index) => {
                self.flows[index as usize] = flow;
                index
            }
            None => {
                self.flows.push(flow);
                (self.flows.len() - 1) as u32
            }
        };
        self.open.insert(key, index);
        index
    }

    /// Ends the connection at `index`.
    fn end(&mut self, index: u32) {
        let Some(flow) = self.flows[index as usize].take() else { return };
        let [one, other] = flow.ends;
        self.open.remove(&key(one, other));
        self.free.push(index);
        self.kept -= flow.packets.len();
        // One that was analysed as far as it was kept has no packets.
        match flow.carried_data() {
            true if flow.packets.is_empty() => {}
            true => self.analyse(flow),
            false => self.counts.without_data += 1,
        }
    }

    fn analyse(&mut self, mut flow: Flow) {
        let odd = flow.drop_odd_syns();
        self.counts.odd_syns += odd.opening + odd.answers;
        copies::leave_out(&mut flow, &mut |_, _| self.counts.duplicates += 1);
        flow.packets.sort_by_key(|packet| packet.at);
        match Connection::new(&mut flow, Nanos::ZERO, &mut MAX_PIECES.clone(), &mut vec![]) {
            Some(connection) => {
                self.counts.connections += 1;
                self.ended.push(connection);
            }
            None => self.counts.without_data += 1,
        }
    }

    /// Ends a connection: one that is closed, else one without data, else the one that has been silent for longest, among
    /// the next ones in the table. One without packets makes no room for packets.
    fn make_room(&mut self) {
        let for_packets = self.kept >= self.room.packets;
        let mut best: Option<((u8, Nanos), usize)> = None;
        let (mut seen, mut left) = (0, self.flows.len());
        while seen < LOOKED_AT && left > 0 {
            left -= 1;
            self.hand = (self.hand + 1) % self.flows.len();
            let Some(flow) = &self.flows[self.hand] else { continue };
            if for_packets && flow.packets.is_empty() {
                continue;
            }
            seen += 1;
            let rank = (if flow.closed() { 0 } else { 1 + u8::from(flow.carried_data()) }, flow.last);
            if best.is_none_or(|(least, _)| rank < least) {
                best = Some((rank, self.hand));
            }
        }
        if let Some(((rank, _), index)) = best {
            self.counts.early += u64::from(rank > 0);
            self.end(index as u32);
        }
    }

    /// Ends the connections that have ended by this time: closed a second ago, or silent for five minutes.
    pub fn sweep(&mut self, now: Nanos) {
        for index in 0..self.flows.len() {
            let Some(flow) = &self.flows[index] else { continue };
            let silence = now.saturating_sub(flow.last);
            if silence >= if flow.closed() { LINGER } else { SILENT } {
                self.end(index as u32);
            }
        }
    }

    /// Ends all connections.
    pub fn finish(&mut self) {
        self.sweep(Nanos::NEVER);
        for (_, incomplete) in self.decoder.take_incomplete() {
            self.passed.add_incomplete(incomplete);
        }
    }

    /// Takes the connections that were analysed since the last call. Their times count from the zero of the frames' times.
    pub fn take_ended(&mut self) -> Vec<Connection> {
        std::mem::take(&mut self.ended)
    }

    /// Counts so far.
    pub fn counts(&self) -> Watched {
        Watched { passed_over: self.passed.packets(), cut_options: self.passed.cut_options(), ..self.counts }
    }

    /// Connections that are followed now.
    pub fn open(&self) -> usize {
        self.open.len()
    }
}

fn request(packet: &TcpPacket) -> Request {
    Request { client: packet.from.ip().to_canonical(), server: packet.to }
}

/// The request of a SYN that opens a connection.
fn opening(packet: &TcpPacket) -> Option<Request> {
    let opens = packet.flags.has(Flags::SYN) && !packet.flags.has(Flags::ACK);
    opens.then(|| request(packet))
}

/// Passes every frame with a time of a capture, plain or compressed with gzip or zstd, to `each`: time, link type, captured
/// bytes and length on the wire, as [`Watch::frame`] takes them. `name` is its name in errors.
///
/// # Errors
/// [`Error`] if the file cannot be read or is no capture. A truncated file is read up to its end.
pub fn for_each(
    input: impl Read,
    name: impl AsRef<Path>,
    mut each: impl FnMut(Nanos, u32, &[u8], u32),
) -> Result<(), Error> {
    let name = name.as_ref();
    let frames = for_each_frame(open(input, name)?, |frame| {
        if let (Some(at), Some(link_type)) = (frame.at, frame.link_type) {
            each(at, link_type, frame.data, frame.wire_len);
        }
        Next::Continue
    });
    frames.map(drop).map_err(|failure| failed(failure, name))
}
