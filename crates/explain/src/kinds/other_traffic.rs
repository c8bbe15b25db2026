//! Other connections at the bottleneck.

use firstflight_contract::Nanos;
use firstflight_random::Dist;
use firstflight_scenario::{FlowGroup, SchemeSpec, Start};

use super::draft::{Base, Draft, packets};
use super::{Opening, Path, uniform};
use crate::anchors::Anchors;
use crate::range::{Range, normal, whole};
use crate::rules::Rule;
use crate::scale::Scale;

parameters! {
    /// Other connections at the bottleneck.
    OtherTraffic {
        /// Rate, bit/s.
        rate,
        /// Two-way propagation, seconds.
        rtt,
        /// Packets that can wait.
        buffer,
        /// Number of the others.
        count,
        /// Share of the path that the others hold when the transfer begins.
        share,
        /// Standard deviation of the logarithm of that share from one transfer to the next.
        spread,
    }
    shows { rate: rate, rtt: rtt, buffer: buffer }
}

impl Path for OtherTraffic<f64> {
    type Ranges = OtherTraffic<Range>;

    const LABELS: &'static [&'static str] = &["other-traffic"];
    const RULE: Rule = Rule::Run;
    const IS_RANDOM: bool = true;

    fn prior(scale: &Scale) -> Self::Ranges {
        OtherTraffic {
            rate: scale.rate(),
            rtt: scale.rtt(),
            buffer: scale.buffer(),
            count: Range::new(0.6, 4.4),
            share: Range::new(0.03, 1.0),
            spread: Range::new(0.3, 1.0),
        }
    }

    fn ranges(anchors: &Anchors) -> Self::Ranges {
        OtherTraffic {
            rate: Range::new(anchors.goodput, 10.0 * anchors.goodput),
            rtt: Range::new(0.3 * anchors.rtt, anchors.rtt),
            buffer: Range::new(5.0, anchors.most_buffer()),
            count: Range::new(0.6, 4.4),
            share: Range::new(0.03, 1.0),
            spread: Range::new(0.3, 1.0),
        }
    }

    /// The others hold less than the whole path if something has held them down. One capture shows one share.
    fn draft(&self, base: &Base<'_>) -> Draft {
        let (packet, mut start) = (base.packet(), base.start());
        let mut draft = Draft::new(self.rate, self.rtt, packets(self.buffer));
        // They reach their share in slow start, 64 initial windows within six rounds.
        let round = self.rtt + self.buffer * packet * 8.0 / self.rate;
        draft.begin = Nanos(whole((6.0 + 3.0 * start.unit()) * round * 1e9, u64::MAX));
        let count = whole(self.count, 16);
        let room = self.rate * self.rtt / 8.0 + self.buffer * packet;
        let held = (self.share * libm::exp(self.spread * normal(&mut start))).min(1.0);
        let share = whole(held * room / count as f64, u64::MAX);
        let within = Nanos(whole(round * 1e9, u64::MAX));
        draft.others = Some(bulk(&base.scenario.flows[0], count as u32, share, within));
        draft
    }

    /// Each waits behind the packets of others.
    fn first_round_trip(&self, opening: &Opening<'_>) -> (f64, f64) {
        let mean = opening.forward(self.rate) + opening.back(self.rate);
        (mean, uniform(self.buffer * opening.anchors.packet / self.rate))
    }
}

/// Long cubic connections beside the transfer, which leave slow start at their `share`, bytes.
fn bulk(transfer: &FlowGroup, count: u32, share: u64, within: Nanos) -> FlowGroup {
    FlowGroup {
        name: "others".into(),
        count: Some(count),
        size: None,
        lifetime: None,
        rounds: None,
        initial_ssthresh: Some(share),
        start: Start::Uniform(Nanos::ZERO, within),
        scheme: SchemeSpec::parse("hystart-linux+cubic").expect("a scheme of the registry"),
        extra_rtt: Dist::Fixed(Nanos::ZERO),
        ..transfer.clone()
    }
}
