//! Selective retransmission under a pipe estimate: RFC 6675.

use super::{DUP_THRESH, LossState, Rfc};
use crate::sender::connection::{Connection, SenderKind};
use crate::sender::{AckIn, Port};
use firstflight_contract::Ack;

impl Connection<Rfc> {
    pub(super) fn sack_on_ack(&mut self, now: u64, ack: &AckIn, port: &mut impl Port) {
        if self.own.loss_state == LossState::Loss {
            // After a timeout the scoreboard is void until everything outstanding then is acknowledged
            // (RFC 6675 section 5.1): plain slow start from the cumulative ACK.
            if ack.seq > self.una {
                self.new_ack(now, ack.seq, port);
            }
            return;
        }
        let in_flight = self.flight();
        let advanced = ack.seq.saturating_sub(self.una);
        let (rtt, mut delivered) = if advanced > 0 { self.move_una(now, ack.seq) } else { (0, 0) };
        self.own.board.reserve(self.una, self.max - self.una);
        let fresh = self.own.board.add(&ack.blocks(), self.una, self.max);
        delivered += fresh;
        if advanced > 0 {
            self.own.dup_acks = 0;
        } else if fresh > 0 {
            self.count_duplicate(in_flight);
        }
        let recovering = self.own.loss_state == LossState::Recovery;
        if recovering && self.una >= self.own.recover {
            self.own.loss_state = LossState::Open;
        }
        if delivered > 0 {
            let flags = if recovering { Ack::RECOVERY } else { 0 };
            self.deliver_counting(now, (delivered, advanced), in_flight, rtt, flags);
        }
        if advanced > 0 {
            self.restart_rto(now);
            if self.una >= self.write_end {
                self.on_written_acked(now);
            }
        }
        if self.own.loss_state == LossState::Recovery {
            self.send_under_pipe(now, port);
        } else if self.loss_detected() {
            self.begin_sack_recovery(now, port);
        } else {
            self.send(now, port);
        }
    }

    /// RFC 6675 section 5: "If DupAcks >= DupThresh ..." or "IsLost (HighACK + 1) returns true".
    fn loss_detected(&self) -> bool {
        self.own.board.sacked() > 0
            && (self.own.dup_acks >= DUP_THRESH || self.own.board.lost_below(self.una, DUP_THRESH).1 > 0)
    }

    /// RFC 6675 section 5 step (4).
    fn begin_sack_recovery(&mut self, now: u64, port: &mut impl Port) {
        self.enter_recovery(now);
        self.own.board.begin_recovery(self.una);
        self.own.rescued = false;
        // (4.3): "Retransmit the first data segment presumed dropped", whatever the pipe holds.
        self.retransmit_hole(now, self.una, port);
        self.send_under_pipe(now, port);
    }

    pub(super) fn retransmit_hole(&mut self, now: u64, segment: u32, port: &mut impl Port) {
        self.own.board.on_retransmit(segment);
        self.lost += 1;
        self.put_on_wire(now, segment, true, port);
    }

    /// Step (C): "If cwnd - pipe >= 1 SMSS, the sender SHOULD transmit one or more segments".
    fn send_under_pipe(&mut self, now: u64, port: &mut impl Port) {
        let (edge, lost) = self.own.board.lost_below(self.una, DUP_THRESH);
        // SetPipe (): sent, neither SACKed nor lost, plus what was retransmitted.
        let outstanding = self.max - self.una;
        let pipe = u64::from(outstanding - self.own.board.sacked() - lost + self.own.board.retransmitted());
        let cwnd = self.chain.control.cwnd.saturating_sub(self.own.elsewhere);
        for _ in 0..(cwnd / self.mss).saturating_sub(pipe) {
            if !self.send_next_seg(now, edge, port) {
                return;
            }
        }
    }

    /// `NextSeg ()`, rules (1) to (4). Returns whether a segment left.
    fn send_next_seg(&mut self, now: u64, edge: u32, port: &mut impl Port) -> bool {
        // (1) the first hole that is lost
        if let Some(hole) = self.own.board.next_hole(self.una, edge) {
            self.retransmit_hole(now, hole, port);
            return true;
        }
        // (2) new data, where the application and the receiver's window have it
        if self.nxt < self.available.min(self.window_end()) {
            self.send_next(now, port);
            return true;
        }
        // (3) a hole below the highest SACKed segment that is not known to be lost
        if let Some(hole) = self.own.board.next_hole(self.una, u32::MAX) {
            self.retransmit_hole(now, hole, port);
            return true;
        }
        // (4) the rescue: once a recovery, the last outstanding segment
        if self.own.rescued || self.max == self.una {
            return false;
        }
        self.own.rescued = true;
        self.put_on_wire(now, self.max - 1, true, port);
        true
    }
}
