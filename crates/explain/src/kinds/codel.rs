//! Controlled delay.

use firstflight_contract::Nanos;
use firstflight_scenario::{self as scenario, Queue};

use super::draft::{Base, Draft, packets};
use super::{Path, near, used_up};
use crate::anchors::Anchors;
use crate::range::{Range, whole};
use crate::rules::{Judged, Queued};

parameters! {
    /// Controlled delay.
    Codel {
        /// Rate, bit/s.
        rate,
        /// Two-way propagation, seconds.
        rtt,
        /// Delay of the queue that is aimed at, seconds.
        target,
        /// Packets that can wait.
        buffer,
    }
    shows { rate: rate, rtt: rtt, buffer: buffer }
}

impl Path for Codel<f64> {
    type Ranges = Codel<Range>;

    // A connection that is alone meets the same queue under both: the two cannot be told apart.
    const LABELS: &'static [&'static str] = &["codel", "fq-codel"];

    fn shows(anchors: &Anchors) -> bool {
        anchors.lost > 0.0
    }

    fn ranges(anchors: &Anchors) -> Self::Ranges {
        Codel {
            rate: used_up(anchors),
            rtt: near(anchors),
            target: Range::new(1e-3, 30e-3).around(Some((5e-3, 0.02))),
            buffer: Range::new(50.0, 4000.0),
        }
    }

    fn draft(&self, _: &Base<'_>) -> Draft {
        let mut draft = Draft::new(self.rate, self.rtt, packets(self.buffer));
        let target = Nanos(whole(self.target * 1e9, u64::MAX));
        // RFC 8289, section 4.4: the target is 5 % of the interval.
        draft.forward.queue = Queue::Codel(scenario::Codel { target, interval: Nanos(20 * target.0), ecn: false });
        draft
    }

    fn judged(ranges: &Self::Ranges, queued: &Queued, _: u64) -> Option<Judged> {
        Some(queued.codel(&ranges.target, &ranges.buffer))
    }
}
