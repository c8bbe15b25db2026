//! RFCs 5681, 6298, 6582, 6675, 6928.

use firstflight_contract::Nanos;
use firstflight_host::stack::Rules;

use super::{InitialWindow, Options, Stack, Transport};
use crate::choices::{Growth, IdleRestart, Receiver, Recovery};

pub(super) const STACK: Stack = Stack {
    transport: Transport::Tcp,
    operated: true,
    header: 40,
    whole: None,
    startup: "slow-start",
    startup_with: &[],
    unlike: &[],
    avoidance: "reno",
    parameters: &[],
    recovery: Recovery::Sack,
    initial_window: InitialWindow::Rfc6928,
    receive_window: None,
    initial_receive_window: None,
    send_buffer: None,
    receiver: Receiver::Delayed,
    // RFC 5681 section 4.2 sets only a bound, 500 ms; 200 ms is the traditional BSD timer.
    delayed_ack_timer: Nanos::from_millis(200),
    quick_acks: 0,
    tuned_buffer: false,
    growth: Growth::PerAck,
    // RFC 6298 rule (2.4): "Whenever RTO is computed, if it is less than 1 second, then the RTO SHOULD be
    // rounded up to 1 second."
    min_rto: Nanos::from_secs(1),
    // Rule (2.5): "A maximum value MAY be placed on RTO provided it is at least 60 seconds."
    max_rto: Nanos::from_secs(60),
    // Rule (2.1).
    initial_rto: Nanos::from_secs(1),
    // RFC 6298 section 4 sets no granularity, but reports that 100 ms or finer does better than coarse clocks.
    rto_granularity: Nanos::from_millis(1),
    idle_restart: IdleRestart::Restart,
    limited_transmit: true,
    handshake: true,
    options: Options::NONE,
    reductions: &[],
    rules: Rules::RFC,
};
