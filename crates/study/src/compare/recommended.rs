//! Recommendation at each size: the fastest candidate whose cost is acceptable.
//!
//! Cost is the harm to bystanders and the packets dropped. The limits are those of the scheme that the stack has now, and a
//! tenth more, unless the request sets others. Harm is done to others, who have no say: a candidate may be recommended only if the
//! replications show that its harm is within the limit ([`firstflight_results::Harm::within`]). A candidate whose harm may exceed the limit
//! is not recommended, and is named. Drops cost the transfer itself, whose time has them already: a candidate is refused only if the whole
//! interval of its drops is above.
//!
//! The fastest of the candidates that may be recommended is rarely known: the next draw of the same paths may put another one
//! first. The recommendation therefore follows three criteria in turn, each with an indifference zone (R. D. Luce, "Semiorders and
//! a Theory of Utility Discrimination", Econometrica 24(2), 1956; R. E. Bechhofer, Annals of Mathematical Statistics 25(1), 1954): the candidates
//! that are not known to take longer than the fastest by a difference worth having; of these, those that are not known to do more harm
//! than the one that does least; of these, the one that is had with the least change. The last criterion is free of chance.

use std::collections::BTreeSet;

use firstflight_results::{Ci95, PairedDifference, Recommended, SchemeResult};
use firstflight_scenario::Candidate;

use super::summary::Replications;

/// Departure of the re-runs of captured connections above which there is no answer. Ranges are widened by the departure
/// at both ends: beyond this one they would span a factor of more than two, which is more than any start gains.
const NO_ANSWER: f64 = 0.5;

/// The tenth by which a candidate may cost more than the scheme that the stack has now.
const MORE: f64 = 0.1;

/// Dropped packets that a candidate may cause besides: one in ten transfers. Without it a candidate would be refused for a
/// single drop where the present scheme has none.
const FEW_DROPS: f64 = 0.1;

/// Limits of what a recommended candidate may cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Largest harm to either bystander: 1.1 is a tenth later than beside the present scheme. `None` is 1.1.
    pub harm: Option<f64>,
    /// Largest share of the transfer's packets that may be dropped, 0 to 1. `None` is what the present scheme causes, a tenth
    /// more, and a tenth of a packet.
    pub loss: Option<f64>,
    /// No limits: the fastest is recommended.
    pub fastest: bool,
}

impl Limits {
    /// Largest harm to either bystander; `None` without a limit.
    pub(super) fn most_harm(&self) -> Option<f64> {
        (!self.fastest).then(|| self.harm.unwrap_or(1.0 + MORE))
    }
}

/// Reason why the results are no answer; `None` if they are one.
pub(super) fn no_answer(path_unknown: bool, unlike: Option<f64>, departure: Option<f64>) -> Option<String> {
    if path_unknown {
        return Some("the capture shows too little of its path to simulate a transfer over it".into());
    }
    if let Some(misfit) = unlike {
        return Some(format!(
            "none of the kinds of path that are simulated resembles the capture: it lies {misfit:.0} standard deviations \
             from the re-runs of its connections on the most similar paths"
        ));
    }
    let departure = departure.filter(|&departure| departure > NO_ANSWER)?;
    Some(format!(
        "re-runs of the captured connections on the inferred path are off by {:.0} %, so it is not the path \
         of the capture",
        departure * 100.0
    ))
}

/// What is asked of a recommendation.
pub(super) struct Question<'a> {
    /// The candidates that were compared.
    pub(super) candidates: &'a [Candidate],
    /// Label of the scheme that the stack has now, if it was compared.
    pub(super) present: Option<&'a str>,
    /// Label of the baseline, if there is one. It stands in for the present scheme.
    pub(super) baseline: Option<&'a str>,
    pub(super) limits: Limits,
    /// Payload of a full packet, bytes.
    pub(super) payload: u64,
    /// Reason why the results are no answer.
    pub(super) no_answer: Option<&'a str>,
    pub(super) replications: Replications<'a>,
}

