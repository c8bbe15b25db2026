//! quiche 0.30, a QUIC stack, with its default settings: Cubic with HyStart++. Its pacing acts on BBR alone, so that every flight
//! is a burst; discovery of the path MTU is off.

use firstflight_host::stack::{Datagrams, Fill, Reduction, Rules};

use super::{DATAGRAMS, Options, QUIC, Stack};

pub(super) const STACK: Stack = Stack {
    startup: "hystart++",
    // recovery/congestion/cubic.rs, `ROLLBACK_THRESHOLD_PERCENT`
    reductions: &[("cubic", Reduction::Proportional(20))],
    rules: Rules {
        datagrams: Some(Datagrams {
            // A connection ID of 20 bytes
            overhead: 40,
            // `send_single`: more than MAX_STREAM_OVERHEAD, 12 bytes, behind a header and a tag of 38
            fill: Fill::Cut(51),
            ..DATAGRAMS
        }),
        ..QUIC.rules
    },
    options: Options {
        stack: "quiche 0.30",
        source: "quiche 0.30.0, `src/lib.rs`, `Config`",
        chains: &[
            ("hystart+++cubic", "set_cc_algorithm_name(\"cubic\"); enable_hystart(true)"),
            ("slow-start+cubic", "set_cc_algorithm_name(\"cubic\"); enable_hystart(false)"),
            ("hystart+++reno", "set_cc_algorithm_name(\"reno\"); enable_hystart(true)"),
            ("slow-start+reno", "set_cc_algorithm_name(\"reno\"); enable_hystart(false)"),
        ],
        initial_window: Some(|packets| format!("set_initial_congestion_window_packets({packets})")),
        send_buffer: None,
        notes: "`enable_pacing` acts on `bbr2_gcongestion` alone (`findings/quiche-paces-bbr-alone.sh`): with cubic and reno each \
                window leaves at once. `discover_pmtu(true)` costs a round trip of slow start if the \
                server sends after it has taken all acknowledgements of a flight \
                (`findings/quiche-loses-a-round-trip-to-path-mtu-discovery.sh`), and none if it sends after each one ([stacks.md](stacks.md)).",
    },
    ..QUIC
};
