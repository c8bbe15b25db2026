//! Token-bucket policer in front of a faster line.

use firstflight_scenario::{self as scenario, Queue};

use super::draft::{Base, Draft, bucket, rate};
use super::{DEPTH, FASTER, LINE, Path, near, ruled};
use crate::anchors::Anchors;
use crate::entry::UNLIMITED;
use crate::range::Range;
use crate::rules::Rule;
use crate::scale::Scale;

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
    const RULE: Rule = Rule::Policer;
    const IS_TIED: bool = true;

    fn prior(scale: &Scale) -> Self::Ranges {
        Policer {
            line: Range::new(FASTER * scale.rate, LINE * scale.rate),
            rtt: scale.rtt(),
            rate: scale.rate(),
            burst: Range::new(DEPTH.0, DEPTH.1),
        }
    }

    fn ranges(anchors: &Anchors) -> Self::Ranges {
        Policer { line: anchors.line(), rtt: near(anchors), rate: ruled(), burst: ruled() }
    }

    /// A policer before a line that is no faster is a plain queue as long as its bucket is deep. The bucket's rate would explain
    /// whatever a plain queue does not.
    fn is_valid(&self) -> bool {
        self.line >= FASTER * self.rate
    }

    fn draft(&self, base: &Base<'_>) -> Draft {
        let mut draft = Draft::new(self.line, self.rtt, UNLIMITED);
        let burst = bucket(self.burst, base.packet());
        draft.forward.queue = Queue::Policer(scenario::Policer { rate: rate(self.rate), burst });
        draft
    }
}
