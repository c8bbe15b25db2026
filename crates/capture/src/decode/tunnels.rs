//! Encapsulations: VLAN tags, provider bridges, PPPoE, MPLS, LLC, GRE, and the tunnels in UDP.

use super::{Content, Decoder, Part, Passed, Route};

/// Layer behind an encapsulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inner {
    Ethernet,
    /// The payload of an EtherType, or of a length below 1536.
    Type(u16),
    Ip,
    Mpls,
    Ppp,
    Gre,
}

/// Kinds of encapsulation, for [`Route::through`].
pub(super) mod kind {
    pub(in super::super) const VLAN: u32 = 1;
    pub(super) const BACKBONE: u32 = 2;
    pub(super) const PPPOE: u32 = 3;
    pub(super) const MPLS: u32 = 4;
    pub(super) const LLC: u32 = 5;
    pub(super) const MACSEC: u32 = 6;
    pub(super) const PPP: u32 = 7;
    pub(in super::super) const IP: u32 = 8;
    pub(super) const GRE: u32 = 9;
    pub(in super::super) const ETHERIP: u32 = 10;
    pub(in super::super) const EXTENSION: u32 = 11;
    pub(super) const VXLAN: u32 = 12;
    pub(super) const GENEVE: u32 = 13;
    pub(super) const GTP: u32 = 14;
    pub(super) const L2TP: u32 = 15;
    pub(super) const TEREDO: u32 = 16;
    pub(super) const GUE: u32 = 17;
    pub(super) const MPLS_IN_UDP: u32 = 18;
    pub(super) const NSH: u32 = 19;
    pub(super) const REDUNDANCY: u32 = 20;
    pub(super) const LISP: u32 = 21;
    pub(super) const TZSP: u32 = 22;
    pub(in super::super) const SEGMENT_ROUTING: u32 = 23;
    pub(super) const GRE_IN_UDP: u32 = 24;
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const BRIDGED: u16 = 0x6558;

/// EtherTypes that carry no TCP: ARP, reverse ARP, wake-on-LAN, AVTP, MSRP, DECnet, AppleTalk and its ARP, IPX, flow control, slow
/// protocols, PPPoE discovery, HomePlug, EAP, PROFINET, HyperSCSI, ATA, EtherCAT, POWERLINK, GOOSE, GSE, SV, HomePlug AV, MRP,
/// LLDP, PTP, link management, FCoE, FIP, CFM, loopback, TDLS and others of one link.
const WITHOUT_TCP: [u16; 38] = [
    0x0806, 0x8035, 0x0842, 0x22f0, 0x22ea, 0x6000, 0x6001, 0x6002, 0x6003, 0x6004, 0x809b, 0x80f3, 0x8137,
    0x8808, 0x8809, 0x8863, 0x887b, 0x888e, 0x8892, 0x889a, 0x88a2, 0x88a4, 0x88ab, 0x88b8, 0x88b9, 0x88ba,
    0x88c7, 0x88cc, 0x88e1, 0x88e3, 0x88f5, 0x88f6, 0x88f7, 0x8902, 0x8906, 0x8914, 0x890d, 0x9000,
];

impl Decoder {
    /// The payload of an EtherType. A number below 1536 is the length of an IEEE 802.3 frame.
    pub(super) fn ether_type(
        &mut self,
        number: u16,
        part: Part<'_>,
        route: Route,
    ) -> Result<Content, Passed> {
        match number {
            IPV4 | IPV6 => self.ip(part, route),
            // IEEE 802.1Q and 802.1ad, and numbers of older switches
            0x8100 | 0x88a8 | 0x9100 | 0x9200 | 0x9300 => {
                let (tag, rest) = part.split::<4>()?;
                let vlan = u32::from(u16::from_be_bytes([tag[0], tag[1]]) & 0x0fff);
                self.ether_type(u16::from_be_bytes([tag[2], tag[3]]), rest, route.through(kind::VLAN, vlan)?)
            }
            // IEEE 802.1ah: priority and flags, service identifier (3 bytes), and the customer's frame
            0x88e7 => {
                let (tag, rest) = part.split::<4>()?;
                let service = u32::from_be_bytes([0, tag[1], tag[2], tag[3]]);
                self.follow(Inner::Ethernet, rest, route.through(kind::BACKBONE, service)?)
            }
            // RFC 2516: version and type 1, code 0 for a session, session, length
            0x8864 => {
                let (head, rest) = part.split::<6>()?;
                if head[..2] != [0x11, 0] {
                    return Err(Passed::NotTcp);
                }
                let length = u32::from(u16::from_be_bytes([head[4], head[5]]));
                self.ppp(rest.within(length), route.through(kind::PPPOE, 0)?)
            }
            0x8847 | 0x8848 => self.mpls(part, route),
            0x880b => self.ppp(part, route),
            BRIDGED => self.follow(Inner::Ethernet, part, route),
            // IEEE 802.1CB: reserved (2 bytes), sequence number (2), EtherType
            0xf1c1 => {
                let (tag, rest) = part.split::<6>()?;
                self.ether_type(
                    u16::from_be_bytes([tag[4], tag[5]]),
                    rest,
                    route.through(kind::REDUNDANCY, 0)?,
                )
            }
            0x88e5 => self.macsec(part, route),
            0x894f => self.service_header(part, route),
            0..1536 => self.llc(part.within(number.into()), route),
            0x8870 => self.llc(part, route),
            number if WITHOUT_TCP.contains(&number) => Err(Passed::NotTcp),
            other => Err(Passed::EtherType(other)),
        }
    }

