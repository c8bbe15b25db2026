//! Rows of a report in terminal and page: schemes that did the same in every replication once, under all their names;
//! and without an answer no results.

use std::borrow::Cow;
use std::collections::BTreeSet;

use firstflight_results::CompareReport;

/// The report with one scheme of each group that did the same: the one that the stack has now, the baseline, a recommended one, or
/// the first that was asked for.
/// Without an answer, nothing that could be read as a ranking is left.
pub(crate) fn shown(report: &CompareReport) -> Cow<'_, CompareReport> {
    if report.comparison.no_answer.is_some() {
        let mut report = report.clone();
        report.comparison.results.clear();
        report.samples.clear();
        report.traces.clear();
        return Cow::Owned(report);
    }
    let comparison = &report.comparison;
    let for_all = comparison.for_all_sizes.as_ref().map(|it| &it.scheme);
    let named = [&comparison.present, &comparison.baseline].into_iter().chain(for_all);
    let named: Vec<&String> =
        named.chain(comparison.recommended.iter().map(|it| &it.scheme)).flatten().collect();
    let stands_for = |group: &Vec<String>| {
        let known = named.iter().find(|label| group.contains(label)).copied();
        known.or(group.first()).cloned()
    };
    let hidden: BTreeSet<String> = comparison
        .same
        .iter()
        .flat_map(|group| {
            let shown = stands_for(group);
            group.iter().filter(move |label| Some(*label) != shown.as_ref()).cloned()
        })
        .collect();
    if hidden.is_empty() {
        return Cow::Borrowed(report);
    }
    let mut report = report.clone();
    let comparison = &mut report.comparison;
    // A scheme that is not shown is recommended, or is the present one, under the name of the scheme that stands for it.
    let same = &comparison.same;
    let stand_in = |label: &mut Option<String>| {
        let group = same.iter().find(|group| label.as_ref().is_some_and(|it| group.contains(it)));
        if let Some(group) = group {
            *label = group.iter().find(|label| !hidden.contains(*label)).cloned();
        }
    };
    comparison.recommended.iter_mut().for_each(|one| stand_in(&mut one.scheme));
    comparison.for_all_sizes.iter_mut().for_each(|one| stand_in(&mut one.scheme));
    stand_in(&mut comparison.present);
    stand_in(&mut comparison.baseline);
    comparison.schemes.retain(|label| !hidden.contains(label));
    comparison.results.retain(|result| !hidden.contains(&result.scheme));
    report.samples.retain(|set| !hidden.contains(&set.scheme));
    report.traces.retain(|trace| !hidden.contains(&trace.scheme));
    Cow::Owned(report)
}
