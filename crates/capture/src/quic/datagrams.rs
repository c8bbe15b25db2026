//! Encrypted connections of QUIC in a capture: their datagrams, which connections they belong to, and their handshakes.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use firstflight_contract::Nanos;

use super::behaviour::Candidates;
use super::model::Model;
use super::offload::split;
use super::spin::shortest_spin;
#[cfg(feature = "keys")]
use super::{
    KeyLog,
    keys::{Captured, Opened},
};
use super::{Recorded, Source};
use crate::opening::{Datagram, Id, Opening};
use crate::packet::UdpPacket;
use crate::side::{Side, key};
use crate::source::LEAST_DATA;

/// Maximum number of UDP flows that are counted apart.
const MAX_FLOWS: usize = 1 << 16;
/// Maximum number of datagrams kept.
const MAX_DATAGRAMS: usize = 1 << 20;
/// Port of HTTP/3, the only one that QUIC has in common use.
const HTTPS: u16 = 443;

/// UDP packets of a capture, of which those of QUIC are kept.
#[derive(Debug, Default)]
pub(crate) struct Datagrams {
    /// Connections between two ends, lower address first.
    flows: BTreeMap<(SocketAddr, SocketAddr), Vec<Seen>>,
    packets: u64,
    kept: usize,
    left_out: u64,
    copies: u64,
    /// Flows that neither a long header nor a port shows as QUIC.
    candidates: Candidates,
    /// Packets without a time.
    timeless: u64,
    /// Secrets that open packets.
    #[cfg(feature = "keys")]
    keys: Option<KeyLog>,
}

/// A connection of QUIC, as far as it was captured.
#[derive(Debug)]
struct Seen {
    client: SocketAddr,
    server: SocketAddr,
    datagrams: Vec<Datagram>,
    opening: Stage,
    /// Connection IDs of the client and of the server.
    ids: [Option<Id>; 2],
    /// Connection ID to which the client sent its first packet.
    original: Id,
    first: u32,
    /// Packets that a key log opens.
    #[cfg(feature = "keys")]
    opened: Option<Box<Opened>>,
}

/// Packets of the handshake seen so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Nothing,
    Opened(Nanos),
    Answered(Opening),
    Confirmed(Opening),
}

impl Datagrams {
    /// Opens packets by these secrets.
    #[cfg(feature = "keys")]
    pub(crate) fn open_by(&mut self, keys: KeyLog) {
        self.keys = Some(keys);
    }

    /// Counts a packet, the one with this `number` in the order of the files, and keeps it if it belongs to a connection of QUIC. `bytes`
    /// are those behind its UDP header that were captured, if the decoder keeps them.
    pub(crate) fn add(&mut self, at: Option<Nanos>, packet: &UdpPacket, number: u32, bytes: &[u8]) {
        self.packets += 1;
        let ends = key(packet.from, packet.to);
        let known = self.flows.contains_key(&ends);
        let https = packet.to.port() == HTTPS || packet.from.port() == HTTPS;
        if !known && self.flows.len() >= MAX_FLOWS {
            return;
        }
        if known || packet.header.long || https {
            self.keep(at, packet, number, bytes);
            return;
        }
        // These show no handshake, so that no key log names them.
        for (at, packet, number) in self.candidates.add(ends, at, packet, number) {
            self.keep(at, &packet, number, &[]);
        }
    }

    /// Keeps a packet of QUIC.
    #[cfg_attr(not(feature = "keys"), allow(unused_variables, reason = "only keys open packets"))]
    fn keep(&mut self, at: Option<Nanos>, packet: &UdpPacket, number: u32, bytes: &[u8]) {
        /// Datagrams looked back at for a copy.
        const LOOK_BACK: usize = 8;
        let ends = key(packet.from, packet.to);
        let Some(at) = at else {
            self.timeless += 1;
            return;
        };
        let seen = self.flows.entry(ends).or_default();
        if seen.last().is_none_or(|last| last.is_followed_by(packet)) {
            seen.push(Seen::new(packet, number));
        }
        let Some(seen) = seen.last_mut() else { return };
        if self.kept >= MAX_DATAGRAMS {
            self.left_out += 1;
            return;
        }
        let from_client = packet.from == seen.client;
        let datagram = Datagram {
            at,
            size: packet.payload,
            hash: packet.header.hash,
            from_client,
            long: packet.header.long,
            spin: packet.header.spin(),
        };
        let same = |one: &Datagram| {
            (one.size, one.hash, one.from_client) == (datagram.size, datagram.hash, from_client)
        };
        if seen.datagrams.iter().rev().take(LOOK_BACK).any(same) {
            self.copies += 1;
            return;
        }
        seen.open(at, packet, from_client);
        #[cfg(feature = "keys")]
        if let Some(log) = &self.keys {
            let id_len = seen.ids[usize::from(from_client)].map(Id::len);
            let captured = Captured { at, from_client, bytes, size: packet.payload, id_len };
            seen.opened.get_or_insert_default().datagram(log, captured);
        }
        seen.datagrams.push(datagram);
        self.kept += 1;
    }

