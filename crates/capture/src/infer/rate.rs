//! Bottleneck rate from the spacing of acknowledgements.
//!
//! Packets that queue at the bottleneck leave it back to back, so the time between two arrivals is the second one's
//! size over the rate: the packet pair (Keshav 1991; Carter and Crovella 1996), seen from the sender by the ACKs that
//! clock it. Pairs are noisy, so they are taken in trains: the estimate of a train is a robust slope of the
//! bytes it carried over time (Paxson's bunches, 1997; Dovrolis, Ramanathan and Moore 2001), and the trains' weighted
//! median the result. Unlike those active tools a capture shows which packets queued: those whose round trip exceeds the
//! shortest one by more than half the gap to the packet before. Only such gaps count, so that neither the
//! application's pauses nor the sender's pacing are taken for the bottleneck.

use crate::seconds::Seconds;

use crate::estimate::{Estimate, Inferred, Unknown};
use crate::infer::clock_step;
use crate::infer::stats::{Weighted, effective_count, quantile, robust_deviation};
use crate::trace::{Ack, Piece, Trace};

/// The gap between two acknowledgements while the bottleneck had a queue.
#[derive(Clone, Copy, Debug)]
struct Gap {
    seconds: f64,
    bits: f64,
    /// The gap before it was busy too.
    joined: bool,
}

/// Gaps in a train: long enough that a jitter of one gap is 3 % of it, short enough to leave many trains.
const TRAIN: usize = 32;
/// Trains shorter than this tell too little: an edge that is off by half a gap is off by an eighth of the train.
const SHORTEST_TRAIN: usize = 4;
/// A spread (10th to 90th percentile) above this share of the median is no noise but other traffic or a changing rate.
const STEADY: f64 = 0.2;

/// The rate, and how regularly acknowledgements came at it.
pub(super) struct Rate {
    pub(super) bit_s: Inferred<Estimate>,
    /// Seconds that nine in ten acknowledgements come early or late by at most, as told by the one before.
    pub(super) jitter: f64,
}

/// An interval that reaches further to either side, as a share, is no estimate.
const MOST: f64 = 0.5;

/// Bottleneck rate, from `parts`: connections that ran at the same time, together.
pub(super) fn rate(parts: &[Vec<&Trace>]) -> Rate {
    let gaps: Vec<Gap> = parts.iter().flat_map(|traces| busy_gaps(traces)).collect();
    let trains = trains(&gaps);
    let mut weighted: Vec<Weighted> = trains.iter().map(Train::weighted).collect();
    let Some(median) = quantile(&mut weighted, 0.5) else {
        return Rate { bit_s: unknown(parts, gaps.len()), jitter: 0.0 };
    };
    let seconds: f64 = trains.iter().map(|train| train.seconds).sum();
    let mut at = |share: f64| quantile(&mut weighted, share).unwrap_or(median);
    let spread = (at(0.1), at(0.9));
    let steady = spread.1 - spread.0 <= STEADY * median;
    let clock_step = clock_step(parts.iter().flatten().copied());
    let mut jitter: Vec<Weighted> =
        gaps.iter().map(|gap| ((gap.seconds - gap.bits / median).abs(), 1.0)).collect();
    let jitter = quantile(&mut jitter, 0.9).unwrap_or(0.0);
    let half = half_width(&trains, jitter.max(clock_step), median);
    if half > MOST * median {
        return Rate { bit_s: unknown(parts, gaps.len()), jitter: 0.0 };
    }
    let (mut low, mut high) = (median - half, median + half);
    if !steady {
        (low, high) = (low.min(spread.0), high.max(spread.1));
    }
    let how = format!(
        "median of {} trains of acknowledgements whose packets had queued, {seconds:.2} s in all{}",
        trains.len(),
        if steady { "" } else { "; they differ, so other traffic shares the bottleneck or its rate changes" }
    );
    Rate { bit_s: Inferred::Known(Estimate { value: median, low, high, how }), jitter }
}

