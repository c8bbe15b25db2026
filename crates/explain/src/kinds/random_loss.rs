//! Constant rate, drop-tail queue, and independent random loss.

use super::draft::{Base, Draft, packets};
use super::{Path, near, used_up};
use crate::anchors::Anchors;
use crate::range::Range;
use crate::rules::{Judged, Queued};

parameters! {
    /// Constant rate, drop-tail queue, and independent random loss.
    RandomLoss {
        /// Rate, bit/s.
        rate,
        /// Two-way propagation, seconds.
        rtt,
        /// Packets that can wait.
        buffer,
        /// Probability of loss.
        loss,
        /// Mean number of packets that are lost in a row.
        burst,
    }
    shows { rate: rate, rtt: rtt, buffer: buffer, loss: loss }
}

impl Path for RandomLoss<f64> {
    type Ranges = RandomLoss<Range>;

    const LABELS: &'static [&'static str] = &["drop-tail"];
    const IS_RANDOM: bool = true;

    fn shows(anchors: &Anchors) -> bool {
        anchors.lost > 0.0
    }

    fn ranges(anchors: &Anchors) -> Self::Ranges {
        let (low, high) = anchors.loss_range();
        RandomLoss {
            rate: used_up(anchors),
            rtt: near(anchors),
            buffer: Range::new(anchors.roomy(), anchors.most_buffer()),
            loss: Range::new(low, high),
            burst: Range::new(1.0, 5.0),
        }
    }

    fn draft(&self, _: &Base<'_>) -> Draft {
        let mut draft = Draft::new(self.rate, self.rtt, packets(self.buffer));
        draft.forward.loss = self.loss.min(1.0);
        draft.forward.loss_burst = self.burst;
        draft
    }

    fn judged(ranges: &Self::Ranges, queued: &Queued, _: u64) -> Option<Judged> {
        Some(queued.random(&ranges.buffer, &ranges.loss, &ranges.burst))
    }

    fn take_rule(&mut self, rule: &[f64]) {
        let [buffer, loss, burst] = *rule else { unreachable!("random loss has three values beside a path") };
        *self = Self { buffer, loss, burst, ..*self };
    }
}
