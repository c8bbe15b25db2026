//! The retransmission timer of the RFC sender: slow start from the cumulative ACK.

use super::{LossState, Rfc};
use crate::sender::Port;
use crate::sender::connection::{Connection, SenderKind};
use crate::sender::stack::{MarkRule, Recovery, RecoveryRule};
use firstflight_contract::{Nanos, Trigger};

impl Connection<Rfc> {
    pub(super) fn on_timeout(&mut self, now: u64, port: &mut impl Port) {
        if self.rto.is_fine() && !self.chain.control.provisional {
            // The flight for which the timer had no lower bound has been acknowledged: the timer is due when the usual one
            // would be.
            let started_at = now - self.rto.timeout();
            self.rto.set_fine(false);
            self.rto_at = started_at + self.rto.timeout();
            return;
        }
        self.stats.timeouts += 1;
        let repeated = self.rto.backed_off();
        // A provisional window of which a part has arrived is given up, and the timer does not back off.
        if !self.chain.control.provisional || self.una == self.own.resumed {
            self.rto.back_off();
        }
        self.start_over(now, repeated, port);
    }

    /// Slow start from the cumulative ACK.
    pub(crate) fn start_over(&mut self, now: u64, repeated: bool, port: &mut impl Port) {
        self.collapse(now, repeated);
        self.own.after_timeout = true;
        self.rto.set_fine(false);
        self.restart_rto(now);
        self.send(now, port);
    }

    /// After a timeout: one segment, and everything outstanding counts as lost.
    fn collapse(&mut self, now: u64, repeated: bool) {
        self.own.inflation = 0;
        self.own.slow_after_timeout = true;
        // RFC 5681 section 3.1: after a second timeout of the same segment "ssthresh is held constant".
        // ns-2's `timeout()` holds it as well if a mark was the last reason to reduce the window, however long ago.
        let holds = if self.stack.rules.marks == MarkRule::Ns2 {
            self.own.reduced_for == Some(Trigger::Mark)
        } else {
            repeated
        };
        if holds {
            self.chain.lose_window(Nanos(now));
            self.own.reduced_for = Some(Trigger::Timeout);
            self.reduced = true;
        } else {
            self.report_timeout(now);
        }
        // Everything outstanding is presumed lost once; a repeated timeout adds only its own retransmission.
        let presumed = if self.own.loss_state == LossState::Loss {
            1
        } else {
            self.max - self.una - self.own.board.sacked()
        };
        self.lost += u64::from(presumed);
        self.own.recover = self.max;
        self.nxt = self.una;
        self.own.timed = u32::MAX;
        self.own.board.clear(self.una);
        self.own.loss_state = LossState::Loss;
        // ns-2's Tahoe goes on counting: duplicates still on their way release nothing.
        if !(self.stack.rules.recovery == RecoveryRule::Ns2 && self.stack.recovery == Recovery::Tahoe) {
            self.own.dup_acks = 0;
        }
        self.orderly = false;
    }
}