/// Half of the 95 % interval, from three independent errors: what the trains differ by, what the slope of a typical one
/// may be off by, and the edges of busy times. They begin and end alike (hosts wake up, the last packet is alone), so
/// that the last does not average out: it is what nine in ten gaps stay below, and what hosts take to wake up, over the
/// busy time of a typical train.
fn half_width(trains: &[Train], jitter: f64, median: f64) -> f64 {
    const Z: f64 = 1.96;
    const WAKE_UP: f64 = 50e-6;
    let weighted: Vec<Weighted> = trains.iter().map(Train::weighted).collect();
    // the standard error of a median is 1.2533 times that of a mean
    let count = effective_count(&weighted).sqrt();
    let of_trains = Z * 1.2533 * robust_deviation(&weighted, median) / count;
    let typical = |of: fn(&Train) -> f64| {
        let mut values: Vec<Weighted> = trains.iter().map(|train| (of(train), train.seconds)).collect();
        quantile(&mut values, 0.5).unwrap_or(0.0)
    };
    let of_slopes = Z * median * typical(|train| train.error) / count;
    let edge = jitter.max(WAKE_UP);
    let of_edges = median * edge / typical(|train| train.run_seconds);
    (of_trains.powi(2) + of_slopes.powi(2) + of_edges.powi(2)).sqrt()
}

/// Acknowledgements one behind the other while the bottleneck was busy.
struct Train {
    bit_s: f64,
    seconds: f64,
    /// How long the bottleneck was busy without a pause.
    run_seconds: f64,
    /// Standard error of the rate, as a share of it.
    error: f64,
}

impl Train {
    fn weighted(&self) -> Weighted {
        (self.bit_s, self.seconds)
    }

    /// Median slope of bits over time, between acknowledgements at least half the train apart (Theil 1950, Sen 1968):
    /// one that is late, at the edges too, moves a few of the slopes only.
    fn of(gaps: &[Gap], run_seconds: f64) -> Option<Self> {
        let mut points = vec![(0.0, 0.0)];
        let (mut bits, mut seconds) = (0.0, 0.0);
        for gap in gaps {
            (bits, seconds) = (bits + gap.bits, seconds + gap.seconds);
            points.push((seconds, bits));
        }
        let apart = points.len() / 2;
        let pairs = points.iter().enumerate().flat_map(|(at, from)| {
            points[(at + apart).min(points.len())..].iter().map(move |to| (to.0 - from.0, to.1 - from.1))
        });
        let mut slopes: Vec<Weighted> = pairs.map(|(seconds, bits)| (bits / seconds, 1.0)).collect();
        // a clock too coarse for the train makes it infinite
        let bit_s = quantile(&mut slopes, 0.5).filter(|slope| slope.is_finite())?;
        let late: Vec<Weighted> = points.iter().map(|(at, bits)| (at - bits / bit_s, 1.0)).collect();
        let middle = quantile(&mut late.clone(), 0.5)?;
        // the slope of a regression through n points spread evenly over T has the standard error sqrt(12 / n) / T
        let error = robust_deviation(&late, middle) * (12.0 / points.len() as f64).sqrt() / seconds;
        Some(Self { bit_s, seconds, run_seconds, error })
    }
}

/// The trains among the gaps.
fn trains(gaps: &[Gap]) -> Vec<Train> {
    let mut trains = Vec::new();
    for run in gaps.chunk_by(|_, gap| gap.joined) {
        // the packet that ends an idle time finds interrupts and processes asleep: its ACK is late, the gap short
        let run = &run[1..];
        let count = (run.len() / TRAIN).max(1);
        let long = run.chunks(run.len().div_ceil(count).max(1)).filter(|train| train.len() >= SHORTEST_TRAIN);
        let seconds = run.iter().map(|gap| gap.seconds).sum();
        trains.extend(long.filter_map(|train| Train::of(train, seconds)));
    }
    trains
}

