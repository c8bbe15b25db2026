//! Evidence of the losses: the probability of each packet's fate, given those before it.
//!
//! A kind of path that repeats itself and has a free parameter drops the captured packets exactly for some value of it, and a
//! random one never does. Re-runs would therefore favour the first kind, however few losses there are. So re-runs are made with the fates that
//! the capture shows: the numbered packets are lost, and no others. They are compared by their times alone. The fates are judged by themselves,
//! packet by packet: the product of the probabilities is the likelihood under a rule, and its mean over the prior of the rule's values and of
//! random loss is the evidence. A value that had to be chosen among many costs as much as the place of a random loss among many packets
//! (D. MacKay, "Bayesian interpolation", Neural Computation 4(3), 1992).
//!
//! A rule is never certain: hosts delay packets, so that the queue is known to a part of a packet at best, and some losses have other causes.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use firstflight_capture::Offered;

use super::anchors::Anchors;
use super::kinds::PathKind;
use super::range::Range;
use super::rules::{Judged, Losses, Queued, Rule, Ruled};
use super::scale::RATE;
use super::weighed::Weighed;
use super::weights::{drawn, log_sum, normalised};
use firstflight_hosts::parallel::map;

/// Evidence of the losses for each rule, with the values that it may have.
#[derive(Debug)]
pub(super) struct Fates {
    judged: Vec<(Rule, Judged)>,
    queued: Queued,
    /// Bits of a packet.
    packet: f64,
    /// Whether the user knows the random loss.
    given: bool,
}

/// Ranges of the values of the rules: those of the prior, and queues that were seen are possible.
struct Possible<'a> {
    anchors: &'a Anchors,
    /// Longest queue that a packet found and passed, packets.
    longest: f64,
}

impl Possible<'_> {
    /// Values of the rule of a kind.
    fn prior<const N: usize>(&self, kind: PathKind) -> [Range; N] {
        let all = kind.model().prior(&self.anchors.scale());
        std::array::from_fn(|index| all[all.len() - N + index])
    }

    /// A range of packets up to a share of what no reasonable buffer exceeds.
    fn up_to(&self, range: Range, share: f64) -> Range {
        let most = self.anchors.most_buffer().max(4.0 * self.longest);
        Range::new(range.at(0.0), range.at(1.0).max(share * most))
    }

    /// Packets that can wait: those that the user knows, or a range.
    fn waiting(&self, range: Range) -> Range {
        self.anchors.given.buffer.map_or_else(|| self.up_to(range, 1.0), |given| Range::new(given, given))
    }

    fn buffer(&self) -> Range {
        let [buffer] = self.prior(PathKind::DropTail);
        self.waiting(buffer)
    }

    fn codel(&self) -> [Range; 2] {
        let [target, buffer] = self.prior(PathKind::Codel);
        [target, self.waiting(buffer)]
    }

    fn red(&self) -> [Range; 4] {
        let [min, ratio, max_p, weight] = self.prior(PathKind::Red);
        [self.up_to(min, 0.5), ratio, max_p, weight]
    }

    /// The rate of a policer is that of any bottleneck; its line shows which are possible.
    fn policer(&self) -> [Range; 2] {
        let [_, depth] = self.prior(PathKind::Policer);
        let (goodput, sent) = (self.anchors.goodput, self.anchors.packets * self.anchors.packet / 8.0);
        let rate = Range::new(RATE.0.min(goodput / 4.0), RATE.1.max(4.0 * goodput));
        [rate, Range::new(depth.at(0.0), depth.at(1.0).max(sent))]
    }
}

impl Fates {
    /// Share of the weight of a family of kinds below which a kind is left out.
    const SOME: f64 = 1e-3;

    /// The evidence of the packets of each connection at a bottleneck of this rate, bit/s.
    pub(super) fn of(connections: &[&[Offered]], rate: f64, anchors: &Anchors, seed: u64) -> Self {
        let queued = Queued::new(connections, anchors.packet / rate);
        let losses = |fine| Losses::new(queued.lost(), fine, anchors.given.loss);
        let possible = Possible { anchors, longest: queued.longest() };
        let rules = [Rule::Buffer, Rule::Codel, Rule::Red, Rule::Policer];
        let judged = map(&rules, |rule| match rule {
            Rule::Buffer => queued.buffer(&possible.buffer(), &losses(true)),
            Rule::Codel => {
                let [target, buffer] = possible.codel();
                queued.codel(&target, &buffer, &losses(false))
            }
            Rule::Red => queued.red(possible.red(), &losses(false), seed),
            Rule::Policer => {
                let [rate, depth] = possible.policer();
                queued.policer([rate, depth], anchors.packet, anchors.policed(), &losses(false), seed)
            }
            Rule::Run => unreachable!("it is not judged"),
        });
        let judged = rules.into_iter().zip(judged).collect();
        Self { judged, queued, packet: anchors.packet, given: anchors.given.loss.is_some() }
    }

