//! NewReno's partial ACKs: RFC 6582 section 3.2 step 3.

use crate::sender::{Port, Sender};
use firstflight_control::contract::Ack;

impl Sender {
    /// New data is acknowledged, but not all that was outstanding when recovery began: the next hole is lost too.
    pub(crate) fn partial_ack(&mut self, now: u64, ack: u32, port: &mut impl Port) {
        let in_flight = self.flight();
        let (_, newly) = self.move_una(now, ack);
        // "Deflate the congestion window by the amount of new data acknowledged by the Cumulative
        // Acknowledgment field. If the partial ACK acknowledges at least one SMSS of new data, then add back
        // SMSS bytes to the congestion window."
        if self.inflation > newly {
            self.inflation -= newly - 1;
        } else {
            let deflate = u64::from(newly - self.inflation) * self.mss;
            let control = &mut self.chain.control;
            control.cwnd = control.cwnd.saturating_sub(deflate).max(self.mss);
            self.inflation = 1;
        }
        self.deliver(now, newly, in_flight, 0, Ack::RECOVERY);
        // "Reset the retransmit timer" on "the first partial ACK" only: the Impatient variant.
        if !self.partial_seen {
            self.partial_seen = true;
            self.restart_rto(now);
        }
        self.lost += 1;
        self.put_on_wire(now, self.una, true, port);
        let burst = if self.stack.ns2 { 2 } else { u32::MAX };
        self.send_some(now, burst, port);
    }
}
