//! The answer in sentences: what to use, its gain with its range, its cost, and how far to trust it.

use firstflight_results::{
    CompareReport, Comparison, Losers, NetworkResult, PairedDifference, Recommended, SchemeResult,
};

use crate::format::{
    bytes, capital, count, counted, list, percent_magnitude, printable, probably, time, worth_having,
};
use crate::names::Names;
use crate::path::path_field;
use crate::spread::Spread;

/// The answer for all sizes together and for each size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Headline {
    /// One sentence with the recommended setting and its gain.
    pub(crate) lead: String,
    /// Further paragraphs: cost, how far to trust it; none without an answer.
    pub(crate) details: Vec<String>,
    /// Answers by size, ascending; none if there is no answer.
    pub(crate) by_size: Vec<SizeAnswer>,
}

/// The answer at one size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SizeAnswer {
    /// Size with its unit: `300 KB`.
    pub(crate) size: String,
    /// Label of the recommended scheme, if there is one.
    pub(crate) recommended: Option<String>,
    /// Sentences: recommendation with its gain, range of a further transfer, cost, risks.
    parts: Vec<String>,
    /// Sentences about other candidates: those that are as fast, and those that may harm others too much.
    others: Vec<String>,
}

impl SizeAnswer {
    pub(crate) fn text(&self) -> String {
        [&self.parts[..], &self.others].concat().join(" ")
    }

    /// Text under the table of the size, where the answer for all sizes stands above: the other candidates, or why nothing is recommended.
    pub(crate) fn note(&self) -> String {
        if self.recommended.is_some() { self.others.join(" ") } else { self.text() }
    }
}

pub(crate) fn headline(report: &CompareReport, names: &Names) -> Headline {
    let comparison = &report.comparison;
    if let Some(why) = &comparison.no_answer {
        let lead = format!("No answer: {}. No scheme is recommended.", printable(why));
        return Headline { lead, details: vec![], by_size: vec![] };
    }
    let sizes: Vec<Size<'_>> =
        comparison.sizes().iter().map(|&size| Size::of(size, comparison, names)).collect();
    let by_size: Vec<SizeAnswer> = sizes.iter().map(Size::answer).collect();
    let never = comparison.results.iter().all(|it| it.completion_s.is_none());
    let for_all_sizes = comparison.for_all_sizes.as_ref();
    let one = for_all_sizes.and_then(|it| it.scheme.as_deref());
    let with_one: Vec<Size<'_>> =
        one.map_or_else(Vec::new, |label| sizes.iter().map(|size| size.using(label)).collect());
    let differs = with_one.iter().zip(&sizes).any(|(one, own)| one.label() != own.label());
    let used = if differs { &with_one } else { &sizes };
    let (lead, cost) = match &by_size[..] {
        _ if never => ("No scheme finished any transfer within the time limit.".to_owned(), String::new()),
        [one] => {
            let lead = one.parts.first().cloned().unwrap_or_default();
            let rest = SizeAnswer { parts: one.parts.get(1..).unwrap_or_default().to_vec(), ..one.clone() };
            (lead, rest.text())
        }
        _ => sentence(used, names),
    };
    let alone = match for_all_sizes {
        _ if differs => format!("For one size alone: {}.", phrases(&sizes, names)),
        Some(none) if one.is_none() && !never => {
            format!("One start for all sizes: none. {}.", capital(&printable(&none.why)))
        }
        _ => String::new(),
    };
    let details =
        [cost, alone, networks(used), trust(comparison)].into_iter().filter(|text| !text.is_empty());
    Headline { lead, details: details.collect(), by_size }
}

/// Label of the scheme that is recommended at a size.
pub(crate) fn recommended(comparison: &Comparison, size_bytes: u64) -> Option<&str> {
    comparison.recommended.iter().find(|one| one.size_bytes == size_bytes)?.scheme.as_deref()
}

/// Results and recommendation at one size.
struct Size<'a> {
    bytes: u64,
    ranked: Vec<&'a SchemeResult>,
    base: Option<&'a SchemeResult>,
    recommended: Option<&'a Recommended>,
    best: Option<&'a SchemeResult>,
    /// Gain of `best`.
    gain: Option<[f64; 3]>,
    spread: Spread,
    names: &'a Names,
    comparison: &'a Comparison,
}

