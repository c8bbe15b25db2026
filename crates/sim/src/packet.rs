//! Packets in the engine: plain values of 32 bytes.

use crate::header;

/// Bits of the offset and of the length of a SACK block, in segments: up to a million segments may be in
/// flight.
const BITS: u32 = 20;
const MASK: u64 = (1 << BITS) - 1;

/// Maximum number of SACK blocks in an ACK (RFC 2018: three, since timestamps take part of the option space).
pub const MAX_BLOCKS: usize = 3;

/// Data: the transport is ECN-capable (ECT).
pub const ECT: u64 = 1 << 60;
/// Data: a router on the way set the congestion mark (CE).
pub(crate) const CE: u64 = 1 << 61;
/// Data: the sender has reduced its window (CWR). ACK: the receiver saw a mark (ECE).
pub const CWR_ECE: u64 = 1 << 62;
/// Data: the sender prefers this packet to be dropped before others.
pub const DROPPABLE: u64 = 1 << 56;
/// Data: a datagram of QUIC that carries no data. The bit is one of a router's header where the packet has such a header.
const CONTROL: u64 = 1 << 54;
/// Data: a retransmission.
pub(crate) const RETRANSMISSION: u64 = 1 << 55;
/// Data: a retransmission with timestamps, so its timestamp differs from that of the original.
pub(crate) const REPEAT: u64 = 1 << 59;
/// ACK: the echoed timestamp is that of a retransmission (RFC 7323).
pub const ECHO_REPEAT: u64 = 1 << 61;
/// ACK: the first block lies below the cumulative ACK and reports a duplicate (RFC 2883); its offset counts
/// down.
pub(crate) const DUPLICATE: u64 = 1 << 60;
/// Data: the last segment that the application has for now. ACK: answers a SYN.
pub const PUSH_SYN: u64 = 1 << 63;

/// ECN, CWR/ECE and PUSH/SYN flags.
pub const FLAGS: u64 = ECT | CE | CWR_ECE | PUSH_SYN;

/// A segment or an ACK in transit.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
pub struct Packet {
    /// Arrival time at the place where it is queued, nanoseconds.
    pub at: u64,
    /// Data: segment number. ACK: next expected segment.
    pub seq: u32,
    /// Next leg: an index into the compiled legs.
    pub leg: u32,
    /// Data: size on the wire in the low bits, and flags. ACK: SACK blocks and flags.
    pub low: u64,
    /// Data: router header. ACK: further SACK blocks, or an echo for the sender.
    pub high: u64,
}

/// Flag of a datagram of QUIC that carries no data.
pub(crate) const fn control(is_control: bool) -> u64 {
    if is_control { CONTROL } else { 0 }
}

/// Whether a data packet with this low word carries data.
pub(crate) fn carries_data(low: u64) -> bool {
    low & (CONTROL | header::KIND) != CONTROL
}

/// Bits of [`Packet::low`] that hold the size of a data packet.
pub(crate) const SIZE_MASK: u64 = 0xffff_ffff;

/// SACK blocks, `[start, end)` in segments, newest first; an empty block ends the list.
pub type Blocks = [(u32, u32); MAX_BLOCKS];

/// Packs SACK blocks into the two words of an ACK, relative to the cumulative ACK. Sets the flag
/// [`DUPLICATE`] if the first block lies below the cumulative ACK, and no other flag.
pub fn pack_blocks(ack: u32, blocks: &[(u32, u32)]) -> (u64, u64) {
    let mut words = [0_u64; 2 * MAX_BLOCKS];
    let mut flags = 0;
    for (i, &(start, end)) in blocks.iter().take(MAX_BLOCKS).enumerate() {
        words[2 * i] = u64::from(start.abs_diff(ack)) & MASK;
        words[2 * i + 1] = u64::from(end - start) & MASK;
        if i == 0 && start < ack {
            flags = DUPLICATE;
        }
    }
    let pack = |w: &[u64]| w[0] | w[1] << BITS | w[2] << (2 * BITS);
    (pack(&words[..3]) | flags, pack(&words[3..]))
}

/// Size of an ACK on the wire, bytes: `bare` plus eight per SACK block (RFC 2018 section 3).
#[inline(always)]
pub fn ack_size(bare: u16, low: u64, high: u64) -> u32 {
    let mut size = u32::from(bare);
    if low >> BITS & MASK != 0 {
        let third = high & header::ECHO == 0 && high >> (2 * BITS) & MASK != 0;
        size += 8 + 8 * u32::from(high & MASK != 0) + 8 * u32::from(third);
    }
    size
}

/// SACK blocks of an ACK.
pub(crate) fn unpack_blocks(ack: u32, low: u64, high: u64) -> Blocks {
    let high = if high & header::ECHO == 0 { high } else { high & header::BLOCKS_LEFT };
    let word = |w: u64, i: u32| (w >> (i * BITS) & MASK) as u32;
    let raw = [word(low, 0), word(low, 1), word(low, 2), word(high, 0), word(high, 1), word(high, 2)];
    let mut blocks = Blocks::default();
    for (i, block) in blocks.iter_mut().enumerate() {
        let (offset, length) = (raw[2 * i], raw[2 * i + 1]);
        if length == 0 {
            break;
        }
        *block = (ack + offset, ack + offset + length);
    }
    if low & DUPLICATE != 0 {
        let start = ack - raw[0];
        blocks[0] = (start, start + raw[1]);
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sack_blocks_survive_packing_beside_flags() {
        let blocks = [(1_002, 1_005), (1_000_000, 1_000_001), (1_010, 1_048_000)];
        let (low, high) = pack_blocks(1_000, &blocks);
        assert_eq!(unpack_blocks(1_000, low | CWR_ECE | PUSH_SYN, high), blocks);
        let (low, high) = pack_blocks(7, &blocks[..1]);
        assert_eq!(unpack_blocks(7, low, high), [blocks[0], (0, 0), (0, 0)]);
    }

    #[test]
    fn every_block_adds_eight_bytes_to_an_ack_and_flags_add_none() {
        let blocks = [(1_002, 1_005), (1_000_000, 1_000_001), (1_010, 1_048_000)];
        let sizes = [0, 1, 2, 3].map(|n| {
            let (low, high) = pack_blocks(1_000, &blocks[..n]);
            ack_size(40, low | CWR_ECE | PUSH_SYN, high)
        });
        assert_eq!(sizes, [40, 48, 56, 64]);
    }

    #[test]
    fn an_echo_replaces_the_third_block() {
        let blocks = [(1_002, 1_005), (1_000_000, 1_000_001), (1_010, 1_048_000)];
        let (low, high) = pack_blocks(1_000, &blocks);
        let high = high & header::BLOCKS_LEFT | header::ECHO | 0xffff_ffff << BITS;
        assert_eq!(unpack_blocks(1_000, low, high), [blocks[0], blocks[1], (0, 0)]);
        assert_eq!(ack_size(40, low, high), 56);
    }

    #[test]
    fn a_packet_is_32_bytes() {
        assert_eq!(size_of::<Packet>(), 32);
    }
}
