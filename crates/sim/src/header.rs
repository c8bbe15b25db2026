//! Where a packet's two words carry what is for the routers, and an ACK's what they said.
//!
//! A data packet's low word has room between its size and its flags for the header's kind, and its high word is free. An
//! ACK's words hold SACK blocks: an echo takes the place of the third.

use firstflight_net::router::Header;
use firstflight_net::router::quick_start::Request;

/// Data: which header it carries, none where no bit is set. In the low word.
pub(crate) const KIND: u64 = 3 << KIND_SHIFT;
const KIND_SHIFT: u32 = 57;
const QUICK_START: u64 = 1 << KIND_SHIFT;

/// Data: all bits of the low word that belong to a header.
pub(crate) const MASK: u64 = KIND;

/// ACK: the bits of the third SACK block are an echo. In the high word.
pub(crate) const ECHO: u64 = 1 << 63;
const ECHO_SHIFT: u32 = 20;
const ECHO_MASK: u64 = 0xffff_ffff;

/// The header of a data packet.
pub(crate) fn of_data(low: u64, high: u64) -> Header {
    match low & KIND {
        QUICK_START => Header::QuickStart(request(high as u32)),
        _ => Header::None,
    }
}

/// The bits of a data packet's low word, and its high word, that carry `header`.
pub(crate) fn words(header: Header) -> (u64, u64) {
    match header {
        Header::None => (0, 0),
        Header::QuickStart(Request { n, hops }) => (QUICK_START, u64::from(n) | u64::from(hops) << 8),
    }
}

/// The high word of the ACK that answers an opening packet with these words.
pub(crate) fn echo_of_syn(low: u64, high: u64) -> u64 {
    if low & KIND == QUICK_START { ECHO | (high & ECHO_MASK) << ECHO_SHIFT } else { 0 }
}

/// The answer to a request in the high word of the ACK of an opening packet.
pub(crate) fn answer(high: u64) -> Option<Request> {
    (high & ECHO != 0).then(|| request(echo(high)))
}

fn echo(high: u64) -> u32 {
    (high >> ECHO_SHIFT & ECHO_MASK) as u32
}

fn request(bits: u32) -> Request {
    Request { n: bits as u8, hops: (bits >> 8) as u8 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FLAGS, REPEAT, SIZE_MASK};

    #[test]
    fn a_request_reaches_the_routers_and_its_answer_the_sender() {
        let asked = Header::QuickStart(Request { n: 15, hops: 0 });
        let (low, high) = words(asked);
        assert_eq!(low & (SIZE_MASK | FLAGS | REPEAT), 0);
        assert_eq!(of_data(low | 1040 | FLAGS, high), asked);
        let granted = Request { n: 7, hops: 3 };
        let (low, high) = words(Header::QuickStart(granted));
        assert_eq!(answer(echo_of_syn(low | 40, high)), Some(granted));
    }

    #[test]
    fn a_packet_without_a_request_is_answered_with_none() {
        assert_eq!(of_data(40 | FLAGS, 0), Header::None);
        assert_eq!(answer(echo_of_syn(40, 0)), None);
    }
}
