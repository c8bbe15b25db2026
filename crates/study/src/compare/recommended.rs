//! Recommendation at each size: the fastest candidate whose cost is acceptable.
//!
//! Cost is the harm to bystanders and the packets dropped. The limits are those of the scheme that the stack has now, and a
//! tenth more, unless the request sets others. Harm is done to others, who have no say: a candidate may be recommended only if its
//! harm is known to be within the limit ([`firstflight_results::Harm::within`]), and one of which that cannot be told is passed over, and
//! named. Drops cost the transfer itself, whose time has them already: a candidate is refused only if the whole interval of its drops is
//! above.
//!
//! The fastest of the candidates that may be recommended is rarely known: the next draw of the same paths may put another one
//! first. The recommendation therefore follows three criteria in turn, each with an indifference zone (R. D. Luce, "Semiorders and
//! a Theory of Utility Discrimination", Econometrica 24(2), 1956; R. E. Bechhofer, Annals of Mathematical Statistics 25(1), 1954): the candidates
//! that are not known to take longer than the fastest by a difference worth having; of these, those that are not known to do more harm
//! than the one that does least; of these, the one that is had with the least change. The last criterion is free of chance.

use std::collections::BTreeSet;

use firstflight_results::{PairedDifference, Recommended, SchemeResult};
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

