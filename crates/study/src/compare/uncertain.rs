//! Unknowns of an inferred path: values with an interval, or only with bounds. Every replication draws them
//! anew, so that the spread of the results reflects the unknowns.

use firstflight_capture::{Estimate, Inferred, PathEstimate as InferredPath};
use firstflight_contract::{Nanos, Rate};
use firstflight_net::random::Stream;
use firstflight_scenario::{Limit, Path, limits};
use statrs::distribution::{ContinuousCDF, Normal};

use firstflight_results::PathResult;

/// Range of a buffer of unknown size, as shares of the bandwidth-delay product; if the lower bound exceeds
/// this range, up to this multiple of the lower bound.
const BUFFER_BDP: [f64; 2] = [0.1, 4.0];

/// Upper limit of a rate with only a lower bound, bit/s: the link of a fast server.
const FASTEST: f64 = 10e9;

/// A round trip with only an upper bound may include a standing queue of up to nine tenths of the bound.
const SHORTEST_SHARE: f64 = 0.1;

/// Minimum probability of a packet loss on the wire: IEEE 802.3 aims at one bit error in 10^12, which damages
/// one packet of 1500 bytes in 10^8.
const LEAST_LOSS: f64 = 1.2e-8;

/// Half of a 95 % interval, in standard deviations.
const Z: f64 = 1.96;

/// An interval narrower than this share of its value has no visible effect.
const NARROW: f64 = 0.02;

/// Values of a path that are not known exactly.
#[derive(Default)]
pub(super) struct Unknowns {
    rate: Option<Law>,
    rtt: Option<Law>,
    loss: Option<Law>,
    buffer: Option<Room>,
}

/// Probability distribution of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    /// Two halves of a normal distribution, each as wide as its side of a 95 % interval.
    Around { value: f64, low: f64, high: f64 },
    /// Log-uniform between two bounds.
    Between { low: f64, high: f64 },
    /// Probability of an event that did not occur in this number of trials: log-uniform from [`LEAST_LOSS`],
    /// weighted by the likelihood of not observing it.
    Unseen { trials: f64 },
}

/// Knowledge of a buffer, in packets.
#[derive(Clone, Copy)]
enum Room {
    Estimated(Law),
    /// Lower bound, and upper bound if known.
    Bounds(f64, Option<f64>),
}

/// Replication for which values are drawn.
#[derive(Clone, Copy)]
pub(super) struct Replication {
    pub(super) index: u32,
    pub(super) of: u32,
    /// Seed of the whole comparison.
    pub(super) seed: u64,
}

impl Unknowns {
    /// Unknowns that `inferred` leaves in those values of `path` that the user has not given. Packets are
    /// `longer` times the captured ones, and rates accordingly.
    pub(super) fn of(inferred: &InferredPath, path: &PathResult, longer: f64) -> Self {
        let open = |field: &str| path.estimates.iter().any(|estimate| estimate.field == field);
        let law = |field: &str, estimate, scale, unknown: fn(Option<f64>, Option<f64>) -> Option<Law>| {
            open(field).then(|| law(estimate, scale, unknown)).flatten()
        };
        let rate = law("rate_bit_s", &inferred.rate, longer, |low, _| Some(between(low?, FASTEST)));
        let rtt = law("rtt_ms", &inferred.rtt, 1e3, |_, high| Some(between(SHORTEST_SHARE * high?, high?)));
        let loss = law("loss", &inferred.loss, 1.0, |low, high| Some(between(low?.max(LEAST_LOSS), high?)));
        let buffer = open("buffer_packets").then(|| match &inferred.buffer {
            Inferred::Known(estimate) => around(estimate, 1.0).map(Room::Estimated),
            Inferred::Unknown(unknown) => Some(Room::Bounds(unknown.low.unwrap_or(0.0), unknown.high)),
        });
        Self { rate, rtt, loss, buffer: buffer.flatten() }
    }

    /// Whether there are no unknowns.
    pub(super) fn none(&self) -> bool {
        self.rate.is_none() && self.rtt.is_none() && self.loss.is_none() && self.buffer.is_none()
    }

    /// Whether a path can be drawn: rate and round trip are at least bounded.
    pub(super) fn complete(&self, path: &PathResult) -> bool {
        (path.rate_bit_s.is_some() || self.rate.is_some()) && (path.rtt_ms.is_some() || self.rtt.is_some())
    }

    /// Lower bound of a rate that is not known, bit/s; otherwise zero.
    pub(super) fn least_rate(&self) -> f64 {
        match self.rate {
            Some(Law::Between { low, .. }) => low,
            _ => 0.0,
        }
    }

