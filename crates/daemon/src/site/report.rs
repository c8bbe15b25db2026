//! Captured connections as the gateway's reports: what a sender's kernel would have measured.

use firstflight_capture::Connection as Captured;
use firstflight_contract::{Nanos, mul_div};
use firstflight_gateway::{Arm, Connection, STOCK, Stage};

/// The report of a captured connection, at the time of its end in the capture; [`None`] if it has no round-trip time or
/// delivered nothing.
///
/// The window is TCP SPAND's: at the latest loss in congestion avoidance, else at the end. A connection whose first flight
/// is larger than a stack's own was planned, by whatever gateway.
pub fn report(captured: &Captured) -> Option<Connection> {
    let observed = &captured.observed;
    let (least, max_rtt) = observed.rtt_span?;
    // The kernel's own least round trip includes the handshake, whose packets take less time on the links.
    let min_rtt = observed.handshake_rtt.filter(|rtt| *rtt > Nanos::ZERO).map_or(least, |rtt| rtt.min(least));
    if observed.delivered_bytes == 0 || observed.mss == 0 {
        return None;
    }
    let end = observed.completion.unwrap_or_default();
    let limited = observed.application_limited + observed.window_limited;
    let first_window = observed.first_flight_packets.saturating_mul(observed.mss.into());
    let first_flight = clipped(observed.first_flight_packets);
    let windows = captured.windows()?;
    let cwnd = windows.avoidance_loss.unwrap_or(windows.close).round() as u32;
    Some(Connection {
        at: observed.established + end,
        peer: captured.receiver.ip().to_canonical(),
        arm: if first_flight > STOCK { Arm::Planned(first_flight) } else { Arm::Stock },
        stage: Stage::Ended,
        age: end,
        busy: end.saturating_sub(observed.first_data).saturating_sub(observed.application_limited),
        mss: observed.mss,
        bytes: observed.delivered_bytes,
        handshake_rtt: observed.handshake_rtt.unwrap_or_default(),
        min_rtt,
        srtt: Nanos((min_rtt.0 + max_rtt.0) / 2),
        rate: greatest_rate(&observed.series.delivered, min_rtt),
        limited: limited > observed.congestion_limited,
        shared: false,
        cwnd,
        // A sender that left slow start has a threshold, at most its window.
        ssthresh: observed.startup.exit.as_ref().map(|exit| cwnd.min(exit.cwnd_packets as u32)),
        receive_window: u64::MAX,
        sent: clipped(observed.packets),
        retransmits: clipped(observed.retransmits),
        timeouts: clipped(observed.timeouts),
        first_window_lost: lost_early(captured, first_window),
    })
}

fn clipped(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Greatest number of bytes delivered within a round trip, per second. `delivered` has times in seconds and bytes.
fn greatest_rate(delivered: &[(f64, f64)], rtt: Nanos) -> u64 {
    let span = rtt.0 as f64 / 1e9;
    let (mut first, mut most) = (0, 0.0_f64);
    for &(at, bytes) in delivered {
        while delivered[first].0 < at - span {
            first += 1;
        }
        most = most.max(bytes - delivered[first].1);
    }
    mul_div(most as u64, 1_000_000_000, rtt.0.max(1))
}

/// Retransmissions before the acknowledgement of the first window, if a packet was lost at all.
fn lost_early(captured: &Captured, first_window: u64) -> u32 {
    if captured.observed.lost_packets == 0 {
        return 0;
    }
    let series = &captured.observed.series;
    let acknowledged = series.delivered.iter().find(|(_, bytes)| *bytes >= first_window as f64);
    let until = acknowledged.map_or(f64::INFINITY, |(at, _)| *at);
    clipped(series.retransmissions.iter().filter(|at| **at <= until).count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_rate_is_that_of_the_best_round_trip() {
        // 1000 bytes in the first 100 ms, then 5000 within 50 ms, then nothing.
        let delivered = [(0.0, 0.0), (0.1, 1000.0), (0.125, 3500.0), (0.15, 6000.0), (0.4, 6000.0)];
        assert_eq!(greatest_rate(&delivered, Nanos::from_millis(50)), 100_000);
        assert_eq!(greatest_rate(&[], Nanos::from_millis(50)), 0);
    }
}
