//! Two-way propagation delay: the shortest round trip minus the transmission time of its packets at the
//! bottleneck.

use crate::seconds::Seconds;
use firstflight_contract::Nanos;

use crate::estimate::{Estimate, Inferred, Unknown};
use crate::infer::clock_step;
use crate::observed::Connection;
use crate::packet_trace::{CapturedAck, PacketTrace, Piece};
use crate::source::Source;
use crate::view::View;

/// Shortest round trips of a connection, seconds, without transmission times.
struct Shortest {
    handshake: Option<f64>,
    data: Option<f64>,
}

/// Propagation delay from data and handshakes, corrected for transmission times if `rate` is known.
pub(super) fn rtt(connections: &[&Connection], rate: &Inferred<Estimate>) -> Inferred<Estimate> {
    let bit_s = rate.known().map(|rate| rate.value);
    let shortest: Vec<Shortest> =
        connections.iter().map(|connection| Shortest::of(connection, bit_s)).collect();
    let least = |of: fn(&Shortest) -> Option<f64>| shortest.iter().filter_map(of).min_by(f64::total_cmp);
    let (handshake, data) = (least(|one| one.handshake), least(|one| one.data));
    let Some(shortest) = [handshake, data].into_iter().flatten().min_by(f64::total_cmp) else {
        return Inferred::not_inferred("no packet sent only once was acknowledged");
    };
    // noise may exceed a very short round trip
    let value = shortest.max(0.0);
    let unqueued = handshake.is_some()
        || bit_s
            .is_none_or(|rate| connections.iter().any(|connection| queue_ran_empty(&connection.trace, rate)));
    if !unqueued {
        return Inferred::Unknown(Unknown {
            why: "the capture begins inside the connections and the bottleneck was never idle, so the shortest round trip may include a standing queue".into(),
            low: None,
            high: Some(value),
        });
    }
    Inferred::Known(interval(value, handshake.zip(data), rate, connections))
}

/// Interval of the estimate. Delays of hosts only add: the true value lies below the shortest sample by about
/// the difference between the two kinds of sample.
fn interval(
    value: f64,
    both: Option<(f64, f64)>,
    rate: &Inferred<Estimate>,
    connections: &[&Connection],
) -> Estimate {
    /// Delay that interrupts and processes of two idle hosts add even to the shortest sample, and the part of
    /// it that the capture's time stamps may omit; at most a tenth of the round trip each.
    const HOSTS: f64 = 300e-6;
    const STAMPS: f64 = 100e-6;
    /// Further share of the round trip if there is only one kind of sample.
    const ONE_KIND: f64 = 0.01;
    /// Time for which an acknowledgement may wait (`max_ack_delay`, RFC 9000 section 18.2). A receiver's log has no other round trips than
    /// those of its own packets, which are few.
    const WAITS: f64 = 25e-3;
    let differ = both.map_or(value * ONE_KIND, |(handshake, data)| (handshake - data).abs());
    let hosts = differ + HOSTS.min(value / 10.0);
    let traces = || connections.iter().map(|connection| &connection.trace);
    // a round trip composed of two halves has the clock steps of both
    let halves = if traces().any(|trace| trace.view != View::AtSender) { 2.0 } else { 1.0 };
    let step = halves * clock_step(traces());
    // the capture may have missed the first of several acknowledgements with the same stamp
    let missed = traces().filter(|trace| trace.missed > 0).map(|trace| trace.view.resolution()).max();
    let stamps = STAMPS.min(value / 10.0) + step + missed.unwrap_or_default().as_secs_f64();
    let of_receiver = |trace: &PacketTrace| trace.source == Source::Qlog && trace.view != View::AtSender;
    let waits = if traces().any(of_receiver) { WAITS } else { 0.0 };
    let hosts = hosts + step + waits;
    let wire = connections.iter().map(|connection| connection.trace.mss + connection.trace.header).max();
    let bits = f64::from(wire.unwrap_or(0)) * 8.0;
    let (low, high, corrected) = match rate {
        Inferred::Known(rate) => {
            let own = bits / rate.value;
            let below = if rate.low > 0.0 { bits / rate.low - own } else { value };
            let above = own - bits / rate.high;
            // the return path may be faster than assumed, so that its packets took no time
            let back = f64::from(ack_len(connections)) * 8.0 / rate.value;
            (hosts + below, stamps + above + back, "minus the transmission time of its packets")
        }
        Inferred::Unknown(unknown) => {
            let most = unknown.low.map_or(value, |low| bits / low);
            (
                hosts + most,
                stamps,
                "including the transmission time of its packets, since the rate is unknown",
            )
        }
    };
    Estimate {
        value,
        low: (value - low).max(0.0),
        high: value + high,
        how: format!("shortest round trip {corrected}"),
    }
}

impl Shortest {
    fn of(connection: &Connection, bit_s: Option<f64>) -> Self {
        let serialisation = |bytes: f64| bit_s.map_or(0.0, |rate| bytes * 8.0 / rate);
        let handshake = connection
            .observed
            .handshake_rtt
            .map(|rtt| rtt.as_secs_f64() - serialisation(f64::from(connection.trace.handshake_bytes)));
        let acks = connection.trace.acks.iter().filter_map(|ack| Some((ack, ack.pieces?)));
        let samples = acks.filter_map(|(ack, (_, newest))| {
            // an ACK of several packets waited only for the last of them
            let piece = &connection.trace.pieces[newest as usize];
            Some(piece.rtt()?.as_secs_f64() - serialisation(f64::from(piece.wire + ack.ip_len)))
        });
        Self { handshake, data: samples.min_by(f64::total_cmp) }
    }
}

/// Size of the largest packet that answers a packet used for a round trip.
fn ack_len(connections: &[&Connection]) -> u32 {
    let answers = connections.iter().map(|connection| connection.trace.handshake_bytes / 2);
    let acks =
        connections.iter().filter_map(|connection| connection.trace.acks.first()).map(|ack| ack.ip_len);
    answers.chain(acks).max().unwrap_or(0)
}

/// Whether the bottleneck was idle around the shortest round trip: no packet left it for longer than the
/// packet took to transmit.
fn queue_ran_empty(trace: &PacketTrace, rate: f64) -> bool {
    let Some(min_rtt) = trace.min_rtt() else { return false };
    let near = |rtt: Nanos, service: f64| rtt.saturating_sub(min_rtt).as_secs_f64() <= service;
    let mut before: Option<&CapturedAck> = None;
    trace.acks.iter().filter(|ack| ack.pieces.is_some()).any(|ack| {
        let previous = before.replace(ack).filter(|previous| previous.epoch == ack.epoch);
        let gap = previous.map_or(0.0, |previous| ack.at.saturating_sub(previous.at).as_secs_f64());
        let service = ack.wire as f64 * 8.0 / rate;
        let newest = ack.pieces.map(|(_, newest)| &trace.pieces[newest as usize]);
        gap > 1.5 * service && newest.and_then(Piece::rtt).is_some_and(|rtt| near(rtt, service))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_widen_the_interval_at_a_known_rate_too() {
        // Without packets only the hosts and the stamps count. Below: 1 % of 100 ms and 300 us. Above: 100 us.
        let exact = Estimate { value: 1e7, low: 1e7, high: 1e7, how: String::new() };
        let found = interval(0.1, None, &Inferred::Known(exact), &[]);
        assert!((found.low - 0.0987).abs() < 1e-12, "{found:?}");
        assert!((found.high - 0.1001).abs() < 1e-12, "{found:?}");
    }
}
