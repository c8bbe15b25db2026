//! Stacks of the tests and benchmarks: one for each kind of sender. A test changes the fields that it is about.

use firstflight_sim::sender::rto::RtoConfig;
use firstflight_sim::sender::stack::{DataInSyn, IdleRestart, PartialAcks, ReceiveWindow, Recovery, Stack};

const MS: u64 = 1_000_000;

/// The RFCs: SACK, segments of 1000 bytes, an initial window of one segment, no handshake.
pub(crate) fn rfc() -> Stack {
    Stack {
        mss: 1000,
        recovery: Recovery::Sack,
        partial_acks: PartialAcks::Impatient,
        sack_walk: 0,
        ack_backlog: u32::MAX,
        ns2: false,
        initial_window: 1,
        initial_ssthresh: None,
        receive_window: ReceiveWindow::fixed(100_000),
        growth_per_ack: 1,
        grow_only_when_limited: true,
        decrease_from_window: false,
        paced: false,
        initial_pace: None,
        quinn: false,
        limited_transmit: true,
        rtt_per_ack: true,
        timestamps: false,
        rto: RtoConfig { initial: 1000 * MS, min: 200 * MS, max: 60_000 * MS, granularity: 1, phase: 0 },
        idle_restart: IdleRestart::Restart,
        ecn: false,
        handshake: false,
        data_in_syn: DataInSyn::Never,
    }
}

/// ns-2's `sack1` agent: packets of 1000 bytes with 40 bytes of headers, a clock of 10 ms.
pub(crate) fn ns2() -> Stack {
    let rfc = rfc();
    Stack {
        mss: 960,
        ns2: true,
        receive_window: ReceiveWindow::fixed(1_000_000),
        grow_only_when_limited: false,
        decrease_from_window: true,
        rtt_per_ack: false,
        rto: RtoConfig { initial: 3000 * MS, granularity: 10 * MS, ..rfc.rto },
        ..rfc
    }
}

/// Linux: RACK with SACK and timestamps, an initial window of ten segments, a clock of 4 ms.
pub(crate) fn linux() -> Stack {
    let rfc = rfc();
    Stack {
        mss: 960,
        recovery: Recovery::Rack { sack: true },
        initial_window: 10,
        receive_window: ReceiveWindow::fixed(1_000_000),
        growth_per_ack: u32::MAX,
        timestamps: true,
        rto: RtoConfig { max: 120_000 * MS, granularity: 4 * MS, ..rfc.rto },
        ..rfc
    }
}
