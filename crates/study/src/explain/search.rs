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

use firstflight_capture::FirstRoundTrip;
use firstflight_capture::summary::{IN_ORDER, NAMES, Statistic, Summary};
use firstflight_net::random::Stream;
use firstflight_scenario::{Reorder, Scenario, SchemeSpec};

use super::anchors::Anchors;
use super::handshake;
use super::kind::{Kind, MOST, PLACES, Place, Range, normal};
use super::reordering;
use super::rerun::{Transfer, rerun};
use super::senders::{Schemes, Senders};
use super::spread::Spread;
use super::surface::Surface;
use crate::host::Host;
use crate::parallel::try_map;
use crate::progress::Progress;

/// Generations that approach the capture by a plain distance, and those that follow with the kernel.
const APPROACH: u32 = 3;
const LONGEST_APPROACH: u32 = 7;
const REFINE: u32 = 3;
/// Candidates kept of each kind during the approach.
const KEPT: usize = 24;
/// Candidates whose re-runs measure the spread, and re-runs of each.
const MEASURED: usize = 10;
const REPEATS: u64 = 5;
/// A kind is given up after the approach if its best candidate is this many times as far from the capture as the best
/// of all.
const HOPELESS: f64 = 3.0;
/// Difference of the best logarithms of the likelihood above which a kind is given up, after the approach and after each
/// refinement. A refinement added 22 at most to that of a kind behind on seven captures where all were refined, and
/// [`NEGLIGIBLE`] is a difference of 9.
const UNLIKELY: [f64; REFINE as usize + 1] = [60.0, 40.0, 30.0, 25.0];
/// Weight below which a path is left out.
const NEGLIGIBLE: f64 = 1e-4;
/// Number of independent ways in which hosts change the statistics: rate, round trip and start of the clock, and the
/// place of each of a few losses.
const HOST_EFFECTS: f64 = 6.0;
/// Distance below which candidates are equally good: all statistics differ by what hosts alone cause.
const EQUAL: f64 = 0.1;

/// Runs of each candidate of the last generation.
const SEEDS: u64 = 2;
/// Number of equally weighted candidates to which those of the last generation should be equivalent (Kish).
const ENOUGH: f64 = 16.0;

/// Steps of progress: each kind approaches the capture, and all that are left refine.
pub(super) const STEPS: u64 = (Kind::ALL.len() * APPROACHES) as u64 + REFINE as u64 + 1;
/// Steps of the approach of one kind.
const APPROACHES: usize = 1;

/// A captured connection to explain.
pub(super) struct Target {
    pub(super) summary: Summary,
    pub(super) transfer: Transfer,
    /// First round trip of data, if the capture shows it beside that of the handshake.
    pub(super) first: Option<FirstRoundTrip>,
}

/// What is searched.
pub(super) struct Search<'a> {
    pub(super) host: &'a dyn Host,
    pub(super) base: &'a Scenario,
    pub(super) anchors: Anchors,
    pub(super) targets: &'a [Target],
    /// Schemes that a sender may have run, with their probabilities.
    pub(super) schemes: &'a [(SchemeSpec, f64)],
    pub(super) seed: u64,
    /// Candidates of the first generation of each kind.
    pub(super) first: usize,
}

/// A candidate: the parameters of a kind of path, and the scheme of each captured sender.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    place: Place,
    schemes: Schemes,
    seed: u64,
}

/// A candidate with the summaries of its run, one for each target.
#[derive(Clone, Debug)]
struct Tried {
    candidate: Candidate,
    summaries: Vec<Summary>,
    /// Mean distance from the capture over its runs.
    distance: f64,
    runs: u32,
}

/// A path with its weight among those of every kind.
#[derive(Clone, Debug)]
pub(super) struct Weighed {
    pub(super) kind: Kind,
    pub(super) values: Vec<f64>,
    /// Whether the last values are those of reordering.
    pub(super) reorders: bool,
    pub(super) schemes: Schemes,
    pub(super) weight: f64,
    /// Root mean square difference from the capture, in standard deviations.
    pub(super) misfit: f64,
}

impl Weighed {
    /// Lanes on which packets overtake each other, if they do.
    pub(super) fn lanes(&self) -> Option<Reorder> {
        self.reorders.then(|| reordering::lanes(&self.values))
    }

    /// The scenario `base`, whose first flow is the transfer, on this path; `seed` draws what differs from one transfer to
    /// the next.
    pub(super) fn scenario(&self, base: &Scenario, seed: u64) -> Scenario {
        scenario(self.kind, &self.values, self.reorders, base, seed)
    }
}

fn scenario(kind: Kind, values: &[f64], reorders: bool, base: &Scenario, seed: u64) -> Scenario {
    let mut scenario = kind.scenario(values, base, seed);
    if reorders {
        reordering::add(&mut scenario, values);
    }
    scenario
}

