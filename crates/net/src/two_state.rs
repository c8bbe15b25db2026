//! A random choice of packets, independent for each packet or in runs: those that a wire loses, or that take a slower lane.
//!
//! Runs are those of a channel with two states, good and bad, in which every packet of the bad state is taken and none of
//! the good one: E. N. Gilbert, "Capacity of a burst-noise channel", Bell System Technical Journal 39, 1960, and E. O.
//! Elliott, "Estimates of error rates for codes on burst-noise channels", Bell System Technical Journal 42, 1963. The
//! state changes from packet to packet, not with time.

use firstflight_random::{Stream, probability};

/// A choice of packets at one link.
#[derive(Clone, Debug)]
pub struct TwoState {
    /// Probability that the next packet is taken.
    next: u64,
    /// The same after a packet that was left, and after one that was taken.
    after_left: u64,
    after_taken: u64,
    stream: Stream,
}

impl TwoState {
    /// A process that takes the share `mean` of all packets, below 1, in runs of `burst` packets in the mean. Independent
    /// choices come in runs of 1 / (1 - mean) packets: any `burst` up to that, such as 1, means independent choices.
    pub fn new(mean: f64, burst: f64, stream: Stream) -> Self {
        // A run ends after each of its packets with probability 1 / burst, so it has `burst` packets in the mean. Per packet
        // as many runs begin as end: (1 - mean) x = mean / burst.
        let (begins, goes_on) = match is_bursty(mean, burst) {
            true => (mean / (burst * (1.0 - mean)), 1.0 - 1.0 / burst),
            false => (mean, mean),
        };
        let [next, after_left, after_taken] = [mean, begins, goes_on].map(probability);
        Self { next, after_left, after_taken, stream }
    }

    /// Whether the next packet is taken.
    #[inline]
    pub(crate) fn takes_next(&mut self) -> bool {
        let taken = self.stream.happens(self.next);
        self.next = if taken { self.after_taken } else { self.after_left };
        taken
    }
}

/// Whether runs of `burst` packets in the mean are longer than those of independent choices with probability `mean`.
pub fn is_bursty(mean: f64, burst: f64) -> bool {
    burst * (1.0 - mean) > 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(mean: f64, burst: f64, packets: usize) -> Vec<bool> {
        let mut loss = TwoState::new(mean, burst, Stream::named(1, "loss"));
        (0..packets).map(|_| loss.takes_next()).collect()
    }

    /// Lengths of the runs of losses.
    fn runs(lost: &[bool]) -> Vec<usize> {
        lost.chunk_by(|a, b| a == b).filter(|run| run[0]).map(<[bool]>::len).collect()
    }

    #[test]
    fn losses_have_their_share_and_their_runs() {
        for (mean, burst) in [(0.01, 4.0), (0.1, 1.5), (0.3, 20.0), (0.001, 100.0), (0.9, 11.0)] {
            let n = 4_000_000;
            let lost = losses(mean, burst, n);
            let share = lost.iter().filter(|lost| **lost).count() as f64 / n as f64;
            let runs = runs(&lost);
            let length = runs.iter().sum::<usize>() as f64 / runs.len() as f64;
            // The correlation of neighbours is c = P(loss after loss) - P(loss after arrival). The variance of the share is
            // p (1 - p) / n x (1 + c) / (1 - c); run lengths are geometric with the variance burst (burst - 1).
            let c = (1.0 - 1.0 / burst) - mean / (burst * (1.0 - mean));
            let of_share = (mean * (1.0 - mean) / n as f64 * (1.0 + c) / (1.0 - c)).sqrt();
            let of_length = (burst * (burst - 1.0) / runs.len() as f64).sqrt();
            assert!((share - mean).abs() < 5.0 * of_share, "{mean} {burst}: {share}");
            assert!((length - burst).abs() < 5.0 * of_length, "{mean} {burst}: {length}");
        }
    }

    #[test]
    fn runs_are_geometric() {
        // Of runs of 4 packets in the mean, a quarter have one packet, 3/16 two, 9/64 three.
        let runs = runs(&losses(0.05, 4.0, 4_000_000));
        let n = runs.len() as f64;
        for (length, expected) in [(1, 0.25), (2, 0.1875), (3, 0.140_625)] {
            let share = runs.iter().filter(|run| **run == length).count() as f64 / n;
            let deviation = (expected * (1.0 - expected) / n).sqrt();
            assert!((share - expected).abs() < 5.0 * deviation, "{length}: {share}");
        }
    }

    #[test]
    fn bursts_of_one_are_independent_losses_draw_for_draw() {
        let mut stream = Stream::named(1, "loss");
        let independent: Vec<bool> = (0..10_000).map(|_| stream.happens(probability(0.2))).collect();
        // Independent loss of a fifth comes in runs of 1.25.
        for burst in [1.0, 1.25] {
            assert_eq!(losses(0.2, burst, 10_000), independent);
        }
        assert_ne!(losses(0.2, 1.26, 10_000), independent);
    }

    #[test]
    fn the_first_packet_is_lost_as_often_as_any_other() {
        let first = |seed: u64| TwoState::new(0.2, 10.0, Stream::named(seed, "loss")).takes_next();
        let lost = (0..10_000).filter(|&seed| first(seed)).count();
        // Five standard deviations: 5 * sqrt(1e4 * 0.16) = 200.
        assert!(lost.abs_diff(2000) < 200, "{lost}");
    }
}
