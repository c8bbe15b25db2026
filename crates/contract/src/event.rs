//! Events: the measurements that a host reports to a phase.

use crate::{Control, Nanos, Rate};

/// One processed ACK that delivered data.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Arrival time of the ACK.
    pub now: Nanos,
    /// Round-trip time of the newest delivered segment; zero if only retransmissions were delivered.
    pub rtt: Nanos,
    /// Smallest round-trip time of the connection so far.
    pub min_rtt: Nanos,
    /// Smoothed round-trip time (RFC 6298).
    pub srtt: Nanos,
    /// Bytes newly delivered by this ACK, cumulatively or selectively. Without SACK, a duplicate ACK delivers one segment,
    /// and the later cumulative ACK does not count that segment a second time.
    pub acked: u64,
    /// Bytes of `acked` that may enlarge the window under the host's growth rule: one segment per ACK in RFC 5681, at most
    /// two under byte counting (RFC 3465), all of them in Linux. Zero while the window does not limit the sender, where
    /// the host's profile has that rule.
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
    /// Bytes in flight after this ACK and before the host sends anything in response (RFC 6675's pipe): bytes that the ACK
    /// delivered or showed to be lost are not counted.
    pub pipe: u64,
    /// Bytes newly reported as marked by ECN.
    pub ce: u64,
    /// Delivery-rate sample; zero if this ACK gives none. Only for phases that need [`Signals::RATE`](crate::Signals::RATE).
    pub rate: Rate,
    /// Value of `delivered` when the newest segment that this ACK delivered was sent; may be zero. Only for phases that
    /// need [`Signals::RATE`](crate::Signals::RATE).
    pub prior_delivered: u64,
    /// Value of `lost` when that segment was sent. Only for phases that need [`Signals::LOSSES`](crate::Signals::LOSSES).
    pub prior_lost: u64,
    /// Bytes in flight just after that segment was sent, itself included. Only for phases that need
    /// [`Signals::LOSSES`](crate::Signals::LOSSES).
    pub prior_in_flight: u64,
    /// Rate that the routers on the path granted. Only for phases that need [`Signals::GRANT`](crate::Signals::GRANT).
    pub granted: Rate,
    /// Change of the window that the routers on the path ask for, accumulated since the last ACK reported to the phase, in
    /// 2^-16 bytes; negative to shrink. Only for phases that need [`Signals::FEEDBACK`](crate::Signals::FEEDBACK).
    pub feedback: i64,
    /// Load of the most loaded router on the path. Only for phases that need [`Signals::LOAD`](crate::Signals::LOAD).
    pub load: Load,
    /// Packet-timed round trips completed since the connection began, counted once by the host.
    pub round: u32,
    /// Set of [`Ack::ROUND_START`], [`Ack::APP_LIMITED`], [`Ack::RECOVERY`], [`Ack::RATE_LIMITED`], [`Ack::MAYBE_DELAYED`].
    pub flags: u32,
    /// Payload bytes of a full segment, now; QUIC changes it during a connection. Never zero.
    pub mss: u32,
}

impl Ack {
    /// The first ACK of a new round.
    pub const ROUND_START: u32 = 1;
    /// The application or the receive window limited the sender, not the congestion window.
    pub const APP_LIMITED: u32 = 2;
    /// The host is recovering from losses; it rules the window, the phase does not.
    pub const RECOVERY: u32 = 4;
    /// The application limited the sender during the interval of the rate sample: the path may be faster.
    pub const RATE_LIMITED: u32 = 8;
    /// The ACK covers one segment only: the receiver may have delayed it.
    pub const MAYBE_DELAYED: u32 = 16;

    /// Whether all bits of `flag` are set.
    #[inline]
    pub const fn is(&self, flag: u32) -> bool {
        self.flags & flag == flag
    }
}

/// Load of a router, as a two-bit field in packets carries it.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Load {
    /// No router reported its load.
    #[default]
    Unknown,
    /// The router has capacity for a multiplicative increase.
    Low,
    /// The router has capacity for an additive increase.
    High,
    /// The router is overloaded.
    Over,
}

/// A source of the fields of an [`Ack`]. A host that is bound by its speed implements it so that fields that no phase
/// reads are never computed; an [`Ack`] describes itself.
pub trait DescribeAck {
    /// The event.
    fn describe(&self) -> Ack;

    /// Shows the event to `take`. An event that exists is not copied: the kernel gives a program 512 bytes of stack.
    #[inline(always)]
    fn show<R>(&self, take: impl FnOnce(&Ack) -> R) -> R {
        take(&self.describe())
    }
}

impl DescribeAck for Ack {
    #[inline(always)]
    fn describe(&self) -> Ack {
        *self
    }

    #[inline(always)]
    fn show<R>(&self, take: impl FnOnce(&Ack) -> R) -> R {
        take(self)
    }
}

