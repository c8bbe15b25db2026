//! Where start-up ended, as far as packets show it.

use firstflight_contract::Nanos;

use crate::connection::window_full;
use crate::observed::{ExitReason, Startup, StartupExit};
use crate::trace::Trace;
use crate::view::View;

/// Slow start sends two segments for each one that arrives (one and a half where ACKs are delayed and counted, not
/// their bytes), congestion avoidance one: a round below this has stopped doubling.
const GROWTH: f64 = 1.25;

/// Finds the end of start-up: the first retransmission or mark, or the first round that sent hardly more than it
/// delivered although neither the application nor the receive window held it back.
pub(crate) fn startup(trace: &Trace, established: Nanos) -> Startup {
    let lost = first_retransmission(trace).map(|at| (at, ExitReason::Loss));
    let marked = trace.acks.iter().find(|ack| ack.marked).map(|ack| (ack.at, ExitReason::Mark));
    let told = [lost, marked].into_iter().flatten().min_by_key(|(at, _)| *at);
    // a round in which the sender was told to stop has slowed for that reason
    let until = told.map_or(Nanos::NEVER, |(at, _)| at);
    let first = slowed(trace, until).map(|at| (at, ExitReason::Slowed)).or(told);
    Startup {
        exit: first.map(|(at, reason)| StartupExit {
            time: at.saturating_sub(established),
            cwnd_packets: flight_up_to(trace, at) as f64 / f64::from(trace.mss),
            reason,
        }),
    }
}

fn first_retransmission(trace: &Trace) -> Option<Nanos> {
    // `resent_at` is the last time: of the piece sent again first it may lie later, so the sends tell
    let any = trace.pieces.iter().any(|piece| piece.lost());
    trace.sends.iter().find(|send| any && !send.new).map(|send| send.at)
}

fn flight_up_to(trace: &Trace, at: Nanos) -> u64 {
    trace.sends.iter().take_while(|send| send.at <= at).map(|send| send.flight).max().unwrap_or(0)
}

/// A round: from a send until the data sent up to then has arrived.
fn slowed(trace: &Trace, until: Nanos) -> Option<Nanos> {
    // where a queue does not show, rounds seem to stop growing when the path is full
    if trace.view == View::Shifted {
        return None;
    }
    let last_new = trace.sends.iter().rposition(|send| send.new)?;
    let mut index = 0;
    // the first flight has no acknowledgements to compare with
    let mut round = next_round(trace, &mut index, trace.sends.first()?.end)?;
    while let Some(end) = next_round(trace, &mut index, trace.sends[round].end) {
        // what is sent again after it was acknowledged would end its round before it began
        let end = end.max(round + 1);
        if end > last_new || trace.sends[end].at >= until {
            return None;
        }
        let (from, to) = (&trace.sends[round], &trace.sends[end]);
        let sent = to.end - from.end;
        let acked: u64 =
            trace.acks[from.acks_before as usize..to.acks_before as usize].iter().map(|ack| ack.bytes).sum();
        let held_back =
            trace.sends[round..end].iter().any(|send| send.len % trace.mss != 0 || window_full(trace, send));
        if !held_back && (sent as f64) < GROWTH * acked as f64 {
            return Some(stopped_growing(trace, end));
        }
        round = end;
    }
    None
}

/// The first send after everything before `data` was acknowledged. `index` counts the acknowledgements looked at.
fn next_round(trace: &Trace, index: &mut usize, data: u64) -> Option<usize> {
    while *index < trace.acks.len() && trace.acks[*index].ack < data {
        *index += 1;
    }
    let acks = *index as u32;
    let send = trace.sends.partition_point(|send| send.acks_before <= acks);
    (send < trace.sends.len()).then_some(send)
}

/// When the flight came within a twentieth of its largest value before send `end`.
fn stopped_growing(trace: &Trace, end: usize) -> Nanos {
    let sends = &trace.sends[..=end];
    let most = sends.iter().map(|send| send.flight).max().unwrap_or(0);
    let near = sends.iter().find(|send| send.flight * 20 >= most * 19);
    near.map_or(trace.sends[end].at, |send| send.at)
}
