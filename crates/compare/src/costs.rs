//! Costs of a candidate: its harm to others, the risks that delay it, and the way to have it.

use std::collections::BTreeMap;

use firstflight_results::{Harm, Risk, SchemeResult};

/// Costs of one candidate at one size.
pub(crate) struct Costs {
    /// Harm to bystanders; `None` if it was not measured, or if they did not end.
    pub(crate) harm: Option<Harm>,
    pub(crate) risks: Vec<Risk>,
    /// Commands by which it is had, by stack.
    pub(crate) how: Vec<String>,
}

impl Costs {
    /// The rows with the costs of each. A row has the harm of the equal candidate that stands for it, if that has more replications.
    pub(crate) fn beside(rows: &[SchemeResult], costs: Vec<Self>) -> Vec<SchemeResult> {
        let keys = rows.iter().map(|row| (row.size_bytes, row.scheme.as_str()));
        let harms: BTreeMap<(u64, &str), Option<Harm>> =
            keys.zip(&costs).map(|(key, costs)| (key, costs.harm)).collect();
        let with = |(row, Self { harm, risks, how }): (&SchemeResult, Self)| {
            let stand_in = row.same_as.as_deref();
            let shared = stand_in.and_then(|other| harms.get(&(row.size_bytes, other)).copied().flatten());
            let more = |shared: &Harm| harm.is_some_and(|own| own.replications < shared.replications);
            SchemeResult { harm: shared.filter(more).or(harm), risks, how, ..row.clone() }
        };
        rows.iter().zip(costs).map(with).collect()
    }
}
