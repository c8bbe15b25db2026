//! What the kernel answered, in the shape of `firstflight sender`'s answers.

use serde::{Deserialize, Serialize};

use crate::tcp_info::TcpInfo;

/// The answer to a line of a script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What left since the line before, in order.
    pub sent: Vec<Sent>,
    /// The registers afterwards.
    pub info: Registers,
}

/// A data segment that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// When it was read from the device, microseconds since the handshake was done.
    pub at_us: u64,
    /// Number of its first byte; the first of the connection is 1.
    pub seq: u64,
    /// Payload bytes.
    pub len: u64,
    /// Whether any of it had been sent before.
    pub retransmit: bool,
}

/// The registers, windows in segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Registers {
    /// Congestion window.
    pub cwnd: f64,
    /// Slow-start threshold; null while it is infinite.
    pub ssthresh: Option<f64>,
    /// open, disorder, cwr, recovery or loss.
    pub state: String,
    /// Sent and not cumulatively acknowledged.
    pub unacked: u32,
    /// Of these, reported as arrived.
    pub sacked: u32,
    /// Of these, held for lost.
    pub lost: u32,
    /// Of these, sent again.
    pub retrans: u32,
    /// Reordering seen.
    pub reordering: u32,
    /// unacked - sacked - lost + retrans.
    pub in_flight: i64,
    /// Smoothed round-trip time.
    pub srtt_us: u32,
    /// Retransmission timeout.
    pub rto_us: u32,
    /// Least round-trip time.
    pub min_rtt_us: u32,
    /// Pacing rate, in force or not.
    pub pacing_bit_s: u64,
}

impl From<TcpInfo> for Registers {
    fn from(info: TcpInfo) -> Self {
        let states = ["open", "disorder", "cwr", "recovery", "loss"];
        let gone = i64::from(info.sacked) + i64::from(info.lost);
        Self {
            cwnd: info.cwnd.into(),
            ssthresh: info.ssthresh.map(f64::from),
            state: states.get(usize::from(info.ca_state)).unwrap_or(&"unknown").to_string(),
            unacked: info.unacked,
            sacked: info.sacked,
            lost: info.lost,
            retrans: info.retrans,
            reordering: info.reordering,
            in_flight: i64::from(info.unacked) - gone + i64::from(info.retrans),
            srtt_us: info.rtt,
            rto_us: info.rto,
            min_rtt_us: info.min_rtt,
            pacing_bit_s: info.pacing_rate.saturating_mul(8),
        }
    }
}
