//! Link headers, by the number of the link type in the registry of the tcpdump group.

use super::tunnels::Inner;
use super::{Part, Passed};

/// Sentence of the supported link types, for errors.
pub(crate) const SUPPORTED: &str = "Ethernet (1), null or loopback (0, 108), PPP (9, 50, 51), raw IP (12, 14, 101, 228, 229), \
                                    Cisco HDLC (104), Linux cooked (113, 276) or MPLS (219)";

/// The layer behind the link header, and its part.
pub(super) fn strip(link_type: u32, part: Part<'_>) -> Result<(Inner, Part<'_>), Passed> {
    let number = |head: &[u8], at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    Ok(match link_type {
        1 => (Inner::Ethernet, part),
        // 12 and 14 are DLT_RAW on different systems; 228 and 229 are raw IPv4 and IPv6
        12 | 14 | 101 | 228 | 229 => (Inner::Ip, part),
        // Four bytes of address family, in the byte order of the capturing machine or of the network. That of IPv6 differs
        // between systems; the version field does not.
        0 | 108 => (Inner::Ip, part.skip(4)?),
        9 | 50 => (Inner::Ppp, part),
        51 => (Inner::Type(0x8864), part),
        104 => {
            let (head, rest) = part.split::<4>()?;
            (Inner::Type(number(head, 2)), rest)
        }
        113 => {
            let (head, rest) = part.split::<16>()?;
            cooked(number(head, 14), rest)?
        }
        276 => {
            let (head, rest) = part.split::<20>()?;
            cooked(number(head, 0), rest)?
        }
        219 => (Inner::Mpls, part),
        other => return Err(Passed::Link(other)),
    })
}

/// Protocol of a cooked header: an EtherType, or 4 for the frames of IEEE 802.2; other small numbers are those of links without IP.
fn cooked(protocol: u16, rest: Part<'_>) -> Result<(Inner, Part<'_>), Passed> {
    let llc = u16::try_from(rest.wire.min(1500)).unwrap_or(1500);
    match protocol {
        4 => Ok((Inner::Type(llc), rest)),
        0..1536 => Err(Passed::NotTcp),
        number => Ok((Inner::Type(number), rest)),
    }
}
