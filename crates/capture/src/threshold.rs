//! Window at which a sender went from slow start to slower growth: its slow-start threshold, if it had a finite one.
//!
//! Slow start sends two packets for each that arrives, so that its flight grows by all that arrives. At a threshold the flight stays, but for
//! the packet that congestion avoidance adds in a round trip. A delay rule looks the same: what ended slow start is for others to judge.

use firstflight_contract::Nanos;

use crate::limits::window_full;
use crate::packet_trace::PacketTrace;
use crate::window::slow_start;

/// Share of the window whose delivery shows whether the flight grows, and the fewest packets that do.
const SHARE: u64 = 4;
const FEWEST: u64 = 8;
/// Growth of the flight, over what arrived, up to which it stays. A round of careful growth (RFC 9406) has a quarter or more.
const STAYS: f64 = 0.1;

/// End of slow start before the first retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowStartEnd {
    /// Flight at which it ended, full-sized packets.
    pub packets: u64,
    /// Data that was delivered by then, bytes.
    pub delivered_bytes: u64,
}

/// End of slow start before the first retransmission, whatever ended it; `None` if the flight grew on, or the receive window limited it.
pub(crate) fn slow_start_end(trace: &PacketTrace) -> Option<SlowStartEnd> {
    Some(plateau(&points(trace), trace.mss)?.1)
}

/// The same, without a sign of delay: `None` if Linux's delay rule (HyStart) would have ended slow start there, so that the sender needs no
/// threshold.
pub(crate) fn end_without_delay(trace: &PacketTrace) -> Option<SlowStartEnd> {
    /// Difference of two windows, or of a flight from a window, that is none.
    const NEAR: f64 = 0.1;
    let points = points(trace);
    let (begin, end) = plateau(&points, trace.mss)?;
    let rtt = trace.min_rtt()?;
    let Some((at, window)) = slow_start(trace, rtt).end else { return Some(end) };
    let most = end.packets as f64;
    // Senders that grow by less for each acknowledgement than Linux have a smaller window than its rule has.
    let flight =
        points.iter().take_while(|point| point.at <= at).map(|point| point.flight).max().unwrap_or(0);
    let in_time = at <= begin.saturating_add(Nanos(rtt.0 / 8));
    let same_flight = in_time && flight as f64 / f64::from(trace.mss.max(1)) >= (1.0 - NEAR) * most;
    let same_window = (window / most - 1.0).abs() <= NEAR;
    (!same_flight && !same_window).then_some(end)
}

/// Begin and end of the slow start whose flight stays from then on.
fn plateau(points: &[Point], mss: u32) -> Option<(Nanos, SlowStartEnd)> {
    /// Points looked at; only damaged or hostile files reach it.
    const MOST: usize = 1 << 24;
    let mss = u64::from(mss.max(1));
    let mut work = 0;
    for (index, point) in points.iter().enumerate() {
        let enough = (point.flight / SHARE).max(FEWEST * mss);
        let shown = points[index..].partition_point(|later| later.delivered - point.delivered < enough);
        let span = points.get(index..=index + shown)?;
        work += span.len();
        if work > MOST {
            return None;
        }
        let most = span.iter().map(|later| later.flight).max()?;
        let grown = (most - point.flight) as f64;
        let stays = grown <= STAYS * (span[shown].delivered - point.delivered) as f64 + mss as f64;
        let kept = span.iter().all(|later| later.flight + mss > point.flight);
        if stays && kept && !span.iter().any(|later| later.held_back) {
            let (packets, delivered_bytes) = (most.div_ceil(mss), point.delivered);
            return Some((point.at, SlowStartEnd { packets, delivered_bytes }));
        }
    }
    None
}

/// State of a sender when it had answered an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Point {
    at: Nanos,
    /// Bytes delivered, and bytes in flight.
    delivered: u64,
    flight: u64,
    /// Whether something else than the congestion window limited the flight.
    held_back: bool,
}

/// States of the sender before its first retransmission.
fn points(trace: &PacketTrace) -> Vec<Point> {
    let new = trace.sends.iter().position(|send| !send.new).unwrap_or(trace.sends.len());
    let sends = &trace.sends[..new];
    let (mut points, mut delivered, mut acks) = (vec![], 0, 0);
    for (index, send) in sends.iter().enumerate() {
        // The last packet that answers these acknowledgements. What follows the last of all may not be known.
        if sends.get(index + 1).is_none_or(|next| next.acks_before == send.acks_before) {
            continue;
        }
        let until = send.acks_before as usize;
        delivered += trace.acks[acks..until].iter().map(|ack| ack.bytes).sum::<u64>();
        acks = until;
        let held_back = send.short || window_full(trace, send);
        points.push(Point { at: send.at, delivered, flight: send.flight, held_back });
    }
    points
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::simulated::{Simulated, SimulatedPacket};
    use crate::source::Source;

    /// A transfer of 400 packets of 1000 bytes with a round trip of 100 ms, which begins with four and adds a packet for each acknowledgement
    /// up to the threshold. Acknowledgements from this one on come so much later, milliseconds.
    fn transfer(threshold: u64, (number, late): (u64, u64)) -> Simulated {
        let (mut packets, mut flying, mut window, mut sent) = (vec![], VecDeque::new(), 4, 0);
        let mut now = Nanos::ZERO;
        for acked in 0..400 {
            while sent < 400 && sent - acked < window {
                packets.push((now, SimulatedPacket::Data { start: 1000 * sent, len: 1000, carried: 1000 }));
                flying.push_back(now.saturating_add(Nanos::from_millis(100)));
                sent += 1;
            }
            let more = if acked >= number { late } else { 0 };
            let arrival = flying.pop_front().expect("a packet in flight");
            now = now.max(arrival.saturating_add(Nanos::from_millis(more)));
            packets.push((now, SimulatedPacket::Ack { ack: 1000 * (acked + 1), blocks: [(0, 0); 4] }));
            window = threshold.min(window + 1);
        }
        Simulated::new(Source::Segments, 1000, 40, packets)
    }

    #[test]
    fn slow_start_ends_at_the_flight_that_stays() {
        // 28 acknowledgements open the window from 4 to 32. Over the eight packets that follow, a flight that stays grows by up to 1.8: the
        // first one is 31, after 27 acknowledgements.
        let end = SlowStartEnd { packets: 32, delivered_bytes: 27_000 };
        let found = transfer(32, (400, 0));
        assert_eq!((found.slow_start_end(), found.unexplained_end()), (Some(end), Some(end)));
        // 124 acknowledgements up to 128; a quarter of the window, 32 packets, may bring 4.2: from 124 on, after 120.
        let end = SlowStartEnd { packets: 128, delivered_bytes: 120_000 };
        assert_eq!(transfer(128, (400, 0)).slow_start_end(), Some(end));
    }

    #[test]
    fn slow_start_that_goes_on_has_no_end() {
        assert_eq!(transfer(u64::MAX, (400, 0)).slow_start_end(), None);
    }

    #[test]
    fn an_end_at_which_round_trips_rise_needs_no_threshold() {
        // Rounds begin with the acknowledgements 4, 12, 28 and 60. From the 60th on each comes 15 ms later, more than an eighth of the
        // round trip. The delay rule takes eight round trips of a round, and the window is 4 + 69 then.
        let found = transfer(74, (60, 15));
        assert_eq!(found.slow_start_end().map(|end| end.packets), Some(74));
        assert_eq!(found.unexplained_end(), None);
        // A sender that stays at 40 packets a round before has another reason.
        assert_eq!(transfer(40, (60, 15)).unexplained_end().map(|end| end.packets), Some(40));
    }
}
