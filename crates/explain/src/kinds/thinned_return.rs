//! Return path that drops acknowledgements, or merges them.

use super::draft::{Base, Draft, packets};
use super::{FEW, Path, near, ruled, used_up};
use crate::anchors::Anchors;
use crate::range::Range;
use crate::scale::Scale;

/// Acknowledgements of which one arrives. Of more a transfer could lose all that its window has, and wait for timers.
const ONE_OF: (f64, f64) = (1.1, 4.0);

parameters! {
    /// Return path that drops acknowledgements, or merges them.
    ThinnedReturn {
        /// Rate, bit/s.
        rate,
        /// Two-way propagation, seconds.
        rtt,
        /// Acknowledgements of which one arrives.
        one_of,
        /// Packets that can wait.
        buffer,
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

    fn prior(scale: &Scale) -> Self::Ranges {
        ThinnedReturn {
            rate: scale.rate(),
            rtt: scale.rtt(),
            buffer: scale.buffer(),
            one_of: Range::new(ONE_OF.0, ONE_OF.1),
        }
    }

    fn ranges(anchors: &Anchors) -> Self::Ranges {
        ThinnedReturn {
            rate: used_up(anchors),
            rtt: near(anchors),
            buffer: ruled(),
            one_of: Range::new(ONE_OF.0, ONE_OF.1),
        }
    }

    /// The next acknowledgement reports what the lost ones reported.
    fn draft(&self, _: &Base<'_>) -> Draft {
        let mut draft = Draft::new(self.rate, self.rtt, packets(self.buffer));
        draft.back.loss = 1.0 - 1.0 / self.one_of.max(1.0);
        draft
    }
}
