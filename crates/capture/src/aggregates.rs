//! Aggregates in which packets leave a bottleneck: their period, from the times of the acknowledgements, and their size.
//!
//! Times that are multiples of a period, but for a constant, are in phase at its frequency: of unit vectors at the angle of each time the
//! mean has the length one, and none if the times have no period (the periodogram of a point process: M. Bartlett, "The Spectral
//! Analysis of Point Processes", Journal of the Royal Statistical Society B 25(2), 1963). The times are in phase at every multiple of
//! the frequency, too, so that the lowest one counts. The slope of a regression of the times over the number of the aggregate then has
//! the period to a small part of the jitter. An aggregate was full if a packet of the next one had waited when it left.

use core::f64::consts::PI;
use std::collections::{BTreeMap, BTreeSet};

use firstflight_contract::Nanos;

use crate::packet_trace::PacketTrace;
use crate::seconds::Seconds;

/// Aggregates in which packets leave a bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aggregates {
    /// Period, seconds: the lower end of the 95 % interval, the value and the upper end.
    pub period: [f64; 3],
    /// Packets of a full aggregate, likewise; `None` with few full ones.
    pub packets: Option<[f64; 3]>,
}

/// Shortest period, seconds. Hosts join what arrives within less.
const SHORTEST: f64 = 1e-3;
/// Acknowledgements that are looked at, from the first, and their longest time, seconds: a bound of the work.
const MOST: usize = 1024;
const LONGEST: f64 = 2.0;
/// Least mean length of the unit vectors: a standard deviation of the times of 7 % of the period.
const IN_PHASE: f64 = 0.9;
/// Fewest aggregates that follow each other in one period.
const FEW: usize = 8;
/// Largest standard deviation of the sizes of full aggregates, over their mean. Blocks of a rate that varies have a period, too: the
/// millisecond of a subframe of LTE.
const ALIKE: f64 = 0.25;
/// Fewest packets of an aggregate, in the mean. A constant rate has one or two for each acknowledgement.
const PACKETS: f64 = 3.0;

/// Times of aggregates: number zero leaves at `origin`, seconds, and each later one a period after the one before.
#[derive(Debug)]
struct Clock {
    period: [f64; 3],
    origin: f64,
}

/// The aggregates of a connection; `None` if the acknowledgements have no period of at most half of the shortest round trip, since the
/// rounds of slow start repeat themselves, too, or if full ones have no common size.
pub(crate) fn aggregates(trace: &PacketTrace) -> Option<Aggregates> {
    let first = trace.acks.iter().find(|ack| ack.bytes > 0)?;
    let acks = trace.acks.iter().filter(|ack| ack.bytes > 0 && ack.epoch == first.epoch).take(MOST);
    let since = |at: Nanos| at.saturating_sub(first.at).as_secs_f64();
    let mss = f64::from(trace.mss.max(1));
    let acks: Vec<(f64, f64)> = acks.map(|ack| (since(ack.at), ack.bytes as f64 / mss)).collect();
    let acks = &acks[..acks.partition_point(|ack| ack.0 <= LONGEST)];
    let shortest = trace.min_rtt()?.as_secs_f64();
    let clock = clock(acks, shortest)?;
    let until = acks.last().map_or(0.0, |ack| ack.0);
    let arrived = trace
        .pieces
        .iter()
        .filter(|piece| piece.arrived() && piece.delivered >= first.at && since(piece.delivered) <= until);
    let arrivals = arrived.map(|piece| {
        let waited = piece.rtt().filter(|_| piece.prompt).map(|rtt| rtt.as_secs_f64() - shortest);
        (since(piece.delivered), f64::from(piece.len) / mss, waited)
    });
    let full = full(&clock, arrivals);
    if full.len() < FEW {
        return Some(Aggregates { period: clock.period, packets: None });
    }
    let (packets, differ) = mean_size(&full);
    (differ <= ALIKE).then_some(Aggregates { period: clock.period, packets: Some(packets) })
}

