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
        /// Standard deviations of the logarithms of estimates.
        const NEAR: [f64; 2] = [0.002, 0.02];
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
            rounds: 5,
            stream: ("losses by a policer", seed),
        };
        let tokens = |[rate, depth]: [f64; 2]| [rate * self.packet / packet, depth * 8.0 / packet];
        space.judged(losses, |values| losses.weigh(&self.fates(|| by_bucket(tokens(values)))))
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
