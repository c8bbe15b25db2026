//! The named stacks. The profile of a `[[flow]]` sets the defaults of its keys; no other code does.

use firstflight_contract::Nanos;

use crate::choices::{Growth, IdleRestart, Receiver, Recovery, words};

words! {
    /// A stack that sets the defaults of a flow.
    Profile {
        /// RFCs 5681, 6298, 6582, 6675, 6928.
        Rfc = "rfc",
        /// The one-way TCP agents of ns-2.35, with the defaults of its `ns-default.tcl`.
        Ns2 = "ns2",
        /// Linux 6.x with its default settings.
        Linux = "linux",
        /// quinn 0.11, a QUIC stack, with its default settings.
        Quinn = "quinn",
    }
}

/// Settings of a profile.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// Headers on every packet, bytes: IPv4, TCP, and the TCP options that every packet carries.
    pub header: u32,
    /// Start-up scheme, if the avoidance scheme is not in `startup_with`.
    pub startup: &'static str,
    /// Start-up schemes for certain avoidance schemes: the label of the avoidance scheme, then of the start-up scheme.
    pub startup_with: &'static [(&'static str, &'static str)],
    /// Avoidance schemes under whose name the stack has something else, which no chain here is: the label, and what the stack has.
    pub unlike: &'static [(&'static str, &'static str)],
    /// Avoidance scheme.
    pub avoidance: &'static str,
    /// Parameters of schemes: label, parameter, word.
    pub parameters: &'static [(&'static str, &'static str, &'static str)],
    /// Loss detection and retransmission.
    pub recovery: Recovery,
    /// Initial window.
    pub initial_window: InitialWindow,
    /// Largest window that the receiver offers, payload bytes; if `None`, without limit.
    pub receive_window: Option<u64>,
    /// First window that the receiver offers, payload bytes; if `None`, `receive_window`.
    pub initial_receive_window: Option<u64>,
    /// Times at which the receiver acknowledges.
    pub receiver: Receiver,
    /// Time for which a receiver that delays ACKs waits for a second packet.
    pub delayed_ack_timer: Nanos,
    /// Growth of the window that one ACK allows.
    pub growth: Growth,
    /// Smallest retransmission timeout.
    pub min_rto: Nanos,
    /// Largest retransmission timeout.
    pub max_rto: Nanos,
    /// Clock granularity of the retransmission timeout, which is rounded up.
    pub rto_granularity: Nanos,
    /// Effect of an idle time on the window.
    pub idle_restart: IdleRestart,
    /// Whether the first two duplicate ACKs release a new packet each (RFC 3042).
    pub limited_transmit: bool,
    /// Whether a handshake precedes the data.
    pub handshake: bool,
    /// Whether windows count whole packets, so that a fraction of a packet is not sent (ns-2), and not bytes.
    pub packet_counted: bool,
}

/// Rule for the initial window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// This number of full packets.
    Packets(u64),
    /// min (4*MSS, max (2*MSS, 4380)), RFC 3390 section 1.
    Rfc3390,
    /// min (10*MSS, max (2*MSS, 14600)), RFC 6928 section 2.
    Rfc6928,
    /// min (10*MSS, max (2*MSS, 14720)), RFC 9002 section 7.2 (QUIC).
    Rfc9002,
}

impl Stack {
    /// The start-up scheme that precedes this avoidance scheme.
    pub fn startup_before(&self, avoidance: &str) -> &'static str {
        let own = self.startup_with.iter().find(|(label, _)| *label == avoidance);
        own.map_or(self.startup, |(_, startup)| startup)
    }
}

impl InitialWindow {
    /// The rules that a scenario may name.
    pub const RULES: &'static [(&'static str, Self)] =
        &[("rfc3390", Self::Rfc3390), ("rfc6928", Self::Rfc6928), ("rfc9002", Self::Rfc9002)];

    /// The rule of this name.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::RULES.iter().find(|(rule, _)| *rule == word).map(|(_, window)| *window)
    }

    /// The window in bytes, where a full packet carries `payload` bytes.
    pub fn bytes(self, payload: u32) -> u64 {
        let mss = u64::from(payload);
        let most = |packets: u64, bytes: u64| (packets * mss).min((2 * mss).max(bytes));
        match self {
            Self::Packets(n) => n * mss,
            Self::Rfc3390 => most(4, 4380),
            Self::Rfc6928 => most(10, 14_600),
            Self::Rfc9002 => most(10, 14_720),
        }
    }
}

impl Profile {
    /// Whether its sender detects losses by the times of its segments: Linux by RACK, QUIC by RFC 9002.
    pub const fn detects_by_time(self) -> bool {
        matches!(self, Self::Linux | Self::Quinn)
    }

    /// The profile's settings.
    pub const fn stack(self) -> &'static Stack {
        match self {
            Self::Rfc => &RFC,
            Self::Ns2 => &NS2,
            Self::Linux => &LINUX,
            Self::Quinn => &QUINN,
        }
    }
}

