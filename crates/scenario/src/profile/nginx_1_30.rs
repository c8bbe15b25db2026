//! HTTP/3 of nginx 1.30.6, with its default settings. The initial window is that of RFC 9002. From the third round trip on the buffer of a
//! stream limits what is in flight to 64 KB, whatever the window.

use firstflight_contract::Nanos;
use firstflight_host::stack::{Datagrams, Discovery, Fill, LimitedRule, Repairs, Rules, Threshold};

use super::{DATAGRAMS, Options, QUIC, Stack};

pub(super) const STACK: Stack = Stack {
    // http3_stream_buffer_size
    send_buffer: Some(65_536),
    rules: Rules {
        // `ngx_quic_congestion_lost`
        decrease_from_window: false,
        datagrams: Some(Datagrams {
            // Of 1200 bytes, which frames seldom fill
            first: 1198,
            opening: &[645],
            // The rest of 12,000 bytes
            handshake: 20,
            fill: Fill::AcrossTheEdge,
            // `ngx_quic_discover_path_mtu`: the largest size that the client takes
            discovery: Discovery {
                sizes: &[1472],
                delay: Nanos::from_millis(100),
                leads: false,
                ..Discovery::NONE
            },
            // `ngx_quic_packet_threshold`
            threshold: Threshold::HalfSent,
            // `ngx_quic_resend_frames`
            repairs: Repairs::Last,
            // `ngx_quic_handle_ack_frame`
            grows_first: true,
            ..DATAGRAMS
        }),
        // `ngx_quic_congestion_idle`
        limited: LimitedRule::LastAttempt,
        ..QUIC.rules
    },
    options: Options {
        stack: "nginx 1.30",
        source: "nginx 1.30.6, `src/event/quic/`, `src/http/v3/ngx_http_v3_module.c`",
        chains: &[("slow-start+cubic", "")],
        initial_window: None,
        send_buffer: Some(|bytes| format!("http3_stream_buffer_size {bytes}")),
        notes: "Neither the scheme nor the initial window of 12,000 bytes can be chosen. `http3_stream_buffer_size`, 64 KB, limits \
                what is in flight: a larger buffer costs memory for each stream.",
    },
    ..QUIC
};
