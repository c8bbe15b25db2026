//! Search for the paths that explain a capture: sequential approximate Bayesian computation.
//!
//! Each kind of path has a population of candidates. The first generation comes from the prior, and half of it from
//! around the published estimates. Each later one moves candidates that resemble the capture (S. Sisson, Y. Fan, M.
//! Tanaka, "Sequential Monte Carlo without likelihoods", PNAS 104(6), 2007; M. Beaumont, J. Cornuet, J. Marin, C.
//! Robert, "Adaptive approximate Bayesian computation", Biometrika 96(4), 2009). The last one is weighted by prior over
//! proposal, and its mean weight is the evidence for the kind (T. Toni, M. Stumpf, Bioinformatics 26(1), 2010).
//!
//! A random path never repeats itself. So the kernel that compares two summaries has the spread of re-runs on the same
//! path, as in a synthetic likelihood (S. Wood, "Statistical inference for noisy nonlinear ecological dynamic systems",
//! Nature 466, 2010): kinds that repeat themselves must match the capture closely, and others as closely as they match
//! themselves.

use std::sync::Arc;

use firstflight_capture::summary::{IN_ORDER, NAMES, Statistic, Summary};
use firstflight_capture::{FirstRoundTrip, Offered, SlowStartEnd};
use firstflight_contract::Nanos;
use firstflight_random::Stream;
use firstflight_scenario::Scenario;

use super::anchors::Anchors;
use super::candidate::{Candidate, Tried};
use super::ends;
use super::entry;
use super::handshake;
use super::kernel::{Kernel, REPEATS, floors};
use super::kinds::{MOST, PLACES, PathKind, Place};
use super::losses::Fates;
use super::population::{EQUAL, KEPT, Population};
use super::range::{Range, normal, reflected};
use super::reordering;
use super::rerun::{Transfer, rerun};
use super::rules::Rule;
use super::senders::{Sender, Senders};
use super::settled::{Final, settled};
use super::spread::Spread;
use super::surface::Surface;
use super::weighed::Weighed;
use super::weights::{ENOUGH, drawn, flattened, normalised};
use firstflight_hosts::host::Host;
use firstflight_hosts::parallel::{map, try_map};
use firstflight_hosts::progress::Progress;

/// Generations that approach the capture by a plain distance, and those that follow with the kernel.
const APPROACH: u32 = 3;
const LONGEST_APPROACH: u32 = 7;
const REFINE: u32 = 3;
/// Kinds whose work each generation of a refinement has at least.
const SHARED: usize = 4;
/// Candidates whose re-runs measure the spread.
const MEASURED: usize = 10;
/// A kind is given up after the approach if its best candidate is this many times as far from the capture as the best
/// of all.
const HOPELESS: f64 = 3.0;
/// Difference of the logarithms of the evidence of the fates within which a kind's rule explains them as well as any.
const EXPLAINS: f64 = 10.0;
/// Difference of the best logarithms of the likelihood above which a kind is given up, after the approach and after each
/// refinement. A refinement added 22 at most to that of a kind behind on seven captures where all were refined, and
/// a weight that is negligible is a difference of 9.
const UNLIKELY: [f64; REFINE as usize + 1] = [60.0, 40.0, 30.0, 25.0];
/// Runs of each candidate of the last generation.
const SEEDS: u64 = 2;

/// Steps of progress: each kind approaches the capture, and all that are left refine.
pub(super) const STEPS: u64 = (PathKind::SEARCHED * APPROACHES) as u64 + REFINE as u64 + 1;
/// Steps of the approach of one kind.
const APPROACHES: usize = 1;

/// A captured connection to explain.
pub(super) struct Target {
    pub(super) summary: Summary,
    pub(super) transfer: Transfer,
    /// Time from the handshake to the first data, if the capture shows it.
    pub(super) late: Option<Nanos>,
    /// First round trip of data, if the capture shows it beside that of the handshake.
    pub(super) first: Option<FirstRoundTrip>,
    /// End of slow start without a sign of loss or delay.
    pub(super) end: Option<SlowStartEnd>,
    /// Packets with their fates.
    pub(super) offered: Vec<Offered>,
    /// Numbers of the transmissions that were lost.
    pub(super) dropped: Arc<[u32]>,
}