    /// Whether a packet looks like one of QUIC.
    pub(crate) fn has_any(&self) -> bool {
        !self.flows.is_empty()
    }

    /// Number of UDP packets.
    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    /// The connections that show data and acknowledgements, and sentences about what is modelled or left out.
    pub(crate) fn finish(self, warnings: &mut Vec<String>) -> Vec<Recorded> {
        let mut recorded = vec![];
        let mut unusable = vec![];
        let mut offloaded = 0;
        for mut seen in self.flows.into_values().flatten() {
            let name = format!("{} - {}", seen.client, seen.server);
            #[cfg(feature = "keys")]
            match seen.opened_record() {
                Some(Ok((one, sentences))) => {
                    warnings.extend(sentences.into_iter().map(|sentence| format!("{name}: {sentence}")));
                    recorded.push(one);
                    continue;
                }
                Some(Err(why)) => warnings.push(format!("{name}: {why}; its acknowledgements are modelled")),
                None => {}
            }
            offloaded += split(&mut seen.datagrams);
            match seen.record() {
                Ok(one) => recorded.push(one),
                Err(why) => unusable.push(format!("{name}: {why}")),
            }
        }
        let connections = |count: usize| match count {
            1 => "one connection".to_owned(),
            count => format!("{count} connections"),
        };
        let modelled = recorded.iter().filter(|one| one.source == Source::Datagrams).count();
        if modelled > 0 {
            warnings.push(format!(
                "{} of QUIC: the acknowledgements are encrypted and are modelled from sizes and times; which packets were lost or \
                 retransmitted is not known, so that ranges are wider; a qlog of the sender or a key log shows it",
                connections(modelled)
            ));
        }
        if let Some(first) = unusable.first() {
            let more = match unusable.len() - 1 {
                0 => String::new(),
                others => format!("; {} more of QUIC left out", connections(others)),
            };
            warnings.push(format!("{first}{more}"));
        }
        if offloaded > 0 {
            warnings.push(format!(
                "{offloaded} datagrams of QUIC hold several packets, as hosts send that leave the division to the hardware (UDP GSO); each counts \
                 as its packets"
            ));
        }
        if self.copies > 0 {
            warnings.push(format!("{} datagrams of QUIC were captured twice and are left out", self.copies));
        }
        if self.timeless > 0 {
            warnings.push(format!("{} datagrams of QUIC have no time stamp and are left out", self.timeless));
        }
        if self.left_out > 0 {
            warnings.push(format!(
                "at most {MAX_DATAGRAMS} datagrams of QUIC are kept; the {} later ones are left out",
                self.left_out
            ));
        }
        recorded.sort_by_key(|one| one.first);
        recorded
    }
}

impl Seen {
    fn new(packet: &UdpPacket, first: u32) -> Self {
        // The client sends the first Initial packet; otherwise its port is the higher one (RFC 6335).
        let opens = packet.header.initial || packet.from.port() > packet.to.port();
        let (client, server) = if opens { (packet.from, packet.to) } else { (packet.to, packet.from) };
        Self {
            client,
            server,
            datagrams: vec![],
            opening: Stage::Nothing,
            ids: [None; 2],
            original: packet.header.to,
            first,
            #[cfg(feature = "keys")]
            opened: None,
        }
    }

