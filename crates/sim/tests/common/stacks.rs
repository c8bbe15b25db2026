//! Stacks of the tests and benchmarks: one for each kind of sender. A test changes the fields that it is about.

use firstflight_scenario::Profile;
use firstflight_sim::sender::rto::RtoConfig;
use firstflight_sim::sender::stack::{
    DataInSyn, IdleRestart, PartialAcks, ReceiveWindow, Recovery, Rules, Stack,
};

const MS: u64 = 1_000_000;

/// Rules of ns-2.
pub(crate) const NS2: Rules = Profile::Ns2.stack().rules;

/// Rules of quinn.
pub(crate) const QUINN: Rules = Profile::Quinn.stack().rules;

/// Retransmission timeouts of a profile.
fn rto(profile: Profile) -> RtoConfig {
    let stack = profile.stack();
    let [initial, min, max, granularity] =
        [stack.initial_rto, stack.min_rto, stack.max_rto, stack.rto_granularity].map(|time| time.0);
    RtoConfig { initial, min, max, granularity, phase: 0 }
}

/// The RFCs: SACK, segments of 1000 bytes, an initial window of one segment, no handshake.
pub(crate) fn rfc() -> Stack {
    Stack {
        mss: 1000,
        largest_datagram: 0,
        send_buffer: None,
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
    Stack {
        mss: 960,
        rules: NS2,
        receive_window: ReceiveWindow::fixed(1_000_000),
        rto: rto(Profile::Ns2),
        ..rfc()
    }
}

/// QUIC: rules of quinn, an initial window of ten datagrams of 1200 bytes.
pub(crate) fn quic() -> Stack {
    Stack {
        mss: 1200,
        largest_datagram: 1472,
        recovery: Recovery::Packets,
        initial_window: 10,
        growth_per_ack: u32::MAX,
        idle_restart: IdleRestart::Keep,
        rules: QUINN,
        rto: RtoConfig { granularity: 1, ..rto(Profile::Quinn) },
        ..rfc()
    }
}

/// Linux: RACK with SACK and timestamps, an initial window of ten segments, a clock of 4 ms.
pub(crate) fn linux() -> Stack {
    Stack {
        mss: 960,
        recovery: Recovery::Rack { sack: true },
        initial_window: 10,
        receive_window: ReceiveWindow::fixed(1_000_000),
        growth_per_ack: u32::MAX,
        rules: Profile::Linux.stack().rules,
        rto: rto(Profile::Linux),
        ..rfc()
    }
}
