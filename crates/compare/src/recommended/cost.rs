//! The cost of a candidate at one size, and its limits.

use std::collections::BTreeSet;

use firstflight_results::SchemeResult;

use super::{FEW_DROPS, Question};
use crate::request::MORE;

/// Costs of a candidate, beside the limits.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    Within,
    /// It exceeds a limit: a phrase.
    Above(String),
    /// Its harm may exceed the limit, and may not: a phrase.
    Open(String),
}

/// Limits at one size; `None` is no limit.
pub(super) struct Cost {
    pub(super) harm: Option<f64>,
    pub(super) drops: Option<f64>,
    /// Labels of the results that are known to drop more packets than they may.
    pub(super) lossy: BTreeSet<String>,
}

impl Cost {
    /// Limits for the results `ranked` of one size, beside the result of the present scheme or the baseline.
    pub(super) fn of(
        ranked: &[&SchemeResult],
        reference: Option<&SchemeResult>,
        size: u64,
        question: &Question<'_>,
    ) -> Self {
        let limits = question.limits;
        if limits.fastest {
            return Self { harm: None, drops: None, lossy: BTreeSet::new() };
        }
        let measured = ranked.iter().any(|it| it.harm.is_some());
        let packets = size.div_ceil(question.payload.max(1)) as f64;
        let given = limits.loss.map(|share| share * packets);
        let of_present = |drops: f64| drops * (1.0 + MORE) + FEW_DROPS;
        let lossy = |it: &SchemeResult| {
            // The same replications meet the same randomness: without a limit of its own the mean difference counts.
            let other = reference.map_or(&it.scheme, |it| &it.scheme);
            let limit = |present: f64| given.unwrap_or_else(|| of_present(present));
            let beyond = question.replications.drops_beyond(&it.scheme, other, size, limit);
            beyond.is_some_and(|(mean, interval)| interval.map_or(mean, |[low, _]| low) > 0.0)
        };
        let drops = given.or(reference.map(|it| of_present(it.drops.mean)));
        let lossy = ranked.iter().filter(|it| drops.is_some() && lossy(it)).map(|it| it.scheme.clone());
        Self { harm: limits.most_harm().filter(|_| measured), drops, lossy: lossy.collect() }
    }

    /// The phrase that a result drops more packets than it may; `None` if that is not known.
    pub(super) fn drops_more(&self, result: &SchemeResult) -> Option<String> {
        let limit = self.drops.filter(|_| self.lossy.contains(&result.scheme))?;
        Some(format!("drops {} packets (limit {})", short(result.drops.mean), short(limit)))
    }

    pub(super) fn verdict(&self, result: &SchemeResult) -> Verdict {
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
}

/// A number of packets in a sentence.
fn short(packets: f64) -> String {
    if packets < 10.0 { format!("{packets:.2}") } else { format!("{packets:.0}") }
}
