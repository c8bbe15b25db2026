//! Recommendation at each size, and for all sizes together: the fastest candidate whose cost is acceptable.
//!
//! Cost is the harm to bystanders and the packets dropped. The limits are those of the scheme that the stack has now, and a
//! tenth more, unless the request sets others. Harm is done to others, who have no say: a candidate may be recommended only if the
//! replications show that its harm is within the limit ([`firstflight_results::Harm::within`]). A candidate whose harm may exceed the limit
//! is not recommended, and is named. Drops cost the transfer itself, whose time has them already: a candidate is refused only if the whole
//! interval of its drops is above.
//!
//! Times are compared by a statistic over all paths that the capture leaves possible ([`Statistic`]): a candidate that wins on the likeliest path
//! alone, and loses on the others, is not the fastest.
//!
//! The fastest of the candidates that may be recommended is rarely known: the next draw of the same paths may put another one
//! first. The recommendation therefore follows three criteria in turn, each with an indifference zone (R. D. Luce, "Semiorders and
//! a Theory of Utility Discrimination", Econometrica 24(2), 1956; R. E. Bechhofer, Annals of Mathematical Statistics 25(1), 1954): the candidates
//! that are not known to take longer than the fastest by a difference worth having; of these, those that are not known to do more harm
//! than the one that does least; of these, the one that is had with the least change. The last criterion is free of chance.
//!
//! A server has one setting for connections of all sizes. The candidate for all sizes follows the same criteria: its time is the geometric mean over
//! the sizes, its cost must be acceptable at each of them, and it may not be known to lose time at any. Where it is among those from which the
//! least change would choose at one size, it is recommended there, too: one setting is less change than two.

mod answer;
mod cost;

use std::cmp::Ordering;

use firstflight_document::quantity::show_bytes;
use firstflight_results::{Ci95, ForAllSizes, PairedDifference, Recommended, SchemeResult};
use firstflight_scenario::{Candidate, Profile};

use crate::differences::{Differences, Replications};
use crate::harm::{Contender, Contest};
use crate::request::{Limits, Request};
use crate::statistic::Statistic;
use crate::weights::Weights;
pub(crate) use answer::{Facts, Origin, answer};
use cost::{Cost, Verdict};

/// Departure of the re-runs of captured connections above which there is no answer. Ranges are widened by the departure
/// at both ends: beyond this one they would span a factor of more than two, which is more than any start gains.
const NO_ANSWER: f64 = 0.5;

/// Dropped packets that a candidate may cause besides: one in ten transfers. Without it a candidate would be refused for a
/// single drop where the present scheme has none.
const FEW_DROPS: f64 = 0.1;

/// Reason why the results are no answer; `None` if they are one.
pub(crate) fn no_answer(path_unknown: bool, unlike: Option<f64>, departure: Option<f64>) -> Option<String> {
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

/// Question that a recommendation answers.
pub(crate) struct Question<'a> {
    /// The candidates that were compared.
    candidates: &'a [Candidate],
    /// Label of the scheme that the stack has now, if it was compared.
    present: Option<&'a str>,
    /// Label of the baseline, if there is one. It stands in for the present scheme.
    baseline: Option<&'a str>,
    limits: Limits,
    /// Payload of a full packet, bytes.
    payload: u64,
    /// Reason why the results are no answer.
    no_answer: Option<&'a str>,
    replications: Replications<'a>,
}

impl<'a> Question<'a> {
    /// The question of a request on a path with this payload.
    pub(crate) fn of(
        request: &'a Request,
        differences: &'a Differences,
        payload: u64,
        no_answer: Option<&'a str>,
    ) -> Self {
        Self {
            candidates: &request.schemes,
            present: differences.references.present.as_deref(),
            baseline: differences.references.baseline.as_deref(),
            limits: request.limits,
            payload,
            no_answer,
            replications: differences.replications(),
        }
    }

    /// The same question with weights of the sizes.
    pub(crate) fn weighed<'b>(&self, weights: &'b Weights) -> Question<'b>
    where
        'a: 'b,
    {
        Question { replications: self.replications.weighed(weights), ..*self }
    }
}

