//! Controlled delay.

use firstflight_contract::Nanos;
use firstflight_scenario::{self as scenario, Queue};

use super::draft::{Base, Draft, packets};
use super::{Path, near, ruled, used_up};
use crate::anchors::Anchors;
use crate::range::{Range, whole};
use crate::rules::Rule;
use crate::scale::Scale;

/// Delays that may be aimed at, seconds: RFC 8289, section 4.4, has 5 ms, and asks for more on slow lines.
const TARGET: (f64, f64) = (1e-3, 30e-3);

/// Packets that can wait: the limit of a queue that controls its delay is seldom met.
const BUFFER: (f64, f64) = (50.0, 4000.0);

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
    const RULE: Rule = Rule::Codel;

    fn prior(scale: &Scale) -> Self::Ranges {
        Codel {
            rate: scale.rate(),
            rtt: scale.rtt(),
            target: Range::new(TARGET.0, TARGET.1),
            buffer: Range::new(BUFFER.0, BUFFER.1),
        }
    }

    fn ranges(anchors: &Anchors) -> Self::Ranges {
        Codel { rate: used_up(anchors), rtt: near(anchors), target: ruled(), buffer: ruled() }
    }

    fn draft(&self, _: &Base<'_>) -> Draft {
        let mut draft = Draft::new(self.rate, self.rtt, packets(self.buffer));
        let target = Nanos(whole(self.target * 1e9, u64::MAX));
        // RFC 8289, section 4.4: the target is 5 % of the interval.
        draft.forward.queue =
            Queue::Codel(scenario::Codel { target, interval: Nanos(20 * target.0), ecn: false });
        draft
    }
}
