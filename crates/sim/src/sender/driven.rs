//! A sender that a tool drives from outside: the tool hands over data at any time, and the peer's window may change with
//! every ACK.

use super::connection::{Connection, SenderKind};
use super::stack::ReceiveWindow;
use super::stamps::RETRANSMITTED;
use super::{Common, Kinds, Port, Sender};

impl Sender {
    /// The connection is open at `now`, with nothing to send yet; `rtt` is the duration of its handshake, zero
    /// if unknown, and at most `now`.
    pub fn open(&mut self, now: u64, rtt: u64) {
        each!(&mut self.0, connection => connection.open(now, rtt));
    }

    /// The application hands over `bytes`, which leave with [`Self::write`]. Returns false, and changes nothing, where they are
    /// more segments than can be numbered.
    pub fn queue(&mut self, bytes: u64) -> bool {
        let sent = self.max;
        self.app.queue(bytes, sent)
    }

    /// Sends of what [`Self::queue`] has taken as much as may leave at `now`.
    pub fn write(&mut self, now: u64, port: &mut impl Port) {
        each!(&mut self.0, connection => connection.write(now, port));
    }

    /// Whether an ACK without news that offers `new` bytes changes the peer's window, which was `old` bytes.
    pub fn is_window_update(&self, old: u64, new: u64) -> bool {
        each!(&self.0, connection => connection.is_window_update(old, new))
    }

    /// The peer takes `segments` beyond the cumulative ACK from now on, and `part` bytes of the one after them.
    pub fn set_receive_window(&mut self, segments: u32, part: u32) {
        self.receive_window = ReceiveWindow::fixed(segments);
        each!(&mut self.0, connection => connection.on_window_set(segments, part));
    }

    /// An ACK that only moved the window: RFC 5681 section 2 does not count it as a duplicate.
    pub fn on_window_update(&mut self, now: u64, port: &mut impl Port) {
        each!(&mut self.0, connection => connection.on_window_update(now, port));
    }
}

impl<K> Connection<K>
where
    Self: SenderKind,
{
    fn open(&mut self, now: u64, rtt: u64) {
        self.become_driven();
        self.on_begin(now.saturating_sub(rtt));
        self.connect(now, rtt);
        self.start_up(now, 0);
    }

    fn write(&mut self, now: u64, port: &mut impl Port) {
        if self.max == 0 {
            // Start-up begins with the first data: only now is it known how much there is.
            self.start_up(now, self.app.queued_bytes(0));
        } else if self.una == self.max {
            self.restart_after_idle(now);
        }
        self.on_write();
        self.available = self.app.written();
        self.write_end = self.app.open_end();
        self.send(now, port);
    }
}

impl Common {
    /// Whether the first unacknowledged segment was sent more than once, where that is kept.
    pub fn first_was_retransmitted(&self) -> bool {
        self.per_packet && self.una < self.max && self.stamps.get(self.una) & RETRANSMITTED != 0
    }
}
