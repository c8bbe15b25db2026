//! Properties of the two ends: segment size, initial window, receive window, and ACK policy.

use crate::carried::{first_flight, is_ended_by_window};
use crate::estimate::{AckPolicy, Estimate, Inferred, Opening, Unknown};
use crate::observed::Connection;
use crate::packet_trace::{CapturedAck, PacketTrace};

/// A value that the packets contain explicitly.
fn stated(value: f64, how: impl Into<String>) -> Inferred<Estimate> {
    Inferred::Known(Estimate { value, low: value, high: value, how: how.into() })
}

/// Payload of a full segment, bytes.
pub(super) fn mss(traces: &[&PacketTrace]) -> Inferred<Estimate> {
    let full = traces.iter().filter(|trace| trace.sends.iter().any(|send| trace.is_full(send.len)));
    match full.map(|trace| (trace.mss, trace.mss_assumed)).max() {
        Some((mss, true)) => {
            stated(f64::from(mss), "assumed, as on Ethernet: the capture lacks the handshake")
        }
        Some((mss, false)) => stated(f64::from(mss), "payload of a full segment"),
        None => Inferred::Unknown(Unknown {
            why: "no segment was full".into(),
            low: traces
                .iter()
                .flat_map(|trace| &trace.sends)
                .map(|send| f64::from(send.len))
                .max_by(f64::total_cmp),
            high: None,
        }),
    }
}

/// Size of a full data packet, bytes, with headers.
pub(super) fn packet(traces: &[&PacketTrace]) -> Inferred<Estimate> {
    match traces.iter().map(|trace| trace.mss + trace.header).max() {
        Some(bytes) => stated(f64::from(bytes), "a full segment with its IP and TCP headers"),
        None => Inferred::not_inferred("no data"),
    }
}

/// Size of a pure acknowledgement, bytes: the smallest one without SACK blocks.
pub(super) fn ack(traces: &[&PacketTrace]) -> Inferred<Estimate> {
    let pure = traces.iter().flat_map(|trace| &trace.acks).filter(|ack| ack.pure && !ack.disordered);
    match pure.map(|ack| ack.ip_len).min() {
        Some(bytes) => stated(f64::from(bytes), "an acknowledgement without data and SACK blocks"),
        None => Inferred::not_inferred("no pure acknowledgement"),
    }
}

/// Largest receive window, bytes.
pub(super) fn receive_window(traces: &[&PacketTrace]) -> Inferred<Estimate> {
    match traces.iter().flat_map(|trace| &trace.acks).filter_map(|ack| ack.window).max() {
        Some(bytes) => stated(bytes as f64, "largest window advertised"),
        None => Inferred::not_inferred("the capture lacks the handshake, which contains the window scale"),
    }
}

/// Opening of the receive window: that of the connection with the largest window.
pub(super) fn opening(traces: &[&PacketTrace]) -> Option<Opening> {
    let opening = |trace: &&PacketTrace| {
        let windows: Vec<u64> = trace.acks.iter().filter_map(|ack| ack.window).collect();
        let most = *windows.iter().max()?;
        let reached = windows.iter().position(|window| *window == most)?;
        let goes_on = most > windows[0] && reached >= windows.len() * 7 / 8;
        Some((most, Opening { first: windows[0], goes_on }))
    };
    let all = traces.iter().filter_map(opening);
    all.max_by_key(|(most, opening)| (*most, !opening.goes_on)).map(|(_, opening)| opening)
}

/// Initial window, packets: data packets sent before the first acknowledgement of data, if nothing else
/// limited the sender.
pub(super) fn initial_window(connections: &[&Connection]) -> Inferred<Estimate> {
    let with_start: Vec<_> = connections.iter().filter(|connection| connection.observed.handshake).collect();
    if with_start.is_empty() {
        return Inferred::not_inferred("the capture lacks the start of the connections");
    }
    let flights = |limited: bool| {
        let of = with_start.iter().filter(move |connection| is_ended_by_window(&connection.trace) == limited);
        of.map(|connection| first_flight(&connection.trace) as f64)
    };
    let window_limited: Vec<f64> = flights(true).collect();
    let largest = |flights: &[f64]| flights.iter().copied().max_by(f64::total_cmp);
    let least = window_limited.iter().copied().min_by(f64::total_cmp);
    if let (Some(low), Some(high)) = (least, largest(&window_limited)) {
        let how = "packets sent before the first acknowledgement of data".into();
        return Inferred::Known(Estimate { value: high, low, high, how });
    }
    Inferred::Unknown(Unknown {
        why: "the application or the receive window limited the first flight".into(),
        low: largest(&flights(false).collect::<Vec<_>>()),
        high: None,
    })
}