    /// IEEE 802.2: access points of destination and source, control; with SNAP an organisation and an EtherType of it.
    fn llc(&mut self, part: Part<'_>, route: Route) -> Result<Content, Passed> {
        if part.wire < 3 {
            return Err(Passed::NotTcp);
        }
        let (head, rest) = part.split::<3>()?;
        match head {
            [0xaa, 0xaa, 0x03] => {
                let (snap, rest) = rest.split::<5>()?;
                let number = u16::from_be_bytes([snap[3], snap[4]]);
                match &snap[..3] {
                    // RFC 1042, and bridges (IEEE 802.1H)
                    [0, 0, 0] | [0, 0, 0xf8] => self.ether_type(number, rest, route.through(kind::LLC, 0)?),
                    // RFC 2684: bridged Ethernet with its frame check sequence, or without, after two bytes of padding
                    [0, 0x80, 0xc2] if [1, 7].contains(&number) => {
                        self.follow(Inner::Ethernet, rest.skip(2)?, route.through(kind::LLC, 0)?)
                    }
                    _ => Err(Passed::NotTcp),
                }
            }
            [0x06, 0x06, 0x03] => self.ip(rest, route.through(kind::LLC, 0)?),
            _ => Err(Passed::NotTcp),
        }
    }

    /// IEEE 802.1AE, if it only protects the integrity: flags, short length, packet number (4), and a channel (8) if flagged.
    fn macsec(&mut self, part: Part<'_>, route: Route) -> Result<Content, Passed> {
        const CHANNEL: u8 = 0x20;
        const ENCRYPTED_OR_CHANGED: u8 = 0x0c;
        /// Integrity check value.
        const CHECK: u32 = 16;
        let (&[flags, ..], rest) = part.split::<6>()?;
        if flags & ENCRYPTED_OR_CHANGED != 0 {
            return Err(Passed::Hidden("MACsec"));
        }
        let rest = rest.skip(if flags & CHANNEL != 0 { 8 } else { 0 })?;
        let (number, rest) = rest.within(rest.wire.saturating_sub(CHECK)).split::<2>()?;
        self.ether_type(u16::from_be_bytes(*number), rest, route.through(kind::MACSEC, 0)?)
    }

    /// RFC 8300: version and length in words, type, next protocol.
    fn service_header(&mut self, part: Part<'_>, route: Route) -> Result<Content, Passed> {
        let (head, _) = part.split::<4>()?;
        let words = usize::from(head[1] & 0x3f);
        if head[0] >> 6 != 0 || words < 2 {
            return Err(Passed::Damaged);
        }
        let inner = extended(head[3]).ok_or(Passed::Tunnel("NSH with an unknown protocol"))?;
        self.follow(inner, part.skip(4 * words)?, route.through(kind::NSH, 0)?)
    }

