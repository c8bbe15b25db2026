//! Duplicate ACKs without SACK: fast retransmit of Tahoe, Reno and NewReno (RFC 5681 section 3.2).

use super::DUP_THRESH;
use crate::sender::stack::Recovery;
use crate::sender::{Port, Repair, Sender};
use firstflight_contract::{Ack, Nanos};

impl Sender {
    /// An ACK that acknowledges nothing new while data is outstanding.
    pub(super) fn duplicate_ack(&mut self, now: u64, port: &mut impl Port) {
        self.deliver_early(now);
        self.count_duplicate(self.flight());
        if self.dup_acks < DUP_THRESH {
            self.limited_transmit(now, port);
            if self.stack.recovery != Recovery::Tahoe {
                return;
            }
        } else if self.dup_acks == DUP_THRESH && self.may_retransmit() {
            self.fast_retransmit(now, port);
        } else if self.repair == Repair::Recovery && self.stack.recovery != Recovery::Tahoe {
            // RFC 5681 step 4: "For each additional duplicate ACK received ..., cwnd MUST be incremented by SMSS."
            self.inflation += 1;
        }
        self.send(now, port);
    }

    /// A duplicate ACK says that one more segment has arrived. Which, only the cumulative ACK will tell; that the first one
    /// outstanding has not is known.
    pub(super) fn deliver_early(&mut self, now: u64) {
        if self.early + 1 < self.max - self.una {
            let in_flight = self.flight().saturating_sub(self.early);
            self.early += 1;
            self.early_end = self.max;
            let flags = if self.repair == Repair::Recovery { Ack::RECOVERY } else { 0 };
            self.deliver_counting(now, (1, 0), in_flight, 0, flags);
        }
    }

    /// Of `acked` segments that the cumulative ACK has just moved over, those that no duplicate stood for: the first, which was
    /// missing, at least.
    pub(super) fn without_early(&mut self, acked: u32) -> u32 {
        let early = self.early;
        if early == 0 {
            return acked;
        }
        // A duplicate that a needless repetition caused stood for none.
        self.early = if self.una < self.early_end { early.saturating_sub(acked - 1) } else { 0 };
        acked.saturating_sub(early).max(1)
    }

    /// Counts a duplicate ACK that found `flight` segments outstanding.
    pub(super) fn count_duplicate(&mut self, flight: u32) {
        if self.dup_acks == 0 {
            self.flight_at_dup = flight;
        }
        self.dup_acks += 1;
    }

    /// RFC 6582 section 3.2 step 2: duplicates of segments sent before the last episode do not begin another.
    pub(super) fn may_retransmit(&self) -> bool {
        self.repair != Repair::Recovery && (self.una > self.recover || self.una == 0 || self.recover == 0)
    }

    fn fast_retransmit(&mut self, now: u64, port: &mut impl Port) {
        self.enter_recovery(now);
        self.lost += 1;
        if self.stack.recovery == Recovery::Tahoe {
            self.chain.lose_window(Nanos(now));
            self.nxt = self.una;
            self.repair = Repair::Loss;
            return;
        }
        self.put_on_wire(now, self.una, true, port);
        // RFC 5681 step 3: "cwnd to ssthresh plus 3*SMSS": three segments have left the network.
        self.inflation = DUP_THRESH;
    }

    /// RFC 3042: new data on the first two duplicates, within the receiver's window and two segments beyond cwnd.
    pub(super) fn limited_transmit(&mut self, now: u64, port: &mut impl Port) {
        let end = self.available.min(self.una.saturating_add(self.stack.receive_window.at(self.una)));
        let allowed = self.chain.control.cwnd + u64::from(self.dup_acks) * self.mss;
        let outstanding = (u64::from(self.flight()) + 1) * self.mss + self.elsewhere;
        if self.stack.limited_transmit && self.nxt < end && outstanding <= allowed {
            self.send_next(now, port);
        }
    }
}
