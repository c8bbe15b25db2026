//! ngtcp2 1.11, a QUIC stack, as its example server `gtlsserver` has it: Cubic with HyStart++.

use firstflight_contract::Nanos;
use firstflight_host::stack::{Datagrams, Discovery, Fill, Pacing, Refill, Rules, Tokens};

use super::{DATAGRAMS, Options, QUIC, Stack};

pub(super) const STACK: Stack = Stack {
    startup: "hystart++",
    rules: Rules {
        datagrams: Some(Datagrams {
            // lib/ngtcp2_pmtud.c: the MTU of a domestic fibre, and of PPPoE, without the headers of IPv6 and UDP
            // `conn_cwnd_is_zero`
            fill: Fill::AcrossTheEdge,
            // The Initial packet of a certificate of 0.5 KB
            handshake: 1200,
            discovery: Discovery { sizes: &[1406, 1444], leads: true, ..Discovery::NONE },
            ..DATAGRAMS
        }),
        // `send_quantum`
        pacing: Pacing::Tokens(Tokens {
            percent: [125, 125],
            burst: Nanos::ZERO,
            packets: [10, 10],
            handshake: 0,
            // ngtcp2_conn_update_pkt_tx_time
            refill: Refill::Behind(64 << 10),
        }),
        ..QUIC.rules
    },
    options: Options {
        stack: "ngtcp2 1.11",
        source: "ngtcp2 1.11.0, `lib/includes/ngtcp2/ngtcp2.h`",
        chains: &[("hystart+++cubic", "settings.cc_algo = NGTCP2_CC_ALGO_CUBIC")],
        initial_window: None,
        send_buffer: None,
        notes: "The initial window cannot be chosen.",
    },
    ..QUIC
};
