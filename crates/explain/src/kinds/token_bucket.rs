//! Token-bucket shaper in front of a faster line: packets wait for tokens.

use firstflight_scenario::Shaper;

use super::draft::{Base, Draft, bucket, packets, rate};
use super::{DEPTH, FASTER, FEW, LINE, Path, near, ruled};
use crate::anchors::Anchors;
use crate::range::Range;
use crate::scale::Scale;

parameters! {
    /// Token-bucket shaper in front of a faster line: packets wait for tokens.
    TokenBucket {
        /// Rate of the line, bit/s.
        line,
        /// Two-way propagation, seconds.
        rtt,
        /// Rate of the tokens, bit/s.
        rate,
        /// Depth of the bucket, bytes.
        burst,
        /// Packets that can wait.
        buffer,
    }
    shows { rate: rate, rtt: rtt, buffer: buffer }
}

impl Path for TokenBucket<f64> {
    type Ranges = TokenBucket<Range>;

    const LABELS: &'static [&'static str] = &["token-bucket"];

    fn shows(anchors: &Anchors) -> bool {
        anchors.packets >= FEW && anchors.bursts()
    }

    fn prior(scale: &Scale) -> Self::Ranges {
        TokenBucket {
            line: Range::new(FASTER * scale.rate, LINE * scale.rate),
            rtt: scale.rtt(),
            rate: scale.rate(),
            burst: Range::new(DEPTH.0, DEPTH.1),
            buffer: scale.buffer(),
        }
    }

    fn ranges(anchors: &Anchors) -> Self::Ranges {
        let (least, most) = anchors.bucket_range();
        TokenBucket {
            line: anchors.line(),
            rtt: near(anchors),
            rate: Range::new(0.5 * anchors.goodput, 2.0 * anchors.goodput).around(anchors.token_guess()),
            burst: Range::new(least, most),
            buffer: ruled(),
        }
    }

    fn draft(&self, base: &Base<'_>) -> Draft {
        let mut draft = Draft::new(self.line, self.rtt, packets(self.buffer));
        let burst = bucket(self.burst, base.packet());
        draft.forward.shaper = Some(Shaper { rate: rate(self.rate), burst });
        draft
    }
}