    /// Names of the fields whose uncertainty is noticeable.
    pub(super) fn noticeable(&self) -> Vec<String> {
        let buffer = match self.buffer {
            Some(Room::Estimated(law)) => law.noticeable(),
            Some(Room::Bounds(..)) => true,
            None => false,
        };
        let noticeable = |law: Option<Law>| law.is_some_and(Law::noticeable);
        [
            ("rate_bit_s", noticeable(self.rate)),
            ("rtt_ms", noticeable(self.rtt)),
            ("loss", noticeable(self.loss)),
            ("buffer_packets", buffer),
        ]
        .into_iter()
        .filter(|(_, noticeable)| *noticeable)
        .map(|(field, _)| field.to_owned())
        .collect()
    }

    /// Sets values with only bounds to the middle of their distribution. Estimated values are already set.
    pub(super) fn centre(&self, path: &mut Path, packet: u32) {
        let open = |law: Option<Law>| law.filter(|law| matches!(law, Law::Between { .. }));
        let buffer = self.buffer.filter(|room| matches!(room, Room::Bounds(..)));
        // The most likely loss of an event never observed is none.
        Self { rate: open(self.rate), rtt: open(self.rtt), loss: None, buffer }.put(path, packet, |_| 0.5);
    }

    /// Sets the values of one replication on a path whose full packets have `packet` bytes.
    pub(super) fn draw(&self, path: &mut Path, packet: u32, replication: Replication) {
        self.put(path, packet, |field| replication.share(field));
    }

    fn put(&self, path: &mut Path, packet: u32, share: impl Fn(&str) -> f64) {
        if let Some(law) = self.rate {
            path.rate = Rate(whole(law.at(share("rate_bit_s")), limits::RATE.0));
        }
        if let Some(law) = self.rtt {
            path.rtt = Nanos(whole(law.at(share("rtt_ms")) * 1e6, limits::DELAY.0));
        }
        if let Some(law) = self.loss {
            path.loss = law.at(share("loss")).clamp(0.0, 1.0);
        }
        if let Some(room) = self.buffer {
            let bdp = path.rate.bytes_in(path.rtt) as f64 / f64::from(packet);
            let packets = room.law(bdp).at(share("buffer_packets"));
            path.buffer = Limit::Packets(whole(packets, limits::PACKETS));
        }
    }
}

/// The nearest whole number from one to `most`, the limit of the scenario format.
pub(super) fn whole(value: f64, most: u64) -> u64 {
    (value.round().max(1.0) as u64).min(most)
}

impl Room {
    /// Distribution of the buffer on a path with this bandwidth-delay product.
    fn law(self, bdp: f64) -> Law {
        match self {
            Self::Estimated(law) => law,
            Self::Bounds(least, most) => {
                let low = least.max(BUFFER_BDP[0] * bdp).max(1.0);
                between(low, most.unwrap_or((BUFFER_BDP[1] * bdp).max(BUFFER_BDP[1] * least)))
            }
        }
    }
}

impl Law {
    /// Quantile of the distribution.
    fn at(self, share: f64) -> f64 {
        match self {
            Self::Between { low, high } => low * libm::pow(high / low, share),
            Self::Around { value, low, high } => {
                let z = Normal::standard().inverse_cdf(share.clamp(1e-6, 1.0 - 1e-6)) / Z;
                let side = if z < 0.0 { value - low } else { high - value };
                (value + z * side).max(0.0)
            }
            Self::Unseen { trials } => unseen(trials, share),
        }
    }

    fn noticeable(self) -> bool {
        match self {
            Self::Around { value, low, high } => high - low > NARROW * value,
            Self::Between { .. } | Self::Unseen { .. } => true,
        }
    }
}

/// Quantile `share` of the probability of an event after no success in this number of trials: the prior 1/p
/// from [`LEAST_LOSS`], times the likelihood e^(-trials p), summed over small steps of the logarithm.
fn unseen(trials: f64, share: f64) -> f64 {
    const STEPS: u32 = 1000;
    // Beyond 10 / trials the likelihood is below e^-10.
    let span = (10.0 / (trials * LEAST_LOSS)).max(1.0);
    let chance = |step: u32| LEAST_LOSS * libm::pow(span, f64::from(step) / f64::from(STEPS));
    let weight = |step: u32| libm::exp(-trials * chance(step));
    let mut left = share * (0..=STEPS).map(weight).sum::<f64>();
    let at = (0..=STEPS).find(|&step| {
        left -= weight(step);
        left <= 0.0
    });
    chance(at.unwrap_or(STEPS))
}

impl Replication {
    /// Seed of the run.
    pub(super) fn own_seed(self) -> u64 {
        self.seed.wrapping_add(self.index.into())
    }

