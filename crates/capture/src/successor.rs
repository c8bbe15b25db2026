//! The connection that follows another one between the same ports.
//!
//! A SYN with another number than the connection's opens the next one only if it is answered and its numbers are used. A stray one, of a
//! scanner or an old duplicate, changes nothing (RFC 9293, section 3.10.7.4; RFC 5961, section 4).

use firstflight_contract::Nanos;

use crate::packet::{Flags, TcpPacket};
use crate::tap::Tap;

/// Packets of one end that are held back at most: a SYN with its repetitions.
const MOST: usize = 3;

/// A packet with the time and the place of its capture.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) at: Nanos,
    pub(crate) packet: TcpPacket,
    pub(crate) tap: Tap,
}

/// Connection that a packet belongs to.
#[derive(Debug)]
pub(crate) enum Owner {
    /// The one that is known.
    Own,
    /// Not known yet: the packet is held back.
    Held,
    /// The next one, which began with these packets.
    Next(Vec<Arrival>),
}

/// SYNs that may open the next connection, and their answers.
#[derive(Debug, Default)]
pub(crate) struct Successor {
    held: Vec<Arrival>,
    odd: OddSyns,
}

/// SYNs that are no connection's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OddSyns {
    /// Those that open a connection.
    pub(crate) opening: u64,
    /// Those that answer one.
    pub(crate) answers: u64,
}

impl OddSyns {
    pub(crate) fn count(&mut self, flags: Flags) {
        *if flags.has(Flags::ACK) { &mut self.answers } else { &mut self.opening } += 1;
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.opening += other.opening;
        self.answers += other.answers;
    }
}

impl Successor {
    /// Holds a SYN with another number than the connection's. The latest one counts.
    pub(crate) fn open(&mut self, arrival: Arrival) {
        let syn = arrival.packet.seq;
        let own = |held: &Arrival| held.packet.from == arrival.packet.from && held.packet.seq == syn;
        if !self.held.first().is_some_and(own) {
            self.give_up();
        }
        self.hold(arrival);
    }

    fn hold(&mut self, arrival: Arrival) {
        match self.held.iter().filter(|held| held.packet.from == arrival.packet.from).count() {
            ..MOST => self.held.push(arrival),
            _ => self.odd.count(arrival.packet.flags),
        }
    }

    /// Connection of a packet that opens none. `is_near` answers whether a number of the sender of the SYN may be the known
    /// connection's.
    pub(crate) fn place(
        &mut self,
        arrival: impl FnOnce() -> Arrival,
        packet: &TcpPacket,
        is_near: impl Fn(u32) -> bool,
    ) -> Owner {
        let Some(Arrival { packet: syn, .. }) = self.held.first() else { return Owner::Own };
        let first = syn.seq.wrapping_add(1);
        let has_ack = packet.flags.has(Flags::ACK);
        // Data in a SYN is taken in whole, in part or not at all.
        let within = |number: u32| number.wrapping_sub(first) <= syn.payload;
        let answers =
            || self.held.iter().filter(|held| held.packet.from != syn.from).map(|held| &held.packet);
        let answered = answers().next().is_some();
        let follows = if packet.from != syn.from {
            if !has_ack || !within(packet.ack) {
                return Owner::Own;
            }
            if packet.flags.has(Flags::SYN) {
                self.hold(arrival());
                return Owner::Held;
            }
            answers().any(|answer| packet.seq.wrapping_sub(answer.seq).wrapping_sub(1) <= u32::from(u16::MAX))
        } else {
            let acknowledges = |answer: &TcpPacket| {
                packet.ack.wrapping_sub(answer.seq).wrapping_sub(1) <= u32::from(u16::MAX)
            };
            if packet.flags.has(Flags::SYN) || !has_ack || !within(packet.seq) {
                return Owner::Own;
            }
            answers().any(acknowledges)
        };
        // Without the answer the numbers alone show it.
        if follows || !answered && !is_near(first) {
            Owner::Next(std::mem::take(&mut self.held))
        } else {
            Owner::Own
        }
    }

    /// No packet used the numbers of what is held.
    fn give_up(&mut self) {
        for held in self.held.drain(..) {
            self.odd.count(held.packet.flags);
        }
    }

    /// SYNs that were no connection's, at its end.
    pub(crate) fn end(&mut self) -> OddSyns {
        self.give_up();
        std::mem::take(&mut self.odd)
    }
}
