//! Rate that varies, as of a cellular link.

use firstflight_contract::{Nanos, Rate};
use firstflight_random::Stream;
use firstflight_scenario::{LinkTrace, Schedule, limits};

use super::draft::{Base, Draft, packets, trace};
use super::{Opening, Path, near, ruled};
use crate::anchors::Anchors;
use crate::range::{Range, normal, whole};
use crate::scale::Scale;

parameters! {
    /// Rate that varies, as of a cellular link.
    VaryingRate {
        /// Mean rate, bit/s.
        rate,
        /// Two-way propagation, seconds.
        rtt,
        /// Standard deviation of the logarithm of the rate within a transfer.
        within,
        /// Correlation time of the rate, seconds.
        memory,
        /// Standard deviation of the logarithm of the mean from one transfer to the next.
        between,
        /// Mean number of packets that leave together.
        block,
        /// Packets that can wait.
        buffer,
    }
    shows { rate: rate, rtt: rtt, buffer: buffer }
}

impl Path for VaryingRate<f64> {
    type Ranges = VaryingRate<Range>;

    const LABELS: &'static [&'static str] = &["varying-rate"];
    const IS_RANDOM: bool = true;

    fn prior(scale: &Scale) -> Self::Ranges {
        VaryingRate {
            rate: scale.rate(),
            rtt: scale.rtt(),
            buffer: scale.buffer(),
            within: Range::new(0.1, 1.5),
            memory: Range::new(0.02, 2.0),
            between: Range::new(0.3, 1.0),
            block: Range::new(1.0, 16.0),
        }
    }

    fn ranges(anchors: &Anchors) -> Self::Ranges {
        VaryingRate {
            // The capture shows the rate of its own time. The mean over all times may be as much higher as lower.
            rate: Range::new(0.2 * anchors.goodput, 8.0 * anchors.goodput),
            rtt: near(anchors),
            buffer: ruled(),
            within: Range::new(0.1, 1.5),
            memory: Range::new(0.02, 2.0),
            between: Range::new(0.3, 1.0),
            block: Range::new(1.0, 16.0),
        }
    }

    fn draft(&self, base: &Base<'_>) -> Draft {
        let mut draft = Draft::new(self.rate, self.rtt, packets(self.buffer));
        draft.back.rate = Rate(50 * draft.forward.rate.0.min(limits::RATE.0 / 50));
        let trace = cellular(self, base.packet(), base.seed);
        draft.forward.rate = trace.schedule.mean();
        draft.forward.trace = Some(trace);
        draft
    }

    /// Each waits for the next block; their gaps are exponential.
    fn first_round_trip(&self, opening: &Opening<'_>) -> (f64, f64) {
        (0.0, core::f64::consts::SQRT_2 * self.block * opening.anchors.packet / self.rate)
    }
}

/// Rate of a cellular link: packets leave in a Poisson process.
///
/// The rate of the process is the exponential of a stationary autoregressive process. The model is that of K. Winstein,
/// A. Sivaraman and H. Balakrishnan, "Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular Networks", NSDI 2013.
/// Here the rate returns to a mean. The mean itself differs between transfers, because the cell and its load change.
/// Packets leave together because a transport block of LTE holds several (3GPP TS 36.213, section 7.1.7). Their number is
/// geometrically distributed.
fn cellular(path: &VaryingRate<f64>, packet: f64, seed: u64) -> LinkTrace {
    let VaryingRate { rate: mean, within: deviation, memory, between, block, .. } = *path;
    let block = block.max(1.0);
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
