//! Connections of a capture while it is read, within a fixed memory.
//!
//! A connection is followed from its first packet until both ends have finished, until another one begins between the same
//! ports, or until it makes room for a new one. Its data is counted for the network of its client at once. Its packets are
//! kept for the analysis as long as there is room; then the connections with most data of each network keep theirs.

use std::cmp::Reverse;
#[expect(
    clippy::disallowed_types,
    reason = "entries are looked up by their key, and never in the map's order"
)]
use std::collections::HashMap;
use std::net::SocketAddr;

use firstflight_contract::Nanos;

use crate::clock;
use crate::copies;
use crate::copy_place::CopyPlace;
use crate::doubts;
use crate::error::Problem;
use crate::flows::{Added, Duplicate, Flow};
use crate::groups::{Group, GroupId, Groups};
use crate::observed::Connection;
use crate::packet::{Flags, TcpPacket};
use crate::packet_trace::MAX_PIECES;
use crate::quic::Recorded;
use crate::side::key;
use crate::successor::{Arrival, OddSyns, Owner};
use crate::tap::Tap;

/// Maximum number of connections that are followed at once. [`LOOKED_AT`] has the connection that makes room for a new one.
const MAX_OPEN: usize = 1 << 16;

/// Number of connections that are compared to make room. A closed connection goes first. A connection without data, as a port
/// scan leaves it, goes second. Otherwise the connection goes that has been silent for longest.
const LOOKED_AT: usize = 64;

/// Maximum number of TCP packets kept. The limit bounds the memory for any capture, however large or hostile.
const MAX_PACKETS: usize = 1 << 21;

/// Maximum number of ended connections whose packets are kept.
const MAX_ENDED: usize = 1 << 17;

/// Limits of what is kept: packets of a connection, and connections of a network. The first packets of a connection stay, since
/// its start-up lies there. The connections with most data of a network stay. At [`MAX_PACKETS`] or [`MAX_ENDED`], the next
/// line that leaves at most half of both takes force. If no line does, the networks with least data keep nothing: the packets
/// of the other networks then suffice for the analysis.
const LEVELS: [(usize, usize); 6] = [
    (usize::MAX, usize::MAX),
    (1 << 20, 1 << 10),
    (1 << 18, 1 << 8),
    (1 << 16, 1 << 6),
    (1 << 14, 1 << 4),
    (1 << 12, 1 << 2),
];

/// State of a place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// Ended, with packets that are kept.
    Ended,
    Free,
}

/// Connections of a capture while it is read.
#[derive(Default)]
pub(crate) struct Table {
    flows: Vec<(State, Flow)>,
    free: Vec<u32>,
    /// Open connection between two endpoints, lower address first.
    #[expect(clippy::disallowed_types, reason = "as at its import")]
    open: HashMap<(SocketAddr, SocketAddr), u32>,
    groups: Groups,
    /// Packets added so far.
    added: u32,
    /// Packets kept.
    kept: usize,
    /// Ended connections with packets that are kept.
    ended: usize,
    /// Line of [`LEVELS`] in force.
    level: usize,
    /// Whether networks are left out besides, those with least data.
    networks_left_out: bool,
    /// Place where the next search for room begins.
    hand: usize,
    /// Connections without data that made room for others.
    without_data: u64,
    /// Connections with data that made room for others before they ended.
    silent: u64,
    /// SYNs with another number than that of their connection.
    odd_syns: OddSyns,
    /// Copies among the packets that were held back before their connection began: file and place.
    held_copies: Vec<(u16, CopyPlace)>,
}

/// The connections of a capture, and the groups of all of them.
pub(crate) struct Connections {
    pub(crate) connections: Vec<Connection>,
    pub(crate) groups: Vec<Group>,
}

