//! Accuracy of groups of forecasts.

use firstflight_results::PathResult;
use firstflight_study::stats::quantile;

use crate::forecast::{CaptureForecast, Cell};
use crate::truth::{Folder, TruePath};

/// All forecasts for one folder, in the order of its paths.
pub(crate) struct FolderForecast<'a> {
    /// Folder.
    pub(crate) folder: &'a Folder,
    /// Every transfer on the true path, for each path.
    pub(crate) on_true_path: Vec<Vec<Cell>>,
    /// Forecasts from each capture, for each path.
    pub(crate) inferred: Vec<Vec<CaptureForecast>>,
}

/// A forecast of a transfer from a capture.
pub(crate) struct Forecast<'a> {
    /// Path.
    pub(crate) path: &'a TruePath,
    /// Control and size of the capture.
    pub(crate) source: (&'a str, u64),
    /// Inferred path.
    pub(crate) inferred: &'a PathResult,
    /// Transfer.
    pub(crate) cell: &'a Cell,
    /// Whether a loss or an early end of start-up affects the transfer.
    pub(crate) matters: bool,
}

impl Forecast<'_> {
    /// Whether the captured control differs from the forecast one.
    pub(crate) fn crosses(&self) -> bool {
        self.source.0 != self.cell.control
    }

    /// Whether rate, round trip and buffer, which determine losses, were inferred.
    pub(crate) fn inferred_all(&self) -> bool {
        let inferred = self.inferred;
        inferred.rate_bit_s.is_some() && inferred.rtt_ms.is_some() && inferred.buffer_packets.is_some()
    }
}

impl<'a> FolderForecast<'a> {
    /// Every forecast from every readable capture.
    pub(crate) fn forecasts(&'a self) -> impl Iterator<Item = Forecast<'a>> {
        self.folder.paths.iter().zip(&self.on_true_path).zip(&self.inferred).flat_map(
            |((path, truth), inferred)| {
                let answers = inferred.iter().filter_map(|inferred| {
                    Some(((inferred.control.as_str(), inferred.bytes), inferred.answer.as_ref().ok()?))
                });
                answers.flat_map(move |(source, answer)| {
                    answer.cells.iter().zip(truth).map(move |(cell, truth)| Forecast {
                        path,
                        source,
                        inferred: &answer.path,
                        cell,
                        matters: truth.matters(),
                    })
                })
            },
        )
    }
}

/// Errors of a group of forecasts.
#[derive(Default)]
pub(crate) struct Score {
    /// Number of forecasts.
    pub(crate) cells: usize,
    /// Number of forecasts with a completion time.
    pub(crate) answered: usize,
    /// Absolute relative errors of the medians, ascending.
    errors: Vec<f64>,
    /// Number of intervals that contain the truth.
    covered: usize,
    /// Widths of the intervals relative to the truth, ascending.
    widths: Vec<f64>,
}

impl Score {
    /// Computes the score of cells.
    pub(crate) fn of<'a>(cells: impl Iterator<Item = &'a Cell>) -> Self {
        let mut score = Self::default();
        for cell in cells {
            score.cells += 1;
            let (Some(error), Some([low, high])) = (cell.error(), cell.interval_ms()) else { continue };
            score.answered += 1;
            score.errors.push(error.abs());
            score.covered += usize::from((low..=high).contains(&cell.truth_ms));
            score.widths.push((high - low) / cell.truth_ms);
        }
        score.errors.sort_by(f64::total_cmp);
        score.widths.sort_by(f64::total_cmp);
        score
    }

    /// Quantile `p` of the absolute errors.
    pub(crate) fn error(&self, p: f64) -> Option<f64> {
        (!self.errors.is_empty()).then(|| quantile(&self.errors, p))
    }

    /// Median width of the intervals.
    pub(crate) fn width(&self) -> Option<f64> {
        (!self.widths.is_empty()).then(|| quantile(&self.widths, 0.5))
    }

    /// Share of intervals that contain the truth; `None` if the intervals have no width.
    pub(crate) fn coverage(&self) -> Option<f64> {
        (self.width()? > 0.0).then(|| self.covered as f64 / self.answered as f64)
    }
}

/// Accuracy of one path value over all captures.
#[derive(Default)]
pub(crate) struct Value {
    /// Signed errors, in the unit of the value's aim.
    pub(crate) errors: Vec<f64>,
    /// Number of captures in which the value is unknown.
    pub(crate) unknown: usize,
    /// Number of intervals that contain the truth.
    pub(crate) covered: usize,
    /// Number of errors within the aim.
    pub(crate) within: usize,
}

impl Value {
    /// Adds the estimate of `field` in one capture; `scale` divides its error, `aim` limits it.
    pub(crate) fn take(&mut self, inferred: &PathResult, field: &str, truth: f64, scale: f64, aim: f64) {
        let estimate = inferred.estimates.iter().find(|estimate| estimate.field == field);
        let Some((estimate, value)) = estimate.and_then(|e| Some((e, e.value?))) else {
            self.unknown += 1;
            return;
        };
        let error = value - truth;
        self.errors.push(error / scale);
        self.within += usize::from(error.abs() <= aim);
        let bound = |end: Option<f64>| end.unwrap_or(value);
        self.covered += usize::from((bound(estimate.low)..=bound(estimate.high)).contains(&truth));
    }

    /// Quantile `p` of the absolute errors.
    pub(crate) fn error(&self, p: f64) -> Option<f64> {
        let mut errors: Vec<f64> = self.errors.iter().map(|error| error.abs()).collect();
        errors.sort_by(f64::total_cmp);
        (!errors.is_empty()).then(|| quantile(&errors, p))
    }
}
