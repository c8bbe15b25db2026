//! A sender whose application is somebody outside: it says at any time that there is more, and the peer's window
//! may change with every ACK.

use super::stack::ReceiveWindow;
use super::stamps::REPEATED;
use super::{AckIn, Port, Repair, Sender};

impl Sender {
    /// The connection is open at `now`, with nothing to send yet; `rtt` is what its handshake took, zero if that is
    /// not known, and at most `now`.
    pub fn open(&mut self, now: u64, rtt: u64) {
        self.rack.punctual = true;
        self.connect(now, rtt);
        self.start_up(now, 0);
    }

    /// The application hands over `segments` more; with them `queued` payload bytes have not been sent yet.
    pub fn write(&mut self, now: u64, segments: u32, queued: u64, port: &mut impl Port) {
        if self.max == 0 {
            // Start-up begins with the first data: only now is it known how much there is.
            self.start_up(now, queued);
        } else if self.una == self.max {
            self.restart_after_idle(now);
        }
        self.note_application_limit();
        self.available += segments;
        self.send(now, port);
    }

    /// Whether an ACK without news changes the peer's window, which was `old` bytes, when it gives it as `new` bytes. Linux
    /// does not believe one that only becomes smaller.
    pub fn is_window_update(&self, old: u64, new: u64) -> bool {
        if self.linux { new > old || new == 0 } else { new != old }
    }

    /// The peer takes `segments` beyond the cumulative ACK from now on, and `part` bytes of the one after them.
    pub fn set_receive_window(&mut self, segments: u32, part: u32) {
        self.rack.window_part = part;
        self.rack.widest_window = self.rack.widest_window.max(segments);
        self.stack.receive_window = ReceiveWindow::fixed(segments);
    }

    /// Whether the first unacknowledged segment was sent more than once, where that is kept.
    pub fn first_was_repeated(&self) -> bool {
        self.per_packet && self.una < self.max && self.stamps.get(self.una) & REPEATED != 0
    }

    /// An ACK that only moved the window: RFC 5681 section 2 does not count it as a duplicate.
    pub fn on_window_update(&mut self, now: u64, port: &mut impl Port) {
        if self.linux {
            return self.rack_on_ack(now, &AckIn { seq: self.una, low: 0, high: 0 }, true, port);
        }
        let by_pipe =
            self.repair == Repair::Recovery && self.stack.recovery.is_selective() && !self.stack.ns2;
        if by_pipe {
            // An ACK without blocks counts nothing there, and sends what the pipe has room for.
            self.on_ack(now, AckIn { seq: self.una, low: 0, high: 0 }, port);
        } else {
            self.send(now, port);
        }
    }
}
