//! Loss recovery as Linux 6.x does it: RACK-TLP (RFC 8985), PRR (RFC 6937), F-RTO (RFC 5682), and undoing what was
//! done for nothing (RFC 4015, RFC 3708), over a mark for every segment in flight.
//!
//! The order in which an ACK is worked through matters to the window, and is the kernel's: what was delivered, what
//! is lost, the state, the window, then what to send. `ack.rs` has that order; each other file is one step of it.

mod ack;
mod detect;
mod marks;
mod probe;
mod reno;
mod split;
mod state;
mod timeout;
mod transmit;
mod undo;
mod usage;
mod wheel;

use super::prr::Prr;
use crate::packet::Blocks;
use crate::sender::info::CaState;
use crate::sender::stamps::Ring;
use detect::Detector;
use std::collections::VecDeque;
use usage::Usage;

/// Duplicate ACKs, or SACKed segments, that mean a loss while nothing has been reordered.
const DUP_THRESH: u32 = 3;

/// What the timer that is armed is for: the kernel has one for all three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Armed {
    /// Retransmission (RFC 6298).
    Timeout,
    /// Tail loss probe (RFC 8985 section 7).
    Probe,
    /// End of the reordering window (RFC 8985 section 6.3).
    Reordering,
}

/// What of a loss episode may still be undone.
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    /// First unacknowledged segment when the window was reduced; `None` if there is nothing to undo.
    marker: Option<u32>,
    /// Repeats since then that have not been reported as duplicates; -1 before the first.
    repeats: i64,
    /// When the first repeat of the episode left; zero if none has.
    first_repeat: u64,
    /// The threshold before; `None` if the reduction was for an ECN mark and stands.
    ssthresh: Option<u64>,
}

/// The state of one connection. Amounts are segments, times nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    pub(crate) state: CaState,
    /// What the sender's retransmission timer is armed for.
    pub(crate) armed: Armed,
    /// How long it was armed for; zero once its lateness is counted in.
    wait: u64,
    /// Timers fire when they are due: how late the kernel's fire depends on the phase of its clock, which a script that
    /// drives a sender cannot know.
    pub(crate) punctual: bool,
    /// Segments the receiver reported to hold; without SACK, duplicate ACKs.
    pub(crate) sacked: u32,
    /// Segments declared lost and not acknowledged since, whether sent again or not.
    pub(crate) lost: u32,
    /// Repeats of these in flight.
    pub(crate) retrans: u32,
    pub(super) usage: Usage,
    pub(super) detector: Detector,
    /// The segment that last left with nothing outstanding: a short one's ACK may have been delayed.
    lone: u32,
    /// One past the highest SACKed segment, while there is one.
    highest: u32,
    /// The blocks of the last ACK: repeated ones cost nothing.
    last: Blocks,
    /// Duplicate ACKs, or the distance in segments, below which disorder is no loss.
    pub(crate) reordering: u32,
    /// `snd_nxt` when the episode began (`high_seq`).
    high: u32,
    /// No lost segment below this waits for its repeat.
    hint: u32,
    /// One past the highest segment ever declared lost.
    lost_end: u32,
    prr: Prr,
    undo: Undo,
    /// One past the tail that a probe is about; zero without one.
    probe_end: u32,
    /// Whether the probe repeated a segment.
    probe_repeats: bool,
    /// A timeout may have been spurious (F-RTO).
    frto: bool,
    /// The receiver has reneged, and what it dropped is not all repaired: there are no samples of the delivery rate.
    reneged: bool,
    /// Timeouts since the cumulative ACK last moved.
    timeouts: u32,
    /// Segments that left again, in order of time, with the time they left.
    repeats: VecDeque<(u32, u64)>,
    /// When each segment that left again had left for the first time.
    first_left: Ring<u64>,
    /// Segments that left again since the connection began, and duplicates reported.
    repeated: u64,
    duplicates: u64,
    /// Largest window that the receiver has offered, segments.
    pub(crate) widest_window: u32,
    /// Bytes that the receiver has room for beyond the last whole segment.
    pub(crate) window_part: u32,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            state: CaState::Open,
            armed: Armed::Timeout,
            wait: 0,
            punctual: false,
            sacked: 0,
            lost: 0,
            retrans: 0,
            usage: Usage::default(),
            detector: Detector::default(),
            lone: 0,
            highest: 0,
            last: Blocks::default(),
            reordering: DUP_THRESH,
            high: 0,
            hint: 0,
            lost_end: 0,
            prr: Prr::default(),
            undo: Undo::default(),
            probe_end: 0,
            probe_repeats: false,
            frto: false,
            reneged: false,
            timeouts: 0,
            repeats: VecDeque::new(),
            first_left: Ring::new(false),
            repeated: 0,
            duplicates: 0,
            widest_window: 0,
            window_part: 0,
        }
    }
}
