//! Packets that leave in aggregates, as of 802.11 or a cable modem.

use firstflight_contract::Nanos;
use firstflight_scenario::{LinkTrace, Schedule};

use super::draft::{Base, Draft, packets, trace};
use super::{OPEN, Opening, Path, near, ruled, uniform};
use crate::anchors::Anchors;
use crate::range::{Range, whole};
use crate::scale::Scale;

parameters! {
    /// Packets that leave in aggregates, as of 802.11 or a cable modem.
    Aggregating {
        /// Rate, bit/s.
        rate,
        /// Two-way propagation, seconds.
        rtt,
        /// Time between two aggregates, seconds.
        period,
        /// Packets that can wait.
        buffer,
    }
    shows { rate: rate, rtt: rtt, buffer: buffer }
}

impl Path for Aggregating<f64> {
    type Ranges = Aggregating<Range>;

    const LABELS: &'static [&'static str] = &["aggregating"];
    const IS_TIED: bool = true;

    fn prior(scale: &Scale) -> Self::Ranges {
        Aggregating {
            rate: scale.rate(),
            rtt: scale.rtt(),
            buffer: scale.buffer(),
            period: Range::new(1e-3, 50e-3),
        }
    }

    fn ranges(anchors: &Anchors) -> Self::Ranges {
        let (rates, periods) = (anchors.aggregated_range(), anchors.period_range());
        Aggregating {
            rate: Range::new(rates.0, rates.1).around(anchors.aggregated_guess()),
            rtt: near(anchors),
            buffer: ruled(),
            period: Range::new(periods.0, periods.1).around(anchors.period_guess()),
        }
    }

    /// Packets that leave together have waited together, where the rule is not open.
    fn is_valid(&self) -> bool {
        /// Bits of a full packet.
        const FULL: f64 = 12_000.0;
        self.buffer <= OPEN || self.buffer >= self.rate * self.period / FULL
    }

    fn draft(&self, base: &Base<'_>) -> Draft {
        let mut draft = Draft::new(self.rate, self.rtt, packets(self.buffer));
        let drawn = || Nanos(whole(base.start().unit() * self.period * 1e9, u64::MAX));
        let trace = aggregates(self.rate, self.period, base.packet(), base.late.unwrap_or_else(drawn));
        draft.forward.rate = trace.schedule.mean();
        draft.forward.trace = Some(trace);
        draft
    }

    /// Each waits for the next aggregate.
    fn first_round_trip(&self, _: &Opening<'_>) -> (f64, f64) {
        (0.0, uniform(self.period))
    }
}

/// Aggregates of packets that leave together, `every` seconds: those for which the `rate` has room by then, so that their numbers differ
/// by one and both values are exact. The packet that opens a connection leaves in the first of them. Data that follows the handshake
/// `late` meets the others as if all of these were earlier by that time: simulated data is never late.
fn aggregates(rate: f64, every: f64, packet: f64, late: Nanos) -> LinkTrace {
    /// Aggregates after which the first distance recurs, and most packets of a trace.
    const AGGREGATES: u64 = 4096;
    const LONGEST: f64 = 200_000.0;
    // An aggregate has a packet at least; the interval then makes the rate exact.
    let each = (rate * every / (packet * 8.0)).max(1.0);
    let every = whole(every.max(packet * 8.0 / rate) * 1e9, u64::MAX / 65536);
    let late = late.0 % every;
    let count = AGGREGATES.min((LONGEST / each) as u64).max(2);
    // Rounding of the rate must not cost an aggregate a packet: a whole number of packets may come out 1e-9 too small.
    let until = |number: u64| (number as f64 * each * (1.0 + 1e-9)) as usize;
    let mut times = Vec::with_capacity(until(count));
    for number in 1..=count {
        let at = if number == 1 { every } else { number * every - late };
        times.resize(until(number), Nanos(at));
    }
    trace("aggregates", Schedule::Opportunities(times))
}
