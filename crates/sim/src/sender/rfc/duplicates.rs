//! Duplicate ACKs without SACK: fast retransmit of Tahoe, Reno and NewReno (RFC 5681 section 3.2).

use super::{DUP_THRESH, LossState, Rfc};
use crate::sender::Port;
use crate::sender::connection::{Connection, SenderKind};
use crate::sender::stack::Recovery;
use firstflight_contract::{Ack, Nanos};

impl Connection<Rfc> {
    /// An ACK that acknowledges nothing new while data is outstanding.
    pub(super) fn duplicate_ack(&mut self, now: u64, port: &mut impl Port) {
        self.deliver_early(now);
        self.count_duplicate(self.flight());
        if self.own.dup_acks < DUP_THRESH {
            self.limited_transmit(now, port);
            if self.stack.recovery != Recovery::Tahoe {
                return;
            }
        } else if self.own.dup_acks == DUP_THRESH && self.may_retransmit() {
            self.fast_retransmit(now, port);
        } else if self.own.loss_state == LossState::Recovery && self.stack.recovery != Recovery::Tahoe {
            // RFC 5681 step 4: "For each additional duplicate ACK received ..., cwnd MUST be incremented by SMSS."
            self.own.inflation += 1;
        }
        self.send(now, port);
    }

    /// A duplicate ACK shows that one more segment has arrived, but not which; it is not the first one outstanding.
    pub(super) fn deliver_early(&mut self, now: u64) {
        if self.own.early + 1 < self.max - self.una {
            let in_flight = self.flight().saturating_sub(self.own.early);
            self.own.early += 1;
            self.own.early_end = self.max;
            let flags = if self.own.loss_state == LossState::Recovery { Ack::RECOVERY } else { 0 };
            self.deliver_counting(now, (1, 0), in_flight, 0, flags);
        }
    }

    /// Number of the `acked` segments just acknowledged that no duplicate ACK had stood for. It is at least one, because the
    /// first segment was missing.
    pub(super) fn without_early(&mut self, acked: u32) -> u32 {
        let early = self.own.early;
        if early == 0 {
            return acked;
        }
        // A duplicate caused by a needless retransmission stands for no segment.
        self.own.early = if self.una < self.own.early_end { early.saturating_sub(acked - 1) } else { 0 };
        acked.saturating_sub(early).max(1)
    }

    /// Counts a duplicate ACK that found `flight` segments outstanding.
    pub(super) fn count_duplicate(&mut self, flight: u32) {
        if self.own.dup_acks == 0 {
            self.own.flight_at_dup = flight;
        }
        self.own.dup_acks += 1;
    }

    /// RFC 6582 section 3.2 step 2: duplicates of segments sent before the last episode do not begin another.
    pub(super) fn may_retransmit(&self) -> bool {
        self.own.loss_state != LossState::Recovery
            && (self.una > self.own.recover || self.una == 0 || self.own.recover == 0)
    }

    fn fast_retransmit(&mut self, now: u64, port: &mut impl Port) {
        self.enter_recovery(now);
        self.lost += 1;
        if self.stack.recovery == Recovery::Tahoe {
            self.chain.lose_window(Nanos(now));
            self.nxt = self.una;
            self.own.loss_state = LossState::Loss;
            return;
        }
        self.put_on_wire(now, self.una, true, port);
        // RFC 5681 step 3: "cwnd to ssthresh plus 3*SMSS": three segments have left the network.
        self.own.inflation = DUP_THRESH;
    }

    /// RFC 3042: new data on the first two duplicates, within the receiver's window and two segments beyond cwnd.
    pub(super) fn limited_transmit(&mut self, now: u64, port: &mut impl Port) {
        let end = self.available.min(self.window_end());
        let allowed = self.chain.control.cwnd + u64::from(self.own.dup_acks) * self.mss;
        let outstanding = (u64::from(self.flight()) + 1) * self.mss + self.own.elsewhere;
        if self.stack.limited_transmit && self.nxt < end && outstanding <= allowed {
            self.send_next(now, port);
        }
    }
}
