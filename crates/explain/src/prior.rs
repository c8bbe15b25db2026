//! The prior: paths as they are before a capture is seen, by kind and parameter.
//!
//! Draws from it are the paths of the simulation-based calibration (S. Cook, A. Gelman, D. Rubin, "Validation of Software for Bayesian Models
//! Using Posterior Quantiles", Journal of Computational and Graphical Statistics 15(3), 2006; S. Talts et al., "Validating Bayesian Inference
//! Algorithms with Simulation-Based Calibration", arXiv:1804.06788, 2018): inference is right if it is right on average over such draws.

use firstflight_contract::Nanos;
use firstflight_random::Stream;
use firstflight_scenario::Scenario;

use crate::entry;
use crate::kinds::{PathKind, Value};
use crate::loss::{BURST, LOSS, LOSSY, RandomLoss};
use crate::range::Range;
use crate::scale::{RATE, RTT, Scale};

/// Probability of each of equally likely kinds.
const EVENLY: f64 = 1.0 / PathKind::ALL.len() as f64;

/// A path drawn from the prior.
#[derive(Clone, Debug)]
pub struct PriorPath {
    kind: PathKind,
    values: Vec<f64>,
    loss: Option<RandomLoss>,
}

impl PriorPath {
    /// Draws a path for packets of `packet` bytes and acknowledgements of `ack` bytes.
    pub fn draw(seed: u64, packet: u32, ack: u32) -> Self {
        Self::with(seed, (packet, ack), PathKind::prior)
    }

    /// The same with kinds that are equally likely.
    pub fn evenly(seed: u64, packet: u32, ack: u32) -> Self {
        Self::with(seed, (packet, ack), |_| EVENLY)
    }

    /// Probability that [`PriorPath::evenly`] draws this kind, over that of [`PriorPath::draw`].
    pub fn evenly_over_prior(&self) -> f64 {
        EVENLY / self.kind.prior()
    }

    fn with(seed: u64, (packet, ack): (u32, u32), probability: fn(PathKind) -> f64) -> Self {
        let mut stream = Stream::named(seed, "path of the prior");
        let share = stream.unit();
        let mut sum = 0.0;
        let found = PathKind::ALL.into_iter().find(|kind| {
            sum += probability(*kind);
            sum > share
        });
        let kind = found.unwrap_or(PathKind::DropTail);
        loop {
            let mut within = |(low, high): (f64, f64)| Range::new(low, high).at(stream.unit());
            let (rate, rtt) = (within(RATE), within(RTT));
            let scale = Scale { rate, rtt, packet: 8.0 * f64::from(packet), ack: 8.0 * f64::from(ack) };
            let ranges = kind.model().prior(&scale);
            let values: Vec<f64> = ranges.iter().map(|range| range.at(stream.unit())).collect();
            let lossy = stream.unit() < LOSSY;
            let mut within = |(low, high): (f64, f64)| Range::new(low, high).at(stream.unit());
            let loss = RandomLoss { probability: within(LOSS), burst: within(BURST) };
            if kind.model().admits(&values) {
                return Self { kind, values, loss: lossy.then_some(loss) };
            }
        }
    }

    /// Labels of the kind, which share its weight in results.
    pub fn labels(&self) -> &'static [&'static str] {
        self.kind.model().labels()
    }

    /// Random loss, if there is any.
    pub fn loss(&self) -> Option<RandomLoss> {
        self.loss
    }

    /// A value; `None` if the kind does not have it.
    pub fn value(&self, value: Value) -> Option<f64> {
        match value {
            Value::Loss => Some(self.loss.map_or(0.0, |loss| loss.probability)),
            _ => self.kind.model().value(value, &self.values),
        }
    }

    /// Values in the order of their places, without those of random loss.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The scenario `base`, whose first flow is the transfer, on this path; `seed` draws what differs from one transfer to the next.
    pub fn scenario(&self, base: &Scenario, seed: u64) -> Scenario {
        let mut scenario = self.kind.model().scenario(&self.values, base, Some(Nanos::ZERO), seed);
        if let Some(loss) = self.loss {
            entry::lose(&mut scenario, loss);
        }
        scenario
    }
}
