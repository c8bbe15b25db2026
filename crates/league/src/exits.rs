//! Ends of start-up over many runs.

use std::collections::BTreeMap;

use firstflight_quantile::type_7;

use crate::rows::{Exit, Row};

/// Word for a start-up that lasts to the end of the run.
pub(crate) const LASTS: &str = "none";

/// Shares of the runs by the reason of their exit.
pub(crate) fn shares<'a>(rows: impl Iterator<Item = &'a Row>) -> BTreeMap<String, f64> {
    let mut counts: BTreeMap<String, f64> = BTreeMap::new();
    let mut all = 0.0;
    for row in rows {
        let reason = row.exit.as_ref().map_or(LASTS, |exit| exit.reason.as_str());
        *counts.entry(reason.to_owned()).or_default() += 1.0;
        all += 1.0;
    }
    counts.values_mut().for_each(|count| *count /= all);
    counts
}

/// Median of the exit window over the bandwidth-delay product; `None` without an exit.
pub(crate) fn over_bdp<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<f64> {
    let exits = rows.filter_map(|row| row.exit.as_ref()).filter(|exit| exit.bdp > 0.0);
    median(exits.map(|exit| exit.cwnd / exit.bdp).collect())
}

/// Mean of the packets that were lost before an exit by a rule, not by the loss itself; `None` without such an exit.
pub(crate) fn lost_before_rule<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<f64> {
    let by_rule = |exit: &&Exit| exit.reason != "loss" && exit.reason != "timeout";
    let lost: Vec<f64> =
        rows.filter_map(|row| row.exit.as_ref()).filter(by_rule).map(|exit| exit.lost_before).collect();
    (!lost.is_empty()).then(|| lost.iter().sum::<f64>() / lost.len() as f64)
}

/// Median; `None` of nothing.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    (!values.is_empty()).then(|| type_7(&values, 0.5))
}
