//! Random early detection.

use firstflight_scenario::{self as scenario, Queue};

use super::draft::{Base, Draft, packets};
use super::{Path, near, used_up};
use crate::anchors::Anchors;
use crate::range::Range;
use crate::rules::{Judged, Queued};

parameters! {
    /// Random early detection.
    Red {
        /// Rate, bit/s.
        rate,
        /// Two-way propagation, seconds.
        rtt,
        /// Lower threshold, packets.
        min,
        /// Upper threshold over the lower one.
        ratio,
        /// Share that is dropped at the upper threshold.
        max_p,
        /// Weight of the newest length in the average.
        weight,
    }
    shows { rate: rate, rtt: rtt }
}

impl Path for Red<f64> {
    type Ranges = Red<Range>;

    const LABELS: &'static [&'static str] = &["red"];
    const IS_RANDOM: bool = true;

    fn shows(anchors: &Anchors) -> bool {
        anchors.lost > 0.0
    }

    fn ranges(anchors: &Anchors) -> Self::Ranges {
        Red {
            rate: used_up(anchors),
            rtt: near(anchors),
            // Thresholds up to the queue that was seen.
            min: Range::new(2.0, anchors.most_buffer() / 2.0),
            ratio: Range::new(1.5, 5.0),
            max_p: Range::new(0.02, 0.5),
            weight: Range::new(0.0005, 0.01),
        }
    }

    fn draft(&self, _: &Base<'_>) -> Draft {
        let mut draft = Draft::new(self.rate, self.rtt, packets(10.0 * self.min * self.ratio));
        draft.forward.queue = Queue::Red(scenario::Red {
            min: self.min,
            max: self.min * self.ratio,
            weight: self.weight,
            max_p: self.max_p,
            gentle: false,
            ecn: false,
            mean_packet: None,
        });
        draft
    }

    fn judged(ranges: &Self::Ranges, queued: &Queued, seed: u64) -> Option<Judged> {
        Some(queued.red([ranges.min, ranges.ratio, ranges.max_p, ranges.weight], seed))
    }

    fn take_rule(&mut self, rule: &[f64]) {
        let [min, ratio, max_p, weight] = *rule else { unreachable!("RED has four values beside a path") };
        *self = Self { min, ratio, max_p, weight, ..*self };
    }
}