    /// Whether `packet` opens another connection between the same ports.
    fn is_followed_by(&self, packet: &UdpPacket) -> bool {
        let other = self.ids[0].is_none_or(|id| id != packet.header.from);
        packet.header.initial
            && packet.from == self.client
            && other
            && self.datagrams.iter().any(|one| !one.long)
    }

    fn open(&mut self, at: Nanos, packet: &UdpPacket, from_client: bool) {
        let header = packet.header;
        if header.long {
            self.ids[usize::from(!from_client)] = Some(header.from);
        }
        self.opening = match (self.opening, from_client) {
            (Stage::Nothing, true) if header.initial && self.datagrams.is_empty() => Stage::Opened(at),
            (Stage::Opened(opened), false) if header.long => {
                let answer_len = packet.payload + if packet.from.is_ipv6() { 48 } else { 28 };
                Stage::Answered(Opening { opened, answered: at, confirmed: at, answer_len })
            }
            // The client answers to a connection ID that the server chose (RFC 9000 section 7.2).
            (Stage::Answered(opening), true) if !header.to.begins_with(self.original) => {
                Stage::Confirmed(Opening { confirmed: at, ..opening })
            }
            (stage, _) => stage,
        };
    }

    /// The connection as a key log opens it, with sentences about packets that are left out; `None` without a key log.
    ///
    /// # Errors
    /// A sentence, if it is not opened.
    #[cfg(feature = "keys")]
    fn opened_record(&mut self) -> Option<Result<(Recorded, Vec<String>), String>> {
        let opened = self.opened.take()?;
        let sentences = match opened.finish() {
            Ok(sentences) => sentences,
            Err(why) => return Some(Err(why)),
        };
        let Opened { mut events, ranges, places, .. } = *opened;
        events.sort_by_key(|(at, ..)| *at);
        self.datagrams.sort_by_key(|one| one.at);
        let opening = match self.opening {
            Stage::Confirmed(opening) => Some(self.without_keys(opening, [])),
            _ => None,
        };
        // Data that was lost before the point of capture is missing near the receiver.
        let near_client = opening.is_some_and(|opening| {
            opening.answered.saturating_sub(opening.opened)
                > opening.confirmed.saturating_sub(opening.answered)
        });
        let arrives = if near_client { Side::Second } else { Side::First };
        let recorded = Recorded {
            client: self.client,
            server: self.server,
            source: Source::Opened,
            opening,
            ids: self.id_lengths(),
            epochs: vec![],
            events,
            ranges,
            places,
            first: self.first,
            open: 0.0,
            arrives: Some(arrives),
            registers: None,
        };
        Some(Ok((recorded, sentences)))
    }

    /// Lengths of the connection IDs in the packets of the client and of the server.
    fn id_lengths(&self) -> [u32; 2] {
        [1, 0].map(|of: usize| self.ids[of].map_or(8, Id::len))
    }

    /// The connection with modelled acknowledgements.
    ///
    /// # Errors
    /// A sentence, if there is too little for it.
    fn record(mut self) -> Result<Recorded, &'static str> {
        self.datagrams.sort_by_key(|one| one.at);
        let bytes = |client: bool| {
            self.datagrams
                .iter()
                .filter(|one| one.from_client == client)
                .map(|one| u64::from(one.size))
                .sum::<u64>()
        };
        let sender = if bytes(true) > bytes(false) { Side::First } else { Side::Second };
        if bytes(true) == 0 || bytes(false) == 0 {
            return Err(
                "only one direction of this connection of QUIC was captured; it is left out; expected both directions",
            );
        }
        let opening = match self.opening {
            Stage::Confirmed(opening) => Some(opening),
            _ => None,
        };
        let far = opening.map(|opening| match sender {
            Side::Second => opening.confirmed.saturating_sub(opening.answered),
            Side::First => opening.answered.saturating_sub(opening.opened),
        });
        let is_data = |one: &Datagram| one.from_client == (sender == Side::First);
        let far = far.or_else(|| shortest_spin(&self.datagrams, is_data));
        let far = far.or_else(|| shortest_answer(&self.datagrams, is_data)).ok_or(
            "the capture of this connection of QUIC lacks its handshake, no packet follows a pause, and the spin bit does not turn, so that no \
             round trip is known; it is left out",
        )?;
        let model = Model::of(&self.datagrams, is_data, far, opening.is_some());
        if model.data.is_empty() || model.answers.is_empty() {
            return Err("this connection of QUIC carried no data behind its handshake; it is left out");
        }
        let answers = model.requests.iter().filter_map(|request| {
            let place = model.data.partition_point(|one| one.at <= request.at);
            Some(model.data.get(place)?.at.saturating_sub(request.at))
        });
        let opening = opening.map(|opening| match sender {
            Side::Second => self.without_keys(opening, answers),
            Side::First => opening,
        });
        let (events, ranges, lost) = model.events(sender);
        let ids = self.id_lengths();
        let Self { client, server, first, .. } = self;
        let open = LEAST_OPEN + LOST_OPEN * lost as f64 / model.data.len() as f64;
        Ok(Recorded {
            client,
            server,
            source: Source::Datagrams,
            opening,
            ids,
            epochs: vec![],
            events,
            ranges,
            places: vec![],
            first,
            open,
            arrives: None,
            registers: None,
        })
    }
}

