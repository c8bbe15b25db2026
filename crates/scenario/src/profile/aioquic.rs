//! aioquic 1.7, a QUIC stack, with its default settings: Reno, paced, with a monitor of round trips that ends slow start
//! (`src/aioquic/quic/recovery.py`, `congestion/`).

use firstflight_contract::Nanos;
use firstflight_host::stack::{Datagrams, Fill, LimitedRule, Pacing, Refill, Rules, Tokens};

use super::{DATAGRAMS, Options, QUIC, Stack};

pub(super) const STACK: Stack = Stack {
    startup: "hystart-aioquic",
    avoidance: "reno",
    rules: Rules {
        datagrams: Some(Datagrams {
            // The flight of the handshake, with a certificate of 0.5 KB
            handshake: 819,
            // `QuicPacketBuilder`: a datagram ends where `max_flight_bytes` does.
            fill: Fill::Cut(64),
            ..DATAGRAMS
        }),
        // `on_packet_acked` asks for no use of the window.
        limited: LimitedRule::Ignored,
        // class QuicPacketPacer: a quarter of the window, two datagrams at least and sixteen at most
        pacing: Pacing::Tokens(Tokens {
            percent: [100, 100],
            burst: Nanos::ZERO,
            packets: [2, 16],
            handshake: 0,
            // The event loop of Python waits for whole milliseconds.
            refill: Refill::AnyLeft { part: 4, tick: Nanos::from_millis(1) },
        }),
        ..QUIC.rules
    },
    options: Options {
        stack: "aioquic 1.7",
        source: "aioquic 1.7.2, `QuicConfiguration`",
        chains: &[("hystart-aioquic+reno", "congestion_control_algorithm=\"reno\"")],
        initial_window: None,
        send_buffer: None,
        notes: "The initial window of ten packets cannot be chosen, and its pacer has no switch. Its `cubic` reduces what is in flight and not \
                the window, and never starts on paths of more than two seconds (`findings/aioquic-cubic-never-starts-beyond-two-seconds.sh`).",
    },
    ..QUIC
};