/// Recommendations at each of `sizes`, ascending, from `results`, which are ordered by rank within a size.
pub(super) fn recommended(
    results: &[SchemeResult],
    sizes: &[u64],
    question: &Question<'_>,
) -> Vec<Recommended> {
    let sizes: BTreeSet<u64> = sizes.iter().copied().collect();
    let of_size = |size_bytes: u64| {
        let ranked: Vec<&SchemeResult> = results.iter().filter(|it| it.size_bytes == size_bytes).collect();
        let cost = question.cost(&ranked, size_bytes);
        let Choice { scheme, gain, why, as_fast, undecided } = match question.no_answer {
            Some(why) => Choice::none(why),
            None => question.choice(&ranked, &cost),
        };
        Recommended {
            size_bytes,
            scheme: scheme.map(|result| result.scheme.clone()),
            initial_window_packets: scheme.and_then(|result| result.initial_window_packets),
            gain,
            max_harm: cost.harm,
            max_drops: cost.drops,
            as_fast,
            undecided,
            why,
        }
    };
    sizes.into_iter().map(of_size).collect()
}

/// Results of one size that may be recommended if their harm is within the limit, the fastest first, and of equal ones the one that stands for
/// them; none without an answer.
pub(super) fn contenders<'a>(
    results: &'a [SchemeResult],
    size_bytes: u64,
    question: &Question<'_>,
) -> Vec<&'a SchemeResult> {
    if question.no_answer.is_some() {
        return vec![];
    }
    let ranked: Vec<&SchemeResult> = results.iter().filter(|it| it.size_bytes == size_bytes).collect();
    let cost = question.cost(&ranked, size_bytes);
    let base = question.reference(&ranked).filter(|base| base.completion_s.is_some());
    let gains = |it: &&SchemeResult| match base {
        Some(base) => it.unfinished <= base.unfinished && question.gains(it),
        None => true,
    };
    let all = ranked.iter().copied().filter(|it| it.completion_s.is_some() && it.same_as.is_none());
    let all = all.filter(|it| cost.drops_more(it).is_none());
    let mut all: Vec<&SchemeResult> = all.filter(gains).collect();
    if let Some(&first) = all.first() {
        all.sort_by(|a, b| question.ratio(a, first).0.total_cmp(&question.ratio(b, first).0));
    }
    all
}

/// The scheme to use at one size.
struct Choice<'a> {
    scheme: Option<&'a SchemeResult>,
    gain: Option<[f64; 3]>,
    why: String,
    as_fast: Vec<String>,
    undecided: Vec<String>,
}

impl Choice<'_> {
    fn none(why: impl Into<String>) -> Self {
        Self { scheme: None, gain: None, why: why.into(), as_fast: vec![], undecided: vec![] }
    }
}

/// What a candidate costs, beside the limits.
#[derive(Debug, PartialEq)]
enum Verdict {
    Within,
    /// It exceeds a limit: a phrase.
    Above(String),
    /// Its harm may exceed the limit, and may not: a phrase.
    Open(String),
}

/// Limits at one size; `None` is no limit.
struct Cost {
    harm: Option<f64>,
    drops: Option<f64>,
    /// Labels of the results that are known to drop more packets than they may.
    lossy: BTreeSet<String>,
}

impl Cost {
    /// The phrase that a result drops more packets than it may; `None` if that is not known.
    fn drops_more(&self, result: &SchemeResult) -> Option<String> {
        let limit = self.drops.filter(|_| self.lossy.contains(&result.scheme))?;
        Some(format!("drops {} packets (limit {})", short(result.drops.mean), short(limit)))
    }

    fn verdict(&self, result: &SchemeResult) -> Verdict {
        if let Some(more) = self.drops_more(result) {
            return Verdict::Above(more);
        }
        let Some(limit) = self.harm else { return Verdict::Within };
        let Some(harm) = result.harm else {
            return Verdict::Above("kept a bystander from ending".into());
        };
        let within = harm.within(limit);
        // Of two bystanders, the one that decides: that with the highest lower end, or with the highest upper end.
        let end = usize::from(within.is_none());
        let [bulk, requests] = harm.each();
        let (what, (ratio, [low, high])) = if bulk.1[end] >= requests.1[end] {
            ("a bulk flow beside it takes", bulk)
        } else {
            ("short requests beside it take", requests)
        };
        // An end that reads as the limit gets one more digit.
        let reads_as_limit = |end: f64| format!("{end:.2}") == format!("{limit:.2}");
        let digits = if reads_as_limit(low) || reads_as_limit(high) { 3 } else { 2 };
        let phrase = format!(
            "{what} {ratio:.2} times as long (95 % interval {low:.digits$} to {high:.digits$}; limit {limit:.2})"
        );
        match within {
            Some(true) => Verdict::Within,
            Some(false) => Verdict::Above(format!("does too much harm: {phrase}")),
            None => Verdict::Open(format!("its harm may exceed the limit: {phrase}")),
        }
    }

