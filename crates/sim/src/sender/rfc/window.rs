//! Window of the RFC sender: reports to the schemes, and sending what window, receiver, application and pacer allow.

use super::{LossState, Rfc};
use crate::sender::Port;
use crate::sender::common::AckSample;
use crate::sender::connection::Connection;
use crate::sender::stack::{BYTE_COUNTING, LimitedRule, RecoveryRule};
use crate::sender::stamps::{self, RETRANSMITTED};
use firstflight_contract::{Ack, Rate};

impl Connection<Rfc> {
    /// The short path: an ACK of the next segments while nothing is out of order.
    #[inline(always)]
    pub(super) fn acknowledge_in_order(&mut self, now: u64, ack: u32, port: &mut impl Port) {
        debug_assert!(self.orderly && self.una < ack && ack <= self.max);
        let in_flight = self.nxt - self.una;
        let newly = ack - self.una;
        self.una = ack;
        let rtt = self.measure_rtt(now, ack);
        self.notify_growth(now, (newly, newly), in_flight, rtt, 0);
        self.restart_rto(now);
        if self.una >= self.write_end {
            self.on_written_acked(now);
        }
        self.send_in_order(now, port);
    }

    /// Reports a cumulative ACK to the schemes, of `advanced` segments, and counts those that had not been delivered before.
    pub(crate) fn deliver(
        &mut self,
        now: u64,
        (newly, advanced): (u32, u32),
        in_flight: u32,
        rtt: u64,
        flags: u32,
    ) {
        // Segments that duplicates stood for are no longer in flight, whether this ACK covers them or not.
        let early = advanced - newly + self.own.early;
        self.deliver_counting(now, (newly, advanced), in_flight.saturating_sub(early), rtt, flags);
    }

    /// Reports to the schemes `newly` delivered segments, of which `advanced` may enlarge the window, and counts them.
    #[inline(never)]
    pub(crate) fn deliver_counting(
        &mut self,
        now: u64,
        (newly, advanced): (u32, u32),
        in_flight: u32,
        rtt: u64,
        flags: u32,
    ) {
        // RFC 3168 section 6.1.2: no growth "in response to the receipt of an ECN-Echo ACK packet".
        let advanced = if self.own.echoed { 0 } else { advanced };
        self.notify_growth(now, (newly, advanced), in_flight, rtt, flags);
    }

    #[inline(always)]
    fn notify_growth(
        &mut self,
        now: u64,
        (newly, advanced): (u32, u32),
        in_flight: u32,
        rtt: u64,
        flags: u32,
    ) {
        let counts = self.own.limited || self.stack.rules.limited == LimitedRule::Ignored;
        let counted = if counts { advanced } else { self.used_window(advanced) };
        // One segment is within every stack's limit.
        let growth = if counted <= 1 { counted } else { counted.min(self.growth_limit()) };
        let short =
            if self.una < self.write_end { (0, 0) } else { self.short(newly, advanced, counted, growth) };
        let flags = flags | if self.own.limited { 0 } else { Ack::APP_LIMITED };
        let pipe = in_flight.saturating_sub(newly);
        let sample = AckSample {
            delivered: newly,
            growth,
            short,
            in_flight,
            pipe,
            rtt,
            flags,
            ..AckSample::default()
        };
        let rest = self.notify(now, &sample);
        // RFC 5681 has no rule for the ACK of a segment that ends start-up.
        if growth > 1 && rest > 0 {
            self.notify_rest(now, sample, rest);
        }
    }

    /// Of the `advanced` segments just acknowledged, those that were in flight when the window, and not the application, limited
    /// the sender: the ACKs of a write's last flight count, whatever is queued when they come.
    #[cold]
    #[inline(never)]
    fn used_window(&self, advanced: u32) -> u32 {
        self.own.used_window.saturating_sub(self.una - advanced).min(advanced)
    }

    /// Bytes by which the `newly` delivered segments, and the `growth` of `counted` segments, are short of full ones. RFC 5681
    /// equation (2): "cwnd += min (N, SMSS)", where N is the number of bytes that an ACK acknowledges.
    #[cold]
    #[inline(never)]
    fn short(&self, newly: u32, advanced: u32, counted: u32, growth: u32) -> (u64, u64) {
        if self.stack.rules.whole_packets {
            return (0, 0);
        }
        let from = self.una - advanced;
        let bytes =
            |segments: u32| self.app.bytes_in(from + segments, self.mss) - self.app.bytes_in(from, self.mss);
        let full = |segments: u32| u64::from(segments) * self.mss;
        // Segments that were reported before the cumulative ACK moved were counted as full ones.
        let delivered = if newly == advanced { full(newly) - bytes(newly) } else { 0 };
        (delivered, full(growth) - bytes(counted).min(full(growth)))
    }

