//! Kinds of path: the parameters of each, with their prior ranges, and the network that they describe.

use std::sync::Arc;

use firstflight_contract::{Nanos, Rate};
use firstflight_net::random::Stream;
use firstflight_scenario::{
    Codel, Dist, Endpoints, FlowGroup, Graph, Limit, Link, LinkTrace, Network, Node, Policer, Queue, Red,
    Scenario, Schedule, SchemeSpec, Shaper, Start, limits,
};

use super::anchors::Anchors;
use super::reordering;

/// A kind of path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Constant rate, drop-tail queue.
    DropTail,
    /// The same with independent random loss.
    RandomLoss,
    /// Random early detection.
    Red,
    /// Controlled delay.
    Codel,
    /// Token-bucket policer in front of a faster line.
    Policer,
    /// Token-bucket shaper in front of a faster line: packets wait for tokens.
    TokenBucket,
    /// Rate that varies, as of a cellular link.
    VaryingRate,
    /// Packets that leave in aggregates, as of 802.11 or a cable modem.
    Aggregating,
    /// Other connections at the bottleneck.
    OtherTraffic,
    /// Slow return path.
    LimitedReturn,
    /// Return path that drops acknowledgements, or merges them.
    ThinnedReturn,
}

/// A parameter: log-uniform between two values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    low: f64,
    high: f64,
    /// Estimate, and its standard deviation in the logarithm, around which half of the first proposals lie.
    guess: Option<(f64, f64)>,
}

/// A value of a path that results show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Rate that a long transfer can have, bit/s.
    Rate,
    /// Two-way propagation, seconds.
    Rtt,
    /// Packets that can wait.
    Buffer,
    /// Probability of random loss.
    Loss,
}

/// Largest number of parameters of a kind.
pub(crate) const MOST: usize = 7;

/// Place of each parameter in its range, from 0 to 1, those of reordering last; those that a path does not have are one half.
pub(crate) type Place = [f64; PLACES];

/// Largest number of parameters of a path.
pub(crate) const PLACES: usize = MOST + reordering::PARAMETERS;

impl Range {
    pub(super) fn new(low: f64, high: f64) -> Self {
        Self { low, high: high.max(low * 1.001), guess: None }
    }

    pub(super) fn around(self, guess: Option<(f64, f64)>) -> Self {
        let inside = |(value, _): &(f64, f64)| (self.low..=self.high).contains(value);
        Self { guess: guess.filter(inside), ..self }
    }

    /// Value at a place.
    pub(crate) fn at(&self, place: f64) -> f64 {
        self.low * libm::pow(self.high / self.low, place)
    }

    /// Width of the range in the logarithm.
    pub(crate) fn span(&self) -> f64 {
        libm::log(self.high / self.low)
    }

    /// Place of the guess and its standard deviation.
    pub(crate) fn guess(&self) -> Option<(f64, f64)> {
        let span = self.span();
        self.guess.map(|(value, deviation)| (libm::log(value / self.low) / span, deviation / span))
    }
}

impl Kind {
    /// All kinds.
    pub(crate) const ALL: [Self; 11] = [
        Self::DropTail,
        Self::RandomLoss,
        Self::Red,
        Self::Codel,
        Self::Policer,
        Self::TokenBucket,
        Self::VaryingRate,
        Self::Aggregating,
        Self::OtherTraffic,
        Self::LimitedReturn,
        Self::ThinnedReturn,
    ];

