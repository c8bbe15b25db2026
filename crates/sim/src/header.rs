//! Encoding of router headers in the two words of a packet.
//!
//! The low word of a data packet has room between size and flags for the kind of header and one time; its
//! high word is free. The words of an ACK hold SACK blocks: an echo replaces the third block, except for a
//! load, which fits beside it.

use firstflight_contract::Load;
use firstflight_net::router::Header;
use firstflight_net::router::quick_start::Request;
use firstflight_net::router::xcp::Congestion;

/// Data, low word: kind of header; zero for none.
pub(crate) const KIND: u64 = 3 << KIND_SHIFT;
const KIND_SHIFT: u32 = 57;
const QUICK_START: u64 = 1 << KIND_SHIFT;
const XCP: u64 = 2 << KIND_SHIFT;
const VCP: u64 = 3 << KIND_SHIFT;

/// Data, low word: round-trip time, microseconds, up to 8 s.
const RTT_SHIFT: u32 = 32;
const RTT_MASK: u64 = (1 << 23) - 1;

/// Data, low word: all bits of a router header.
pub(crate) const MASK: u64 = KIND | RTT_MASK << RTT_SHIFT;

/// ACK, high word: an echo replaces the third SACK block.
pub(crate) const ECHO: u64 = 1 << 63;
const ECHO_SHIFT: u32 = 20;
const ECHO_MASK: u64 = 0xffff_ffff;

/// ACK, high word: a load, above the third SACK block.
const LOAD_SHIFT: u32 = 60;
const LOAD: u64 = 3 << LOAD_SHIFT;

/// High-word bits of an ACK with an echo that still hold SACK blocks.
pub(crate) const BLOCKS_LEFT: u64 = (1 << ECHO_SHIFT) - 1;

/// Router header of a data packet.
pub(crate) fn of_data(low: u64, high: u64) -> Header {
    match low & KIND {
        QUICK_START => Header::QuickStart(request(high as u32)),
        XCP => Header::Xcp(Congestion {
            rtt: (low >> RTT_SHIFT & RTT_MASK) as u32,
            cwnd: f32::from_bits((high >> 32) as u32),
            feedback: f32::from_bits(high as u32),
        }),
        VCP => Header::Vcp(load(high)),
        _ => Header::None,
    }
}

/// Low-word bits and high word of a data packet that carry `header`.
pub(crate) fn words(header: Header) -> (u64, u64) {
    match header {
        Header::None => (0, 0),
        Header::QuickStart(Request { n, hops }) => (QUICK_START, u64::from(n) | u64::from(hops) << 8),
        Header::Xcp(Congestion { rtt, cwnd, feedback }) => (
            XCP | u64::from(rtt).min(RTT_MASK) << RTT_SHIFT,
            u64::from(cwnd.to_bits()) << 32 | u64::from(feedback.to_bits()),
        ),
        Header::Vcp(load) => (VCP, load as u64),
    }
}

/// High word of the ACK that answers a SYN with these words.
pub(crate) fn echo_of_syn(low: u64, high: u64) -> u64 {
    if low & KIND == QUICK_START { ECHO | (high & ECHO_MASK) << ECHO_SHIFT } else { 0 }
}

/// Echo after a data packet with these words. `before` is the previous echo; `pending` means that no ACK has
/// carried it yet.
pub(crate) fn echo_of_data(low: u64, high: u64, before: u64, pending: bool) -> u64 {
    match of_data(low, high) {
        Header::Xcp(header) => {
            let so_far = if pending { feedback(before) } else { 0.0 };
            ECHO | u64::from((so_far + header.feedback).to_bits()) << ECHO_SHIFT
        }
        Header::Vcp(now) => {
            let so_far = if pending { echoed_load(before) } else { Load::Unknown };
            (now.max(so_far) as u64) << LOAD_SHIFT
        }
        Header::QuickStart(_) | Header::None => 0,
    }
}

/// Feedback in the high word of an ACK, bytes on the wire.
pub(crate) fn feedback(high: u64) -> f32 {
    if high & ECHO != 0 { f32::from_bits(echo(high)) } else { 0.0 }
}

/// Load in the high word of an ACK.
pub(crate) fn echoed_load(high: u64) -> Load {
    load((high & LOAD) >> LOAD_SHIFT)
}

fn load(bits: u64) -> Load {
    match bits & 3 {
        1 => Load::Low,
        2 => Load::High,
        3 => Load::Over,
        _ => Load::Unknown,
    }
}

/// Answer to a rate request, in the high word of the ACK of a SYN.
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
    use crate::packet::{DROPPABLE, FLAGS, REPEAT, RETRANSMISSION, SIZE_MASK};

    #[test]
    fn a_request_and_its_answer_survive_encoding() {
        let asked = Header::QuickStart(Request { n: 15, hops: 0 });
        let (low, high) = words(asked);
        assert_eq!(low & (SIZE_MASK | FLAGS | REPEAT), 0);
        assert_eq!(of_data(low | 1040 | FLAGS, high), asked);
        let granted = Request { n: 7, hops: 3 };
        let (low, high) = words(Header::QuickStart(granted));
        assert_eq!(answer(echo_of_syn(low | 40, high)), Some(granted));
    }

    #[test]
    fn a_congestion_header_survives_encoding_beside_size_and_flags() {
        let header = Header::Xcp(Congestion { rtt: 8_388_607, cwnd: 1.5e6, feedback: -7.25 });
        let (low, high) = words(header);
        let flags = FLAGS | REPEAT | RETRANSMISSION | DROPPABLE;
        assert_eq!(low & (SIZE_MASK | flags), 0);
        assert_eq!(of_data(low | 1040 | flags, high), header);
    }

    #[test]
    fn feedback_is_summed_and_load_is_maximised_until_an_ack_carries_it() {
        let (low, high) = words(Header::Xcp(Congestion { rtt: 1, cwnd: 1.0, feedback: 2.5 }));
        let first = echo_of_data(low, high, 0, false);
        let second = echo_of_data(low, high, first, true);
        assert_eq!((feedback(first), feedback(second)), (2.5, 5.0));
        assert_eq!(feedback(echo_of_data(low, high, second, false)), 2.5);
        let words_of = |load| words(Header::Vcp(load));
        let over = echo_of_data(words_of(Load::Over).0, words_of(Load::Over).1, 0, false);
        let both = |pending| echo_of_data(words_of(Load::Low).0, words_of(Load::Low).1, over, pending);
        assert_eq!((echoed_load(both(true)), echoed_load(both(false))), (Load::Over, Load::Low));
    }

    #[test]
    fn a_packet_without_a_request_gets_no_answer() {
        assert_eq!(of_data(40 | FLAGS, 0), Header::None);
        assert_eq!(answer(echo_of_syn(40, 0)), None);
    }
}
