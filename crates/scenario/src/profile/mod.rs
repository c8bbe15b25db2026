//! The named stacks. The profile of a `[[flow]]` sets the defaults of its keys; no other code does.

use firstflight_contract::Nanos;
use firstflight_host::stack::{
    Datagrams, Detection, Discovery, Fill, LimitedRule, Pacing, RecoveryRule, Reduction, Refill, Repairs,
    Rules, Threshold, Tokens,
};

use crate::choices::{Growth, IdleRestart, Receiver, Recovery, words};

/// Declares each profile by its name, its word, and the file of its settings.
macro_rules! profiles {
    ($($(#[$doc:meta])* $name:ident = $word:literal in $file:ident,)+) => {
        $(mod $file;)+

        words! {
            /// A stack that sets the defaults of a flow.
            Profile { $($(#[$doc])* $name = $word),+ }
        }

        impl Profile {
            /// The profile's settings.
            pub const fn stack(self) -> &'static Stack {
                match self { $(Self::$name => &$file::STACK),+ }
            }
        }
    };
}

profiles! {
    /// RFCs 5681, 6298, 6582, 6675, 6928.
    Rfc = "rfc" in rfc,
    /// The one-way TCP agents of ns-2.35.
    Ns2 = "ns2" in ns2,
    /// Linux 6.x.
    Linux = "linux" in linux,
    /// quinn 0.11, a QUIC stack.
    Quinn = "quinn" in quinn,
    /// quiche 0.30, a QUIC stack.
    Quiche = "quiche" in quiche,
    /// quiche 0.30 with discovery of the path MTU (`discover_pmtu`).
    QuichePmtud = "quiche-pmtud" in quiche_pmtud,
    /// quic-go 0.65, a QUIC stack, and Caddy, which uses it.
    QuicGo = "quic-go" in quic_go,
    /// s2n-quic 1.91, a QUIC stack.
    S2nQuic = "s2n-quic" in s2n_quic,
    /// ngtcp2 1.11, a QUIC stack.
    Ngtcp2 = "ngtcp2" in ngtcp2,
    /// aioquic 1.7, a QUIC stack.
    Aioquic = "aioquic" in aioquic,
    /// picoquic d199d45b, a QUIC stack.
    Picoquic = "picoquic" in picoquic,
    /// HTTP/3 of nginx 1.26.
    Nginx126 = "nginx-1.26" in nginx_1_26,
    /// HTTP/3 of nginx 1.30.
    Nginx130 = "nginx-1.30" in nginx_1_30,
    /// HTTP/3 of HAProxy 3.0.
    Haproxy30 = "haproxy-3.0" in haproxy_3_0,
    /// HTTP/3 of HAProxy 3.4.
    Haproxy34 = "haproxy-3.4" in haproxy_3_4,
}

/// The part that stacks of QUIC have in common, by RFC 9000 and RFC 9002. Its peer sets no limit of flow control.
const QUIC: Stack = Stack {
    transport: Transport::Quic,
    operated: true,
    // IPv4 and UDP
    header: 28,
    whole: None,
    startup: "slow-start",
    startup_with: &[],
    unlike: &[],
    avoidance: "cubic",
    parameters: &[],
    recovery: Recovery::Sack,
    initial_window: InitialWindow::Rfc9002,
    receive_window: None,
    initial_receive_window: None,
    send_buffer: None,
    // An ACK for every second packet (RFC 9000 section 13.2.2)
    receiver: Receiver::Delayed,
    // max_ack_delay, RFC 9000 section 18.2
    delayed_ack_timer: Nanos::from_millis(25),
    quick_acks: 0,
    tuned_buffer: false,
    growth: Growth::AllAcked,
    // The probe timeout adds max_ack_delay (RFC 9002 section 6.2.1).
    min_rto: Nanos::from_millis(25),
    max_rto: Nanos::from_secs(120),
    initial_rto: Nanos::from_secs(1),
    // kGranularity, RFC 9002 section 6.1.2
    rto_granularity: Nanos::from_millis(1),
    idle_restart: IdleRestart::Keep,
    limited_transmit: true,
    handshake: true,
    options: Options::NONE,
    reductions: &[],
    rules: Rules {
        detection: Detection::Packets,
        decrease_from_window: true,
        limited: LimitedRule::LastAttempt,
        datagrams: Some(DATAGRAMS),
        timestamps: true,
        ..Rules::RFC
    },
};

/// Pacing in bursts of ten datagrams, at these percentages of the window a round trip in slow start and afterwards.
const fn bursts_of_ten(percent: [u64; 2]) -> Pacing {
    Pacing::Tokens(Tokens {
        percent,
        burst: Nanos::ZERO,
        packets: [10, 10],
        handshake: 0,
        refill: Refill::Full,
    })
}

/// Datagrams of 1200 bytes that fill the window (RFC 9000 section 14.1, RFC 9002 section 7).
const DATAGRAMS: Datagrams = Datagrams {
    first: 1200,
    // A short header with a connection ID of 8 bytes and a packet number of one, the authentication tag of 16 bytes; type and number of a
    // STREAM frame
    overhead: 28,
    opening: &[],
    handshake: 0,
    discovery: Discovery::NONE,
    fill: Fill::Whole,
    write: None,
    grows_by_packets: false,
    grows_first: false,
    threshold: Threshold::Three,
    repairs: Repairs::First,
    reduction: Reduction::AtOnce,
    // kMinimumWindow
    least_window: 2,
};

/// Settings of a profile.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// Transport protocol.
    pub transport: Transport,
    /// Whether an operator can change its settings: a simulator's stack has none.
    pub operated: bool,
    /// Headers on every packet, bytes: IPv4, TCP, and the TCP options that every packet carries; IPv4 and UDP for QUIC.
    pub header: u32,
    /// Scheme of the whole connection of a flow that names no scheme; `None` for start-up and avoidance.
    pub whole: Option<&'static str>,
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
    /// Most data beyond the first byte that is not acknowledged: the buffers of the stack that sends; if `None`, without limit.
    pub send_buffer: Option<u64>,
    /// Times at which the receiver acknowledges.
    pub receiver: Receiver,
    /// Time for which a receiver that delays ACKs waits for a second packet.
    pub delayed_ack_timer: Nanos,
    /// First packets that such a receiver acknowledges at once.
    pub quick_acks: u32,
    /// Whether the stack can have a receive buffer that grows while the application reads ([`Receiver::Tuned`]).
    pub tuned_buffer: bool,
    /// Growth of the window that one ACK allows.
    pub growth: Growth,
    /// Smallest retransmission timeout.
    pub min_rto: Nanos,
    /// Largest retransmission timeout.
    pub max_rto: Nanos,
    /// Retransmission timeout before the first sample of the round-trip time.
    pub initial_rto: Nanos,
    /// Clock granularity of the retransmission timeout, which is rounded up.
    pub rto_granularity: Nanos,
    /// Effect of an idle time on the window.
    pub idle_restart: IdleRestart,
    /// Whether the first two duplicate ACKs release a new packet each (RFC 3042).
    pub limited_transmit: bool,
    /// Whether a handshake precedes the data.
    pub handshake: bool,
    /// Rules that no key changes.
    pub rules: Rules,
    /// Reductions of certain avoidance schemes: the label, and their course.
    pub reductions: &'static [(&'static str, Reduction)],
    /// Options of the stack by which schemes and settings are had.
    pub options: Options,
}

/// Options of a stack by which schemes and settings are had today, in the release that a profile declares.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The stack and its release, as a reader knows it.
    pub stack: &'static str,
    /// Source of the names of options.
    pub source: &'static str,
    /// Chains that the stack has: the label, and the option; an empty option where the chain cannot be chosen.
    pub chains: &'static [(&'static str, &'static str)],
    /// The option for an initial window of so many packets.
    pub initial_window: Option<fn(u64) -> String>,
    /// The option for a send buffer of so many bytes.
    pub send_buffer: Option<fn(u64) -> String>,
    /// Facts about options that a reader would guess otherwise.
    pub notes: &'static str,
}

