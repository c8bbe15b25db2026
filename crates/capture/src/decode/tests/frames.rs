//! Frames, built byte by byte from the documents of their formats, with what is known of them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86dd;

/// The payload of an EtherType.
#[derive(Clone, Debug)]
pub(super) struct Wrapped {
    /// EtherType; below 1536 the length of an IEEE 802.3 frame.
    pub(super) number: u16,
    pub(super) bytes: Vec<u8>,
    /// Offset of the TCP header; `None` in a fragment that does not begin with it.
    pub(super) tcp: Option<usize>,
}

impl Wrapped {
    fn behind(self, number: u16, head: &[u8]) -> Self {
        let tcp = self.tcp.map(|at| at + head.len());
        Self { number, bytes: [head, &self.bytes].concat(), tcp }
    }

    pub(super) fn is_ip(&self) -> bool {
        matches!(self.number, IPV4 | IPV6)
    }
}

/// Ones' complement of the ones' complement sum of 16-bit words (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// A part of an IP packet: identification, offset in bytes, and whether more follow.
pub(super) type Fragment = (u32, usize, bool);

/// An IP packet around `payload`. Without `stated` its length field is zero.
pub(super) fn ip(
    (from, to): (IpAddr, IpAddr),
    protocol: u8,
    id: u16,
    payload: Wrapped,
    stated: bool,
    fragment: Option<Fragment>,
) -> Wrapped {
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => ipv4((from, to), protocol, id, payload, stated, fragment),
        (IpAddr::V6(from), IpAddr::V6(to)) => ipv6((from, to), protocol, id, payload, stated, fragment),
        _ => unreachable!("both ends have one version"),
    }
}

fn ipv4(
    (from, to): (Ipv4Addr, Ipv4Addr),
    protocol: u8,
    id: u16,
    payload: Wrapped,
    stated: bool,
    fragment: Option<Fragment>,
) -> Wrapped {
    // a security option of four bytes (RFC 1108) and padding, in some
    let options: &[u8] = if id.is_multiple_of(7) { &[0x82, 4, 0, 0, 1, 1, 1, 0] } else { &[] };
    let total = if stated { (payload.bytes.len() + 20 + options.len()) as u16 } else { 0 };
    let (id, place) = match fragment {
        Some((id, at, more)) => (id as u16, (at / 8) as u16 | u16::from(more) << 13),
        None => (id, 0),
    };
    let mut head = vec![0x45 + options.len() as u8 / 4, 0];
    for half in [total, id, place, 64 << 8 | u16::from(protocol), 0] {
        head.extend(half.to_be_bytes());
    }
    head.extend(from.octets());
    head.extend(to.octets());
    head.extend(options);
    let sum = checksum(&head).to_be_bytes();
    head[10..12].copy_from_slice(&sum);
    payload.behind(IPV4, &head)
}

fn ipv6(
    (from, to): (Ipv6Addr, Ipv6Addr),
    protocol: u8,
    id: u16,
    payload: Wrapped,
    stated: bool,
    fragment: Option<Fragment>,
) -> Wrapped {
    let mut extension = vec![];
    let mut next = if fragment.is_some() { 44 } else { protocol };
    // options of the destination, all of them padding, in some
    if id.is_multiple_of(7) {
        extension.extend([next, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        next = 60;
    }
    if let Some((id, at, more)) = fragment {
        extension.extend([protocol, 0]);
        extension.extend(((at as u16) | u16::from(more)).to_be_bytes());
        extension.extend(id.to_be_bytes());
    }
    let length = if stated { (payload.bytes.len() + extension.len()) as u16 } else { 0 };
    let mut head = vec![0x60, 0, 0, 0];
    head.extend(length.to_be_bytes());
    head.extend([next, 64]);
    head.extend(from.octets());
    head.extend(to.octets());
    head.extend(extension);
    payload.behind(IPV6, &head)
}

/// An Ethernet frame, of at least `least` bytes.
pub(super) fn ethernet(inner: Wrapped, least: usize) -> Wrapped {
    let number = inner.number;
    let mut frame =
        inner.behind(0, &[&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &number.to_be_bytes()].concat());
    frame.bytes.resize(frame.bytes.len().max(least), 0);
    frame
}

/// Addresses of the ends of a tunnel.
fn tunnel_ends(v6: bool) -> (IpAddr, IpAddr) {
    if v6 {
        (
            Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 1).into(),
            Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 2).into(),
        )
    } else {
        (Ipv4Addr::new(203, 0, 113, 1).into(), Ipv4Addr::new(203, 0, 113, 2).into())
    }
}

