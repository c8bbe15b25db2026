//! The one-way TCP agents of ns-2.35, with the defaults of its `ns-default.tcl`.

use firstflight_contract::Nanos;
use firstflight_host::stack::{LimitedRule, MarkRule, RecoveryRule, Rules};

use super::{InitialWindow, Options, Stack, Transport};
use crate::choices::{Growth, IdleRestart, Receiver, Recovery};

pub(super) const STACK: Stack = Stack {
    transport: Transport::Tcp,
    operated: false,
    // size_ + tcpip_base_hdr_size_
    header: 40,
    whole: None,
    startup: "slow-start",
    startup_with: &[],
    unlike: &[],
    avoidance: "reno",
    // 1/cwnd for each ACK, RFC 5681 equation (3)
    parameters: &[
        ("reno", "growth", "per-ack"),
        ("westwood", "growth", "per-ack"),
        ("vegas", "growth", "per-ack"),
    ],
    // Agent/TCP/Newreno
    recovery: Recovery::NewReno,
    // windowInit_ 1
    initial_window: InitialWindow::Packets(1),
    receive_window: None,
    initial_receive_window: None,
    send_buffer: None,
    // Agent/TCPSink; Agent/TCPSink/DelAck has interval_ 100ms
    receiver: Receiver::AckEveryPacket,
    delayed_ack_timer: Nanos::from_millis(100),
    // The DelAck sink acknowledges the first packet at once.
    quick_acks: 1,
    tuned_buffer: false,
    growth: Growth::PerAck,
    // minrto_ 0.2, maxrto_ 60, tcpTick_ 0.01
    min_rto: Nanos::from_millis(200),
    max_rto: Nanos::from_secs(60),
    // rtxcur_init_ 3.0
    initial_rto: Nanos::from_secs(3),
    rto_granularity: Nanos::from_millis(10),
    // slow_start_restart_ true
    idle_restart: IdleRestart::Restart,
    // singledup_ 1
    limited_transmit: true,
    // One-way agents send no SYN.
    handshake: false,
    options: Options::NONE,
    reductions: &[],
    rules: Rules {
        recovery: RecoveryRule::Ns2,
        marks: MarkRule::Ns2,
        decrease_from_window: true,
        limited: LimitedRule::Ignored,
        whole_packets: true,
        rtt_per_ack: false,
        ..Rules::RFC
    },
};