    /// Most segments by which an ACK may enlarge the window.
    #[cold]
    #[inline(never)]
    fn growth_limit(&self) -> u32 {
        let control = &self.chain.control;
        match self.stack.growth_per_ack {
            // RFC 3465: `L` bounds slow start only (section 2.2), and is one segment in the slow start that follows a
            // retransmission timeout (section 2.3).
            BYTE_COUNTING if control.cwnd >= control.ssthresh => u32::MAX,
            BYTE_COUNTING if self.own.slow_after_timeout => 1,
            limit => limit,
        }
    }

    /// The RTT sample that an ACK up to `ack` gives, or zero; the timeout learns from it.
    #[inline(always)]
    pub(crate) fn measure_rtt(&mut self, now: u64, ack: u32) -> u64 {
        if self.per_packet {
            return self.stamped_rtt(now, ack);
        }
        if ack > self.own.timed {
            self.own.timed = u32::MAX;
            return self.take_sample(self.own.timed_at, now);
        }
        0
    }

    fn stamped_rtt(&mut self, now: u64, ack: u32) -> u64 {
        let stamp = self.stamps.get(ack - 1);
        // Karn's rule: a segment sent twice gives no sample, and the backing off goes on.
        if stamp & RETRANSMITTED != 0 {
            return 0;
        }
        self.take_sample(stamps::sent(stamp), now)
    }

    /// Sends new data while the window has room, where nothing is out of order: all that was ever sent and not
    /// acknowledged is in flight.
    #[inline(always)]
    pub(super) fn send_in_order(&mut self, now: u64, port: &mut impl Port) {
        debug_assert!(self.orderly && self.nxt == self.max && self.una > 0);
        let (end, from) = (self.available.min(self.window_end()), self.nxt);
        loop {
            let segment = self.nxt;
            if u64::from(segment - self.una + 1) * self.mss + self.own.elsewhere > self.chain.control.cwnd {
                self.own.limited = true;
                return;
            }
            if segment >= end {
                return self.application_limits(from);
            }
            if self.chain.control.pacing != Rate::NONE && self.must_wait(now) {
                return self.pacer_delays(from, end);
            }
            self.nxt = segment + 1;
            self.max = segment + 1;
            if self.own.timed == u32::MAX && !self.per_packet {
                self.own.timed = segment;
                self.own.timed_at = now;
            }
            self.leave(now, segment, false, port);
        }
    }

    /// Sends new data (after a timeout: old data again) while the window has room, at most `burst` segments.
    #[inline(never)]
    pub(crate) fn send_some(&mut self, now: u64, burst: u32, port: &mut impl Port) {
        let mut left = burst;
        let (end, from) = (self.available.min(self.window_end()), self.nxt);
        loop {
            if !self.window_has_room() || left == 0 {
                self.own.limited = true;
                return;
            }
            if self.nxt >= end {
                return self.application_limits(from);
            }
            if self.chain.control.pacing != Rate::NONE && self.must_wait(now) {
                return self.pacer_delays(from, end);
            }
            self.send_next(now, port);
            left -= 1;
        }
    }

    /// An attempt to send, before which `from` was the next segment, has ended at the application's end, or the receiver's.
    #[inline(always)]
    fn application_limits(&mut self, from: u32) {
        if self.own.limited {
            self.own.used_window = from;
            self.own.limited = false;
        }
    }

    /// An attempt to send, before which `from` was the next segment, has ended because the pacer spreads the segments before `end`
    /// in time. The window limits the sender if these segments fill it.
    #[cold]
    #[inline(never)]
    fn pacer_delays(&mut self, from: u32, end: u32) {
        if self.has_room_behind(end) { self.application_limits(from) } else { self.own.limited = true }
    }

    /// Whether one more segment fits into the window.
    #[inline]
    fn window_has_room(&self) -> bool {
        self.has_room_behind(self.nxt)
    }

    /// Whether one more segment than those before `end` fits into the window. A fraction of a segment does not count.
    #[inline]
    fn has_room_behind(&self, end: u32) -> bool {
        // SACKed segments have left the network; without SACK, or in order, there are none.
        let outstanding = u64::from(end - self.una) + 1;
        let outstanding =
            if self.orderly { outstanding } else { outstanding.saturating_sub(self.left_network()) };
        outstanding * self.mss + self.own.elsewhere <= self.chain.control.cwnd
    }

    #[inline]
    pub(crate) fn left_network(&self) -> u64 {
        // Before a recovery, only limited transmit sends for SACKed segments.
        let waits = self.own.loss_state == LossState::Open && !self.stack.limited_transmit;
        let sacked =
            if self.stack.rules.recovery == RecoveryRule::Ns2 || waits { 0 } else { self.own.board.sacked() };
        u64::from(self.own.inflation + sacked)
    }

    /// Sends the segment at `nxt`.
    #[inline]
    pub(crate) fn send_next(&mut self, now: u64, port: &mut impl Port) {
        let segment = self.nxt;
        self.nxt = segment + 1;
        let repeated = segment < self.max;
        if !repeated {
            self.max = segment + 1;
            if self.own.timed == u32::MAX && !self.per_packet {
                self.own.timed = segment;
                self.own.timed_at = now;
            }
            self.count_first_flight();
        }
        self.put_on_wire(now, segment, repeated, port);
    }
}
