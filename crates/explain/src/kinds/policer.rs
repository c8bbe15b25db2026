//! Token-bucket policer in front of a faster line.

use firstflight_scenario::{self as scenario, Queue};

use super::draft::{Base, Draft, UNLIMITED, bucket, rate};
use super::{Path, near};
use crate::anchors::Anchors;
use crate::range::Range;

parameters! {
    /// Token-bucket policer in front of a faster line.
    Policer {
        /// Rate of the line, bit/s.
        line,
        /// Two-way propagation, seconds.
        rtt,
        /// Rate of the policer, bit/s.
        rate,
        /// Depth of the bucket, bytes.
        burst,
    }
    shows { rate: rate, rtt: rtt }
}

impl Path for Policer<f64> {
    type Ranges = Policer<Range>;

    const LABELS: &'static [&'static str] = &["policer"];

    fn shows(anchors: &Anchors) -> bool {
        anchors.lost > 0.0
    }

    fn ranges(anchors: &Anchors) -> Self::Ranges {
        let (rates, depths) = (anchors.policer_range(), anchors.depth_range());
        Policer {
            line: Range::new(anchors.goodput, 100.0 * anchors.goodput).around(anchors.fastest_guess()),
            rtt: near(anchors),
            rate: Range::new(rates.0, rates.1).around(anchors.policer_guess()),
            burst: Range::new(depths.0, depths.1).around(anchors.depth_guess()),
        }
    }

    /// A policer before a line that is no faster is a plain queue as long as its bucket is deep. The bucket's rate would explain
    /// whatever a plain queue does not.
    fn is_valid(&self) -> bool {
        /// Least ratio of two rates that differ.
        const FASTER: f64 = 1.2;
        self.line >= FASTER * self.rate
    }

    fn draft(&self, base: &Base<'_>) -> Draft {
        let mut draft = Draft::new(self.line, self.rtt, UNLIMITED);
        let burst = bucket(self.burst, base.packet());
        draft.forward.queue = Queue::Policer(scenario::Policer { rate: rate(self.rate), burst });
        draft
    }
}