/// Slow-start thresholds, packets, that the senders of targets may have had, in order and without repetition.
pub(super) fn thresholds(targets: &[Target]) -> Vec<u64> {
    let mut thresholds: Vec<u64> =
        targets.iter().filter_map(|target| target.end).map(|end| end.packets).collect();
    thresholds.sort_unstable();
    thresholds.dedup();
    thresholds
}

/// Space of the search.
pub(super) struct Search<'a> {
    pub(super) host: &'a dyn Host,
    pub(super) base: &'a Scenario,
    pub(super) anchors: Anchors,
    pub(super) targets: &'a [Target],
    /// Schemes that a sender may have run, with their thresholds and probabilities.
    pub(super) schemes: &'a [Sender],
    pub(super) seed: u64,
    /// Candidates of the first generation of each kind.
    pub(super) first: usize,
}

/// Rate of the plain paths nearest the capture, bit/s, in the median. A capture of which no rate can be estimated shows that packets did not wait.
fn plain_rate(populations: &[Population]) -> f64 {
    let plain = populations.iter().find(|population| population.kind == PathKind::DropTail);
    let plain = plain.or(populations.first()).expect("a kind that can be run");
    let mut near: Vec<&Tried> = plain.tried.iter().collect();
    near.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    near.truncate(KEPT);
    let mut rates: Vec<f64> = near.iter().map(|one| plain.values(&one.candidate.place)[0]).collect();
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

impl Search<'_> {
    /// Paths that explain the targets. Their weights add up to one; none if nothing could be run.
    pub(super) fn run(&self, progress: &dyn Progress) -> Vec<Weighed> {
        let mut populations: Vec<Population> = vec![];
        for kind in PathKind::searched() {
            if !kind.model().shows(&self.anchors) {
                progress.advance(1);
                continue;
            }
            let mut population = Population {
                kind,
                reorders: self.reorders(),
                ranges: self.ranges(kind),
                tried: vec![],
                kernel: Kernel::default(),
                surfaces: None,
            };
            population.tried = self.try_all(&population, &self.first(&population));
            // A kind of which no path could be run has nothing to go on from.
            if !population.tried.is_empty() {
                for generation in 1..=APPROACH {
                    self.approach(&mut population, generation);
                }
                populations.push(population);
            }
            progress.advance(1);
        }
        if populations.is_empty() {
            return vec![];
        }
        let best = |population: &Population| {
            // Below this distance kinds are equally good, as candidates are.
            population.tried.iter().map(|one| one.distance).fold(f64::INFINITY, f64::min).max(EQUAL)
        };
        let least = populations.iter().map(best).fold(f64::INFINITY, f64::min);
        let offered: Vec<&[Offered]> = self.targets.iter().map(|target| target.offered.as_slice()).collect();
        let rate = self.anchors.known_rate().unwrap_or_else(|| plain_rate(&populations));
        let fates = Fates::of(&offered, rate, &self.anchors, self.seed);
        // The kinds whose rules explain the fates best stay until their times are compared.
        let explains = |population: &Population| fates.evidence(population.kind);
        let most = populations.iter().map(explains).fold(f64::NEG_INFINITY, f64::max);
        populations.retain(|population| {
            best(population) <= HOPELESS * least || explains(population) >= most - EXPLAINS
        });
        for population in &mut populations {
            for generation in APPROACH + 1..=LONGEST_APPROACH {
                if population.is_near() {
                    break;
                }
                self.approach(population, generation);
            }
        }
        for population in &mut populations {
            self.settle_kernel(population, false);
        }
        self.give_up(&mut populations, UNLIKELY[0], &fates);
        for generation in 1..=REFINE {
            // The kinds that are left share the work of those that are given up: a path that repeats itself is found among many.
            let each = self.later() * (SHARED / populations.len().max(1)).max(1);
            for population in &mut populations {
                let weights = self.weights(population);
                let each = if population.is_random() { self.later() } else { each };
                let next = self.moved(population, &weights, LONGEST_APPROACH + generation, each);
                let tried = self.try_all(population, &next);
                population.tried.extend(tried);
                if generation < REFINE || population.is_random() {
                    self.settle_kernel(population, true);
                }
            }
            self.give_up(&mut populations, UNLIKELY[generation as usize], &fates);
            progress.advance(1);
        }
        let last = |population: &mut Population| (population.kind, self.last(population, &fates));
        let kinds = populations.iter_mut().map(last).collect();
        let mut paths = settled(kinds, &fates);
        self.refine(&mut paths, &populations);
        progress.advance(1);
        paths.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        paths
    }

    /// Weighs anew the paths that drop the same packets in each run: round trips show the queue to a part of a packet at best, and a run that is
    /// left to its rule shows to the packet which ones it drops. The weight of all such paths of a kind stays as it is.
    fn refine(&self, paths: &mut [Weighed], populations: &[Population]) {
        /// Logarithm of the likelihood of a path on which the transfer does not come as far.
        const NONE: f64 = -1e3;
        for population in populations {
            for &kind in population.kind.family() {
                let repeats = |path: &&mut Weighed| path.kind == kind && path.loss.is_none();
                let mut own: Vec<&mut Weighed> = paths.iter_mut().filter(repeats).collect();
                if own.is_empty() || population.is_random() || !kind.model().rule().repeats() {
                    continue;
                }
                let logs = map(&own, |path| {
                    let run = |(index, target): (usize, &Target)| {
                        // Nothing that a seed draws matters to a path that repeats itself.
                        let seed = index as u64;
                        let scenario = path.scenario(self.base, target.late, seed);
                        let sender = &self.schemes[path.schemes[index]].candidate;
                        rerun(self.host, scenario, sender, &target.transfer, seed)
                    };
                    let ran: Option<Vec<_>> = self.targets.iter().enumerate().map(run).collect();
                    let (summaries, ends): (Vec<_>, Vec<_>) = ran?.into_iter().unzip();
                    Some(self.likelihood(&summaries, &population.kernel).0 + self.ended(&ends) - path.times)
                });
                let sum: f64 = own.iter().map(|path| path.weight).sum();
                let logs: Vec<f64> = own
                    .iter()
                    .zip(logs)
                    .map(|(path, log)| libm::log(path.weight) + log.unwrap_or(NONE))
                    .collect();
                for (path, weight) in own.iter_mut().zip(flattened(&logs, ENOUGH)) {
                    path.weight = sum * weight;
                }
            }
        }
    }

    /// Candidates of each later generation of a kind.
    fn later(&self) -> usize {
        (2 * self.first / 5).max(1)
    }

    /// Candidates of the last generation of a kind, and runs of each.
    fn final_count(&self, population: &Population) -> (usize, u64) {
        let random = population.is_random();
        let count = if random { 3 * self.first / 5 } else { 6 * self.first / 5 };
        (count.max(1), if random { SEEDS } else { 1 })
    }

    /// Whether the capture shows packets that were overtaken.
    fn reorders(&self) -> bool {
        self.anchors.lanes.is_some()
    }

    /// Parameters of a kind, and those of reordering.
    fn ranges(&self, kind: PathKind) -> Vec<Range> {
        let lanes = self.anchors.lanes.iter().flat_map(reordering::Lanes::ranges);
        kind.model().ranges(&self.anchors).into_iter().chain(lanes).collect()
    }

    /// Statistics that are compared: those of overtaken packets where the capture shows any.
    fn names(&self) -> &'static [Statistic] {
        if self.reorders() { &NAMES } else { &NAMES[..IN_ORDER] }
    }

    fn ran(
        &self,
        population: &Population,
        candidate: &Candidate,
    ) -> Option<Vec<(Summary, Option<SlowStartEnd>)>> {
        let model = population.kind.model();
        let values = model.open(&population.values(&candidate.place));
        if !model.admits(&values) {
            return None;
        }
        let run = |(index, target): (usize, &Target)| {
            let seed = candidate.seed.wrapping_add(index as u64);
            let mut scenario = model.scenario(&values, self.base, target.late, seed);
            if let Some(lanes) = population.lanes(&candidate.place) {
                reordering::add(&mut scenario, lanes);
            }
            if model.rule() != Rule::Run {
                entry::forced(&mut scenario, &target.dropped);
            }
            rerun(
                self.host,
                scenario,
                &self.schemes[candidate.schemes[index]].candidate,
                &target.transfer,
                seed,
            )
        };
        self.targets.iter().enumerate().map(run).collect()
    }

    /// One generation that moves the nearest candidates.
    fn approach(&self, population: &mut Population, generation: u32) {
        population.keep(KEPT);
        if population.is_random() {
            self.run_again(population, generation);
        }
        let next = self.moved(population, &population.equal(), generation, self.later());
        let tried = self.try_all(population, &next);
        population.tried.extend(tried);
    }

    /// Gives up the kinds whose best candidate is less likely, with the fates, than the best of all by more than this.
    fn give_up(&self, populations: &mut Vec<Population>, by: f64, fates: &Fates) {
        let best = |population: &Population| {
            let each = population.tried.iter().map(|one| self.log_likelihood(population, one));
            each.fold(f64::NEG_INFINITY, f64::max) + fates.evidence(population.kind)
        };
        let most = populations.iter().map(best).fold(f64::NEG_INFINITY, f64::max);
        populations.retain(|population| best(population) >= most - by);
    }

    /// Logarithm of the likelihood of a candidate that has run.
    fn log_likelihood(&self, population: &Population, one: &Tried) -> f64 {
        let expected = population.expected(&one.candidate, || one.summaries.clone());
        self.likelihood(&expected, &population.kernel).0
            + self.opened(population, &one.candidate)
            + self.ended(&one.ends)
    }

    /// Logarithm of the density of the ends of slow start around those of a run.
    fn ended(&self, ends: &[Option<SlowStartEnd>]) -> f64 {
        let each =
            self.targets.iter().zip(ends).filter_map(|(target, ran)| Some((target.end.as_ref()?, ran)));
        each.map(|(seen, ran)| ends::density(seen, ran.as_ref())).sum()
    }

    /// Logarithm of the density of the first round trips on the path of a candidate.
    fn opened(&self, population: &Population, candidate: &Candidate) -> f64 {
        let values = population.kind.model().open(&population.values(&candidate.place));
        let first = self.targets.iter().filter_map(|target| target.first);
        first.map(|seen| handshake::density(&seen, population.kind, &values, &self.anchors)).sum()
    }

    /// Runs every candidate once more and gives it the mean distance, so that none stays for a lucky run.
    fn run_again(&self, population: &mut Population, generation: u32) {
        let again = |one: &Tried| Candidate {
            seed: one.candidate.seed.wrapping_add(u64::from(generation) << 40),
            ..one.candidate
        };
        let runs = self.try_each(population, &population.tried.iter().map(again).collect::<Vec<_>>());
        for (one, run) in population.tried.iter_mut().zip(runs) {
            let Some(run) = run else { continue };
            one.distance = (one.distance * f64::from(one.runs) + run.distance) / f64::from(one.runs + 1);
            one.runs += 1;
            // The run for which it was kept is luckier than others.
            (one.summaries, one.ends) = (run.summaries, run.ends);
        }
    }

    /// Runs of the candidates that the host can run.
    fn try_all(&self, population: &Population, candidates: &[Candidate]) -> Vec<Tried> {
        self.try_each(population, candidates).into_iter().flatten().collect()
    }

    /// A run of each candidate.
    fn try_each(&self, population: &Population, candidates: &[Candidate]) -> Vec<Option<Tried>> {
        let tried = try_map(candidates, |candidate| {
            let ran = self.ran(population, candidate);
            Ok::<_, core::convert::Infallible>(ran.map(|ran| {
                let (summaries, ends): (Vec<_>, Vec<_>) = ran.into_iter().unzip();
                let distance = self.distance(&summaries);
                Tried { candidate: *candidate, summaries, ends, distance, runs: 1 }
            }))
        });
        match tried {
            Ok(tried) => tried,
        }
    }

    /// Senders of the targets.
    fn senders(&self) -> Senders<'_> {
        Senders { schemes: self.schemes, count: self.targets.len() }
    }

    /// First generation of a kind: half of it around the estimates.
    fn first(&self, population: &Population) -> Vec<Candidate> {
        let mut stream = Stream::named(self.seed, &format!("first {:?}", population.kind));
        let guesses: Vec<_> = population.ranges.iter().map(Range::guess).collect();
        let mut make = |index: usize| {
            let mut place = [0.5; PLACES];
            for (place, guess) in place.iter_mut().zip(&guesses) {
                *place = match guess.filter(|_| index.is_multiple_of(2)) {
                    Some((value, deviation)) => reflected(value + deviation * normal(&mut stream)),
                    None => stream.unit(),
                };
            }
            Candidate { place, schemes: self.senders().drawn(&mut stream), seed: stream.bits() }
        };
        (0..self.first).map(&mut make).collect()
    }

    /// Candidates around those of a population, which are taken as often as `weights` ask for.
    pub(super) fn moved(
        &self,
        population: &Population,
        weights: &[f64],
        generation: u32,
        count: usize,
    ) -> Vec<Candidate> {
        let mut stream = Stream::named(self.seed, &format!("generation {generation} {:?}", population.kind));
        let steps = population.steps(weights);
        let mut make = |_| {
            let parent = &population.tried[drawn(weights, stream.unit())].candidate;
            let mut place = parent.place;
            // A kind with few parameters draws for all that a kind may have.
            let own = population.ranges.len().max(MOST);
            for (place, step) in place.iter_mut().zip(steps).take(own) {
                *place = reflected(*place + step * normal(&mut stream));
            }
            let schemes = self.senders().moved(&parent.schemes, &mut stream);
            Candidate { place, schemes, seed: stream.bits() }
        };
        (0..count).map(&mut make).collect()
    }

    /// Last generation of a kind. Candidates of a random kind run several times, and the capture is compared with the
    /// surface through all runs, so that a lucky run does not decide.
    fn last(&self, population: &mut Population, fates: &Fates) -> Vec<Final> {
        let weights = self.weights(population);
        let steps = population.steps(&weights);
        let (count, repeats) = self.final_count(population);
        let candidates = self.moved(population, &weights, LONGEST_APPROACH + REFINE + 1, count);
        let again = |candidate: &Candidate| {
            let repeat =
                |repeat: u64| Candidate { seed: candidate.seed.wrapping_add(repeat << 32), ..*candidate };
            (0..repeats).map(repeat).collect::<Vec<_>>()
        };
        let runs = self.try_each(population, &candidates.iter().flat_map(again).collect::<Vec<_>>());
        let mut between = None;
        if population.is_random() {
            let all: Vec<&Tried> = runs.iter().flatten().collect();
            let (surfaces, kernel, two) = self.surfaces(&all, population.ranges.len());
            (population.surfaces, population.kernel, between) = (Some(surfaces), kernel, Some(two));
        }
        let volume = population.kind.model().volume(&self.anchors);
        let judge = |(candidate, runs): (&Candidate, &[Option<Tried>])| {
            let first = runs.iter().flatten().next()?;
            let expected = population.expected(candidate, || first.summaries.clone());
            let (likelihood, misfit) = self.likelihood(&expected, &population.kernel);
            // Other kinds are compared by the difference between two runs, and so must this one be.
            let between = between.as_ref().map(|kernel| self.likelihood(&expected, kernel).0);
            let admitted = fates.admitted(population.kind, &population.values(&candidate.place));
            let opened = self.opened(population, candidate) + self.ended(&first.ends) + admitted;
            let proposed = population.proposed(candidate, &weights, &steps, self.senders());
            Some(Final {
                weighed: Weighed {
                    kind: population.kind,
                    values: population.values(&candidate.place),
                    idle: false,
                    lanes: population.lanes(&candidate.place),
                    loss: None,
                    schemes: candidate.schemes,
                    weight: 0.0,
                    misfit,
                    times: likelihood + self.ended(&first.ends),
                },
                likelihood: likelihood + opened,
                comparable: between.unwrap_or(likelihood) + opened,
                prior: volume - libm::log(count as f64) - libm::log(proposed),
            })
            .filter(|one| one.likelihood.is_finite() && one.prior.is_finite())
        };
        candidates.iter().zip(runs.chunks(repeats as usize)).filter_map(judge).collect()
    }

    /// Mean over targets and statistics of the difference in units of what hosts alone cause. Large differences count
    /// by their logarithm, so that no single statistic decides.
    fn distance(&self, summaries: &[Summary]) -> f64 {
        let names = self.names();
        let one = |(target, ran): (&Target, &Summary)| {
            let parts = names.iter().enumerate().map(|(index, statistic)| {
                let apart = (target.summary.0[index] - ran.0[index]) / (2.0 * statistic.floor);
                libm::log(1.0 + apart * apart / 2.0)
            });
            parts.sum::<f64>() / names.len() as f64
        };
        let sum: f64 = self.targets.iter().zip(summaries).map(one).sum();
        sum / self.targets.len() as f64
    }

    /// Logarithm of the density of the targets around the statistics of a run, or the means of several; and their
    /// distance as a root mean square in standard deviations.
    fn likelihood(&self, summaries: &[Summary], kernel: &Kernel) -> (f64, f64) {
        let (mut log, mut squares) = (0.0, 0.0);
        for ((target, ran), normal) in self.targets.iter().zip(summaries).zip(&kernel.0) {
            let compared = target.summary.0.iter().zip(ran.0).take(self.names().len());
            let apart: Vec<f64> = compared.map(|(seen, ran)| seen - ran).collect();
            let (density, square) = normal.density(&apart);
            log += density;
            squares += square;
        }
        let count = (self.names().len() * self.targets.len()) as f64;
        (log, libm::sqrt(squares / count))
    }

    /// Kernel weights of a population, by which candidates are moved; they add up to one.
    ///
    /// The likelihood of a random kind comes from a surface through few runs, and that of several connections is a product. One candidate
    /// may then have all the weight by chance, and its descendants would be all that is left. [`ENOUGH`] candidates therefore count, by
    /// a power of the likelihood below one (P. Del Moral, A. Doucet, A. Jasra, "An adaptive sequential Monte Carlo method for approximate
    /// Bayesian computation", Statistics and Computing 22(5), 2012). The last generation is weighted by the likelihood over its proposal.
    fn weights(&self, population: &Population) -> Vec<f64> {
        let log = |one: &Tried| self.log_likelihood(population, one);
        let logs: Vec<f64> = population.tried.iter().map(log).collect();
        if population.is_random() { flattened(&logs, ENOUGH) } else { normalised(&logs) }
    }

    /// Sets the kernel of a kind: for a random one from the spread of its runs around their surface, else from re-runs.
    fn settle_kernel(&self, population: &mut Population, weighted: bool) {
        if population.is_random() {
            let runs: Vec<&Tried> = population.tried.iter().collect();
            let (surfaces, kernel, _) = self.surfaces(&runs, population.ranges.len());
            (population.surfaces, population.kernel) = (Some(surfaces), kernel);
        } else {
            population.kernel = self.kernel(population, weighted);
        }
    }

    /// Surface through the statistics of each target's runs, their spread around it, and the spread of the difference between
    /// two of them.
    fn surfaces(&self, runs: &[&Tried], dimensions: usize) -> (Vec<Surface>, Kernel, Kernel) {
        let (mut surfaces, mut around, mut between) = (vec![], vec![], vec![]);
        for target in 0..self.targets.len() {
            let row = |run: &&Tried| {
                let Candidate { place, schemes, .. } = run.candidate;
                (place, schemes[target], run.summaries[target].0.to_vec())
            };
            let rows: Vec<_> = runs.iter().map(row).collect();
            let surface = Surface::through(&rows, dimensions, self.schemes.len());
            let apart = |(place, scheme, seen): &(Place, usize, Vec<f64>)| {
                let expected = surface.at(place, *scheme);
                let apart = seen.iter().zip(expected).map(|(seen, expected)| seen - expected);
                apart.take(self.names().len()).collect::<Vec<f64>>()
            };
            let apart: Vec<Vec<f64>> = rows.iter().map(apart).collect();
            around.push(Spread::of(&apart, &floors(self.names()), surface.inflation()));
            between.push(Spread::of(&apart, &floors(self.names()), 2.0));
            surfaces.push(surface);
        }
        (surfaces, Kernel(around), Kernel(between))
    }

    /// Kernel of a kind from re-runs: of its best candidates, or of candidates drawn by their weights. Every value is
    /// changed by as much as hosts and clocks change it.
    fn kernel(&self, population: &Population, weighted: bool) -> Kernel {
        const SHARE: f64 = 0.002;
        let count = population.tried.len();
        let mut stream =
            Stream::named(self.seed, &format!("re-runs {:?} {weighted} {count}", population.kind));
        let chosen: Vec<usize> = if weighted {
            let weights = self.weights(population);
            (0..MEASURED).map(|_| drawn(&weights, stream.unit())).collect()
        } else {
            let mut order: Vec<usize> = (0..count).collect();
            order.sort_by(|&a, &b| population.tried[a].distance.total_cmp(&population.tried[b].distance));
            order.truncate(MEASURED);
            order
        };
        let mut shaken = vec![];
        for index in chosen {
            for _ in 0..REPEATS {
                let mut candidate = Candidate { seed: stream.bits(), ..population.tried[index].candidate };
                for (place, range) in candidate.place.iter_mut().zip(&population.ranges) {
                    *place = reflected(*place + SHARE / range.span() * normal(&mut stream));
                }
                shaken.push(candidate);
            }
        }
        Kernel::of(&self.try_each(population, &shaken), self.targets.len(), self.names())
    }
}
