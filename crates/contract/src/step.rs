//! The answer of a phase to an event: it stays, or it ends for a stated reason.

use crate::{Nanos, Trigger};

/// Whether a phase goes on; no phase ends without a reason.
///
/// From [`Phase::on_congestion`](crate::Phase::on_congestion), `Exit` means that the next phase must still reduce the
/// window. A phase that reduces the window by its own rule answers `Stay` and exits on a later ACK.
#[must_use]
#[repr(C, u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The phase goes on.
    Stay,
    /// Start-up is over for this reason, but the phase stays in force, because its first flight is not acknowledged yet. It
    /// answers `Exit` later; the recorded reason is this one.
    Over(Exit),
    /// The phase is over.
    Exit(Exit),
}

/// Reason for the end of a start-up phase. [`Exit::label`] is the word in results.
#[repr(u32)]
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
    /// A train of closely spaced ACKs lasted as long as the path is.
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
    /// All reasons, in declaration order.
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

    /// Word in results.
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

/// The end of a connection's start-up.
///
/// In C, 4 bytes of padding follow `reason`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartupExit {
    /// Time at which the first avoidance phase began.
    pub at: Nanos,
    /// Window at that time, before any reduction, bytes.
    pub cwnd: u64,
    /// Reason.
    pub reason: Exit,
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
