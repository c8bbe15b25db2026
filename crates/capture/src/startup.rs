//! Start-up of a connection as its packets show it.

use firstflight_contract::Nanos;
use serde::Serialize;

use crate::limits::window_full;
use crate::packet_trace::PacketTrace;
use crate::seconds;
use crate::view::View;

/// Start-up of a connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Startup {
    /// End of start-up: the window stops growing by one segment per acknowledged segment. `None` if it never
    /// did.
    pub exit: Option<ObservedExit>,
}

/// The end of start-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ObservedExit {
    /// Time, as in [`Observed`](crate::Observed).
    #[serde(serialize_with = "seconds::one", rename = "time_s")]
    pub time: Nanos,
    /// Window at that time, full-sized packets, taken to be the data in flight.
    pub cwnd_packets: f64,
    /// Reason, as far as the packets show it.
    pub reason: ExitReason,
}

/// Reason for the end of start-up, as far as the packets show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExitReason {
    /// A packet was retransmitted.
    Loss,
    /// The receiver echoed a congestion mark.
    Mark,
    /// The flight stopped doubling without loss or mark: a delay or threshold rule, or a paced scheme.
    Slowed,
}

impl ExitReason {
    /// Word used in tables.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Mark => "mark",
            Self::Slowed => "slowed",
        }
    }
}

/// Slow start sends two segments per segment that arrives (one and a half with delayed ACKs counted by ACK,
/// not by byte), congestion avoidance one. A round below this ratio has stopped doubling.
const GROWTH: f64 = 1.25;

/// Finds the end of start-up: the first retransmission or mark, or the first round that sends hardly more
/// than it delivers although neither the application nor the receive window limits it.
pub(crate) fn startup(trace: &PacketTrace, established: Nanos) -> Startup {
    let lost = first_retransmission(trace).map(|at| (at, ExitReason::Loss));
    let marked = trace.acks.iter().find(|ack| ack.marked).map(|ack| (ack.at, ExitReason::Mark));
    let signal = [lost, marked].into_iter().flatten().min_by_key(|(at, _)| *at);
    // a round in which a loss or mark reached the sender slowed for that reason
    let until = signal.map_or(Nanos::NEVER, |(at, _)| at);
    let first = slowed(trace, until).map(|at| (at, ExitReason::Slowed)).or(signal);
    Startup {
        exit: first.map(|(at, reason)| ObservedExit {
            time: at.saturating_sub(established),
            cwnd_packets: flight_up_to(trace, at) as f64 / f64::from(trace.mss),
            reason,
        }),
    }
}

fn first_retransmission(trace: &PacketTrace) -> Option<Nanos> {
    // `resent_at` is the time of the last retransmission, so the first one is found among the transmissions
    let any = trace.pieces.iter().any(|piece| piece.lost());
    trace.sends.iter().find(|send| any && !send.new).map(|send| send.at)
}

fn flight_up_to(trace: &PacketTrace, at: Nanos) -> u64 {
    trace.sends.iter().take_while(|send| send.at <= at).map(|send| send.flight).max().unwrap_or(0)
}

/// Finds the first round that stopped doubling. A round lasts from a transmission until the data sent up to
/// then has arrived.
fn slowed(trace: &PacketTrace, until: Nanos) -> Option<Nanos> {
    // if the queue is not visible, rounds seem to stop growing as soon as the path is full
    if trace.view == View::Shifted {
        return None;
    }
    let last_new = trace.sends.iter().rposition(|send| send.new)?;
    let mut index = 0;
    // the first flight has no acknowledgements to compare with
    let mut round = next_round(trace, &mut index, trace.sends.first()?.end)?;
    while let Some(end) = next_round(trace, &mut index, trace.sends[round].end) {
        // data retransmitted after its acknowledgement would end its round before it began
        let end = end.max(round + 1);
        if end > last_new || trace.sends[end].at >= until {
            return None;
        }
        let (from, to) = (&trace.sends[round], &trace.sends[end]);
        let sent = to.end - from.end;
        let acked: u64 =
            trace.acks[from.acks_before as usize..to.acks_before as usize].iter().map(|ack| ack.bytes).sum();
        let held_back = trace.sends[round..end].iter().any(|send| send.short || window_full(trace, send));
        if !held_back && (sent as f64) < GROWTH * acked as f64 {
            return Some(stopped_growing(trace, end));
        }
        round = end;
    }
    None
}

/// First transmission after everything before `data` was acknowledged. `index` counts the processed
/// acknowledgements.
pub(crate) fn next_round(trace: &PacketTrace, index: &mut usize, data: u64) -> Option<usize> {
    while *index < trace.acks.len() && trace.acks[*index].ack < data {
        *index += 1;
    }
    let acks = *index as u32;
    let send = trace.sends.partition_point(|send| send.acks_before <= acks);
    (send < trace.sends.len()).then_some(send)
}

/// Time at which the flight first came within a twentieth of its maximum before transmission `end`.
fn stopped_growing(trace: &PacketTrace, end: usize) -> Nanos {
    let sends = &trace.sends[..=end];
    let most = sends.iter().map(|send| send.flight).max().unwrap_or(0);
    let near = sends.iter().find(|send| send.flight * 20 >= most * 19);
    near.map_or(trace.sends[end].at, |send| send.at)
}
