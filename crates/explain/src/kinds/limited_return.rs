//! Slow return path.

use super::draft::{Base, Draft, packets, rate};
use super::{FEW, Opening, Path, buffer, near};
use crate::anchors::Anchors;
use crate::range::Range;

parameters! {
    /// Slow return path.
    LimitedReturn {
        /// Rate, bit/s.
        rate,
        /// Two-way propagation, seconds.
        rtt,
        /// Packets that can wait.
        buffer,
        /// Rate of the return path, bit/s.
        back,
    }
    shows { rate: rate, rtt: rtt, buffer: buffer }
}

impl Path for LimitedReturn<f64> {
    type Ranges = LimitedReturn<Range>;

    const LABELS: &'static [&'static str] = &["limited-return-path"];

    fn shows(anchors: &Anchors) -> bool {
        anchors.packets >= FEW
    }

    fn ranges(anchors: &Anchors) -> Self::Ranges {
        let back = anchors.return_range();
        LimitedReturn {
            rate: Range::new(anchors.faster(), 50.0 * anchors.faster()),
            rtt: near(anchors),
            buffer: buffer(anchors),
            back: Range::new(back.0, back.1).around(anchors.return_guess()),
        }
    }

    fn draft(&self, _: &Base<'_>) -> Draft {
        let mut draft = Draft::new(self.rate, self.rtt, packets(self.buffer));
        draft.back.rate = rate(self.back);
        draft
    }

    fn first_round_trip(&self, opening: &Opening<'_>) -> (f64, f64) {
        (opening.forward(self.rate) + opening.back(self.back), 0.0)
    }
}
