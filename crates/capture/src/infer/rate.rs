//! Bottleneck rate from the spacing of acknowledgements.
//!
//! Packets that queue at the bottleneck leave it back to back, so the time between two arrivals is the second
//! packet's size over the rate: the packet pair (Keshav 1991; Carter and Crovella 1996), seen from the sender
//! in the ACKs. Pairs are noisy, so they are grouped into trains: the estimate of a train is a robust slope
//! of its bytes over time (Paxson's bunches, 1997; Dovrolis, Ramanathan and Moore 2001), and the result is
//! the weighted median of the trains. Unlike those active tools a capture shows which packets queued: those
//! whose round trip exceeds the shortest one by more than half the gap to the packet before. Only such gaps
//! count, so that neither pauses of the application nor pacing of the sender pass for the bottleneck.

use crate::seconds::Seconds;

use crate::estimate::{Estimate, Inferred, Unknown};
use crate::infer::clock_step;
use crate::infer::stats::{Weighted, effective_count, quantile, robust_deviation};
use crate::packet_trace::{CapturedAck, PacketTrace, Piece};

/// Gap between two acknowledgements while the bottleneck had a queue.
#[derive(Clone, Copy, Debug)]
struct Gap {
    seconds: f64,
    bits: f64,
    /// Whether the previous gap was busy too.
    joined: bool,
}

/// Gaps per train: enough that a jitter of one gap is 3 % of it, few enough to leave many trains.
const TRAIN: usize = 32;
/// Minimum length of a train: at this length an error of half a gap at an edge is an eighth of the train.
const SHORTEST_TRAIN: usize = 4;
/// Spread (10th to 90th percentile), relative to the median, above which other traffic or a changing rate is
/// likely.
const STEADY: f64 = 0.2;

/// Rate, and jitter of the acknowledgements.
pub(super) struct Rate {
    pub(super) bit_s: Inferred<Estimate>,
    /// 90th percentile of the deviation of acknowledgements from their expected spacing, seconds.
    pub(super) jitter: f64,
}

/// Maximum relative half-width of the interval of an estimate.
const MOST: f64 = 0.5;

/// Bottleneck rate from `parts`: groups of connections that ran at the same time.
pub(super) fn rate(parts: &[Vec<&PacketTrace>]) -> Rate {
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
        "median of {} trains of acknowledgements of queued packets, {seconds:.2} s in total{}",
        trains.len(),
        if steady { "" } else { "; they differ, so other traffic shares the bottleneck or its rate changes" }
    );
    Rate { bit_s: Inferred::Known(Estimate { value: median, low, high, how }), jitter }
}

/// Half of the 95 % interval, from three independent errors: the deviation between trains, the error of a
/// typical slope, and the edges of busy periods. Edges have a common bias (hosts wake up, the last packet is
/// alone), so the third error does not average out: it is the larger of the jitter and the wake-up time of
/// hosts, over the busy period of a typical train.
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

/// A train of acknowledgements while the bottleneck was busy.
struct Train {
    bit_s: f64,
    seconds: f64,
    /// Length of the busy period, seconds.
    run_seconds: f64,
    /// Standard error of the rate, relative to the rate.
    error: f64,
}

impl Train {
    fn weighted(&self) -> Weighted {
        (self.bit_s, self.seconds)
    }

    /// Median slope of bits over time, between acknowledgements at least half the train apart (Theil 1950,
    /// Sen 1968): a late acknowledgement, also at an edge, affects only a few slopes.
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
        // the slope is infinite if the clock is too coarse for the train
        let bit_s = quantile(&mut slopes, 0.5).filter(|slope| slope.is_finite())?;
        let late: Vec<Weighted> = points.iter().map(|(at, bits)| (at - bits / bit_s, 1.0)).collect();
        let middle = quantile(&mut late.clone(), 0.5)?;
        // a regression through n points spread evenly over T has a slope with the standard error sqrt(12 / n)
        // / T
        let error = robust_deviation(&late, middle) * (12.0 / points.len() as f64).sqrt() / seconds;
        Some(Self { bit_s, seconds, run_seconds, error })
    }
}

