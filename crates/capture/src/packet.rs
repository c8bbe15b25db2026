//! TCP and UDP packets of a capture, even if it truncated them. The options of TCP are walked by their lengths, so that an unknown
//! one hides none behind it.

use std::net::{IpAddr, SocketAddr};

use crate::opening::Header;

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
    /// TTL or hop limit.
    pub(crate) hops: u8,
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) mss: Option<u16>,
    pub(crate) window_scale: Option<u8>,
    pub(crate) sack: Blocks,
    /// Whether the capture contains all options.
    pub(crate) whole: bool,
    /// Hash of the encapsulations around the IP packet; 0 without any.
    pub(crate) layers: u32,
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
    /// Header, read as one of QUIC.
    pub(crate) header: Header,
}

impl UdpPacket {
    /// The packet with these `bytes` captured behind the IP header, which has `ip_payload` bytes on the wire.
    pub(crate) fn new(from: IpAddr, to: IpAddr, bytes: &[u8], ip_payload: u32) -> Option<Self> {
        let (header, data) = bytes.split_first_chunk::<8>()?;
        let port = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let payload = ip_payload.checked_sub(8)?;
        let header = Header::of(data.get(..payload as usize).unwrap_or(data));
        Some(Self { from: (from, port(0)).into(), to: (to, port(2)).into(), payload, header })
    }
}

/// TCP flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(pub(crate) u16);

impl Flags {
    pub(crate) const FIN: u16 = 0x01;
    pub(crate) const SYN: u16 = 0x02;
    pub(crate) const RST: u16 = 0x04;
    /// The end of the application's data so far, in the packets of QUIC; of TCP it is not read.
    pub(crate) const PUSH: u16 = 0x08;
    pub(crate) const ACK: u16 = 0x10;
    pub(crate) const ECE: u16 = 0x40;
    pub(crate) const CWR: u16 = 0x80;
    /// Accurate ECN (RFC 9768).
    pub(crate) const AE: u16 = 0x100;

    pub(crate) fn has(self, flag: u16) -> bool {
        self.0 & flag != 0
    }
}

impl TcpPacket {
    /// A packet of a handshake that no capture has, of `ip_len` bytes, which announces segments of `mss` bytes. The receive window is not
    /// known.
    pub(crate) fn opening(from: SocketAddr, to: SocketAddr, flags: u16, ip_len: u32, mss: u32) -> Self {
        Self {
            from,
            to,
            seq: 0,
            ack: 1,
            window: 0,
            flags: Flags(flags),
            payload: 0,
            ip_len,
            ip_id: None,
            hops: 0,
            timestamps: None,
            mss: u16::try_from(mss).ok(),
            window_scale: None,
            sack: Blocks::default(),
            whole: false,
            layers: 0,
        }
    }

    /// Bytes of the fixed header up to the window, without checksum and urgent pointer.
    pub(crate) const FIXED: usize = 16;

    /// The packet between these addresses with these `bytes` captured behind the IP header, which has `wire` bytes behind it and is
    /// part of a packet of this length and identification. `None` if the header is cut off or contradicts itself.
    pub(crate) fn new(
        (from, to): (IpAddr, IpAddr),
        bytes: &[u8],
        wire: u32,
        (ip_len, ip_id): (u32, Option<u16>),
    ) -> Option<Self> {
        let fixed: &[u8; Self::FIXED] = bytes.first_chunk()?;
        let header = usize::from(fixed[12] >> 4) * 4;
        if header < 20 {
            return None;
        }
        let word = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
        let half = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let mut packet = Self {
            from: SocketAddr::new(from, half(0)),
            to: SocketAddr::new(to, half(2)),
            seq: word(4),
            ack: word(8),
            window: half(14),
            flags: Flags(half(12) & 0x1ff),
            payload: wire.checked_sub(header as u32)?,
            ip_len,
            ip_id,
            hops: 0,
            timestamps: None,
            mss: None,
            window_scale: None,
            sack: Blocks::default(),
            whole: bytes.len() >= header,
            layers: 0,
        };
        packet.read_options(bytes.get(20..bytes.len().min(header)).unwrap_or_default());
        Some(packet)
    }

    /// Reads the captured options. A length that does not fit ends the list.
    fn read_options(&mut self, options: &[u8]) {
        const END: u8 = 0;
        const PADDING: u8 = 1;
        let mut rest = options;
        while let [kind, tail @ ..] = rest {
            match *kind {
                END => return,
                PADDING => rest = tail,
                kind => {
                    let length = tail.first().map_or(0, |length| usize::from(*length));
                    let Some(option) = rest.get(2..length) else { return };
                    self.read_option(kind, option);
                    rest = &rest[length..];
                }
            }
        }
    }

    /// Reads one option without its kind and length. An unknown one, or one of a wrong length, is passed over.
    fn read_option(&mut self, kind: u8, content: &[u8]) {
        let words = |eight: &[u8; 8]| {
            let [a, b, c, d, e, f, g, h] = *eight;
            (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
        };
        match (kind, content) {
            (2, &[high, low]) => self.mss = Some(u16::from_be_bytes([high, low])),
            // RFC 7323, section 2.3: a shift above 14 counts as 14
            (3, &[shift]) => self.window_scale = Some(shift.min(14)),
            (5, blocks) if (8..=32).contains(&blocks.len()) && blocks.len().is_multiple_of(8) => {
                self.sack = Blocks::new(blocks.as_chunks().0.iter().map(words));
            }
            (8, stamps) => self.timestamps = stamps.try_into().ok().as_ref().map(words).or(self.timestamps),
            _ => {}
        }
    }
}
