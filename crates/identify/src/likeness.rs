//! Likeness of a captured sender and simulated ones, as probabilities.

use firstflight_capture::{Connection, PathEstimate, Sending, Source};
use firstflight_contract::Nanos;
use firstflight_hosts::host::Host;
use firstflight_scenario::{Candidate, Profile};

use crate::Identified;
use crate::candidates::Sender;
use crate::draws::Path;
use crate::look::{Curve, Sizes, same};
use crate::rerun::{Transfers, rerun};

/// A stack with its probability.
#[derive(Clone, Debug, PartialEq)]
pub struct Probable {
    /// Profile.
    pub profile: Profile,
    /// Scheme and settings.
    pub candidate: Candidate,
    /// Probability before the capture is seen, in parts of that of a stack with its defaults.
    pub(crate) prior: f64,
    /// Probability, from 0 to 1.
    pub probability: f64,
    /// Logarithm of the likelihood, against that of no known stack.
    pub likelihood: f64,
    /// Mean difference of the times at which so many bytes had left from those of the simulation, round trips.
    pub apart: f64,
}

/// A captured sender.
pub(crate) struct Captured {
    curves: Vec<Curve>,
    sizes: Option<Sizes>,
    pub(crate) rtt: Nanos,
    payload: u32,
    transfers: Transfers,
    /// Whether probes of the path MTU are among the packets. In a log with frames they carry no data, and are not.
    shows_probes: bool,
}

impl Captured {
    pub(crate) fn of(connection: &Connection) -> Option<Self> {
        let (rtt, payload) = (connection.shortest_rtt()?, connection.observed.mss);
        Self::sent(&connection.sending(), rtt, payload, connection.form())
    }

    /// The sender of these packets, whose full ones have this payload; `rtt` is its shortest round trip.
    pub(crate) fn sent(sending: &Sending, rtt: Nanos, payload: u32, source: Source) -> Option<Self> {
        /// Bytes of a transfer that are compared: nearly every start ends before.
        const MOST: u64 = 16_000_000;
        let mut curves = Curve::all(sending, payload);
        let sizes = if source == Source::Segments { None } else { Sizes::of(sending, rtt) };
        let first = curves.first().filter(|first| first.shows_a_flight())?;
        let bytes = first.bytes();
        // The window of a second transfer depends on what was lost in the first one.
        if first.has_lost() || bytes > MOST {
            curves.truncate(1);
        }
        curves.truncate(2);
        let silence = curves.get(1).map(|second| second.silence_after(&curves[0], rtt));
        let acked = if bytes > MOST { MOST } else { u64::MAX };
        let transfers = Transfers { bytes, acked, source, silence };
        Some(Self { curves, sizes, rtt, payload, transfers, shows_probes: source == Source::Datagrams })
    }

    /// Logarithm of the likelihood of a simulated sender, against that of none, and the mean difference of their times in round trips.
    fn likeness(&self, simulated: &Sending) -> (f64, f64) {
        let rtt = self.rtt.0 as f64 * 1e-9;
        let (mut sum, mut apart, mut steps) = (0.0, 0.0, 0);
        for (own, other) in self.curves.iter().zip(Curve::all(simulated, self.payload)) {
            for (difference, at) in own.differences(&other) {
                sum += EACH * step(difference / rtt, at / rtt);
                (apart, steps) = (apart + difference / rtt, steps + 1);
            }
        }
        if let (Some(own), Some(other)) = (self.sizes, Sizes::of(simulated, self.rtt)) {
            let evidence = |equal: bool, differs: f64| if equal { EQUAL } else { differs };
            sum += evidence(same(own.first, other.first), OTHER_FIRST);
            if self.shows_probes || !same(own.probe, own.first) {
                sum += evidence(same(own.probe, other.probe), OTHER_PROBE);
            }
            if own.later > 0 && other.later > 0 {
                sum += evidence(same(own.later, other.later), OTHER_LATER);
            }
        }
        (sum, apart / f64::from(steps.max(1)))
    }
}

/// Evidence of equal sizes of datagrams, as the logarithm of a likelihood against that of no known stack: several stacks have the same.
const EQUAL: f64 = 0.5;
/// Evidence of another size in the first flight: stacks have it as a constant.
const OTHER_FIRST: f64 = -8.0;
/// Evidence of another largest probe of the path MTU, which a path with a smaller MTU has, too.
const OTHER_PROBE: f64 = -5.0;
/// The same of the size in the second and third round trip.
const OTHER_LATER: f64 = -4.0;
/// Weight of a step among those of a curve, which depend on each other.
const EACH: f64 = 0.5;

/// Logarithm of the density of a difference, in round trips, of the times of a stack from those of its simulation, against that of two
/// different stacks. Both are Laplace's, and both grow with the time, as what a start changes grows by round trips.
fn step(difference: f64, at: f64) -> f64 {
    const OWN: f64 = 0.02;
    const GROWS: f64 = 0.02;
    const OTHERS: f64 = 6.0;
    let scale = OWN + GROWS * at.max(0.0);
    let density = |scale: f64| -difference / scale - libm::log(2.0 * scale);
    density(scale) - density(OTHERS * scale)
}

/// Probabilities of the senders.
pub(crate) fn weigh(
    host: &dyn Host,
    captured: &Captured,
    inferred: &PathEstimate,
    senders: &[Sender],
    paths: &[Path],
    seed: u64,
) -> Identified {
    let likelihoods = senders.iter().map(|sender| {
        let each = paths.iter().filter_map(|path| {
            let sending = rerun(host, sender, path, &captured.transfers, inferred, seed)?;
            Some(captured.likeness(&sending))
        });
        let each: Vec<(f64, f64)> = each.collect();
        let apart = each.iter().max_by(|a, b| a.0.total_cmp(&b.0)).map_or(f64::INFINITY, |best| best.1);
        (mean(&each.iter().map(|likeness| likeness.0).collect::<Vec<_>>()), apart)
    });
    let of = |(sender, (likelihood, apart)): (&Sender, (f64, f64))| Probable {
        profile: sender.profile,
        candidate: sender.candidate.clone(),
        prior: sender.prior,
        probability: 0.0,
        likelihood,
        apart,
    };
    Identified::weighed(senders.iter().zip(likelihoods).map(of).collect())
}

/// Logarithm of the mean of likelihoods.
fn mean(each: &[f64]) -> f64 {
    let most = each.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    most + libm::log(each.iter().map(|it| libm::exp(it - most)).sum::<f64>() / each.len() as f64)
}
