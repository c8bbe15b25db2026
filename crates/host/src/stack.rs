//! Rules in which transport stacks differ. A stack is declared in these; a sender asks for a rule, never for a stack's name.

use firstflight_contract::Nanos;

/// Rules of a stack that no key of a scenario changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Signs of a loss.
    pub detection: Detection,
    /// Course of a recovery, where duplicate ACKs are the sign.
    pub recovery: RecoveryRule,
    /// Reduction for ECN marks, where duplicate ACKs are the sign of a loss.
    pub marks: MarkRule,
    /// Whether a multiplicative decrease applies to the window (ns-2, Linux) or to FlightSize (RFC 5681).
    pub decrease_from_window: bool,
    /// Times at which the window may grow.
    pub limited: LimitedRule,
    /// Datagrams, where packet numbers are the sign of a loss; `None` elsewhere.
    pub datagrams: Option<Datagrams>,
    /// Whether windows count whole packets, so that a fraction of a packet is not sent (ns-2), and not bytes.
    pub whole_packets: bool,
    /// Pacing.
    pub pacing: Pacing,
    /// Expiry of timers.
    pub timers: Timers,
    /// Whether every ACK gives a sample of the round-trip time, rather than one a round trip.
    pub rtt_per_ack: bool,
    /// Whether an ACK names the copy of the segment that arrived, by timestamps (RFC 7323) or QUIC's packet numbers.
    pub timestamps: bool,
}

/// Signs of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// Duplicate ACKs, or three segments reported above (RFC 5681, RFC 6675).
    Duplicates,
    /// The times of segments reported above too: RACK-TLP (RFC 8985). The recoveries Tahoe and Reno go by duplicate ACKs even so.
    Times,
    /// Packet numbers, and the times of packets sent before one that arrived: RFC 9002. Only with [`Rules::datagrams`].
    Packets,
}

/// Course of a recovery after duplicate ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryRule {
    /// RFCs 5681, 6582, 6675.
    Rfc,
    /// The agents Tahoe, Reno, Newreno and Sack1 of ns-2.35: no second fast retransmit for one window (`bugFix_`), at most two
    /// segments for an ACK in NewReno, a running pipe in Sack1, and growth by the ACK that ends the recovery.
    Ns2,
}

/// Reduction for ECN marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkRule {
    /// RFC 3168: once a window, none while a loss is repaired; retransmissions cannot be marked.
    Rfc3168,
    /// ns-2.35: the window shares its end with that of losses; retransmissions can be marked, and a mark before a timeout keeps
    /// the threshold.
    Ns2,
}

/// Times at which the window may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedRule {
    /// Always: the window grows whether it limits the sender or not. Only where duplicate ACKs are the sign of a loss.
    Ignored,
    /// For ACKs of what was in flight while the window limited the sender (RFC 7661's premise; `tcp_is_cwnd_limited` of Linux).
    InFlight,
    /// If the window or the pacer, and not the application, ended the last attempt to send before the ACK. The ACKs of a write's
    /// last flight add nothing. Only where packet numbers are the sign of a loss.
    LastAttempt,
    /// If the window, and neither the pacer nor the application, ended the last attempt to send; also for packets that left before a
    /// reduction, because the scheme rules its recoveries. Only where packet numbers are the sign of a loss.
    Window,
    /// If more than half of the window was in flight in slow start, and all but three packets of it later. Only where packet numbers
    /// are the sign of a loss.
    HalfUsed,
}

/// Datagrams of a QUIC stack. Sizes are bytes of UDP payload, and so are its windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagrams {
    /// A full datagram at first, and the unit of windows that are counted in packets.
    pub first: u32,
    /// Part of a datagram that is no data: headers of the packet and of the frame without its offset, authentication tag.
    pub overhead: u32,
    /// Datagrams without data that leave when the handshake ends: tickets and tokens. A pacer that goes in steps does not count them.
    pub opening: &'static [u32],
    /// Bytes of the window beyond its whole datagrams before the first data: the rest of a window in bytes, and what ACKs of the handshake
    /// have added.
    pub handshake: u64,
    /// Discovery of the path MTU.
    pub discovery: Discovery,
    /// Part of the window that is used.
    pub fill: Fill,
    /// Bytes that the application writes at a time: the last datagram of a write is shorter.
    pub write: Option<u32>,
    /// Whether slow start adds a full datagram for each packet that is acknowledged, whatever its size.
    pub grows_by_packets: bool,
    /// Whether the data of an ACK enlarges the window before the losses that the ACK shows reduce it, and not after (RFC 9002 section A.7).
    pub grows_first: bool,
    /// Numbers by which a later packet that arrived is ahead of a lost one.
    pub threshold: Threshold,
    /// Place of lost data among the data that waits.
    pub repairs: Repairs,
    /// Course of a reduction after a loss.
    pub reduction: Reduction,
    /// Smallest window, full datagrams (RFC 9002 section 7.2: `kMinimumWindow`).
    pub least_window: u64,
}

/// Discovery of the path MTU: a datagram without data tests each size (RFC 8899). Congestion windows count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// Sizes, each tested when the one before has arrived. Sizes that the network does not carry are left out.
    pub sizes: &'static [u32],
    /// Time from the end of the handshake, or from the arrival of a probe, to the next probe.
    pub delay: Nanos,
    /// Whether the first probe leaves before the first data, and not behind it.
    pub leads: bool,
    /// Time at which the window becomes one of as many datagrams of the larger size.
    pub widens: Widening,
}

/// Time at which a window becomes one of as many datagrams of the size that a probe has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Widening {
    /// Never: the window counts bytes.
    Never,
    /// When the probe leaves, if the window is the initial one.
    Probe,
    /// When the probe has arrived.
    Arrival,
}

