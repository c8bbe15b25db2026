//! The whole contract between a scheme and its host.
//!
//! A host (the simulator, a QUIC stack, the kernel) measures; a scheme decides. What the host measured reaches
//! the scheme in one flat struct per event; what the scheme decided is in [`Control`]. Neither side knows more
//! of the other. All windows and amounts are bytes of payload, all times [`Nanos`], all rates [`Rate`].
//! Zero means "not known" unless a field says otherwise.

use crate::units::{Nanos, Rate};

/// One processed ACK that delivered data, as the host measured it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Arrival of the ACK.
    pub now: Nanos,
    /// RTT sample of the newest packet this ACK delivered; zero if only retransmissions were delivered.
    pub rtt: Nanos,
    /// Smallest RTT seen on the connection.
    pub min_rtt: Nanos,
    /// Smoothed RTT (RFC 6298).
    pub srtt: Nanos,
    /// Bytes newly delivered by this ACK, cumulatively or selectively; without SACK a duplicate ACK delivers a segment, and the
    /// cumulative ACK that covers it later does not again.
    pub acked: u64,
    /// Bytes of `acked` that may enlarge the window under the host's growth rule: one segment per ACK in
    /// RFC 5681, at most two under byte counting (RFC 3465), all of them in Linux; zero while the window
    /// does not limit the sender, where the host's profile has that rule.
    pub growth: u64,
    /// Total bytes delivered since the connection began, this ACK included.
    pub delivered: u64,
    /// Total bytes sent since the connection began, retransmissions included.
    pub sent: u64,
    /// Total bytes declared lost since the connection began.
    pub lost: u64,
    /// Total bytes retransmitted since the connection began.
    pub retransmitted: u64,
    /// Bytes in flight before this ACK.
    pub in_flight: u64,
    /// Bytes in flight after this ACK: without what it delivered and what it showed to be lost, before anything
    /// is sent for it (RFC 6675's pipe).
    pub pipe: u64,
    /// Bytes newly reported as marked by ECN.
    pub ce: u64,
    /// Delivery-rate sample; zero where this ACK gives none. Only for schemes that need [`Signals::RATE`].
    pub rate: Rate,
    /// `delivered` at the time when the newest packet that this ACK delivered had left; it may be zero. Only for schemes
    /// that need [`Signals::RATE`].
    pub prior_delivered: u64,
    /// Rate the routers on the path granted; only for schemes that need [`Signals::GRANT`].
    pub granted: Rate,
    /// By how much the routers on the path let the window grow, or want it to shrink, since the last ACK that the phase
    /// was told of: in 2^-16 bytes. Only for schemes that need [`Signals::FEEDBACK`].
    pub feedback: i64,
    /// How loaded the most loaded router on the path is; only for schemes that need [`Signals::LOAD`].
    pub load: Load,
    /// Packet-timed round trips completed since the connection began, counted once by the host.
    pub round: u32,
    /// [`Ack::ROUND_START`], [`Ack::APP_LIMITED`], [`Ack::RECOVERY`], [`Ack::RATE_LIMITED`], [`Ack::MAYBE_DELAYED`].
    pub flags: u32,
}

impl Ack {
    /// The first ACK of a new round.
    pub const ROUND_START: u32 = 1;
    /// The sender ran out of data or receive window, not out of congestion window.
    pub const APP_LIMITED: u32 = 2;
    /// A loss episode is being repaired: the host, not the scheme, rules the window.
    pub const RECOVERY: u32 = 4;
    /// The rate sample reaches over a time when the application, not the window, limited the sender: it may be
    /// below what the path can do.
    pub const RATE_LIMITED: u32 = 8;
    /// One lone segment was acknowledged: the receiver may have held its ACK back.
    pub const MAYBE_DELAYED: u32 = 16;

    /// Whether all bits of `flag` are set.
    #[inline]
    pub const fn is(&self, flag: u32) -> bool {
        self.flags & flag == flag
    }
}

/// How loaded a router is, as two bits say it.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Load {
    /// No router said anything.
    #[default]
    Unknown,
    /// There is room for more.
    Low,
    /// There is a little room.
    High,
    /// There is more than it can carry.
    Over,
}

/// Somebody who can say what an ACK brought. A host on whose speed much depends implements it so that the fields nobody
/// reads are never computed.
pub trait DescribeAck {
    /// What it brought.
    fn describe(&self) -> Ack;
}

impl DescribeAck for Ack {
    #[inline(always)]
    fn describe(&self) -> Ack {
        *self
    }
}

