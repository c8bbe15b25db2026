//! Return path that drops acknowledgements, or merges them.

use super::draft::{Base, Draft, packets};
use super::{FEW, Path, buffer, near, used_up};
use crate::anchors::Anchors;
use crate::range::Range;

parameters! {
    /// Return path that drops acknowledgements, or merges them.
    ThinnedReturn {
        /// Rate, bit/s.
        rate,
        /// Two-way propagation, seconds.
        rtt,
        /// Packets that can wait.
        buffer,
        /// Acknowledgements of which one arrives.
        one_of,
    }
    shows { rate: rate, rtt: rtt, buffer: buffer }
}

impl Path for ThinnedReturn<f64> {
    type Ranges = ThinnedReturn<Range>;

    const LABELS: &'static [&'static str] = &["limited-return-path"];
    const IS_RANDOM: bool = true;

    fn shows(anchors: &Anchors) -> bool {
        /// Share of acknowledgements of three packets or more, which no receiver sends that gets each packet by itself.
        const SOME: f64 = 0.05;
        anchors.packets >= FEW && anchors.stretched >= SOME
    }

    fn ranges(anchors: &Anchors) -> Self::Ranges {
        ThinnedReturn {
            rate: used_up(anchors),
            rtt: near(anchors),
            buffer: buffer(anchors),
            one_of: Range::new(1.1, 16.0),
        }
    }

    /// The next acknowledgement reports what the lost ones reported.
    fn draft(&self, _: &Base<'_>) -> Draft {
        let mut draft = Draft::new(self.rate, self.rtt, packets(self.buffer));
        draft.back.loss = 1.0 - 1.0 / self.one_of.max(1.0);
        draft
    }
}