impl<'a> Size<'a> {
    fn of(bytes: u64, comparison: &'a Comparison, names: &'a Names) -> Self {
        let ranked = comparison.ranked(bytes);
        // Also a scheme that another one stands for in the tables.
        let of_size = || comparison.results.iter().filter(|result| result.size_bytes == bytes);
        let named =
            |label: Option<&String>| label.and_then(|label| of_size().find(|result| result.scheme == *label));
        let recommended = comparison.recommended.iter().find(|one| one.size_bytes == bytes);
        let base = named(comparison.reference());
        let best = named(recommended.and_then(|one| one.scheme.as_ref()));
        let best = best.filter(|best| best.completion_s.is_some());
        let (gain, spread) = (recommended.and_then(|one| one.gain), Spread::of(&comparison.path));
        Self { bytes, ranked, base, recommended, best, gain, spread, names, comparison }
    }

    /// The size with another candidate as the recommended one.
    fn using(&self, label: &str) -> Self {
        let mut results = self.comparison.results.iter().filter(|it| it.size_bytes == self.bytes);
        let best = results.find(|it| it.scheme == label);
        let gain = best.and_then(|it| Some(self.comparison.difference(it)?.gain()));
        Self { best, gain, ranked: self.ranked.clone(), ..*self }
    }

