//! Reader of capture containers: pcap and pcapng in both byte orders, one packet at a time.
//!
//! `pcap-parser` parses the blocks. This module adds the rest: a window over the file that grows to the
//! largest block and no further, packet times (`pcap-parser` supports no binary `if_tsresol` and reads
//! `if_tsoffset` as little-endian only), and the obsolete packet block.

use std::io::{self, Read};

use firstflight_contract::Nanos;
use pcap_parser::nom::Err as NomErr;
use pcap_parser::pcapng::{Block, InterfaceDescriptionBlock};
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{
    PcapHeader, parse_block_be, parse_block_le, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_header,
};

/// A packet in the file.
pub(crate) struct Frame<'a> {
    /// Capture time; `None` for a simple packet block, which has none.
    pub(crate) at: Option<Nanos>,
    /// Link type, by its number in the registry of the tcpdump group; `None` if the file does not describe the interface.
    pub(crate) link_type: Option<u32>,
    /// Number of the interface in its section; zero in pcap.
    pub(crate) interface: u32,
    /// Captured bytes of the packet.
    pub(crate) data: &'a [u8],
    /// Length of the packet on the link, bytes.
    pub(crate) wire_len: u32,
}

/// End of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// After a complete block.
    Whole,
    /// Inside a block.
    BrokenOff,
    /// At an implausible block.
    Damaged,
    /// The caller wanted no more packets.
    Stopped,
}

/// Whether the caller wants another packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It wants the next one.
    Continue,
    /// The rest is left out.
    Stop,
}

