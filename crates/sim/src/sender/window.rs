//! Sending what the window, the receiver, the application and the pacer allow.

use super::stamps::REPEATED;
use super::{Port, Repair, Sender};
use crate::packet;
use crate::recovery::rack::Armed;
use firstflight_contract::{Nanos, Rate, Sent, Signals};

/// Segments that Linux sends before it begins to pace, the last of them counting already.
const UNPACED: u64 = 10;

impl Sender {
    /// Sends new data while the window has room, where nothing is out of order: all that was ever sent and not
    /// acknowledged is in flight.
    #[inline(always)]
    pub(super) fn send_in_order(&mut self, now: u64, port: &mut impl Port) {
        debug_assert!(self.orderly && self.nxt == self.max && self.una > 0);
        let end = self.available.min(self.una.saturating_add(self.stack.receive_window.at(self.una)));
        loop {
            let segment = self.nxt;
            if u64::from(segment - self.una + 1) * self.mss + self.elsewhere > self.chain.control.cwnd {
                self.limited = true;
                return;
            }
            if segment >= end {
                self.limited = false;
                return;
            }
            if self.chain.control.pacing != Rate::NONE && self.must_wait(now) {
                self.limited = true;
                return;
            }
            self.nxt = segment + 1;
            self.max = segment + 1;
            if self.timed == u32::MAX && !self.per_packet {
                self.timed = segment;
                self.timed_at = now;
            }
            self.leave(now, segment, false, port);
        }
    }

    /// Sends new data (after a timeout: old data again) while the window has room.
    pub(crate) fn send(&mut self, now: u64, port: &mut impl Port) {
        if self.linux {
            return self.rack_send(now, port);
        }
        self.send_some(now, u32::MAX, port);
    }

    /// The same, at most `burst` segments.
    #[inline(never)]
    pub(crate) fn send_some(&mut self, now: u64, burst: u32, port: &mut impl Port) {
        let mut left = burst;
        let end = self.available.min(self.una.saturating_add(self.stack.receive_window.at(self.una)));
        loop {
            if !self.window_has_room() || left == 0 {
                self.limited = true;
                return;
            }
            if self.nxt >= end {
                self.limited = false;
                return;
            }
            if self.chain.control.pacing != Rate::NONE && self.must_wait(now) {
                self.limited = true;
                return;
            }
            self.send_next(now, port);
            left -= 1;
        }
    }

    /// Whether one more segment fits into the window. A fraction of a segment does not count.
    #[inline]
    fn window_has_room(&self) -> bool {
        // SACKed segments have left the network; without SACK, or in order, there are none.
        let outstanding = u64::from(self.nxt - self.una) + 1;
        let outstanding = if self.orderly { outstanding } else { outstanding - self.left_network() };
        outstanding * self.mss + self.elsewhere <= self.chain.control.cwnd
    }

    #[inline]
    pub(crate) fn left_network(&self) -> u64 {
        // Before a recovery, to send for what was SACKed is limited transmit.
        let waits = self.repair == Repair::Open && !self.stack.limited_transmit;
        let sacked = if self.stack.ns2 || waits { 0 } else { self.board.sacked() };
        u64::from(self.inflation + sacked)
    }

    /// Asks the pacer; if the next segment must wait, arms its timer.
    pub(crate) fn must_wait(&mut self, now: u64) -> bool {
        let control = &self.chain.control;
        let release = self.pacer.release(control.pacing, control.burst.max(self.mss), self.mss).0;
        if release <= now {
            return false;
        }
        self.pace_at = release;
        self.check_at = self.check_at.min(release);
        true
    }

    /// Sends the segment at `nxt`.
    #[inline]
    pub(crate) fn send_next(&mut self, now: u64, port: &mut impl Port) {
        let segment = self.nxt;
        self.nxt = segment + 1;
        let repeated = segment < self.max;
        if !repeated {
            self.max = segment + 1;
            if self.timed == u32::MAX && !self.per_packet {
                self.timed = segment;
                self.timed_at = now;
            }
            if self.una == 0 {
                self.stats.first_flight += 1;
            }
        }
        self.put_on_wire(now, segment, repeated, port);
    }