/// ACK policy of the receiver, from the data that each ACK newly acknowledges while nothing is missing: at
/// the start, and in the last third of the connections. There, an ACK of one segment that opens the window shows no
/// policy: Linux acknowledges at once every segment that opens the window (`tcp_grow_window`), and only later one in two.
pub(super) fn receiver(traces: &[&PacketTrace]) -> Inferred<AckPolicy> {
    /// Linux sends at most its first 16 ACKs at once before it decides (`TCP_MAX_QUICKACKS`).
    const QUICK: usize = 16;
    /// Number of ACKs from which the later policy is visible.
    const LONG: usize = 3 * QUICK;
    const FEW: usize = 8;
    /// Share of ACKs, so that a few lost or thinned-out ACKs do not decide.
    const MOST: f64 = 0.8;
    if traces.iter().any(|trace| has_default_buffer(trace)) {
        return Inferred::Known(AckPolicy::TunedBuffer);
    }
    let (mut early, mut late) = (Vec::new(), Vec::new());
    for trace in traces {
        let segments = segments(trace);
        early.extend(segments.iter().take(QUICK).map(|(count, _)| *count));
        if segments.len() >= LONG {
            let last = &segments[segments.len() * 2 / 3..];
            late.extend(last.iter().filter(|(count, opens)| *count > 1 || !opens).map(|(count, _)| *count));
        }
    }
    if late.len() < FEW {
        late.clear();
    }
    let single = |acks: &[u64]| {
        acks.iter().filter(|segments| **segments == 1).count() as f64 >= MOST * acks.len() as f64
    };
    if early.len() < FEW {
        return Inferred::not_inferred("too few acknowledgements");
    }
    match (single(&early), late.is_empty(), single(&late)) {
        (false, true, _) | (false, false, false) => Inferred::Known(AckPolicy::DelayedAck),
        (true, false, true) => Inferred::Known(AckPolicy::AckEveryPacket),
        (true, false, false) => Inferred::Known(AckPolicy::QuickackThenDelayed),
        (true, true, _) => Inferred::not_inferred(
            "the receiver acknowledged every packet while its window opened; the connections are too short to show its later policy",
        ),
        (false, false, true) => Inferred::not_inferred(
            "the receiver acknowledged every packet late in the connections, but not early",
        ),
    }
}

/// Whether the receiver has the buffer that Linux gives by default, and enlarges once in a round trip while its application
/// reads: the window opens to what 131072 bytes hold, and then stands still, for the rest of the flight at least.
fn has_default_buffer(trace: &PacketTrace) -> bool {
    /// Full segments that the buffer holds: 2304 bytes each in memory (`truesize`), less the one that is being read.
    const HELD: u64 = 131_072 / 2304 - 1;
    /// Largest first window of this buffer: its half (`TCP_DEFAULT_SCALING_RATIO`).
    const FIRST: u64 = 64 << 10;
    /// Least number of ACKs in which it stands still. A window that opens does so by two segments with each.
    const STILL: usize = 4;
    let offers = trace.acks.iter().filter(|ack| !ack.disordered);
    let offers: Vec<(u64, u64)> = offers.filter_map(|ack| Some((ack.ack, ack.window?))).collect();
    let (Some(&(_, first)), Some(&(acked, _))) = (offers.first(), offers.last()) else { return false };
    let mss = u64::from(trace.mss);
    let still = offers.iter().filter(|(_, window)| window / mss == HELD).count();
    let opens_on = offers.iter().any(|(_, window)| window / mss > HELD);
    // A buffer of this size that does not grow holds as much, and shows it once two of its windows have arrived.
    first <= FIRST && still >= STILL && (opens_on || acked < 2 * HELD * mss)
}

/// Segments that each ACK newly acknowledges while nothing is missing, and whether it opens the window.
fn segments(trace: &PacketTrace) -> Vec<(u64, bool)> {
    let mut largest = 0;
    let mut of = |ack: &CapturedAck| {
        let window = ack.window.unwrap_or(0);
        let opens = window > largest;
        largest = largest.max(window);
        in_order(ack).then(|| (ack.bytes.div_ceil(u64::from(trace.mss)), opens))
    };
    trace.acks.iter().filter_map(&mut of).collect()
}

fn in_order(ack: &CapturedAck) -> bool {
    ack.pure && ack.bytes > 0 && !ack.disordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstflight_contract::Nanos;

    #[test]
    fn single_segments_that_leave_the_window_as_it_is_show_the_later_policy() {
        // 48 ACKs are the fewest that show the later policy. They have no window, so none opens it.
        let ack =
            |n: u64| CapturedAck { wire: 1040, ..CapturedAck::pure(Nanos::from_millis(n), n * 1000, 1000) };
        let trace = PacketTrace { mss: 1000, acks: (1..=48).map(ack).collect(), ..PacketTrace::default() };
        assert!(matches!(receiver(&[&trace]), Inferred::Known(AckPolicy::AckEveryPacket)));
    }
}
