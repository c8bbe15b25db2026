//! One line of output: what was sent, the sender's registers, its next timer.
//!
//! The simulator counts nanoseconds, lines count microseconds. Moments are rounded up, so that nothing is ever told
//! before it happens and the next timer always lies after the line's own time; spans are rounded down.

use firstflight_sim::sender::info::{CaState, Info};
use serde::Serialize;

/// The answer to a line.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    /// What left, in order.
    pub sent: Vec<Sent>,
    /// The registers afterwards.
    pub info: Registers,
    /// When the sender acts next without being told; `None` if never.
    pub next_timer_us: Option<u64>,
}

/// A segment that left.
#[derive(Debug, Serialize)]
pub(super) struct Sent {
    pub at_us: u64,
    pub seq: u64,
    pub len: u64,
    pub retransmit: bool,
}

/// The registers, windows in segments.
#[derive(Debug, Serialize)]
pub(super) struct Registers {
    cwnd: f64,
    ssthresh: Option<f64>,
    state: &'static str,
    unacked: u32,
    sacked: u32,
    lost: u32,
    retrans: u32,
    reordering: u32,
    in_flight: u32,
    srtt_us: u64,
    rto_us: u64,
    min_rtt_us: u64,
    pacing_bit_s: u64,
}

impl From<Info> for Registers {
    fn from(info: Info) -> Self {
        Self {
            cwnd: info.cwnd,
            ssthresh: info.ssthresh,
            state: match info.state {
                CaState::Open => "open",
                CaState::Disorder => "disorder",
                CaState::Cwr => "cwr",
                CaState::Recovery => "recovery",
                CaState::Loss => "loss",
            },
            unacked: info.unacked,
            sacked: info.sacked,
            lost: info.lost,
            retrans: info.retrans,
            reordering: info.reordering,
            in_flight: info.in_flight,
            srtt_us: info.srtt / 1000,
            rto_us: info.rto / 1000,
            min_rtt_us: info.min_rtt / 1000,
            pacing_bit_s: info.pacing.0,
        }
    }
}