    /// Quantile at which one value is drawn. The quantiles of all replications are spread evenly and paired
    /// at random with those of the other values (Latin hypercube: McKay, Beckman and Conover, Technometrics
    /// 21(2), 1979), so that thirty replications contain the rare ends of each value in the right proportion.
    fn share(self, field: &str) -> f64 {
        let mut stream = Stream::named(self.seed, field);
        let mut places: Vec<u32> = (0..self.of).collect();
        for last in (1..places.len()).rev() {
            let other = (stream.unit() * (last + 1) as f64) as usize;
            places.swap(last, other.min(last));
        }
        let within = Stream::named(self.own_seed(), field).unit();
        (f64::from(places[self.index as usize]) + within) / f64::from(self.of)
    }
}

/// Distribution that an estimate implies.
fn law(
    estimate: &Inferred<Estimate>,
    scale: f64,
    unknown: fn(Option<f64>, Option<f64>) -> Option<Law>,
) -> Option<Law> {
    match estimate {
        // Never observed, perhaps only too rare for a capture of this length. Wilson's upper end gives the
        // number of trials: 1.96^2 / (trials + 1.96^2). A connection has at least one packet.
        Inferred::Known(known) if known.value == 0.0 && known.high > 0.0 => {
            Some(Law::Unseen { trials: (Z * Z / known.high - Z * Z).max(1.0) })
        }
        Inferred::Known(known) => around(known, scale),
        Inferred::Unknown(bounds) => {
            unknown(bounds.low.map(|low| low * scale), bounds.high.map(|high| high * scale))
        }
    }
}

fn around(known: &Estimate, scale: f64) -> Option<Law> {
    let law = Law::Around { value: known.value * scale, low: known.low * scale, high: known.high * scale };
    (known.high > known.low).then_some(law)
}

fn between(low: f64, high: f64) -> Law {
    Law::Between { low, high: high.max(low) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_not_observed_in_691_packets_is_probably_much_rarer() {
        // Wilson's upper end for none of 691. The tail of the distribution beyond p is E1(691 p) / E1(691 *
        // 1.2e-8); by Abramowitz and Stegun E1(x) = -0.5772 - ln x near zero: E1(8.29e-6) = 11.123. Half of
        // that is E1(2.16e-3); 0.278, one fortieth, is E1(0.863), between the table's E1(0.86) = 0.2790 and
        // E1(0.87) = 0.2742.
        let high = Z * Z / (691.0 + Z * Z);
        let none = Inferred::Known(Estimate { value: 0.0, low: 0.0, high, how: String::new() });
        let law = law(&none, 1.0, |_, _| None).expect("not known exactly");
        assert!((law.at(0.5) * 691.0 / 2.16e-3 - 1.0).abs() < 0.03, "{}", law.at(0.5) * 691.0);
        assert!((law.at(0.975) * 691.0 / 0.863 - 1.0).abs() < 0.03, "{}", law.at(0.975) * 691.0);
        assert!(law.at(0.0) >= LEAST_LOSS);
    }

    #[test]
    fn an_estimated_value_has_its_centre_as_median_and_its_interval_ends_as_2_5_percent_quantiles() {
        let rate = Law::Around { value: 20.0, low: 19.0, high: 23.0 };
        assert!((rate.at(0.5) - 20.0).abs() < 1e-6);
        assert!((rate.at(0.025) - 19.0).abs() < 0.001 && (rate.at(0.975) - 23.0).abs() < 0.001);
    }

    #[test]
    fn an_unknown_buffer_scales_with_the_path() {
        // 0.1 and 4 times 100 packets; their geometric mean is sqrt(10 * 400).
        let law = Room::Bounds(0.0, None).law(100.0);
        assert_eq!(law, Law::Between { low: 10.0, high: 400.0 });
        assert!((law.at(0.5) - 63.2).abs() < 0.1);
    }

    #[test]
    fn a_buffer_known_to_exceed_four_bdp_may_be_larger_still() {
        assert_eq!(Room::Bounds(500.0, None).law(100.0), Law::Between { low: 500.0, high: 2000.0 });
        assert_eq!(Room::Bounds(500.0, Some(600.0)).law(100.0), Law::Between { low: 500.0, high: 600.0 });
    }

    #[test]
    fn replications_are_spread_evenly_over_the_distribution() {
        let shares = |field| {
            let shares = (0..30).map(|index| Replication { index, of: 30, seed: 7 }.share(field));
            shares.collect::<Vec<f64>>()
        };
        let mut rate = shares("rate_bit_s");
        assert_ne!(rate, shares("loss"), "values must be paired at random");
        rate.sort_by(f64::total_cmp);
        for (place, share) in rate.iter().enumerate() {
            // One in each thirtieth.
            assert_eq!((share * 30.0) as usize, place);
        }
    }
}