/// The start of a loss, mark or timeout episode. The host reports each episode once.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Congestion {
    /// When the host noticed.
    pub now: Nanos,
    /// Bytes in flight at that moment, the lost ones included.
    pub in_flight: u64,
    /// The window a multiplicative decrease applies to: FlightSize in RFC 5681, the congestion window in
    /// ns-2 and Linux. Never zero.
    pub base: u64,
    /// Bytes declared lost so far in this episode.
    pub lost: u64,
    /// Smallest RTT seen on the connection.
    pub min_rtt: Nanos,
    /// What announced it.
    pub trigger: Trigger,
}

/// What announced a congestion episode.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trigger {
    /// Lost packets, found by duplicate or selective ACKs.
    #[default]
    Loss,
    /// An ECN echo.
    Mark,
    /// The retransmission timer; the host sets the window to one segment afterwards.
    Timeout,
}

/// Why a phase begins, and what is known of the path then. Nothing else about the path reaches a phase.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    /// When the phase begins.
    pub now: Nanos,
    /// Smoothed RTT, or the handshake's; zero if there was none yet.
    pub rtt: Nanos,
    /// Bytes in flight.
    pub in_flight: u64,
    /// Bytes the application has queued; `u64::MAX` if unlimited.
    pub flow_size: u64,
    /// The peer's receive window in bytes.
    pub receive_window: u64,
    /// The congestion window before an idle time, bytes, whatever the host's own rule has made of it since; zero unless
    /// `why` is [`Why::Idle`].
    pub window: u64,
    /// What a path memory says; all zero where there is none.
    pub plan: Plan,
    /// Rate the routers on the path granted to the opening packet, which asked for [`Control::ask`];
    /// [`Rate::NONE`] if it did not ask, or they did not all agree.
    pub granted: Rate,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// What led here.
    pub why: Why,
}

/// What led a connection into a phase.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Why {
    /// The connection begins.
    #[default]
    Connect,
    /// The phase before this one ended.
    Handover,
    /// Sending resumes after an idle time.
    Idle,
    /// The path changed.
    Migrate,
    /// The retransmission timer fired: the window is one segment.
    Timeout,
}

/// A start proposed by a memory of the path; its age lets a phase judge it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Remembered or proposed window, bytes.
    pub cwnd: u64,
    /// Proposed slow-start threshold, bytes.
    pub ssthresh: u64,
    /// RTT the proposal was made under.
    pub rtt: Nanos,
    /// Time since it was learned.
    pub age: Nanos,
    /// How many samples it rests on.
    pub samples: u64,
}

/// The registers a phase may write. The host clamps and enforces them.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; `u64::MAX` is infinite.
    pub ssthresh: u64,
    /// Pacing rate; [`Rate::NONE`] sends as the window allows.
    pub pacing: Rate,
    /// Rate to ask the routers for; [`Rate::NONE`] asks nothing.
    pub ask: Rate,
    /// Most bytes that may leave back to back under pacing; zero is one segment.
    pub burst: u64,
    /// Whether new data leaves marked as droppable: routers that know the mark drop such packets before others.
    pub droppable: bool,
    /// Whether the window in use is a guess to be given up at once: the retransmission timer waits SRTT + 4 RTTVAR without
    /// its lower bound, and it, or a partial ACK, makes the sender start over from the cumulative ACK without backing
    /// off, once anything sent since the guess is acknowledged. The phase is told of either as [`Trigger::Timeout`].
    pub provisional: bool,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            cwnd: 0,
            ssthresh: u64::MAX,
            pacing: Rate::NONE,
            ask: Rate::NONE,
            burst: 0,
            droppable: false,
            provisional: false,
        }
    }
}

impl Control {
    /// Lets `bytes` leave evenly spaced over `span`, a segment of `mss` bytes at a time.
    pub fn pace(&mut self, bytes: u64, span: Nanos, mss: u64) {
        self.pacing = Rate::of(bytes, span).max(Rate(1));
        self.burst = mss;
    }

    /// Sends as the window allows.
    pub fn stop_pacing(&mut self) {
        self.pacing = Rate::NONE;
        self.burst = 0;
    }
}

/// Whether a phase goes on, and if not, why not: no phase ends without saying so.
///
/// From [`Phase::on_congestion`], `Exit` means that the next phase must still reduce the window; a phase that
/// reduces it by a rule of its own answers `Stay` and leaves with a later ACK.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The phase goes on.
    Stay,
    /// Start-up is over, for this reason, yet the phase still rules: it has to answer for what it sent (a first
    /// flight not yet acknowledged, say). It leaves with `Exit` later; the reason that counts is this one.
    Over(Exit),
    /// The phase is over.
    Exit(Exit),
}

