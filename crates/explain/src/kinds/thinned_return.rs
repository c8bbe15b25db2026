//! Slow return path that keeps the newest acknowledgement.

use firstflight_scenario::Queue;

use super::draft::{Base, Draft, packets, rate};
use super::{FEW, Opening, Path, near, ruled, used_up};
use crate::anchors::Anchors;
use crate::range::Range;
use crate::scale::Scale;

/// Packets that one acknowledgement reports. Receivers report up to two by themselves.
const EACH: (f64, f64) = (1.5, 50.0);

parameters! {
    /// Slow return path that keeps the newest acknowledgement.
    ThinnedReturn {
        /// Rate, bit/s.
        rate,
        /// Two-way propagation, seconds.
        rtt,
        /// Packets that one acknowledgement reports while packets arrive at the path's rate.
        each,
        /// Packets that can wait.
        buffer,
    }
    shows { rate: rate, rtt: rtt, buffer: buffer }
}

impl ThinnedReturn<f64> {
    /// Rate of the return path, bit/s, for packets and acknowledgements of these sizes.
    fn back(&self, ack: f64, packet: f64) -> f64 {
        self.rate * ack / packet / self.each
    }
}

impl Path for ThinnedReturn<f64> {
    type Ranges = ThinnedReturn<Range>;

    const LABELS: &'static [&'static str] = &["limited-return-path"];

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
            each: Range::new(EACH.0, EACH.1),
        }
    }

    fn ranges(anchors: &Anchors) -> Self::Ranges {
        ThinnedReturn {
            rate: used_up(anchors),
            rtt: near(anchors),
            buffer: ruled(),
            each: Range::new(EACH.0, EACH.1),
        }
    }

    fn draft(&self, base: &Base<'_>) -> Draft {
        let mut draft = Draft::new(self.rate, self.rtt, packets(self.buffer));
        draft.back.rate = rate(self.back(base.ack(), base.packet()));
        draft.back.queue = Queue::AckFilter(());
        draft
    }

    fn first_round_trip(&self, opening: &Opening<'_>) -> (f64, f64) {
        let back = self.back(opening.anchors.ack, opening.anchors.packet);
        (opening.forward(self.rate) + opening.back(back), 0.0)
    }
}
