//! Scales of the prior ranges, from the published estimators and from plain sums over the capture.

use firstflight_capture::{Aggregates, Bucket, Connection, Estimate, Inferred, PathEstimate};
use firstflight_document::seconds::Seconds;

use super::range::Range;
use super::reordering::Lanes;
use super::scale::Scale;

/// Values of the path that the user knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    /// Rate, bit/s.
    pub rate: Option<f64>,
    /// Two-way propagation, seconds.
    pub rtt: Option<f64>,
    /// Packets that can wait.
    pub buffer: Option<f64>,
    /// Probability of random loss.
    pub loss: Option<f64>,
}

/// Scales of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anchors {
    /// Values that are known.
    pub(crate) given: Given,
    /// Rate at which the fastest connection delivered its data, bit/s of packets.
    pub(crate) goodput: f64,
    /// Shortest round trip, seconds.
    pub(crate) rtt: f64,
    /// Rate at which the fastest packets arrived, bit/s of packets.
    fastest: f64,
    /// Longest usual gap between acknowledgements, seconds.
    gap: f64,
    /// Aggregates, if packets leave in any.
    aggregates: Option<Aggregates>,
    /// Token bucket of a policer, bit/s and bytes of packets.
    policing: Option<Bucket>,
    /// Estimated rate with its interval, bit/s.
    rate: Option<[f64; 3]>,
    /// Lower bound of the rate.
    least_rate: f64,
    /// Estimated propagation, seconds, with its interval.
    propagation: Option<[f64; 3]>,
    /// Largest flight, packets.
    flight: f64,
    /// Number of packets.
    pub(crate) packets: f64,
    /// Packets that an acknowledgement reports, in the median, and the share of those that report three or more.
    each_ack: f64,
    pub(super) stretched: f64,
    /// Packets that were overtaken, if the capture shows any.
    pub(super) lanes: Option<Lanes>,
    /// Bits of a full packet, and of an acknowledgement.
    pub(super) packet: f64,
    pub(super) ack: f64,
}

/// Highest rate that a capture without evidence of one allows, bit/s: the link of a fast server.
const FASTEST: f64 = 10e9;

fn triple(estimate: &Inferred<Estimate>) -> Option<[f64; 3]> {
    estimate.known().map(|known| [known.low, known.value, known.high])
}

/// Interval as far again as it is wide and a per mille more, within a factor of two.
fn wider([low, value, high]: [f64; 3]) -> (f64, f64) {
    let more = high - low + 0.001 * value;
    ((low - more).max(value / 2.0), (high + more).min(2.0 * value))
}

/// Value with the standard deviation of its logarithm.
fn guess(triple: Option<[f64; 3]>) -> Option<(f64, f64)> {
    let [low, value, high] = triple.filter(|values| values[1] > 0.0)?;
    let deviation = (high - low).max(0.0) / 4.0 / value;
    Some((value, deviation.clamp(0.002, 0.3)))
}