/// Trains among the gaps.
fn trains(gaps: &[Gap]) -> Vec<Train> {
    let mut trains = Vec::new();
    for run in gaps.chunk_by(|_, gap| gap.joined) {
        // the packet that ends an idle time finds hosts asleep: its ACK is late, so the gap is short
        let run = &run[1..];
        let count = (run.len() / TRAIN).max(1);
        let long = run.chunks(run.len().div_ceil(count).max(1)).filter(|train| train.len() >= SHORTEST_TRAIN);
        let seconds = run.iter().map(|gap| gap.seconds).sum();
        trains.extend(long.filter_map(|train| Train::of(train, seconds)));
    }
    trains
}

/// Gaps between acknowledgements of data that queued.
///
/// Concurrent connections share the bottleneck, and deliveries of one fill the gaps of the others, so their
/// acknowledgements are treated as one stream.
fn busy_gaps(traces: &[&PacketTrace]) -> Vec<Gap> {
    // a partial segment takes less time at the bottleneck, so its round trip is no measure for others
    let full = |trace: &'_ &PacketTrace| {
        trace.pieces.iter().filter(|piece| trace.is_full(piece.len)).filter_map(Piece::rtt).min()
    };
    let shortest = traces.iter().filter_map(|trace| full(trace).or_else(|| trace.min_rtt())).min();
    let min_rtt = shortest.map_or(f64::INFINITY, Seconds::as_secs_f64);
    let of = |trace: &'_ &PacketTrace| trace.acks.iter().filter(|ack| ack.pieces.is_some()).count();
    let mut stream: Vec<(&PacketTrace, &CapturedAck)> = Vec::with_capacity(traces.iter().map(of).sum());
    for trace in traces {
        stream.extend(trace.acks.iter().filter(|ack| ack.pieces.is_some()).map(|ack| (*trace, ack)));
    }
    stream.sort_by_key(|(_, ack)| ack.at);
    let mut joined = false;
    let gap = |pair: &[(&PacketTrace, &CapturedAck)]| {
        let [(_, previous), (trace, ack)] = pair else { return None };
        let busy = busy_since(previous, ack, trace, min_rtt);
        let seconds = ack.at.saturating_sub(previous.at).as_secs_f64();
        let gap = Gap { seconds, bits: ack.wire as f64 * 8.0, joined };
        joined = busy;
        busy.then_some(gap)
    };
    stream.windows(2).filter_map(gap).collect()
}

/// Whether every packet that `ack` newly reports was at the bottleneck before the previous packet left it.
///
/// If the bottleneck was busy for the whole gap, each packet takes its share of the gap there. The packet before the first
/// one released the acknowledgement `previous`. A packet arrived early enough if its transmission time plus the shortest
/// round trip lies before `previous` plus the shares of the packets in between. Half of its own share is a margin for noise.
/// (Its own round trip is no criterion, since a delayed ACK lengthens it.) A packet sent twice, or a step of the capture's
/// clock, does not qualify.
fn busy_since(previous: &CapturedAck, ack: &CapturedAck, trace: &PacketTrace, min_rtt: f64) -> bool {
    /// More segments than any receiver collects before it acknowledges; a cumulative ACK after lost ACKs has
    /// more.
    const MOST: usize = 64;
    let Some((first, newest)) = ack.pieces.filter(|_| previous.epoch == ack.epoch) else { return false };
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
        piece.resent == 0 && piece.epoch.is_some() && overlap > 0.0
    })
}

/// Lower bound without a queue: the data delivered in some round trip.
fn unknown(parts: &[Vec<&PacketTrace>], gaps: usize) -> Inferred<Estimate> {
    let low = parts.iter().flatten().filter_map(|trace| best_round(trace)).fold(0.0, f64::max);
    let why = if parts.iter().flatten().all(|trace| trace.acks.is_empty()) {
        "the capture contains no acknowledgements"
    } else if gaps == 0 {
        "no packet queued at the bottleneck; the connections were too short or too slow to fill it"
    } else {
        "too few consecutive packets queued to measure the service rate of the bottleneck"
    };
    Inferred::Unknown(Unknown { why: why.into(), low: (low > 0.0).then_some(low), high: None })
}