/// Numbers by which a later packet that arrived is ahead of a lost one (RFC 9002 section 6.1.1: `kPacketThreshold`). The packets sent
/// are those from the oldest one in flight on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// Three.
    Three,
    /// Half of the packets sent, three at least.
    HalfSent,
    /// Three, and half of the packets sent behind the oldest one.
    ThreeAndHalfSent,
}

impl Threshold {
    /// The threshold, where this many packets were sent from the oldest one in flight on.
    pub const fn of(self, sent: u64) -> u64 {
        const LEAST: u64 = 3;
        match self {
            Self::Three => LEAST,
            Self::HalfSent if sent / 2 < LEAST => LEAST,
            Self::HalfSent => sent / 2,
            Self::ThreeAndHalfSent => LEAST + sent.saturating_sub(1) / 2,
        }
    }
}

/// Place of lost data among the data that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repairs {
    /// Before new data.
    First,
    /// Before new data, and the first datagram of a reduction whatever the window (RFC 9002 section 7.3.2).
    AtOnce,
    /// Behind the new data that the buffer of the stack holds.
    Last,
}

impl Datagrams {
    /// Offset from which its field has four bytes; before it has two, and none at the beginning (RFC 9000 section 16).
    pub const LONG_OFFSET: u64 = 1 << 14;

    /// Part of a datagram that is no data, where the data begins at `offset` of its stream.
    pub const fn overhead_at(&self, offset: u64) -> u32 {
        self.overhead
            + match offset {
                0 => 0,
                1..64 => 1,
                64..Self::LONG_OFFSET => 2,
                _ => 4,
            }
    }

    /// Part of a datagram in the middle of a transfer that is no data.
    pub const fn usual_overhead(&self) -> u32 {
        self.overhead_at(Self::LONG_OFFSET)
    }
}

impl Discovery {
    /// Datagrams keep their size.
    pub const NONE: Self = Self { sizes: &[], delay: Nanos::ZERO, leads: false, widens: Widening::Never };
}

/// Part of the window that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// A full datagram leaves if it fits.
    Whole,
    /// It leaves if a byte is left behind it, so that ten datagrams of window let nine leave.
    BelowTheEdge,
    /// It leaves while any byte of the window is free.
    AcrossTheEdge,
    /// New data is cut to what is left of the window, where that holds a datagram of this size. Lost data leaves as it was cut.
    Cut(u32),
}

/// Course of a reduction after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Nothing leaves before less is in flight than the new window.
    AtOnce,
    /// Proportional rate reduction (RFC 6937): each ACK of the recovery allows an amount, which adds to what the new window leaves free.
    /// The reduction is undone if fewer packets were lost than this percentage of the window, two at least. The first ACK of a packet
    /// sent after the reduction does that, but for the reduction that ended slow start.
    Proportional(u64),
}

/// Pacing of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// At the rates of schemes alone.
    Schemes,
    /// Where a flow asks for it, also at Linux's rate for every scheme without one (`tcp_update_pacing_rate`).
    Optional,
    /// At the rates and bursts of schemes, by a stack of QUIC that takes them. Only where packet numbers are the sign of a loss.
    Rates,
    /// Always, from a bucket of tokens. Only where packet numbers are the sign of a loss.
    Tokens(Tokens),
}

/// A bucket of tokens, by which a stack paces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// Percent of the window that leaves in a round trip (RFC 9002 section 7.7: `N`), in slow start and afterwards.
    pub percent: [u64; 2],
    /// Part of the window that the bucket holds: that of this time.
    pub burst: Nanos,
    /// Smallest and largest bucket, packets.
    pub packets: [u64; 2],
    /// Bytes that the handshake has taken out of the bucket.
    pub handshake: u64,
    /// Wait of a packet that finds no tokens.
    pub refill: Refill,
}

impl Tokens {
    /// Percent of the window that leaves in a round trip.
    pub const fn percent_at(&self, in_slow_start: bool) -> u64 {
        self.percent[!in_slow_start as usize]
    }
}

/// Wait of a packet that finds no tokens in the bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refill {
    /// Until the bucket is full, so that packets leave in bursts.
    Full,
    /// Until there are tokens for the packet, but at least this time.
    Packet(Nanos),
    /// Until the time has passed that the last burst takes at the rate. A burst has what the window allows, and this many bytes at most. It
    /// is one call of the kernel (UDP GSO), so that a datagram of another size ends it.
    Behind(u32),
    /// The time of a packet, in whole ticks. A packet leaves if any tokens are left.
    AnyLeft {
        /// The bucket holds the window divided by this.
        part: u64,
        /// Tick of the timer.
        tick: Nanos,
    },
    /// The time of a packet, in whole steps. Each attempt to send adds whole packets: the time since the last one, at a rate that is
    /// rounded up to whole packets a step.
    Steps {
        /// A step.
        step: Nanos,
        /// Lateness of the timer.
        late: Nanos,
    },
}

/// Expiry of timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timers {
    /// When they are due. A clock of a millisecond or finer is treated as exact, since every timeout is much longer.
    Due,
    /// At a tick of the kernel's timer wheel.
    Wheel,
}

impl Rules {
    /// The rules of the RFCs for TCP.
    pub const RFC: Self = Self {
        detection: Detection::Duplicates,
        recovery: RecoveryRule::Rfc,
        marks: MarkRule::Rfc3168,
        decrease_from_window: false,
        limited: LimitedRule::InFlight,
        datagrams: None,
        whole_packets: false,
        pacing: Pacing::Schemes,
        timers: Timers::Due,
        rtt_per_ack: true,
        timestamps: false,
    };

    /// Whether the sender detects losses by the times of its segments too.
    pub const fn detects_by_time(&self) -> bool {
        matches!(self.detection, Detection::Times | Detection::Packets)
    }
}
