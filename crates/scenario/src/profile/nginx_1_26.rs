//! HTTP/3 of nginx 1.26.3, with its default settings. The initial window holds 109 datagrams, of which the buffer of a stream lets 56
//! leave: 64 KB a round trip, whatever the window, also after a loss. Releases from 1.27.5 on have another initial window.

use firstflight_host::stack::{Datagrams, Fill, LimitedRule, Rules};

use super::{DATAGRAMS, InitialWindow, QUIC, Stack};

pub(super) const STACK: Stack = Stack {
    avoidance: "reno",
    // min (10 d, max (2 d, 14720)) with d = 65527, the largest payload of UDP
    initial_window: InitialWindow::Bytes(131_054),
    rules: Rules {
        datagrams: Some(Datagrams {
            overhead: 32,
            opening: &[645],
            fill: Fill::AcrossTheEdge,
            // http3_stream_buffer_size
            send_buffer: Some(65_536),
            ..DATAGRAMS
        }),
        limited: LimitedRule::Ignored,
        ..QUIC.rules
    },
    ..QUIC
};