impl Options {
    /// No stack of today: a simulator's, or the rules of RFCs.
    pub const NONE: Self =
        Self { stack: "", source: "", chains: &[], initial_window: None, send_buffer: None, notes: "" };
}

/// Transport protocol of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// QUIC: a receiver reports every packet, and a first connection sends no data before the handshake.
    Quic,
}

/// Rule for the initial window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// This number of full packets.
    Packets(u64),
    /// This number of bytes.
    Bytes(u64),
    /// min (4*MSS, max (2*MSS, 4380)), RFC 3390 section 1.
    Rfc3390,
    /// min (10*MSS, max (2*MSS, 14600)), RFC 6928 section 2.
    Rfc6928,
    /// min (10*MSS, max (2*MSS, 14720)), RFC 9002 section 7.2 (QUIC).
    Rfc9002,
}

impl Stack {
    /// Bytes on the wire of an ACK: headers alone, or a QUIC packet with its frame.
    pub(crate) const fn ack_size(&self) -> u32 {
        match self.rules.datagrams {
            Some(datagrams) => self.header + datagrams.usual_overhead(),
            None => self.header,
        }
    }

    /// Bytes on the wire of a full packet with `data` bytes of data. A stack of QUIC has no smaller one than its first.
    pub fn full_packet(&self, data: u32) -> u32 {
        let least = self.rules.datagrams.map_or(0, |datagrams| self.header + datagrams.first);
        (data + self.ack_size()).max(least)
    }

