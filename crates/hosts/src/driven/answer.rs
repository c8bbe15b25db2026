//! One line of output: the answer of the protocol, and the sender's next timer.
//!
//! The simulator counts nanoseconds, lines count microseconds. Moments are rounded up, so that no event is reported before
//! it happens and the next timer always lies after the line's own time; spans are rounded down.

use firstflight_script::{Answer, Registers, State};
use firstflight_sim::sender::info::{CaState, Info};
use serde::Serialize;

/// The answer to a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Output {
    /// The segments that left, and the registers.
    #[serde(flatten)]
    pub answer: Answer,
    /// Time at which the sender next acts by itself; `None` if never.
    pub next_timer_us: Option<u64>,
}

/// The registers of the simulator's sender.
pub(super) fn registers(info: &Info) -> Registers {
    Registers {
        cwnd: info.cwnd,
        ssthresh: info.ssthresh,
        state: match info.state {
            CaState::Open => State::Open,
            CaState::Disorder => State::Disorder,
            CaState::Cwr => State::Cwr,
            CaState::Recovery => State::Recovery,
            CaState::Loss => State::Loss,
        },
        unacked: info.unacked,
        sacked: info.sacked,
        lost: info.lost,
        retrans: info.retrans,
        reordering: info.reordering,
        in_flight: info.in_flight.into(),
        srtt_us: info.srtt / 1000,
        rto_us: info.rto / 1000,
        min_rtt_us: info.min_rtt / 1000,
        pacing_bit_s: info.pacing.0,
    }
}
