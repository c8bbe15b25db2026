//! Accuracy of groups of forecasts.

use firstflight_quantile::type_7;

use crate::floor::Shares;
use crate::forecast::{CaptureForecast, Cell, Statistic};
use crate::truth::Transfer;

/// Size from which a capture must give sharp forecasts, bytes.
const SHARP: u64 = 1_000_000;

/// Accuracy of a group of forecasts.
#[derive(Default)]
pub(crate) struct Score {
    /// Number of forecasts.
    pub(crate) cells: usize,
    /// Number of forecasts with a completion time.
    pub(crate) finished: usize,
    /// Absolute relative errors of the medians.
    errors: Vec<f64>,
    /// Shares of the kernel's transfers in the ranges.
    covered: Vec<f64>,
    /// Widths of the ranges over the allowed ones, from large captures.
    widths: Vec<f64>,
    /// Regrets of the advice.
    regrets: Vec<f64>,
    /// Errors of one repeat of each of these transfers as the forecast of the others.
    repeat_errors: Shares,
    /// Regrets of one repeat of each control as the forecast of the others.
    repeat_regrets: Shares,
}

impl Score {
    /// Score of the forecasts that `keep` keeps from the captures with an answer. Regrets are those of the same captures
    /// at the same sizes.
    pub(crate) fn of<'a>(
        captures: impl Iterator<Item = &'a CaptureForecast<'a>>,
        keep: impl Fn(&Cell<'_>) -> bool,
    ) -> Self {
        let mut score = Self::default();
        for capture in captures {
            let Some(answer) = capture.answered() else { continue };
            let kept: Vec<&Cell<'_>> = answer.cells.iter().filter(|cell| keep(cell)).collect();
            for cell in &kept {
                score.add(cell, capture.source.bytes >= SHARP);
            }
            let mut sizes: Vec<u64> = kept.iter().map(|cell| cell.transfer.bytes).collect();
            sizes.sort_unstable();
            sizes.dedup();
            for size in sizes {
                let Some(regret) = answer.regret(size, Statistic::ADVICE, Statistic::Median) else {
                    continue;
                };
                score.regrets.push(regret);
                let forecast =
                    answer.cells.iter().filter(|cell| cell.transfer.bytes == size && cell.error().is_some());
                let controls: Vec<&Transfer> = forecast.map(|cell| cell.transfer).collect();
                score.repeat_regrets.extend(Shares::regrets(&controls));
            }
        }
        score
    }

    /// Score of forecasts that come from no capture.
    pub(crate) fn of_cells<'a>(cells: impl Iterator<Item = &'a Cell<'a>>) -> Self {
        let mut score = Self::default();
        cells.for_each(|cell| score.add(cell, false));
        score
    }

    /// The same without the regrets: they belong to the choice among all controls.
    pub(crate) fn without_regret(self) -> Self {
        Self { regrets: vec![], repeat_regrets: Shares::default(), ..self }
    }

    fn add(&mut self, cell: &Cell<'_>, sharp: bool) {
        self.cells += 1;
        let (Some(error), Some(covered), Some(width)) = (cell.error(), cell.covered(), cell.width()) else {
            return;
        };
        self.finished += 1;
        self.errors.push(error.abs());
        self.repeat_errors.extend(Shares::errors([cell.transfer]));
        self.covered.push(covered);
        if sharp {
            self.widths.push(width);
        }
    }

    /// Quantile `p` of the absolute errors.
    pub(crate) fn error(&self, p: f64) -> Option<f64> {
        at(&self.errors, p)
    }

    /// The same of one repeat.
    pub(crate) fn repeat_error(&self, p: f64) -> Option<f64> {
        self.repeat_errors.at(p)
    }

    /// Share of the forecasts whose absolute error is larger than this.
    pub(crate) fn beyond(&self, error: f64) -> Option<f64> {
        share(&self.errors, error)
    }

    /// Share of the kernel's transfers in the ranges, each forecast with the same weight.
    pub(crate) fn covered(&self) -> Option<f64> {
        mean(&self.covered)
    }

    /// Median of the widths over the allowed ones.
    pub(crate) fn width(&self) -> Option<f64> {
        at(&self.widths, 0.5)
    }

    /// Share of the ranges that are no wider than allowed.
    pub(crate) fn sharp(&self) -> Option<f64> {
        mean(&self.widths.iter().map(|width| f64::from(u8::from(*width <= 1.0))).collect::<Vec<_>>())
    }

    /// Mean regret.
    pub(crate) fn regret(&self) -> Option<f64> {
        mean(&self.regrets)
    }

    /// Quantile `p` of the regrets.
    pub(crate) fn regret_at(&self, p: f64) -> Option<f64> {
        at(&self.regrets, p)
    }

    /// Mean regret of one repeat of each control.
    pub(crate) fn repeat_regret(&self) -> Option<f64> {
        self.repeat_regrets.mean()
    }

    /// Quantile `p` of the regrets of one repeat of each control.
    pub(crate) fn repeat_regret_at(&self, p: f64) -> Option<f64> {
        self.repeat_regrets.at(p)
    }
}

/// Share of the values above a limit; `None` of nothing.
pub(crate) fn share(values: &[f64], limit: f64) -> Option<f64> {
    mean(&values.iter().map(|value| f64::from(u8::from(*value > limit))).collect::<Vec<_>>())
}

/// Mean; `None` of nothing.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Quantile `p`; `None` of nothing.
pub(crate) fn at(values: &[f64], p: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| type_7(&sorted, p))
}
