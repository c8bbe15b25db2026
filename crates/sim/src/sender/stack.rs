//! The rules of a TCP stack, which a sender follows with any scheme.

use super::rto::RtoConfig;
pub use firstflight_host::stack::{
    Datagrams, Detection, Discovery, Fill, LimitedRule, MarkRule, Pacing, RecoveryRule, Reduction, Refill,
    Repairs, Rules, Threshold, Timers, Tokens, Widening,
};

/// Loss detection and recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Fast retransmit, then slow start from one segment (4.3BSD Tahoe).
    Tahoe,
    /// Fast recovery that ends with the first new ACK (RFC 2581).
    Reno,
    /// Fast recovery over partial ACKs (RFC 6582).
    NewReno,
    /// Selective retransmission under a pipe estimate (RFC 6675).
    Sack,
    /// As Linux does it: RACK-TLP (RFC 8985) over a scoreboard, or over duplicate ACKs where the peer has no SACK.
    Rack {
        /// Whether the peer sends SACK blocks.
        sack: bool,
    },
    /// By packet numbers, as QUIC does it (RFC 9002).
    Packets,
}

impl Recovery {
    /// Whether the receiver sends SACK blocks.
    pub fn is_selective(self) -> bool {
        matches!(self, Self::Sack | Self::Rack { sack: true } | Self::Packets)
    }

    /// Whether it is Linux's.
    pub fn is_rack(self) -> bool {
        matches!(self, Self::Rack { .. })
    }
}

/// NewReno's rule for partial ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialAcks {
    /// The first one restarts the retransmit timer; the window deflates by what each acknowledges, less a segment (RFC 6582).
    Impatient,
    /// Each one restarts the timer (RFC 3782 section 4); the window deflates in the same way.
    SlowButSteady,
    /// Each one restarts the timer and takes away the inflation by duplicates: ns-2 before May 2003.
    Ns2Of2002,
}

/// The window after an idle time of more than a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// Slow start from the restart window (RFC 5681 section 4.1).
    Restart,
    /// Keeps its window.
    Keep,
    /// Half the window for each timeout that passed, and half of the part that the application leaves unused (RFC 2861).
    Validate,
}

/// The receive window of the peer, segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveWindow {
    /// Window at the start; it opens by two segments for each that arrives, as a Linux receiver's does.
    pub first: u32,
    /// Largest window.
    pub limit: u32,
    /// Segments that arrive before the window opens.
    pub(crate) from: u32,
    /// Largest limit of a buffer that grows; zero for one that does not.
    most: u32,
    /// Reads of its application; unread data takes up room.
    reads: Option<Reads>,
    /// `first` and `limit` differ, or the application leaves data unread.
    varies: bool,
}

/// Packets that the default receive buffer of Linux holds beside the one that is being read: 131072 bytes (`tcp_rmem`), of which a
/// packet of 1500 bytes takes 2304.
const DEFAULT_BUFFER: u32 = 131_072 / 2304 - 1;

/// An application that wakes only when this much data has arrived, and reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reads {
    /// Segments that wake it.
    every: u32,
    /// Segments of each write of the sender; after the last one, no data is left unread.
    write: u32,
}

impl ReceiveWindow {
    /// A window that stays as it is.
    pub fn fixed(segments: u32) -> Self {
        Self::opening_to(segments, segments)
    }

    /// A window that opens from `first` to `limit` segments.
    pub fn opening_to(first: u32, limit: u32) -> Self {
        Self { first, limit, from: 0, most: 0, reads: None, varies: first != limit }
    }

    /// The window of a buffer that Linux enlarges while the application reads: from `first` segments, to `most` at the end.
    pub fn tuned(first: u32, most: u32) -> Self {
        let limit = DEFAULT_BUFFER.min(most);
        Self { most, varies: true, ..Self::opening_to(first.min(limit), limit) }
    }

    /// Whether the buffer grows.
    pub(crate) fn is_tuned(self) -> bool {
        self.most > 0
    }

    /// Largest window that may be offered.
    pub fn largest(self) -> u32 {
        self.limit.max(self.most)
    }

    /// This window once it may open further, to `limit`, from the ACK of the first `next` segments on.
    pub(crate) fn widened(self, next: u32, limit: u32) -> Self {
        Self { first: self.at(next), from: next, limit, ..self }
    }

    /// The same in front of an application that reads `every` so many segments, `limit` at most, of writes of `write`.
    pub fn read_every(self, every: u32, write: u32) -> Self {
        Self { reads: Some(Reads { every, write }), varies: true, ..self }
    }

    /// A window with room for one more segment.
    pub(crate) fn one_more(self) -> Self {
        Self { first: self.first + 1, limit: self.limit + 1, ..self }
    }

