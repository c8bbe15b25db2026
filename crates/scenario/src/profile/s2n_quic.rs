//! s2n-quic 1.91, a QUIC stack, with its default settings. Slow start ends at once where HyStart++ would become careful
//! (`recovery/hybrid_slow_start.rs`).

use firstflight_host::stack::{Datagrams, Discovery, LimitedRule, Repairs, Rules, Widening};

use super::{DATAGRAMS, Options, QUIC, Stack, bursts_of_ten};

pub(super) const STACK: Stack = Stack {
    startup: "hystart++",
    // An ACK adds all that it acknowledges.
    parameters: &[
        ("hystart++", "rules", "s2n-quic"),
        ("hystart++", "css_rounds", "0"),
        ("hystart++", "l", "0"),
        ("cubic", "rules", "s2n-quic"),
    ],
    rules: Rules {
        datagrams: Some(Datagrams {
            // path/mtu.rs: the payload of Ethernet first
            discovery: Discovery {
                sizes: &[1472],
                leads: true,
                widens: Widening::Arrival,
                ..Discovery::NONE
            },
            // HANDSHAKE_DONE, tickets and connection IDs
            opening: &[143],
            // `requires_fast_retransmission`
            repairs: Repairs::AtOnce,
            ..DATAGRAMS
        }),
        // `is_congestion_window_under_utilized`
        limited: LimitedRule::HalfUsed,
        // recovery/pacing.rs: bursts of MAX_BURST_PACKETS
        pacing: bursts_of_ten([200, 125]),
        ..QUIC.rules
    },
    options: Options {
        stack: "s2n-quic 1.91",
        source: "s2n-quic 1.91.0, `provider::congestion_controller`",
        chains: &[("hystart+++cubic", "cubic::Builder::default().build()")],
        // A method of the builder; the window counts bytes.
        initial_window: Some(|packets| format!(".with_initial_congestion_window({})", packets * 1200)),
        send_buffer: None,
        notes: "Slow start ends where HyStart++ would become careful. It is always paced.",
    },
    ..QUIC
};
