//! Linux 6.x with its default settings.

use firstflight_contract::Nanos;
use firstflight_host::stack::{Detection, Pacing, Rules, Timers};

use super::{InitialWindow, Options, Stack, Transport};
use crate::choices::{Growth, IdleRestart, Receiver, Recovery};

pub(super) const STACK: Stack = Stack {
    transport: Transport::Tcp,
    operated: true,
    // 40 bytes and the timestamps option, 12 bytes with its padding
    header: 52,
    whole: None,
    startup: "slow-start",
    // HyStart is part of tcp_cubic, and on by default.
    startup_with: &[("cubic", "hystart-linux")],
    // net/ipv4/tcp_vegas.c, tcp_vegas_cong_avoid: alpha 2, beta 4, gamma 1.
    unlike: &[(
        "vegas",
        "Linux's Vegas doubles the window until one packet waits, and then keeps two to four",
    )],
    avoidance: "cubic",
    parameters: &[("cubic", "rules", "linux")],
    recovery: Recovery::Sack,
    // TCP_INIT_CWND
    initial_window: InitialWindow::Packets(10),
    // net.ipv4.tcp_rmem: a buffer of 6 MiB at most, half of it window (TCP_DEFAULT_SCALING_RATIO)
    receive_window: Some(3 << 20),
    // and of 128 KiB at first
    initial_receive_window: Some(64 << 10),
    send_buffer: None,
    receiver: Receiver::QuickAckThenDelayed,
    // TCP_DELACK_MIN
    delayed_ack_timer: Nanos::from_millis(40),
    quick_acks: 0,
    tuned_buffer: true,
    growth: Growth::AllAcked,
    // TCP_RTO_MIN, TCP_RTO_MAX
    min_rto: Nanos::from_millis(200),
    max_rto: Nanos::from_secs(120),
    initial_rto: Nanos::from_secs(1),
    // One jiffy at HZ = 250
    rto_granularity: Nanos::from_millis(4),
    // net.ipv4.tcp_slow_start_after_idle = 1
    idle_restart: IdleRestart::Restart,
    limited_transmit: true,
    handshake: true,
    options: Options::NONE,
    reductions: &[],
    rules: Rules {
        detection: Detection::Times,
        decrease_from_window: true,
        pacing: Pacing::Optional,
        timers: Timers::Wheel,
        timestamps: true,
        ..Rules::RFC
    },
};
