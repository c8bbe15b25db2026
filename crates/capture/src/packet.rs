//! Decoder from a captured frame to its TCP packet, even if the capture truncated it.
//!
//! `etherparse` parses VLAN tags, IP headers and extension headers, with lax length checks because most
//! captures keep only headers. This module parses the link headers that `etherparse` does not support and the
//! fixed part of the TCP header, which must be readable even if its options were truncated.

use std::net::{IpAddr, SocketAddr};

use etherparse::{
    EtherType, IpNumber, LaxNetSlice, LaxSlicedPacket, TcpOptionElement, TcpOptionsIterator, ether_type,
};

/// A TCP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TcpPacket {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) window: u16,
    pub(crate) flags: Flags,
    /// Data bytes on the wire, captured or not.
    pub(crate) payload: u32,
    /// Length of the IP packet on the wire, bytes.
    pub(crate) ip_len: u32,
    /// IPv4 identification; distinguishes a packet captured twice from one sent twice.
    pub(crate) ip_id: Option<u16>,
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) mss: Option<u16>,
    pub(crate) window_scale: Option<u8>,
    pub(crate) sack: Blocks,
    /// Whether the capture contains all options.
    pub(crate) whole: bool,
}

/// SACK blocks of a packet: at most four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Blocks {
    count: u8,
    blocks: [(u32, u32); 4],
}

impl Blocks {
    /// The first four of these blocks.
    pub(crate) fn new(blocks: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut all = Self::default();
        for (place, block) in all.blocks.iter_mut().zip(blocks) {
            *place = block;
            all.count += 1;
        }
        all
    }

    pub(crate) fn get(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// A UDP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UdpPacket {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    /// Data bytes on the wire, captured or not.
    pub(crate) payload: u32,
    /// Whether the packet has QUIC's long header with a version of QUIC (RFC 9000, section 17.2; RFC 9369).
    pub(crate) quic: bool,
}

impl UdpPacket {
    /// The packet with these `bytes` captured behind the IP header, which has `ip_payload` bytes on the wire.
    fn new(from: IpAddr, to: IpAddr, bytes: &[u8], ip_payload: u32) -> Option<Self> {
        let (header, data) = bytes.split_first_chunk::<8>()?;
        let port = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let quic = match *data {
            // long header, fixed bit; versions 1 and 2, and the drafts of version 1
            [first, a, b, c, d, ..] if first & 0xc0 == 0xc0 => {
                matches!([a, b, c, d], [0, 0, 0, 1] | [0x6b, 0x33, 0x43, 0xcf] | [0xff, 0, 0, _])
            }
            _ => false,
        };
        let payload = ip_payload.checked_sub(8)?;
        Some(Self { from: (from, port(0)).into(), to: (to, port(2)).into(), payload, quic })
    }
}

/// TCP flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(pub(crate) u8);

impl Flags {
    pub(crate) const FIN: u8 = 0x01;
    pub(crate) const SYN: u8 = 0x02;
    pub(crate) const RST: u8 = 0x04;
    pub(crate) const ACK: u8 = 0x10;
    pub(crate) const ECE: u8 = 0x40;

    pub(crate) fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }
}

/// Content of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A TCP packet.
    Tcp(TcpPacket),
    /// A UDP packet.
    Udp(UdpPacket),
    /// Something else, a fragment, or too few captured bytes.
    Other,
    /// Unsupported link type.
    UnknownLink,
}

/// Largest plausible IP packet: Linux builds IPv6 segments of up to 512 KiB ("BIG TCP") before the hardware
/// splits them.
const MAX_IP_LEN: u32 = 1 << 20;

/// Decodes a frame of `link_type` with the captured bytes `data` and the original length `wire_len`, bytes.
pub(crate) fn decode(link_type: u32, data: &[u8], wire_len: u32) -> Content {
    let Some(link) = Link::of(link_type) else {
        return Content::UnknownLink;
    };
    let content = link.strip(data).and_then(|(ether_type, skipped)| {
        ip_packet(ether_type, &data[skipped..], wire_len.saturating_sub(skipped as u32))
    });
    content.unwrap_or(Content::Other)
}

/// Link header in front of the network packet.
enum Link {
    Ethernet,
    RawIp,
    /// Four bytes of address family, in the byte order of the capturing machine or of the network.
    Loopback,
    Cooked1,
    Cooked2,
}

impl Link {
    /// Link header for a number in the registry of the tcpdump group.
    fn of(link_type: u32) -> Option<Self> {
        Some(match link_type {
            0 | 108 => Self::Loopback,
            1 => Self::Ethernet,
            // 12 and 14 are DLT_RAW on different systems; 228 and 229 are raw IPv4 and IPv6
            12 | 14 | 101 | 228 | 229 => Self::RawIp,
            113 => Self::Cooked1,
            276 => Self::Cooked2,
            _ => return None,
        })
    }

