//! quic-go 0.65, a QUIC stack, with its default settings. Slow start ends by the delay part of Hybrid Slow Start, with the constants of
//! Linux (`internal/congestion/hybrid_slow_start.go`).

use firstflight_contract::Nanos;
use firstflight_host::stack::{Datagrams, Fill, LimitedRule, Pacing, Refill, Rules, Tokens};

use super::{DATAGRAMS, InitialWindow, Options, QUIC, Stack};

pub(super) const STACK: Stack = Stack {
    startup: "hystart-linux",
    parameters: &[("hystart-linux", "ack_train", "false"), ("hystart-linux", "round_start", "next-ack")],
    // initialCongestionWindow
    initial_window: InitialWindow::Packets(32),
    rules: Rules {
        datagrams: Some(Datagrams {
            // protocol.InitialPacketSize
            first: 1280,
            overhead: 22,
            opening: &[348, 115],
            // The window grew by one packet.
            handshake: 1280,
            // `CanSend`: less in flight than the window
            fill: Fill::AcrossTheEdge,
            // `io.Copy` of Go's file server
            write: Some(32_768),
            // `maybeIncreaseCwnd`
            grows_by_packets: true,
            ..DATAGRAMS
        }),
        // `isCwndLimited`
        limited: LimitedRule::HalfUsed,
        // internal/congestion/pacer.go: ten packets, or 2 ms at the rate
        pacing: Pacing::Tokens(Tokens {
            percent: [200, 125],
            burst: Nanos::from_millis(2),
            packets: [10, 1 << 20],
            handshake: 0,
            refill: Refill::Packet(Nanos::from_millis(1)),
        }),
        ..QUIC.rules
    },
    options: Options {
        stack: "quic-go 0.65",
        source: "quic-go v0.65.0, `internal/congestion/`",
        chains: &[("hystart-linux+cubic", "")],
        initial_window: None,
        send_buffer: None,
        notes: "Neither the scheme nor the initial window of 32 packets can be chosen. Caddy's HTTP/3 is quic-go.",
    },
    ..QUIC
};
