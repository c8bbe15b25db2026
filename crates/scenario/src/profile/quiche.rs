//! quiche 0.30, a QUIC stack, with its default settings: Cubic with HyStart++. Its pacing acts on BBR alone, so that every flight
//! is a burst; discovery of the path MTU is off.

use firstflight_host::stack::{Datagrams, Rules};

use super::{DATAGRAMS, QUIC, Stack};

pub(super) const STACK: Stack = Stack {
    startup: "hystart++",
    rules: Rules {
        // A connection ID of 20 bytes
        datagrams: Some(Datagrams { overhead: 43, ..DATAGRAMS }),
        ..QUIC.rules
    },
    ..QUIC
};
