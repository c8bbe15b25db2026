//! Rules by which packets are dropped, judged packet by packet.
//!
//! A capture shows the queue that every packet found, as its round trip. A rule gives the probability that the packet is dropped, from that queue
//! and the fates so far. Beside any rule, packets may be lost at random.

mod buffer;
mod codel;
mod fates;
mod policer;
mod population;
mod queued;
mod red;

use crate::loss::RandomLoss;
use crate::weights::{log_sum, normalised};

pub(crate) use fates::Losses;
pub(crate) use queued::Queued;

/// A rule by which a kind of path drops packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// A full buffer drops every packet: the packets that can wait.
    Buffer,
    /// Controlled delay: the target in seconds, and the packets that can wait.
    Codel,
    /// Random early detection: the lower threshold in packets, the upper one over it, the largest share, the weight of the newest length.
    Red,
    /// An empty token bucket: its rate in bit/s, and its depth in bytes.
    Policer,
    /// Other flows fill the buffer: only a run shows which packets are dropped.
    Run,
}

impl Rule {
    /// Whether a run drops the same packets as any other one on the same path.
    pub(crate) const fn repeats(self) -> bool {
        matches!(self, Self::Buffer | Self::Codel | Self::Policer)
    }

    /// Number of its values, which are the last ones of its kinds of path.
    pub(crate) const fn count(self) -> usize {
        match self {
            Self::Run => 0,
            Self::Buffer => 1,
            Self::Codel | Self::Policer => 2,
            Self::Red => 4,
        }
    }
}

/// Values of a rule with random loss beside it.
#[derive(Clone, Debug)]
pub(crate) struct Ruled {
    pub(crate) values: Vec<f64>,
    pub(crate) loss: Option<RandomLoss>,
    /// Weight among the values of the rule; all add up to one.
    pub(crate) weight: f64,
}

/// Evidence of the fates for a rule, and the values that it may have.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    /// Logarithm of the mean probability of the fates over the prior of the rule's values.
    pub(crate) evidence: f64,
    pub(crate) rules: Vec<Ruled>,
}

impl Judged {
    /// From values of the rule, each with the logarithms of likelihood and prior for every random loss.
    fn of(tried: Vec<(Vec<f64>, Vec<f64>)>, losses: &Losses) -> Self {
        /// Weight that counts.
        const SOME: f64 = 1e-6;
        let logs: Vec<f64> = tried.iter().flat_map(|(_, logs)| logs.iter().copied()).collect();
        let weights = normalised(&logs);
        let each = tried.iter().flat_map(|(values, _)| losses.each().map(move |loss| (values, loss)));
        let some = each.zip(weights).filter(|one| one.1 > SOME);
        let rules: Vec<Ruled> =
            some.map(|((values, loss), weight)| Ruled { values: values.clone(), loss, weight }).collect();
        Self { evidence: log_sum(logs), rules }
    }
}
