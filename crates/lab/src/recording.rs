//! The registers of the kernel's socket, as the line protocol has them.

use firstflight_script::{Registers, State};

use crate::tcp_info::TcpInfo;

/// The registers that `info` shows.
pub(crate) fn registers(info: &TcpInfo) -> Registers {
    const STATES: [State; 5] = [State::Open, State::Disorder, State::Cwr, State::Recovery, State::Loss];
    let gone = i64::from(info.sacked) + i64::from(info.lost);
    Registers {
        cwnd: info.cwnd.into(),
        ssthresh: info.ssthresh.map(f64::from),
        // The kernel has these five (enum tcp_ca_state).
        state: STATES[usize::from(info.ca_state).min(STATES.len() - 1)],
        unacked: info.unacked,
        sacked: info.sacked,
        lost: info.lost,
        retrans: info.retrans,
        reordering: info.reordering,
        in_flight: i64::from(info.unacked) - gone + i64::from(info.retrans),
        srtt_us: info.rtt.into(),
        rto_us: info.rto.into(),
        min_rtt_us: info.min_rtt.into(),
        pacing_bit_s: info.pacing_rate.saturating_mul(8),
    }
}
