//! A connection of one kind of sender: the state that all kinds share, the state of this kind, and the events of both.
//!
//! A kind is a type of state, [`super::rfc::Rfc`] or [`super::linux::Linux`]. Its [`SenderKind`] defines the processing of
//! ACKs, loss detection and recovery, sending, and the retransmission timer. Handshake,
//! application, pacing, timers and the departure of a segment are here and in the files of this folder, once for all kinds.

use super::common::Common;
use super::info::Status;
use super::stack::MarkRule;
use super::stamps::RETRANSMITTED;
use super::{AckIn, Port, Segment};
use crate::packet;
use core::ops::{Deref, DerefMut};
use firstflight_contract::{Moment, Nanos, Rate, Sent, Signals};

/// One connection's sending end, of one kind.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Connection<K> {
    pub(crate) common: Common,
    /// The state of this kind of sender.
    pub(crate) own: K,
}

impl<K> Deref for Connection<K> {
    type Target = Common;

    #[inline(always)]
    fn deref(&self) -> &Common {
        &self.common
    }
}

impl<K> DerefMut for Connection<K> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Common {
        &mut self.common
    }
}

/// The processing in which one kind of sender differs from another.
pub(crate) trait SenderKind {
    /// Signals for schemes that this kind offers.
    const OFFERED: Signals;

    /// An ACK of the next segments, while nothing is out of order: the short path.
    fn on_next_ack(&mut self, now: u64, ack: u32, port: &mut impl Port);

    /// Any other ACK of an open connection.
    fn on_other_ack(&mut self, now: u64, ack: AckIn, port: &mut impl Port);

    /// Sends as the window, the receiver, the application and the pacer allow.
    fn send(&mut self, now: u64, port: &mut impl Port);

    /// The retransmission timer of an open connection fired.
    fn on_retransmission_timer(&mut self, now: u64, port: &mut impl Port);

    /// The retransmission timer was started because a segment left while it was stopped.
    fn on_timer_started(&mut self) {}

    /// A segment sent at `sent` was acknowledged at `now`: the timeout takes the sample.
    fn take_rtt(&mut self, sent: u64, now: u64);

    /// A segment leaves under a pacing rate.
    fn pace(&mut self, now: u64);

    /// A segment leaves that is noted: the kind keeps its measurements.
    fn on_noted_departure(&mut self, now: u64, segment: u32);

    /// The application begins: the SYN leaves, or the connection opens without one.
    fn on_begin(&mut self, _now: u64) {}

    /// The window may be used from `now` on: the connection is open, or data leaves with its SYN.
    fn on_window(&mut self, now: u64);

    /// The schemes have begun.
    fn on_start_up(&mut self) {}

    /// The application writes.
    fn on_write(&mut self) {}

    /// Sending resumes with nothing in flight. Returns false where the window is not this connection's alone.
    fn resume(&mut self) -> bool {
        true
    }

    /// Sending resumes after an idle time longer than the timeout: the window shrinks.
    fn shrink_after_idle(&mut self, now: u64, idle: u64);

    /// No segment is timed any more: the connection opens with an RTT of its own.
    fn discard_timed_segment(&mut self) {}

    /// The first segment leaves with the SYN.
    fn send_opening(&mut self, now: u64, port: &mut impl Port);

    /// The SYN with data was not answered: all that was sent counts for nothing.
    fn forget_opening(&mut self) {}

    /// The connection is open after such a SYN: the data of the SYN is retransmitted.
    fn retransmit_opening(&mut self, now: u64, port: &mut impl Port);

    /// Whether an ACK without news changes the peer's window from `old` to `new` bytes.
    fn is_window_update(&self, old: u64, new: u64) -> bool;

    /// An ACK came that only changes the window: RFC 5681 section 2 does not count it as a duplicate.
    fn on_window_update(&mut self, now: u64, port: &mut impl Port);

    /// The peer's window is `segments` from now on, and `part` bytes of the segment after them.
    fn on_window_set(&mut self, _segments: u32, _part: u32) {}

    /// A tool drives this sender from outside, event by event.
    fn become_driven(&mut self) {}

    /// The registers that tools ask for.
    fn status(&self) -> Status;
}

