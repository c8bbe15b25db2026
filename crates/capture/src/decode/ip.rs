//! IP headers, the protocols in IP packets, and TCP and UDP.

use std::net::IpAddr;

use etherparse::err::ip::LaxHeaderSliceError;
use etherparse::err::ipv6_exts::HeaderSliceError;
use etherparse::{Ipv4HeaderSlice, LaxIpSlice};

use super::fragments::Piece;
use super::tunnels::{self, Inner, kind};
use super::{Content, Decoder, Ip, Part, Passed, Route};
use crate::packet::{TcpPacket, UdpPacket};

/// Largest plausible IP packet: Linux builds IPv6 segments of up to 512 KiB ("BIG TCP") before the hardware
/// splits them.
const MAX_IP_LEN: u32 = 1 << 20;

const TCP: u8 = 6;
const UDP: u8 = 17;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;

/// Protocols that carry no TCP: ICMP, IGMP, IGRP, RSVP, DCCP, ICMPv6, none, EIGRP, OSPF, PIM, VRRP, IS-IS, SCTP, UDP-Lite.
pub(super) const WITHOUT_TCP: [u8; 15] = [1, 2, 8, 9, 33, 46, 58, 59, 88, 89, 103, 112, 124, 132, 136];

impl Decoder {
    /// An IP packet of either version.
    pub(super) fn ip(&mut self, part: Part<'_>, route: Route) -> Result<Content, Passed> {
        let (ip, stopped) = LaxIpSlice::from_slice(part.data).map_err(|error| match error {
            LaxHeaderSliceError::Len(_) => part.ended(),
            LaxHeaderSliceError::Content(_) => Passed::Damaged,
        })?;
        let (from, to, header, claimed, (id, hops)) = match &ip {
            LaxIpSlice::Ipv4(ip) => {
                let header = ip.header();
                if route.guessed && !has_right_sum(&header) {
                    return Err(Passed::Damaged);
                }
                let (from, to): (IpAddr, IpAddr) =
                    (header.source_addr().into(), header.destination_addr().into());
                let (len, claimed) = (header.slice().len(), u32::from(header.total_len()));
                (from, to, len, claimed, (Some(header.identification()), header.ttl()))
            }
            LaxIpSlice::Ipv6(ip) => {
                let header = ip.header();
                let (from, to): (IpAddr, IpAddr) =
                    (header.source_addr().into(), header.destination_addr().into());
                let claimed = match header.payload_length() {
                    0 => 0,
                    length => u32::from(length) + 40,
                };
                (from, to, 40, claimed, (None, header.hop_limit()))
            }
        };
        // IPv6 has no checksum: only a frame check sequence may follow it
        let behind = if id.is_some() { part.wire } else { 8 };
        if route.guessed && (claimed > part.wire || claimed > 0 && claimed + behind < part.wire) {
            return Err(Passed::Damaged);
        }
        // segmentation offload leaves the length field at zero: use the length of the frame
        let len = if claimed == 0 { part.wire } else { claimed };
        if len > MAX_IP_LEN || len < header as u32 {
            return Err(Passed::Damaged);
        }
        let around = Ip { from, to, len, id, hops };
        // the length field is right even where the file's length of the frame is not
        let body = Part { data: part.data, wire: len }.within(len).skip(header)?;
        if let Some((piece, body)) = fragment(&ip, body)? {
            return self.fragment(piece, body, around, route);
        }
        if let Some((error, _)) = stopped {
            return Err(match error {
                HeaderSliceError::Len(_) => body.ended(),
                HeaderSliceError::Content(_) => Passed::Damaged,
            });
        }
        let extensions = match &ip {
            LaxIpSlice::Ipv4(ip) => ip.extensions().auth.map_or(0, |auth| auth.slice().len()),
            LaxIpSlice::Ipv6(ip) => ip.extensions().slice().len(),
        };
        self.protocol(ip.payload_ip_number().0, body.skip(extensions)?, around, route)
    }

    /// A fragment: with the last one that was missing, the whole packet.
    fn fragment(&mut self, piece: Piece, body: Part<'_>, ip: Ip, route: Route) -> Result<Content, Passed> {
        let Some(whole) = self.fragments.add(&piece, body, ip, self.at)? else {
            return Ok(Content::Fragment);
        };
        let body = Part { data: whole.bytes(), wire: whole.len };
        let ip = Ip { len: ip.len - u32::try_from(piece.len).unwrap_or(0) + whole.len, ..ip };
        self.protocol(piece.protocol, body, ip, route)
    }