    /// RFC 1661: a protocol in two bytes, or in one that is odd; before it address and control of HDLC, or nothing.
    pub(super) fn ppp(&mut self, part: Part<'_>, route: Route) -> Result<Content, Passed> {
        let part = if part.data.starts_with(&[0xff, 0x03]) { part.skip(2)? } else { part };
        let (&[first], rest) = part.split::<1>()?;
        let (number, rest) = if first & 1 == 1 {
            (u16::from(first), rest)
        } else {
            let (&[second], rest) = rest.split::<1>()?;
            (u16::from_be_bytes([first, second]), rest)
        };
        let route = route.through(kind::PPP, 0)?;
        match number {
            0x0021 | 0x0057 => self.ip(rest, route),
            0x0281 | 0x0283 => self.mpls(rest, route),
            0x002d | 0x002f => Err(Passed::Hidden("PPP with compressed TCP headers")),
            0x00fb | 0x00fd | 0x0053 | 0x0055 => Err(Passed::Hidden("PPP")),
            0x003d => Err(Passed::Tunnel("multilink PPP")),
            // control protocols
            0x8000.. => Err(Passed::NotTcp),
            other => Err(Passed::Ppp(other)),
        }
    }

    /// RFC 3032: labels up to the one with the bottom bit. The header contains no kind of its payload: IP of either version, or a
    /// pseudowire with Ethernet, with a control word that begins with four zeros (RFC 4448) or without.
    pub(super) fn mpls(&mut self, part: Part<'_>, route: Route) -> Result<Content, Passed> {
        const BOTTOM: u32 = 1 << 8;
        /// Label of alarms and measurements, whose payload is no packet (RFC 5586).
        const ASSOCIATED_CHANNEL: u32 = 13;
        let mut rest = part;
        for _ in 0..super::MOST_LAYERS {
            let (entry, behind) = rest.split::<4>()?;
            rest = behind;
            let entry = u32::from_be_bytes(*entry);
            if entry & BOTTOM == 0 {
                continue;
            }
            if entry >> 12 == ASSOCIATED_CHANNEL {
                return Err(Passed::NotTcp);
            }
            let route = Route { guessed: true, ..route.through(kind::MPLS, 0)? };
            return self.behind_labels(rest, route);
        }
        Err(Passed::TooDeep)
    }

    fn behind_labels(&mut self, part: Part<'_>, route: Route) -> Result<Content, Passed> {
        let first = *part.data.first().ok_or(part.ended())? >> 4;
        let mut tried = match first {
            4 | 6 => self.ip(part, route),
            0 => part.skip(4).and_then(|rest| self.follow(Inner::Ethernet, rest, route)),
            1 => return Err(Passed::NotTcp),
            _ => Err(Passed::Damaged),
        };
        if !is_plausible(&tried) {
            let without = self.follow(Inner::Ethernet, part, route);
            if is_plausible(&without) || tried == Err(Passed::Damaged) {
                tried = without;
            }
        }
        match tried {
            Err(Passed::Damaged | Passed::EtherType(_)) => {
                Err(Passed::Tunnel("MPLS with a payload of unknown kind"))
            }
            other => other,
        }
    }

