//! Connections of QUIC without a long header and away from port 443: a capture that begins within them shows short headers alone.
//!
//! The first byte of a short header begins with the bits 01, and header protection makes its last five bits random (RFC 9001 section 5.4.1), which no
//! other protocol in common use has in both directions.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use firstflight_contract::Nanos;

use crate::packet::UdpPacket;

/// Maximum number of flows that are observed.
const MAX_CANDIDATES: usize = 1 << 10;
/// Packets by which a flow is recognised: of 32 random values, 32 packets have 20 different ones (RFC 9287 allows the first bits to be others).
const FEW: usize = 32;
const DIFFERENT: u32 = 14;
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
        if first & 0xc0 != 0x40 {
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
        flow.packets.push((at, *packet, number));
        let from = flow.packets[0].1.from;
        let both = flow.packets.iter().any(|(_, packet, _)| packet.from != from);
        let recognised = both && flow.packets.len() >= FEW && flow.values.count_ones() >= DIFFERENT;
        let over = recognised || flow.packets.len() >= MOST;
        let packets = if over { self.0.remove(&ends).map(|flow| flow.packets) } else { None };
        packets.filter(|_| recognised).unwrap_or_default()
    }
}