    fn label(&self) -> Option<&'a str> {
        self.best.map(|best| best.scheme.as_str())
    }

    fn name(&self, result: &SchemeResult) -> &'a str {
        &self.names.get(&result.scheme).own
    }

    fn answer(&self) -> SizeAnswer {
        let parts = match self.best {
            Some(best) => self.reasons(best),
            None => vec![self.no_change()],
        };
        let recommended = self.best.map(|best| best.scheme.clone());
        SizeAnswer { size: bytes(self.bytes), recommended, parts, others: self.others() }
    }

    /// Sentences about candidates that are as fast as the recommended one, and about those that may harm others too much.
    fn others(&self) -> Vec<String> {
        let (Some(best), Some(one)) = (self.best, self.recommended) else { return vec![] };
        let mut others = vec![];
        let as_fast: Vec<String> = one.as_fast.iter().map(|it| self.names.short(it)).collect();
        if !as_fast.is_empty() {
            let shown = format!("As fast, as far as the simulations show: {}.", list(&as_fast));
            let words: Vec<&str> = one.chosen_by.iter().map(String::as_str).collect();
            others.push(match chosen(self.name(best), &words) {
                Some(why) => format!("{shown} {why}"),
                None => shown,
            });
        }
        if let (Some(limit), false) = (one.max_harm, one.undecided.is_empty()) {
            let open = |label: &String| {
                let name = self.names.short(label);
                let harm = self.ranked.iter().find(|it| it.scheme == *label).and_then(|it| it.harm);
                harm.map_or(name.clone(), |harm| {
                    let (ratio, [low, high]) = harm.deciding(Some(limit));
                    format!("{name} ({ratio:.2}, {low:.2} to {high:.2})")
                })
            };
            let open: Vec<String> = one.undecided.iter().map(open).collect();
            others.push(format!(
                "As fast or faster, but the harm may exceed the limit of {limit:.2} (harm, 95\u{a0}% interval): {}.",
                list(&open)
            ));
        }
        others
    }

    /// Sentences for the recommended scheme.
    fn reasons(&self, best: &SchemeResult) -> Vec<String> {
        let name = self.name(best);
        let median = best.completion_s.map_or_else(String::new, |c| time(c.median));
        let mut use_it = format!("Use {name}: it ends {} in {median} in the median", bytes(self.bytes));
        if let (Some(gain), Some(base)) = (self.gain, self.base) {
            use_it += &format!(", {} than {}", sooner(gain), self.name(base));
        }
        let sooner =
            self.recommended.filter(|it| it.scheme.as_ref() == Some(&best.scheme)).and_then(|it| it.sooner);
        let mut parts = vec![use_it + "." + &probably(sooner)];
        if let (Spread::Further, Some(completion)) = (self.spread, best.completion_s) {
            let [low, high] = self.spread.ends(&completion).map(time);
            if low != high {
                parts.push(format!("9 in 10 further transfers should end in {low} to {high}."));
            }
        }
        parts.extend(self.networks().map(|networks| capital(&networks) + "."));
        parts.push(self.cost(best));
        parts.extend(self.harm(best));
        parts.extend(best.risks.iter().filter(|risk| risk.probability > 0.0).map(|risk| {
            let (what, late) = (printable(&risk.what), time(risk.completion_s));
            format!("1 in {} transfers may meet {what}: {late}.", count((1.0 / risk.probability).round()))
        }));
        parts
    }

    /// Effect of the recommended scheme at the 95th percentile of the mix, and on its networks; `None` for a single path.
    fn networks(&self) -> Option<String> {
        let best = self.best?;
        let losers = Losers::of(&self.comparison.groups, &best.scheme, self.bytes)?;
        let late = |result: &SchemeResult| result.completion_s.map(|it| it.p95).filter(|&p95| p95 > 0.0);
        let tail = late(best).zip(self.base.and_then(late)).map(|(own, base)| {
            let gain = 1.0 - own / base;
            let word = if gain < 0.0 { "later" } else { "sooner" };
            format!("{} {word} at the 95th percentile; ", percent_magnitude(gain))
        });
        Some(printable(&format!("{}{losers}", tail.unwrap_or_default())))
    }

    /// Packets that the scheme drops, compared with the reference.
    fn cost(&self, best: &SchemeResult) -> String {
        let own = best.drops.mean;
        let packets = counted(own, "packet", "packets");
        match self.base.filter(|base| base.scheme != best.scheme) {
            None => format!("It drops {packets} per transfer."),
            Some(base) if own == base.drops.mean && own == 0.0 => "Neither drops a packet.".to_owned(),
            Some(base) if own == base.drops.mean => format!("Both drop {packets} per transfer."),
            Some(base) => {
                format!("It drops {packets} per transfer ({}: {}).", self.name(base), count(base.drops.mean))
            }
        }
    }

    /// The harm to others, as a sentence.
    fn harm(&self, best: &SchemeResult) -> Option<String> {
        let [(bulk, _), (requests, _)] = best.harm?.each();
        let than = self.base.filter(|base| base.scheme != best.scheme)?;
        Some(format!(
            "Beside it a bulk flow takes {bulk:.2} times and short requests {requests:.2} times as long as beside {}.",
            self.name(than)
        ))
    }

    /// Why nothing is recommended although a gain is worth having; `None` if none is.
    fn refused(&self) -> Option<Refused> {
        let mut gains = self.ranked.iter().filter_map(|it| self.comparison.difference(it));
        if self.best.is_some() || !gains.any(|it| it.worth_having()) {
            return None;
        }
        let undecided = self.recommended.is_some_and(|one| !one.undecided.is_empty());
        Some(if undecided { Refused::Open } else { Refused::TooMuch })
    }

    /// Why nothing is recommended.
    fn no_change(&self) -> String {
        if let (Some(one), Some(refused)) = (self.recommended, self.refused()) {
            let why = printable(&one.why);
            return match self.base {
                Some(base) => format!("Keep {}: {why}.", self.name(base)),
                None => format!("{}: {why}.", capital(refused.words())),
            };
        }
        let finished: Vec<_> =
            self.ranked.iter().filter_map(|it| Some((*it, it.completion_s?.median))).collect();
        let Some(&(fastest, median)) = finished.first() else {
            return format!("No scheme finished {} within the time limit.", bytes(self.bytes));
        };
        let none = "No difference worth having:";
        if finished.len() > 1 && finished.iter().all(|it| time(it.1) == time(median)) {
            return format!("{none} every scheme takes {} in the median.", time(median));
        }
        let gain = self.comparison.difference(fastest);
        match (self.base, gain.as_ref().map(PairedDifference::gain)) {
            (Some(base), None) => {
                format!("{none} {} is the fastest, with a median of {}.", self.name(base), time(median))
            }
            (Some(base), Some(gain)) => {
                let (fastest, base) = (self.name(fastest), self.name(base));
                format!("{none} the fastest, {fastest}, is {} than {base}.", sooner(gain))
            }
            (None, _) => format!("{none} {} takes {} in the median.", self.name(fastest), time(median)),
        }
    }
}

/// Sentence on the criteria that chose `name` before others that are as fast; `None` without known ones.
fn chosen(name: &str, by: &[&str]) -> Option<String> {
    Some(match by {
        ["harm"] => format!("{name} does the least harm of these."),
        ["change"] => format!("{name} is the smallest change of these."),
        ["all-sizes"] => {
            format!("{name} is also the one for all sizes: one setting is less change than several.")
        }
        ["time"] => format!("{name} is the fastest of these, and no larger change."),
        ["harm", "change"] => format!("{name} is the smallest change of those that do the least harm."),
        ["harm", "all-sizes"] => format!(
            "{name} is among those that do the least harm, and is also the one for all sizes: one setting is less change than several."
        ),
        ["harm", "time"] => {
            format!("{name} is the fastest of those that do the least harm, and no larger change.")
        }
        _ => return None,
    })
}