    /// Judgement of a rule. Where only a run shows what is dropped, a full buffer stands for it.
    fn judged(&self, rule: Rule) -> &Judged {
        let rule = if rule == Rule::Run { Rule::Buffer } else { rule };
        &self.judged.iter().find(|one| one.0 == rule).expect("every rule is judged").1
    }

    /// Kinds that have the same times as this one, with the logarithms of their probability before the capture times that of the fates.
    fn family(&self, kind: PathKind) -> impl Iterator<Item = (PathKind, f64)> + '_ {
        let of = |kind: PathKind| libm::log(kind.prior()) + self.judged(kind.model().rule()).evidence;
        kind.family().iter().map(move |kind| (*kind, of(*kind)))
    }

    /// Logarithm of the probability before the capture times that of the fates, over the family of a kind.
    pub(super) fn evidence(&self, kind: PathKind) -> f64 {
        log_sum(self.family(kind).map(|one| one.1))
    }

    /// Logarithm of the share of the rule's values that a path of these values can have.
    pub(super) fn admitted(&self, kind: PathKind, timed: &[f64]) -> f64 {
        if !kind.model().is_tied() {
            return 0.0;
        }
        let own = self.judged(kind.model().rule()).rules.iter().filter(|one| admits(kind, timed, one));
        libm::log(own.map(|one| one.weight).sum())
    }

    /// Values of the rule of a kind that a path of these values can have.
    fn possible(&self, kind: PathKind, timed: &[f64]) -> Cow<'_, [Ruled]> {
        let rules = &self.judged(kind.model().rule()).rules[..];
        match kind.model().is_tied() {
            true => rules.iter().filter(|one| admits(kind, timed, one)).cloned().collect(),
            false => rules.into(),
        }
    }

    /// Paths with the values of their rules, drawn by their weights.
    pub(super) fn settle(&self, paths: Vec<Weighed>) -> Vec<Weighed> {
        let mut settled = vec![];
        for path in paths {
            let (kinds, logs): (Vec<PathKind>, Vec<f64>) = self.family(path.kind).unzip();
            for (kind, share) in kinds.into_iter().zip(normalised(&logs)) {
                if share >= Self::SOME {
                    self.copy(&path, kind, share, &mut settled);
                }
            }
        }
        settled
    }

    /// Adds copies of a path as one of this kind, which has a share of its weight, each with values of its own.
    fn copy(&self, path: &Weighed, kind: PathKind, share: f64, settled: &mut Vec<Weighed>) {
        const COPIES: usize = 4;
        /// Fractions of the multiples of this number are evenly spread.
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        let rules = self.possible(kind, &path.values);
        let weights: Vec<f64> = rules.iter().map(|one| one.weight).collect();
        let sum: f64 = weights.iter().sum();
        // The runs of other flows have their own rule, and their own losses: random ones beside them would count these twice.
        let runs = kind.model().rule() == Rule::Run;
        let copies = if runs { 1 } else { COPIES };
        if rules.is_empty() {
            return;
        }
        for _ in 0..copies {
            let place = libm::fmod(0.5 + GOLDEN * settled.len() as f64, 1.0);
            let Ruled { values, loss, .. } = &rules[drawn(&weights, place * sum)];
            let idle = match (kind.model().rule(), &values[..]) {
                (Rule::Policer, [rate, depth]) => !self.queued.policed([*rate, *depth], self.packet),
                _ => false,
            };
            let values = [&path.values[..], if runs { &[] } else { values }].concat();
            let loss = loss.filter(|_| !runs || self.given);
            let weight = path.weight * share / copies as f64;
            settled.push(Weighed { kind, values, idle, loss, weight, ..path.clone() });
        }
    }
}

/// Whether a path of these values can have these of its rule.
fn admits(kind: PathKind, timed: &[f64], rule: &Ruled) -> bool {
    kind.model().admits(&[timed, &rule.values].concat())
}
