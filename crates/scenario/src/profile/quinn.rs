//! quinn 0.11 (quinn-proto 0.11.19), a QUIC stack, with its default settings, and with the windows of its own client.

use firstflight_contract::Nanos;
use firstflight_host::stack::{Datagrams, Discovery, Fill, Pacing, Refill, Rules, Tokens};

use super::{DATAGRAMS, Options, QUIC, Stack};

pub(super) const STACK: Stack = Stack {
    // congestion/cubic.rs
    parameters: &[("cubic", "rules", "quinn")],
    // stream_receive_window: 12.5 MB/s in 100 ms
    receive_window: Some(1_250_000),
    rules: Rules {
        datagrams: Some(Datagrams {
            // Two tickets, a token and HANDSHAKE_DONE
            opening: &[296],
            // connection/mtud.rs: halves between 1200 and 1452 (`MtuDiscoveryConfig`), in steps of 20 at least
            discovery: Discovery { sizes: &[1326, 1389, 1420, 1452], leads: true, ..Discovery::NONE },
            // `poll_transmit` asks for less than the window.
            fill: Fill::BelowTheEdge,
            // `on_ack_received`
            grows_first: true,
            ..DATAGRAMS
        }),
        // connection/pacing.rs
        pacing: Pacing::Tokens(Tokens {
            percent: [125, 125],
            burst: Nanos::from_millis(2),
            packets: [10, 256],
            // A flight of 1200 and 138 bytes
            handshake: 1338,
            refill: Refill::Full,
        }),
        ..QUIC.rules
    },
    options: Options {
        stack: "quinn 0.11",
        source: "quinn-proto 0.11.19, `src/congestion/`, given to `TransportConfig::congestion_controller_factory`",
        chains: &[
            ("slow-start+cubic", "CubicConfig::default()"),
            ("slow-start+reno", "NewRenoConfig::default()"),
        ],
        // The window counts bytes, ten of `BASE_DATAGRAM_SIZE` by default.
        initial_window: Some(|packets| format!(".initial_window({})", packets * 1200)),
        send_buffer: None,
        notes: "Its pacer has no switch. `stream_receive_window` of the client, 1.25 MB, limits what is in flight.",
    },
    ..QUIC
};
