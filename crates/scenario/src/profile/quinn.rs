//! quinn 0.11 (quinn-proto 0.11.19), a QUIC stack, with its default settings, and with the windows of its own client.

use firstflight_contract::Nanos;
use firstflight_host::stack::{Datagrams, Discovery, Fill, Pacing, Refill, Rules, Tokens};

use super::{DATAGRAMS, QUIC, Stack};

pub(super) const STACK: Stack = Stack {
    // stream_receive_window: 12.5 MB/s in 100 ms
    receive_window: Some(1_250_000),
    rules: Rules {
        datagrams: Some(Datagrams {
            // Two tickets, a token and HANDSHAKE_DONE
            opening: &[296],
            // connection/mtud.rs: halves between 1200 and 1452 (`MtuDiscoveryConfig`), in steps of 20 at least
            discovery: Discovery { sizes: &[1326, 1389, 1420, 1452], leads: true, resets: false },
            // `poll_transmit` asks for less than the window.
            fill: Fill::BelowTheEdge,
            ..DATAGRAMS
        }),
        // connection/pacing.rs
        pacing: Pacing::Tokens(Tokens {
            percent: [125, 125],
            burst: Nanos::from_millis(2),
            packets: [10, 256],
            refill: Refill::Full,
        }),
        ..QUIC.rules
    },
    ..QUIC
};
