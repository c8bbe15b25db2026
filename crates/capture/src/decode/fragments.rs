//! Fragments of IP packets. A datagram is complete when each of its bytes was seen on the wire; its first bytes are kept, so that
//! the headers in it can be read.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use firstflight_contract::Nanos;

use super::ip::WITHOUT_TCP;
use super::{Ip, Part, Passed, tunnels};

/// Maximum number of datagrams that are followed at once; the oldest makes room. They take 2 MB.
const MOST: usize = 1 << 12;

/// Bytes kept of a datagram: VXLAN, Ethernet with two tags, IPv6 and TCP with all options take 146.
const KEPT: usize = 192;

/// Ranges of a datagram between which bytes are missing; more count as damage.
const MOST_RANGES: usize = 64;

/// Time for which the fragments of a datagram are waited for, as in Linux (`ipfrag_time`).
const PATIENCE: Nanos = Nanos::from_secs(30);

/// Time for which fragments of a complete datagram count as copies of it: the identification of IPv4 is used again soon.
const COPIES: Nanos = Nanos::from_secs(1);

/// Place of a fragment.
pub(super) struct Piece {
    pub(super) id: u32,
    /// Offset in the datagram, bytes.
    pub(super) start: u32,
    pub(super) len: usize,
    pub(super) more: bool,
    pub(super) protocol: u8,
}

/// Fragments whose datagrams are not complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Incomplete {
    pub(crate) packets: u64,
    /// Bytes of these IP packets.
    pub(crate) bytes: u64,
    /// How many of these are the only fragment of their datagram, and its first.
    pub(crate) alone: u64,
}

type Key = (IpAddr, IpAddr, u32, u8);

/// Datagrams of which fragments were seen.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    datagrams: BTreeMap<Key, Datagram>,
    /// Datagrams by their first fragment. Those that are gone are passed over.
    order: VecDeque<(u64, Key)>,
    /// Datagrams so far.
    begun: u64,
    /// Number of the file that is read.
    pub(super) file: usize,
    incomplete: BTreeMap<usize, Incomplete>,
}

#[derive(Debug)]
struct Datagram {
    number: u64,
    file: usize,
    since: Option<Nanos>,
    /// Bytes seen on the wire, as disjoint ranges.
    seen: Vec<(u32, u32)>,
    /// Bytes of `head` that were captured, as disjoint ranges.
    stored: Vec<(u32, u32)>,
    head: [u8; KEPT],
    len: Option<u32>,
    packets: u64,
    bytes: u64,
    complete: bool,
}

/// A datagram that is complete.
pub(super) struct Whole {
    head: [u8; KEPT],
    stored: usize,
    /// Its length, bytes.
    pub(super) len: u32,
}

impl Whole {
    /// Its first bytes, as far as they were captured.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.head[..self.stored]
    }
}

impl Fragments {
    /// Adds a fragment; returns the datagram if it is the last one that was missing.
    pub(super) fn add(
        &mut self,
        piece: &Piece,
        body: Part<'_>,
        ip: Ip,
        at: Option<Nanos>,
    ) -> Result<Option<Whole>, Passed> {
        let end = piece.start as usize + piece.len;
        if piece.len == 0 || end > usize::from(u16::MAX) || piece.more && !piece.len.is_multiple_of(8) {
            return Err(Passed::Damaged);
        }
        let key = (ip.from, ip.to, piece.id, piece.protocol);
        if let Some(known) = self.datagrams.get(&key)
            && known.is_succeeded_by(piece, body.data, at)
        {
            self.end(key);
        }
        if !self.datagrams.contains_key(&key) {
            self.begin(key, at);
        }
        let Some(datagram) = self.datagrams.get_mut(&key) else { return Ok(None) };
        if datagram.complete {
            return Ok(None);
        }
        datagram.add(piece, body.data, ip.len)
    }

