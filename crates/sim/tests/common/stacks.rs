//! Stacks of the tests and benchmarks: one for each kind of sender. A test changes the fields that it is about.

use firstflight_contract::Nanos;
use firstflight_sim::sender::rto::RtoConfig;
use firstflight_sim::sender::stack::{
    DataInSyn, Detection, Fill, IdleRestart, LimitedRule, MarkRule, Pacing, PartialAcks, ReceiveWindow,
    Recovery, RecoveryRule, Reduction, Rules, Stack, Timers, Tokens,
};

const MS: u64 = 1_000_000;

/// Rules of ns-2.
pub(crate) const NS2: Rules = Rules {
    recovery: RecoveryRule::Ns2,
    marks: MarkRule::Ns2,
    decrease_from_window: true,
    limited: LimitedRule::Ignored,
    whole_packets: true,
    rtt_per_ack: false,
    ..Rules::RFC
};

/// Rules of Linux.
pub(crate) const LINUX: Rules = Rules {
    detection: Detection::Times,
    decrease_from_window: true,
    pacing: Pacing::Optional,
    timers: Timers::Wheel,
    timestamps: true,
    ..Rules::RFC
};

/// Rules of quinn.
pub(crate) const QUINN: Rules = Rules {
    reduction: Reduction::AtOnce,
    limited: LimitedRule::LastAttempt,
    fill: Fill::BelowTheEdge(2),
    pacing: Pacing::Tokens(Tokens { percent: 125, burst: Nanos::from_millis(2), packets: [10, 256] }),
    timers: Timers::Due,
    ..LINUX
};

/// The RFCs: SACK, segments of 1000 bytes, an initial window of one segment, no handshake.
pub(crate) fn rfc() -> Stack {
    Stack {
        mss: 1000,
        recovery: Recovery::Sack,
        partial_acks: PartialAcks::Impatient,
        sack_walk: 0,
        ack_backlog: u32::MAX,
        rules: Rules::RFC,
        initial_window: 1,
        initial_ssthresh: None,
        receive_window: ReceiveWindow::fixed(100_000),
        growth_per_ack: 1,
        paced: false,
        initial_pace: None,
        limited_transmit: true,
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
        rules: NS2,
        receive_window: ReceiveWindow::fixed(1_000_000),
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
        rules: LINUX,
        rto: RtoConfig { max: 120_000 * MS, granularity: 4 * MS, ..rfc.rto },
        ..rfc
    }
}
