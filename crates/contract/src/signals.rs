//! Signals that a phase may need and a host may lack.

/// Set of signals beyond ACKs and congestion episodes. A host that lacks a signal refuses a phase that needs it when the flow
/// is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signals(pub u32);

impl Signals {
    /// Nothing beyond ACKs and congestion episodes.
    pub const NONE: Self = Self(0);
    /// Every ACK carries an RTT sample (timestamps or per-packet send times).
    pub const RTT: Self = Self(1);
    /// The host can pace.
    pub const PACING: Self = Self(2);
    /// The host samples the delivery rate per ACK.
    pub const RATE: Self = Self(4);
    /// The routers on the path can grant a rate ([`Control::ask`](crate::Control::ask)).
    pub const GRANT: Self = Self(8);
    /// The host reports every packet that it sends ([`Phase::on_sent`](crate::Phase::on_sent)).
    pub const SENT: Self = Self(16);
    /// The handshake measures the RTT before the connection begins.
    pub const HANDSHAKE: Self = Self(32);
    /// A memory of the path may propose a start ([`Entry::plan`](crate::Entry::plan)).
    pub const PLAN: Self = Self(64);
    /// All connections to a destination share one window (RFC 3124).
    pub const SHARED_WINDOW: Self = Self(128);
    /// The routers on the path report a change of the window ([`Ack::feedback`](crate::Ack::feedback)).
    pub const FEEDBACK: Self = Self(256);
    /// The routers on the path report their load ([`Ack::load`](crate::Ack::load)).
    pub const LOAD: Self = Self(512);
    /// All signals that come from the routers on the path.
    pub const ROUTERS: Self = Self::GRANT.union(Self::FEEDBACK).union(Self::LOAD);
    /// The host can abandon a flight and retransmit from the cumulative ACK
    /// ([`Control::provisional`](crate::Control::provisional)).
    pub const START_OVER: Self = Self(1024);

    /// The host reports every segment that it declares lost ([`Phase::on_lost`](crate::Phase::on_lost)), and with each
    /// delivery-rate sample what was lost and in flight when the segment of that sample left.
    pub const LOSSES: Self = Self(2048);

    const NAMES: [(Self, &'static str); 12] = [
        (Self::LOSSES, "per-packet-loss"),
        (Self::START_OVER, "start-over"),
        (Self::SHARED_WINDOW, "shared-window"),
        (Self::PLAN, "path-memory"),
        (Self::HANDSHAKE, "handshake-rtt"),
        (Self::SENT, "per-packet-send"),
        (Self::RTT, "rtt-per-ack"),
        (Self::PACING, "pacing"),
        (Self::RATE, "delivery-rate"),
        (Self::GRANT, "router-grant"),
        (Self::FEEDBACK, "router-feedback"),
        (Self::LOAD, "router-load"),
    ];

    /// Signals of this set, of `other`, or of both.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every signal of `other` is in this set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Signals of this set that are not in `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Names of the signals in this set, as in results.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(s, _)| self.has(*s)).map(|(_, name)| name)
    }
}