    /// Label in results.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::DropTail | Self::RandomLoss => "drop-tail",
            Self::Red => "red",
            Self::Codel => "codel",
            Self::Policer => "policer",
            Self::VaryingRate => "varying-rate",
            Self::Aggregating => "aggregating",
            Self::OtherTraffic => "other-traffic",
            Self::TokenBucket => "token-bucket",
            Self::LimitedReturn | Self::ThinnedReturn => "limited-return-path",
        }
    }

    /// Whether the capture can tell the kind from a plain queue. A kind that differs by its losses cannot be told if
    /// nothing was lost, and none can from a handful of packets: that it may be there is a risk, but no explanation.
    pub(super) fn shows(self, anchors: &Anchors) -> bool {
        /// Packets of two flights: the initial window and the one after it.
        const FEW: f64 = 30.0;
        /// Share of acknowledgements of three packets or more, which no receiver sends that gets each packet by itself.
        const SOME: f64 = 0.05;
        match self {
            Self::DropTail => true,
            Self::RandomLoss | Self::Red | Self::Codel | Self::Policer => anchors.lost > 0.0,
            Self::VaryingRate | Self::Aggregating | Self::OtherTraffic | Self::LimitedReturn => {
                anchors.packets >= FEW
            }
            Self::TokenBucket => anchors.packets >= FEW && anchors.bursts(),
            Self::ThinnedReturn => anchors.packets >= FEW && anchors.stretched >= SOME,
        }
    }

    /// Whether runs on the same path differ.
    pub(super) const fn is_random(self) -> bool {
        match self {
            Self::RandomLoss | Self::Red | Self::VaryingRate | Self::OtherTraffic | Self::ThinnedReturn => {
                true
            }
            Self::DropTail
            | Self::Codel
            | Self::Policer
            | Self::TokenBucket
            | Self::Aggregating
            | Self::LimitedReturn => false,
        }
    }

    /// Whether the rate is constant, so that the kind differs from others of this sort only by the rule that drops packets.
    pub(super) const fn drops(self) -> bool {
        matches!(self, Self::DropTail | Self::RandomLoss | Self::Red | Self::Codel)
    }

    /// Probability before the capture is seen: one half for the plain queue, the rest shared by the others.
    pub(super) const fn prior(self) -> f64 {
        match self {
            Self::DropTail => 0.5,
            _ => 0.5 / (Self::ALL.len() - 1) as f64,
        }
    }

    /// Whether these values are a path of the kind. A policer before a line that is no faster is a plain queue as long as its bucket is
    /// deep, and whatever a plain queue does not explain would be left to the bucket's rate.
    pub(super) fn admits(self, values: &[f64]) -> bool {
        /// Least ratio of two rates that differ.
        const FASTER: f64 = 1.2;
        self != Self::Policer || values[0] >= FASTER * values[2]
    }

    /// Parameters with their prior ranges.
    pub(crate) fn ranges(self, anchors: &Anchors) -> Vec<Range> {
        let mut ranges = self.prior_ranges(anchors);
        let given = [
            (0, anchors.given.rate),
            (1, anchors.given.rtt),
            (2, anchors.given.buffer),
            (3, anchors.given.loss),
        ];
        for (index, value) in given {
            let shown = [Value::Rate, Value::Rtt, Value::Buffer, Value::Loss][index];
            // The parameter that the value is, found by its effect.
            let marks: Vec<f64> = (0..ranges.len()).map(|place| place as f64 + 2.0).collect();
            let place = self.value(shown, &marks).filter(|mark| *mark > 0.0).map(|mark| mark as usize - 2);
            if let (Some(value), Some(place)) = (value, place) {
                ranges[place] = Range::new(value, value);
            }
        }
        ranges
    }

    fn prior_ranges(self, anchors: &Anchors) -> Vec<Range> {
        let Anchors { goodput, rtt, .. } = *anchors;
        let rate = anchors.rate_range();
        let rate = Range::new(rate.0, rate.1).around(anchors.rate_guess());
        let near = Range::new(0.8 * rtt, 1.01 * rtt).around(anchors.rtt_guess());
        let buffer = Range::new(2.0, anchors.most_buffer()).around(anchors.buffer_guess());
        match self {
            Self::DropTail => vec![rate, near, buffer],
            Self::RandomLoss => {
                let (low, high) = anchors.loss_range();
                let room = Range::new(anchors.roomy(), anchors.most_buffer());
                vec![rate, near, room, Range::new(low, high), Range::new(1.0, 5.0)]
            }
            // Thresholds up to the queue that was seen; the share dropped at the upper one.
            Self::Red => {
                let min = Range::new(2.0, anchors.most_buffer() / 2.0);
                vec![rate, near, min, Range::new(1.5, 5.0), Range::new(0.02, 0.5), Range::new(0.0005, 0.01)]
            }
            Self::Codel => {
                vec![rate, near, Range::new(1e-3, 30e-3).around(Some((5e-3, 0.02))), Range::new(50.0, 4000.0)]
            }
            Self::Policer => {
                let (rates, depths) = (anchors.policer_range(), anchors.depth_range());
                let burst = Range::new(depths.0, depths.1).around(anchors.depth_guess());
                let policer = Range::new(rates.0, rates.1).around(anchors.policer_guess());
                let line = Range::new(goodput, 100.0 * goodput).around(anchors.fastest_guess());
                vec![line, near, policer, burst]
            }
            Self::VaryingRate => {
                // The capture shows the rate of its own time. The mean over all times may be as much higher as lower.
                let mean = Range::new(0.2 * goodput, 8.0 * goodput);
                let (within, memory) = (Range::new(0.1, 1.5), Range::new(0.02, 2.0));
                vec![mean, near, buffer, within, memory, Range::new(0.3, 1.0), Range::new(1.0, 16.0)]
            }
            Self::Aggregating => {
                let (rates, periods) = (anchors.aggregated_range(), anchors.period_range());
                let rate = Range::new(rates.0, rates.1).around(anchors.aggregated_guess());
                let period = Range::new(periods.0, periods.1).around(anchors.period_guess());
                vec![rate, near, buffer, period]
            }
            Self::OtherTraffic => {
                let free = Range::new(goodput, 10.0 * goodput);
                let queue = Range::new(5.0, anchors.most_buffer());
                let (count, share) = (Range::new(0.6, 4.4), Range::new(0.03, 1.0));
                vec![free, Range::new(0.3 * rtt, rtt), queue, count, share, Range::new(0.3, 1.0)]
            }
            Self::TokenBucket => {
                let line = Range::new(goodput, 100.0 * goodput).around(anchors.fastest_guess());
                let tokens = Range::new(0.5 * goodput, 2.0 * goodput).around(anchors.token_guess());
                let (least, most) = anchors.bucket_range();
                let queue = Range::new(2.0, anchors.most_buffer());
                vec![line, near, queue, tokens, Range::new(least, most)]
            }
            Self::ThinnedReturn => vec![rate, near, buffer, Range::new(1.1, 16.0)],
            Self::LimitedReturn => {
                let back = anchors.return_range();
                let free = Range::new(anchors.faster(), 50.0 * anchors.faster());
                vec![free, near, buffer, Range::new(back.0, back.1).around(anchors.return_guess())]
            }
        }
    }

    /// A value of the path of these values; `None` if the kind does not have it.
    pub(super) fn value(self, value: Value, values: &[f64]) -> Option<f64> {
        match (value, self) {
            (Value::Rate, Self::Policer) => Some(values[2]),
            (Value::Rate, Self::TokenBucket) => Some(values[3]),
            (Value::Rate, _) => Some(values[0]),
            (Value::Rtt, _) => Some(values[1]),
            (Value::Buffer, Self::Codel) => Some(values[3]),
            (Value::Buffer, Self::Policer | Self::Red) => None,
            (Value::Buffer, _) => Some(values[2]),
            (Value::Loss, Self::RandomLoss) => Some(values[3]),
            (Value::Loss, _) => Some(0.0),
        }
    }

    /// The scenario `base`, whose first flow is the transfer, on the path of these values. `seed` draws what differs
    /// from one transfer to the next. `late` is the time from the handshake to the first data; of `None` it is drawn.
    pub(crate) fn scenario(
        self,
        values: &[f64],
        base: &Scenario,
        late: Option<Nanos>,
        seed: u64,
    ) -> Scenario {
        let mut scenario = base.clone();
        let packet = f64::from(base.packet.size);
        let rate = Rate(whole(values[0], limits::RATE.0));
        let one_way = Nanos(whole(values[1] * 1e9 / 2.0, limits::DELAY.0));
        let packets = |n: f64| Limit::Packets(whole(n, limits::PACKETS));
        let unlimited = Limit::Packets(1_000_000);
        let link = |name: &str, from, rate, buffer| Link {
            name: name.into(),
            from,
            to: 1 - from,
            rate,
            trace: None,
            delay: one_way,
            cost: 1,
            buffer,
            queue: Queue::DropTail,
            loss: 0.0,
            loss_burst: 1.0,
            reorder: None,
            shaper: None,
        };
        let mut forward = link("bottleneck", 0, rate, packets(values[2]));
        let mut back = link("return", 1, rate, unlimited);
        let start = &mut Stream::named(seed, "start");
        let mut begin = Nanos::ZERO;
        match self {
            Self::DropTail => {}
            Self::RandomLoss => {
                forward.loss = values[3].min(1.0);
                forward.loss_burst = values[4];
            }
            Self::Red => {
                forward.buffer = packets(10.0 * values[2] * values[3]);
                let (min, max) = (values[2], values[2] * values[3]);
                forward.queue = Queue::Red(Red {
                    min,
                    max,
                    weight: values[5],
                    max_p: values[4],
                    gentle: false,
                    ecn: false,
                    mean_packet: None,
                });
            }
            Self::Codel => {
                forward.buffer = packets(values[3]);
                let target = Nanos(whole(values[2] * 1e9, u64::MAX));
                // RFC 8289, section 4.4: the target is 5 % of the interval.
                forward.queue = Queue::Codel(Codel { target, interval: Nanos(20 * target.0), ecn: false });
            }
            Self::Policer => {
                forward.buffer = unlimited;
                forward.queue = Queue::Policer(Policer {
                    rate: Rate(whole(values[2], limits::RATE.0)),
                    burst: whole(values[3].max(packet), u64::MAX / 2),
                });
            }
            Self::VaryingRate => {
                let trace = cellular(values, packet, seed);
                forward.rate = trace.schedule.mean();
                forward.trace = Some(trace);
                back.rate = Rate(50 * rate.0.min(limits::RATE.0 / 50));
            }
            Self::Aggregating => {
                let drawn = Nanos(whole(start.unit() * values[3] * 1e9, u64::MAX));
                let trace = aggregates(values[0], values[3], packet, late.unwrap_or(drawn));
                forward.rate = trace.schedule.mean();
                forward.trace = Some(trace);
            }
            Self::OtherTraffic => {
                // The others hold a share of the path when the transfer begins: less than all of it if something has
                // held them down. What has, differs from one transfer to the next: one capture shows one share.
                // They reach their share in slow start, 64 initial windows within six rounds.
                let round = values[1] + values[2] * packet * 8.0 / values[0];
                begin = Nanos(whole((6.0 + 3.0 * start.unit()) * round * 1e9, u64::MAX));
                let count = whole(values[3], 16);
                let room = values[0] * values[1] / 8.0 + values[2] * packet;
                let held = (values[4] * libm::exp(values[5] * normal(start))).min(1.0);
                let share = whole(held * room / count as f64, u64::MAX);
                let within = Nanos(whole(round * 1e9, u64::MAX));
                scenario.flows.push(bulk(&scenario.flows[0], count as u32, share, within));
            }
            Self::TokenBucket => {
                forward.shaper = Some(Shaper {
                    rate: Rate(whole(values[3], limits::RATE.0)),
                    burst: whole(values[4].max(packet), u64::MAX / 2),
                });
            }
            Self::LimitedReturn => back.rate = Rate(whole(values[3], limits::RATE.0)),
            // One acknowledgement of this many arrives: what the others reported, the next one reports too.
            Self::ThinnedReturn => back.loss = 1.0 - 1.0 / values[3].max(1.0),
        }
        for flow in &mut scenario.flows {
            flow.endpoints = Endpoints::Nodes { from: 0, to: 1 };
        }
        scenario.flows[0].start = Start::At(begin);
        let node = |name: &str| Node { name: name.into(), access_rate: Rate(100_000_000_000), subnet: None };
        let graph = Graph { nodes: vec![node("sender"), node("receiver")], links: vec![forward, back] };
        scenario.network = Network::Graph(graph);
        scenario
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

/// Rate of a cellular link: packets leave in a Poisson process whose rate is the exponential of a stationary
/// autoregressive process (the model of K. Winstein, A. Sivaraman, H. Balakrishnan, "Stochastic Forecasts Achieve High
/// Throughput and Low Delay over Cellular Networks", NSDI 2013, with a mean to which the rate returns). `values` are the
/// mean rate, and from the fourth on the standard deviation of the logarithm of the rate within a transfer, its
/// correlation time in seconds, the standard deviation from one transfer to the next, since the cell and its load change,
/// and the mean number of packets that leave together: a transport block of LTE holds several (3GPP TS 36.213, section
/// 7.1.7), geometrically distributed here.
fn cellular(values: &[f64], packet: f64, seed: u64) -> LinkTrace {
    let (mean, deviation, memory, between) = (values[0], values[3], values[4], values[5]);
    let block = values[6].max(1.0);
    /// Time over which the rate is constant, seconds, and length of the trace.
    const STEP: f64 = 0.02;
    const LENGTH: f64 = 10.0;
    /// Longest trace, packets.
    const LONGEST: usize = 200_000;
    let mut stream = Stream::named(seed, "rate");
    let mean = mean * libm::exp(between * normal(&mut stream));
    let keep = libm::exp(-STEP / memory);
    let shake = deviation * libm::sqrt(1.0 - keep * keep);
    let mut level = deviation * normal(&mut stream);
    let mut times = vec![];
    let (mut at, mut due) = (0.0, -libm::log(1.0 - stream.unit()));
    let mut step = 0.0;
    while step < LENGTH && times.len() < LONGEST {
        // The mean of exp(x) of a normal x is exp(variance / 2).
        let blocks = mean / (packet * 8.0 * block) * libm::exp(level - deviation * deviation / 2.0);
        let mut left = STEP;
        while due <= blocks * left {
            at += due / blocks;
            left -= due / blocks;
            due = -libm::log(1.0 - stream.unit());
            times.push(Nanos(whole(at * 1e9, u64::MAX)));
            while block > 1.0 && stream.unit() < 1.0 - 1.0 / block && times.len() < LONGEST {
                times.push(times[times.len() - 1]);
            }
        }
        due -= blocks * left;
        at += left;
        step += STEP;
        level = keep * level + shake * normal(&mut stream);
    }
    times.push(Nanos(whole(at * 1e9, u64::MAX)));
    trace("varying", Schedule::Opportunities(times))
}

/// A trace that comes from no file.
fn trace(name: &str, schedule: Schedule) -> LinkTrace {
    let (file, schedule) = (name.into(), Arc::new(schedule));
    LinkTrace { file, sha256: String::new(), columns: Box::default(), schedule }
}

/// A normally distributed number (G. Box, M. Muller, 1958).
pub(crate) fn normal(stream: &mut Stream) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - stream.unit()));
    radius * libm::cos(2.0 * core::f64::consts::PI * stream.unit())
}

/// A place that left its range, reflected at the end.
pub(super) fn reflected(place: f64) -> f64 {
    let folded = libm::fmod(place.abs(), 2.0);
    if folded > 1.0 { 2.0 - folded } else { folded }
}

/// Density at a place of a normal move from another, of this standard deviation, that is reflected at the ends.
pub(super) fn reflected_density(to: f64, from: f64, step: f64) -> f64 {
    // It may have come from beyond either end.
    let normal = |apart: f64| libm::exp(-0.5 * (apart / step) * (apart / step));
    (normal(to - from) + normal(-to - from) + normal(2.0 - to - from))
        / (step * libm::sqrt(2.0 * core::f64::consts::PI))
}

/// The nearest whole number from one to `most`.
fn whole(value: f64, most: u64) -> u64 {
    (value.round().max(1.0) as u64).min(most)
}