impl Table {
    /// Adds a packet to its connection, captured at `tap`.
    pub(crate) fn add(&mut self, at: Nanos, packet: &TcpPacket, tap: Tap) -> Result<(), Duplicate> {
        let key = key(packet.from, packet.to);
        let known = self.open.get(&key).copied();
        if packet.flags.has(Flags::RST) {
            if let Some(index) = known {
                self.flows[index as usize].1.reset(at);
            }
            return Ok(());
        }
        let index = match known.map(|index| (index, self.flows[index as usize].1.place(at, packet, tap))) {
            Some((index, Owner::Own)) => index,
            Some((_, Owner::Held)) => return Ok(()),
            Some((index, Owner::Next(held))) => {
                self.end(index, key);
                let next = self.begin(held.first().map_or(packet, |first| &first.packet), key);
                for Arrival { at, packet, tap } in held {
                    if let Err(Duplicate(kind)) = self.take(next, at, &packet, tap) {
                        self.held_copies.push((tap.file, kind));
                    }
                }
                next
            }
            None => {
                if self.open.len() >= MAX_OPEN {
                    self.make_room();
                }
                self.begin(packet, key)
            }
        };
        self.take(index, at, packet, tap)
    }

    /// Adds a packet to the connection at `index`.
    fn take(&mut self, index: u32, at: Nanos, packet: &TcpPacket, tap: Tap) -> Result<(), Duplicate> {
        let (_, flow) = &mut self.flows[index as usize];
        let before = flow.packets.len();
        let Added { side, new_bytes, ended } = flow.add(at, packet, self.added, tap)?;
        self.kept += flow.packets.len() - before;
        self.added = self.added.saturating_add(1);
        if flow.packets.len() >= LEVELS[self.level].0 {
            flow.keeps = false;
        }
        if new_bytes > 0 {
            let id = *flow.group.get_or_insert_with(|| self.groups.of(flow.ends[flow.client as usize].ip()));
            let (group, from_client) = (self.groups.get(id), side == flow.client);
            let sum = if from_client { &mut group.from_clients } else { &mut group.to_clients };
            *sum = sum.saturating_add(new_bytes);
            if let Some((side, bytes)) = ended {
                self.groups.transfer(id, side == flow.client, bytes);
            }
        }
        if self.kept >= MAX_PACKETS {
            self.reduce();
        }
        Ok(())
    }

    /// Number of the next packet in the order of the files.
    pub(crate) fn next_number(&self) -> u32 {
        self.added
    }

    /// Adds a connection of QUIC, which has ended. Returns whether it carried data.
    pub(crate) fn add_recorded(&mut self, recorded: Recorded) -> bool {
        let first = recorded.first;
        let Some(mut flow) = recorded.into_flow() else { return false };
        let id = self.groups.of(flow.ends[flow.client as usize].ip());
        let mut high = [0; 2];
        for packet in &flow.packets {
            let (own, peer) = (packet.side as usize, packet.side.other() as usize);
            let new_bytes = packet.end().saturating_sub(packet.data_start().max(high[own]));
            if packet.payload == 0 || new_bytes == 0 {
                continue;
            }
            high[own] = packet.end();
            let group = self.groups.get(id);
            let from_client = packet.side == flow.client;
            *(if from_client { &mut group.from_clients } else { &mut group.to_clients }) += new_bytes;
            if let Some((side, bytes)) = flow.exchange.add(packet.side, new_bytes, packet.ack >= high[peer]) {
                self.groups.transfer(id, side == flow.client, bytes);
            }
        }
        flow.group = Some(id);
        flow.packets.iter_mut().for_each(|packet| packet.number = first);
        self.kept += flow.packets.len();
        self.flows.push((State::Ended, flow));
        self.settle((self.flows.len() - 1) as u32);
        self.ended += 1;
        if self.kept >= MAX_PACKETS || self.ended >= MAX_ENDED {
            self.reduce();
        }
        true
    }

    fn begin(&mut self, packet: &TcpPacket, key: (SocketAddr, SocketAddr)) -> u32 {
        let place = (State::Open, Flow::new(packet));
        let index = match self.free.pop() {
            Some(index) => {
                self.flows[index as usize] = place;
                index
            }
            None => {
                self.flows.push(place);
                (self.flows.len() - 1) as u32
            }
        };
        self.open.insert(key, index);
        index
    }

    /// Ends the connection at `index`.
    fn end(&mut self, index: u32, key: (SocketAddr, SocketAddr)) {
        self.open.remove(&key);
        self.settle(index);
        let (state, flow) = &mut self.flows[index as usize];
        if flow.carried_data() && !flow.packets.is_empty() {
            *state = State::Ended;
            self.ended += 1;
            if self.ended >= MAX_ENDED {
                self.reduce();
            }
        } else {
            self.release(index);
        }
    }

