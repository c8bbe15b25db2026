//! Curves of a connection, thinned for plots.

use crate::seconds::Seconds;
use firstflight_contract::Nanos;

use crate::observed::Series;
use crate::packet_trace::{PacketTrace, Piece};

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
    let newest = trace.acks.iter().filter_map(|ack| Some((ack.at, &trace.pieces[ack.pieces?.1 as usize])));
    let rtt: Vec<_> =
        newest.filter_map(|(at, piece)| Some((since(at), Piece::rtt(piece)?.as_secs_f64()))).collect();
    Series {
        flight: thin(&flight),
        delivered: thin(&delivered),
        rtt: thin(&rtt),
        retransmissions: moments(trace.resent_times.iter().map(|at| since(*at))),
    }
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
fn thin(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
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
