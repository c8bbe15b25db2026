//! quinn 0.11 (quinn-proto 0.11.19), a QUIC stack, with its default settings.

use firstflight_contract::Nanos;
use firstflight_host::stack::{
    Datagrams, Detection, Discovery, Fill, LimitedRule, Pacing, Refill, Rules, Tokens,
};

use super::{InitialWindow, Stack, Transport};
use crate::choices::{Growth, IdleRestart, Receiver, Recovery};

pub(super) const STACK: Stack = Stack {
    transport: Transport::Quic,
    operated: true,
    // IPv4 and UDP
    header: 28,
    startup: "slow-start",
    startup_with: &[],
    unlike: &[],
    avoidance: "cubic",
    parameters: &[],
    recovery: Recovery::Sack,
    // 14720 bytes at most, of ten datagrams of 1200 whatever the path MTU
    initial_window: InitialWindow::Rfc9002,
    // stream_receive_window: 12.5 MB/s in 100 ms
    receive_window: Some(1_250_000),
    initial_receive_window: None,
    // An ACK for every second packet (RFC 9000 section 13.2.2)
    receiver: Receiver::Delayed,
    // max_ack_delay, RFC 9000 section 18.2
    delayed_ack_timer: Nanos::from_millis(25),
    quick_acks: 0,
    tuned_buffer: false,
    growth: Growth::AllAcked,
    // The probe timeout adds max_ack_delay (RFC 9002 section 6.2.1).
    min_rto: Nanos::from_millis(25),
    max_rto: Nanos::from_secs(120),
    initial_rto: Nanos::from_secs(1),
    // kGranularity, RFC 9002 section 6.1.2
    rto_granularity: Nanos::from_millis(1),
    idle_restart: IdleRestart::Keep,
    limited_transmit: true,
    handshake: true,
    rules: Rules {
        detection: Detection::Packets,
        decrease_from_window: true,
        // `app_limited` of `poll_transmit` is true where nothing was queued and nothing was blocked.
        limited: LimitedRule::LastAttempt,
        datagrams: Some(Datagrams {
            first: 1200,
            // A short header with a connection ID of 8 and a packet number of 2 bytes, the authentication tag of 16 bytes; the header of
            // a STREAM frame with an offset below 2^30
            overhead: 35,
            // Two tickets, a token and HANDSHAKE_DONE
            opening: &[296],
            // connection/mtud.rs: halves between 1200 and 1452 (`MtuDiscoveryConfig`), in steps of 20 at least
            discovery: Discovery { sizes: &[1326, 1389, 1420, 1452], leads: true, resets: false },
            // `poll_transmit` asks for less than the window.
            fill: Fill::BelowTheEdge,
            least_window: 2,
            send_buffer: None,
        }),
        // connection/pacing.rs
        pacing: Pacing::Tokens(Tokens {
            percent: [125, 125],
            burst: Nanos::from_millis(2),
            packets: [10, 256],
            refill: Refill::Full,
        }),
        timestamps: true,
        ..Rules::RFC
    },
};