/// The candidates to use.
pub(crate) struct Recommendation {
    /// At each size, ascending.
    pub(crate) at_each_size: Vec<Recommended>,
    pub(crate) for_all_sizes: Option<ForAllSizes>,
}

impl Recommendation {
    /// The recommendation from `results`, which are ordered by rank within a size. `sizes` are ascending.
    pub(crate) fn of(results: &[SchemeResult], sizes: &[u64], question: &Question<'_>) -> Self {
        let for_all_sizes = for_all_sizes(results, sizes, question);
        let at_each_size = recommended(results, sizes, question, for_all_sizes.as_ref());
        Self { at_each_size, for_all_sizes }
    }
}

/// Recommendations at each of `sizes`. `of_all` is the candidate for all of them.
fn recommended(
    results: &[SchemeResult],
    sizes: &[u64],
    question: &Question<'_>,
    of_all: Option<&ForAllSizes>,
) -> Vec<Recommended> {
    let of_all = of_all.and_then(|it| it.scheme.as_deref());
    let of_size = |size_bytes: u64| {
        let field = Field::of(results, &[size_bytes], question);
        let Choice { standing, gain, sooner, why, as_fast, chosen_by, undecided } = match question.no_answer {
            Some(why) => Choice::none(why),
            None => question.choice(&field, of_all),
        };
        let scheme = standing.map(Standing::first);
        Recommended {
            size_bytes,
            scheme: scheme.map(|result| result.scheme.clone()),
            initial_window_packets: scheme.and_then(|result| result.initial_window_packets),
            gain,
            sooner,
            max_harm: field.costs[0].harm,
            max_drops: field.costs[0].drops,
            as_fast,
            chosen_by,
            undecided,
            why,
        }
    };
    sizes.iter().copied().map(of_size).collect()
}

/// The one candidate for all `sizes`; `None` for a single size, without a scheme to gain over, and without an answer.
fn for_all_sizes(results: &[SchemeResult], sizes: &[u64], question: &Question<'_>) -> Option<ForAllSizes> {
    let field = Field::of(results, sizes, question);
    let base = field.base.as_ref().filter(|base| base.finished())?;
    if sizes.len() < 2 || question.no_answer.is_some() {
        return None;
    }
    let Choice { standing, gain, sooner, why, as_fast, undecided, .. } = question.beside(&field, base, None);
    Some(ForAllSizes {
        scheme: standing.map(|it| it.label().into()),
        initial_window_packets: standing.and_then(|it| it.first().initial_window_packets),
        gain: gain.filter(|_| standing.is_some()),
        sooner,
        as_fast,
        undecided,
        why,
    })
}

/// The candidates that could be recommended at each of `sizes`, ascending. Several sizes have one more contest for all
/// together. The last contest is that of the answer: the answer weighs the sizes and has candidates of this stack only.
pub(crate) fn contests(
    results: &[SchemeResult],
    sizes: &[u64],
    question: &Question<'_>,
    (weights, profile): (&Weights, Profile),
) -> Vec<Contest> {
    let of_stack = answer::of_stack(results, question, profile);
    let all: Vec<usize> = (0..sizes.len()).collect();
    let together = (sizes.len() > 1).then(|| all.clone());
    let each = (0..sizes.len()).map(|at| vec![at]).chain(together);
    let mut contests: Vec<Contest> = each.map(|at| contest(results, sizes, at, question)).collect();
    if !sizes.is_empty() {
        contests.push(contest(&of_stack, sizes, all, &question.weighed(weights)));
    }
    contests
}

/// The contest for the sizes at the places `at`.
fn contest(results: &[SchemeResult], sizes: &[u64], at: Vec<usize>, question: &Question<'_>) -> Contest {
    let place = |label: &str| question.candidates.iter().position(|scheme| scheme.label() == label);
    let of_contest: Vec<u64> = at.iter().map(|&at| sizes[at]).collect();
    let all = contenders(results, &of_contest, question);
    let contender = |it: &Standing<'_>| {
        let faster = all.iter().enumerate().filter(|(_, other)| question.later(it, other));
        let later_than = faster.map(|(number, _)| number).collect();
        let stands_in = |row: &&SchemeResult| place(row.same_as.as_ref().unwrap_or(&row.scheme));
        let places: Option<Vec<usize>> = it.rows.iter().map(stands_in).collect();
        Contender { places: places.expect("results are of candidates"), later_than }
    };
    Contest { contenders: all.iter().map(contender).collect(), sizes: at }
}

