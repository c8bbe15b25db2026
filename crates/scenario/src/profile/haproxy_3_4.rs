//! HTTP/3 of HAProxy 3.4.7, with its default settings: Cubic without HyStart, paced in steps of a millisecond. In each step leave as many
//! datagrams as the window has for a millisecond, rounded up. The buffers of a connection hold 480 KB, which limits what is in flight.

use firstflight_contract::Nanos;
use firstflight_host::stack::{Datagrams, Fill, LimitedRule, Pacing, Refill, Rules, Threshold, Tokens};

use super::{DATAGRAMS, Options, QUIC, Stack};

pub(super) const STACK: Stack = Stack {
    send_buffer: Some(30 << 14),
    rules: Rules {
        datagrams: Some(Datagrams {
            first: 1252,
            opening: &[638, 156, 216],
            handshake: 1200,
            fill: Fill::Cut(41),
            // tune.quic.fe.cc.reorder-ratio 50
            threshold: Threshold::ThreeAndHalfSent,
            ..DATAGRAMS
        }),
        limited: LimitedRule::HalfUsed,
        // `quic_pacing_reload`
        pacing: Pacing::Tokens(Tokens {
            percent: [100, 100],
            burst: Nanos::ZERO,
            packets: [2, 1 << 20],
            handshake: 0,
            // The loop of events wakes a millisecond after the time that it is asked for.
            refill: Refill::Steps { step: Nanos::from_millis(1), late: Nanos::from_millis(1) },
        }),
        ..QUIC.rules
    },
    options: Options {
        stack: "HAProxy 3.4",
        source: "HAProxy 3.4.7, `doc/configuration.txt`: `quic-cc-algo` on `bind`, the others in `global`",
        chains: &[("slow-start+cubic", "quic-cc-algo cubic"), ("slow-start+reno", "quic-cc-algo newreno")],
        initial_window: None,
        send_buffer: None,
        notes: "The initial window cannot be chosen. Its HyStart, `tune.quic.fe.cc.hystart on`, is none of the schemes here: on 100 ms with \
                an empty queue it ended slow start at 33 KB, and 10 MB took 9 s. `tune.quic.fe.tx.pacing off` sends each window at once; `tune.quic.fe.cc.max-win-size`, 480 KB, \
                limits the window.",
    },
    ..QUIC
};