/// Results of one size that may be recommended if their harm is within the limit, in their order; none without an answer.
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
    let all = ranked.iter().copied().filter(|it| it.completion_s.is_some() && cost.drops_more(it).is_none());
    all.filter(gains).collect()
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
    /// The interval of its harm contains the limit: a phrase.
    CannotTell(String),
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
            None => Verdict::CannotTell(format!("its harm cannot be told from the limit: {phrase}")),
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
        let undecided = self.undecided(&finished[..place], cost);
        let Some((scheme, as_fast)) = self.best(&allowed) else {
            let why = if undecided.is_empty() {
                "every scheme costs more than the limits allow"
            } else {
                "of no scheme is it known that it costs no more than the limits allow"
            };
            return Choice { undecided, ..Choice::none(why) };
        };
        Choice { scheme: Some(scheme), as_fast, undecided, ..Choice::none(why) }
    }

    /// Labels of those of `passed_over` whose harm cannot be told from the limit.
    fn undecided(&self, passed_over: &[&SchemeResult], cost: &Cost) -> Vec<String> {
        let cannot_tell = |it: &&&SchemeResult| matches!(cost.verdict(it), Verdict::CannotTell(_));
        passed_over.iter().filter(cannot_tell).map(|it| it.scheme.clone()).collect()
    }

    /// The best candidate within the limits whose gain over `base` is worth having. A candidate that leaves more transfers unfinished than `base` is none: its median is that of the others.
    fn beside<'a>(&self, finished: &[&'a SchemeResult], base: &SchemeResult, cost: &Cost) -> Choice<'a> {
        let completes: Vec<&SchemeResult> =
            finished.iter().copied().filter(|it| it.unfinished <= base.unfinished).collect();
        let (allowed, refused): (Vec<&SchemeResult>, Vec<&SchemeResult>) =
            completes.iter().copied().partition(|it| cost.admits(it));
        let gaining: Vec<&SchemeResult> = allowed.iter().copied().filter(|it| self.gains(it)).collect();
        let Some((best, as_fast)) = self.best(&gaining) else {
            let gain = allowed.iter().find_map(|it| Some(self.difference(it)?.gain()));
            let passed_over: Vec<&SchemeResult> =
                refused.iter().copied().filter(|it| self.gains(it)).collect();
            let undecided = self.undecided(&passed_over, cost);
            let mut why = format!("no gain over {} is worth having", base.scheme);
            if let Some(names) = self.passed_over(&passed_over, cost) {
                let known = if undecided.is_empty() {
                    "within the limits"
                } else {
                    "and known to be within the limits"
                };
                why = format!("{why} {known}; {names}");
            }
            return Choice { gain, undecided, ..Choice::none(why) };
        };
        let gain = self.difference(best).map(PairedDifference::gain);
        let [low, median, high] = gain.unwrap_or_default().map(|share| share * 100.0);
        let mut why =
            format!("its median is {median:.0} % below that of {} ({low:.0} % to {high:.0} %)", base.scheme);
        let sooner = |it: &&SchemeResult| {
            // One that is as fast is no loss.
            median_of(it) * (1.0 + PairedDifference::WORTH_HAVING) < median_of(best)
        };
        let passed_over: Vec<&SchemeResult> = refused.iter().copied().filter(sooner).collect();
        let later = self.later_on_average(&gaining, best, &as_fast);
        for phrase in later.into_iter().chain(self.passed_over(&passed_over, cost)) {
            why = format!("{why}; {phrase}");
        }
        Choice { scheme: Some(best), gain, why, as_fast, undecided: self.undecided(&passed_over, cost) }
    }

    /// The reasons why faster candidates are not recommended: that of the fastest; if it costs too much, also that of the fastest
    /// whose harm cannot be told from the limit.
    fn passed_over(&self, faster: &[&SchemeResult], cost: &Cost) -> Option<String> {
        let (mut above, mut cannot_tell) = (None, None);
        for it in faster {
            match cost.verdict(it) {
                Verdict::Within => {}
                Verdict::Above(why) if above.is_none() && cannot_tell.is_none() => above = Some((it, why)),
                Verdict::CannotTell(why) if cannot_tell.is_none() => cannot_tell = Some((it, why)),
                Verdict::Above(_) | Verdict::CannotTell(_) => {}
            }
        }
        let named = above.into_iter().chain(cannot_tell);
        let named: Vec<String> =
            named.map(|(it, why)| format!("{} ends sooner, but {why}", it.scheme)).collect();
        (!named.is_empty()).then(|| named.join("; "))
    }

    /// The candidate to use of `allowed`, in order of their medians, and the labels of the others that are as fast; `None` of none.
    fn best<'a>(&self, allowed: &[&'a SchemeResult]) -> Option<(&'a SchemeResult, Vec<String>)> {
        let first = allowed.first()?;
        let ratio = |it: &SchemeResult, to: &SchemeResult| {
            self.replications.ratio(&it.scheme, &to.scheme, it.size_bytes).unwrap_or((1.0, [1.0; 2]))
        };
        let fastest = allowed.iter().min_by(|a, b| ratio(a, first).0.total_cmp(&ratio(b, first).0))?;
        let later = |it: &SchemeResult| ratio(it, fastest).1[0] >= 1.0 + PairedDifference::WORTH_HAVING;
        let as_fast: Vec<&SchemeResult> = allowed.iter().copied().filter(|it| !later(it)).collect();
        let gentle = least_harmful(&as_fast);
        let best = gentle
            .iter()
            .min_by(|a, b| self.change(a).cmp(&self.change(b)).then(median_of(a).total_cmp(&median_of(b))))?;
        let others = as_fast.iter().filter(|it| it.scheme != best.scheme).map(|it| it.scheme.clone());
        Some((best, others.collect()))
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

fn median_of(result: &SchemeResult) -> f64 {
    result.completion_s.map_or(f64::INFINITY, |completion| completion.median)
}

/// A number of packets in a sentence.
fn short(packets: f64) -> String {
    if packets < 10.0 { format!("{packets:.2}") } else { format!("{packets:.0}") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use firstflight_results::{Harm, Mean, Sample, SampleSet};

    use super::*;
    use crate::stats::completion;

    /// Result with a median of `median` seconds, and its difference from the baseline with the interval's ends.
    fn result(scheme: &str, median: f64, against: Option<[f64; 3]>) -> SchemeResult {
        SchemeResult {
            scheme: scheme.into(),
            size_bytes: 30_000,
            completion_s: completion(&[median]),
            retransmits_mean: 0.0,
            startup_exit: None,
            rank: 1,
            same_as: None,
            ties_with_best: true,
            replications: 30,
            unfinished: 0,
            against_baseline: against.map(|[low, relative, high]| PairedDifference {
                seconds: relative,
                seconds_ci95: [low, high],
                relative,
                relative_ci95: [low, high],
            }),
            against_present: None,
            drops: Mean { mean: 0.0, ci95: None },
            others_drops_mean: 0.0,
            timeouts_mean: 0.0,
            widened_by: vec![],
            initial_window_packets: None,
            harm: None,
            how: vec![],
            risks: vec![],
        }
    }

    /// Harm to a bulk flow whose interval has no width.
    fn exactly(bulk: f64) -> Harm {
        Harm {
            bulk,
            bulk_ci95: [bulk; 2],
            request_response: 1.0,
            request_response_ci95: [1.0; 2],
            replications: 16,
        }
    }

    /// Result that is `sooner` by this share than the present scheme, which takes 1 s, and has these costs.
    fn candidate(scheme: &str, sooner: f64, drops: f64, harm: f64, how: &[&str]) -> SchemeResult {
        let mut result = result(scheme, 1.0 - sooner, Some([-sooner - 0.01, -sooner, -sooner + 0.01]));
        result.against_present = (sooner != 0.0).then(|| result.against_baseline.take()).flatten();
        result.drops.mean = drops;
        result.harm = Some(exactly(harm));
        result.how = how.iter().map(|&way| way.into()).collect();
        result
    }

    fn ask<'a>(present: Option<&'a str>, baseline: Option<&'a str>, limits: Limits) -> Question<'a> {
        Question {
            candidates: &[],
            present,
            baseline,
            limits,
            payload: 1000,
            no_answer: None,
            replications: behind(&[]),
        }
    }

    fn behind(samples: &[SampleSet]) -> Replications<'_> {
        Replications { samples, departures: BTreeMap::new() }
    }

    /// Replications with these times, seconds, and these drops.
    fn replications(result: &SchemeResult, times: &[f64], drops: &[u64]) -> SampleSet {
        let sample = |(&time, &drops): (&f64, &u64)| Sample {
            seed: 1,
            completion_s: Some(time),
            retransmits: 0,
            timeouts: 0,
            drops,
            startup_exit: None,
        };
        SampleSet {
            scheme: result.scheme.clone(),
            size_bytes: result.size_bytes,
            samples: times.iter().zip(drops).map(sample).collect(),
        }
    }

    /// One replication behind each result.
    fn single(results: &[SchemeResult]) -> Vec<SampleSet> {
        let of = |it: &SchemeResult| replications(it, &[median_of(it)], &[it.drops.mean as u64]);
        results.iter().map(of).collect()
    }

    fn asked_of<'a>(question: &Question<'a>, samples: &'a [SampleSet]) -> Question<'a> {
        Question { replications: behind(samples), ..*question }
    }

    fn one(results: &[SchemeResult], question: &Question<'_>) -> Recommended {
        one_of(results, &single(results), question)
    }

    fn one_of(results: &[SchemeResult], samples: &[SampleSet], question: &Question<'_>) -> Recommended {
        let question = asked_of(question, samples);
        let [one] = <[Recommended; 1]>::try_from(recommended(results, &[30_000], &question))
            .expect("one size, one recommendation");
        one
    }

    fn of(results: &[SchemeResult], baseline: Option<&str>) -> Recommended {
        one(results, &ask(None, baseline, Limits::default()))
    }

    #[test]
    fn the_fastest_scheme_beyond_the_threshold_is_recommended_with_its_gain() {
        // The first is faster, but perhaps not on the next thirty paths.
        let results = [
            result("lucky", 0.7, Some([-0.5, -0.3, 0.1])),
            result("sure", 0.75, Some([-0.3, -0.25, -0.2])),
            result("base", 1.0, None),
        ];
        let chosen = of(&results, Some("base"));
        assert_eq!(
            (chosen.scheme.as_deref(), chosen.gain),
            (Some("sure"), Some([0.2, 0.25, 0.3])),
            "{}",
            chosen.why
        );
        assert_eq!(chosen.why, "its median is 25 % below that of base (20 % to 30 %)");
    }

    #[test]
    fn a_gain_below_the_threshold_is_not_worth_having_however_sure() {
        let results = [result("fast", 0.981, Some([-0.0192, -0.019, -0.0188])), result("base", 1.0, None)];
        let chosen = of(&results, Some("base"));
        assert_eq!((chosen.scheme, chosen.gain), (None, Some([0.0188, 0.019, 0.0192])));
    }

    #[test]
    fn nothing_is_recommended_where_all_are_equal_or_the_baseline_is_the_fastest() {
        let equal = [result("base", 1.0, None), result("same", 1.0, Some([0.0; 3]))];
        let chosen = of(&equal, Some("base"));
        assert_eq!((chosen.scheme, chosen.gain), (None, Some([0.0; 3])));
        let slower = [result("base", 1.0, None), result("slow", 1.5, Some([0.4, 0.5, 0.6]))];
        assert_eq!(of(&slower, Some("base")).scheme, None);
    }

    #[test]
    fn a_scheme_that_leaves_more_transfers_unfinished_is_not_recommended() {
        let mut results = [result("fast", 0.5, Some([-0.6, -0.5, -0.4])), result("base", 1.0, None)];
        results[0].unfinished = 3;
        assert_eq!(of(&results, Some("base")).scheme, None);
        results[1].unfinished = 3;
        assert_eq!(of(&results, Some("base")).scheme.as_deref(), Some("fast"));
    }

    #[test]
    fn without_a_baseline_the_fastest_is_named_if_any_differs() {
        let mut results = [result("fast", 0.5, None), result("slow", 1.0, None)];
        assert_eq!(of(&results, None).scheme, None, "both are marked as equally good");
        results[1].ties_with_best = false;
        let chosen = of(&results, None);
        assert_eq!((chosen.scheme.as_deref(), chosen.gain), (Some("fast"), None));
    }

    #[test]
    fn a_failed_check_gives_no_answer_at_any_size() {
        let results = [result("fast", 0.5, Some([-0.6, -0.5, -0.4])), result("base", 1.0, None)];
        let why = no_answer(false, None, Some(3.16)).expect("off by 316 %");
        assert!(why.contains("off by 316 %"), "{why}");
        let question = Question { no_answer: Some(&why), ..ask(None, Some("base"), Limits::default()) };
        for one in recommended(&results, &[30_000, 300_000], &question) {
            assert_eq!((one.scheme, one.gain, &one.why), (None, None, &why));
        }
        assert_eq!(no_answer(false, None, Some(0.3)), None);
        assert!(no_answer(true, None, None).is_some());
    }

    #[test]
    fn the_fastest_whose_cost_is_acceptable_is_recommended_and_a_faster_one_is_named() {
        // The present scheme drops 10 packets: the limit is 11 and a tenth.
        let results = [
            candidate("burst", 0.5, 2642.0, 1.0, &[]),
            candidate("greedy", 0.4, 11.0, 1.2, &["Linux: …"]),
            candidate("fair", 0.3, 11.0, 1.1, &["Linux: …"]),
            candidate("present", 0.0, 10.0, 1.0, &["Linux: …"]),
        ];
        let chosen = one(&results, &ask(Some("present"), None, Limits::default()));
        assert_eq!((chosen.scheme.as_deref(), chosen.max_harm), (Some("fair"), Some(1.1)));
        assert!((chosen.max_drops.expect("a limit") - 11.1).abs() < 1e-9);
        assert!(
            chosen.why.ends_with("; burst ends sooner, but drops 2642 packets (limit 11)"),
            "{}",
            chosen.why
        );
        let scheme = |limits: Limits| one(&results, &ask(Some("present"), None, limits)).scheme;
        let limits = Limits { harm: Some(1.25), ..Limits::default() };
        assert_eq!(scheme(limits).as_deref(), Some("greedy"));
        // 30 KB are 30 packets of 1000 bytes; a third of them are 10.
        let limits = Limits { loss: Some(1.0 / 3.0), ..Limits::default() };
        assert_eq!(scheme(limits), None);
        let limits = Limits { fastest: true, ..Limits::default() };
        assert_eq!(scheme(limits).as_deref(), Some("burst"));
    }

    #[test]
    fn of_equally_fast_candidates_the_deployable_and_then_the_least_change_is_recommended() {
        let mut results = [
            candidate("jump-start+cubic", 0.41, 0.0, 1.0, &[]),
            candidate("hystart-linux+cubic@iw60+paced", 0.405, 0.0, 1.0, &["Linux: …"]),
            candidate("hystart-linux+cubic@iw60", 0.40, 0.0, 1.0, &["Linux: …"]),
            candidate("hystart-linux+cubic@iw30", 0.40, 0.0, 1.0, &["Linux: …"]),
            candidate("bbr", 0.405, 0.0, 1.0, &["Linux: …"]),
            candidate("hystart-linux+cubic@iw20", 0.37, 0.0, 1.0, &["Linux: …"]),
            candidate("hystart-linux+cubic", 0.0, 0.0, 1.0, &["Linux: …"]),
        ];
        let candidates: Vec<Candidate> =
            results.iter().map(|it| Candidate::parse(&it.scheme).expect("a candidate")).collect();
        for (result, candidate) in results.iter_mut().zip(&candidates) {
            result.initial_window_packets = candidate.settings.initial_window;
        }
        let present = Some("hystart-linux+cubic");
        let question = Question { candidates: &candidates, ..ask(present, None, Limits::default()) };
        // 0.60 s is within 2 % of 0.59 s, 0.63 s is not. One setting is less than two, and than another scheme.
        let chosen = one(&results, &question);
        assert_eq!(
            (chosen.scheme.as_deref(), chosen.initial_window_packets),
            (Some("hystart-linux+cubic@iw30"), Some(30))
        );
        assert_eq!(chosen.gain.expect("a gain")[1], 0.40);
    }

    #[test]
    fn of_candidates_that_may_be_as_fast_the_least_harmful_is_recommended() {
        let results = [
            candidate("lucky", 0.30, 0.0, 1.08, &["Linux: …"]),
            candidate("gentle", 0.27, 0.0, 1.01, &["Linux: …"]),
            candidate("late", 0.20, 0.0, 1.0, &["Linux: …"]),
            candidate("present", 0.0, 0.0, 1.0, &["Linux: …"]),
        ];
        let question = ask(Some("present"), None, Limits::default());
        // The medians of ten replications: 0.70, 0.73, 0.80 and 1 s. Which of the first two is faster differs from one to the next.
        let by_turns = |a: f64, b: f64| [a, b, a, b, a, b, a, b, a, b];
        let (none, times) =
            ([0; 10], [by_turns(0.5, 0.9), by_turns(0.9, 0.56), by_turns(0.76, 0.84), [1.0; 10]]);
        let samples: Vec<SampleSet> =
            results.iter().zip(&times).map(|(it, times)| replications(it, times, &none)).collect();
        let chosen = one_of(&results, &samples, &question);
        // Logarithms of the ratio of the third to the first: 0.42 and -0.07 by turns, 0.17 +- 2.26 * 0.26 / sqrt(10).
        assert_eq!(chosen.as_fast, ["lucky", "late"], "even the third may be as fast");
        // Less harm than a hundredth is no reason for the third.
        assert_eq!(chosen.scheme.as_deref(), Some("gentle"));
        assert_eq!(chosen.gain.expect("a gain")[1], 0.27);
        // Where all replications show the difference, the fastest is recommended for all its harm.
        let sure = [[0.70; 10], [0.73; 10], [0.80; 10], [1.0; 10]];
        let samples: Vec<SampleSet> =
            results.iter().zip(&sure).map(|(it, times)| replications(it, times, &none)).collect();
        let chosen = one_of(&results, &samples, &question);
        assert_eq!((chosen.scheme.as_deref(), chosen.as_fast.len()), (Some("lucky"), 0));
    }

    #[test]
    fn a_candidate_with_a_lower_median_that_takes_longer_on_average_is_passed_over_and_named() {
        let results = [
            candidate("tail", 0.31, 0.0, 1.0, &["Linux: …"]),
            candidate("steady", 0.25, 0.0, 1.0, &["Linux: …"]),
            candidate("present", 0.0, 0.0, 1.0, &["Linux: …"]),
        ];
        // Three in ten of its transfers wait for a timeout: the mean of the logarithms of the ratio is
        // 0.7 ln(0.69 / 0.75) + 0.3 ln(3 / 0.75) = 0.3575, a factor of 1.43; its interval is +- 2.045 * 0.68 / sqrt(30).
        let tail: Vec<f64> = (0..30).map(|index| if index % 10 < 7 { 0.69 } else { 3.0 }).collect();
        let samples = [
            replications(&results[0], &tail, &[0; 30]),
            replications(&results[1], &[0.75; 30], &[0; 30]),
            replications(&results[2], &[1.0; 30], &[0; 30]),
        ];
        let chosen = one_of(&results, &samples, &ask(Some("present"), None, Limits::default()));
        assert_eq!((chosen.scheme.as_deref(), chosen.as_fast.len()), (Some("steady"), 0));
        assert!(
            chosen.why.ends_with("; tail has a lower median, but takes 43 % longer in the geometric mean"),
            "{}",
            chosen.why
        );
    }

    #[test]
    fn a_harm_within_the_limit_may_have_an_interval_beyond_it_by_less_than_is_worth_having() {
        let mut results = [candidate("near", 0.4, 0.0, 1.09, &[]), candidate("present", 0.0, 0.0, 1.0, &[])];
        let mut verdict = |value: f64, interval: [f64; 2]| {
            let harm = results[0].harm.as_mut().expect("measured");
            (harm.bulk, harm.bulk_ci95) = (value, interval);
            let chosen = one(&results, &ask(Some("present"), None, Limits::default()));
            (chosen.scheme.is_some(), chosen.undecided.len())
        };
        // 1.1 and two hundredths of it are 1.122.
        assert_eq!(verdict(1.09, [1.06, 1.12]), (true, 0));
        assert_eq!(verdict(1.09, [1.055, 1.125]), (false, 1));
        assert_eq!(verdict(1.105, [1.09, 1.12]), (false, 1));
        assert_eq!(verdict(1.11, [1.105, 1.115]), (false, 0));
    }

    #[test]
    fn harm_that_cannot_be_told_from_the_least_is_no_reason() {
        let mut results = [
            candidate("a", 0.30, 0.0, 1.00, &[]),
            candidate("b", 0.30, 0.0, 1.05, &["Linux: …"]),
            candidate("present", 0.0, 0.0, 1.0, &["Linux: …"]),
        ];
        let question = ask(Some("present"), None, Limits::default());
        assert_eq!(one(&results, &question).scheme.as_deref(), Some("a"), "five hundredths less harm");
        // Its interval begins within two hundredths of the least: a deployed stack has it.
        results[1].harm.as_mut().expect("measured").bulk_ci95 = [1.01, 1.09];
        assert_eq!(one(&results, &question).scheme.as_deref(), Some("b"));
    }

    #[test]
    fn drops_above_the_limit_by_chance_are_no_reason() {
        let results = [candidate("fast", 0.3, 2.0, 1.0, &[]), candidate("present", 0.0, 1.0, 1.0, &[])];
        let question = ask(Some("present"), None, Limits::default());
        let behind = |fast: &[u64; 4], present: &[u64; 4]| {
            let samples =
                [replications(&results[0], &[0.7; 4], fast), replications(&results[1], &[1.0; 4], present)];
            one_of(&results, &samples, &question)
        };
        // Beyond the limits of 0.1, 0.1, 3.4 and 0.1 packets by -0.1, 4.9, 0.6 and -0.1: 1.3 +- 3.18 * 2.4 / 2.
        let chosen = behind(&[0, 5, 4, 0], &[0, 0, 3, 0]);
        assert_eq!(chosen.scheme.as_deref(), Some("fast"), "{}", chosen.why);
        // By 1.9 each time.
        let chosen = behind(&[2, 2, 2, 2], &[0, 0, 0, 0]);
        assert_eq!(chosen.scheme, None);
        assert!(chosen.why.contains("fast ends sooner, but drops 2.00 packets"), "{}", chosen.why);
    }

    #[test]
    fn a_gain_beyond_the_limits_is_named_where_nothing_is_recommended() {
        let results = [candidate("burst", 0.5, 0.0, 1.5, &[]), candidate("present", 0.0, 0.0, 1.0, &[])];
        let chosen = one(&results, &ask(Some("present"), None, Limits::default()));
        assert_eq!(chosen.scheme, None);
        assert_eq!(
            chosen.why,
            "no gain over present is worth having within the limits; burst ends sooner, but does too much harm: a bulk flow \
             beside it takes 1.50 times as long (95 % interval 1.50 to 1.50; limit 1.10)"
        );
    }

    #[test]
    fn a_candidate_whose_harm_cannot_be_told_from_the_limit_is_passed_over_and_named() {
        let mut results = [
            candidate("burst", 0.5, 2642.0, 1.0, &[]),
            candidate("near", 0.4, 0.0, 1.08, &["Linux: …"]),
            candidate("fair", 0.3, 0.0, 1.02, &["Linux: …"]),
            candidate("present", 0.0, 0.0, 1.0, &["Linux: …"]),
        ];
        let near = results[1].harm.as_mut().expect("measured");
        near.bulk_ci95 = [1.04, 1.13];
        let question = ask(Some("present"), None, Limits::default());
        let chosen = one(&results, &question);
        assert_eq!(chosen.scheme.as_deref(), Some("fair"));
        assert_eq!(chosen.undecided, ["near"]);
        assert!(
            chosen.why.ends_with(
                "; burst ends sooner, but drops 2642 packets (limit 0.10); near ends sooner, but its harm cannot be told \
                 from the limit: a bulk flow beside it takes 1.08 times as long (95 % interval 1.04 to 1.13; limit 1.10)"
            ),
            "{}",
            chosen.why
        );
        let of = |results: &[SchemeResult]| {
            let samples = single(results);
            let question = asked_of(&question, &samples);
            contenders(results, 30_000, &question).iter().map(|it| it.scheme.clone()).collect::<Vec<_>>()
        };
        assert_eq!(
            of(&results),
            ["near", "fair"],
            "neither the one that drops too much nor the one that gains nothing"
        );
        // Without another the answer is none.
        let alone = [results[1].clone(), results[3].clone()];
        let chosen = one(&alone, &question);
        assert_eq!((chosen.scheme, &chosen.undecided[..]), (None, &["near".to_owned()][..]));
        // Within a higher limit, and above a lower one, it is decided.
        let with = |limit: f64| Limits { harm: Some(limit), ..Limits::default() };
        assert_eq!(one(&alone, &ask(Some("present"), None, with(1.12))).scheme.as_deref(), Some("near"));
        let chosen = one(&alone, &ask(Some("present"), None, with(1.03)));
        assert_eq!((chosen.scheme, chosen.undecided.len()), (None, 0));
    }

    #[test]
    fn the_bystander_that_decides_is_named() {
        let mut result = candidate("near", 0.4, 0.0, 1.09, &[]);
        let harm = result.harm.as_mut().expect("measured");
        (harm.bulk_ci95, harm.request_response, harm.request_response_ci95) =
            ([1.08, 1.2], 1.2, [1.15, 1.18]);
        let cost = Cost { harm: Some(1.1), drops: None, lossy: BTreeSet::new() };
        let Verdict::Above(why) = cost.verdict(&result) else { panic!("above") };
        assert!(why.contains("short requests beside it take 1.20 times"), "{why}");
        let mut just = result.clone();
        just.harm.as_mut().expect("measured").request_response_ci95 = [1.102, 1.18];
        let Verdict::Above(why) = cost.verdict(&just) else { panic!("above") };
        assert!(why.ends_with("(95 % interval 1.102 to 1.180; limit 1.10)"), "{why}");
        result.harm.as_mut().expect("measured").request_response_ci95 = [1.0, 1.15];
        let Verdict::CannotTell(why) = cost.verdict(&result) else { panic!("cannot tell") };
        assert!(why.contains("a bulk flow beside it takes 1.09 times"), "{why}");
    }
}
