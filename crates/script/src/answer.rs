//! The answer to a line: segments that left, and registers.

use serde::{Deserialize, Serialize};

/// The answer to a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Segments that left since the line before, in order.
    pub sent: Vec<Sent>,
    /// The registers afterwards.
    pub info: Registers,
}

/// A data segment that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Time of departure, microseconds since the handshake was done.
    pub at_us: u64,
    /// Number of its first byte; the first byte of the connection is 1.
    pub seq: u64,
    /// Payload bytes.
    pub len: u64,
    /// Whether any of it had been sent before.
    pub retransmit: bool,
}

/// The registers of a sender. Windows and counts are in segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Registers {
    /// Congestion window.
    pub cwnd: f64,
    /// Slow-start threshold; null while it is infinite.
    pub ssthresh: Option<f64>,
    /// State of congestion avoidance.
    pub state: State,
    /// Sent and not cumulatively acknowledged.
    pub unacked: u32,
    /// Of these, reported by SACK; without SACK, duplicate ACKs counted.
    pub sacked: u32,
    /// Of these, declared lost.
    pub lost: u32,
    /// Of these, retransmitted.
    pub retrans: u32,
    /// Duplicate ACKs, or distance in segments, below which disorder is no loss.
    pub reordering: u32,
    /// `unacked - sacked - lost + retrans`, at least 0: after a timeout, a segment may count as both SACKed and lost.
    pub in_flight: i64,
    /// Smoothed round-trip time, microseconds.
    pub srtt_us: u64,
    /// Retransmission timeout, microseconds.
    pub rto_us: u64,
    /// Smallest round-trip time, microseconds.
    pub min_rtt_us: u64,
    /// Pacing rate, bit/s.
    pub pacing_bit_s: u64,
}

/// State of congestion avoidance, in Linux's words and order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Nothing out of order.
    Open,
    /// Duplicate or selective ACKs, too few to count as a loss.
    Disorder,
    /// Reducing the window after an ECN mark.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}
