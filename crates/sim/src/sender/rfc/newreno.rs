//! NewReno's partial ACKs: RFC 6582 section 3.2 step 3, and its older variants.

use super::Rfc;
use crate::sender::Port;
use crate::sender::connection::{Connection, SenderKind};
use crate::sender::stack::PartialAcks;
use firstflight_contract::Ack;

impl Connection<Rfc> {
    /// New data is acknowledged, but not all that was outstanding when recovery began: the next hole is lost too.
    pub(super) fn partial_ack(&mut self, now: u64, ack: u32, port: &mut impl Port) {
        let (in_flight, advanced) = (self.flight(), ack - self.una);
        let (_, newly) = self.move_una(now, ack);
        self.deflate(advanced);
        self.deliver(now, (newly, advanced), in_flight, 0, Ack::RECOVERY);
        self.restart_rto_partially(now);
        self.lost += 1;
        self.put_on_wire(now, self.una, true, port);
        self.send(now, port);
    }

    /// "Reset the retransmit timer" on "the first partial ACK" only is the Impatient variant. RFC 3782 section 4: "the
    /// Slow-but-Steady variant resets the retransmit timer after each partial acknowledgment".
    pub(super) fn restart_rto_partially(&mut self, now: u64) {
        if !self.own.partial_seen || self.stack.partial_acks != PartialAcks::Impatient {
            self.own.partial_seen = true;
            self.restart_rto(now);
        }
    }

    /// "Deflate the congestion window by the amount of new data acknowledged by the Cumulative Acknowledgment
    /// field. If the partial ACK acknowledges at least one SMSS of new data, then add back SMSS bytes".
    pub(super) fn deflate(&mut self, advanced: u32) {
        if self.stack.partial_acks == PartialAcks::Ns2Of2002 {
            // `partial_window_deflation_` false: `dupwnd_` is 0, and `cwnd_` stays.
            self.own.inflation = 0;
            return;
        }
        if self.own.inflation > advanced {
            self.own.inflation -= advanced - 1;
            return;
        }
        let deflate = u64::from(advanced - self.own.inflation) * self.mss;
        let control = &mut self.common.chain.control;
        control.cwnd = control.cwnd.saturating_sub(deflate).max(self.common.mss);
        self.own.inflation = 1;
    }
}
