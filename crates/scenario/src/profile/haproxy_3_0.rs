//! HTTP/3 of HAProxy 3.0.11, with its default settings: Cubic without HyStart, no pacing. The buffers of a connection hold 480 KB, which
//! limits what is in flight, whatever the window.

use firstflight_host::stack::{Datagrams, Fill, LimitedRule, Rules, Threshold};

use super::{DATAGRAMS, Options, QUIC, Stack};

pub(super) const STACK: Stack = Stack {
    // tune.quic.frontend.conn-tx-buffers.limit: 30 buffers of 16 KB (tune.bufsize)
    send_buffer: Some(30 << 14),
    rules: Rules {
        datagrams: Some(Datagrams {
            first: 1252,
            opening: &[574, 111, 222],
            // The Initial packet of a certificate of 0.5 KB: the window grows by it whether it was full or not.
            handshake: 1200,
            // `qc_build_pkt`: no more than `quic_cc_path_prep_data`, 40 bytes of it header and tag.
            fill: Fill::Cut(41),
            // tune.quic.reorder-ratio 50
            threshold: Threshold::ThreeAndHalfSent,
            ..DATAGRAMS
        }),
        // `quic_cc_cubic_ss_cb` asks for no use of the window.
        limited: LimitedRule::Ignored,
        ..QUIC.rules
    },
    options: Options {
        stack: "HAProxy 3.0",
        source: "HAProxy 3.0.11, `doc/configuration.txt`: `quic-cc-algo` on `bind`, the others in `global`",
        chains: &[("slow-start+cubic", "quic-cc-algo cubic"), ("slow-start+reno", "quic-cc-algo newreno")],
        initial_window: None,
        // Buffers of tune.bufsize, 16 KB.
        send_buffer: Some(|bytes| {
            format!("tune.quic.frontend.conn-tx-buffers.limit {}", bytes.div_ceil(1 << 14))
        }),
        notes: "The initial window cannot be chosen. Its HyStart, `tune.quic.cc-hystart on`, is none of the schemes here: on 100 ms with \
                an empty queue it ended slow start at 31 to 44 KB in three runs, and 10 MB took 9 s (`findings/haproxy-hystart-ends-slow-start-at-once.sh`). `tune.quic.frontend.conn-tx-buffers.limit`, 30 buffers of 16 KB, limits what is \
                in flight. Releases from 3.1 on have other names (`tune.quic.fe.…` from 3.3 on) and pace.",
    },
    ..QUIC
};