impl Anchors {
    /// Scales from `connections` and their estimates; `None` if no data was delivered.
    pub(crate) fn of(
        path: &PathEstimate,
        connections: &[&Connection],
        longer: f64,
        given: Given,
    ) -> Option<Self> {
        let packet = path.packet.known().map_or(1500.0, |packet| packet.value) * 8.0 * longer;
        let rtt = |connection: &&Connection| {
            let seen = &connection.observed;
            let data = seen.rtt_span.map(|(least, _)| least);
            data.into_iter().chain(seen.handshake_rtt).min()
        };
        let rtt = connections.iter().filter_map(rtt).min()?.as_secs_f64().max(20e-6);
        let goodput = |connection: &&Connection| {
            let seen = &connection.observed;
            let wire = f64::from(seen.mss.max(1));
            let packets = seen.delivered_bytes as f64 / wire;
            let end = seen.completion.map_or_else(
                || seen.series.delivered.last().map_or(0.0, |point| point.0),
                Seconds::as_secs_f64,
            );
            let took = (end - seen.first_data.as_secs_f64()).max(rtt);
            packets * packet / took
        };
        let goodput = connections.iter().map(goodput).max_by(f64::total_cmp)?;
        let sum = |of: fn(&Connection) -> u64| connections.iter().map(|one| of(one) as f64).sum::<f64>();
        let packets = sum(|one| one.observed.packets).max(1.0);
        let flight = connections
            .iter()
            .map(|one| one.observed.max_flight_bytes as f64 / f64::from(one.observed.mss.max(1)));
        let fastest = connections.iter().filter_map(|one| {
            Some(
                libm::exp(one.summary()?.get("fastest 16 packets")) / f64::from(one.observed.mss.max(1))
                    * packet,
            )
        });
        let gap = connections
            .iter()
            .filter_map(|one| Some(libm::exp(one.summary()?.get("gap between acknowledgements, 98 %"))));
        let policing = connections.iter().find_map(|one| {
            let Bucket { rate, depth, wrong } = one.policing()?;
            let wire = packet / f64::from(one.observed.mss.max(1));
            Some(Bucket { rate: rate.map(|it| it * wire), depth: depth.map(|it| it * wire / 8.0), wrong })
        });
        // Connections that took one path have one period and one size: the intervals that contain those of all.
        let both = |a: [f64; 3], b: [f64; 3]| [a[0].min(b[0]), (a[1] + b[1]) / 2.0, a[2].max(b[2])];
        let aggregates = connections.iter().filter_map(|one| one.aggregates()).reduce(|a, b| {
            let packets = a.packets.into_iter().chain(b.packets).reduce(both);
            Aggregates { period: both(a.period, b.period), packets }
        });
        let acks = || connections.iter().filter_map(|one| one.segments_per_ack());
        Some(Self {
            given,
            each_ack: acks().map(|(median, _)| median as f64).next().unwrap_or(1.0),
            stretched: acks().map(|(_, share)| share).fold(0.0, f64::max),
            aggregates,
            policing,
            gap: gap.min_by(f64::total_cmp)?,
            goodput,
            fastest: fastest.max_by(f64::total_cmp)?.max(goodput),
            rtt,
            rate: triple(&path.rate).map(|rate| rate.map(|value| value * longer)),
            least_rate: path
                .rate
                .unknown()
                .and_then(|unknown| unknown.low)
                .map_or(goodput, |low| low * longer),
            propagation: triple(&path.rtt),
            flight: flight.max_by(f64::total_cmp)?,
            packets,
            lanes: Lanes::of(connections),
            packet,
            ack: path.ack.known().map_or(52.0, |ack| ack.value) * 8.0,
        })
    }

    /// Rates of a constant bottleneck: around the interval of the estimate, which presumes one and then holds the truth in
    /// 412 of 413 captures (`docs/captures.md`), twice as far again as it is wide and 5 % more: times may fit
    /// a rate beyond the interval better, and kinds with a free rate would then be preferred. On a bottleneck of another kind
    /// the estimate may be wrong, and these rates then fail to explain the capture.
    pub(crate) fn rate_range(&self) -> (f64, f64) {
        match self.rate {
            Some([low, value, high]) => {
                let more = 2.0 * (high - low) + 0.05 * value;
                ((low - more).max(self.goodput / 2.0), (high + more).max(self.goodput))
            }
            None => (self.least_rate.max(self.goodput / 2.0), FASTEST.max(2.0 * self.goodput)),
        }
    }

    /// Rate of the bottleneck, bit/s: the estimate, or that of the fastest packets.
    fn usual_rate(&self) -> f64 {
        self.known_rate().unwrap_or(self.fastest)
    }

    /// Rate of the bottleneck, bit/s, if it is given or estimated.
    pub(super) fn known_rate(&self) -> Option<f64> {
        self.given.rate.or(self.rate.map(|values| values[1]))
    }

    /// Scale of the ranges that parameters have before the capture is seen.
    pub(crate) fn scale(&self) -> Scale {
        Scale {
            rate: self.usual_rate(),
            rtt: self.given.rtt.unwrap_or(self.rtt),
            packet: self.packet,
            ack: self.ack,
        }
    }

    /// Rate, bit/s, and depth, bytes, of the bucket that the losses have, if any.
    pub(crate) fn policed(&self) -> Option<[f64; 2]> {
        self.policing.map(|bucket| [bucket.rate[1], bucket.depth[1]])
    }

    pub(crate) fn rate_guess(&self) -> Option<(f64, f64)> {
        guess(self.rate)
    }

    pub(crate) fn rtt_guess(&self) -> Option<(f64, f64)> {
        guess(self.propagation)
    }

    /// Range of the rate of a line, bit/s, around that of the fastest packets.
    pub(crate) fn line(&self) -> Range {
        Range::new(self.goodput, FASTEST.max(2.0 * self.fastest)).around(Some((self.fastest, 0.1)))
    }

    /// Periods of aggregates, seconds: around the interval of the estimate, as far again as it is wide and a per mille more. Over the
    /// hundred aggregates of a transfer a difference of one per cent is a whole period, so that a search over all periods ends at a
    /// wrong one. Without an estimate, all that hosts neither cause nor hide.
    pub(crate) fn period_range(&self) -> (f64, f64) {
        self.aggregates.map_or((1e-3, 50e-3), |seen| wider(seen.period))
    }