impl Seen {
    /// The handshake, without the time that the server took for keys before its answer: it answers the end of the handshake, or a request after one of
    /// these times, in the time from the point of capture to it and back.
    fn without_keys(&self, opening: Opening, answers: impl IntoIterator<Item = Nanos>) -> Opening {
        let from_server = |one: &&Datagram| !one.from_client;
        let behind = |at: Nanos| {
            let place = self.datagrams.partition_point(|one| one.at <= at);
            Some(self.datagrams[place..].iter().find(from_server)?.at.saturating_sub(at))
        };
        let near = answers.into_iter().chain(behind(opening.confirmed)).min().unwrap_or(Nanos::NEVER);
        Opening { opened: opening.opened.max(opening.answered.saturating_sub(near)), ..opening }
    }
}

/// Share of the packets whose acknowledgement may be another one than the model's, without any sign of loss.
const LEAST_OPEN: f64 = 0.05;
/// Share of the packets taken as lost of which it is open whether others were lost too. The receiver limits the ranges that it reports.
const LOST_OPEN: f64 = 0.5;

/// Shortest time from a datagram with data that follows a pause of both sides to the next one of the other side.
///
/// The data answers a request, which ends the pause; the datagrams of one request follow each other closely. In a pause of the path, data was on its
/// way: the other side sent nothing behind it.
fn shortest_answer(datagrams: &[Datagram], is_data: impl Fn(&Datagram) -> bool) -> Option<Nanos> {
    const PAUSE: Nanos = Nanos::from_millis(500);
    /// Longest time between the datagrams of one request.
    const TOGETHER: Nanos = Nanos::from_millis(1);
    /// Longest time in which a request is answered at the point of capture.
    const ANSWERED: Nanos = Nanos::from_secs(3);
    let is_large = |one: &Datagram| is_data(one) && one.size >= LEAST_DATA;
    let apart = |index: usize| datagrams[index].at.saturating_sub(datagrams[index - 1].at);
    let mut shortest = None;
    for begin in (1..datagrams.len()).filter(|&index| apart(index) >= PAUSE) {
        let Some(first) = (begin..datagrams.len()).find(|&index| is_large(&datagrams[index])) else { break };
        let requested = begin < first && datagrams[begin..first].iter().any(|one| !is_data(one));
        let last = datagrams[..begin].iter().rev().find(|one| is_large(one) || !is_data(one));
        let idle = last.is_none_or(|last| !is_data(last));
        let at = datagrams[first].at;
        if at.saturating_sub(datagrams[begin].at) > ANSWERED || (requested && !idle) {
            continue;
        }
        // The end of the request, some of whose datagrams may come behind the first data.
        let mut until = datagrams[begin..first].iter().rev().find(|one| !is_data(one)).map(|one| one.at);
        let answer = datagrams[first..].iter().filter(|one| !is_data(one)).find(|one| {
            let together = until.is_some_and(|until| one.at.saturating_sub(until) <= TOGETHER);
            until = until.filter(|_| together).map(|_| one.at);
            !together
        });
        let took = answer.map(|answer| answer.at.saturating_sub(at)).filter(|took| *took > Nanos::ZERO);
        shortest = shortest.into_iter().chain(took).min();
    }
    shortest
}
