//! Shared by tests of start-up schemes: a sender that receives ACKs one by one.

use crate::scheme::{Scheme, Value};
use firstflight_contract::{Ack, Control, Entry, Nanos, Step, Why};

pub(super) const MSS: u64 = 1000;
/// Round-trip time without queueing, microseconds.
pub(super) const RTT_US: u64 = 100_000;

/// A sender with unlimited data, limited by its congestion window only.
pub(super) struct Sender<P> {
    pub(super) phase: P,
    pub(super) control: Control,
    pub(super) now_us: u64,
    pub(super) srtt_us: u64,
    sent: u64,
    pub(super) delivered: u64,
    /// Bytes that arrived twice: hosts count them as delivered.
    duplicates: u64,
}

impl<P: Scheme + Default> Sender<P> {
    /// A connection that begins with a window of so many segments.
    pub(super) fn new(window: u64, params: &[(&str, Value)]) -> Self {
        Self::entered(Why::Connect, window, u64::MAX, params)
    }

    /// The phase entered for this reason, with this threshold.
    pub(super) fn entered(why: Why, window: u64, ssthresh: u64, params: &[(&str, Value)]) -> Self {
        let mut phase = P::default();
        for &(name, value) in params {
            phase.set(name, value);
        }
        let control = Control { cwnd: window * MSS, ssthresh, ..Control::default() };
        let mut sender =
            Self { phase, control, now_us: 0, srtt_us: RTT_US, sent: 0, delivered: 0, duplicates: 0 };
        sender.enter(why);
        sender.sent = sender.control.cwnd;
        sender
    }

    /// Enters the phase again.
    pub(super) fn enter(&mut self, why: Why) {
        let entry = Entry { now: Nanos::from_micros(self.now_us), mss: MSS as u32, why, ..Entry::default() };
        self.phase.enter(&entry, &mut self.control);
    }

    /// An ACK for so many bytes, `gap_us` after the one before; then the window is filled.
    pub(super) fn ack_of(&mut self, bytes: u64, gap_us: u64, rtt_us: u64, flags: u32) -> Step {
        self.now_us += gap_us;
        self.delivered += bytes;
        let ack = Ack {
            now: Nanos::from_micros(self.now_us),
            rtt: Nanos::from_micros(rtt_us),
            srtt: Nanos::from_micros(self.srtt_us),
            min_rtt: Nanos::from_micros(RTT_US),
            acked: bytes,
            growth: bytes,
            delivered: self.delivered + self.duplicates,
            sent: self.sent + self.duplicates,
            retransmitted: self.duplicates,
            in_flight: self.sent + bytes - self.delivered,
            pipe: self.sent - self.delivered,
            flags,
            mss: MSS as u32,
            ..Ack::default()
        };
        let step = self.phase.on_ack(&ack, &mut self.control);
        self.sent = self.sent.max(self.delivered.saturating_add(self.control.cwnd));
        step
    }

    /// A segment was retransmitted although it had arrived, and the next ACK reports the duplicate.
    pub(super) fn duplicate(&mut self) {
        self.duplicates += MSS;
    }

    /// An ACK for one segment.
    pub(super) fn ack(&mut self, gap_us: u64, rtt_us: u64) -> Step {
        self.ack_of(MSS, gap_us, rtt_us, 0)
    }

    /// An ACK for one segment of the first flight, which left at time zero; the first ACK comes after a round trip.
    pub(super) fn ack_of_first_flight(&mut self, gap_us: u64) -> Step {
        self.now_us = self.now_us.max(RTT_US);
        self.ack(gap_us, self.now_us + gap_us)
    }

    /// ACKs for all that is outstanding, until the phase ends.
    pub(super) fn flight(&mut self, rtt_us: u64) -> Step {
        for _ in 0..self.in_flight() {
            let step = self.ack(0, rtt_us);
            if step != Step::Stay {
                return step;
            }
        }
        Step::Stay
    }

    /// The same, the first of a round as the host counts them.
    pub(super) fn begin(&mut self, gap_us: u64, rtt_us: u64) -> Step {
        self.ack_of(MSS, gap_us, rtt_us, Ack::ROUND_START)
    }

    /// Acknowledges until the phase ends; returns how many ACKs that took, at most `limit`.
    pub(super) fn acks_until_exit(&mut self, limit: u32, gap_us: u64, rtt_us: u64) -> (u32, Step) {
        for n in 1..=limit {
            let step = self.ack(gap_us, rtt_us);
            if step != Step::Stay {
                return (n, step);
            }
        }
        (limit, Step::Stay)
    }

    /// Segments in flight.
    pub(super) fn in_flight(&self) -> u64 {
        (self.sent - self.delivered) / MSS
    }
}
