//! Constant rate, drop-tail queue.

use super::draft::{Base, Draft, packets};
use super::{Path, near, ruled, used_up};
use crate::anchors::Anchors;
use crate::range::Range;
use crate::scale::Scale;

parameters! {
    /// Constant rate, drop-tail queue.
    DropTail {
        /// Rate, bit/s.
        rate,
        /// Two-way propagation, seconds.
        rtt,
        /// Packets that can wait.
        buffer,
    }
    shows { rate: rate, rtt: rtt, buffer: buffer }
}

impl Path for DropTail<f64> {
    type Ranges = DropTail<Range>;

    const LABELS: &'static [&'static str] = &["drop-tail"];

    fn shows(_: &Anchors) -> bool {
        true
    }

    fn prior(scale: &Scale) -> Self::Ranges {
        DropTail { rate: scale.rate(), rtt: scale.rtt(), buffer: scale.buffer() }
    }

    fn ranges(anchors: &Anchors) -> Self::Ranges {
        DropTail { rate: used_up(anchors), rtt: near(anchors), buffer: ruled() }
    }

    fn draft(&self, _: &Base<'_>) -> Draft {
        Draft::new(self.rate, self.rtt, packets(self.buffer))
    }
}