    fn admits(&self, result: &SchemeResult) -> bool {
        self.verdict(result) == Verdict::Within
    }
}

impl Question<'_> {
    /// The result of the present scheme, or of the baseline in its place.
    fn reference<'a>(&self, ranked: &[&'a SchemeResult]) -> Option<&'a SchemeResult> {
        let of = |label: Option<&str>| ranked.iter().copied().find(|it| Some(it.scheme.as_str()) == label);
        of(self.present).or_else(|| of(self.baseline))
    }

    /// Difference of a result from the reference.
    fn difference<'a>(&self, result: &'a SchemeResult) -> Option<&'a PairedDifference> {
        let from = if self.present.is_some() { &result.against_present } else { &result.against_baseline };
        from.as_ref()
    }

    /// Whether a result is sooner than the reference by a difference that is worth having.
    fn gains(&self, result: &SchemeResult) -> bool {
        self.difference(result).is_some_and(PairedDifference::worth_having)
    }

    /// Limits at one size.
    fn cost(&self, ranked: &[&SchemeResult], size: u64) -> Cost {
        if self.limits.fastest {
            return Cost { harm: None, drops: None, lossy: BTreeSet::new() };
        }
        let measured = ranked.iter().any(|it| it.harm.is_some());
        let packets = size.div_ceil(self.payload.max(1)) as f64;
        let (reference, given) = (self.reference(ranked), self.limits.loss.map(|share| share * packets));
        let of_present = |drops: f64| drops * (1.0 + MORE) + FEW_DROPS;
        let lossy = |it: &SchemeResult| {
            // The same replications meet the same randomness: without a limit of its own the mean difference counts.
            let other = reference.map_or(&it.scheme, |it| &it.scheme);
            let limit = |present: f64| given.unwrap_or_else(|| of_present(present));
            let beyond = self.replications.drops_beyond(&it.scheme, other, size, limit);
            beyond.is_some_and(|(mean, interval)| interval.map_or(mean, |[low, _]| low) > 0.0)
        };
        let drops = given.or(reference.map(|it| of_present(it.drops.mean)));
        let lossy = ranked.iter().filter(|it| drops.is_some() && lossy(it)).map(|it| it.scheme.clone());
        Cost { harm: self.limits.most_harm().filter(|_| measured), drops, lossy: lossy.collect() }
    }

    fn choice<'a>(&self, ranked: &[&'a SchemeResult], cost: &Cost) -> Choice<'a> {
        let finished: Vec<&SchemeResult> =
            ranked.iter().copied().filter(|it| it.completion_s.is_some()).collect();
        if finished.is_empty() {
            return Choice::none("no scheme ended the transfer in the time allowed");
        }
        match self.reference(ranked) {
            Some(base) if base.completion_s.is_some() => self.beside(&finished, base, cost),
            Some(base) => {
                let why = format!("no transfer by {} ended in the time allowed", base.scheme);
                self.first(&finished, cost, &why)
            }
            None if finished.iter().all(|it| it.ties_with_best) => {
                Choice::none("no difference between the schemes is worth having")
            }
            None => {
                let why = "the fastest of the schemes; neither the stack's own nor slow start was among them, so no gain is stated";
                self.first(&finished, cost, why)
            }
        }
    }

    /// The first of `finished` within the limits, for the reason `why`.
    fn first<'a>(&self, finished: &[&'a SchemeResult], cost: &Cost, why: &str) -> Choice<'a> {
        let place = finished.iter().position(|it| cost.admits(it)).unwrap_or(finished.len());
        let allowed: Vec<&SchemeResult> = finished.iter().copied().filter(|it| cost.admits(it)).collect();
        let undecided = undecided(&finished[..place], cost);
        let Some((scheme, as_fast)) = self.best(&allowed) else {
            let why = if undecided.is_empty() {
                "every scheme costs more than the limits allow"
            } else {
                "every scheme costs more than the limits allow, or may do so"
            };
            return Choice { undecided, ..Choice::none(why) };
        };
        Choice { scheme: Some(scheme), as_fast, undecided, ..Choice::none(why) }
    }

    /// The best candidate within the limits whose gain over `base` is worth having. A candidate that leaves more transfers unfinished than `base` is none: its median is that of the others.
    fn beside<'a>(&self, finished: &[&'a SchemeResult], base: &SchemeResult, cost: &Cost) -> Choice<'a> {
        let completes: Vec<&SchemeResult> =
            finished.iter().copied().filter(|it| it.unfinished <= base.unfinished).collect();
        let (allowed, refused): (Vec<&SchemeResult>, Vec<&SchemeResult>) =
            completes.iter().copied().partition(|it| cost.admits(it));
        let gaining: Vec<&SchemeResult> = allowed.iter().copied().filter(|it| self.gains(it)).collect();
        let gains: Vec<&SchemeResult> = refused.iter().copied().filter(|it| self.gains(it)).collect();
        let Some((best, as_fast)) = self.best(&gaining) else {
            let gain = allowed.iter().find_map(|it| Some(self.difference(it)?.gain()));
            let (open, phrases) = self.passed_over(&gains, None, cost);
            let within = match (&phrases[..], &open[..]) {
                ([], _) => "is worth having",
                (_, []) => "that is worth having is within the limits",
                _ => "that is worth having is shown to be within the limits",
            };
            let why = format!("no gain over {} {within}", base.scheme);
            return Choice { gain, undecided: open, ..Choice::none(joined(why, phrases)) };
        };
        let gain = self.difference(best).map(PairedDifference::gain);
        let [low, median, high] = gain.unwrap_or_default().map(|share| share * 100.0);
        let why =
            format!("its median is {median:.0} % below that of {} ({low:.0} % to {high:.0} %)", base.scheme);
        let later = self.later_on_average(&gaining, best, &as_fast);
        let (undecided, phrases) = self.passed_over(&gains, Some(best), cost);
        let why = joined(why, later.into_iter().chain(phrases));
        Choice { scheme: Some(best), gain, why, as_fast, undecided }
    }

    /// The candidates of `refused` that would be recommended, or might be as well as `best`, but for their cost: the labels of those whose harm
    /// may exceed the limit, and phrases. One phrase is about the fastest of those that cost too much, if none of the others is faster than
    /// that. One is about the others: a candidate that costs too much and is only as fast as `best` is no loss.
    fn passed_over(
        &self,
        refused: &[&SchemeResult],
        best: Option<&SchemeResult>,
        cost: &Cost,
    ) -> (Vec<String>, Vec<String>) {
        let sooner = |it: &SchemeResult| {
            best.is_none_or(|best| median_of(it) * (1.0 + PairedDifference::WORTH_HAVING) < median_of(best))
        };
        let (mut open, mut phrases) = (vec![], vec![]);
        for it in refused {
            let ends = if sooner(it) { "ends sooner" } else { "may be as fast" };
            match cost.verdict(it) {
                Verdict::Above(why) if sooner(it) && phrases.is_empty() => {
                    phrases.push(format!("{} {ends}, but {why}", it.scheme));
                }
                Verdict::Open(why) if sooner(it) || best.is_some_and(|best| !self.later(it, best)) => {
                    if open.is_empty() {
                        phrases.push(format!("{} {ends}, but {why}", it.scheme));
                    }
                    open.push(it.scheme.clone());
                }
                _ => {}
            }
        }
        if let Some(others) = open.get(1..).filter(|others| !others.is_empty()) {
            phrases.push(format!("the harm of {} may exceed it, too", others.join(", ")));
        }
        (open, phrases)
    }

    /// The candidate to use of `allowed`, in order of their medians, and the labels of the others that are as fast; `None` of none.
    fn best<'a>(&self, allowed: &[&'a SchemeResult]) -> Option<(&'a SchemeResult, Vec<String>)> {
        let first = allowed.first()?;
        let ratio = |it: &SchemeResult| self.ratio(it, first).0;
        let fastest = allowed.iter().min_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
        let as_fast: Vec<&SchemeResult> =
            allowed.iter().copied().filter(|it| !self.later(it, fastest)).collect();
        let gentle = least_harmful(&as_fast);
        let best = gentle
            .iter()
            .min_by(|a, b| self.change(a).cmp(&self.change(b)).then(median_of(a).total_cmp(&median_of(b))))?;
        let others = as_fast.iter().filter(|it| it.scheme != best.scheme).map(|it| it.scheme.clone());
        Some((best, others.collect()))
    }

    /// Ratio of the times of a result to those of another one, and its interval; 1 without replications.
    fn ratio(&self, result: &SchemeResult, to: &SchemeResult) -> (f64, Ci95) {
        let ratio = self.replications.ratio(&result.scheme, &to.scheme, result.size_bytes);
        ratio.unwrap_or((1.0, [1.0; 2]))
    }

    /// Whether the replications show that a result takes longer than another one by a difference worth having.
    pub(super) fn later(&self, result: &SchemeResult, than: &SchemeResult) -> bool {
        self.ratio(result, than).1[0] >= 1.0 + PairedDifference::WORTH_HAVING
    }

    /// The phrase that the first of `allowed` takes longer than `best` although its median is lower; `None` if none does.
    fn later_on_average(
        &self,
        allowed: &[&SchemeResult],
        best: &SchemeResult,
        as_fast: &[String],
    ) -> Option<String> {
        let first = allowed.first().filter(|it| it.scheme != best.scheme && !as_fast.contains(&it.scheme))?;
        let (ratio, _) = self.replications.ratio(&first.scheme, &best.scheme, first.size_bytes)?;
        let (scheme, later) = (&first.scheme, (ratio - 1.0) * 100.0);
        Some(format!("{scheme} has a lower median, but takes {later:.0} % longer in the geometric mean"))
    }

    /// The change that a candidate asks of an operator; the least first.
    fn change(&self, result: &SchemeResult) -> (bool, bool, usize, u64) {
        let candidate = self.candidates.iter().find(|it| it.label() == result.scheme);
        let other_scheme =
            candidate.is_none_or(|it| self.present.is_some_and(|label| it.scheme.label() != label));
        let settings = candidate.map_or(0, |it| it.settings.count());
        (result.how.is_empty(), other_scheme, settings, result.initial_window_packets.unwrap_or(0))
    }
}

