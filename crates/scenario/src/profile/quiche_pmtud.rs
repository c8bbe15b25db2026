//! quiche 0.30 with discovery of the path MTU, `discover_pmtu(true)`, and datagrams of up to 1472 bytes.

use firstflight_host::stack::{Datagrams, Discovery, Rules, Widening};

use super::{Options, Stack, quiche};

pub(super) const STACK: Stack = Stack {
    rules: Rules {
        datagrams: match quiche::STACK.rules.datagrams {
            Some(datagrams) => Some(Datagrams {
                // src/pmtud.rs; `pmtud_update_max_datagram_size`
                discovery: Discovery {
                    sizes: &[1472],
                    leads: true,
                    widens: Widening::Probe,
                    ..Discovery::NONE
                },
                ..datagrams
            }),
            None => None,
        },
        ..quiche::STACK.rules
    },
    options: Options {
        stack: "quiche 0.30 with discovery of the path MTU",
        source: "quiche 0.30.0, `src/lib.rs`, `src/pmtud.rs`, `Config`",
        notes: "`discover_pmtu(true)` with `set_max_send_udp_payload_size(1472)`.",
        ..quiche::STACK.options
    },
    ..quiche::STACK
};