/// Period and origin of the aggregates, from the times of acknowledgements, seconds, in order, with the packets that each reports.
fn clock(acks: &[(f64, f64)], rtt: f64) -> Option<Clock> {
    let took = acks.last()?.0;
    if acks.len() < FEW || took <= 0.0 {
        return None;
    }
    let (frequency, phase) = lowest(acks, 2.0 / rtt, took)?;
    // Number of the aggregate, and its time: that of its first acknowledgement.
    let mut aggregates: Vec<(f64, f64)> = vec![];
    let mut packets = 0.0;
    for &(at, reported) in acks {
        let turns = frequency * at - phase;
        if (turns - turns.round()).abs() > 0.25 {
            continue;
        }
        packets += reported;
        if aggregates.last().is_none_or(|last| last.0 < turns.round()) {
            aggregates.push((turns.round(), at));
        }
    }
    let count = aggregates.len() as f64;
    let next = aggregates.windows(2).filter(|pair| pair[1].0 - pair[0].0 == 1.0).count();
    if next < FEW || (next as f64) < count / 2.0 || packets < PACKETS * count {
        return None;
    }
    let mean = |of: fn(&(f64, f64)) -> f64| aggregates.iter().map(of).sum::<f64>() / count;
    let (number, time) = (mean(|one| one.0), mean(|one| one.1));
    let squares: f64 = aggregates.iter().map(|one| (one.0 - number) * (one.0 - number)).sum();
    let products: f64 = aggregates.iter().map(|one| (one.0 - number) * (one.1 - time)).sum();
    let period = products / squares;
    let left = |one: &(f64, f64)| {
        let apart = one.1 - time - period * (one.0 - number);
        apart * apart
    };
    let variance = aggregates.iter().map(left).sum::<f64>() / (count - 2.0);
    let error = 2.0 * libm::sqrt(variance / squares);
    let near = (frequency * period - 1.0).abs() < 0.1;
    let origin = time - period * number;
    near.then_some(Clock { period: [period - error, period, period + error], origin })
}

/// Packets of each full aggregate, from the times at which packets arrived, seconds, their sizes in full packets, and the times that they
/// had waited, where these are known. Each wait is too short by the shortest one, so that an aggregate counts as full if a packet of
/// the next one waited for more than a period.
fn full(clock: &Clock, arrivals: impl Iterator<Item = (f64, f64, Option<f64>)>) -> Vec<f64> {
    let period = clock.period[1];
    let mut sizes: BTreeMap<i64, f64> = BTreeMap::new();
    let mut full: BTreeSet<i64> = BTreeSet::new();
    for (at, size, waited) in arrivals {
        let number = ((at - clock.origin) / period).round() as i64;
        *sizes.entry(number).or_default() += size;
        if waited.is_some_and(|waited| waited > period) {
            full.insert(number - 1);
        }
    }
    full.iter().filter_map(|number| sizes.get(number).copied()).collect()
}

/// Mean size with its 95 % interval, and the standard deviation over the mean.
fn mean_size(sizes: &[f64]) -> ([f64; 3], f64) {
    let count = sizes.len() as f64;
    let mean = sizes.iter().sum::<f64>() / count;
    let variance = sizes.iter().map(|size| (size - mean) * (size - mean)).sum::<f64>() / (count - 1.0);
    let error = 2.0 * libm::sqrt(variance / count);
    ([mean - error, mean, mean + error], libm::sqrt(variance) / mean)
}