/// Those that are not known to do more harm than the one that does least: the interval of their harm begins at most as far above it as
/// a difference is not worth having. All of them if harm was not measured.
fn least_harmful<'a>(results: &[&'a SchemeResult]) -> Vec<&'a SchemeResult> {
    let harm = |it: &SchemeResult| it.harm.map(|harm| harm.deciding(None));
    let least = results.iter().filter_map(|it| Some(harm(it)?.0)).reduce(f64::min);
    let Some(least) = least else { return results.to_vec() };
    let most = least * (1.0 + PairedDifference::WORTH_HAVING);
    results.iter().copied().filter(|it| harm(it).is_some_and(|(_, [low, _])| low <= most)).collect()
}

/// Labels of those of `results` whose harm may exceed the limit.
fn undecided(results: &[&SchemeResult], cost: &Cost) -> Vec<String> {
    let open = |it: &&&SchemeResult| matches!(cost.verdict(it), Verdict::Open(_));
    results.iter().filter(open).map(|it| it.scheme.clone()).collect()
}

/// A sentence and further phrases.
fn joined(sentence: String, phrases: impl IntoIterator<Item = String>) -> String {
    phrases.into_iter().fold(sentence, |text, phrase| format!("{text}; {phrase}"))
}

fn median_of(result: &SchemeResult) -> f64 {
    result.completion_s.map_or(f64::INFINITY, |completion| completion.median)
}

/// A number of packets in a sentence.
fn short(packets: f64) -> String {
    if packets < 10.0 { format!("{packets:.2}") } else { format!("{packets:.0}") }
}

#[cfg(test)]
mod tests;
