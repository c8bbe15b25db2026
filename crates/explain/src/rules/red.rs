//! Random early detection drops with the probability of its average (S. Floyd, V. Jacobson, "Random Early Detection Gateways for Congestion
//! Avoidance", IEEE/ACM Transactions on Networking 1(4), 1993).

use firstflight_net::queue::Arrival;
use firstflight_net::queue::red::{Red, RedConfig};
use firstflight_random::Stream;

use super::fates::logistic;
use super::population::Space;
use super::queued::{Packet, ticks};
use super::{Judged, Losses, Queued};
use crate::range::Range;

impl Queued {
    /// Evidence for the lower threshold, the upper one over it, the largest share, and the weight.
    pub(crate) fn red(&self, ranges: [Range; 4], losses: &Losses, seed: u64) -> Judged {
        let space = Space {
            ranges,
            start: None,
            least: 0.002,
            scales: &[1.0],
            rounds: 3,
            stream: ("losses by RED", seed),
        };
        space.judged(losses, |values| losses.weigh(&self.fates(|| self.by_red(values))))
    }

    fn by_red(&self, [min, ratio, max_p, weight]: [f64; 4]) -> impl FnMut(&Packet) -> f64 {
        /// Relative error of the average: that of the lengths, and of rules that treat an idle link in other ways.
        const AVERAGE: f64 = 0.03;
        let config = RedConfig {
            min,
            max: min * ratio,
            weight,
            max_p,
            gentle: false,
            ecn: false,
            wait: false,
            limit: u32::MAX,
            mean_bytes: None,
            typical_ns: ticks(1.0),
        };
        let mut red = Red::new(config, Stream::named(0, ""));
        let mut free_at = 0;
        move |packet: &Packet| {
            let now = ticks(packet.at);
            // Host jitter is no queue.
            let busy = packet.found >= self.error;
            let arrival = Arrival {
                now,
                free_at: if busy { now + ticks(packet.found) } else { free_at.min(now) },
                waiting_packets: packet.found as u32,
                waiting_bytes: 0,
                size: 1,
                ecn_capable: false,
            };
            let chance = red.chance(&arrival);
            // Near the upper threshold the average is not known well enough for certainty.
            let above = logistic((red.average() / config.max - 1.0) / AVERAGE);
            let chance = if chance < 1.0 { chance + (1.0 - chance) * above } else { above.max(max_p) };
            if packet.lost {
                red.chose();
            } else {
                free_at = now + ticks(packet.found + 1.0);
            }
            chance
        }
    }
}
