//! ACKs of the RFC sender that are not simply the next, and the parts that all its kinds of recovery share.

use super::{LossState, Rfc};
use crate::sender::connection::{Connection, SenderKind};
use crate::sender::stack::{MarkRule, Recovery, RecoveryRule};
use crate::sender::{AckIn, Port};
use firstflight_contract::{Ack, Congestion, Nanos, Trigger};

impl Connection<Rfc> {
    /// Any ACK of an open connection that the short path does not take.
    pub(super) fn on_ack_out_of_order(&mut self, now: u64, ack: AckIn, port: &mut impl Port) {
        if ack.seq < self.una {
            return;
        }
        if ack.echoes_mark() {
            self.on_mark(now, ack.seq);
        }
        // From here on SACKed segments count, including those that this ACK reports.
        self.orderly = false;
        if self.chain.control.provisional && self.is_partial(ack.seq) {
            self.give_up(now, ack.seq, port);
        } else if self.stack.rules.recovery == RecoveryRule::Ns2 {
            self.ns2_on_ack(now, &ack, port);
        } else if self.stack.recovery.is_selective() {
            self.sack_on_ack(now, &ack, port);
        } else if ack.seq > self.una {
            match (self.own.loss_state, self.stack.recovery) {
                (LossState::Recovery, Recovery::NewReno) if ack.seq < self.own.recover => {
                    self.partial_ack(now, ack.seq, port);
                }
                _ => self.new_ack(now, ack.seq, port),
            }
        } else if self.max > self.una {
            self.duplicate_ack(now, port);
        }
        self.own.echoed = false;
        let in_order = self.own.loss_state == LossState::Open
            && self.own.dup_acks == 0
            && self.own.early == 0
            && self.own.inflation == 0
            && self.own.board.sacked() == 0
            && self.nxt == self.max
            && !self.own.after_timeout;
        if in_order {
            self.own.board.forget_blocks();
        }
        self.orderly = in_order && self.has_short_path;
    }

    /// Whether an ACK up to `ack` is partial: it acknowledges something new, but not all that was outstanding when
    /// recovery began. Reno has no partial ACKs.
    fn is_partial(&self, ack: u32) -> bool {
        let recovering = self.own.loss_state == LossState::Recovery && self.stack.recovery != Recovery::Reno;
        recovering && self.una < ack && ack < self.own.recover
    }

    /// A partial ACK while the window is provisional: more than one segment is lost, and the sender starts over.
    fn give_up(&mut self, now: u64, ack: u32, port: &mut impl Port) {
        let (in_flight, advanced) = (self.flight(), ack - self.una);
        let (_, newly) = self.move_una(now, ack);
        self.deliver(now, (newly, advanced), in_flight, 0, Ack::RECOVERY);
        self.start_over(now, false, port);
    }

    /// Moves the cumulative ACK; returns the RTT sample and the number of segments that had not been reported before.
    pub(super) fn move_una(&mut self, now: u64, ack: u32) -> (u64, u32) {
        let rtt = self.measure_rtt(now, ack);
        self.own.after_timeout = false;
        (rtt, self.advance_silently(ack))
    }

    /// A new ACK outside recovery, or one that ends it.
    pub(super) fn new_ack(&mut self, now: u64, ack: u32, port: &mut impl Port) {
        let (in_flight, advanced) = (self.flight(), ack - self.una);
        let (rtt, newly) = self.move_una(now, ack);
        let ended = self.own.loss_state == LossState::Recovery;
        self.own.dup_acks = 0;
        self.own.inflation = 0;
        self.own.partial_seen = false;
        if ended {
            self.end_recovery();
        } else if self.own.loss_state == LossState::Loss && self.una >= self.own.recover {
            self.own.loss_state = LossState::Open;
        }
        // RFC 5681 and 6582 deflate the window with the ACK that ends recovery and do not grow it; ns-2 does both.
        let flags = if ended && self.stack.rules.recovery == RecoveryRule::Rfc { Ack::RECOVERY } else { 0 };
        self.deliver(now, (newly, advanced), in_flight, rtt, flags);
        self.restart_rto(now);
        if self.una >= self.write_end {
            self.on_written_acked(now);
        }
        self.send(now, port);
    }

