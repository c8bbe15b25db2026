//! IPv4 packets of one TCP connection, built and parsed.

use std::net::SocketAddrV4;

use etherparse::{Ipv4Slice, PacketBuilder, TcpHeader, TcpOptionElement};

/// SACK blocks that a header has room for beside timestamps.
pub(crate) const MAX_BLOCKS: usize = 3;

/// A segment. Of its payload only the length is kept, because the content is never read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Number of the first byte.
    pub seq: u32,
    /// The next byte expected, where the ACK flag is set.
    pub ack: u32,
    /// The flags in use.
    pub flags: Flags,
    /// As in the header: not scaled.
    pub window: u16,
    /// Maximum segment size option, bytes.
    pub mss: Option<u16>,
    /// Window scale option.
    pub scale: Option<u8>,
    /// SACK-permitted option.
    pub sack_permitted: bool,
    /// Timestamps option: value and echo.
    pub timestamps: Option<(u32, u32)>,
    /// Blocks `[from, to)` of the SACK option, at most 4, and 3 beside timestamps.
    pub sack: Vec<(u32, u32)>,
    /// Payload bytes.
    pub length: usize,
}

/// The flags in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Synchronise.
    pub syn: bool,
    /// The acknowledgement field counts.
    pub ack: bool,
    /// No more data.
    pub fin: bool,
    /// Reset.
    pub rst: bool,
}

impl Segment {
    /// The packet that carries it.
    ///
    /// # Panics
    /// If its options do not fit in a header.
    pub fn packet(&self, from: SocketAddrV4, to: SocketAddrV4) -> Vec<u8> {
        let ip = PacketBuilder::ipv4(from.ip().octets(), to.ip().octets(), 64);
        let mut tcp = ip.tcp(from.port(), to.port(), self.seq, self.window);
        if self.flags.ack {
            tcp = tcp.ack(self.ack);
        }
        if self.flags.syn {
            tcp = tcp.syn();
        }
        if self.flags.fin {
            tcp = tcp.fin();
        }
        if self.flags.rst {
            tcp = tcp.rst();
        }
        let tcp = tcp.options(&self.options()).expect("the options fit in a header");
        let payload = vec![0; self.length];
        let mut packet = Vec::with_capacity(tcp.size(self.length));
        tcp.write(&mut packet, &payload).expect("a vector takes everything");
        packet
    }

    /// The segment in a packet from `from` to `to`; `None` for anything else.
    pub fn parse(packet: &[u8], from: SocketAddrV4, to: SocketAddrV4) -> Option<Self> {
        let ip = Ipv4Slice::from_slice(packet).ok()?;
        let (tcp, payload) = TcpHeader::from_slice(ip.payload().payload).ok()?;
        let ports = (tcp.source_port, tcp.destination_port) == (from.port(), to.port());
        if !ports || (ip.header().source_addr(), ip.header().destination_addr()) != (*from.ip(), *to.ip()) {
            return None;
        }
        let flags = Flags { syn: tcp.syn, ack: tcp.ack, fin: tcp.fin, rst: tcp.rst };
        let mut segment = Self {
            seq: tcp.sequence_number,
            ack: tcp.acknowledgment_number,
            flags,
            window: tcp.window_size,
            length: payload.len(),
            ..Self::default()
        };
        for option in tcp.options_iterator() {
            match option.ok()? {
                TcpOptionElement::Noop => {}
                TcpOptionElement::MaximumSegmentSize(mss) => segment.mss = Some(mss),
                TcpOptionElement::WindowScale(scale) => segment.scale = Some(scale),
                TcpOptionElement::SelectiveAcknowledgementPermitted => segment.sack_permitted = true,
                TcpOptionElement::Timestamp(value, echo) => segment.timestamps = Some((value, echo)),
                TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                    segment.sack = core::iter::once(first).chain(rest.into_iter().flatten()).collect();
                }
            }
        }
        Some(segment)
    }

    fn options(&self) -> Vec<TcpOptionElement> {
        use TcpOptionElement::{
            MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted, Timestamp,
            WindowScale,
        };
        let mut options: Vec<_> = self.mss.map(MaximumSegmentSize).into_iter().collect();
        if self.sack_permitted {
            options.push(SelectiveAcknowledgementPermitted);
        }
        if let Some((value, echo)) = self.timestamps {
            if !self.flags.syn {
                // The kernel's header prediction expects them here.
                options.extend([Noop, Noop]);
            }
            options.push(Timestamp(value, echo));
        }
        options.extend(self.scale.map(WindowScale));
        if let [first, rest @ ..] = &self.sack[..] {
            assert!(rest.len() <= 3, "a header has room for 4 blocks");
            let rest = [0, 1, 2].map(|at| rest.get(at).copied());
            options.extend([Noop, Noop, SelectiveAcknowledgement(*first, rest)]);
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HERE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 80);
    const THERE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 4000);

    #[test]
    fn what_is_built_is_parsed_again() {
        let syn = Segment {
            seq: 7,
            flags: Flags { syn: true, ..Flags::default() },
            window: 65_535,
            mss: Some(1012),
            scale: Some(4),
            sack_permitted: true,
            timestamps: Some((1, 0)),
            ..Segment::default()
        };
        let full = Segment {
            seq: u32::MAX,
            ack: 5,
            flags: Flags { ack: true, ..Flags::default() },
            timestamps: Some((9, 8)),
            sack: vec![(10, 20), (30, 40), (50, 60)],
            length: 3,
            ..Segment::default()
        };
        for segment in [syn, full] {
            let packet = segment.packet(HERE, THERE);
            assert_eq!(Segment::parse(&packet, HERE, THERE), Some(segment.clone()));
            assert_eq!(Segment::parse(&packet, THERE, HERE), None, "the other direction");
        }
    }

    #[test]
    fn a_bare_ack_is_these_bytes() {
        // RFC 791 section 3.1, RFC 9293 section 3.1; checksums by hand from RFC 1071.
        let ack = Segment {
            seq: 0x0102_0304,
            ack: 0x0506_0708,
            flags: Flags { ack: true, ..Flags::default() },
            window: 0x1000,
            ..Segment::default()
        };
        let packet = ack.packet(HERE, THERE);
        let tcp = [0, 80, 0x0f, 0xa0, 1, 2, 3, 4, 5, 6, 7, 8, 0x50, 0x10, 0x10, 0];
        assert_eq!(packet.len(), 40);
        assert_eq!(packet[20..36], tcp);
        // Pseudo-header: 0a00 + 0001 + 0a00 + 0002 + 0006 + 0014 = 141d; segment: 0050 + 0fa0 + 0102 + 0304 + 0506 +
        // 0708 + 5010 + 1000 = 8014; sum 9431, complement 6bce.
        assert_eq!(packet[36..38], [0x6b, 0xce]);
    }
}