/// The gaps between acknowledgements that new data queued for.
///
/// Connections that run side by side share the bottleneck, and what one of them delivers fills the gaps in what the
/// others do: their acknowledgements are taken as one stream.
fn busy_gaps(traces: &[&Trace]) -> Vec<Gap> {
    // a segment that is not full takes less time at the bottleneck: its round trip is no measure for the others
    let full = |trace: &'_ &Trace| {
        trace.pieces.iter().filter(|piece| piece.len >= trace.mss).filter_map(Piece::rtt).min()
    };
    let shortest = traces.iter().filter_map(|trace| full(trace).or_else(|| trace.min_rtt())).min();
    let min_rtt = shortest.map_or(f64::INFINITY, Seconds::as_secs_f64);
    let of = |trace: &'_ &Trace| trace.acks.iter().filter(|ack| ack.pieces.is_some()).count();
    let mut stream: Vec<(&Trace, &Ack)> = Vec::with_capacity(traces.iter().map(of).sum());
    for trace in traces {
        stream.extend(trace.acks.iter().filter(|ack| ack.pieces.is_some()).map(|ack| (*trace, ack)));
    }
    stream.sort_by_key(|(_, ack)| ack.at);
    let mut joined = false;
    let gap = |pair: &[(&Trace, &Ack)]| {
        let [(_, previous), (trace, ack)] = pair else { return None };
        let busy = busy_since(previous, ack, trace, min_rtt);
        let seconds = ack.at.saturating_sub(previous.at).as_secs_f64();
        let gap = Gap { seconds, bits: ack.wire as f64 * 8.0, joined };
        joined = busy;
        busy.then_some(gap)
    };
    stream.windows(2).filter_map(gap).collect()
}

/// Whether every packet that `ack` newly reports was at the bottleneck before the one ahead of it had left.
///
/// With the bottleneck busy for the whole gap, each packet takes its share of it there. The one ahead of the first
/// released the `previous` acknowledgement; so a packet came early enough if the shortest round trip from its sending
/// on ends before that acknowledgement plus the shares of those between, by half its own share to allow for noise.
/// (Its own round trip would not do: a delayed ACK keeps it waiting.) A packet sent twice cannot tell.
fn busy_since(previous: &Ack, ack: &Ack, trace: &Trace, min_rtt: f64) -> bool {
    /// More than any receiver gathers before it acknowledges: a cumulative ACK over lost ones.
    const MOST: usize = 64;
    let Some((first, newest)) = ack.pieces else { return false };
    let (first, newest) = (first.min(newest) as usize, first.max(newest) as usize);
    if newest - first >= MOST {
        return false;
    }
    let gap = ack.at.saturating_sub(previous.at).as_secs_f64();
    let mut ahead = 0.0;
    trace.pieces[first..=newest].iter().filter(|piece| piece.delivered == ack.at).all(|piece| {
        let share = gap * f64::from(piece.wire) / ack.wire as f64;
        let overlap =
            previous.at.0 as f64 * 1e-9 - piece.sent.0 as f64 * 1e-9 + ahead - (min_rtt - share / 2.0);
        ahead += share;
        piece.resent == 0 && overlap > 0.0
    })
}

/// Without a queue the rate is at least what was delivered in some round trip.
fn unknown(parts: &[Vec<&Trace>], gaps: usize) -> Inferred<Estimate> {
    let low = parts.iter().flatten().filter_map(|trace| best_round(trace)).fold(0.0, f64::max);
    let why = if parts.iter().flatten().all(|trace| trace.acks.is_empty()) {
        "the capture holds no acknowledgements"
    } else if gaps == 0 {
        "no packet queued at the bottleneck: the connections were too short or too slow to fill it"
    } else {
        "too few packets queued one behind the other to measure how fast the bottleneck serves them"
    };
    Inferred::CannotTell(Unknown { why: why.into(), low: (low > 0.0).then_some(low), high: None })
}

/// Most bits delivered in a span of the shortest round trip, over that span: a delivery rate sample as of
/// draft-ietf-ccwg-bbr, section 4.1.
fn best_round(trace: &Trace) -> Option<f64> {
    let span = trace.min_rtt()?;
    let (mut from, mut wire, mut most) = (0, 0, 0);
    for ack in trace.acks.get(1..)? {
        // what the first acknowledgement reports had arrived when the span began
        wire += ack.wire;
        while ack.at.saturating_sub(trace.acks[from].at) > span {
            from += 1;
            wire -= trace.acks[from].wire;
        }
        most = most.max(wire);
    }
    // what lies within a span on a clock that steps took up to a step more at either end
    let took = span.as_secs_f64() + 2.0 * trace.clock_step.as_secs_f64();
    (span.0 > 0).then(|| most as f64 * 8.0 / took)
}