/// Data left the host.
///
/// In C, 4 bytes of padding follow `mss`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    /// Time of sending.
    pub now: Nanos,
    /// Payload bytes sent.
    pub bytes: u64,
    /// Payload bytes of a full segment, now. Never zero.
    pub mss: u32,
}

/// A segment was declared lost.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Lost {
    /// Time at which the host declared it.
    pub now: Nanos,
    /// Its payload bytes.
    pub bytes: u64,
    /// Position of the segment in the order of the data: the segment that follows it has the next number.
    pub number: u64,
    /// Total bytes delivered since the connection began, those of the ACK that showed the loss included.
    pub delivered: u64,
    /// Total bytes declared lost since the connection began, these included.
    pub lost: u64,
    /// Value of `delivered` when the segment was sent.
    pub prior_delivered: u64,
    /// Value of `lost` when the segment was sent.
    pub prior_lost: u64,
    /// Bytes in flight just after the segment was sent, itself included.
    pub prior_in_flight: u64,
    /// Zero, or [`Lost::RATE_LIMITED`].
    pub flags: u32,
    /// Payload bytes of a full segment, now. Never zero.
    pub mss: u32,
}

impl Lost {
    /// The application limited the sender when the segment was sent.
    pub const RATE_LIMITED: u32 = 8;
}

/// The start of a loss, mark or timeout episode. The host reports each episode once.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Congestion {
    /// Time at which the host detected the episode.
    pub now: Nanos,
    /// Bytes in flight at that time, lost bytes included.
    pub in_flight: u64,
    /// The window that a multiplicative decrease applies to: FlightSize in RFC 5681, the congestion window in ns-2 and
    /// Linux. Never zero.
    pub base: u64,
    /// Bytes declared lost so far in this episode.
    pub lost: u64,
    /// Smallest round-trip time of the connection so far.
    pub min_rtt: Nanos,
    /// Signal that began the episode.
    pub trigger: Trigger,
    /// Payload bytes of a full segment, now. Never zero.
    pub mss: u32,
}

impl Congestion {
    /// Reduces the window and the threshold to `left` bytes, within their floors.
    pub fn reduce_to(&self, left: u64, control: &mut Control) {
        control.cwnd = left.max(self.floor());
        // RFC 5681 section 3.1, equation (4).
        control.ssthresh = left.max(2 * u64::from(self.mss));
    }

    /// Smallest window that the event leaves, bytes: two segments after a loss (RFC 5681 section 3.1, equation (4)), one after a
    /// mark (RFC 3168 section 6.1.2). A host with another floor raises the window; Linux and QUIC keep two segments.
    pub fn floor(&self) -> u64 {
        let segments = if self.trigger == Trigger::Mark { 1 } else { 2 };
        segments * u64::from(self.mss)
    }
}

/// Signal that begins a congestion episode.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trigger {
    /// Lost packets, detected by duplicate or selective ACKs.
    #[default]
    Loss,
    /// An ECN echo.
    Mark,
    /// The retransmission timer. The host sets the window to one segment afterwards.
    Timeout,
}

/// Why a phase begins, and the knowledge of the path at that time. A phase learns about the path from nothing else.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    /// Time at which the phase begins.
    pub now: Nanos,
    /// Smoothed round-trip time, or the handshake's; zero if there is no sample yet.
    pub rtt: Nanos,
    /// Bytes in flight.
    pub in_flight: u64,
    /// Bytes that the application has queued; `u64::MAX` if unlimited.
    pub flow_size: u64,
    /// The peer's receive window, bytes.
    pub receive_window: u64,
    /// Congestion window before an idle time, bytes, whatever the host's own idle rule has set since; zero unless `why` is
    /// [`Why::Idle`].
    pub window: u64,
    /// Start proposed by a memory of the path; all zero if there is none.
    pub plan: Plan,
    /// Rate that the routers on the path granted to the first packet, which asked for [`Control::ask`](crate::Control::ask);
    /// [`Rate::NONE`] if the packet did not ask, or not every router agreed.
    pub granted: Rate,
    /// Payload bytes of a full segment. Never zero.
    pub mss: u32,
    /// Cause of the entry.
    pub why: Why,
}

/// Cause of a phase's beginning.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Why {
    /// The connection begins.
    #[default]
    Connect,
    /// The previous phase ended.
    Handover,
    /// Sending resumes after an idle time.
    Idle,
    /// The path changed.
    Migrate,
    /// The retransmission timer fired: the window is one segment.
    Timeout,
}

/// A start proposed by a memory of the path, with its age, so that a phase can judge it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Remembered or proposed window, bytes.
    pub cwnd: u64,
    /// Proposed slow-start threshold, bytes.
    pub ssthresh: u64,
    /// Round-trip time for which the start was proposed.
    pub rtt: Nanos,
    /// Time since the path was last measured.
    pub age: Nanos,
    /// Number of samples behind the proposal.
    pub samples: u64,
}
