//! Headers of packets.

use etherparse::{Ipv4Header, Ipv4Slice, TcpOptionElement, TcpSlice};
use firstflight_net::queue::dequeue::Ack;

/// The fields of a TCP segment that the emulator needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    /// Source port.
    pub(crate) from: u16,
    /// Destination port.
    pub(crate) to: u16,
    pub(crate) seq: u32,
    /// Acknowledgment number; `None` without the ACK flag.
    pub(crate) ack: Option<u32>,
    pub(crate) syn: bool,
    /// Whether it ends a direction, by FIN or RST.
    pub(crate) closes: bool,
    /// Payload bytes.
    pub(crate) length: u32,
    /// Whether a queue may mark the packet.
    pub(crate) ecn_capable: bool,
    pub(crate) push: bool,
    /// CWR: the sender has reduced its window after a mark.
    pub(crate) reduced: bool,
    /// ECE: a mark arrived.
    pub(crate) echoes_mark: bool,
    /// The window field, without the scale.
    pub(crate) window: u16,
    /// The scale of windows, on a SYN.
    pub(crate) scale: Option<u8>,
    /// SACK blocks, sequence numbers `[start, end)`; an empty block ends the list.
    pub(crate) sack: [(u32, u32); 4],
}

impl Header {
    /// The header of a packet; `None` for anything but TCP over IPv4.
    pub(crate) fn read(packet: &[u8]) -> Option<Self> {
        let ip = Ipv4Slice::from_slice(packet).ok()?;
        if ip.payload().ip_number != etherparse::IpNumber::TCP {
            return None;
        }
        let tcp = TcpSlice::from_slice(ip.payload().payload).ok()?;
        let mut header = Self {
            from: tcp.source_port(),
            to: tcp.destination_port(),
            seq: tcp.sequence_number(),
            ack: tcp.ack().then(|| tcp.acknowledgment_number()),
            syn: tcp.syn(),
            closes: tcp.fin() || tcp.rst(),
            length: tcp.payload().len() as u32,
            ecn_capable: ip.header().ecn().value() != 0,
            push: tcp.psh(),
            reduced: tcp.cwr(),
            echoes_mark: tcp.ece(),
            window: tcp.window_size(),
            ..Self::default()
        };
        for option in tcp.options_iterator().flatten() {
            match option {
                TcpOptionElement::WindowScale(scale) => header.scale = Some(scale),
                TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                    let blocks = core::iter::once(first).chain(rest.into_iter().flatten());
                    header.sack.iter_mut().zip(blocks).for_each(|(place, block)| *place = block);
                }
                _ => {}
            }
        }
        Some(header)
    }

    /// The acknowledgement that the packet is, if it is nothing else.
    pub(crate) fn acknowledgement(&self) -> Option<Ack> {
        let has_more = self.syn || self.closes || self.length > 0;
        let is_plain = !self.echoes_mark && !self.reduced && self.sack[0] == (0, 0);
        self.ack.filter(|_| !has_more).map(|number| Ack { number, is_plain })
    }
}

/// Sets the ECN mark of an IPv4 packet (RFC 3168 section 5: both bits), and its checksum.
pub(crate) fn mark(packet: &mut [u8]) {
    let Ok((mut header, _)) = Ipv4Header::from_slice(packet) else { return };
    header.ecn = etherparse::IpEcn::CongestionExperienced;
    header.header_checksum = header.calc_header_checksum();
    let bytes = header.to_bytes();
    packet[..bytes.len()].copy_from_slice(&bytes);
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddrV4;

    use super::*;
    use crate::segment::{Flags, Segment};

    #[test]
    fn the_fields_of_a_segment_are_read() {
        let at = |port| SocketAddrV4::new([10, 0, 0, 1].into(), port);
        let ack = Flags { ack: true, ..Flags::default() };
        let segment = Segment { seq: 7, ack: 9, flags: ack, length: 30, ..Segment::default() };
        let packet = segment.packet(at(4000), at(10_000));
        let header = Header::read(&packet).expect("TCP");
        assert_eq!((header.from, header.to, header.seq, header.ack), (4000, 10_000, 7, Some(9)));
        assert_eq!((header.syn, header.length, header.ecn_capable), (false, 30, false));
        assert_eq!(Header::read(&packet[..30]), None);
        assert_eq!(header.acknowledgement(), None);
        let of = |segment: Segment| {
            Header::read(&segment.packet(at(4000), at(10_000))).expect("TCP").acknowledgement()
        };
        let bare = Segment { length: 0, ..segment.clone() };
        assert_eq!(of(bare.clone()), Some(Ack { number: 9, is_plain: true }));
        let blocks = Segment { sack: vec![(20, 30)], ..bare.clone() };
        assert_eq!(of(blocks), Some(Ack { number: 9, is_plain: false }));
        assert_eq!(of(Segment { flags: Flags { syn: true, ..ack }, ..bare }), None);
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        // RFC 791 and RFC 1071 by hand: 4502 + 0028 + 4006 + 0a00 + 0001 + 0a00 + 0002 = 9933, complement 66cc; with the
        // mark the first word is 4503, and the checksum one less.
        let mut packet = [0; 40];
        packet[..20]
            .copy_from_slice(&[0x45, 2, 0, 40, 0, 0, 0, 0, 64, 6, 0x66, 0xcc, 10, 0, 0, 1, 10, 0, 0, 2]);
        mark(&mut packet);
        assert_eq!((packet[1], &packet[10..12]), (3, &[0x66, 0xcb][..]));
    }
}
