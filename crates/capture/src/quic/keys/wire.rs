//! Packets of a datagram, and frames of a packet (RFC 9000 sections 12.2, 17 and 19).

/// Version of QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// RFC 9000.
    First,
    /// RFC 9369.
    Second,
}

impl Version {
    fn of(number: [u8; 4]) -> Option<Self> {
        match number {
            [0, 0, 0, 1] => Some(Self::First),
            [0x6b, 0x33, 0x43, 0xcf] => Some(Self::Second),
            _ => None,
        }
    }

    /// Salt of the secret of Initial packets.
    pub(super) fn salt(self) -> &'static [u8; 20] {
        match self {
            Self::First => {
                b"\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a"
            }
            Self::Second => {
                b"\x0d\xed\xe3\xde\xf7\x00\xa6\xdb\x81\x93\x81\xbe\x6e\x26\x9d\xcb\xf9\xbd\x2e\xd9"
            }
        }
    }

    /// Label of a derived key: `key`, `iv`, `hp`, `ku`.
    pub(super) fn label(self, key: &str) -> &'static str {
        let all = match self {
            Self::First => ["quic key", "quic iv", "quic hp", "quic ku"],
            Self::Second => ["quicv2 key", "quicv2 iv", "quicv2 hp", "quicv2 ku"],
        };
        let place = ["key", "iv", "hp", "ku"].iter().position(|one| *one == key);
        all[place.expect("a label of RFC 9001")]
    }
}

/// Packet of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packet<'a> {
    /// An Initial packet, the connection ID of its receiver, and the place of its number.
    Initial { version: Version, bytes: &'a [u8], to: &'a [u8], number_at: usize },
    /// A packet with a short header.
    Short(&'a [u8]),
    /// Another packet with a long header.
    Other,
}

/// Bytes that are read from the front.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    /// A number of so many bytes.
    pub(super) fn number(&mut self, count: usize) -> Option<usize> {
        Some(self.take(count)?.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    /// An integer of variable length (RFC 9000 section 16).
    pub(super) fn integer(&mut self) -> Option<u64> {
        let first = *self.0.first()?;
        let bytes = self.take(1 << (first >> 6))?;
        let rest = bytes[1..].iter();
        Some(rest.fold(u64::from(first & 0x3f), |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Bytes behind their length.
    pub(super) fn sized(&mut self, len: Option<u64>) -> Option<&'a [u8]> {
        self.take(usize::try_from(len?).ok()?)
    }
}

/// The packets of a datagram, as far as their headers can be read.
pub(super) fn packets(datagram: &[u8]) -> Vec<Packet<'_>> {
    let mut packets = vec![];
    let mut rest = datagram;
    while let Some(&first) = rest.first() {
        if first & 0x80 == 0 {
            packets.push(Packet::Short(rest));
            break;
        }
        let Some((packet, len)) = long(rest) else { break };
        packets.push(packet);
        rest = &rest[len..];
    }
    packets
}

/// A packet with a long header, and its length.
fn long(bytes: &[u8]) -> Option<(Packet<'_>, usize)> {
    let mut rest = Bytes(bytes);
    let first = rest.byte()?;
    let version = Version::of(rest.take(4)?.try_into().ok()?)?;
    let id = |rest: &mut Bytes<'_>| {
        let len = rest.byte()?;
        Some(rest.take(usize::from(len))?.len())
    };
    let to = id(&mut rest)?;
    id(&mut rest)?;
    let kind = (first >> 4) & 3;
    let (initial, retry) = match version {
        Version::First => (0, 3),
        Version::Second => (1, 0),
    };
    if kind == retry {
        return Some((Packet::Other, bytes.len()));
    }
    if kind == initial {
        let token = rest.integer();
        rest.sized(token)?;
    }
    let len = rest.integer();
    let number_at = bytes.len() - rest.0.len();
    let end = number_at + rest.sized(len)?.len();
    let packet = match kind == initial {
        true => Packet::Initial { version, bytes: &bytes[..end], to: &bytes[6..6 + to], number_at },
        false => Packet::Other,
    };
    Some((packet, end))
}

/// Frame that matters to the model of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame<'a> {
    /// Ranges of packet numbers, both ends included, the highest first.
    Ack(Vec<(u64, u64)>),
    Crypto {
        offset: u64,
        data: &'a [u8],
    },
    Stream {
        id: u64,
        offset: u64,
        len: u64,
        ends: bool,
    },
    /// Data that is not retransmitted (RFC 9221), bytes.
    Datagram(u64),
    MaxData(u64),
    MaxStreamData {
        id: u64,
        limit: u64,
    },
    /// PADDING, PING, and frames that change no data.
    Other,
    /// A frame of a type that no standard has: what follows it cannot be read.
    Unknown(u64),
}

/// The frames of a packet. A frame that is damaged ends them.
pub(super) fn frames(content: &[u8]) -> Vec<Frame<'_>> {
    let mut rest = Bytes(content);
    let mut frames = vec![];
    while !rest.0.is_empty() {
        let Some(frame) = frame(&mut rest) else { break };
        let unknown = matches!(frame, Frame::Unknown(_));
        frames.push(frame);
        if unknown {
            break;
        }
    }
    frames
}

