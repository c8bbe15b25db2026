//! Which kind of queue dropped the lost packets: the probability of each packet's fate, given those before it.
//!
//! A kind of path that repeats itself and has a free parameter drops the captured packets exactly for some value of it, and a
//! random one never does. Re-runs therefore favour the first kind, however few losses there are. Here each packet is judged
//! by itself. A capture shows the queue that every packet found, as its round trip; a queue's rule gives the probability that
//! the packet is dropped, from that queue and the fates so far. The product over all packets is the likelihood of the losses
//! under this rule, and its mean over the prior of the rule's parameters is the evidence for the kind: a parameter that had
//! to be chosen among many costs as much as the place of a random loss among many packets (D. MacKay, "Bayesian
//! interpolation", Neural Computation 4(3), 1992). No kind is compared by a re-run.
//!
//! The kinds with a constant rate differ only in this rule, so that the times of the capture say nothing more about which of them it
//! is ([`Model::judged`](super::kinds::Model::judged)). Their rule is never certain: hosts delay packets, so that the queue is known to a part of a packet at best,
//! and some losses have other causes.

#[cfg(test)]
mod tests;

use firstflight_capture::Offered;

use super::anchors::Anchors;
use super::kinds::PathKind;
use super::population::Population;
use super::rules::{Judged, Queued};
use super::weighed::Weighed;
use super::weights::{drawn, normalised};
use firstflight_hosts::parallel::map;

/// Shares of the kinds with a constant rate in the explanation of the losses, and their rules.
#[derive(Debug)]
pub(super) struct Shares(Vec<(PathKind, f64, Judged)>);

impl Shares {
    /// Share that keeps a kind in the search: less changes no quantile of a forecast between 5 and 95 %.
    const SOME: f64 = 0.01;

    /// Logarithm of a Bayes factor of the root of ten: less is "barely worth mentioning" (H. Jeffreys, "Theory of Probability",
    /// third edition, 1961, appendix B).
    const SUBSTANTIAL: f64 = 1.151_292_546_497_023;

    /// Shares by the packets of each connection; they add up to one. None if nothing was lost, the rate is not known, or
    /// there are several connections.
    ///
    /// A kind has no share unless its evidence is [`Self::SUBSTANTIAL`] against a plain queue. Random loss beside a queue whose
    /// overflow explains every loss may be there, as behind a capture without loss, but is a risk and no explanation.
    pub(super) fn of(connections: &[&[Offered]], anchors: &Anchors, seed: u64) -> Self {
        let mut all = Self::judged(connections, anchors, seed);
        let plain = all.0.iter().find(|one| one.0 == PathKind::DropTail).map_or(0.0, |one| one.2.evidence);
        for (kind, share, judged) in &mut all.0 {
            if *kind != PathKind::DropTail && judged.evidence - plain < Self::SUBSTANTIAL {
                *share = 0.0;
            }
        }
        let sum: f64 = all.0.iter().map(|one| one.1).sum();
        all.0.iter_mut().for_each(|one| one.1 /= sum);
        all
    }

    /// Probabilities of the kinds, given the losses.
    fn judged(connections: &[&[Offered]], anchors: &Anchors, seed: u64) -> Self {
        let Some(packet) = anchors.time_of_packet().filter(|_| anchors.lost > 0.0) else {
            return Self(vec![]);
        };
        // Each connection has losses that fit no rule. Over several connections these add up, and the most tolerant rule gets all
        // the weight.
        let [offered] = connections else { return Self(vec![]) };
        let queued = Queued::new(offered, packet);
        if !queued.lost() {
            return Self(vec![]);
        }
        let shown: Vec<PathKind> =
            PathKind::ALL.into_iter().filter(|kind| kind.model().shows(anchors)).collect();
        let judged = map(&shown, |kind| {
            let model = kind.model();
            Some((*kind, model.judged(&model.ranges(anchors), &queued, seed)?))
        });
        let judged: Vec<(PathKind, Judged)> = judged.into_iter().flatten().collect();
        let logs: Vec<f64> = judged.iter().map(|(kind, it)| it.evidence + libm::log(kind.prior())).collect();
        let each = judged.into_iter().zip(normalised(&logs));
        Self(each.map(|((kind, judged), share)| (kind, share, judged)).collect())
    }

    /// Share of a kind; `None` if the losses say nothing about it.
    fn share(&self, kind: PathKind) -> Option<f64> {
        self.0.iter().find(|one| one.0 == kind).map(|one| one.1)
    }

    /// Keeps the populations that resemble the capture, and if one of them has a share in the losses, the others that have some.
    pub(super) fn retain(&self, populations: &mut Vec<Population>, resembles: impl Fn(&Population) -> bool) {
        let alive = populations.iter().any(|one| self.share(one.kind).is_some() && resembles(one));
        populations.retain(|one| {
            resembles(one) || alive && self.share(one.kind).is_some_and(|share| share >= Self::SOME)
        });
    }

    /// Paths of random kinds with values of the rule by their weights. Whether a packet was dropped by chance does not depend on
    /// the times: given which packets were, re-runs say nothing about the rule, and a regression over them is biased by what
    /// they cannot imitate.
    pub(super) fn settle(&self, paths: Vec<Weighed>) -> Vec<Weighed> {
        /// Copies of each path, each with values of its own.
        const COPIES: usize = 4;
        /// Fractions of the multiples of this number are evenly spread.
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        let mut settled = vec![];
        for path in paths {
            let rules = self.0.iter().find(|one| one.0 == path.kind).map_or(&[][..], |one| &one.2.rules);
            if rules.is_empty() {
                settled.push(path);
                continue;
            }
            let weights: Vec<f64> = rules.iter().map(|one| one.1).collect();
            for _ in 0..COPIES {
                let share = libm::fmod(0.5 + GOLDEN * settled.len() as f64, 1.0);
                let rule = &rules[drawn(&weights, share)].0;
                let mut copy = path.clone();
                copy.weight /= COPIES as f64;
                path.kind.model().take_rule(&mut copy.values, rule);
                settled.push(copy);
            }
        }
        settled
    }

    /// Divides the weights of kinds anew among those that have a share.
    pub(super) fn divide(&self, kinds: &[PathKind], weights: &mut [f64]) {
        let own = || kinds.iter().filter_map(|kind| self.share(*kind));
        let shares: f64 = own().sum();
        let all: f64 = kinds
            .iter()
            .zip(&*weights)
            .filter(|(kind, _)| self.share(**kind).is_some())
            .map(|one| *one.1)
            .sum();
        if shares <= 0.0 {
            return;
        }
        for (kind, weight) in kinds.iter().zip(weights) {
            if let Some(share) = self.share(*kind) {
                *weight = all * share / shares;
            }
        }
    }
}