/// Reason why a file cannot be read as a capture.
#[derive(Debug)]
pub(crate) enum Failure {
    Io(io::Error),
    NotACapture,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Largest block kept in memory. Packets end at 256 KiB in every known writer; name tables and TLS secrets
/// can be larger. A longer length counts as damage.
const MAX_BLOCK: usize = 16 << 20;
/// Maximum number of interfaces of a pcapng section; more count as damage.
const MAX_INTERFACES: usize = 4096;
const FIRST_WINDOW: usize = 64 << 10;

/// Passes every packet of `input` to `each`, in the order of the file.
pub(crate) fn for_each_frame(
    input: impl Read,
    mut each: impl FnMut(Frame<'_>) -> Next,
) -> Result<Ending, Failure> {
    let mut window = Window::new(input);
    window.need(4)?;
    match window.bytes() {
        [0x0a, 0x0d, 0x0d, 0x0a, ..] => pcapng(&mut window, &mut each),
        [0xd4, 0xc3, 0xb2, 0xa1, ..] | [0xa1, 0xb2, 0xc3, 0xd4, ..] => pcap(&mut window, 1_000, &mut each),
        [0x4d, 0x3c, 0xb2, 0xa1, ..] | [0xa1, 0xb2, 0x3c, 0x4d, ..] => pcap(&mut window, 1, &mut each),
        _ => Err(Failure::NotACapture),
    }
}

fn pcap<R: Read>(
    window: &mut Window<R>,
    nanos_per_tick: u64,
    each: &mut impl FnMut(Frame<'_>) -> Next,
) -> Result<Ending, Failure> {
    window.need(24)?;
    let Ok((_, header)) = parse_pcap_header(window.bytes()) else {
        return Ok(Ending::BrokenOff);
    };
    window.take(24);
    let parse = if header.is_bigendian() { parse_pcap_frame_be } else { parse_pcap_frame };
    let link_type = Some(link_type(&header));
    loop {
        let taken = match parse(window.bytes()) {
            Ok((rest, frame)) => {
                let at = u64::from(frame.ts_sec) * 1_000_000_000 + u64::from(frame.ts_usec) * nanos_per_tick;
                let frame = Frame {
                    at: Some(Nanos(at)),
                    link_type,
                    interface: 0,
                    data: frame.data,
                    wire_len: frame.origlen,
                };
                if each(frame) == Next::Stop {
                    return Ok(Ending::Stopped);
                }
                window.bytes().len() - rest.len()
            }
            Err(NomErr::Incomplete(_)) => match window.refill()? {
                Refill::More => 0,
                end => return Ok(window.ending(end)),
            },
            Err(_) => return Ok(Ending::Damaged),
        };
        window.take(taken);
    }
}

/// Link type without the bits for the length of the frame check sequence.
fn link_type(header: &PcapHeader) -> u32 {
    header.network.0 as u32 & 0xffff
}

fn pcapng<R: Read>(
    window: &mut Window<R>,
    each: &mut impl FnMut(Frame<'_>) -> Next,
) -> Result<Ending, Failure> {
    let mut big_endian = false;
    let mut interfaces: Vec<Interface> = Vec::new();
    loop {
        if !block_length_is_possible(window.bytes(), big_endian) {
            return Ok(Ending::Damaged);
        }
        let parse = if big_endian { parse_block_be } else { parse_block_le };
        let taken = match parse(window.bytes()) {
            Ok((rest, block)) => {
                let frame = match &block {
                    Block::SectionHeader(section) => {
                        big_endian = section.big_endian();
                        interfaces.clear();
                        None
                    }
                    Block::InterfaceDescription(block) => {
                        if interfaces.len() == MAX_INTERFACES {
                            return Ok(Ending::Damaged);
                        }
                        interfaces.push(Interface::new(block, big_endian));
                        None
                    }
                    Block::EnhancedPacket(packet) => {
                        let interface = interfaces.get(packet.if_id as usize);
                        Some(Frame {
                            at: interface.map(|it| it.time(packet.ts_high, packet.ts_low)),
                            link_type: interface.map(|it| it.link_type),
                            interface: packet.if_id,
                            data: packet.packet_data(),
                            wire_len: packet.origlen,
                        })
                    }
                    Block::SimplePacket(packet) => {
                        let interface = interfaces.first();
                        let data = packet.packet_data();
                        let limit = interface.map_or(0, |it| it.snaplen as usize);
                        let kept = if limit == 0 { data.len() } else { limit };
                        Some(Frame {
                            at: None,
                            link_type: interface.map(|it| it.link_type),
                            interface: 0,
                            data: &data[..data.len().min(kept)],
                            wire_len: packet.origlen,
                        })
                    }
                    Block::Unknown(unknown) => {
                        obsolete_packet(unknown.block_type, unknown.data, big_endian, &interfaces)
                    }
                    _ => None,
                };
                if frame.is_some_and(|frame| each(frame) == Next::Stop) {
                    return Ok(Ending::Stopped);
                }
                window.bytes().len() - rest.len()
            }
            Err(NomErr::Incomplete(_)) => match window.refill()? {
                Refill::More => 0,
                end => return Ok(window.ending(end)),
            },
            Err(_) => return Ok(Ending::Damaged),
        };
        window.take(taken);
    }
}

/// Whether the length of a block is at least that of its own frame of type and two lengths, 12 bytes. The
/// parser requires this. A section header contains its own byte order, after the length.
fn block_length_is_possible(bytes: &[u8], big_endian: bool) -> bool {
    const SECTION: [u8; 4] = 0x0a0d_0d0a_u32.to_le_bytes();
    const LITTLE_ENDIAN: [u8; 4] = 0x1a2b_3c4d_u32.to_le_bytes();
    let Some((head, _)) = bytes.split_first_chunk::<12>() else { return true };
    let [kind, length, order] = [0, 4, 8].map(|at| [head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let big_endian = if kind == SECTION { order != LITTLE_ENDIAN } else { big_endian };
    let length = if big_endian { u32::from_be_bytes(length) } else { u32::from_le_bytes(length) };
    length >= 12
}

/// Packet block that the enhanced one replaced: interface (2 bytes), drops (2), time (4 + 4), kept (4),
/// length (4).
fn obsolete_packet<'a>(
    block_type: u32,
    body: &'a [u8],
    big_endian: bool,
    interfaces: &[Interface],
) -> Option<Frame<'a>> {
    const TYPE: u32 = 2;
    let expected = if big_endian { TYPE.swap_bytes() } else { TYPE };
    if block_type != expected {
        return None;
    }
    let (head, data) = body.split_at_checked(20)?;
    let word = |at: usize| {
        let bytes = [head[at], head[at + 1], head[at + 2], head[at + 3]];
        if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    let index = [head[0], head[1]];
    let index = if big_endian { u16::from_be_bytes(index) } else { u16::from_le_bytes(index) };
    let interface = interfaces.get(usize::from(index));
    Some(Frame {
        at: interface.map(|it| it.time(word(4), word(8))),
        link_type: interface.map(|it| it.link_type),
        interface: index.into(),
        data: &data[..data.len().min(word(12) as usize)],
        wire_len: word(16),
    })
}

/// Description of an interface.
struct Interface {
    link_type: u32,
    snaplen: u32,
    ticks_per_second: u128,
    offset_seconds: i64,
}

impl Interface {
    fn new(block: &InterfaceDescriptionBlock<'_>, big_endian: bool) -> Self {
        let exponent = u32::from(block.if_tsresol & 0x7f);
        // beyond 10^38 and 2^127 the numbers overflow; no clock has that resolution
        let ticks_per_second = if block.if_tsresol & 0x80 == 0 {
            10u128.checked_pow(exponent).unwrap_or(u128::MAX)
        } else {
            1u128 << exponent
        };
        let offset_seconds = if big_endian { block.if_tsoffset.swap_bytes() } else { block.if_tsoffset };
        Self { link_type: block.linktype.0 as u32, snaplen: block.snaplen, ticks_per_second, offset_seconds }
    }

    fn time(&self, high: u32, low: u32) -> Nanos {
        let ticks = u128::from(high) << 32 | u128::from(low);
        // 2^64 ticks times 10^9 fits 94 bits
        let nanos = ticks * 1_000_000_000 / self.ticks_per_second;
        let nanos = nanos as i128 + i128::from(self.offset_seconds) * 1_000_000_000;
        Nanos(nanos.clamp(0, i128::from(u64::MAX / 2)) as u64)
    }
}

/// Result of reading more bytes.
enum Refill {
    More,
    EndOfFile,
    TooLarge,
}

/// Unread bytes of the file: `start` to `end` of `buffer`.
struct Window<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl<R: Read> Window<R> {
    fn new(input: R) -> Self {
        Self { input, buffer: vec![0; FIRST_WINDOW], start: 0, end: 0 }
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    fn take(&mut self, count: usize) {
        self.start += count;
    }

    fn need(&mut self, count: usize) -> Result<(), Failure> {
        while self.bytes().len() < count && matches!(self.refill()?, Refill::More) {}
        Ok(())
    }

    fn refill(&mut self) -> Result<Refill, io::Error> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            if self.end >= MAX_BLOCK {
                return Ok(Refill::TooLarge);
            }
            self.buffer.resize(self.end * 2, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(Refill::EndOfFile),
                Ok(count) => {
                    self.end += count;
                    return Ok(Refill::More);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn ending(&self, end: Refill) -> Ending {
        match end {
            Refill::EndOfFile if self.bytes().is_empty() => Ending::Whole,
            Refill::TooLarge => Ending::Damaged,
            _ => Ending::BrokenOff,
        }
    }
}