    /// Puts one segment on the wire.
    #[inline(never)]
    pub(crate) fn put_on_wire(&mut self, now: u64, segment: u32, repeated: bool, port: &mut impl Port) {
        self.leave(now, segment, repeated, port);
    }

    /// The only place where data leaves.
    #[inline(always)]
    pub(crate) fn leave(&mut self, now: u64, segment: u32, repeated: bool, port: &mut impl Port) {
        self.stats.sent += 1;
        self.stats.retransmits += u64::from(repeated);
        self.last_sent_at = now;
        if self.rto_at == u64::MAX {
            self.start_rto(now);
        }
        let mut flags = if self.ends_write(segment) { packet::PUSH_SYN } else { 0 };
        if repeated && self.stack.timestamps {
            flags |= packet::REPEAT;
        }
        if self.per_packet {
            self.stamps.set(now, segment, self.una, if repeated { REPEATED } else { 0 });
        }
        let control = &self.chain.control;
        if self.noted | control.droppable || control.pacing != Rate::NONE {
            return self.leave_noted(now, segment, flags, repeated, port);
        }
        port.transmit(now, segment, (flags, 0), repeated);
    }

    /// The same for a segment that somebody else must know of, or that says something to routers.
    #[inline(never)]
    fn leave_noted(&mut self, now: u64, segment: u32, flags: u64, repeated: bool, port: &mut impl Port) {
        let (more, for_routers) = self.note(now, segment, repeated);
        port.transmit(now, segment, (flags | more, for_routers), repeated);
    }

    /// Whether `segment` is the last of what the application wrote at one time.
    #[inline(always)]
    fn ends_write(&self, segment: u32) -> bool {
        segment + 1 == self.available || self.write_end < self.available && self.app.cut().ends_with(segment)
    }

    #[cold]
    #[inline(never)]
    fn start_rto(&mut self, now: u64) {
        self.rto_at = now + self.rto.timeout();
        self.check_at = self.check_at.min(self.rto_at);
        self.rack.armed = Armed::Timeout;
    }

    /// Whoever else must know of a segment that leaves; returns the flags it leaves with, and what it carries for routers.
    fn note(&mut self, now: u64, segment: u32, repeated: bool) -> (u64, u64) {
        if self.delivery.is_some() {
            self.stamp_delivery(now, segment);
        }
        let mut flags = if self.stack.ecn { self.ecn_flags(repeated) } else { 0 };
        if self.chain.control.droppable && !repeated {
            flags |= packet::DROPPABLE;
        }
        if self.chain.control.pacing != Rate::NONE {
            let (rate, now) = (self.chain.control.pacing, Nanos(now));
            if self.linux {
                self.pacer.on_sent_making_up(now, rate, self.mss, self.stats.sent >= UNPACED);
            } else {
                self.pacer.on_sent(now, rate, self.mss);
            }
        }
        if self.wants_sent {
            self.chain.on_sent(&Sent { now: Nanos(now), bytes: self.mss, mss: self.stack.mss });
        }
        if self.validates() {
            self.validate(now);
        }
        let (kind, carried) = self.header();
        (flags | kind, carried)
    }

    fn ecn_flags(&mut self, repeated: bool) -> u64 {
        // RFC 3168 section 6.1.5: retransmissions are not ECN-capable.
        if repeated {
            return 0;
        }
        let reduced = std::mem::take(&mut self.reduced_for_mark);
        packet::ECT | if reduced { packet::CWR_ECE } else { 0 }
    }

    /// What the schemes of this connection may count on in the simulator.
    pub const OFFERED: Signals = Signals::RTT
        .and(Signals::PACING)
        .and(Signals::SENT)
        .and(Signals::HANDSHAKE)
        .and(Signals::RATE)
        .and(Signals::START_OVER);
}
