//! Sending: lost data first, then new data, as the window, the receiver, the application and the pacer allow (RFC 9002 section 7).

use super::{Fate, Packet, Quic};
use crate::packet;
use crate::sender::common::Flight;
use crate::sender::connection::Connection;
use crate::sender::stack::{Fill, Pacing, Refill, Repairs};
use crate::sender::stamps::RETRANSMITTED;
use crate::sender::{Port, Segment};
use firstflight_contract::{Moment, Nanos, Rate};

impl Connection<Quic> {
    /// The window, with the least that a stack has.
    fn window(&self) -> u64 {
        self.chain.control.cwnd.max(self.own.rules.least_window * self.mss)
    }

    /// Bytes that may leave: the free part of the window, and what a proportional reduction allows.
    fn free(&self) -> u64 {
        self.window().saturating_sub(self.own.in_flight) + self.own.allowed
    }

    /// Whether the next datagram has room, which is that of a lost segment, or else a new one.
    fn has_room(&self, lost: Option<u32>) -> bool {
        let (free, full) = (self.free(), u64::from(self.own.sizes.full()));
        match self.own.rules.fill {
            Fill::Whole => full <= free,
            Fill::BelowTheEdge => full < free,
            Fill::AcrossTheEdge => free > 0,
            Fill::Cut(least) => {
                let next = self.datagram_of(lost.unwrap_or(self.nxt));
                let needed = if lost.is_some() { next } else { next.min(least) };
                u64::from(needed) <= free
            }
        }
    }

    /// Cuts the next new datagram where the application's write ends.
    fn cut_to_the_write(&mut self) {
        let (next, Some(write)) = (self.nxt, self.own.rules.write) else { return };
        if self.carries_data(next) {
            let (from, until) = (self.app.bytes_in(next, 0), self.app.bytes_in(next + 1, 0));
            let left = u64::from(write) - from % u64::from(write);
            if from + left < until {
                self.cut_to(next, left as u32 + self.own.rules.overhead_at(from));
            }
        }
    }

    /// Cuts the next new datagram to what may leave.
    fn cut_to_the_edge(&mut self) {
        let (next, free) = (self.nxt, self.free());
        if matches!(self.own.rules.fill, Fill::Cut(_)) && u64::from(self.datagram_of(next)) > free {
            self.cut_to(next, free as u32);
        }
    }

    /// Whether the receiver and the stack's buffer have room for the next new segment.
    fn is_wanted(&self) -> bool {
        if self.nxt >= self.available {
            return false;
        }
        if !self.carries_data(self.nxt) {
            return true;
        }
        let bytes_in = |segments: u32| self.app.bytes_in(segments, 0);
        let beyond = bytes_in(self.nxt + 1) - bytes_in(self.una);
        let offered = u64::from(self.receive_window.at(self.una)).saturating_mul(self.stack.mss.into());
        beyond <= offered.min(self.stack.send_buffer.unwrap_or(u64::MAX))
    }

    /// Whether a pacer counts a segment: one that goes in steps passes datagrams without data.
    fn is_paced(&self, refill: Refill, segment: u32) -> bool {
        !matches!(refill, Refill::Steps { .. }) || self.carries_data(segment)
    }

    /// Whether the pacer holds the next packet back. If so, its timer is set.
    fn is_held_back(&mut self, now: u64) -> bool {
        let rule = match self.stack.rules.pacing {
            Pacing::Tokens(rule) => rule,
            Pacing::Rates => return self.chain.control.pacing != Rate::NONE && self.must_wait(now),
            _ => return false,
        };
        if !self.is_paced(rule.refill, self.nxt) {
            return false;
        }
        let control = &self.chain.control;
        let (window, in_slow_start) = (control.cwnd, control.cwnd < control.ssthresh);
        let (full, srtt) = (self.own.sizes.full().into(), self.rto.srtt().max(1));
        let Some(at) = self.own.bucket.wait(now, full, window, srtt, in_slow_start, rule) else {
            return false;
        };
        self.pace_at = at;
        self.check_at = self.check_at.min(at);
        true
    }

