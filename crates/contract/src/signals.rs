//! Signals that a phase may need and a host may lack.

/// Signals beyond the always-present ones; a host that lacks one refuses the phase when the flow is built.
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
    /// The routers of the path can grant a rate.
    pub const GRANT: Self = Self(8);

    /// The host reports every packet it sends ([`Phase::on_sent`]).
    pub const SENT: Self = Self(16);

    /// The RTT is known when the connection begins, from its handshake.
    pub const HANDSHAKE: Self = Self(32);

    /// A memory of the path may propose how to start ([`Entry::plan`]).
    pub const PLAN: Self = Self(64);

    /// The window is one for all connections to a destination (RFC 3124).
    pub const SHARED_WINDOW: Self = Self(128);

    /// The routers of the path say by how much the window is to change ([`Ack::feedback`]).
    pub const FEEDBACK: Self = Self(256);

    /// The routers of the path say how loaded they are ([`Ack::load`]).
    pub const LOAD: Self = Self(512);

    /// What only the routers of the path can give.
    pub const ROUTERS: Self = Self::GRANT.and(Self::FEEDBACK).and(Self::LOAD);

    /// The host can give up a flight and start over ([`Control::provisional`]).
    pub const START_OVER: Self = Self(1024);

    const NAMES: [(Self, &'static str); 11] = [
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

    /// Both sets together.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every signal of `other` is in this set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The signals of this set that `offered` lacks.
    pub const fn missing_from(self, offered: Self) -> Self {
        Self(self.0 & !offered.0)
    }

    /// The names of the signals in this set, as results print them.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(s, _)| self.has(*s)).map(|(_, name)| name)
    }
}
