//! Congestion marks that the receiver of the data reports, classic (RFC 3168) or accurate (RFC 9768).
//!
//! With accurate ECN the flags AE, CWR and ECE of a packet are one number: in the handshake a code, and then the low three bits of
//! a count of marked packets, which begins at 5. An acknowledgement of at most seven packets therefore shows how many of them were
//! marked; one of more leaves multiples of eight open.

use serde::Serialize;

use crate::flows::{Flow, Packet};
use crate::packet::Flags;
use crate::side::Side;

/// Packets that arrived with a congestion mark, by the count of accurate ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CongestionMarks {
    /// Marked packets that the acknowledgements report, at least.
    pub packets: u64,
    /// Whether it is their number. Otherwise an acknowledgement of eight packets or more leaves multiples of eight open.
    pub exact: bool,
}

/// The number of AE, CWR and ECE.
fn number(flags: Flags) -> u8 {
    let bit = |flag: u16, value: u8| if flags.has(flag) { value } else { 0 };
    bit(Flags::AE, 4) | bit(Flags::CWR, 2) | bit(Flags::ECE, 1)
}

/// Reader of the marks in the acknowledgements of a connection.
#[derive(Debug)]
pub(crate) enum Feedback {
    Classic,
    /// The flags mean nothing: the handshake agreed on no ECN, or on accurate ECN whose number the path or the host erases.
    None,
    Accurate {
        /// Low bits of the count in the last acknowledgement; `None` before the first one if the capture begins later.
        last: Option<u8>,
        /// Whether the next packet is that after the SYN-ACK, whose number is a code.
        code: bool,
        marks: CongestionMarks,
    },
}

impl Feedback {
    /// First count (RFC 9768, section 3.2.2.1).
    const FIRST: u8 = 5;
    /// Code of a marked SYN or SYN-ACK.
    const MARKED: u8 = 0b110;

    /// The reader for the data of `sender`.
    pub(crate) fn of(flow: &Flow, sender: Side) -> Self {
        let of_kind = |ack: bool| {
            let fits =
                move |packet: &&Packet| packet.flags.has(Flags::SYN) && packet.flags.has(Flags::ACK) == ack;
            flow.packets.iter().filter(fits)
        };
        let answers = || of_kind(true).map(|packet| number(packet.flags));
        let agreed = answers().find(|code| matches!(code, 0b010 | 0b011 | 0b100 | 0b110));
        let offered = of_kind(false).next().map(|packet| number(packet.flags) == 0b111);
        let refused = offered == Some(false) || agreed.is_none() && answers().next().is_some();
        // AE belongs to no packet of classic ECN
        let seen = || {
            let later = flow.packets.iter().filter(|packet| !packet.flags.has(Flags::SYN));
            later.clone().any(|packet| packet.flags.has(Flags::AE))
        };
        if refused || agreed.is_none() && !seen() {
            return if Self::excludes_classic(flow) { Self::None } else { Self::Classic };
        }
        let server_receives = of_kind(true).next().is_some_and(|answer| answer.side != sender);
        let last = agreed.map(|code| Self::FIRST + u8::from(server_receives && code == Self::MARKED));
        let marks = CongestionMarks { packets: 0, exact: agreed.is_some() };
        Self::Accurate { last, code: agreed.is_some() && !server_receives, marks }
    }

    /// Whether the captured part of the handshake shows that classic ECN was not agreed on (RFC 3168, section 6.1.1): a SYN has ECE and
    /// CWR, its answer ECE alone. A SYN that was retransmitted may have given up ECN.
    fn excludes_classic(flow: &Flow) -> bool {
        let syns = |answers: bool| {
            let syns = flow.packets.iter().filter(|packet| packet.flags.has(Flags::SYN));
            syns.filter(move |packet| packet.flags.has(Flags::ACK) == answers).map(|packet| packet.flags)
        };
        let none = |answers: bool, fits: fn(Flags) -> bool| {
            syns(answers).next().is_some() && !syns(answers).any(fits)
        };
        none(false, |flags| flags.has(Flags::ECE) && flags.has(Flags::CWR))
            || none(true, |flags| flags.has(Flags::ECE) && !flags.has(Flags::CWR))
    }

    /// Reads an acknowledgement without SYN that newly reports this many packets; `advances` is false if it is older than
    /// another. Returns whether it reports a mark.
    pub(crate) fn on_ack(&mut self, flags: Flags, advances: bool, packets: u64) -> bool {
        let (last, code, marks) = match self {
            Self::Classic => return flags.has(Flags::ECE),
            Self::Accurate { last, code, marks } if advances => (last, code, marks),
            Self::Accurate { .. } | Self::None => return false,
        };
        let now = number(flags);
        if std::mem::take(code) && packets == 0 {
            if now == 0 {
                *self = Self::None;
                return false;
            }
            // a mark of the SYN-ACK counts, and is none of the data
            *last = Some(Self::FIRST + u8::from(now == Self::MARKED));
            return false;
        }
        let Some(before) = last.replace(now) else { return false };
        let more = now.wrapping_sub(before) & 7;
        marks.packets += u64::from(more);
        marks.exact &= packets < 8;
        more > 0
    }

    /// Marks so far; `None` without a count: classic ECN reports that there are some, and not how many.
    pub(crate) fn marks(&self) -> Option<CongestionMarks> {
        match self {
            Self::Classic | Self::None => None,
            Self::Accurate { marks, .. } => Some(*marks),
        }
    }
}
