//! A policer drops a packet for which its bucket has no tokens.
//!
//! A packet that is dropped takes no tokens. The packets that passed therefore determine the content of the bucket at all times, and each packet
//! bounds it.

use super::fates::logistic;
use super::population::Space;
use super::queued::Packet;
use super::{Judged, Losses, Queued};
use crate::range::Range;

impl Queued {
    /// Evidence for a rate, bit/s, and a depth, bytes, of a bucket of packets that have `packet` bits. `start` has estimates of both.
    pub(crate) fn policer(
        &self,
        [rate, depth]: [Range; 2],
        packet: f64,
        start: Option<[f64; 2]>,
        losses: &Losses,
        seed: u64,
    ) -> Judged {
        /// Standard deviations of the logarithms around estimates.
        const NEAR: [f64; 2] = [0.01, 0.05];
        let place = |range: &Range, value: f64, deviation: f64| {
            let place = libm::log(value / range.at(0.0)) / range.span();
            (0.0..=1.0).contains(&place).then_some((place, deviation / range.span()))
        };
        let start = start.and_then(|[own_rate, own_depth]| {
            Some([place(&rate, own_rate, NEAR[0])?, place(&depth, own_depth, NEAR[1])?])
        });
        // A rate is known to a few millionths of its range where hundreds of packets were dropped.
        let space = Space {
            ranges: [rate, depth],
            start,
            least: 1e-6,
            scales: &[0.5, 4.0, 40.0],
            rounds: 8,
            stream: ("losses by a policer", seed),
        };
        space.judged(losses, |values| losses.weigh(&self.fates(|| by_bucket(self.tokens(values, packet)))))
    }

    /// Whether a bucket, of packets that have `packet` bits, dropped some of the packets that were lost.
    pub(crate) fn policed(&self, bucket: [f64; 2], packet: f64) -> bool {
        let dropped = |connection: &Vec<Packet>| {
            let mut rule = by_bucket(self.tokens(bucket, packet));
            let each = connection.iter().map(|packet| (packet.lost, rule(packet)));
            each.filter(|(lost, _)| *lost).map(|(_, drop)| drop).sum::<f64>()
        };
        self.connections.iter().map(dropped).sum::<f64>() > 0.5
    }

    /// Packets in the time of a packet, and packets in a full bucket.
    fn tokens(&self, [rate, depth]: [f64; 2], packet: f64) -> [f64; 2] {
        [rate * self.packet / packet, depth * 8.0 / packet]
    }
}

/// Probability of a drop by a bucket that gets `rate` packets in the time of a packet and holds `depth`.
fn by_bucket([rate, depth]: [f64; 2]) -> impl FnMut(&Packet) -> f64 {
    /// Errors of the content, packets: usual ones, and those of hosts that were late, with their share.
    const ERRORS: [(f64, f64); 2] = [(0.05, 0.95), (1.0, 0.05)];
    let (mut tokens, mut before) = (depth, 0.0);
    move |packet: &Packet| {
        tokens = (tokens + rate * (packet.at - before)).min(depth);
        before = packet.at;
        let lacking = packet.size - tokens;
        if !packet.lost {
            tokens = (tokens - packet.size).max(0.0);
        }
        ERRORS.iter().map(|(error, share)| share * logistic(lacking / error)).sum()
    }
}

#[cfg(test)]
mod tests {
    use firstflight_capture::Offered;

    use super::*;

    #[test]
    fn the_fates_of_a_bucket_have_its_rate_and_depth_and_no_buffer_explains_them() {
        // Packets of 1500 bytes each 0.2 ms, at 60 Mbit/s, in bursts of 40 after 10, 15 and 35 ms by turns, through 10 Mbit/s and 30 kB.
        let begin = |burst: u32| burst / 3 * 60 + [0, 10, 25][burst as usize % 3];
        let (mut tokens, mut before) = (30e3, 0.0);
        let mut policed = |index: u32| {
            let at = 1e-3 * (f64::from(begin(index / 40)) + 0.2 * f64::from(index % 40));
            tokens = f64::min(tokens + 10e6 / 8.0 * (at - before), 30e3);
            before = at;
            let passed = tokens >= 1500.0;
            tokens -= if passed { 1500.0 } else { 0.0 };
            Offered { at, bytes: 1448.0, passed, waited: Some(0.0) }
        };
        let seen: Vec<Offered> = (0..1200).map(&mut policed).collect();
        let queued = Queued::new(&[&seen], 0.2e-3);
        let losses = Losses::new(queued.lost(), false, None);
        let ranges = [Range::new(1e6, 200e6), Range::new(3e3, 4e6)];
        let judged = |start, seed| queued.policer(ranges, 12e3, Some(start), &losses, seed);
        assert!(queued.policed([10e6, 30e3], 12e3) && !queued.policed([100e6, 3e6], 12e3));
        let exact = judged([10e6, 30e3], 1);
        // Estimates that are off by 1 and 10 % lead to the same peak.
        for seed in 1..4 {
            let other = judged([10.1e6, 33e3], seed);
            let mean =
                |value: usize| other.rules.iter().map(|one| one.weight * one.values[value]).sum::<f64>();
            assert!((mean(0) / 10e6 - 1.0).abs() < 0.005, "{}", mean(0));
            assert!((mean(1) / 30e3 - 1.0).abs() < 0.05, "{}", mean(1));
            assert!((other.evidence - exact.evidence).abs() < 0.5, "{} {}", other.evidence, exact.evidence);
        }
        let buffer = queued.buffer(&Range::new(4.0, 200.0), &losses).evidence;
        assert!(exact.evidence > buffer + 100.0, "{} {buffer}", exact.evidence);
    }
}