/// A UDP packet of a tunnel. Each kind has a source port of its own: tshark takes that of L2TP for L2TP in all that follows.
fn udp(port: u16, payload: Wrapped) -> Wrapped {
    let length = (payload.bytes.len() + 8) as u16;
    let head: Vec<u8> =
        [49_152 + port % 16_000, port, length, 0].iter().flat_map(|half: &u16| half.to_be_bytes()).collect();
    payload.behind(0, &head)
}

/// Protocol of PPP for an EtherType that it can carry.
fn of_ppp(number: u16) -> Option<u16> {
    Some(match number {
        IPV4 => 0x21,
        IPV6 => 0x57,
        0x8847 => 0x281,
        _ => return None,
    })
}

/// Next protocol of VXLAN-GPE and NSH.
fn extended(number: u16) -> Option<u8> {
    Some(match number {
        IPV4 => 1,
        IPV6 => 2,
        0x894f => 4,
        0x8847 => 5,
        _ => return None,
    })
}

/// Kinds of encapsulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Vlan,
    ProviderVlan,
    OldVlan,
    Backbone,
    Pppoe,
    Mpls,
    Pseudowire,
    PseudowireWithoutWord,
    Llc,
    Redundancy,
    Macsec,
    Nsh,
    IpInIp,
    Gre,
    GreEthernet,
    Pptp,
    Mirrored2,
    Mirrored3,
    EtherIp,
    MplsInIp,
    Vxlan,
    VxlanFlannel,
    VxlanPolicy,
    VxlanGpe,
    Geneve,
    Gtp,
    GtpExtended,
    L2tp,
    Teredo,
    Gue,
    MplsInUdp,
    Lisp,
    Tzsp,
    SegmentRouting,
    GreInUdp,
}

impl Kind {
    pub(super) const ALL: [Self; 35] = [
        Self::Vlan,
        Self::ProviderVlan,
        Self::OldVlan,
        Self::Backbone,
        Self::Pppoe,
        Self::Mpls,
        Self::Pseudowire,
        Self::PseudowireWithoutWord,
        Self::Llc,
        Self::Redundancy,
        Self::Macsec,
        Self::Nsh,
        Self::IpInIp,
        Self::Gre,
        Self::GreEthernet,
        Self::Pptp,
        Self::Mirrored2,
        Self::Mirrored3,
        Self::EtherIp,
        Self::MplsInIp,
        Self::Vxlan,
        Self::VxlanFlannel,
        Self::VxlanPolicy,
        Self::VxlanGpe,
        Self::Geneve,
        Self::Gtp,
        Self::GtpExtended,
        Self::L2tp,
        Self::Teredo,
        Self::Gue,
        Self::MplsInUdp,
        Self::Lisp,
        Self::Tzsp,
        Self::SegmentRouting,
        Self::GreInUdp,
    ];

    /// Whether tshark 4.0 reads it. It guesses that a pseudowire carries Ethernet by addresses of known manufacturers.
    pub(super) fn is_read_by_tshark(self) -> bool {
        !matches!(
            self,
            Self::OldVlan
                | Self::Macsec
                | Self::Gue
                | Self::Redundancy
                | Self::Pseudowire
                | Self::PseudowireWithoutWord
        )
    }