const RFC: Stack = Stack {
    header: 40,
    startup: "slow-start",
    startup_with: &[],
    unlike: &[],
    avoidance: "reno",
    parameters: &[],
    recovery: Recovery::Sack,
    initial_window: InitialWindow::Rfc6928,
    receive_window: None,
    initial_receive_window: None,
    receiver: Receiver::Delayed,
    // RFC 5681 section 4.2 sets only a bound, 500 ms; 200 ms is the traditional BSD timer.
    delayed_ack_timer: Nanos::from_millis(200),
    growth: Growth::PerAck,
    // RFC 6298 rule (2.4): "Whenever RTO is computed, if it is less than 1 second, then the RTO SHOULD be
    // rounded up to 1 second."
    min_rto: Nanos::from_secs(1),
    // Rule (2.5): "A maximum value MAY be placed on RTO provided it is at least 60 seconds."
    max_rto: Nanos::from_secs(60),
    // RFC 6298 section 4 sets no granularity, but reports that 100 ms or finer does better than coarse clocks.
    rto_granularity: Nanos::from_millis(1),
    idle_restart: IdleRestart::Restart,
    limited_transmit: true,
    handshake: true,
    packet_counted: false,
};

const NS2: Stack = Stack {
    // size_ + tcpip_base_hdr_size_
    header: 40,
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
    // Agent/TCPSink; Agent/TCPSink/DelAck has interval_ 100ms
    receiver: Receiver::AckEveryPacket,
    delayed_ack_timer: Nanos::from_millis(100),
    growth: Growth::PerAck,
    // minrto_ 0.2, maxrto_ 60, tcpTick_ 0.01
    min_rto: Nanos::from_millis(200),
    max_rto: Nanos::from_secs(60),
    rto_granularity: Nanos::from_millis(10),
    // slow_start_restart_ true
    idle_restart: IdleRestart::Restart,
    // singledup_ 1
    limited_transmit: true,
    // One-way agents send no SYN.
    handshake: false,
    packet_counted: true,
};

const LINUX: Stack = Stack {
    // 40 bytes and the timestamps option, 12 bytes with its padding
    header: 52,
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
    receiver: Receiver::QuickAckThenDelayed,
    // TCP_DELACK_MIN
    delayed_ack_timer: Nanos::from_millis(40),
    growth: Growth::AllAcked,
    // TCP_RTO_MIN, TCP_RTO_MAX
    min_rto: Nanos::from_millis(200),
    max_rto: Nanos::from_secs(120),
    // One jiffy at HZ = 250
    rto_granularity: Nanos::from_millis(4),
    // net.ipv4.tcp_slow_start_after_idle = 1
    idle_restart: IdleRestart::Restart,
    limited_transmit: true,
    handshake: true,
    packet_counted: false,
};

const QUINN: Stack = Stack {
    // IPv4 and UDP, 28 bytes; a short header with a connection ID of 8 and a packet number of 2 bytes, the authentication tag of
    // 16 bytes; the header of a STREAM frame with an offset below 2^30
    header: 63,
    startup: "slow-start",
    startup_with: &[],
    unlike: &[],
    avoidance: "cubic",
    parameters: &[],
    recovery: Recovery::Sack,
    initial_window: InitialWindow::Rfc9002,
    // stream_receive_window: 12.5 MB/s in 100 ms
    receive_window: Some(1_250_000),
    initial_receive_window: None,
    // An ACK for every second packet (RFC 9000 section 13.2.2)
    receiver: Receiver::Delayed,
    // max_ack_delay, RFC 9000 section 18.2
    delayed_ack_timer: Nanos::from_millis(25),
    growth: Growth::AllAcked,
    // The probe timeout adds max_ack_delay (RFC 9002 section 6.2.1).
    min_rto: Nanos::from_millis(25),
    max_rto: Nanos::from_secs(120),
    // kGranularity, RFC 9002 section 6.1.2
    rto_granularity: Nanos::from_millis(1),
    idle_restart: IdleRestart::Keep,
    limited_transmit: true,
    handshake: true,
    packet_counted: false,
};

#[cfg(test)]
mod tests {
    use super::InitialWindow::{Rfc3390, Rfc6928, Rfc9002};

    #[test]
    fn large_initial_windows_are_those_of_their_rfcs() {
        // RFC 3390 section 1: 4 segments of at most 1095 bytes, 3 of at most 2190, else 2; it bounds bytes, so between
        // the steps the window is 4380 bytes. RFC 6928: 14600 bytes are ten segments of 1460. RFC 9002 section 7.2:
        // 14720 bytes; ten datagrams of 1200 are less.
        for (rule, payload, bytes) in [
            (Rfc3390, 536, 2144),
            (Rfc3390, 1095, 4380),
            (Rfc3390, 1460, 4380),
            (Rfc3390, 2190, 4380),
            (Rfc3390, 4000, 8000),
            (Rfc6928, 1460, 14_600),
            (Rfc6928, 8960, 17_920),
            (Rfc9002, 1200, 12_000),
            (Rfc9002, 1472, 14_720),
            (Rfc9002, 9000, 18_000),
        ] {
            assert_eq!(rule.bytes(payload), bytes, "{rule:?} {payload}");
        }
    }
}