    /// Counts a connection that has ended, with its last transfers.
    fn settle(&mut self, index: u32) {
        let (_, flow) = &mut self.flows[index as usize];
        if !flow.carried_data() {
            return;
        }
        let id = *flow.group.get_or_insert_with(|| self.groups.of(flow.ends[flow.client as usize].ip()));
        self.groups.get(id).connections += 1;
        for (side, bytes) in std::mem::take(&mut flow.exchange).end() {
            self.groups.transfer(id, side == flow.client, bytes);
        }
    }

    fn release(&mut self, index: u32) {
        let (state, flow) = &mut self.flows[index as usize];
        self.kept -= flow.packets.len();
        *state = State::Free;
        flow.cut(0);
        self.free.push(index);
    }

    /// Ends one of the next [`LOOKED_AT`] open connections of the table.
    fn make_room(&mut self) {
        let mut best: Option<((u8, Nanos), usize)> = None;
        let mut seen = 0;
        while seen < LOOKED_AT {
            self.hand = (self.hand + 1) % self.flows.len();
            let (State::Open, flow) = &self.flows[self.hand] else { continue };
            seen += 1;
            let rank = (if flow.closed() { 0 } else { 1 + u8::from(flow.carried_data()) }, flow.last);
            if best.is_none_or(|(least, _)| rank < least) {
                best = Some((rank, self.hand));
            }
            if rank.0 == 0 {
                break;
            }
        }
        let Some(((rank, _), index)) = best else { return };
        self.without_data += u64::from(rank == 1);
        self.silent += u64::from(rank == 2);
        let [one, other] = self.flows[index].1.ends;
        self.end(index as u32, key(one, other));
    }

    /// Leaves out packets until at most half of the room for them is taken.
    fn reduce(&mut self) {
        for (level, (front, each)) in LEVELS.into_iter().enumerate().skip(self.level) {
            self.level = level;
            self.keep_only(front, each);
            if self.has_room() {
                return;
            }
        }
        self.networks_left_out = true;
        let mut ranked = self.ranked();
        ranked.sort_by_key(|&(group, bytes, index)| (self.groups.get(group).bytes(), Reverse(bytes), index));
        for (_, _, index) in ranked {
            if self.has_room() {
                return;
            }
            self.leave_out(index);
        }
        // what is left is packets without data, such as those of a flood of SYNs
        for index in 0..self.flows.len() as u32 {
            if !self.has_room() && self.flows[index as usize].0 == State::Open {
                self.leave_out(index);
            }
        }
    }

    /// Keeps the first `front` packets of a connection, and `each` connections of a network.
    fn keep_only(&mut self, front: usize, each: usize) {
        for (state, flow) in &mut self.flows {
            if *state != State::Free && flow.packets.len() > front {
                self.kept -= flow.packets.len() - front;
                flow.cut(front);
            }
        }
        let mut place = (GroupId::MAX, 0);
        for (group, _, index) in self.ranked() {
            place = if place.0 == group { (group, place.1 + 1) } else { (group, 1) };
            if place.1 > each {
                self.leave_out(index);
            }
        }
    }

    fn has_room(&self) -> bool {
        self.kept <= MAX_PACKETS / 2 && self.ended <= MAX_ENDED / 2
    }

    /// Connections with packets, by their group and within it by their data, the most first.
    fn ranked(&self) -> Vec<(GroupId, Reverse<u64>, u32)> {
        let mut ranked: Vec<_> = self
            .flows
            .iter()
            .enumerate()
            .filter(|(_, (state, flow))| *state != State::Free && !flow.packets.is_empty())
            .filter_map(|(index, (_, flow))| Some((flow.group?, Reverse(flow.bytes()), index as u32)))
            .collect();
        ranked.sort_unstable();
        ranked
    }

    /// Leaves out the packets of a connection.
    fn leave_out(&mut self, index: u32) {
        let (state, flow) = &mut self.flows[index as usize];
        if *state == State::Ended {
            self.ended -= 1;
            self.release(index);
        } else {
            self.kept -= flow.packets.len();
            flow.cut(0);
        }
    }

