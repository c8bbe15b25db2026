//! Tables of scores, with the aims in their first rows.

use research_forecasts::table::{Table, number};

use crate::score::Score;

/// Error or regret below which one repeat is no measure: the kernel repeats itself to a per mille on some paths.
const LEAST: f64 = 0.01;

/// Factor by which a forecast is worse than one repeat, so that it gets a dagger.
const WORSE: f64 = 1.2;

/// A table of scores. `N` further columns follow the groups.
pub(crate) struct Scores<const N: usize>(Table);

/// Whether a value misses its aim.
type Misses = fn(f64) -> bool;

impl Scores<0> {
    pub(crate) fn new(groups: &str) -> Self {
        Self::with(groups, [])
    }

    /// Adds a group. A value that misses its aim gets a star, one that is worse than one repeat a dagger.
    pub(crate) fn add(&mut self, name: String, score: &Score, aim: f64) {
        self.add_with(name, score, aim, []);
    }
}

impl<const N: usize> Scores<N> {
    /// A table with further columns.
    pub(crate) fn with(groups: &str, further: [&str; N]) -> Self {
        let columns = [
            ("forecasts", ""),
            ("error: median, %", "10, LTE 15"),
            ("one repeat", ""),
            ("p90, %", "25"),
            ("one repeat", ""),
            ("in the range, %", "90"),
            ("width / allowed: median", "1"),
            ("not wider, %", "100"),
            ("regret: mean, %", "2"),
            ("one repeat", ""),
            ("p95, %", "10"),
            ("one repeat", ""),
        ];
        let mut table =
            Table::new([groups].into_iter().chain(further).chain(columns.map(|(title, _)| title)));
        table.row(["**aim**"].into_iter().chain([""; N]).chain(columns.map(|(_, aim)| aim)));
        Self(table)
    }

    /// Adds a group with the cells of the further columns.
    pub(crate) fn add_with(&mut self, name: String, score: &Score, aim: f64, further: [String; N]) {
        let starred = |value: Option<f64>, digits: usize, misses: bool| {
            number(value, digits) + if misses { " *" } else { "" }
        };
        let share = |value: Option<f64>, digits: usize, misses: Misses| {
            starred(value.map(|value| value * 100.0), digits, value.is_some_and(misses))
        };
        // A value and that of one repeat.
        let beside = |value: Option<f64>, repeat: Option<f64>, aim: f64| {
            let percent = |value: Option<f64>| value.map(|value| value * 100.0);
            let dagger = if is_worse(value, repeat) { " †" } else { "" };
            let own = starred(percent(value), 1, value.is_some_and(|value| value > aim)) + dagger;
            [own, number(percent(repeat), 1)]
        };
        let cells = if score.finished == score.cells {
            score.cells.to_string()
        } else {
            format!("{} of {}", score.finished, score.cells)
        };
        let row = [name].into_iter().chain(further).chain([cells]);
        let row = row.chain(beside(score.error(0.5), score.repeat_error(0.5), aim));
        let row = row.chain(beside(score.error(0.9), score.repeat_error(0.9), 0.25));
        let row = row.chain([
            share(score.covered(), 0, |covered| covered < 0.895),
            starred(score.width(), 2, score.width().is_some_and(|width| width > 1.0)),
            share(score.sharp(), 0, |sharp| sharp < 0.995),
        ]);
        let row = row.chain(beside(score.regret(), score.repeat_regret(), 0.02));
        self.0.row(row.chain(beside(score.regret_at(0.95), score.repeat_regret_at(0.95), 0.10)));
    }

    pub(crate) fn table(self) -> Table {
        self.0
    }
}

/// Whether an error or a regret is worse than that of one repeat, by a fifth of the latter at least.
fn is_worse(value: Option<f64>, repeat: Option<f64>) -> bool {
    value.zip(repeat).is_some_and(|(value, repeat)| value > LEAST && value > WORSE * repeat)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_worse_than_one_repeat_by_a_fifth_and_above_one_per_cent() {
        assert!(is_worse(Some(0.13), Some(0.1)) && is_worse(Some(0.011), Some(0.0)));
        assert!(!is_worse(Some(0.119), Some(0.1)) && !is_worse(Some(0.009), Some(0.0)));
        assert!(!is_worse(Some(0.5), None) && !is_worse(None, Some(0.1)));
    }
}
