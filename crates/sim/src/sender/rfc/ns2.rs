//! Tahoe, Reno and NewReno as ns-2 has them (`tcp.cc`, `tcp-reno.cc`, `tcp-newreno.cc` of ns-2.35): the rules of
//! `RecoveryRule::Ns2` and `MarkRule::Ns2`. `docs/validation.md` compares the outcome with ns-2's own.

use super::{DUP_THRESH, LossState, Rfc};
use crate::sender::connection::Connection;
use crate::sender::stack::Recovery;
use crate::sender::{AckIn, Port};
use firstflight_contract::{Ack, Nanos, Trigger};

impl Connection<Rfc> {
    /// Any ACK the short path does not take.
    pub(super) fn ns2_on_ack(&mut self, now: u64, ack: &AckIn, port: &mut impl Port) {
        let recovering = self.own.loss_state == LossState::Recovery && ack.seq < self.own.recover;
        match self.stack.recovery {
            Recovery::Sack => self.sack1_on_ack(now, ack, port),
            Recovery::Rack { .. } => unreachable!("Linux's recovery takes every ACK itself"),
            Recovery::NewReno if ack.seq > self.una && recovering => self.ns2_partial_ack(now, ack.seq, port),
            _ if ack.seq > self.una => self.new_ack(now, ack.seq, port),
            _ if self.max > self.una => self.ns2_duplicate_ack(now, port),
            _ => {}
        }
    }

    fn ns2_duplicate_ack(&mut self, now: u64, port: &mut impl Port) {
        let tahoe = self.stack.recovery == Recovery::Tahoe;
        self.deliver_early(now);
        self.own.dup_acks += 1;
        if self.own.dup_acks < DUP_THRESH {
            self.limited_transmit(now, port);
            if !tahoe {
                return;
            }
        } else if self.own.dup_acks == DUP_THRESH && self.ns2_may_retransmit() {
            self.enter_recovery(now);
            self.lost += 1;
            if tahoe {
                self.chain.lose_window(Nanos(now));
                self.nxt = self.una;
                self.own.loss_state = LossState::Loss;
            } else {
                self.put_on_wire(now, self.una, true, port);
                self.own.inflation = DUP_THRESH;
            }
        } else if self.own.loss_state == LossState::Recovery {
            self.own.inflation += 1;
        }
        self.send_some(now, self.ns2_burst(), port);
    }

    /// `bugFix_` and `bugfix_ss_`: no second fast retransmit for losses of one window, whether the first recovery began with
    /// a fast retransmit or a timeout. There is also none before the first acknowledgement. A window that a mark reduced has
    /// one, and `enter_recovery` reduces nothing then.
    pub(super) fn ns2_may_retransmit(&self) -> bool {
        self.una > self.own.recover || self.una == 1 || self.is_reduced_for_mark()
    }

    /// `ecn()`: a mark reduces the window unless a reduction for the same window did, and always after a timeout. It shares
    /// `recover_` with the losses.
    pub(super) fn ns2_begins_marked_window(&mut self, ack: u32) -> bool {
        let begins = ack > self.own.recover || self.own.reduced_for == Some(Trigger::Timeout);
        if begins {
            self.own.recover = self.max;
        }
        begins
    }

    /// NewReno sends at most two segments for an ACK while it counts duplicates.
    fn ns2_burst(&self) -> u32 {
        if self.stack.recovery == Recovery::NewReno { 2 } else { u32::MAX }
    }

    /// RFC 6582's partial ACK, save that it gives no RTT sample and the window is not cut back at the end.
    fn ns2_partial_ack(&mut self, now: u64, ack: u32, port: &mut impl Port) {
        self.restart_rto_partially(now);
        let (in_flight, advanced) = (self.flight(), ack - self.una);
        let newly = self.advance_silently(ack);
        if ack > self.own.timed {
            self.own.timed = u32::MAX;
            self.rto.end_back_off();
        }
        self.deflate(advanced);
        self.deliver(now, (newly, advanced), in_flight, 0, Ack::RECOVERY);
        self.lost += 1;
        self.put_on_wire(now, self.una, true, port);
        self.send_some(now, self.ns2_burst(), port);
    }

    /// Moves the cumulative ACK without an RTT sample; returns the number of segments that had not been reported before.
    pub(super) fn advance_silently(&mut self, ack: u32) -> u32 {
        let known = self.own.board.advance(self.una, ack);
        let newly = ack - self.una - known;
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        self.without_early(newly)
    }
}