    /// RFC 2784 and 2890; version 1 carries PPP (RFC 2637).
    pub(super) fn gre(&mut self, part: Part<'_>, route: Route) -> Result<Content, Passed> {
        const CHECKSUM: u8 = 0x80;
        const ROUTING: u8 = 0x40;
        const KEY: u8 = 0x20;
        const SEQUENCE: u8 = 0x10;
        const ACKNOWLEDGEMENT: u8 = 0x80;
        let (&[flags, version, high, low], rest) = part.split::<4>()?;
        if flags & ROUTING != 0 {
            return Err(Passed::Tunnel("GRE with source routes"));
        }
        let number = u16::from_be_bytes([high, low]);
        let word = |flag: u8| if flags & flag != 0 { 4 } else { 0 };
        let skipped = word(CHECKSUM) + word(KEY) + word(SEQUENCE);
        let route = route.through(kind::GRE, number.into())?;
        match version & 7 {
            0 => {}
            1 => {
                let (payload, _) = rest.split::<2>()?;
                let acknowledged = if version & ACKNOWLEDGEMENT != 0 { 4 } else { 0 };
                let payload = u16::from_be_bytes(*payload);
                // an acknowledgement alone
                if payload == 0 {
                    return Err(Passed::NotTcp);
                }
                return self.ppp(rest.skip(skipped + acknowledged)?.within(payload.into()), route);
            }
            _ => return Err(Passed::Tunnel("GRE of another version")),
        }
        let rest = rest.skip(skipped)?;
        match number {
            // mirrored frames: of type I without a header, of type II with 8 bytes, of type III with 12 and maybe 8 more
            0x88be => {
                self.follow(Inner::Ethernet, rest.skip(if flags & SEQUENCE != 0 { 8 } else { 0 })?, route)
            }
            0x22eb => {
                let (head, rest) = rest.split::<12>()?;
                self.follow(Inner::Ethernet, rest.skip(if head[11] & 1 != 0 { 8 } else { 0 })?, route)
            }
            other => self.ether_type(other, rest, route),
        }
    }
}

/// Whether a guess about a payload is right: what is in it was read, or is known to be there.
pub(super) fn is_plausible(content: &Result<Content, Passed>) -> bool {
    matches!(content, Ok(_) | Err(Passed::Cut | Passed::Hidden(_) | Passed::TooDeep))
}

/// Whether an Ethernet header is that of Cisco's Inter-Switch Link, by its destination, in front of a whole frame.
pub(super) fn is_inter_switch(head: &[u8; 14]) -> bool {
    matches!(head, [0x01 | 0x0c, 0x00, 0x0c, 0x00, 0x00, ..]) && head[12] < 6
}

/// Next protocol of NSH and of VXLAN-GPE.
fn extended(number: u8) -> Option<Inner> {
    Some(match number {
        1 | 2 => Inner::Ip,
        3 => Inner::Ethernet,
        4 => Inner::Type(0x894f),
        5 => Inner::Mpls,
        _ => return None,
    })
}

/// A layer in a UDP packet, its part, the kind of the tunnel and the identifier of its network.
type Found<'a> = Result<(Inner, Part<'a>, u32, u32), Passed>;

const VXLAN: u16 = 4789;
/// VXLAN as Linux sent it before the port was assigned, and as Flannel does.
const VXLAN_OLD: u16 = 8472;
const VXLAN_GPE: u16 = 4790;
const GENEVE: u16 = 6081;
const GTP: u16 = 2152;
const L2TP: u16 = 1701;
const TEREDO: u16 = 3544;
const GUE: u16 = 6080;
const MPLS: u16 = 6635;
const LISP: u16 = 4341;
const TZSP: u16 = 37_008;
const IPSEC: u16 = 4500;
const WIREGUARD: u16 = 51_820;
const OPENVPN: u16 = 1194;
const CAPWAP: u16 = 5247;
const GRE: u16 = 4754;

/// Bytes behind the UDP header that show whether it is a tunnel's.
pub(super) const SHOWN: usize = 8;

/// Whether a tunnel listens at this UDP port.
pub(super) fn is_port(port: u16) -> bool {
    [
        VXLAN, VXLAN_OLD, VXLAN_GPE, GENEVE, GTP, L2TP, TEREDO, GUE, MPLS, LISP, TZSP, IPSEC, WIREGUARD,
        OPENVPN, CAPWAP, GRE,
    ]
    .contains(&port)
}

/// The source port of a packet if tunnels have packets from it, too, to a port that the other end chose.
pub(super) fn answered_from(port: u16) -> Option<u16> {
    [L2TP, TEREDO, IPSEC, WIREGUARD, OPENVPN, CAPWAP].contains(&port).then_some(port)
}

