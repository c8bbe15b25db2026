//! Slow return path.

use super::draft::{Base, Draft, packets, rate};
use super::{Opening, Path, near, ruled};
use crate::anchors::Anchors;
use crate::range::Range;
use crate::scale::Scale;

parameters! {
    /// Slow return path.
    LimitedReturn {
        /// Rate, bit/s.
        rate,
        /// Two-way propagation, seconds.
        rtt,
        /// Rate of the return path, bit/s.
        back,
        /// Packets that can wait.
        buffer,
    }
    shows { rate: rate, rtt: rtt, buffer: buffer }
}

impl Path for LimitedReturn<f64> {
    type Ranges = LimitedReturn<Range>;

    const LABELS: &'static [&'static str] = &["limited-return-path"];

    /// A return path that is from a fiftieth to all as fast as the acknowledgements of full packets need.
    fn prior(scale: &Scale) -> Self::Ranges {
        LimitedReturn {
            rate: scale.rate(),
            rtt: scale.rtt(),
            buffer: scale.buffer(),
            back: Range::new(
                scale.rate * scale.ack / scale.packet / 50.0,
                scale.rate * scale.ack / scale.packet,
            ),
        }
    }

    fn ranges(anchors: &Anchors) -> Self::Ranges {
        let back = anchors.return_range();
        LimitedReturn {
            rate: Range::new(anchors.faster(), 50.0 * anchors.faster()),
            rtt: near(anchors),
            buffer: ruled(),
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
