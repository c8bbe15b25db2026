//! Transfers of a connection's sender over time, and its first flight.
//!
//! A transfer is the data that the sender sends until the receiver, which has all of it, sends data again
//! ([`crate::transfers`] counts the same while the capture is read).

use std::ops::Range;

use firstflight_contract::Nanos;

use crate::limits::{Limits, window_full};
use crate::packet_trace::PacketTrace;
use crate::view::View;

/// A transfer of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Data bytes.
    pub bytes: u64,
    /// Time of its first data packet, as in [`Observed`](crate::Observed).
    pub begin: Nanos,
    /// Time from then until the sender has the acknowledgement of the last byte. `None` if the capture ends earlier or has a pause
    /// in between that no sender makes.
    pub time: Option<Nanos>,
    /// Part of that time for which the sender had nothing to send.
    pub application_limited: Nanos,
}

/// Transmissions and data of one transfer.
struct Span {
    sends: Range<usize>,
    data: Range<u64>,
}

fn spans(trace: &PacketTrace) -> Vec<Span> {
    let mut spans = vec![];
    let (mut begin, mut from) = (0, 0);
    let mut add = |until: usize| {
        let end = trace.sends[until - 1].end;
        if end > from {
            spans.push(Span { sends: begin..until, data: from..end });
        }
        (begin, from) = (until, end);
    };
    for (index, ack) in trace.acks.iter().enumerate().filter(|(_, ack)| !ack.pure) {
        let until = trace.sends.partition_point(|send| send.acks_before as usize <= index);
        if until > 0 && ack.ack >= trace.sends[until - 1].end {
            add(until);
        }
    }
    if !trace.sends.is_empty() {
        add(trace.sends.len());
    }
    spans
}

/// The transfers in order. `first_data` is the time of the first data packet.
pub(crate) fn transfers(trace: &PacketTrace, first_data: Nanos) -> Vec<Transfer> {
    let Some(first) = trace.sends.first() else { return vec![] };
    let transfer = |Span { sends, data }: Span| {
        let (begin, last) = (trace.sends[sends.start].at, &trace.sends[sends.end - 1]);
        let later = &trace.acks[trace.sends[sends.start].acks_before as usize..];
        let end = later.iter().find(|ack| ack.ack >= data.end).map(|ack| ack.at);
        let until = end.unwrap_or(last.at);
        let paused = trace.left_out.pauses.partition_point(|(_, end)| *end <= begin);
        let paused = trace.left_out.pauses.get(paused).is_some_and(|(from, _)| *from < until);
        Transfer {
            bytes: data.end - data.start,
            begin: begin.saturating_sub(first.at).saturating_add(first_data),
            time: end.filter(|_| !paused).map(|end| end.saturating_sub(begin)),
            application_limited: Limits::between(trace, sends).application,
        }
    };
    spans(trace).into_iter().map(transfer).collect()
}

/// Initial window of the sender, packets: the first flight of the first transfer whose first flight the congestion window ended.
/// Shorter transfers before it, such as the handshake of TLS, fill no window and leave it as it was. `None` without such a transfer.
pub(crate) fn initial_window(trace: &PacketTrace) -> Option<u64> {
    spans(trace).iter().find_map(|span| ended_by_window(trace, span))
}

/// Whether the congestion window ended the first flight of a connection.
pub(crate) fn is_ended_by_window(trace: &PacketTrace) -> bool {
    let whole = Span { sends: 0..trace.sends.len(), data: 0..trace.end() };
    !trace.sends.is_empty() && ended_by_window(trace, &whole).is_some()
}

/// Packets of the first flight of a transfer if the congestion window ended it: the first acknowledgement released new data at once, and
/// the receive window had room for it before.
fn ended_by_window(trace: &PacketTrace, span: &Span) -> Option<u64> {
    let begin = &trace.sends[span.sends.start];
    let acks = &trace.acks[begin.acks_before as usize..];
    let index = begin.acks_before as usize + acks.iter().position(|ack| ack.bytes > 0)?;
    let at = trace.acks[index].at;
    let released = trace.sends.partition_point(|send| send.acks_before as usize <= index);
    let next = trace.sends.get(released).filter(|_| span.sends.contains(&released))?;
    let last = &trace.sends[released - 1];
    // An application's write within a fiftieth of the round trip is unlikely to be chance.
    let at_once = Nanos(at.saturating_sub(begin.at).0 / 50);
    let by_window =
        next.new && next.at.saturating_sub(at) <= at_once && !last.short && !window_full(trace, last);
    let pieces = &trace.pieces[trace.pieces.partition_point(|piece| piece.start < span.data.start)..];
    by_window.then(|| pieces.iter().take_while(|piece| piece.sent < at).count() as u64)
}

/// Data packets sent before the first acknowledgement of data.
pub(crate) fn first_flight(trace: &PacketTrace) -> u64 {
    let Some(first) = trace.acks.iter().find(|ack| ack.bytes > 0) else { return trace.pieces.len() as u64 };
    trace.pieces.iter().take_while(|piece| piece.sent < first.at).count() as u64
}

/// Whether the sender paced its first flight: its packets left over a tenth of the round trip `rtt` or more, and no gap is half of that
/// time. A flight that left within a fiftieth of the round trip was not paced. `None` for other flights, for those with fewer than four
/// full segments, for round trips that a host's own delays exceed, and if the capture was not taken at the sender.
pub(crate) fn first_flight_paced(trace: &PacketTrace, rtt: Nanos) -> Option<bool> {
    /// Delays of hosts are below a fiftieth of a longer round trip.
    const LEAST_RTT: Nanos = Nanos::from_millis(5);
    const FEW: u64 = 4;
    let packets = first_flight(trace);
    let first_ack = trace.acks.iter().find(|ack| ack.bytes > 0)?.at;
    let flight = trace.sends.iter().take_while(|send| send.at < first_ack);
    let flight: Vec<_> = flight.filter(|send| send.new && !send.short).collect();
    let (first, last) = (flight.first()?.at, flight.last()?.at);
    if trace.view != View::AtSender || rtt < LEAST_RTT || packets < FEW {
        return None;
    }
    let span = last.saturating_sub(first);
    let widest = flight.windows(2).map(|pair| pair[1].at.saturating_sub(pair[0].at)).max()?;
    match span {
        span if span.0 <= rtt.0 / 50 => Some(false),
        span if span.0 >= rtt.0 / 10 && widest.0 <= span.0 / 2 => Some(true),
        _ => None,
    }
}