/// The lowest frequency from `least` on, in Hz, at which the times are in phase, and their phase, in periods.
fn lowest(acks: &[(f64, f64)], least: f64, took: f64) -> Option<(f64, f64)> {
    // Within an eighth of a period at both ends of the time.
    let step = 1.0 / (4.0 * took);
    let most = 1.0 / SHORTEST;
    let turn = |periods: f64| (libm::cos(2.0 * PI * periods), libm::sin(2.0 * PI * periods));
    let mut vectors: Vec<(f64, f64)> = acks.iter().map(|ack| turn(least * ack.0)).collect();
    let steps: Vec<(f64, f64)> = acks.iter().map(|ack| turn(step * ack.0)).collect();
    let mut best: Option<(f64, f64, f64)> = None;
    let mut frequency = least;
    while frequency <= most {
        let sum = vectors.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let length = libm::hypot(sum.0, sum.1) / acks.len() as f64;
        match best {
            // Past the peak.
            Some((_, _, peak)) if length < peak => break,
            _ if length >= IN_PHASE => {
                best = Some((frequency, libm::atan2(sum.1, sum.0) / (2.0 * PI), length))
            }
            _ => {}
        }
        for (vector, step) in vectors.iter_mut().zip(&steps) {
            *vector = (vector.0 * step.0 - vector.1 * step.1, vector.0 * step.1 + vector.1 * step.0);
        }
        frequency += step;
    }
    best.map(|(frequency, phase, _)| (frequency, phase))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Acknowledgements of two packets each, 10 us apart, in aggregates at these times, ms.
    fn acks(times: &[f64], each: usize) -> Vec<(f64, f64)> {
        let aggregate = |ms: &f64| {
            let ms = *ms;
            (0..each).map(move |index| (ms * 1e-3 + 1e-5 * index as f64, 2.0))
        };
        times.iter().flat_map(aggregate).collect()
    }

    #[test]
    fn aggregates_with_pauses_have_their_period() {
        // Rounds of 35 ms with one, two, three and four aggregates 5 ms apart, then one after another.
        let rounds = (0..4).flat_map(|round| (0..=round).map(move |index| f64::from(35 * round + 5 * index)));
        let times: Vec<f64> = rounds.chain((28..60).map(|index| f64::from(5 * index))).collect();
        let [low, period, high] = clock(&acks(&times, 8), 35e-3).expect("a period").period;
        assert!((period - 5e-3).abs() < 1e-9, "{period}");
        assert!(low <= period && period <= high && high - low < 1e-9, "{low} {high}");
    }

    #[test]
    fn the_interval_of_late_hosts_is_that_of_the_regression() {
        // Every other aggregate 0.2 ms late: residuals of 0.1 ms with either sign, nearly, around a slope that 100 numbers have with a
        // standard error of 0.1 ms / sqrt(100^3 / 12) = 0.35 us; two of these.
        let times: Vec<f64> =
            (0..100).map(|index| 6.0 * f64::from(index) + 0.2 * f64::from(index % 2)).collect();
        let [low, period, high] = clock(&acks(&times, 8), 20e-3).expect("a period").period;
        assert!((period - 6e-3).abs() < 0.4e-6, "{period}");
        assert!(((high - low) / 4.0 - 0.35e-6).abs() < 0.01e-6, "{}", high - low);
    }

    #[test]
    fn a_constant_rate_has_no_aggregates() {
        // Two packets every 2.4 ms.
        let times: Vec<f64> = (0..400).map(|index| 2.4 * f64::from(index)).collect();
        assert!(clock(&acks(&times, 1), 40e-3).is_none());
    }

    #[test]
    fn rounds_of_slow_start_are_no_aggregates() {
        // Bursts that grow, 40 ms apart.
        let times: Vec<f64> = (0..20).map(|index| 40.0 * f64::from(index)).collect();
        assert!(clock(&acks(&times, 12), 40e-3).is_none());
    }

    #[test]
    fn exponential_gaps_have_no_period() {
        // Gaps of the quantiles of an exponential distribution of mean 5 ms, in a mixed order.
        let gap = |index: u32| -5.0 * libm::log(1.0 - (f64::from(index * 37 % 101) + 0.5) / 101.0);
        let mut at = 0.0;
        let times: Vec<f64> = (0..101)
            .map(|index| {
                at += gap(index);
                at
            })
            .collect();
        assert!(clock(&acks(&times, 8), 40e-3).is_none());
    }

    #[test]
    fn an_aggregate_was_full_if_a_packet_of_the_next_one_had_waited() {
        // Aggregates of 4 and 5 packets by turns, 5 ms apart, whose packets had waited 7 ms; the first of three more, which follow without
        // a queue, has one that had waited so long. Nineteen are full, the first nineteen: ten of 4 and nine of 5, of a mean of 85 / 19
        // and a variance of 90 / 19 / 18. Two standard errors are 2 sqrt(90 / 19 / 18 / 19) = 0.2353.
        let clock = Clock { period: [5e-3; 3], origin: 0.0 };
        let packets = |number: u32| if number < 19 { 4 + number % 2 } else { 1 };
        let arrivals = (0..22).flat_map(|number| {
            let waited = Some(if number < 20 { 7e-3 } else { 1e-3 });
            (0..packets(number)).map(move |_| (5e-3 * f64::from(number), 1.0, waited))
        });
        let ([low, size, high], differ) = mean_size(&full(&clock, arrivals));
        assert!((size - 85.0 / 19.0).abs() < 1e-12, "{size}");
        assert!((size - low - 0.2353).abs() < 1e-4 && (high - size - 0.2353).abs() < 1e-4, "{low} {high}");
        // sqrt(90 / 19 / 18) * 19 / 85 = 0.1147.
        assert!((differ - 0.1147).abs() < 1e-4, "{differ}");
    }
}