fn frame<'a>(rest: &mut Bytes<'a>) -> Option<Frame<'a>> {
    let kind = rest.integer()?;
    // Frames of so many integers.
    let mut integers = |count: usize| (0..count).try_for_each(|_| rest.integer().map(|_| ()));
    Some(match kind {
        // PADDING, PING, HANDSHAKE_DONE, and IMMEDIATE_ACK of draft-ietf-quic-ack-frequency.
        0x00 | 0x01 | 0x1e | 0x1f => Frame::Other,
        0x02 | 0x03 => {
            let ranges = ack(rest)?;
            if kind == 0x03 {
                (0..3).try_for_each(|_| rest.integer().map(|_| ()))?;
            }
            Frame::Ack(ranges)
        }
        // RESET_STREAM, STOP_SENDING, and limits and blocks by numbers.
        0x04 => integers(3).map(|()| Frame::Other)?,
        0x05 | 0x15 => integers(2).map(|()| Frame::Other)?,
        0x12 | 0x13 | 0x14 | 0x16 | 0x17 | 0x19 => integers(1).map(|()| Frame::Other)?,
        // ACK_FREQUENCY: sequence number, packets, delay, reordering.
        0xaf => integers(4).map(|()| Frame::Other)?,
        0x06 => {
            let offset = rest.integer()?;
            let len = rest.integer();
            Frame::Crypto { offset, data: rest.sized(len)? }
        }
        0x07 => {
            let len = rest.integer();
            rest.sized(len).map(|_| Frame::Other)?
        }
        0x08..=0x0f => stream(rest, kind)?,
        0x10 => Frame::MaxData(rest.integer()?),
        0x11 => Frame::MaxStreamData { id: rest.integer()?, limit: rest.integer()? },
        0x18 => {
            integers(2)?;
            let len = rest.byte()?;
            rest.take(usize::from(len) + 16).map(|_| Frame::Other)?
        }
        0x1a | 0x1b => rest.take(8).map(|_| Frame::Other)?,
        0x1c | 0x1d => {
            integers(if kind == 0x1c { 2 } else { 1 })?;
            let len = rest.integer();
            rest.sized(len).map(|_| Frame::Other)?
        }
        0x30 | 0x31 => {
            let len = if kind == 0x31 { rest.integer() } else { Some(rest.0.len() as u64) };
            Frame::Datagram(rest.sized(len)?.len() as u64)
        }
        unknown => Frame::Unknown(unknown),
    })
}

fn stream<'a>(rest: &mut Bytes<'a>, kind: u64) -> Option<Frame<'a>> {
    let id = rest.integer()?;
    let offset = if kind & 4 != 0 { rest.integer()? } else { 0 };
    let len = if kind & 2 != 0 { rest.integer()? } else { rest.0.len() as u64 };
    rest.sized(Some(len))?;
    Some(Frame::Stream { id, offset, len, ends: kind & 1 != 0 })
}

/// Ranges of an ACK frame behind its type. Its delay is part of the round trips of a capture, too.
fn ack(rest: &mut Bytes<'_>) -> Option<Vec<(u64, u64)>> {
    let mut last = rest.integer()?;
    let _delay = rest.integer()?;
    let more = rest.integer()?;
    let mut first = last.checked_sub(rest.integer()?)?;
    let mut ranges = vec![(first, last)];
    for _ in 0..more {
        last = first.checked_sub(rest.integer()?.checked_add(2)?)?;
        first = last.checked_sub(rest.integer()?)?;
        ranges.push((first, last));
    }
    Some(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_those_of_rfc_9000_appendix_a_1() {
        let bytes = [
            0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c, 0x9d, 0x7f, 0x3e, 0x7d, 0x7b, 0xbd, 0x25, 0x40,
            0x25,
        ];
        let mut rest = Bytes(&bytes);
        let numbers: Vec<u64> = std::iter::from_fn(|| rest.integer()).collect();
        assert_eq!(numbers, [151_288_809_941_952_652, 494_878_333, 15_293, 37, 37]);
    }

    #[test]
    fn frames_of_a_hand_made_packet() {
        // Ranges 9 to 10, 5 to 6 (two packets missing between) and 0; ACK_FREQUENCY; a stream up to the end; and its end.
        let ack = [0x02, 10, 4, 2, 1, 1, 1, 3, 0];
        let frequency = [0x40, 0xaf, 0, 2, 0x44, 0, 1];
        let stream = [0x0d, 4, 0x45, 0, 7, 7, 7];
        let packet = [&[0, 1][..], &ack, &[0x10, 0x50, 0], &frequency, &stream].concat();
        let expected = [
            Frame::Other,
            Frame::Other,
            Frame::Ack(vec![(9, 10), (5, 6), (0, 0)]),
            Frame::MaxData(0x1000),
            Frame::Other,
            Frame::Stream { id: 4, offset: 0x500, len: 3, ends: true },
        ];
        assert_eq!(frames(&packet), expected);
        assert_eq!(frames(&[1, 0x52, 0x34, 1]), [Frame::Other, Frame::Unknown(0x1234)]);
        // An acknowledgement that reaches below zero, and one that breaks off, are none.
        assert_eq!(frames(&[0x02, 1, 0, 0, 2]), []);
        assert_eq!(frames(&[0x02, 10, 4, 2, 1]), []);
    }
}