impl<K> Connection<K>
where
    Self: SenderKind,
{
    /// An ACK arrives at `now`. Timers due before it fire first, at their own times.
    pub(super) fn on_ack(&mut self, now: u64, mut ack: AckIn, port: &mut impl Port) {
        if now >= self.check_at {
            self.advance(now, port);
        }
        if self.expects(now, &ack) {
            return self.on_next_ack(now, ack.seq, port);
        }
        self.receive_feedback(&mut ack);
        let delivered = self.delivered;
        self.on_unexpected_ack(now, ack, port);
        self.note_window();
        if self.delivered > delivered {
            // The schemes have had the feedback.
            self.routers.feedback = 0;
        }
    }

    /// Any ACK the short path does not take.
    #[inline(never)]
    fn on_unexpected_ack(&mut self, now: u64, ack: AckIn, port: &mut impl Port) {
        if self.opening {
            return self.on_opened(now, ack, port);
        }
        if ack.seq > self.max {
            return;
        }
        if self.established {
            self.answered = true;
            return self.on_other_ack(now, ack, port);
        }
        if ack.seq > 0 {
            self.on_opened_late(now, ack, port);
        }
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
        self.last_sent_at = Moment::at(Nanos(now));
        if self.rto_at == u64::MAX {
            self.start_rto(now);
        }
        let (mut flags, mut bytes) = (0, self.stack.mss);
        if self.ends_write(segment) {
            flags = packet::PUSH_SYN;
            bytes = self.app.segmentation().bytes(segment, bytes);
        }
        if repeated {
            flags |= packet::RETRANSMISSION | if self.stack.rules.timestamps { packet::REPEAT } else { 0 };
        }
        if self.per_packet {
            let una = self.una;
            self.stamps.set(now, segment, una, if repeated { RETRANSMITTED } else { 0 });
        }
        if self.notes_departures() {
            return self.leave_noted(
                now,
                Segment { number: segment, bytes, data: bytes },
                flags,
                repeated,
                port,
            );
        }
        port.transmit(now, Segment { number: segment, bytes, data: bytes }, (flags, 0), repeated);
    }

    #[cold]
    #[inline(never)]
    fn start_rto(&mut self, now: u64) {
        self.rto_at = now + self.rto.timeout();
        self.check_at = self.check_at.min(self.rto_at);
        self.on_timer_started();
    }

    /// A segment leaves that a pacer, a sampler, a scheme or a router needs.
    #[inline(never)]
    fn leave_noted(&mut self, now: u64, segment: Segment, flags: u64, repeated: bool, port: &mut impl Port) {
        let (more, for_routers) = self.note(now, segment.number, repeated);
        port.transmit(now, segment, (flags | more, for_routers), repeated);
    }

    /// Notes a segment that leaves; returns its further flags, and the word that it carries for routers.
    pub(super) fn note(&mut self, now: u64, segment: u32, repeated: bool) -> (u64, u64) {
        let mut flags = if self.stack.ecn { self.ecn_flags(repeated) } else { 0 };
        if self.chain.control.droppable && !repeated {
            flags |= packet::DROPPABLE;
        }
        if self.chain.control.pacing != Rate::NONE {
            self.pace(now);
        }
        if self.wants_sent {
            let sent = Sent { now: Nanos(now), bytes: self.mss, mss: self.stack.mss };
            self.chain.on_sent(&sent);
        }
        self.on_noted_departure(now, segment);
        let (kind, carried) = self.header();
        (flags | kind, carried)
    }

    fn ecn_flags(&mut self, repeated: bool) -> u64 {
        // RFC 3168 section 6.1.5: retransmissions are not ECN-capable. In ns-2 they are, and carry CWR (`SetCWRonRetransmit_`).
        if repeated && self.stack.rules.marks == MarkRule::Rfc3168 {
            return 0;
        }
        let reduced = std::mem::take(&mut self.reduced);
        packet::ECT | if reduced { packet::CWR_ECE } else { 0 }
    }

    /// An RTT sample: the handshake's, or that of a segment sent once.
    #[inline(never)]
    pub(crate) fn take_sample(&mut self, sent: u64, now: u64) -> u64 {
        self.take_rtt(sent, now);
        self.min_rtt = self.min_rtt.min(now - sent);
        now - sent
    }
}

impl Common {
    /// Whether this ACK takes the short path: it acknowledges the next segments, nothing is out of order and no timer is due
    /// before it.
    #[inline(always)]
    pub(crate) fn expects(&self, now: u64, ack: &AckIn) -> bool {
        now < self.check_at && self.orderly && ack.low == 0 && ack.seq > self.una && ack.seq <= self.max
    }
}
