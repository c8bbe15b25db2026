//! ns-2's Sack1 (`tcp-sack1.cc`, `scoreboard-rq.cc`): a pipe that ACKs count down. A hole is retransmitted as soon as
//! anything above it has arrived, the lowest hole first, and at most once in a recovery.

use super::{DUP_THRESH, LossState, Rfc};
use crate::sender::connection::{Connection, SenderKind};
use crate::sender::{AckIn, Port};
use firstflight_contract::Ack;

impl Connection<Rfc> {
    pub(super) fn sack1_on_ack(&mut self, now: u64, ack: &AckIn, port: &mut impl Port) {
        if self.own.loss_state == LossState::Recovery {
            return self.sack1_recover(now, ack, port);
        }
        if ack.seq > self.una {
            self.new_ack(now, ack.seq, port);
            self.own.board.clear(self.una);
            return;
        }
        // From a timeout until the next new ACK, duplicates do not count. At other times a duplicate counts only if it
        // reports segments not reported before.
        if self.own.after_timeout || self.max == self.una || self.sack1_note(ack) == 0 {
            return;
        }
        self.own.dup_acks += 1;
        if self.own.dup_acks < DUP_THRESH {
            self.limited_transmit(now, port);
        } else if self.own.dup_acks == DUP_THRESH && self.ns2_may_retransmit() {
            self.enter_recovery(now);
            self.own.pipe = i64::from(self.max - self.una) - i64::from(DUP_THRESH);
            self.own.board.begin_recovery(self.una);
            self.retransmit_hole(now, self.una, port);
        }
    }

    /// Adds an ACK's blocks to the scoreboard; returns the number of segments that they report for the first time.
    fn sack1_note(&mut self, ack: &AckIn) -> u32 {
        self.own.board.reserve(self.una, self.max - self.una);
        self.own.board.add(&ack.blocks(), self.una, self.max)
    }

    fn sack1_recover(&mut self, now: u64, ack: &AckIn, port: &mut impl Port) {
        self.own.pipe -= 1;
        if ack.seq >= self.own.recover {
            return self.sack1_end(now, ack.seq, port);
        }
        let in_flight = self.flight();
        let mut delivered = 0;
        if ack.seq > self.una {
            delivered = self.advance_silently(ack.seq);
            self.own.pipe -= 1;
            self.restart_rto(now);
            self.rto.end_back_off();
        }
        delivered += self.sack1_note(ack);
        if delivered > 0 {
            self.deliver_counting(now, (delivered, 0), in_flight, 0, Ack::RECOVERY);
        }
        while (self.own.pipe + 1) * self.mss as i64 <= self.chain.control.cwnd as i64 {
            if let Some(hole) = self.own.board.next_hole(self.una, u32::MAX) {
                self.retransmit_hole(now, hole, port);
            } else if self.nxt < self.available.min(self.window_end()) {
                self.send_next(now, port);
            } else {
                return;
            }
            self.own.pipe += 1;
        }
    }

    /// Everything sent before the recovery is acknowledged. This ACK does not grow the window.
    fn sack1_end(&mut self, now: u64, ack: u32, port: &mut impl Port) {
        let in_flight = self.flight();
        let (rtt, delivered) = self.move_una(now, ack);
        self.own.loss_state = LossState::Open;
        self.own.recover = 0;
        self.own.dup_acks = 0;
        self.own.board.clear(self.una);
        self.deliver_counting(now, (delivered, 0), in_flight, rtt, Ack::RECOVERY);
        self.restart_rto(now);
        if self.una >= self.write_end {
            self.on_written_acked(now);
        }
        self.send(now, port);
    }
}