/// The tunnel of a UDP packet to this port, if its header has the fixed values of one. `part` follows the header of UDP.
pub(super) fn in_udp(port: u16, part: Part<'_>) -> Option<Found<'_>> {
    match port {
        VXLAN | VXLAN_OLD | VXLAN_GPE => vxlan(part),
        GENEVE => geneve(part),
        GTP => gtp(part),
        L2TP => l2tp(part),
        TEREDO => teredo(part),
        GUE => gue(part),
        MPLS => Some(Ok((Inner::Mpls, part, kind::MPLS_IN_UDP, 0))),
        // RFC 9300: flags, nonce or versions (3 bytes), instance or locators (4)
        LISP => Some(part.skip(8).map(|rest| (Inner::Ip, rest, kind::LISP, 0))),
        TZSP => tzsp(part),
        // RFC 8086
        GRE => Some(Ok((Inner::Gre, part, kind::GRE_IN_UDP, 0))),
        // RFC 3948: four zeros precede a key exchange, and a keep-alive has one byte; all else is ESP
        IPSEC => {
            let (head, _) = part.split::<4>().ok()?;
            (*head != [0; 4]).then_some(Err(Passed::Hidden("IPsec ESP")))
        }
        // data: type 4, three zeros, receiver, counter, and multiples of 16 bytes
        WIREGUARD => {
            let is_data =
                part.data.starts_with(&[4, 0, 0, 0]) && part.wire >= 32 && part.wire.is_multiple_of(16);
            is_data.then_some(Err(Passed::Hidden("WireGuard")))
        }
        // data: five bits of its kind, version 1 or 2, and the number of a key
        OPENVPN => [6, 9].contains(&(part.data.first()? >> 3)).then_some(Err(Passed::Hidden("OpenVPN"))),
        // RFC 5415: version 0, and a frame as it is or encrypted
        CAPWAP => match part.data.first()? {
            0 => Some(Err(Passed::Tunnel("CAPWAP"))),
            1 => Some(Err(Passed::Hidden("CAPWAP"))),
            _ => None,
        },
        _ => None,
    }
}

/// RFC 7348, with a group policy, and generic (draft-ietf-nvo3-vxlan-gpe): flags (a network is named, a protocol is named), reserved or
/// policy (2 bytes), protocol, network (3 bytes), reserved. Receivers ignore what is reserved.
fn vxlan(part: Part<'_>) -> Option<Found<'_>> {
    const NETWORK: u8 = 0x08;
    const NEXT_PROTOCOL: u8 = 0x04;
    let (head, rest) = part.split::<8>().ok()?;
    let id = u32::from_be_bytes([0, head[4], head[5], head[6]]);
    let inner = match head[0] & (NETWORK | NEXT_PROTOCOL) {
        NETWORK => Inner::Ethernet,
        0 | NEXT_PROTOCOL => return None,
        // a flag that other receivers ignore
        _ => extended(head[3]).unwrap_or(Inner::Ethernet),
    };
    Some(Ok((inner, rest, kind::VXLAN, id)))
}

/// RFC 8926: version 0 and length of options in words, flags, EtherType, network (3 bytes), reserved.
fn geneve(part: Part<'_>) -> Option<Found<'_>> {
    let (head, rest) = part.split::<8>().ok()?;
    if head[0] >> 6 != 0 || head[1] & 0x3f != 0 || head[7] != 0 {
        return None;
    }
    let id = u32::from_be_bytes([0, head[4], head[5], head[6]]);
    let options = usize::from(head[0] & 0x3f) * 4;
    let inner = Inner::Type(u16::from_be_bytes([head[2], head[3]]));
    Some(rest.skip(options).map(|rest| (inner, rest, kind::GENEVE, id)))
}

/// 3GPP TS 29.281: version 1 of GTP with flags of optional fields, type 255 for a packet of the user, length behind the first eight
/// bytes, tunnel (4). With a flag, four more bytes follow, the last of which is the type of the next extension header.
fn gtp(part: Part<'_>) -> Option<Found<'_>> {
    const EXTENDED: u8 = 0x04;
    const OPTIONAL: u8 = 0x07;
    let (head, rest) = part.split::<8>().ok()?;
    let length = u32::from(u16::from_be_bytes([head[2], head[3]]));
    if head[0] & 0xf8 != 0x30 || head[1] != 255 || length > rest.wire {
        return None;
    }
    let found = move || {
        let mut rest = rest.within(length);
        if head[0] & OPTIONAL != 0 {
            let (optional, behind) = rest.split::<4>()?;
            rest = behind;
            let mut next = if head[0] & EXTENDED != 0 { optional[3] } else { 0 };
            for _ in 0..super::MOST_LAYERS {
                if next == 0 {
                    break;
                }
                let (&[words], _) = rest.split::<1>()?;
                let len = usize::from(words) * 4;
                next = *rest.data.get(len.max(1) - 1).ok_or(rest.ended())?;
                rest = rest.skip(len)?;
            }
        }
        Ok((Inner::Ip, rest, kind::GTP, 0))
    };
    Some(found())
}

/// RFC 2661 and 3931: flags and version 2, length if flagged, tunnel, session, sequence numbers if flagged, offset if flagged. A
/// message of control has another flag.
fn l2tp(part: Part<'_>) -> Option<Found<'_>> {
    const CONTROL: u8 = 0x80;
    const LENGTH: u8 = 0x40;
    const SEQUENCE: u8 = 0x08;
    const OFFSET: u8 = 0x02;
    let (&[flags, version], rest) = part.split::<2>().ok()?;
    if [flags, version] == [0, 3] {
        return Some(Err(Passed::Tunnel("L2TPv3")));
    }
    if version != 2 || flags & 0x34 != 0 || flags & CONTROL != 0 {
        return None;
    }
    let found = move || {
        let rest = rest.skip(if flags & LENGTH != 0 { 6 } else { 4 })?;
        let rest = rest.skip(if flags & SEQUENCE != 0 { 4 } else { 0 })?;
        let rest = if flags & OFFSET != 0 {
            let (offset, rest) = rest.split::<2>()?;
            rest.skip(u16::from_be_bytes(*offset).into())?
        } else {
            rest
        };
        Ok((Inner::Ppp, rest, kind::L2TP, 0))
    };
    Some(found())
}

/// RFC 4380: an indication of the origin (8 bytes), or nothing, before an IPv6 packet.
fn teredo(part: Part<'_>) -> Option<Found<'_>> {
    let part = if part.data.starts_with(&[0, 0]) { part.skip(8).ok()? } else { part };
    (*part.data.first()? >> 4 == 6).then_some(Ok((Inner::Ip, part, kind::TEREDO, 0)))
}

/// Generic UDP encapsulation (draft-ietf-intarea-gue): an IP packet alone, or version 0 with a length in words, and its protocol.
fn gue(part: Part<'_>) -> Option<Found<'_>> {
    const CONTROL: u8 = 0x20;
    let (head, rest) = part.split::<4>().ok()?;
    match head[0] >> 6 {
        1 => Some(Ok((Inner::Ip, part, kind::GUE, 0))),
        0 if head[0] & CONTROL == 0 && [4, 41].contains(&head[1]) => {
            let rest = rest.skip(usize::from(head[0] & 0x1f) * 4);
            Some(rest.map(|rest| (Inner::Ip, rest, kind::GUE, 0)))
        }
        _ => None,
    }
}

/// Frames that a sniffer sends on (TaZmen Sniffer Protocol): version 1, type 0 for a received packet, the link (2 bytes, 1 for
/// Ethernet), and tags up to one of type 1. Those of types 0 and 1 are a byte, others have a length.
fn tzsp(part: Part<'_>) -> Option<Found<'_>> {
    let (head, rest) = part.split::<4>().ok()?;
    if *head != [1, 0, 0, 1] {
        return None;
    }
    let found = move || {
        let mut rest = rest;
        for _ in 0..4 * super::MOST_LAYERS {
            let (&[tag], behind) = rest.split::<1>()?;
            rest = match tag {
                0 => behind,
                1 => return Ok((Inner::Ethernet, behind, kind::TZSP, 0)),
                _ => {
                    let (&[len], behind) = behind.split::<1>()?;
                    behind.skip(len.into())?
                }
            };
        }
        Err(Passed::Damaged)
    };
    Some(found())
}