    fn begin(&mut self, key: Key, at: Option<Nanos>) {
        while self.datagrams.len() >= MOST {
            let Some((number, oldest)) = self.order.pop_front() else { break };
            if self.datagrams.get(&oldest).is_some_and(|datagram| datagram.number == number) {
                self.end(oldest);
            }
        }
        // ended ones that are not the oldest stay in the order until their turn
        if self.order.len() >= 4 * MOST {
            let datagrams = &self.datagrams;
            self.order.retain(|(number, key)| datagrams.get(key).is_some_and(|it| it.number == *number));
        }
        self.begun += 1;
        self.order.push_back((self.begun, key));
        let datagram = Datagram {
            number: self.begun,
            file: self.file,
            since: at,
            seen: vec![],
            stored: vec![],
            head: [0; KEPT],
            len: None,
            packets: 0,
            bytes: 0,
            complete: false,
        };
        self.datagrams.insert(key, datagram);
    }

    fn end(&mut self, key: Key) {
        let Some(datagram) = self.datagrams.remove(&key) else { return };
        if datagram.complete || !datagram.may_carry_tcp(key.3) {
            return;
        }
        let count = self.incomplete.entry(datagram.file).or_default();
        count.packets += datagram.packets;
        count.bytes = count.bytes.saturating_add(datagram.bytes);
        count.alone += u64::from(datagram.packets == 1 && datagram.seen[0].0 == 0);
    }

    /// Ends all datagrams, and takes the fragments of those that are incomplete, by the number of the file.
    pub(super) fn take_incomplete(&mut self) -> BTreeMap<usize, Incomplete> {
        let keys: Vec<Key> = self.datagrams.keys().copied().collect();
        for key in keys {
            self.end(key);
        }
        std::mem::take(&mut self.incomplete)
    }
}

impl Datagram {
    /// Whether a fragment with the same identification belongs to a later datagram.
    fn is_succeeded_by(&self, piece: &Piece, data: &[u8], at: Option<Nanos>) -> bool {
        let patience = if self.complete { COPIES } else { PATIENCE };
        let old = at.zip(self.since).is_some_and(|(at, since)| at.saturating_sub(since) > patience);
        let both = self.stored().min(data.len());
        old || piece.start == 0 && self.head[..both] != data[..both]
    }

    fn add(&mut self, piece: &Piece, data: &[u8], ip_len: u32) -> Result<Option<Whole>, Passed> {
        self.packets += 1;
        self.bytes += u64::from(ip_len);
        let (start, end) = (piece.start, piece.start + piece.len as u32);
        insert(&mut self.seen, start, end);
        if let Some(head) = self.head.get_mut(start as usize..) {
            let kept = head.len().min(data.len());
            head[..kept].copy_from_slice(&data[..kept]);
            insert(&mut self.stored, start, start + kept as u32);
        }
        if self.seen.len() > MOST_RANGES {
            return Err(Passed::Damaged);
        }
        if !piece.more {
            self.len = Some(end);
        }
        let Some(len) = self.len.filter(|len| self.seen == [(0, *len)]) else { return Ok(None) };
        self.complete = true;
        Ok(Some(Whole { head: self.head, stored: self.stored(), len }))
    }

    /// Captured bytes from the first on.
    fn stored(&self) -> usize {
        self.stored.first().filter(|(start, _)| *start == 0).map_or(0, |(_, end)| *end as usize)
    }

    fn may_carry_tcp(&self, protocol: u8) -> bool {
        const UDP: u8 = 17;
        match protocol {
            UDP => self.stored() >= 4 && tunnels::is_port(u16::from_be_bytes([self.head[2], self.head[3]])),
            other => !WITHOUT_TCP.contains(&other),
        }
    }
}

/// Adds a range to disjoint ranges in ascending order; those that touch are joined.
fn insert(ranges: &mut Vec<(u32, u32)>, start: u32, end: u32) {
    if start == end {
        return;
    }
    let first = ranges.partition_point(|range| range.1 < start);
    let last = ranges.partition_point(|range| range.0 <= end);
    let joined =
        ranges[first..last].iter().fold((start, end), |all, one| (all.0.min(one.0), all.1.max(one.1)));
    ranges.splice(first..last, [joined]);
}
