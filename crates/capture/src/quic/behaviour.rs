//! Connections of QUIC without a long header and away from port 443: a capture that begins within them shows short headers alone.
//!
//! The first byte of a short header begins with the bits 01, and header protection makes its last five bits random (RFC 9001 section 5.4.1), which no
//! other protocol in common use has in both directions. The second bit is random, too, where both ends allow it (RFC 9287); then the connection ID
//! behind the first byte must be the same in the packets of one direction.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use firstflight_contract::Nanos;

use crate::packet::UdpPacket;

/// Maximum number of flows that are observed.
const MAX_CANDIDATES: usize = 1 << 10;
/// Packets by which a flow is recognised: of 32 random values, 32 packets have 20 different ones.
const FEW: usize = 32;
const DIFFERENT: u32 = 14;
/// The same where the second bit is random: 64 packets have 28 different values. The identifiers of 32 requests of DNS begin with a zero bit by a
/// probability of 2^-32.
const FEW_GREASED: usize = 64;
const DIFFERENT_GREASED: u32 = 20;
/// Bytes of a connection ID that are compared: a shorter one is rare (RFC 9000 section 5.1 has none below 8 in the first packet of a client).
const COMPARED: usize = 4;
/// Packets after which a flow is observed anew.
const MOST: usize = 256;

/// Packets by which a flow is worth its place where others have none.
const WORTH: usize = 8;

/// A packet with its time and its number.
type Numbered = (Option<Nanos>, UdpPacket, u32);

/// Flows of UDP that may be of QUIC.
#[derive(Debug, Default)]
pub(super) struct Candidates(BTreeMap<(SocketAddr, SocketAddr), Candidate>);

#[derive(Debug, Default)]
struct Candidate {
    packets: Vec<Numbered>,
    /// Values of the last five bits of the first byte.
    values: u32,
    /// Packets whose second bit is zero.
    greased: usize,
}

impl Candidates {
    /// Takes a packet between these ends. Returns the packets so far once the flow is recognised.
    pub(super) fn add(
        &mut self,
        ends: (SocketAddr, SocketAddr),
        at: Option<Nanos>,
        packet: &UdpPacket,
        number: u32,
    ) -> Vec<Numbered> {
        let first = packet.header.first;
        if first & 0x80 != 0 {
            self.0.remove(&ends);
            return vec![];
        }
        if self.0.len() >= MAX_CANDIDATES && !self.0.contains_key(&ends) {
            self.0.retain(|_, flow| flow.packets.len() >= WORTH);
            if self.0.len() >= MAX_CANDIDATES {
                return vec![];
            }
        }
        let flow = self.0.entry(ends).or_default();
        flow.values |= 1 << (first & 0x1f);
        flow.greased += usize::from(first & 0x40 == 0);
        flow.packets.push((at, *packet, number));
        let recognised = flow.is_quic();
        let over = recognised || flow.packets.len() >= MOST;
        let packets = if over { self.0.remove(&ends).map(|flow| flow.packets) } else { None };
        packets.filter(|_| recognised).unwrap_or_default()
    }
}

impl Candidate {
    fn is_quic(&self) -> bool {
        let greased = self.greased > 0;
        let (few, different) = if greased { (FEW_GREASED, DIFFERENT_GREASED) } else { (FEW, DIFFERENT) };
        let [(_, one, _), ..] = &self.packets[..] else { return false };
        if self.packets.len() < few || self.values.count_ones() < different {
            return false;
        }
        let of = |forth: bool| {
            self.packets
                .iter()
                .map(|(_, packet, _)| packet)
                .filter(move |packet| (packet.from == one.from) == forth)
        };
        let both = [of(true).collect::<Vec<_>>(), of(false).collect()];
        let two_way = both.iter().all(|side| !side.is_empty());
        let mixed = 4 * self.greased > self.packets.len() / 2 && self.greased < self.packets.len();
        two_way
            && !both.iter().any(|side| counts(side))
            && (!greased || (mixed && both.iter().any(|side| has_one_id(side))))
    }
}

/// Whether the first bytes of these packets count up, as a number in front of a header does.
fn counts(packets: &[&UdpPacket]) -> bool {
    let steps = packets.windows(2).filter(|pair| {
        let step = pair[1].header.first.wrapping_sub(pair[0].header.first) & 0x1f;
        step == 1
    });
    // One in 32 of random values.
    packets.len() >= WORTH && 2 * steps.count() > packets.len()
}

/// Whether nearly all of these packets have the same bytes where the connection ID stands. Ends may change it.
fn has_one_id(packets: &[&UdpPacket]) -> bool {
    let same = |pair: &&[&UdpPacket]| {
        let [one, other] = [pair[0], pair[1]].map(|packet| packet.header.to.head(COMPARED));
        one.len() == COMPARED && one == other
    };
    packets.len() >= FEW / 2 && 16 * packets.windows(2).filter(same).count() >= 15 * (packets.len() - 1)
}