/// Largest delivery rate over a span of the shortest round trip: a delivery rate sample as in
/// draft-ietf-ccwg-bbr, section 4.1.
fn best_round(trace: &PacketTrace) -> Option<f64> {
    let span = trace.min_rtt()?;
    let (mut from, mut wire, mut most) = (0, 0, 0);
    for ack in trace.acks.get(1..)? {
        // data that the first acknowledgement reports had arrived before the span began
        wire += ack.wire;
        while ack.at.saturating_sub(trace.acks[from].at) > span || trace.acks[from].epoch != ack.epoch {
            from += 1;
            wire -= trace.acks[from].wire;
        }
        most = most.max(wire);
    }
    // with a stepped clock the span may be longer by a step at either end
    let took = span.as_secs_f64() + 2.0 * trace.clock_step.as_secs_f64();
    (span.0 > 0).then(|| most as f64 * 8.0 / took)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::Epoch;
    use crate::packet_trace::Piece;
    use firstflight_contract::Nanos;

    #[test]
    fn half_of_the_interval_is_the_root_of_three_squares() {
        let train = |bit_s: f64| Train { bit_s, seconds: 1.0, run_seconds: 0.1, error: 0.01 };
        let trains = [98e6, 99e6, 101e6, 102e6].map(train);
        // The four trains have a median distance of 1 Mbit/s. In Mbit/s: trains 1.96 x 1.2533 x 1.4826 / 2 = 1.820980,
        // slopes 1.96 x 100 x 0.01 / 2 = 0.98, edges 100 x 1 ms / 100 ms = 1. Root of the sum of squares: 2.297034.
        let half = half_width(&trains, 1e-3, 100e6);
        assert!((half / 1e6 - 2.297_034).abs() < 1e-5, "{half}");
    }

    fn ack(at: Nanos, wire: u64, pieces: (u32, u32)) -> CapturedAck {
        CapturedAck { pieces: Some(pieces), ..CapturedAck::pure(at, wire, wire) }
    }

    /// A full packet that was sent and reported at these times.
    fn piece(sent: Nanos, delivered: Nanos) -> Piece {
        Piece {
            sent,
            sent_by: sent,
            start: 0,
            len: 1460,
            number: 0,
            wire: 1500,
            resent: 0,
            resent_at: Nanos::ZERO,
            resent_stamp: None,
            delivered,
            spurious: false,
            prompt: true,
            epoch: Some(Epoch::MIN),
        }
    }

    #[test]
    fn packets_that_an_earlier_ack_reported_do_not_count_for_the_busy_time() {
        // The first packet was retransmitted and reported by SACK before. The second waited 90 of 51 ms.
        let ms = Nanos::from_millis;
        let pieces = vec![Piece { resent: 1, ..piece(ms(1), ms(100)) }, piece(ms(10), ms(101))];
        let trace = PacketTrace { pieces, ..PacketTrace::default() };
        let (previous, next) = (ack(ms(100), 1500, (0, 0)), ack(ms(101), 1500, (0, 1)));
        assert!(busy_since(&previous, &next, &trace, 0.05));
        assert!(!busy_since(&previous, &next, &trace, 0.095), "sent 5 ms too late for a packet of 1 ms");
    }

    #[test]
    fn a_round_trip_of_zero_has_no_rate() {
        let ms = Nanos::from_millis;
        let acks = vec![ack(ms(1), 1500, (0, 0)), ack(ms(2), 1500, (1, 1))];
        let with = |sent: Nanos| {
            let pieces = vec![piece(sent, ms(1))];
            best_round(&PacketTrace {
                pieces,
                acks: acks.clone(),
                clock_step: ms(1),
                ..PacketTrace::default()
            })
        };
        assert_eq!(with(ms(1)), None);
        // 1500 bytes in a round trip of 1 ms and two steps of the clock.
        assert!((with(ms(0)).expect("a rate") - 4e6).abs() < 1.0);
    }
}