    /// Wraps a packet; `None` if this encapsulation cannot carry it. The outer IP packets have version 6 if `v6`.
    pub(super) fn wrap(self, inner: Wrapped, v6: bool, id: u16) -> Option<Wrapped> {
        let number = inner.number.to_be_bytes();
        let is_type = inner.number >= 1536;
        Some(match self {
            Self::Vlan if is_type => inner.behind(0x8100, &[&[0x20, 5][..], &number].concat()),
            Self::ProviderVlan if is_type => inner.behind(0x88a8, &[&[0, 9][..], &number].concat()),
            Self::OldVlan if is_type => inner.behind(0x9100, &[&[0, 9][..], &number].concat()),
            Self::Backbone => ethernet(inner, 0).behind(0x88e7, &[0x10, 0, 1, 2]),
            Self::Pppoe => {
                let protocol = of_ppp(inner.number)?.to_be_bytes();
                let length = ((inner.bytes.len() + 2) as u16).to_be_bytes();
                inner.behind(0x8864, &[&[0x11, 0, 0, 7][..], &length, &protocol].concat())
            }
            // three labels, and one
            Self::Mpls if inner.is_ip() => {
                inner.behind(0x8847, &[0, 1, 0, 64, 0, 2, 0x10, 64, 0, 3, 0x21, 64])
            }
            // the bottom bit is bit 8 of the word
            Self::Pseudowire => ethernet(inner, 0).behind(0x8847, &[0, 4, 0x01, 64, 0, 0, 0, 9]),
            Self::PseudowireWithoutWord => ethernet(inner, 0).behind(0x8847, &[0, 4, 0x01, 64]),
            Self::Llc if is_type && inner.bytes.len() <= 1492 => {
                let length = (inner.bytes.len() + 8) as u16;
                inner.behind(length, &[&[0xaa, 0xaa, 3, 0, 0, 0][..], &number].concat())
            }
            Self::Redundancy if is_type => inner.behind(0xf1c1, &[&[0, 0, 0, 7][..], &number].concat()),
            Self::Macsec if is_type => {
                let mut whole = inner
                    .behind(0x88e5, &[&[0x20, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0, 1, 0, 1][..], &number].concat());
                whole.bytes.extend([0xee; 16]);
                whole
            }
            // version, length of six words, type 1, next protocol; path and index; four words of context
            Self::Nsh => {
                let next = extended(inner.number);
                let inner = if next.is_some() { inner } else { ethernet(inner, 0) };
                let context: Vec<u8> = (1..=4_u32).flat_map(u32::to_be_bytes).collect();
                inner.behind(
                    0x894f,
                    &[&[0x0f, 0xc6, 1, next.unwrap_or(3), 0, 0, 1, 255][..], &context].concat(),
                )
            }
            _ => return self.wrap_in_ip(inner, v6, id),
        })
    }

    /// Wraps a packet in an IP packet.
    fn wrap_in_ip(self, inner: Wrapped, v6: bool, id: u16) -> Option<Wrapped> {
        let number = inner.number.to_be_bytes();
        let is_type = inner.number >= 1536;
        let outer = |protocol: u8, payload: Wrapped| ip(tunnel_ends(v6), protocol, id, payload, true, None);
        let in_udp = |port: u16, payload: Wrapped| outer(17, udp(port, payload));
        Some(match self {
            Self::IpInIp if inner.is_ip() => outer(if inner.number == IPV4 { 4 } else { 41 }, inner),
            Self::Gre if is_type => outer(
                47,
                inner.behind(0, &[&[0xb0, 0][..], &number, &[0; 4], &[0, 0, 0, 7], &[0, 0, 0, 1]].concat()),
            ),
            Self::GreEthernet => outer(47, ethernet(inner, 0).behind(0, &[0x20, 0, 0x65, 0x58, 0, 0, 0, 7])),
            Self::Pptp => {
                let protocol = of_ppp(inner.number)?.to_be_bytes();
                let length = ((inner.bytes.len() + 4) as u16).to_be_bytes();
                let head = [
                    &[0x30, 0x81, 0x88, 0x0b][..],
                    &length,
                    &[0, 7, 0, 0, 0, 1, 0, 0, 0, 1, 0xff, 3],
                    &protocol,
                ];
                outer(47, inner.behind(0, &head.concat()))
            }
            Self::Mirrored2 => {
                let frame = ethernet(inner, 0);
                outer(47, frame.behind(0, &[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, 0, 1, 0, 0, 0, 2]))
            }
            Self::Mirrored3 => {
                let head = [0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 1, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0];
                outer(47, ethernet(inner, 0).behind(0, &head))
            }
            Self::EtherIp => outer(97, ethernet(inner, 0).behind(0, &[0x30, 0])),
            Self::MplsInIp if inner.is_ip() => outer(137, inner.behind(0, &[0, 3, 0x21, 64])),
            Self::Vxlan => in_udp(4789, ethernet(inner, 0).behind(0, &[8, 0, 0, 0, 0, 0, 42, 0])),
            Self::VxlanFlannel => in_udp(8472, ethernet(inner, 0).behind(0, &[8, 0, 0, 0, 0, 0, 1, 0])),
            Self::VxlanPolicy => in_udp(4789, ethernet(inner, 0).behind(0, &[0x88, 0, 0, 9, 0, 0, 42, 0])),
            Self::VxlanGpe => {
                let next = extended(inner.number);
                let inner = if next.is_some() { inner } else { ethernet(inner, 0) };
                in_udp(4790, inner.behind(0, &[0x0c, 0, 0, next.unwrap_or(3), 0, 0, 42, 0]))
            }
            Self::Geneve if inner.is_ip() => {
                in_udp(6081, inner.behind(0, &[&[1, 0][..], &number, &[0, 0, 42, 0, 1, 2, 3, 0]].concat()))
            }
            Self::Geneve => in_udp(6081, ethernet(inner, 0).behind(0, &[0, 0, 0x65, 0x58, 0, 0, 42, 0])),
            Self::Gtp if inner.is_ip() => {
                let length = (inner.bytes.len() as u16).to_be_bytes();
                in_udp(2152, inner.behind(0, &[&[0x30, 255][..], &length, &[0, 0, 0, 7]].concat()))
            }
            // a sequence number, and the container of a PDU session (type 0x85) of four bytes
            Self::GtpExtended if inner.is_ip() => {
                let length = ((inner.bytes.len() + 8) as u16).to_be_bytes();
                let head = [&[0x36, 255][..], &length, &[0, 0, 0, 7, 0, 1, 0, 0x85, 1, 0, 9, 0]];
                in_udp(2152, inner.behind(0, &head.concat()))
            }
            Self::L2tp => {
                let protocol = of_ppp(inner.number)?.to_be_bytes();
                let length = ((inner.bytes.len() + 12) as u16).to_be_bytes();
                let head = [&[0x40, 2][..], &length, &[0, 7, 0, 9, 0xff, 3], &protocol];
                in_udp(1701, inner.behind(0, &head.concat()))
            }
            Self::Teredo if inner.number == IPV6 => in_udp(3544, inner),
            Self::Gue if inner.is_ip() => {
                let protocol = if inner.number == IPV4 { 4 } else { 41 };
                in_udp(6080, inner.behind(0, &[1, protocol, 0, 0, 9, 9, 9, 9]))
            }
            Self::Lisp if inner.is_ip() => in_udp(4341, inner.behind(0, &[0x80, 1, 2, 3, 0, 0, 0, 1])),
            // a signal strength of one byte, padding, the end
            Self::Tzsp => in_udp(37_008, ethernet(inner, 0).behind(0, &[1, 0, 0, 1, 10, 1, 0xc4, 0, 1])),
            // RFC 8086, with a key
            Self::GreInUdp if is_type => {
                in_udp(4754, inner.behind(0, &[&[0x20, 0][..], &number, &[0, 0, 0, 7]].concat()))
            }
            // RFC 8986: a routing header of type 4 with one segment in front of a frame
            Self::SegmentRouting => {
                let head = [&[143, 2, 4, 0, 0, 0, 0, 0][..], &[0x20; 16]].concat();
                ip(tunnel_ends(true), 43, id, ethernet(inner, 0).behind(0, &head), true, None)
            }
            Self::MplsInUdp if inner.is_ip() => in_udp(6635, inner.behind(0, &[0, 3, 0x21, 64])),
            _ => return None,
        })
    }
}