    pub(super) fn send_lost_and_new(&mut self, now: u64, port: &mut impl Port) {
        (self.own.blocked, self.own.full) = (false, false);
        loop {
            self.cut_to_the_write();
            let (mut lost, wanted) = (self.own.lost.first().copied(), self.is_wanted());
            if wanted && self.own.rules.repairs == Repairs::Last {
                lost = None;
            }
            if lost.is_none() && !wanted {
                break;
            }
            let due = self.own.probes > 0;
            if !due {
                self.own.full = !self.has_room(lost);
                self.own.blocked = self.own.full || self.is_held_back(now);
            }
            if self.own.blocked {
                break;
            }
            self.own.probes -= u32::from(due);
            match lost {
                Some(segment) => {
                    self.own.lost.remove(&segment);
                    self.depart(now, segment, true, port);
                }
                None => {
                    if !due {
                        self.cut_to_the_edge();
                    }
                    self.send_next(now, port);
                }
            }
        }
        self.send_probe(now, port);
        if let Pacing::Tokens(rule) = self.stack.rules.pacing {
            let (window, srtt) = (self.chain.control.cwnd, self.rto.srtt());
            let in_slow_start = window < self.chain.control.ssthresh;
            self.own.bucket.end_burst(now, window, srtt, in_slow_start, rule);
        }
    }

    /// The next new segment.
    pub(super) fn send_next(&mut self, now: u64, port: &mut impl Port) {
        let segment = self.nxt;
        self.nxt = segment + 1;
        self.max = segment + 1;
        if self.carries_data(segment) {
            self.count_first_flight();
        }
        self.depart(now, segment, false, port);
    }

    /// The only place where a packet leaves.
    pub(super) fn depart(&mut self, now: u64, segment: u32, repeated: bool, port: &mut impl Port) {
        let bytes = self.datagram_of(segment);
        self.stats.sent += 1;
        self.stats.retransmits += u64::from(repeated);
        self.last_sent_at = Moment::at(Nanos(now));
        let mut flags = packet::control(!self.carries_data(segment));
        if segment + 1 == self.available || segment + 1 == self.write_end {
            flags |= packet::PUSH_SYN;
        }
        if repeated {
            flags |= packet::RETRANSMISSION | packet::REPEAT;
        }
        let una = self.una;
        self.stamps.set(now, segment, una, if repeated { RETRANSMITTED } else { 0 });
        let number = self.own.next();
        self.own.newest.put(segment, una, number);
        let nothing_out = self.own.in_flight == 0;
        let stamp = self.own.sampler.as_mut().map(|sampler| sampler.on_sent(Nanos(now), nothing_out));
        let stamp = stamp.unwrap_or_default();
        self.own.in_flight += u64::from(bytes);
        let flight = Flight { lost: self.lost, in_flight: self.own.in_flight };
        self.own.packets.push_back(Packet { segment, bytes, at: now, fate: Fate::Out, stamp, flight });
        if self.stack.rules.pacing == Pacing::Rates {
            let rate = self.chain.control.pacing;
            self.pacer.on_sent(Nanos(now), rate, bytes.into());
        }
        self.own.prr.on_sent(bytes.into());
        self.own.allowed = self.own.allowed.saturating_sub(bytes.into());
        self.sent_bytes += u64::from(bytes);
        self.repeated_bytes += if repeated { u64::from(bytes) } else { 0 };
        if let Pacing::Tokens(rule) = self.stack.rules.pacing
            && self.is_paced(rule.refill, segment)
        {
            self.own.bucket.take(bytes.into());
        }
        let words = match self.notes_departures() {
            true => {
                let (more, carried) = self.note(now, segment, repeated);
                (flags | more, carried)
            }
            false => (flags, 0),
        };
        let data = if self.carries_data(segment) { self.app.segmentation().bytes(segment, 0) } else { 0 };
        port.transmit(now, Segment { number: segment, bytes, data }, words, repeated);
        self.set_probe_timer(now);
    }
}
