//! Registers: the decisions of a phase.

use crate::{Nanos, Rate};

/// The registers that a phase may write. The host clamps and enforces them.
///
/// In C, 6 bytes of padding follow `provisional`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; `u64::MAX` is infinite.
    pub ssthresh: u64,
    /// Pacing rate; [`Rate::NONE`] sends as the window allows.
    pub pacing: Rate,
    /// Rate to ask the routers for; [`Rate::NONE`] asks for nothing.
    pub ask: Rate,
    /// Largest number of bytes that may leave back to back under pacing; zero is one segment.
    pub burst: u64,
    /// Whether new data is marked as droppable: routers that know the mark drop such packets before others.
    pub droppable: bool,
    /// Whether the window in use is a guess. The retransmission timer then waits SRTT + 4 RTTVAR without its lower bound;
    /// the timer, or a partial ACK, makes the sender retransmit from the cumulative ACK without backing off, once any data
    /// sent since the guess is acknowledged. The host reports either to the phase as
    /// [`Trigger::Timeout`](crate::Trigger::Timeout).
    pub provisional: bool,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            cwnd: 0,
            ssthresh: u64::MAX,
            pacing: Rate::NONE,
            ask: Rate::NONE,
            burst: 0,
            droppable: false,
            provisional: false,
        }
    }
}

impl Control {
    /// Spreads `bytes` evenly over `span`, one segment of `mss` bytes at a time.
    pub fn pace(&mut self, bytes: u64, span: Nanos, mss: u64) {
        self.pacing = Rate::of(bytes, span).max(Rate(1));
        self.burst = mss;
    }

    /// Ends pacing: data leaves as the window allows.
    pub fn stop_pacing(&mut self) {
        self.pacing = Rate::NONE;
        self.burst = 0;
    }
}
