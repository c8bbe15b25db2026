//! HTTP/3 of nginx 1.26.3, with its default settings. The initial window holds 109 datagrams, of which the buffer of a stream lets 56
//! leave: 64 KB a round trip, whatever the window, also after a loss. Releases from 1.27.5 on have another initial window.

use firstflight_host::stack::{Datagrams, Fill, LimitedRule, Repairs, Rules};

use super::{DATAGRAMS, InitialWindow, Options, QUIC, Stack};

pub(super) const STACK: Stack = Stack {
    avoidance: "reno",
    // min (10 d, max (2 d, 14720)) with d = 65527, the largest payload of UDP
    initial_window: InitialWindow::Bytes(131_054),
    // http3_stream_buffer_size
    send_buffer: Some(65_536),
    rules: Rules {
        datagrams: Some(Datagrams {
            opening: &[645],
            fill: Fill::AcrossTheEdge,
            // `ngx_quic_resend_frames`
            repairs: Repairs::Last,
            // `ngx_quic_handle_ack_frame`
            grows_first: true,
            ..DATAGRAMS
        }),
        limited: LimitedRule::Ignored,
        ..QUIC.rules
    },
    options: Options {
        stack: "nginx 1.26",
        source: "nginx 1.26.3, `src/event/quic/`, `src/http/v3/ngx_http_v3_module.c`",
        chains: &[("slow-start+reno", "")],
        initial_window: None,
        // nginx takes a number of bytes.
        send_buffer: Some(|bytes| format!("http3_stream_buffer_size {bytes}")),
        notes: "Neither the scheme nor the initial window of 131,054 bytes can be chosen. `http3_stream_buffer_size`, 64 KB, limits \
                what is in flight (`findings/nginx-http3-sends-64-kb-a-round-trip.sh`): a larger buffer costs memory for each \
                stream, and lets the large initial window act.",
    },
    ..QUIC
};