    /// Period of aggregates: the estimate, or the longest usual gap.
    pub(crate) fn period_guess(&self) -> Option<(f64, f64)> {
        guess(self.aggregates.map(|seen| seen.period)).or(Some((self.gap, 0.1)))
    }

    /// Rates of aggregates, bit/s: likewise, around that of full ones. Without any, a wide range from the rate of delivery on.
    pub(crate) fn aggregated_range(&self) -> (f64, f64) {
        self.aggregated().map_or((self.goodput, 50.0 * self.goodput), wider)
    }

    /// Rate of full aggregates, or the estimate.
    pub(crate) fn aggregated_guess(&self) -> Option<(f64, f64)> {
        guess(self.aggregated().or(self.rate))
    }

    /// Rate of full aggregates with its interval, bit/s.
    fn aggregated(&self) -> Option<[f64; 3]> {
        let seen = self.aggregates?;
        seen.packets.map(|packets| packets.map(|count| count * self.packet / seen.period[1]))
    }

    /// Packets that no reasonable buffer exceeds: four times the largest flight and the bandwidth-delay product.
    pub(super) fn most_buffer(&self) -> f64 {
        let rate = self.rate.map_or(self.fastest, |values| values[1]);
        let bdp = rate * self.rtt / self.packet;
        (4.0 * bdp.max(self.flight)).max(50.0)
    }

    /// Rates of a return path that limits the transfer. If the bottleneck's rate is known, the acknowledgements of full
    /// packets take as long there as the packets would in [`Anchors::rate_range`]: the estimate is the same, and neither
    /// explanation has a wider choice.
    pub(crate) fn return_range(&self) -> (f64, f64) {
        let need = self.ack / self.packet / self.each_ack;
        match self.rate {
            Some(_) => {
                let (low, high) = self.rate_range();
                (low * need, high * need)
            }
            None => (0.2 * self.goodput * need, 20.0 * self.goodput * need),
        }
    }

    /// The spacing of acknowledgements, as the rate estimator measures it, if it is the return path's.
    pub(crate) fn return_guess(&self) -> Option<(f64, f64)> {
        let need = self.ack / self.packet / self.each_ack;
        guess(self.rate.map(|values| values.map(|value| value * need)))
    }

    /// Whether some packets arrived faster than the bottleneck's rate, as behind a token bucket.
    pub(crate) fn bursts(&self) -> bool {
        self.fastest > 1.2 * self.rate.map_or(self.goodput, |[_, value, high]| high.min(2.0 * value))
    }

    /// Rate of a token bucket: the usual one, or the mean.
    pub(crate) fn token_guess(&self) -> Option<(f64, f64)> {
        self.rate_guess().or(Some((self.goodput, 0.1)))
    }

    /// Bytes of a bucket: from two packets to all that was sent.
    pub(crate) fn bucket_range(&self) -> (f64, f64) {
        (self.packet / 4.0, self.packets * self.packet / 8.0)
    }

    /// Least rate of the forward path where the return path is the slower one.
    pub(crate) fn faster(&self) -> f64 {
        self.rate.map_or(self.goodput, |[_, value, _]| 1.1 * value)
    }
}

#[cfg(test)]
impl Anchors {
    /// The same with these aggregates.
    pub(super) fn with(self, aggregates: Option<Aggregates>) -> Self {
        Self { aggregates, ..self }
    }

    /// Scales of a simulated transfer of `bytes` in `packets` of 1500 bytes with this summary; `rate` is an estimate, bit/s.
    pub(super) fn of_summary(
        summary: &firstflight_capture::summary::Summary,
        bytes: f64,
        rate: Option<f64>,
    ) -> Self {
        let get = |name: &str| libm::exp(summary.get(name));
        let packet = 1500.0 * 8.0;
        let packets = bytes / 1448.0;
        let rtt = get("shortest round trip");
        let goodput = packets * packet / get("time of all");
        Self {
            given: Given::default(),
            goodput,
            rtt,
            fastest: (get("fastest 16 packets") / 1448.0 * packet).max(goodput),
            gap: get("gap between acknowledgements, 98 %"),
            aggregates: None,
            policing: None,
            rate: rate.map(|rate| [0.99 * rate, rate, 1.01 * rate]),
            least_rate: goodput,
            propagation: Some([0.99 * rtt, 0.995 * rtt, rtt]),
            flight: get("largest flight"),
            packets,
            each_ack: 1.0,
            stretched: 1.0,
            lanes: Lanes::of_summary(summary, packets),
            packet,
            ack: 52.0 * 8.0,
        }
    }
}