    /// Leaves out packets that were captured more than once, and SYNs that are no connection's.
    /// `count` receives the file and the place of each.
    pub(crate) fn leave_out_copies(&mut self, mut count: impl FnMut(u16, CopyPlace)) {
        std::mem::take(&mut self.held_copies).into_iter().for_each(|(file, kind)| count(file, kind));
        for (state, flow) in &mut self.flows {
            if *state != State::Free {
                let before = flow.packets.len();
                self.odd_syns.add(flow.drop_odd_syns());
                copies::leave_out(flow, &mut count);
                self.kept -= before - flow.packets.len();
            }
        }
    }

    /// Analyses the connections that carried data and whose packets are kept.
    ///
    /// # Errors
    /// [`Problem::NoData`] or [`Problem::NoneUsable`] if no connection is left.
    pub(crate) fn finish(mut self, warnings: &mut Vec<String>) -> Result<Connections, Problem> {
        for index in 0..self.flows.len() as u32 {
            if self.flows[index as usize].0 == State::Open {
                self.settle(index);
            }
        }
        if self.level > 0 {
            let (front, each) = LEVELS[self.level];
            self.keep_only(front, each);
        }
        warnings.extend(self.left_out());
        let kept = self.flows.into_iter().filter(|(state, _)| *state != State::Free);
        let mut flows: Vec<Flow> =
            kept.map(|(_, flow)| flow).filter(|flow| !flow.packets.is_empty()).collect();
        // the places of ended connections are taken by later ones
        flows.sort_by_key(|flow| flow.packets[0].number);
        warnings.extend(clock::warning("the capture's clock", &clock::mend(&mut flows)));
        let disorder = doubts::disorder(&flows);
        warnings.extend(doubts::one_way(&flows));
        let start = flows.iter().flat_map(|flow| &flow.packets).map(|packet| packet.at).min();
        flows.retain(Flow::carried_data);
        let (Some(start), false) = (start, flows.is_empty()) else { return Err(Problem::NoData) };
        let mut budget = MAX_PIECES;
        let connections = flows.into_iter().filter_map(|mut flow| {
            // several interfaces, or several threads of a writer, leave packets slightly out of order
            flow.packets.sort_by_key(|packet| packet.at);
            Some((flow.group?, Connection::new(&mut flow, start, &mut budget, warnings)?))
        });
        let (groups, connections): (Vec<_>, Vec<_>) = connections.unzip();
        if connections.is_empty() {
            return Err(Problem::NoneUsable);
        }
        warnings.extend(doubts::segments(&connections));
        warnings.extend(doubts::pauses(&connections));
        warnings.extend(doubts::offload(&connections));
        warnings.extend(doubts::reordering(&connections));
        warnings.extend(doubts::marks(&connections));
        warnings.extend(doubts::idle(&connections));
        warnings.extend(disorder);
        Ok(Connections { connections, groups: self.groups.finish(&groups) })
    }

    /// Warnings about what is left out.
    fn left_out(&self) -> Vec<String> {
        let mut warnings = vec![];
        warnings.extend(odd_syns(self.odd_syns.opening, "SYN"));
        warnings.extend(odd_syns(self.odd_syns.answers, "SYN-ACK"));
        if self.without_data > 0 {
            warnings.push(format!(
                "at most {MAX_OPEN} connections are followed at once; {} that had carried no data made room for later ones",
                self.without_data
            ));
        }
        if self.silent > 0 {
            warnings.push(format!(
                "at most {MAX_OPEN} connections are followed at once; {} made room for later ones before they ended, and \
                 count again if they went on",
                self.silent
            ));
        }
        if self.level > 0 {
            let (front, each) = LEVELS[self.level];
            let networks =
                if self.networks_left_out { ", and none of the networks with least data" } else { "" };
            warnings.push(format!(
                "at most {MAX_PACKETS} packets are kept: of each connection the first {front}, of each client network the \
                 {each} connections with most data{networks}; connections, bytes and transfers of networks count all packets"
            ));
        }
        warnings
    }
}

/// Sentence about SYNs that are no connection's.
fn odd_syns(count: u64, what: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!(
            "one {what} has another sequence number than that of its connection and is left out"
        )),
        odd => Some(format!(
            "{odd} {what}s have other sequence numbers than those of their connections and are left out"
        )),
    }
}