/// Candidates that may be recommended for `sizes` together, one or more, if their harm is within the limit, the fastest first: the result of each at each
/// size, ascending, of equal ones the one that stands for them. None without an answer.
fn contenders<'a>(results: &'a [SchemeResult], sizes: &[u64], question: &Question<'_>) -> Vec<Standing<'a>> {
    if question.no_answer.is_some() {
        return vec![];
    }
    let Field { standings, costs, base } = Field::of(results, sizes, question);
    let base = base.filter(Standing::finished);
    let gains = |it: &Standing<'_>| match &base {
        Some(base) => it.completes(base) && question.gains(it, base),
        None => true,
    };
    let stands = |it: &Standing<'_>| it.finished() && it.rows.iter().any(|row| row.same_as.is_none());
    let lossy =
        |it: &Standing<'_>| it.rows.iter().zip(&costs).any(|(row, cost)| cost.drops_more(row).is_some());
    let standings = standings.into_iter().filter(stands).filter(|it| !lossy(it));
    let mut all: Vec<Standing<'a>> = standings.filter(gains).collect();
    if let Some(first) = all.first().cloned() {
        all.sort_by(|a, b| question.ratio(a, &first).0.total_cmp(&question.ratio(b, &first).0));
    }
    all
}

/// Results of a candidate at the sizes in question, one or more, ascending.
#[derive(Clone)]
struct Standing<'a> {
    rows: Vec<&'a SchemeResult>,
}

impl<'a> Standing<'a> {
    fn first(&self) -> &'a SchemeResult {
        self.rows[0]
    }

    fn label(&self) -> &'a str {
        &self.first().scheme
    }

    fn sizes(&self) -> Vec<u64> {
        self.rows.iter().map(|row| row.size_bytes).collect()
    }

    /// Whether a transfer ended at every size.
    fn finished(&self) -> bool {
        self.rows.iter().all(|row| row.completion_s.is_some())
    }

    /// Whether it leaves no more transfers unfinished than `base`: its median is that of the others.
    fn completes(&self, base: &Self) -> bool {
        self.rows.iter().zip(&base.rows).all(|(own, base)| own.unfinished <= base.unfinished)
    }

    /// The results one by one.
    fn each(&self) -> impl Iterator<Item = Standing<'a>> {
        self.rows.iter().map(|&row| Standing { rows: vec![row] })
    }
}

/// All candidates at the sizes in question, with what they may cost.
struct Field<'a> {
    /// In the order of their ranks; for several sizes, in that of the geometric mean of their times.
    standings: Vec<Standing<'a>>,
    /// Limits at each size.
    costs: Vec<Cost>,
    /// The present scheme, or the baseline in its place.
    base: Option<Standing<'a>>,
}

impl<'a> Field<'a> {
    /// `sizes` are ascending.
    fn of(results: &'a [SchemeResult], sizes: &[u64], question: &Question<'_>) -> Self {
        let of_size = |&size: &u64| -> Vec<&'a SchemeResult> {
            results.iter().filter(|it| it.size_bytes == size).collect()
        };
        let ranked: Vec<Vec<&SchemeResult>> = sizes.iter().map(of_size).collect();
        let standing = |first: &&'a SchemeResult| {
            let of =
                |ranked: &Vec<&'a SchemeResult>| ranked.iter().copied().find(|it| it.scheme == first.scheme);
            Some(Standing { rows: ranked.iter().map(of).collect::<Option<_>>()? })
        };
        let mut standings: Vec<Standing<'a>> = ranked.iter().take(1).flatten().filter_map(standing).collect();
        let labelled = |label: Option<&str>| standings.iter().find(|it| Some(it.label()) == label).cloned();
        let base = labelled(question.present).or_else(|| labelled(question.baseline));
        if let (true, Some(base)) = (sizes.len() > 1, &base) {
            standings.sort_by(|a, b| question.ratio(a, base).0.total_cmp(&question.ratio(b, base).0));
        }
        let reference = |at: usize| base.as_ref().map(|base| base.rows[at]);
        let costs = ranked.iter().zip(sizes).enumerate();
        let costs =
            costs.map(|(at, (ranked, &size))| Cost::of(ranked, reference(at), size, question)).collect();
        Self { standings, costs, base }
    }

    /// Whether the costs of a candidate are within the limits at every size.
    fn verdict(&self, standing: &Standing<'_>) -> Verdict {
        let several = self.costs.len() > 1;
        let mut open = None;
        for (row, cost) in standing.rows.iter().zip(&self.costs) {
            let at = || show_bytes(row.size_bytes);
            match cost.verdict(row) {
                Verdict::Within => {}
                Verdict::Above(why) if several => return Verdict::Above(format!("at {} it {why}", at())),
                Verdict::Above(why) => return Verdict::Above(why),
                Verdict::Open(why) if several => {
                    open.get_or_insert(format!("at {} {why}", at()));
                }
                Verdict::Open(why) => open = Some(why),
            }
        }
        open.map_or(Verdict::Within, Verdict::Open)
    }

    fn admits(&self, standing: &Standing<'_>) -> bool {
        self.verdict(standing) == Verdict::Within
    }
}

