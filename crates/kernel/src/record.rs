//! The layouts that the object shares with this program: `bpf/shim/record.h`.

use firstflight_contract::{Ack, Congestion, Control, Entry, Exit, Nanos, StartupExit};
use firstflight_host::replay::{self, Answer};

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Raw {
    kind: u32,
    exited: u32,
    connection: u64,
    acked: u64,
    next: u64,
    cwnd: u64,
    ssthresh: u64,
    cwnd_after: u64,
    ssthresh_after: u64,
    pacing_after: u64,
    ask_after: u64,
    burst_after: u64,
    marks_after: [u8; 8],
    exit_at: u64,
    exit_cwnd: u64,
    exit_reason: u32,
    padding: u32,
    event: [u64; 21],
}

const _: () = assert!(size_of::<Raw>() == 12 * 8 + 3 * 8 + 21 * 8);
const _: () = assert!(size_of::<Ack>() == 21 * 8 && size_of::<Entry>() == 13 * 8);
const _: () = assert!(size_of::<Congestion>() == 6 * 8 && size_of::<Control>() == 6 * 8);

/// An event of a connection.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// An event that its schemes received.
    Told(replay::Event),
    /// It is over.
    End,
    /// Its schemes panicked at the event before; the kernel's Reno goes on.
    Panic,
}

/// One event of a connection, and the answer of its schemes.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Number of the connection, in the order in which connections began.
    pub connection: u64,
    /// The event.
    pub event: Event,
    /// Positions of the cumulative ACK and of the next new data, bytes, from which rounds are counted; of an ACK.
    pub positions: (u64, u64),
    /// Congestion window and threshold before the event, as the kernel left them, bytes.
    pub before: (u64, u64),
    /// The registers, and the end of start-up, after it.
    pub answer: Answer,
}

/// A reason by its number.
pub(crate) fn exit_reason(number: u32) -> Option<Exit> {
    Exit::ALL.get(number as usize).copied()
}

impl Record {
    /// Reads a record of the ring buffer; `None` if it is not one of this object's.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < size_of::<Raw>() {
            return None;
        }
        // SAFETY: as many bytes as the struct has, which is made of integers.
        let raw: Raw = unsafe { bytes.as_ptr().cast::<Raw>().read_unaligned() };
        // The enums within the events: `Load` is never set, `Trigger` has three values, `Why` five.
        let word = |at: usize| (raw.event[at / 2] >> (32 * (at % 2))) as u32;
        let event = match raw.kind {
            // SAFETY: the object writes whole events of the same layout; the enum within is checked.
            0 | 5 if word(25) < 5 => unsafe {
                let entry = raw.event.as_ptr().cast::<Entry>().read();
                Event::Told(match raw.kind {
                    0 => replay::Event::Start { entry, initial_window: raw.cwnd, ssthresh: raw.ssthresh },
                    _ => replay::Event::Idle(entry),
                })
            },
            // SAFETY: as above.
            1 if word(38) < 4 => unsafe {
                Event::Told(replay::Event::Ack(raw.event.as_ptr().cast::<Ack>().read()))
            },
            // SAFETY: as above.
            2 if word(10) < 3 => unsafe {
                Event::Told(replay::Event::Congestion(raw.event.as_ptr().cast::<Congestion>().read()))
            },
            3 => Event::Told(replay::Event::LoseWindow(Nanos(raw.event[0]))),
            4 => Event::Told(replay::Event::Spurious),
            6 => Event::End,
            7 => Event::Panic,
            _ => return None,
        };
        let exit = exit_reason(raw.exit_reason).filter(|_| raw.exited != 0).map(|reason| StartupExit {
            at: Nanos(raw.exit_at),
            cwnd: raw.exit_cwnd,
            reason,
        });
        Some(Self {
            connection: raw.connection,
            event,
            positions: (raw.acked, raw.next),
            before: (raw.cwnd, raw.ssthresh),
            answer: Answer {
                control: Control {
                    cwnd: raw.cwnd_after,
                    ssthresh: raw.ssthresh_after,
                    pacing: firstflight_contract::Rate(raw.pacing_after),
                    ask: firstflight_contract::Rate(raw.ask_after),
                    burst: raw.burst_after,
                    droppable: raw.marks_after[0] != 0,
                    provisional: raw.marks_after[1] != 0,
                },
                exit,
            },
        })
    }
}

/// The end of start-up in the state of a connection, which begins with its newest record; `None` before it.
pub(crate) fn exit_in_state(bytes: &[u8]) -> Option<StartupExit> {
    if bytes.len() < size_of::<Raw>() {
        return None;
    }
    // SAFETY: as many bytes as the struct has, which is made of integers.
    let raw: Raw = unsafe { bytes.as_ptr().cast::<Raw>().read_unaligned() };
    // The state is zero before, and time never is.
    let reason = exit_reason(raw.exit_reason).filter(|_| raw.exit_at != 0)?;
    Some(StartupExit { at: Nanos(raw.exit_at), cwnd: raw.exit_cwnd, reason })
}

/// Totals over all connections since the offer.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Connections that began.
    pub connections: u64,
    /// Connections that are over.
    pub ended: u64,
    /// Ends of start-up, by reason in the order of [`Exit::ALL`].
    pub exits: [u64; 11],
    /// Segments retransmitted.
    pub retransmitted: u64,
    /// Panics of schemes.
    pub panics: u64,
    /// Records for which the ring buffer had no room.
    pub unrecorded: u64,
    /// Connections of a cgroup that the kernel did not let use the schemes.
    pub unselected: u64,
}

impl Totals {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let word = |at: usize| {
            bytes.get(8 * at..8 * at + 8).map_or(0, |b| u64::from_ne_bytes(b.try_into().unwrap_or_default()))
        };
        Self {
            connections: word(0),
            ended: word(1),
            exits: core::array::from_fn(|i| word(2 + i)),
            retransmitted: word(13),
            panics: word(14),
            unrecorded: word(15),
            unselected: word(16),
        }
    }
}
