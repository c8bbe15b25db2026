//! Bottleneck rate from the spacing of acknowledgements.
//!
//! Packets that queue at the bottleneck leave it back to back, so the time between two arrivals is the second one's
//! size over the rate: the packet pair (Keshav 1991; Carter and Crovella 1996), seen from the sender by the ACKs that
//! clock it. Pairs are noisy, so they are taken in trains: the estimate of a train is the bytes it carried over the
//! time it took (Paxson's bunches, 1997; Dovrolis, Ramanathan and Moore 2001), and the trains' weighted median the
//! result. Unlike those active tools a capture shows which packets queued: those whose round trip exceeds the
//! shortest one by more than half the gap to the packet before. Only such gaps count, so that neither the
//! application's pauses nor the sender's pacing are taken for the bottleneck.

use crate::estimate::{Estimate, Inferred, Unknown};
use crate::infer::stats::{Weighted, effective_count, quantile, robust_deviation};
use crate::trace::{Ack, Trace};

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

/// Bottleneck rate, from connections captured at the sender.
pub(super) fn rate(traces: &[&Trace]) -> Inferred<Estimate> {
    let gaps: Vec<Gap> = traces.iter().flat_map(|trace| busy_gaps(trace)).collect();
    let mut trains = trains(&gaps);
    let Some(median) = quantile(&mut trains, 0.5) else {
        return unknown(traces, gaps.len());
    };
    let seconds: f64 = trains.iter().map(|(_, seconds)| seconds).sum();
    let spread = (quantile(&mut trains, 0.1).unwrap_or(median), quantile(&mut trains, 0.9).unwrap_or(median));
    let steady = spread.1 - spread.0 <= STEADY * median;
    let (low, high) = if steady {
        let half = half_width(&trains, &gaps, median, seconds);
        ((median - half).max(0.0), median + half)
    } else {
        spread
    };
    let how = format!(
        "median of {} trains of acknowledgements whose packets had queued, {seconds:.2} s in all{}",
        trains.len(),
        if steady { "" } else { "; they differ, so other traffic shares the bottleneck or its rate changes" }
    );
    Inferred::Known(Estimate { value: median, low, high, how })
}

/// Half of the 95 % interval: the median's error among the trains, or the error of a train's edges where that is more.
///
/// Trains start and end alike, so the edges' error does not average out: it is what nine in ten gaps stay below, over
/// the time of a typical train.
fn half_width(trains: &[Weighted], gaps: &[Gap], median: f64, seconds: f64) -> f64 {
    const Z: f64 = 1.96;
    // the standard error of a median is 1.2533 times that of a mean
    let of_trains = 1.2533 * robust_deviation(trains, median) / effective_count(trains).sqrt();
    let mut jitter: Vec<Weighted> =
        gaps.iter().map(|gap| ((gap.seconds - gap.bits / median).abs(), 1.0)).collect();
    let edge = quantile(&mut jitter, 0.9).unwrap_or(0.0);
    let of_edges = median * edge * trains.len() as f64 / seconds;
    (Z * of_trains).max(of_edges)
}

/// Rates of the trains, weighted with the time they took.
fn trains(gaps: &[Gap]) -> Vec<Weighted> {
    let mut trains = Vec::new();
    for run in gaps.chunk_by(|_, gap| gap.joined) {
        // the packet that ends an idle time finds interrupts and processes asleep: its ACK is late, the gap short
        let run = &run[1..];
        let count = (run.len() / TRAIN).max(1);
        for train in run.chunks(run.len().div_ceil(count).max(1)) {
            let (bits, seconds) =
                train.iter().fold((0.0, 0.0), |sum, gap| (sum.0 + gap.bits, sum.1 + gap.seconds));
            if train.len() >= SHORTEST_TRAIN && seconds > 0.0 {
                trains.push((bits / seconds, seconds));
            }
        }
    }
    trains
}

/// The gaps between acknowledgements that new data queued for.
fn busy_gaps(trace: &Trace) -> impl Iterator<Item = Gap> {
    let min_rtt = trace.min_rtt().map_or(f64::INFINITY, |rtt| rtt.as_secs_f64());
    let mut before: Option<&Ack> = None;
    let mut joined = false;
    trace.acks.iter().filter_map(move |ack| {
        ack.pieces?;
        let previous = before.replace(ack)?;
        let busy = busy_since(previous, ack, trace, min_rtt);
        let seconds = ack.at.saturating_sub(previous.at).as_secs_f64();
        let gap = Gap { seconds, bits: ack.wire as f64 * 8.0, joined };
        joined = busy;
        busy.then_some(gap)
    })
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
fn unknown(traces: &[&Trace], gaps: usize) -> Inferred<Estimate> {
    let low = traces.iter().filter_map(|trace| best_round(trace)).fold(0.0, f64::max);
    let why = if gaps == 0 {
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
    (span.0 > 0).then(|| most as f64 * 8.0 / span.as_secs_f64())
}