/// One kind of path during the search.
struct Population {
    kind: Kind,
    /// Whether packets overtake each other; the last two ranges are then those of reordering.
    reorders: bool,
    ranges: Vec<Range>,
    tried: Vec<Tried>,
    kernel: Kernel,
    /// Mean statistics of each target, if runs on the same path differ.
    surfaces: Option<Vec<Surface>>,
}

impl Search<'_> {
    /// Paths that explain the targets. Their weights add up to one; none if nothing could be run.
    pub(super) fn run(&self, progress: &dyn Progress) -> Vec<Weighed> {
        let mut populations: Vec<Population> = vec![];
        for kind in Kind::ALL {
            if !kind.shows(&self.anchors) {
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
        let best = |population: &Population| {
            // Below this distance kinds are equally good, as candidates are.
            population.tried.iter().map(|one| one.distance).fold(f64::INFINITY, f64::min).max(EQUAL)
        };
        let least = populations.iter().map(best).fold(f64::INFINITY, f64::min);
        populations.retain(|population| best(population) <= HOPELESS * least);
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
        self.give_up(&mut populations, UNLIKELY[0]);
        for generation in 1..=REFINE {
            for population in &mut populations {
                let weights = self.weights(population);
                let next = self.moved(population, &weights, LONGEST_APPROACH + generation, self.later());
                let tried = self.try_all(population, &next);
                population.tried.extend(tried);
                if generation < REFINE || population.is_random() {
                    self.settle_kernel(population, true);
                }
            }
            self.give_up(&mut populations, UNLIKELY[generation as usize]);
            progress.advance(1);
        }
        let kinds: Vec<Vec<Final>> = populations.iter_mut().map(|population| self.last(population)).collect();
        progress.advance(1);
        settled(kinds)
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
    fn ranges(&self, kind: Kind) -> Vec<Range> {
        let lanes = self.anchors.lanes.iter().flat_map(reordering::Lanes::ranges);
        kind.ranges(&self.anchors).into_iter().chain(lanes).collect()
    }

    /// Statistics that are compared: those of overtaken packets where the capture shows any.
    fn names(&self) -> &'static [Statistic] {
        if self.reorders() { &NAMES } else { &NAMES[..IN_ORDER] }
    }

    fn summaries(&self, population: &Population, candidate: &Candidate) -> Option<Vec<Summary>> {
        let values = population.values(&candidate.place);
        let run = |(index, target): (usize, &Target)| {
            let seed = candidate.seed.wrapping_add(index as u64);
            let scenario = scenario(population.kind, &values, population.reorders, self.base, seed);
            rerun(self.host, scenario, &self.schemes[candidate.schemes[index]].0, &target.transfer, seed)
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

    /// Gives up the kinds whose best candidate is less likely than the best of all by more than this.
    fn give_up(&self, populations: &mut Vec<Population>, by: f64) {
        let best = |population: &Population| {
            let each = population.tried.iter().map(|one| self.log_likelihood(population, one));
            each.fold(f64::NEG_INFINITY, f64::max)
        };
        let best: Vec<f64> = populations.iter().map(best).collect();
        let most = best.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut best = best.into_iter();
        populations.retain(|_| best.next().is_some_and(|own| own >= most - by));
    }

    /// Logarithm of the likelihood of a candidate that has run.
    fn log_likelihood(&self, population: &Population, one: &Tried) -> f64 {
        let expected = population.expected(&one.candidate, || one.summaries.clone());
        self.likelihood(&expected, &population.kernel).0 + self.opened(population, &one.candidate)
    }

    /// Logarithm of the density of the first round trips on the path of a candidate.
    fn opened(&self, population: &Population, candidate: &Candidate) -> f64 {
        let values = population.values(&candidate.place);
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
            one.summaries = run.summaries;
        }
    }

    /// Runs of the candidates that the host can run.
    fn try_all(&self, population: &Population, candidates: &[Candidate]) -> Vec<Tried> {
        self.try_each(population, candidates).into_iter().flatten().collect()
    }

    /// A run of each candidate.
    fn try_each(&self, population: &Population, candidates: &[Candidate]) -> Vec<Option<Tried>> {
        let tried = try_map(candidates, |candidate| {
            let summaries = self.summaries(population, candidate);
            Ok::<_, core::convert::Infallible>(summaries.map(|summaries| {
                let distance = self.distance(&summaries);
                Tried { candidate: *candidate, summaries, distance, runs: 1 }
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
    fn moved(
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
    fn last(&self, population: &mut Population) -> Vec<Final> {
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
        let judge = |(candidate, runs): (&Candidate, &[Option<Tried>])| {
            let first = runs.iter().flatten().next()?;
            let expected = population.expected(candidate, || first.summaries.clone());
            let (likelihood, misfit) = self.likelihood(&expected, &population.kernel);
            // Other kinds are compared by the difference between two runs, and so must this one be.
            let between = between.as_ref().map(|kernel| self.likelihood(&expected, kernel).0);
            let opened = self.opened(population, candidate);
            let proposed = population.proposed(candidate, &weights, &steps, self.senders());
            Some(Final {
                weighed: Weighed {
                    kind: population.kind,
                    values: population.values(&candidate.place),
                    reorders: population.reorders,
                    schemes: candidate.schemes,
                    weight: 0.0,
                    misfit,
                },
                likelihood: likelihood + opened,
                comparable: between.unwrap_or(likelihood) + opened,
                prior: libm::log(population.kind.prior() / count as f64) - libm::log(proposed),
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

    /// Kernel weights of a population; they add up to one.
    fn weights(&self, population: &Population) -> Vec<f64> {
        let log = |one: &Tried| self.log_likelihood(population, one);
        normalised(&population.tried.iter().map(log).collect::<Vec<_>>())
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

/// Spread of the statistics of each target over runs on the same path.
#[derive(Debug, Default)]
struct Kernel(Vec<Spread>);

impl Kernel {
    /// From groups of [`REPEATS`] re-runs on the same path.
    fn of(runs: &[Option<Tried>], targets: usize, names: &[Statistic]) -> Self {
        let floor = floors(names);
        let of_target = |target: usize| {
            let mut deviations: Vec<Vec<f64>> = vec![];
            for group in runs.chunks(REPEATS as usize) {
                let group: Vec<&Tried> = group.iter().flatten().collect();
                let count = group.len() as f64;
                if group.len() < 2 {
                    continue;
                }
                let mean = |index: usize| {
                    group.iter().map(|run| run.summaries[target].0[index]).sum::<f64>() / count
                };
                let means: Vec<f64> = (0..names.len()).map(mean).collect();
                let unbiased = libm::sqrt(count / (count - 1.0));
                let apart = |run: &&Tried| {
                    run.summaries[target]
                        .0
                        .iter()
                        .zip(&means)
                        .map(|(value, mean)| (value - mean) * unbiased)
                        .collect()
                };
                deviations.extend(group.iter().map(apart));
            }
            Spread::of(&deviations, &floor, 2.0)
        };
        Self((0..targets).map(of_target).collect())
    }
}

/// Standard deviation that hosts give each statistic. What hosts change moves neighbouring statistics together.
fn floors(names: &[Statistic]) -> Vec<f64> {
    let shared = libm::sqrt(names.len() as f64 / HOST_EFFECTS);
    names.iter().map(|statistic| shared * statistic.floor).collect()
}

/// A candidate of the last generation.
struct Final {
    weighed: Weighed,
    /// Logarithm of its likelihood among the candidates of its kind.
    likelihood: f64,
    /// The same, comparable with those of other kinds.
    comparable: f64,
    /// Logarithm of its prior over its proposal.
    prior: f64,
}

impl Population {
    /// Statistics of each target to expect on the path of a candidate: those of the surface, or `own` without one.
    fn expected(&self, candidate: &Candidate, own: impl Fn() -> Vec<Summary>) -> Vec<Summary> {
        let Some(surfaces) = &self.surfaces else { return own() };
        let mean = |(surface, scheme): (&Surface, usize)| {
            let mean = surface.at(&candidate.place, scheme);
            Summary(std::array::from_fn(|index| mean[index]))
        };
        surfaces.iter().zip(candidate.schemes).map(mean).collect()
    }

    /// Whether runs on the same path differ.
    fn is_random(&self) -> bool {
        self.kind.is_random() || self.reorders
    }

    fn values(&self, place: &Place) -> Vec<f64> {
        self.ranges.iter().zip(place).map(|(range, place)| range.at(*place)).collect()
    }

    /// Keeps the `most` nearest candidates.
    fn keep(&mut self, most: usize) {
        let key = |one: &Tried| (one.distance.max(EQUAL), one.candidate.seed);
        self.tried.sort_by(|a, b| key(a).partial_cmp(&key(b)).expect("distances are numbers"));
        self.tried.truncate(most);
    }

    /// Whether as many candidates as are kept equal the capture but for what hosts change.
    fn is_near(&self) -> bool {
        self.tried.iter().filter(|one| one.distance <= EQUAL).count() >= KEPT
    }

    /// Equal weights.
    fn equal(&self) -> Vec<f64> {
        vec![1.0 / self.tried.len() as f64; self.tried.len()]
    }

    /// Standard deviation of the moves of each parameter: the weighted one of the population, times the square root of
    /// two (Beaumont et al. 2009).
    fn steps(&self, weights: &[f64]) -> [f64; PLACES] {
        /// Of the logarithm of a value: less changes nothing that can be seen.
        const LEAST: f64 = 0.001;
        let mut steps = [0.0; PLACES];
        for (index, (step, range)) in steps.iter_mut().zip(&self.ranges).enumerate() {
            let each =
                || self.tried.iter().zip(weights).map(|(one, weight)| (one.candidate.place[index], weight));
            let mean: f64 = each().map(|(value, weight)| weight * value).sum();
            let variance: f64 = each().map(|(value, weight)| weight * (value - mean) * (value - mean)).sum();
            *step = libm::sqrt(2.0 * variance).max(LEAST / range.span());
        }
        steps
    }

    /// Density with which [`Search::moved`] proposes a candidate, relative to the prior.
    fn proposed(
        &self,
        candidate: &Candidate,
        weights: &[f64],
        steps: &[f64; PLACES],
        senders: Senders<'_>,
    ) -> f64 {
        let dimensions = self.ranges.len();
        let density = |one: &Tried| {
            let each = (0..dimensions).map(|index| {
                let (to, from, step) = (candidate.place[index], one.candidate.place[index], steps[index]);
                // A reflected move may have come from beyond either end.
                let normal = |apart: f64| libm::exp(-0.5 * (apart / step) * (apart / step));
                (normal(to - from) + normal(-to - from) + normal(2.0 - to - from))
                    / (step * libm::sqrt(2.0 * core::f64::consts::PI))
            });
            each.product::<f64>() * senders.proposed(&one.candidate.schemes, &candidate.schemes)
        };
        self.tried
            .iter()
            .zip(weights)
            .filter(|(_, weight)| **weight > 1e-9)
            .map(|(one, weight)| weight * density(one))
            .sum()
    }
}

/// Weights from their logarithms; they add up to one.
fn normalised(logs: &[f64]) -> Vec<f64> {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|log| libm::exp(log - most)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

/// Index at which the weights up to it exceed `share` of all.
pub(super) fn drawn(weights: &[f64], share: f64) -> usize {
    let mut sum = 0.0;
    let at = weights.iter().position(|weight| {
        sum += weight;
        sum > share
    });
    at.unwrap_or(weights.len() - 1)
}

/// Paths whose weights are not negligible, the heaviest first, with weights that add up to one.
///
/// If few candidates have nearly all the weight, a power of the likelihood below one spreads it until [`ENOUGH`] count
/// (annealed importance sampling: R. Neal, Statistics and Computing 11(2), 2001): a handful of candidates would
/// understate the uncertainty.
fn settled(kinds: Vec<Vec<Final>>) -> Vec<Weighed> {
    let evidence = |last: &Vec<Final>| {
        let logs: Vec<f64> = last.iter().map(|one| one.comparable + one.prior).collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        most + libm::log(logs.iter().map(|log| libm::exp(log - most)).sum::<f64>())
    };
    let kinds: Vec<Vec<Final>> = kinds.into_iter().filter(|last| !last.is_empty()).collect();
    let shares = normalised(&kinds.iter().map(evidence).collect::<Vec<_>>());
    let mut weighed: Vec<Weighed> = vec![];
    for (last, share) in kinds.into_iter().zip(shares) {
        let weights = spread_out(&last);
        let own = last.into_iter().zip(weights);
        weighed.extend(own.map(|(one, weight)| Weighed { weight: share * weight, ..one.weighed }));
    }
    weighed.retain(|one| one.weight > NEGLIGIBLE);
    let sum: f64 = weighed.iter().map(|one| one.weight).sum();
    for one in &mut weighed {
        one.weight /= sum;
    }
    weighed.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    weighed
}

/// Weights of the candidates of one kind.
fn spread_out(last: &[Final]) -> Vec<f64> {
    const HALVINGS: u32 = 20;
    let weights = |power: f64| {
        normalised(&last.iter().map(|one| power * (one.likelihood + one.prior)).collect::<Vec<_>>())
    };
    let effective = |weights: &[f64]| 1.0 / weights.iter().map(|weight| weight * weight).sum::<f64>();
    let (mut low, mut high) = (0.0, 1.0);
    if effective(&weights(high)) >= ENOUGH {
        return weights(high);
    }
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        match effective(&weights(middle)) < ENOUGH {
            true => high = middle,
            false => low = middle,
        }
    }
    weights(low)
}

/// A place that left its range, reflected at the end.
fn reflected(place: f64) -> f64 {
    let folded = libm::fmod(place.abs(), 2.0);
    if folded > 1.0 { 2.0 - folded } else { folded }
}
