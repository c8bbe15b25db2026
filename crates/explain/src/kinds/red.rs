//! Random early detection.

use firstflight_scenario::{self as scenario, Queue};

use super::draft::{Base, Draft, packets};
use super::{Path, near, ruled, used_up};
use crate::anchors::Anchors;
use crate::range::Range;
use crate::rules::Rule;
use crate::scale::Scale;

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
    const RULE: Rule = Rule::Red;

    fn prior(scale: &Scale) -> Self::Ranges {
        Red {
            rate: scale.rate(),
            rtt: scale.rtt(),
            // Thresholds up to half of the longest queue.
            min: Range::new(2.0, scale.most_buffer() / 2.0),
            ratio: Range::new(1.5, 5.0),
            max_p: Range::new(0.02, 0.5),
            weight: Range::new(0.0005, 0.01),
        }
    }

    fn ranges(anchors: &Anchors) -> Self::Ranges {
        Red {
            rate: used_up(anchors),
            rtt: near(anchors),
            min: ruled(),
            ratio: ruled(),
            max_p: ruled(),
            weight: ruled(),
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
}