/// The candidate to use.
struct Choice<'f, 'a> {
    standing: Option<&'f Standing<'a>>,
    gain: Option<[f64; 3]>,
    /// Probability that a transfer ends sooner than with the reference, of a candidate that has one.
    sooner: Option<f64>,
    why: String,
    as_fast: Vec<String>,
    chosen_by: Vec<String>,
    undecided: Vec<String>,
}

/// The best of several candidates.
struct Best<'f, 'a> {
    standing: &'f Standing<'a>,
    /// Labels of the others that are as fast.
    as_fast: Vec<String>,
    /// The criteria that chose it before those.
    chosen_by: Vec<String>,
}

impl Choice<'_, '_> {
    fn none(why: impl Into<String>) -> Self {
        Self {
            standing: None,
            gain: None,
            sooner: None,
            why: why.into(),
            as_fast: vec![],
            chosen_by: vec![],
            undecided: vec![],
        }
    }
}

impl Question<'_> {
    /// Gain over the reference `base`, lower end, value and upper end: that of the statistic; without a choice of it, at one size that of the
    /// medians.
    fn gain(&self, standing: &Standing<'_>, base: &Standing<'_>) -> Option<[f64; 3]> {
        if let ([result], Statistic::GeometricMean) = (&standing.rows[..], self.replications.by) {
            return self.difference(result).map(PairedDifference::gain);
        }
        let (ratio, [low, high]) = self.ratio(standing, base);
        (standing.label() != base.label()).then_some([high, ratio, low].map(|ratio| 1.0 - ratio))
    }

    /// Difference of a result from the reference.
    fn difference<'a>(&self, result: &'a SchemeResult) -> Option<&'a PairedDifference> {
        let from = if self.present.is_some() { &result.against_present } else { &result.against_baseline };
        from.as_ref()
    }

    /// Whether a candidate is sooner than the reference `base` by a difference that is worth having, and is known to be later at no size.
    fn gains(&self, standing: &Standing<'_>, base: &Standing<'_>) -> bool {
        self.gains_together(standing, base) && self.loss(standing, base).is_none()
    }

    /// Whether a candidate is sooner than the reference `base` by a difference that is worth having, all sizes counting alike. A median that is
    /// sooner does not suffice where the others lose more: in the statistic over all paths the candidate is not later.
    fn gains_together(&self, standing: &Standing<'_>, base: &Standing<'_>) -> bool {
        self.seems_sooner(standing, base) && self.ratio(standing, base).0 <= 1.0
    }

    /// Whether the gain of a candidate over the reference `base` is worth having, in the median where no other statistic is chosen.
    fn seems_sooner(&self, standing: &Standing<'_>, base: &Standing<'_>) -> bool {
        let worth_having = |[low, gain, _]: [f64; 3]| gain >= PairedDifference::WORTH_HAVING && low > 0.0;
        self.gain(standing, base).is_some_and(worth_having)
    }

    /// The first of several sizes at which a candidate is known to be later than the reference `base`, and the ratio of their times.
    fn loss(&self, standing: &Standing<'_>, base: &Standing<'_>) -> Option<(u64, f64)> {
        let several = standing.rows.len() > 1;
        let mut each = standing.each().zip(base.each()).filter(|_| several);
        let (own, base) = each.find(|(own, base)| self.later(own, base))?;
        Some((own.first().size_bytes, self.ratio(&own, &base).0))
    }

    /// The phrase that the fastest of `allowed` for several sizes, which is sooner than `best`, is later than `base` at one of them; `None` if
    /// that is not so.
    fn loses(
        &self,
        allowed: &[&Standing<'_>],
        best: Option<&Standing<'_>>,
        base: &Standing<'_>,
    ) -> Option<String> {
        let sooner = |it: &&&Standing<'_>| best.is_none_or(|best| self.sooner(it, best));
        let gaining = allowed.iter().filter(|it| self.gains_together(it, base)).filter(sooner);
        let (standing, (size, ratio)) = gaining.filter_map(|it| Some((it, self.loss(it, base)?))).next()?;
        let (label, later) = (standing.label(), (ratio - 1.0) * 100.0);
        Some(format!(
            "{label} ends sooner, but at {} it takes {later:.0} % longer than {}",
            show_bytes(size),
            base.label()
        ))
    }

    /// Whether a candidate is sooner than another one by more than a difference that is worth having: in the statistic; without a choice of it, at
    /// one size in the medians.
    fn sooner(&self, standing: &Standing<'_>, than: &Standing<'_>) -> bool {
        let ratio = match (&standing.rows[..], &than.rows[..], self.replications.by) {
            ([own], [other], Statistic::GeometricMean) => median_of(other) / median_of(own),
            _ => self.ratio(than, standing).0,
        };
        ratio > 1.0 + PairedDifference::WORTH_HAVING
    }

    /// The choice at one size. `of_all` is the candidate for all sizes.
    fn choice<'f, 'a>(&self, field: &'f Field<'a>, of_all: Option<&str>) -> Choice<'f, 'a> {
        if !field.standings.iter().any(Standing::finished) {
            return Choice::none("no scheme ended the transfer in the time allowed");
        }
        match &field.base {
            Some(base) if base.finished() => self.beside(field, base, of_all),
            Some(base) => {
                let why = format!("no transfer by {} ended in the time allowed", base.label());
                self.first(field, &why)
            }
            None if field.standings.iter().filter(|it| it.finished()).all(|it| it.first().ties_with_best) => {
                Choice::none("no difference between the schemes is worth having")
            }
            None => {
                let why = "the fastest of the schemes; neither the stack's own nor slow start was among them, so no gain is stated";
                self.first(field, why)
            }
        }
    }

    /// The best candidate within the limits, for the reason `why`.
    fn first<'f, 'a>(&self, field: &'f Field<'a>, why: &str) -> Choice<'f, 'a> {
        let finished: Vec<&Standing<'_>> = field.standings.iter().filter(|it| it.finished()).collect();
        let place = finished.iter().position(|it| field.admits(it)).unwrap_or(finished.len());
        let allowed: Vec<&Standing<'_>> = finished.iter().copied().filter(|it| field.admits(it)).collect();
        let undecided = undecided(&finished[..place], field);
        let Some(Best { standing, as_fast, chosen_by }) = self.best(&allowed, None) else {
            let why = if undecided.is_empty() {
                "every scheme costs more than the limits allow"
            } else {
                "every scheme costs more than the limits allow, or may do so"
            };
            return Choice { undecided, ..Choice::none(why) };
        };
        Choice { standing: Some(standing), as_fast, chosen_by, undecided, ..Choice::none(why) }
    }

    /// The best candidate within the limits whose gain over `base` is worth having. A candidate that leaves more transfers unfinished than
    /// `base` is none. `of_all` is the candidate for all sizes, if these are the candidates at one.
    fn beside<'f, 'a>(
        &self,
        field: &'f Field<'a>,
        base: &Standing<'_>,
        of_all: Option<&str>,
    ) -> Choice<'f, 'a> {
        let completes = field.standings.iter().filter(|it| it.finished() && it.completes(base));
        let (allowed, refused): (Vec<&Standing<'_>>, Vec<&Standing<'_>>) =
            completes.partition(|it| field.admits(it));
        let gaining: Vec<&Standing<'_>> = allowed.iter().copied().filter(|it| self.gains(it, base)).collect();
        let gains: Vec<&Standing<'_>> = refused.iter().copied().filter(|it| self.gains(it, base)).collect();
        let several = field.costs.len() > 1;
        let together = if several { "over all sizes together, " } else { "" };
        let Some(Best { standing: best, as_fast, chosen_by }) = self.best(&gaining, of_all) else {
            let gain = allowed.iter().find_map(|it| self.gain(it, base));
            let (open, phrases) = self.passed_over(&gains, None, field);
            let within = match (&phrases[..], &open[..]) {
                ([], _) => "is worth having",
                (_, []) => "that is worth having is within the limits",
                _ => "that is worth having is shown to be within the limits",
            };
            let why = format!("{together}no gain over {} {within}", base.label());
            let later = self.later_on_average(&allowed, base, base, &[]);
            let phrases = phrases.into_iter().chain(later).chain(self.loses(&allowed, None, base));
            return Choice { gain, undecided: open, ..Choice::none(joined(why, phrases)) };
        };
        let gain = self.gain(best, base);
        let [low, value, high] = gain.unwrap_or_default().map(|share| share * 100.0);
        let time = match self.replications.by {
            Statistic::GeometricMean if !several => "its median".to_owned(),
            by => by.of_its_times(),
        };
        let (base_label, range) = (base.label(), format!("{low:.0} % to {high:.0} %"));
        let why = format!("{together}{time} is {value:.0} % below that of {base_label} ({range})");
        let later = self.later_on_average(&allowed, best, base, &as_fast);
        let (undecided, phrases) = self.passed_over(&gains, Some(best), field);
        let phrases = later.into_iter().chain(phrases).chain(self.loses(&allowed, Some(best), base));
        let why = joined(why, phrases);
        let sooner = self.replications.sooner(best.label(), base.label(), &best.sizes());
        Choice { standing: Some(best), gain, sooner, why, as_fast, chosen_by, undecided }
    }

    /// The candidates of `refused` that would be recommended, or might be as well as `best`, but for their cost: the labels of those whose harm
    /// may exceed the limit, and phrases. One phrase is about the fastest of those that cost too much, if none of the others is faster than
    /// that. One is about the others: a candidate that costs too much and is only as fast as `best` is no loss.
    fn passed_over(
        &self,
        refused: &[&Standing<'_>],
        best: Option<&Standing<'_>>,
        field: &Field<'_>,
    ) -> (Vec<String>, Vec<String>) {
        let sooner = |it: &Standing<'_>| best.is_none_or(|best| self.sooner(it, best));
        let (mut open, mut phrases) = (vec![], vec![]);
        for it in refused {
            let ends = if sooner(it) { "ends sooner" } else { "may be as fast" };
            match field.verdict(it) {
                Verdict::Above(why) if sooner(it) && phrases.is_empty() => {
                    phrases.push(format!("{} {ends}, but {why}", it.label()));
                }
                Verdict::Open(why) if sooner(it) || best.is_some_and(|best| !self.later(it, best)) => {
                    if open.is_empty() {
                        phrases.push(format!("{} {ends}, but {why}", it.label()));
                    }
                    open.push(it.label().into());
                }
                _ => {}
            }
        }
        if let Some(others) = open.get(1..).filter(|others| !others.is_empty()) {
            phrases.push(format!("the harm of {} may exceed it, too", others.join(", ")));
        }
        (open, phrases)
    }

    /// The candidate to use of `allowed`; `None` of none. Where `of_all` could be chosen, it is.
    fn best<'f, 'a>(&self, allowed: &[&'f Standing<'a>], of_all: Option<&str>) -> Option<Best<'f, 'a>> {
        let first = allowed.first()?;
        let ratio = |it: &Standing<'_>| self.ratio(it, first).0;
        let fastest = allowed.iter().min_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
        let as_fast: Vec<&'f Standing<'a>> =
            allowed.iter().copied().filter(|it| !self.later(it, fastest)).collect();
        let change = |it: &Standing<'_>| self.change(it.first());
        let serves_all = |it: &Standing<'_>| of_all == Some(it.label());
        let gentle = least_harmful(&as_fast);
        let by_change = |a: &Standing<'_>, b: &Standing<'_>| {
            change(a).cmp(&change(b)).then(ratio(a).total_cmp(&ratio(b)))
        };
        let standing =
            *gentle.iter().min_by(|a, b| serves_all(b).cmp(&serves_all(a)).then_with(|| by_change(a, b)))?;
        let harm = (gentle.len() < as_fast.len()).then_some("harm");
        let next = gentle.iter().filter(|it| it.label() != standing.label()).min_by(|a, b| by_change(a, b));
        let last = next.map(|next| match change(standing).cmp(&change(next)) {
            Ordering::Less => "change",
            _ if serves_all(standing) => "all-sizes",
            _ => "time",
        });
        let others = as_fast.iter().filter(|it| it.label() != standing.label()).map(|it| it.label().into());
        let chosen_by = harm.into_iter().chain(last).map(String::from).collect();
        Some(Best { standing, as_fast: others.collect(), chosen_by })
    }

    /// Ratio of the times of a candidate to those of another one, and its interval; 1 without replications.
    fn ratio(&self, own: &Standing<'_>, other: &Standing<'_>) -> (f64, Ci95) {
        let ratio = self.replications.ratio(own.label(), other.label(), &own.sizes());
        ratio.unwrap_or((1.0, [1.0; 2]))
    }

    /// Whether the replications show that a candidate takes longer than another one by a difference worth having.
    fn later(&self, own: &Standing<'_>, than: &Standing<'_>) -> bool {
        self.ratio(own, than).1[0] >= 1.0 + PairedDifference::WORTH_HAVING
    }

    /// The phrase that the first of `allowed` whose median is sooner than that of `base` takes longer than `best` although its median is lower;
    /// `None` if none does.
    fn later_on_average(
        &self,
        allowed: &[&Standing<'_>],
        best: &Standing<'_>,
        base: &Standing<'_>,
        as_fast: &[String],
    ) -> Option<String> {
        let passed =
            |it: &&&Standing<'_>| it.label() != best.label() && !as_fast.iter().any(|one| one == it.label());
        let first = allowed.iter().find(|it| self.seems_sooner(it, base)).filter(passed)?;
        let ([_], Statistic::GeometricMean) = (&first.rows[..], self.replications.by) else { return None };
        let (ratio, _) = self.replications.ratio(first.label(), best.label(), &first.sizes())?;
        if ratio <= 1.0 {
            return None;
        }
        let (scheme, later) = (first.label(), (ratio - 1.0) * 100.0);
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
/// a difference is not worth having. The harm of a candidate is the largest over the sizes. All of them if harm was not measured.
fn least_harmful<'f, 'a>(standings: &[&'f Standing<'a>]) -> Vec<&'f Standing<'a>> {
    let harm = |it: &Standing<'_>| {
        let each = it.rows.iter().map(|row| row.harm.map(|harm| harm.deciding(None)));
        let each: Option<Vec<(f64, Ci95)>> = each.collect();
        each?.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let least = standings.iter().filter_map(|it| Some(harm(it)?.0)).reduce(f64::min);
    let Some(least) = least else { return standings.to_vec() };
    let most = least * (1.0 + PairedDifference::WORTH_HAVING);
    standings.iter().copied().filter(|it| harm(it).is_some_and(|(_, [low, _])| low <= most)).collect()
}

/// Labels of those of `standings` whose harm may exceed the limit.
fn undecided(standings: &[&Standing<'_>], field: &Field<'_>) -> Vec<String> {
    let open = |it: &&&Standing<'_>| matches!(field.verdict(it), Verdict::Open(_));
    standings.iter().filter(open).map(|it| it.label().into()).collect()
}

/// A sentence and further phrases.
fn joined(sentence: String, phrases: impl IntoIterator<Item = String>) -> String {
    phrases.into_iter().fold(sentence, |text, phrase| format!("{text}; {phrase}"))
}

fn median_of(result: &SchemeResult) -> f64 {
    result.completion_s.map_or(f64::INFINITY, |completion| completion.median)
}

#[cfg(test)]
mod tests;