/// Why a start-up phase ended; the words are those of the JSON contract.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// The window reached the slow-start threshold.
    Threshold,
    /// Packets were lost.
    Loss,
    /// An ECN mark arrived.
    Mark,
    /// The RTT rose.
    Delay,
    /// A train of closely spaced ACKs spanned the path.
    AckTrain,
    /// Delivery fell behind sending.
    Delivery,
    /// A bandwidth estimate was reached.
    Estimate,
    /// A remembered window was confirmed.
    Validated,
    /// The paced first flight was sent in full.
    PacedOut,
    /// The first ACK arrived.
    FirstAck,
    /// The retransmission timer fired.
    Timeout,
}

impl Exit {
    /// Every reason, in declaration order.
    pub const ALL: [Self; 11] = [
        Self::Threshold,
        Self::Loss,
        Self::Mark,
        Self::Delay,
        Self::AckTrain,
        Self::Delivery,
        Self::Estimate,
        Self::Validated,
        Self::PacedOut,
        Self::FirstAck,
        Self::Timeout,
    ];

    /// The word used in results.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Threshold => "threshold",
            Self::Loss => "loss",
            Self::Mark => "mark",
            Self::Delay => "delay",
            Self::AckTrain => "ack-train",
            Self::Delivery => "delivery",
            Self::Estimate => "estimate",
            Self::Validated => "validated",
            Self::PacedOut => "paced-out",
            Self::FirstAck => "first-ack",
            Self::Timeout => "timeout",
        }
    }
}

impl From<Trigger> for Exit {
    fn from(trigger: Trigger) -> Self {
        match trigger {
            Trigger::Loss => Self::Loss,
            Trigger::Mark => Self::Mark,
            Trigger::Timeout => Self::Timeout,
        }
    }
}

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

/// One phase of a connection. A start-up phase ends; an avoidance phase never does.
///
/// A phase has no clock, no I/O, no randomness and allocates nothing. The host clamps `cwnd` to at least one
/// segment after every call.
pub trait Phase {
    /// The connection is about to open, and nothing is known yet but what is queued: a phase that wants the routers to
    /// grant a rate writes [`Control::ask`]. Their answer is in [`Entry::granted`] when it begins.
    fn open(&mut self, _entry: &Entry, _control: &mut Control) {}

    /// The phase begins; its persistent state (an estimate, say) may survive from an earlier stay.
    fn enter(&mut self, entry: &Entry, control: &mut Control);

    /// Bytes left the host; called only where a phase of the chain needs [`Signals::SENT`].
    fn on_sent(&mut self, _now: Nanos, _bytes: u64, _control: &mut Control) {}

    /// New data was acknowledged. While [`Ack::RECOVERY`] is set the phase measures but leaves `cwnd` alone,
    /// unless it is a whole scheme.
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step;

    /// Whether the phase, as the last of its chain, is to see the ACKs that others answer.
    fn watches(&self) -> bool {
        false
    }

    /// Whether the phase, as the first of its chain, rules what follows an idle time: it is then entered with
    /// [`Why::Idle`] however large the window is, and its exit leads back to where the connection was, slow start below
    /// the threshold or avoidance.
    fn resumes(&self) -> bool {
        false
    }

    /// An ACK that another phase answers: a start-up scheme, or slow start below the threshold. `cwnd` is the window it
    /// arrived under. Called only where the phase [watches](Phase::watches): for what has to be known of the path by
    /// the time avoidance begins.
    fn on_watched(&mut self, _ack: &Ack, _cwnd: u64) {}

    /// A loss, mark or timeout episode began: set `ssthresh` and the window to hold after the repair.
    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step;

    /// The last congestion episode was spurious: take back what it did to the phase's own state. The host
    /// restores the registers itself.
    fn on_spurious(&mut self) {}
}

/// A phase with much state may live on the heap, so that the others stay small.
impl<P: Phase + ?Sized> Phase for Box<P> {
    fn open(&mut self, entry: &Entry, control: &mut Control) {
        (**self).open(entry, control);
    }
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        (**self).enter(entry, control);
    }
    fn on_sent(&mut self, now: Nanos, bytes: u64, control: &mut Control) {
        (**self).on_sent(now, bytes, control);
    }
    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        (**self).on_ack(ack, control)
    }
    fn watches(&self) -> bool {
        (**self).watches()
    }
    fn resumes(&self) -> bool {
        (**self).resumes()
    }
    fn on_watched(&mut self, ack: &Ack, cwnd: u64) {
        (**self).on_watched(ack, cwnd);
    }
    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        (**self).on_congestion(event, control)
    }
    fn on_spurious(&mut self) {
        (**self).on_spurious();
    }
}