    /// Content of an IP packet.
    fn protocol(&mut self, number: u8, part: Part<'_>, ip: Ip, route: Route) -> Result<Content, Passed> {
        match number {
            TCP if part.data.len() < TcpPacket::FIXED => Err(part.ended()),
            TCP => TcpPacket::new((ip.from, ip.to), part.data, part.wire, (ip.len, ip.id))
                .map(|packet| Content::Tcp(TcpPacket { layers: route.layers, hops: ip.hops, ..packet }))
                .ok_or(Passed::Damaged),
            UDP => self.udp(part, ip, route),
            4 | 41 => self.ip(part, route.through(kind::IP, 0)?),
            47 => self.gre(part, route),
            50 => Err(Passed::Hidden("IPsec ESP")),
            AUTHENTICATION => {
                let (&[next, words], _) = part.split::<2>()?;
                self.protocol(
                    next,
                    part.skip((usize::from(words) + 2) * 4)?,
                    ip,
                    route.through(kind::EXTENSION, 0)?,
                )
            }
            // hop-by-hop options, routing, destination options, mobility, host identity, shim6
            0 | 43 | 60 | 135 | 139 | 140 => {
                let (&[next, eights], _) = part.split::<2>()?;
                self.protocol(
                    next,
                    part.skip((usize::from(eights) + 1) * 8)?,
                    ip,
                    route.through(kind::EXTENSION, 0)?,
                )
            }
            // Ethernet (RFC 8986)
            143 => self.follow(Inner::Ethernet, part, route.through(kind::SEGMENT_ROUTING, 0)?),
            // EtherIP (RFC 3378): version 3, and 12 bits that are zero
            97 => match part.split::<2>()? {
                ([0x30, 0], rest) => self.follow(Inner::Ethernet, rest, route.through(kind::ETHERIP, 0)?),
                _ => Err(Passed::Tunnel("EtherIP of another version")),
            },
            108 => Err(Passed::Hidden("IPComp")),
            115 => Err(Passed::Tunnel("L2TPv3")),
            137 => self.mpls(part, route),
            number if WITHOUT_TCP.contains(&number) => Err(Passed::NotTcp),
            other => Err(Passed::Protocol(other)),
        }
    }

    /// A UDP packet, or what a tunnel in it carries if that is plausible in every respect.
    fn udp(&mut self, part: Part<'_>, ip: Ip, route: Route) -> Result<Content, Passed> {
        let Some(outer) = UdpPacket::new(ip.from, ip.to, part.data, part.wire) else {
            return Err(if part.is_cut() { Passed::Cut } else { Passed::NotTcp });
        };
        let body = part.skip(8)?;
        if tunnels::is_port(outer.to.port()) && body.is_cut() && body.data.len() < tunnels::SHOWN {
            return Err(Passed::Cut);
        }
        let found = tunnels::in_udp(outer.to.port(), body).or_else(|| {
            tunnels::answered_from(outer.from.port()).and_then(|port| tunnels::in_udp(port, body))
        });
        if let Some(found) = found {
            if let Err(why @ Passed::Tunnel(_)) = found {
                return Err(why);
            }
            let content = found.and_then(|(inner, body, kind, id)| {
                self.follow(inner, body, Route { guessed: true, ..route.through(kind, id)? })
            });
            if tunnels::is_plausible(&content) {
                return content;
            }
        }
        if self.keeps {
            self.payload.clear();
            self.payload.extend(body.within(outer.payload).data);
        }
        Ok(Content::Udp(outer))
    }
}

/// The fragment that an IP packet is, and the part of the datagram in it. `body` follows the fixed header.
fn fragment<'a>(ip: &LaxIpSlice<'_>, body: Part<'a>) -> Result<Option<(Piece, Part<'a>)>, Passed> {
    if !ip.is_fragmenting_payload() {
        return Ok(None);
    }
    let (id, offset, more, protocol, body) = match ip {
        LaxIpSlice::Ipv4(ip) => {
            let header = ip.header();
            let offset = header.fragments_offset().value();
            (u32::from(header.identification()), offset, header.more_fragments(), header.protocol().0, body)
        }
        LaxIpSlice::Ipv6(ip) => {
            let (mut next, mut rest) = (ip.header().next_header().0, body);
            while next != FRAGMENT {
                let (&[following, units], _) = rest.split::<2>()?;
                let authenticated = next == AUTHENTICATION;
                let len =
                    if authenticated { (usize::from(units) + 2) * 4 } else { (usize::from(units) + 1) * 8 };
                (next, rest) = (following, rest.skip(len)?);
            }
            let (head, rest) = rest.split::<8>()?;
            let place = u16::from_be_bytes([head[2], head[3]]);
            let id = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
            (id, place >> 3, place & 1 != 0, head[0], rest)
        }
    };
    let (start, len) = (u32::from(offset) * 8, body.wire as usize);
    Ok(Some((Piece { id, start, len, more, protocol }, body)))
}

/// Whether the checksum is right, or zero as offload leaves it.
fn has_right_sum(header: &Ipv4HeaderSlice<'_>) -> bool {
    let stated = header.header_checksum();
    stated == 0 || header.to_header().calc_header_checksum() == stated
}
