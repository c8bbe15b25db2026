//! Decoder from a captured frame to its TCP packet, through encapsulations and even if the capture cut the frame off.
//!
//! `etherparse` parses IP headers and extension headers, with lax length checks because most captures keep only headers. This
//! module parses link headers and encapsulations, and the fixed part of the TCP header, which must be readable even if its
//! options are not. Nested headers are followed up to [`MOST_LAYERS`].

mod fragments;
mod ip;
mod link;
mod passed;
mod tunnels;

use std::collections::BTreeMap;
use std::net::IpAddr;

use firstflight_contract::Nanos;

use crate::packet::{TcpPacket, UdpPacket};

use self::fragments::{Fragments, Incomplete};
pub(crate) use self::link::SUPPORTED;
pub use self::passed::PassedOver;
pub(crate) use self::passed::{Passed, Tally};
use self::tunnels::Inner;

/// Encapsulations of a packet that are followed; tunnels within tunnels beyond that are damage.
const MOST_LAYERS: u8 = 16;

/// Content of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A TCP packet.
    Tcp(TcpPacket),
    /// A UDP packet.
    Udp(UdpPacket),
    /// A fragment of an IP packet that is not complete so far.
    Fragment,
    /// Nothing that is used, and the reason.
    Passed(Passed),
}

/// Captured bytes from a header on, and their length on the wire.
#[derive(Clone, Copy, Debug)]
struct Part<'a> {
    data: &'a [u8],
    wire: u32,
}

impl<'a> Part<'a> {
    /// The first `N` bytes, and the rest.
    fn split<const N: usize>(self) -> Result<(&'a [u8; N], Self), Passed> {
        let (head, data) = self.data.split_first_chunk().ok_or(self.ended())?;
        Ok((head, Self { data, wire: self.wire.saturating_sub(N as u32) }))
    }

    fn skip(self, count: usize) -> Result<Self, Passed> {
        let data = self.data.get(count..).ok_or(self.ended())?;
        Ok(Self { data, wire: self.wire.saturating_sub(count as u32) })
    }

    /// The part without what follows its first `wire` bytes, such as padding.
    fn within(self, wire: u32) -> Self {
        let wire = wire.min(self.wire);
        Self { data: &self.data[..self.data.len().min(wire as usize)], wire }
    }

    /// Whether the capture ends before the packet.
    fn is_cut(self) -> bool {
        (self.data.len() as u64) < u64::from(self.wire)
    }

    /// Reason why a header does not fit: the capture or the packet ends within it.
    fn ended(self) -> Passed {
        if self.is_cut() { Passed::Cut } else { Passed::Damaged }
    }
}

/// Headers in front of a layer.
#[derive(Clone, Copy, Debug, Default)]
struct Route {
    /// Number of encapsulations.
    depth: u8,
    /// Hash of their kinds, VLANs and virtual networks; 0 without any.
    layers: u32,
    /// Whether the layer is guessed, as within UDP: its headers must be plausible in every respect.
    guessed: bool,
}

impl Route {
    /// The route through one more encapsulation of this `kind` with this network identifier.
    fn through(self, kind: u32, id: u32) -> Result<Self, Passed> {
        if self.depth == MOST_LAYERS {
            return Err(Passed::TooDeep);
        }
        let mixed = [kind, id].into_iter().fold(self.layers, |hash, word| {
            (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b1).wrapping_add(1)
        });
        Ok(Self { depth: self.depth + 1, layers: mixed.max(1), ..self })
    }
}

/// Addresses and length of the IP packet around a transport header.
#[derive(Clone, Copy, Debug)]
struct Ip {
    from: IpAddr,
    to: IpAddr,
    /// Length of the packet on the wire, bytes.
    len: u32,
    /// IPv4 identification.
    id: Option<u16>,
    /// TTL or hop limit.
    hops: u8,
}

/// Decoder of frames. It keeps the fragments of IP packets that are not complete, within a fixed memory.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    fragments: Fragments,
    /// Time of the frame.
    at: Option<Nanos>,
    /// Whether the captured bytes behind UDP headers are kept, and those of the latest UDP packet.
    keeps: bool,
    payload: Vec<u8>,
}

impl Decoder {
    /// Decodes a frame of `link_type` with the captured bytes `data` and the original length `wire_len`, bytes.
    pub(crate) fn decode(
        &mut self,
        at: Option<Nanos>,
        link_type: u32,
        data: &[u8],
        wire_len: u32,
    ) -> Content {
        self.at = at;
        let part = Part { data, wire: wire_len.max(data.len() as u32) };
        let content =
            link::strip(link_type, part).and_then(|(inner, part)| self.follow(inner, part, Route::default()));
        content.unwrap_or_else(Content::Passed)
    }

    /// Keeps the captured bytes behind UDP headers.
    #[cfg(feature = "keys")]
    pub(crate) fn keep_payload(&mut self) {
        self.keeps = true;
    }

    /// The captured bytes behind the header of the latest UDP packet, if they are kept.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Begins the file with this number.
    pub(crate) fn begin_file(&mut self, number: usize) {
        self.fragments.file = number;
    }

    /// Takes the fragments of datagrams that are not complete, by the number of the file.
    pub(crate) fn take_incomplete(&mut self) -> BTreeMap<usize, Incomplete> {
        self.fragments.take_incomplete()
    }

    fn follow(&mut self, inner: Inner, part: Part<'_>, route: Route) -> Result<Content, Passed> {
        match inner {
            Inner::Ethernet => {
                let (head, rest) = part.split::<14>()?;
                if tunnels::is_inter_switch(head) {
                    return Err(Passed::Tunnel("Cisco ISL"));
                }
                self.ether_type(u16::from_be_bytes([head[12], head[13]]), rest, route)
            }
            Inner::Type(ether_type) => self.ether_type(ether_type, part, route),
            Inner::Ip => self.ip(part, route),
            Inner::Mpls => self.mpls(part, route),
            Inner::Ppp => self.ppp(part, route),
            Inner::Gre => self.gre(part, route),
        }
    }
}

#[cfg(test)]
mod tests;
