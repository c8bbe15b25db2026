//! picoquic at d199d45b (2026-08-16), a QUIC stack, as its simulator `pico_sim` has it: a scheme paces, and sees each loss. Neither the
//! client's ACKs less often than every second packet (ACK frequency, once start-up has ended) nor the repair of spurious losses is here.

use firstflight_contract::Nanos;
use firstflight_host::stack::{Datagrams, Discovery, Fill, LimitedRule, Pacing, Rules};

use super::{DATAGRAMS, InitialWindow, Options, QUIC, Stack};

pub(super) const STACK: Stack = Stack {
    whole: Some("cubic-picoquic"),
    // PICOQUIC_CWIN_INITIAL, ten packets of 1536 bytes
    initial_window: InitialWindow::Bytes(15_360),
    // PICOQUIC_ACK_DELAY_MAX
    delayed_ack_timer: Nanos::from_millis(10),
    min_rto: Nanos::from_millis(10),
    rules: Rules {
        datagrams: Some(Datagrams {
            // PICOQUIC_INITIAL_MTU_IPV4
            first: 1252,
            // PICOQUIC_PRACTICAL_MAX_MTU
            discovery: Discovery { sizes: &[1440], leads: true, ..Discovery::NONE },
            // `cwin > bytes_in_transit`
            fill: Fill::AcrossTheEdge,
            ..DATAGRAMS
        }),
        // `cwin_blocked`
        limited: LimitedRule::Window,
        // picoquic/pacing.c
        pacing: Pacing::Rates,
        ..QUIC.rules
    },
    options: Options {
        stack: "picoquic d199d45b",
        source: "picoquic d199d45b, `picoquic_set_congestion_algorithm_ex`",
        chains: &[
            ("cubic-picoquic", "picoquic_cubic_algorithm"),
            ("bbr3-picoquic", "picoquic_bbr_algorithm"),
            ("c4", "picoquic_c4_algorithm"),
        ],
        initial_window: None,
        send_buffer: None,
        notes: "The initial window of 15360 bytes cannot be chosen, and its pacer has no switch.",
    },
    ..QUIC
};
