//! Two-way propagation: the shortest round trip, less what its packets took to be sent at the bottleneck.

use crate::seconds::Seconds;
use firstflight_contract::Nanos;

use crate::estimate::{Estimate, Inferred, Unknown};
use crate::infer::clock_step;
use crate::observed::Connection;
use crate::trace::{Piece, Trace};
use crate::view::View;

/// Shortest round trips of a connection in seconds, propagation only.
struct Shortest {
    handshake: Option<f64>,
    data: Option<f64>,
}

/// Propagation, from data and handshakes. `rate` corrects for serialisation where it is known.
pub(super) fn rtt(connections: &[&Connection], rate: &Inferred<Estimate>) -> Inferred<Estimate> {
    let bit_s = rate.known().map(|rate| rate.value);
    let shortest: Vec<Shortest> =
        connections.iter().map(|connection| Shortest::of(connection, bit_s)).collect();
    let least = |of: fn(&Shortest) -> Option<f64>| shortest.iter().filter_map(of).min_by(f64::total_cmp);
    let (handshake, data) = (least(|one| one.handshake), least(|one| one.data));
    let Some(shortest) = [handshake, data].into_iter().flatten().min_by(f64::total_cmp) else {
        return Inferred::cannot_tell("no packet that was sent once was acknowledged");
    };
    // where a packet's own time is all of it, noise may take more than there was
    let value = shortest.max(0.0);
    let unqueued = handshake.is_some()
        || bit_s
            .is_none_or(|rate| connections.iter().any(|connection| queue_ran_empty(&connection.trace, rate)));
    if !unqueued {
        return Inferred::CannotTell(Unknown {
            why: "the capture begins inside the connections, and the bottleneck never went idle: the shortest round trip may hold a standing queue".into(),
            low: None,
            high: Some(value),
        });
    }
    Inferred::Known(interval(value, handshake.zip(data), rate, connections))
}

/// Delays of hosts only add: the true value lies below the shortest sample, by about what two kinds of sample differ.
fn interval(
    value: f64,
    both: Option<(f64, f64)>,
    rate: &Inferred<Estimate>,
    connections: &[&Connection],
) -> Estimate {
    /// What interrupts and processes of two hosts that were idle add even to the shortest sample, and how much of it
    /// the stamps of the capture may leave out; on paths so short that this is most of it, a tenth of the round trip.
    const HOSTS: f64 = 300e-6;
    const STAMPS: f64 = 100e-6;
    /// Where there is but one kind of sample: this share of the round trip more.
    const ONE_KIND: f64 = 0.01;
    let differ = both.map_or(value * ONE_KIND, |(handshake, data)| (handshake - data).abs());
    let hosts = differ + HOSTS.min(value / 10.0);
    let traces = || connections.iter().map(|connection| &connection.trace);
    // a round trip put together from two halves has the steps of both
    let halves = if traces().any(|trace| trace.view != View::AtSender) { 2.0 } else { 1.0 };
    let step = halves * clock_step(traces());
    // of acknowledgements that share a stamp the capture may have missed the first one
    let missed = traces().filter(|trace| trace.missed > 0).map(|trace| trace.view.resolution()).max();
    let stamps = STAMPS.min(value / 10.0) + step + missed.unwrap_or_default().as_secs_f64();
    let hosts = hosts + step;
    let wire = connections.iter().map(|connection| connection.trace.mss + connection.trace.header).max();
    let bits = f64::from(wire.unwrap_or(0)) * 8.0;
    let (low, high, corrected) = match rate {
        Inferred::Known(rate) => {
            let own = bits / rate.value;
            let below = if rate.low > 0.0 { bits / rate.low - own } else { value };
            let above = own - bits / rate.high;
            // the way back may be faster than assumed: then its packets took no time
            let back = f64::from(ack_len(connections)) * 8.0 / rate.value;
            (hosts + below, stamps + above + back, "less the time to send its packets")
        }
        Inferred::CannotTell(unknown) => {
            let most = unknown.low.map_or(value, |low| bits / low);
            (hosts + most, stamps, "with the time to send its packets, as the rate is not known")
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
            // an ACK of several packets waited for the last of them only
            let piece = &connection.trace.pieces[newest as usize];
            Some(piece.rtt()?.as_secs_f64() - serialisation(f64::from(piece.wire + ack.ip_len)))
        });
        Self { handshake, data: samples.min_by(f64::total_cmp) }
    }
}

/// Largest packet that answers the one a round trip is measured with.
fn ack_len(connections: &[&Connection]) -> u32 {
    let answers = connections.iter().map(|connection| connection.trace.handshake_bytes / 2);
    let acks =
        connections.iter().filter_map(|connection| connection.trace.acks.first()).map(|ack| ack.ip_len);
    answers.chain(acks).max().unwrap_or(0)
}

/// Whether the bottleneck was seen idle around the shortest round trip: nothing left it for longer than the packet
/// took to be sent.
fn queue_ran_empty(trace: &Trace, rate: f64) -> bool {
    let Some(min_rtt) = trace.min_rtt() else { return false };
    let near = |rtt: Nanos, service: f64| rtt.saturating_sub(min_rtt).as_secs_f64() <= service;
    let mut before = None;
    trace.acks.iter().filter(|ack| ack.pieces.is_some()).any(|ack| {
        let gap = before.replace(ack.at).map_or(0.0, |at| ack.at.saturating_sub(at).as_secs_f64());
        let service = ack.wire as f64 * 8.0 / rate;
        let newest = ack.pieces.map(|(_, newest)| &trace.pieces[newest as usize]);
        gap > 1.5 * service && newest.and_then(Piece::rtt).is_some_and(|rtt| near(rtt, service))
    })
}
