//! Curves of a connection, thinned for plots.

use crate::seconds::Seconds;
use firstflight_contract::Nanos;
use serde::Serialize;

use crate::packet_trace::{PacketTrace, Piece};

/// Curves of a connection, thinned to at most [`Series::POINTS`] points that keep every visible peak and
/// trough.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// Seconds, and bytes in flight.
    pub flight: Vec<(f64, f64)>,
    /// Seconds, and bytes delivered, each counted once.
    pub delivered: Vec<(f64, f64)>,
    /// Seconds at the acknowledgement, and round trip, seconds.
    pub rtt: Vec<(f64, f64)>,
    /// Seconds of retransmissions, in order and without repetition.
    pub retransmissions: Vec<f64>,
}

impl Series {
    /// Maximum number of points in a curve.
    pub const POINTS: usize = 2000;
}

/// Curves of a connection, with times from its establishment.
pub(crate) fn of(trace: &PacketTrace, established: Nanos) -> Series {
    let since = |at: Nanos| at.saturating_sub(established).as_secs_f64();
    let sent = trace.sends.iter().map(|send| (since(send.at), send.flight as f64));
    let left = trace.acks.iter().map(|ack| (since(ack.at), ack.flight as f64));
    let mut flight: Vec<_> = sent.chain(left).collect();
    flight.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut total = 0;
    let delivered = trace.acks.iter().map(|ack| {
        total += ack.bytes;
        (since(ack.at), total as f64)
    });
    let delivered: Vec<_> = delivered.collect();
    Series {
        flight: thin(&flight),
        delivered: thin(&delivered),
        rtt: thin(&round_trips(trace, since)),
        retransmissions: moments(trace.resent_times.iter().map(|at| since(*at))),
    }
}

/// Times of acknowledgements by `since`, and the round trip of the newest packet that each reports, seconds.
pub(crate) fn round_trips(trace: &PacketTrace, since: impl Fn(Nanos) -> f64) -> Vec<(f64, f64)> {
    let newest = trace.acks.iter().filter_map(|ack| Some((ack.at, &trace.pieces[ack.pieces?.1 as usize])));
    newest.filter_map(|(at, piece)| Some((since(at), Piece::rtt(piece)?.as_secs_f64()))).collect()
}

/// Thins ordered times: of times closer together than two points of a plot only the first is kept.
fn moments(times: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let (least, most) = times.clone().fold((f64::INFINITY, 0.0), |(a, b), at| (at.min(a), at.max(b)));
    let span = (most - least) / Series::POINTS as f64;
    let mut kept: Vec<f64> = Vec::new();
    for at in times {
        if kept.last().is_none_or(|last| at - last > span) {
            kept.push(at);
        }
    }
    kept
}

/// Keeps the first, lowest, highest and last point of each of equally long spans of time.
pub(crate) fn thin(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    const KEPT: usize = 4;
    if points.len() <= Series::POINTS {
        return points.to_vec();
    }
    let spans = (Series::POINTS / KEPT) as f64;
    let (from, to) = (points[0].0, points[points.len() - 1].0);
    let span_of = |point: &(f64, f64)| {
        ((point.0 - from) / (to - from).max(f64::MIN_POSITIVE) * spans).min(spans - 1.0) as usize
    };
    let mut thinned = Vec::with_capacity(Series::POINTS);
    for span in points.chunk_by(|a, b| span_of(a) == span_of(b)) {
        let lowest = (0..span.len()).min_by(|&a, &b| span[a].1.total_cmp(&span[b].1)).unwrap_or(0);
        let highest = (0..span.len()).max_by(|&a, &b| span[a].1.total_cmp(&span[b].1)).unwrap_or(0);
        let mut kept = vec![0, lowest, highest, span.len() - 1];
        kept.sort_unstable();
        kept.dedup();
        thinned.extend(kept.into_iter().map(|index| span[index]));
    }
    thinned
}