    fn end_recovery(&mut self) {
        self.own.loss_state = LossState::Open;
        if self.stack.recovery == Recovery::NewReno && self.stack.rules.recovery == RecoveryRule::Rfc {
            // RFC 6582 section 3.2 step 3 (1): "Set cwnd to min (ssthresh, max(FlightSize, SMSS) + SMSS)".
            let flight = u64::from(self.max - self.una).max(1) + 1;
            let control = &mut self.common.chain.control;
            control.cwnd = control.ssthresh.min(flight * self.common.mss);
        }
    }

    /// A loss was found: the schemes reduce the window, unless a mark of the same window has done so.
    pub(super) fn enter_recovery(&mut self, now: u64) {
        let reduced = self.is_reduced_for_mark();
        // ns-2 keeps the end of the marked window.
        if !(reduced && self.stack.rules.marks == MarkRule::Ns2) {
            self.own.recover = self.max;
        }
        self.own.loss_state = LossState::Recovery;
        self.own.timed = u32::MAX;
        if reduced {
            self.own.reduced_for = Some(Trigger::Loss);
        } else {
            self.report(now, Trigger::Loss);
        }
        self.restart_rto(now);
    }

    /// RFC 3168 section 6.1.2: one reduction "in response to a series of dropped and/or CE packets from a single window of data".
    pub(super) fn is_reduced_for_mark(&self) -> bool {
        let window_is_open = if self.stack.rules.marks == MarkRule::Ns2 {
            self.una <= self.own.recover
        } else {
            self.own.marks.is_open(self.una.into())
        };
        self.own.reduced_for == Some(Trigger::Mark) && window_is_open
    }

    pub(crate) fn report_timeout(&mut self, now: u64) {
        self.report(now, Trigger::Timeout);
    }

    fn report(&mut self, now: u64, trigger: Trigger) {
        let flight = u64::from(self.flight());
        let inflated = self.chain.control.cwnd + u64::from(self.own.inflation) * self.mss;
        let base = if self.stack.rules.decrease_from_window {
            inflated.min(u64::from(self.receive_window.limit).saturating_mul(self.mss))
        } else if self.own.dup_acks > 0 {
            // RFC 5681 section 3.2 step 2: segments of limited transmit "MUST NOT be included in this calculation".
            flight.min(self.own.flight_at_dup.into()) * self.mss
        } else {
            flight * self.mss
        };
        self.stats.episodes += 1;
        self.own.reduced_for = Some(trigger);
        // RFC 3168 section 6.1.2: CWR after a reduction "for any reason".
        self.reduced = true;
        self.common.chain.on_congestion(&Congestion {
            now: Nanos(now),
            in_flight: flight * self.common.mss,
            base: base.max(1),
            lost: self.common.lost * self.common.mss,
            min_rtt: Nanos(self.known_min_rtt()),
            trigger,
            mss: self.common.stack.mss,
        });
        self.note_startup_exit();
        if self.stack.rules.whole_packets {
            let control = &mut self.common.chain.control;
            control.ssthresh = (control.ssthresh / self.common.mss).max(2) * self.common.mss;
        }
    }

    /// An ACK up to `ack` echoes a mark. RFC 3168 section 6.1.2: the ACK does not enlarge the window; one reduction a round trip, none
    /// during loss recovery.
    fn on_mark(&mut self, now: u64, ack: u32) {
        // After a timeout the ACKs echo it until new data carries CWR, which waits for all retransmissions. In ns-2 these carry CWR.
        self.own.echoed = self.stack.rules.marks == MarkRule::Ns2 || self.own.loss_state != LossState::Loss;
        let begins = if self.stack.rules.marks == MarkRule::Ns2 {
            self.ns2_begins_marked_window(ack)
        } else {
            self.own.loss_state == LossState::Open && self.own.marks.begin(self.una.into(), self.max.into())
        };
        if begins {
            self.report(now, Trigger::Mark);
        }
    }
}