/// Verdict on gains that are worth having.
#[derive(Clone, Copy, PartialEq)]
enum Refused {
    /// They cost more than the limits allow.
    TooMuch,
    /// One of them may cost no more.
    Open,
}

impl Refused {
    fn words(self) -> &'static str {
        match self {
            Self::TooMuch => "no gain is worth its cost",
            Self::Open => "no gain is shown to be worth its cost",
        }
    }
}

/// A gain with its interval, before `than`: `23 % sooner (95 % interval 21 % to 25 %)`.
fn sooner([low, gain, high]: [f64; 3]) -> String {
    let word = |share: f64| if share < 0.0 { "later" } else { "sooner" };
    let [from, value, to] = [low, gain, high].map(percent_magnitude);
    if from == value && to == value {
        return format!("{value} {}", word(gain));
    }
    let interval = if low < 0.0 && high > 0.0 {
        format!("{from} later to {to} sooner")
    } else if high <= 0.0 {
        format!("{to} to {from}")
    } else {
        format!("{from} to {to}")
    };
    format!("{value} {} (95\u{a0}% interval {interval})", word(gain))
}

/// Answer for all of several sizes, and its cost.
fn sentence(sizes: &[Size<'_>], names: &Names) -> (String, String) {
    (capital(&phrases(sizes, names)) + ".", costs(sizes, names))
}

/// The scheme to use at each of several sizes, as phrases.
fn phrases(sizes: &[Size<'_>], names: &Names) -> String {
    let mut groups: Vec<(Option<&str>, Vec<&Size<'_>>)> = vec![];
    for size in sizes {
        let label = size.label();
        let alike = |group: &[&Size<'_>]| group[0].refused() == size.refused();
        match groups.iter_mut().find(|(known, group)| *known == label && alike(group)) {
            Some((_, group)) => group.push(size),
            None => groups.push((label, vec![size])),
        }
    }
    // The recommendation comes first.
    groups.sort_by_key(|(label, _)| label.is_none());
    let base = base_name(sizes, names);
    let all = groups.len() == 1;
    let parts: Vec<String> = groups
        .iter()
        .map(|(label, group)| {
            let span = span(group, all);
            if let Some(refused) = group[0].refused() {
                let words = refused.words();
                return match base {
                    Some(base) if all => format!("keep {base} {span}: {words}"),
                    Some(base) => format!("keep {base} for {span}: {words}"),
                    None if all => format!("{span} {words}"),
                    None => format!("for {span} {words}"),
                };
            }
            match (label, base) {
                (Some(label), _) => format!("use {} for {span}{}", names.get(label).own, gains(group, base)),
                (None, Some(base)) if all => {
                    format!(
                        "no difference worth having: {span} no scheme ends {} sooner than {base}",
                        worth_having()
                    )
                }
                (None, _) if all => format!("no difference worth having {span}"),
                (None, _) => format!("for {span} no difference is worth having"),
            }
        })
        .collect();
    parts.join("; ")
}

/// Name of the scheme from which gains are measured.
fn base_name<'n>(sizes: &[Size<'_>], names: &'n Names) -> Option<&'n str> {
    sizes.iter().find_map(|size| size.base).map(|base| names.get(&base.scheme).own.as_str())
}

/// Effect of the recommended schemes on the networks of a mix, by size. It is empty for a single path. It is also empty for
/// a single size, because the answer has it.
fn networks(sizes: &[Size<'_>]) -> String {
    let of_size = |size: &Size<'_>| Some(format!("{}: {}.", bytes(size.bytes), size.networks()?));
    let all: Vec<String> = sizes.iter().filter_map(of_size).collect();
    if sizes.len() < 2 { String::new() } else { all.join(" ") }
}

/// The sizes of a group: in full, or their ends if it has every size.
fn span(group: &[&Size<'_>], all: bool) -> String {
    let sizes: Vec<String> = group.iter().map(|size| bytes(size.bytes)).collect();
    match &sizes[..] {
        [first, .., last] if all && group[0].best.is_some() => format!("every size from {first} to {last}"),
        [first, .., last] if all => format!("from {first} to {last}"),
        _ => list(&sizes),
    }
}

/// The gains of a group's sizes: smallest and largest median gain, and what their intervals span.
fn gains(group: &[&Size<'_>], base: Option<&str>) -> String {
    let gains: Option<Vec<[f64; 3]>> = group.iter().map(|size| size.gain).collect();
    let (Some(gains), Some(base)) = (gains, base) else { return String::new() };
    let value = span_of_gains(gains.iter().map(|gain| gain[1]));
    let ends = span_of_gains(gains.iter().flat_map(|gain| [gain[0], gain[2]]));
    let intervals = if ends == value {
        String::new()
    } else {
        let ends = ends.strip_suffix(" sooner").filter(|ends| !ends.contains("later")).unwrap_or(&ends);
        format!(" (95\u{a0}% intervals within {ends})")
    };
    format!(": {value} than {base}{intervals}")
}

/// Smallest and largest gain: `4 % to 21 % sooner`, or `1 % later to 21 % sooner`.
fn span_of_gains(gains: impl Iterator<Item = f64> + Clone) -> String {
    let low = gains.clone().fold(f64::INFINITY, f64::min);
    if low < 0.0 {
        let high = gains.fold(f64::NEG_INFINITY, f64::max).max(0.0);
        return format!("{} later to {} sooner", percent_magnitude(low), percent_magnitude(high));
    }
    format!("{} sooner", range(gains, percent_magnitude))
}

/// Drops of the recommended schemes.
fn costs(sizes: &[Size<'_>], names: &Names) -> String {
    let base = base_name(sizes, names);
    let sizes = || sizes.iter().filter(|size| size.best.is_some());
    if sizes().next().is_none() {
        return String::new();
    }
    let own = range(sizes().filter_map(|size| size.best).map(|best| best.drops.mean), count);
    let theirs = base.map(|base| {
        format!(" ({base}: {})", range(sizes().filter_map(|size| size.base).map(|it| it.drops.mean), count))
    });
    let harm: Vec<f64> = sizes().filter_map(|size| Some(size.best?.harm?.deciding(None).0)).collect();
    let harm = harm.into_iter().reduce(f64::max).map(|most| {
        format!("; a flow beside it takes at most {most:.2} times as long as beside the present scheme")
    });
    format!(
        "Cost: {own} packets dropped per transfer{}{}.",
        theirs.unwrap_or_default(),
        harm.unwrap_or_default()
    )
}

/// Smallest and largest value as `low to high`, or one number if both read the same.
fn range(values: impl Iterator<Item = f64> + Clone, write: impl Fn(f64) -> String) -> String {
    let low = write(values.clone().fold(f64::INFINITY, f64::min));
    let high = write(values.fold(f64::NEG_INFINITY, f64::max));
    if low == high { low } else { format!("{low} to {high}") }
}

/// Limits of the answer.
fn trust(comparison: &Comparison) -> String {
    let path = &comparison.path;
    if !comparison.groups.is_empty() {
        return trust_in_mix(comparison);
    }
    if path.inferred_from.is_none() {
        return "How far to trust it: as far as the path has the values above. These are simulations, not measurements."
            .to_owned();
    }
    let checked = comparison.departure.map_or_else(
        || "no captured connection can be compared with its re-run".to_owned(),
        |off| {
            format!("re-runs of the captured connections are off by {} in the median", percent_magnitude(off))
        },
    );
    let unknown: Vec<_> = path.cannot_tell.iter().map(|field| path_field(field).to_lowercase()).collect();
    let unknown = if unknown.is_empty() {
        String::new()
    } else {
        format!(" The capture does not show the {}; the ranges cover what it may be.", list(&unknown))
    };
    format!("How far to trust it: {checked}.{unknown}")
}

/// Limits of the answer for a mix.
fn trust_in_mix(comparison: &Comparison) -> String {
    let (without, with): (Vec<&NetworkResult>, Vec<&NetworkResult>) =
        comparison.groups.iter().partition(|it| it.no_answer.is_some());
    let checked = comparison.departure.map_or_else(
        || "no captured connection can be compared with its re-run".to_owned(),
        |off| {
            let off = percent_magnitude(off);
            format!("re-runs of the captured connections are off by {off} in the median of the networks")
        },
    );
    let data = |networks: &[&NetworkResult]| networks.iter().map(|it| it.bytes as f64).sum::<f64>();
    let rest = match &without[..] {
        [] => String::new(),
        some => {
            let names: Vec<String> = some.iter().map(|it| printable(&it.network)).collect();
            let share = data(&with) / (data(&with) + data(some));
            let has = if some.len() == 1 { "has" } else { "have" };
            format!(
                " {} {has} no answer and {} no part of the mix, which has {} of the data of all.",
                list(&names),
                if some.len() == 1 { "is" } else { "are" },
                percent_magnitude(share)
            )
        }
    };
    format!("How far to trust it: {checked}.{rest}")
}
