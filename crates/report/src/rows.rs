//! Rows of a ranked table: schemes whose replications at its size are equal share one.

use firstflight_results::SchemeResult;

use crate::names::{Names, SAME};

/// One row.
pub(crate) struct Row<'a> {
    /// Place in the table, from 1.
    pub(crate) place: usize,
    /// Names of its schemes, joined by [`SAME`].
    pub(crate) names: String,
    /// Result of the scheme that stands for all of them.
    pub(crate) result: &'a SchemeResult,
}

/// Rows of the results of one size, which are in order.
pub(crate) fn rows<'a>(ranked: &[&'a SchemeResult], names: &Names) -> Vec<Row<'a>> {
    let has_row = |label: &String| ranked.iter().any(|it| it.scheme == *label);
    let shown = ranked.iter().filter(|it| !it.same_as.as_ref().is_some_and(has_row));
    shown
        .zip(1..)
        .map(|(result, place)| {
            let equal = ranked.iter().filter(|it| it.same_as.as_ref() == Some(&result.scheme));
            let all = std::iter::once(result).chain(equal).map(|it| names.get(&it.scheme).short.clone());
            Row { place, names: all.collect::<Vec<_>>().join(SAME), result }
        })
        .collect()
}