    /// Type and offset of the network packet.
    fn strip(&self, data: &[u8]) -> Option<(EtherType, usize)> {
        let ether_type_at =
            |at: usize| Some(EtherType(u16::from_be_bytes([*data.get(at)?, *data.get(at + 1)?])));
        match self {
            Self::Ethernet => Some((ether_type_at(12)?, 14)),
            Self::Cooked1 => Some((ether_type_at(14)?, 16)),
            Self::Cooked2 => Some((ether_type_at(0)?, 20)),
            Self::RawIp => Some((by_version(*data.first()?)?, 0)),
            // the address family of IPv6 differs between systems; the version field does not
            Self::Loopback => Some((by_version(*data.get(4)?)?, 4)),
        }
        .filter(|(_, skipped)| *skipped <= data.len())
    }
}

fn by_version(first: u8) -> Option<EtherType> {
    match first >> 4 {
        4 => Some(ether_type::IPV4),
        6 => Some(ether_type::IPV6),
        _ => None,
    }
}

fn ip_packet(ether_type: EtherType, data: &[u8], wire_len: u32) -> Option<Content> {
    let packet = LaxSlicedPacket::from_ether_type(ether_type, data);
    let tags: usize = packet.link_exts.iter().map(|tag| tag.header_len()).sum();
    let on_wire = wire_len.saturating_sub(tags as u32);
    let net = packet.net?;
    let payload = net.ip_payload_ref()?;
    if !matches!(payload.ip_number, IpNumber::TCP | IpNumber::UDP) || payload.fragmented {
        return None;
    }
    let (from, to, header_len, claimed, ip_id) = match &net {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let (from, to): (IpAddr, IpAddr) =
                (header.source_addr().into(), header.destination_addr().into());
            let claimed = u32::from(header.total_len());
            let authentication = ip.extensions().auth.map_or(0, |auth| auth.slice().len());
            (from, to, header.slice().len() + authentication, claimed, Some(header.identification()))
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let (from, to): (IpAddr, IpAddr) =
                (header.source_addr().into(), header.destination_addr().into());
            let claimed = match header.payload_length() {
                0 => 0,
                length => u32::from(length) + 40,
            };
            (from, to, 40 + ip.extensions().slice().len(), claimed, None)
        }
        LaxNetSlice::Arp(_) => return None,
    };
    // segmentation offload leaves the length field at zero: use the length of the frame
    let ip_len = if claimed == 0 { on_wire } else { claimed };
    if ip_len > MAX_IP_LEN {
        return None;
    }
    if payload.ip_number == IpNumber::UDP {
        let ip_payload = ip_len.checked_sub(header_len as u32)?;
        return UdpPacket::new(from, to, payload.payload, ip_payload).map(Content::Udp);
    }
    let tcp = payload.payload;
    let fixed: &[u8; 20] = tcp.first_chunk()?;
    let tcp_len = usize::from(fixed[12] >> 4) * 4;
    if tcp_len < 20 {
        return None;
    }
    let word = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let half = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let mut packet = TcpPacket {
        from: SocketAddr::new(from, half(0)),
        to: SocketAddr::new(to, half(2)),
        seq: word(4),
        ack: word(8),
        window: half(14),
        flags: Flags(fixed[13]),
        payload: ip_len.checked_sub((header_len + tcp_len) as u32)?,
        ip_len,
        ip_id,
        timestamps: None,
        mss: None,
        window_scale: None,
        sack: Blocks::default(),
        whole: tcp.len() >= tcp_len,
    };
    packet.read_options(&tcp[20..tcp.len().min(tcp_len)]);
    Some(Content::Tcp(packet))
}

impl TcpPacket {
    /// Reads the captured options; the first damaged or truncated one ends the list.
    fn read_options(&mut self, options: &[u8]) {
        for option in TcpOptionsIterator::from_slice(options).map_while(Result::ok) {
            match option {
                TcpOptionElement::MaximumSegmentSize(mss) => self.mss = Some(mss),
                // RFC 7323, section 2.3: a shift above 14 counts as 14
                TcpOptionElement::WindowScale(shift) => self.window_scale = Some(shift.min(14)),
                TcpOptionElement::Timestamp(value, echo) => self.timestamps = Some((value, echo)),
                TcpOptionElement::SelectiveAcknowledgement(first, more) => {
                    self.sack = Blocks::new(std::iter::once(first).chain(more.into_iter().flatten()));
                }
                TcpOptionElement::Noop | TcpOptionElement::SelectiveAcknowledgementPermitted => {}
            }
        }
    }
}