    /// Segments that open the window on their arrival.
    pub fn opening(self) -> u32 {
        self.limit.saturating_sub(self.first).div_ceil(2)
    }

    /// The window once `acked` segments have arrived.
    #[inline(always)]
    pub fn at(self, acked: u32) -> u32 {
        if !self.varies {
            return self.limit;
        }
        // `tcp_grow_window`: two segments for each that arrives.
        let arrived = acked.saturating_sub(self.from);
        let buffer = self.first.saturating_add(arrived.saturating_mul(2)).min(self.limit);
        match self.reads {
            None => buffer,
            Some(reads) => buffer.saturating_sub(reads.unread(acked)),
        }
    }

    /// Whether its application leaves data unread.
    pub(crate) fn is_read_late(self) -> bool {
        self.reads.is_some()
    }

    /// Whether the segment with number `arrived` wakes the application, so that the window opens.
    pub(crate) fn is_read_with(self, arrived: u32) -> bool {
        self.reads.is_some_and(|reads| reads.unread(arrived) == 0)
    }
}

impl Reads {
    /// Of `arrived` segments, those that wait for the application.
    #[cold]
    #[inline(never)]
    fn unread(self, arrived: u32) -> u32 {
        arrived % self.write % self.every
    }
}

/// Data on a connection's first packet (RFC 9293 section 3.4 allows it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataInSyn {
    /// No data.
    Never,
    /// The first segment; the others wait for the answer (TCP Fast Open, RFC 7413, with a cookie from before).
    FastOpen,
    /// The first segment, and the rest of the initial window follows at once (T/TCP, RFC 1644).
    Transaction,
}

/// Shortest time in which a real host answers a packet that arrives after an idle time, nanoseconds: the host leaves an idle
/// state, takes an interrupt and runs a process. Short as it is, this time decides the order of two packets where a sender
/// clocked by ACKs meets a queue that is just full (`docs/predictions.md`).
const WAKE_UP: u64 = 20_000;

/// RFC 3465's limit `L` in slow start, segments: 1 in the slow start that follows a timeout, none in congestion avoidance.
pub const BYTE_COUNTING: u32 = 2;

/// The rules of a stack. Windows are in segments, times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Payload bytes of a full segment; of QUIC, UDP payload of a full datagram at first.
    pub mss: u32,
    /// UDP payload of the largest datagram that the network carries; only of QUIC.
    pub largest_datagram: u32,
    /// Loss detection and recovery.
    pub recovery: Recovery,
    /// Rule of [`Recovery::NewReno`] for partial ACKs.
    pub partial_acks: PartialAcks,
    /// Time of the host for each packet that it visits to mark those that an ACK reports; zero takes no time. Only with
    /// [`Recovery::Sack`].
    pub sack_walk: u64,
    /// ACKs that may wait for the host; further ones are lost.
    pub ack_backlog: u32,
    /// Rules that no flow changes.
    pub rules: Rules,
    /// Initial and restart window.
    pub initial_window: u32,
    /// Initial slow-start threshold; `None` is infinite.
    pub initial_ssthresh: Option<u32>,
    /// The peer's receive window.
    pub receive_window: ReceiveWindow,
    /// Most data beyond the first byte that is not acknowledged, bytes; only of QUIC.
    pub send_buffer: Option<u64>,
    /// Most segments by which one ACK may enlarge the window: 1 in RFC 5681, [`BYTE_COUNTING`] in RFC 3465, all in Linux.
    pub growth_per_ack: u32,
    /// Whether the sender paces at a rate that follows from its window, where the schemes set none; only with [`Pacing::Optional`].
    pub paced: bool,
    /// Pace of the initial window, segments in a round-trip time, as a plan of the gateway has one; only of a sender that is
    /// `paced`, with a handshake.
    pub initial_pace: Option<u32>,
    /// New data on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// The retransmission timeout.
    pub rto: RtoConfig,
    /// The window after an idle time.
    pub idle_restart: IdleRestart,
    /// Whether data is sent as ECN-capable.
    pub ecn: bool,
    /// Whether the connection begins with a handshake.
    pub handshake: bool,
    /// Data on its SYN, where it has one.
    pub data_in_syn: DataInSyn,
}

impl Stack {
    /// Whether data opens the connection.
    pub(crate) fn opens_with_data(&self) -> bool {
        self.handshake && self.data_in_syn != DataInSyn::Never
    }

    /// Time that the peer's host takes to wake, nanoseconds.
    pub(crate) fn wakes_in(&self) -> u64 {
        if self.recovery.is_rack() || self.recovery == Recovery::Packets { WAKE_UP } else { 0 }
    }
}