/// Link types of frames.
pub(super) const LINKS: [u32; 9] = [1, 1, 1, 113, 276, 101, 0, 9, 104];

/// A frame of this link type; `None` if it cannot carry the packet.
pub(super) fn frame(link_type: u32, inner: Wrapped) -> Option<Wrapped> {
    let number = inner.number;
    let protocol = if number < 1536 { 4 } else { number }.to_be_bytes();
    Some(match link_type {
        1 => ethernet(inner, 60),
        113 => inner.behind(0, &[&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0][..], &protocol].concat()),
        276 => inner
            .behind(0, &[&protocol[..], &[0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0]].concat()),
        101 if inner.is_ip() => inner,
        0 if inner.is_ip() => inner.behind(0, &[if number == IPV4 { 2 } else { 30 }, 0, 0, 0]),
        9 => {
            let protocol = of_ppp(number)?.to_be_bytes();
            inner.behind(0, &[&[0xff, 3][..], &protocol].concat())
        }
        104 if number >= 1536 => inner.behind(0, &[&[0x0f, 0][..], &number.to_be_bytes()].concat()),
        _ => return None,
    })
}

/// Parts of an IP packet without its header, of multiples of eight bytes but for the last.
pub(super) fn parts(payload: &Wrapped, each: usize) -> Vec<(usize, bool, Wrapped)> {
    let count = payload.bytes.len().div_ceil(each);
    let part = |(index, bytes): (usize, &[u8])| {
        let tcp = payload.tcp.filter(|_| index == 0);
        (index * each, index + 1 < count, Wrapped { number: 0, bytes: bytes.to_vec(), tcp })
    };
    payload.bytes.chunks(each).enumerate().map(part).collect()
}