    /// Its rules with this avoidance scheme.
    pub fn rules_with(&self, avoidance: &str) -> Rules {
        let mut rules = self.rules;
        if let Some(datagrams) = &mut rules.datagrams
            && let Some((_, own)) = self.reductions.iter().find(|(label, _)| *label == avoidance)
        {
            datagrams.reduction = *own;
        }
        rules
    }

    /// Whether the stack speaks QUIC.
    pub fn is_quic(&self) -> bool {
        self.transport == Transport::Quic
    }

    /// Whether a flow may ask for pacing with every scheme ([`Pacing::Optional`]).
    pub fn can_pace(&self) -> bool {
        self.rules.pacing == Pacing::Optional
    }

    /// Whether its SACK recovery has the scoreboard of RFC 6675.
    pub fn has_scoreboard(&self) -> bool {
        !self.rules.detects_by_time() && self.rules.recovery == RecoveryRule::Rfc
    }

    /// The start-up scheme that precedes this avoidance scheme.
    pub fn startup_before(&self, avoidance: &str) -> &'static str {
        let own = self.startup_with.iter().find(|(label, _)| *label == avoidance);
        own.map_or(self.startup, |(_, startup)| startup)
    }
}

impl InitialWindow {
    /// The rules that a scenario may name.
    pub(crate) const RULES: &'static [(&'static str, Self)] =
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
            Self::Bytes(bytes) => bytes,
            Self::Rfc3390 => most(4, 4380),
            Self::Rfc6928 => most(10, 14_600),
            Self::Rfc9002 => most(10, 14_720),
        }
    }
}

impl Profile {
    /// Words of the profiles whose stack has a property, for an error: `linux and all of QUIC`.
    pub fn with(property: impl Fn(&Stack) -> bool) -> String {
        let (quic, tcp): (Vec<Self>, Vec<Self>) = Self::ALL.iter().partition(|it| it.stack().is_quic());
        let has = |it: &&Self| property(it.stack());
        let mut words: Vec<_> = tcp.iter().filter(has).map(|it| it.word()).collect();
        match quic.iter().all(|it| has(&it)) {
            true => words.push("all of QUIC"),
            false => words.extend(quic.iter().filter(has).map(|it| it.word())),
        }
        match &words[..] {
            [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
            _ => words.concat(),
        }
    }
}

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
