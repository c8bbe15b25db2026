//! Handshake of a connection of QUIC, and the headers that show it in a capture: those of long packets are not encrypted (RFC 9000 section 17.2).

use firstflight_contract::Nanos;

/// Times of a handshake at the point of capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    /// First packet of the client.
    pub(crate) opened: Nanos,
    /// First packet of the server.
    pub(crate) answered: Nanos,
    /// First packet of the client that answers the server's.
    pub(crate) confirmed: Nanos,
    /// Length of the server's first datagram with IP and UDP headers, bytes.
    pub(crate) answer_len: u32,
}

/// Connection ID, or the bytes of a short header in which it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Id {
    bytes: [u8; Self::MOST],
    len: u8,
}

impl Id {
    /// Longest connection ID, bytes.
    const MOST: usize = 20;

    fn new(from: &[u8]) -> Self {
        let mut id = Self::default();
        for (to, byte) in id.bytes.iter_mut().zip(from) {
            *to = *byte;
            id.len += 1;
        }
        id
    }

    pub(crate) fn len(self) -> u32 {
        self.len.into()
    }

    /// The first bytes, up to `len` of them.
    pub(crate) fn head(&self, len: usize) -> &[u8] {
        &self.bytes[..len.min(self.len.into())]
    }

    /// Whether this begins with `id`.
    pub(crate) fn begins_with(self, id: Self) -> bool {
        self.len >= id.len && self.bytes[..usize::from(id.len)] == id.bytes[..usize::from(id.len)]
    }
}

/// Header of the first packet of a datagram, as far as it was captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    /// Long header of version 1 or 2, or of a draft.
    pub(crate) long: bool,
    /// Initial packet.
    pub(crate) initial: bool,
    /// Connection ID of the receiver; in a short header, the bytes that begin with it.
    pub(crate) to: Id,
    /// Connection ID of the sender, in a long header.
    pub(crate) from: Id,
    /// Hash of the first bytes, by which a copy is recognised.
    pub(crate) hash: u32,
    /// First byte.
    pub(crate) first: u8,
}

impl Header {
    /// The header in the captured bytes of a datagram.
    pub(crate) fn of(data: &[u8]) -> Self {
        /// Bytes that differ between packets: those behind the longest connection ID include the packet number and 16 bytes of data.
        const HASHED: usize = 40;
        let hash = data
            .iter()
            .take(HASHED)
            .fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
        let Some((&first, rest)) = data.split_first() else { return Self::default() };
        let short = Self { to: Id::new(rest), hash, first, ..Self::default() };
        let [a, b, c, d, ids @ ..] = rest else { return short };
        let (long, second) = match [*a, *b, *c, *d] {
            [0, 0, 0, 1] | [0xff, 0, 0, _] => (true, false),
            [0x6b, 0x33, 0x43, 0xcf] => (true, true),
            _ => (false, false),
        };
        // The fixed bit may be zero (RFC 9287).
        if !long || first & 0x80 == 0 {
            return short;
        }
        let id = |bytes: &[u8]| {
            let (&len, rest) = bytes.split_first()?;
            let len = usize::from(len).min(Id::MOST);
            Some((Id::new(rest.get(..len)?), rest.len() - len))
        };
        let to = id(ids);
        let from = to.and_then(|(_, left)| id(&ids[ids.len() - left..]));
        // RFC 9369 section 3.2 has other numbers of the types.
        let kind = (first >> 4) & 3;
        Self {
            long,
            initial: kind == u8::from(second),
            to: to.map_or(Id::default(), |(id, _)| id),
            from: from.map_or(Id::default(), |(id, _)| id),
            hash,
            first,
        }
    }

    /// The spin bit of a short header, which is not encrypted (RFC 9000 section 17.3.1).
    pub(crate) fn spin(&self) -> bool {
        self.first & 0x20 != 0
    }
}

/// A datagram of QUIC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram {
    pub(crate) at: Nanos,
    /// Bytes behind the UDP header, on the wire.
    pub(crate) size: u32,
    pub(crate) hash: u32,
    /// Whether the client sent it.
    pub(crate) from_client: bool,
    /// Whether its first packet has a long header.
    pub(crate) long: bool,
    /// Spin bit of a short header.
    pub(crate) spin: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_headers_have_both_connection_ids_and_short_ones_that_of_the_receiver() {
        let initial = [&[0xc3, 0, 0, 0, 1, 4, 1, 2, 3, 4, 2, 9, 8, 0][..], &[7; 30]].concat();
        let header = Header::of(&initial);
        assert!(header.long && header.initial);
        assert_eq!((header.to, header.from), (Id::new(&[1, 2, 3, 4]), Id::new(&[9, 8])));
        // Type 1 is a 0-RTT packet in version 1, and an Initial one in version 2.
        let second = [&[0xd3, 0x6b, 0x33, 0x43, 0xcf, 0, 0][..], &[7; 30]].concat();
        assert!(Header::of(&second).initial);
        assert!(!Header::of(&[&[0xd3, 0, 0, 0, 1, 0, 0][..], &[7; 30]].concat()).initial);
        let short = Header::of(&[0x41, 9, 8, 5, 5, 5]);
        assert!(!short.long && short.to.begins_with(header.from) && !short.to.begins_with(header.to));
        assert_eq!(Header::of(&[]), Header::default());
    }
}
