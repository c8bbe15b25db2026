//! Token bucket of a policer, from the fate of each packet.
//!
//! A packet that a policer drops takes no tokens. The packets that passed therefore determine the content of the bucket at
//! all times, and each packet bounds it: there was room for one that passed, and none for one that was dropped. The rate
//! and the depth that contradict fewest packets are much better known than from the number of bytes between the first loss
//! and the last (T. Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016, section 3.1), with whose
//! rate the search begins: that count includes what was left in the bucket, and what flowed past a full one.

use crate::offered::{Offered, offered};
use crate::packet_trace::PacketTrace;
use crate::summary::policing;

/// Token bucket of a policer. Bytes are those of the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// Rate, bytes per second: least, mean and largest of those that contradict fewest packets.
    pub rate: [f64; 3],
    /// Depth, bytes, likewise.
    pub depth: [f64; 3],
    /// Packets that contradict it, over the dropped ones.
    pub wrong: f64,
}

/// Most packets that are tried; the first ones.
const MOST: usize = 4000;

/// The bucket that contradicts fewest packets; `None` with fewer than two losses.
pub(crate) fn bucket(trace: &PacketTrace) -> Option<Bucket> {
    let (rate, _) = policing(trace)?;
    let mut offered = offered(trace);
    offered.truncate(MOST);
    let dropped = offered.iter().filter(|one| !one.passed).count();
    // The middle of 3 to 1500 packets, in the logarithm.
    let packet = offered.iter().map(|one| one.bytes).fold(0.0, f64::max);
    let found = search(&offered, rate, 67.0 * packet)?;
    Some(Bucket { wrong: found.wrong / dropped.max(1) as f64, ..found })
}

/// The best bucket within a factor of 1.3 of a rate and of 22 of a depth, on finer and finer grids. `wrong` is a number of packets.
fn search(offered: &[Offered], rate: f64, depth: f64) -> Option<Bucket> {
    let mut found = best(offered, (rate, 0.01, 26), (depth, 0.08, 40))?;
    for (rate_step, depth_step) in [(0.004, 0.02), (0.001, 0.005), (0.000_25, 0.001_25)] {
        found = best(offered, (found.rate[1], rate_step, 12), (found.depth[1], depth_step, 12))?;
    }
    Some(found)
}

/// The best bucket of a grid around a rate and a depth, each with its relative step and the number of steps to both sides;
/// `wrong` is a number of packets. Buckets with one contradiction more than the best count as equally good.
fn best(
    offered: &[Offered],
    (rate, rate_step, rates): (f64, f64, i32),
    (depth, depth_step, depths): (f64, f64, i32),
) -> Option<Bucket> {
    let value = |middle: f64, step: f64, index: i32| middle * libm::pow(1.0 + step, f64::from(index));
    let mut tried = vec![];
    for index in -rates..=rates {
        let rate = value(rate, rate_step, index);
        for index in -depths..=depths {
            let depth = value(depth, depth_step, index);
            tried.push((contradictions(offered, rate, depth), rate, depth));
        }
    }
    let least = tried.iter().map(|one| one.0).min()?;
    let good = || tried.iter().filter(|one| one.0 <= least + 1);
    let spread = |of: fn(&(u32, f64, f64)) -> f64| {
        let values = || good().map(of);
        let mean = values().sum::<f64>() / values().count() as f64;
        [values().fold(f64::INFINITY, f64::min), mean, values().fold(0.0, f64::max)]
    };
    Some(Bucket { rate: spread(|one| one.1), depth: spread(|one| one.2), wrong: f64::from(least) })
}

/// Packets that passed without tokens, or were dropped in spite of them.
fn contradictions(offered: &[Offered], rate: f64, depth: f64) -> u32 {
    let (mut tokens, mut before) = (depth, 0.0);
    let mut wrong = 0;
    for one in offered {
        tokens = (tokens + rate * (one.at - before)).min(depth);
        before = one.at;
        wrong += u32::from((tokens >= one.bytes) != one.passed);
        if one.passed {
            tokens = (tokens - one.bytes).max(0.0);
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of 1000 bytes at these times, milliseconds, through a bucket that is full at first.
    fn policed(times: impl Iterator<Item = f64>, rate: f64, depth: f64) -> Vec<Offered> {
        let (mut tokens, mut before) = (depth, 0.0);
        let mut pass = |at: f64| {
            tokens = (tokens + rate * (at - before)).min(depth);
            before = at;
            let passed = tokens >= 1000.0;
            tokens -= if passed { 1000.0 } else { 0.0 };
            Offered { at, bytes: 1000.0, passed, waited: None }
        };
        times.map(|ms| pass(ms * 1e-3)).collect()
    }

    #[test]
    fn the_bucket_is_found_from_a_rate_that_is_an_eighth_off() {
        // Bursts of 40 packets after 10, 15 and 35 ms by turns, 2 MB/s, through 1 MB/s and 20 kB: the long pause fills the bucket. With
        // equal pauses a shallower bucket, which each pause fills, contradicts few packets at any larger rate.
        let begin = |burst: u32| burst / 3 * 60 + [0, 10, 25][burst as usize % 3];
        let times = (0..1200).map(|index| f64::from(begin(index / 40)) + 0.05 * f64::from(index % 40));
        let offered = policed(times, 1e6, 20e3);
        assert_eq!(contradictions(&offered, 1e6, 20e3), 0);
        let fine = search(&offered, 1.12e6, 67e3).expect("a grid");
        assert!((fine.rate[1] / 1e6 - 1.0).abs() < 0.005, "{fine:?}");
        assert!((fine.depth[1] / 20e3 - 1.0).abs() < 0.05, "{fine:?}");
        assert!(fine.wrong < 6.0, "{fine:?}");
    }

    #[test]
    fn a_packet_contradicts_a_bucket_that_had_no_tokens_for_it_or_tokens_for_one_that_was_dropped() {
        let packet = |ms: f64, passed| Offered { at: ms * 1e-3, bytes: 1000.0, passed, waited: None };
        // 2000 bytes at once, and 1000 every 10 ms after that: the third is dropped, the one at 10 ms passes.
        let seen = [
            packet(0.0, true),
            packet(0.0, true),
            packet(0.0, false),
            packet(10.0, true),
            packet(10.0, false),
        ];
        assert_eq!(contradictions(&seen, 1e5, 2000.0), 0);
        // A bucket of 3000 has tokens for the third, and again at 10 ms for both.
        assert_eq!(contradictions(&seen, 1e5, 3000.0), 2);
        // At half the rate there are 500 at 10 ms.
        assert_eq!(contradictions(&seen, 5e4, 2000.0), 1);
    }
}
