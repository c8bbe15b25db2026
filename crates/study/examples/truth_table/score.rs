//! How near the forecasts are, over groups of them.

use firstflight_results::PathResult;
use firstflight_study::stats::quantile;

use crate::foretell::{Cell, Told};
use crate::truth::{Folder, TruePath};

/// Everything foretold of one folder, in the order of its paths.
pub(crate) struct Foretold<'a> {
    /// The folder.
    pub(crate) folder: &'a Folder,
    /// For each path, every transfer on the path itself.
    pub(crate) on_true_path: Vec<Vec<Cell>>,
    /// For each path, what each of its captures tells.
    pub(crate) told: Vec<Vec<Told>>,
}

/// A transfer foretold from a capture.
pub(crate) struct Forecast<'a> {
    /// The path.
    pub(crate) path: &'a TruePath,
    /// The capture's control and size.
    pub(crate) source: (&'a str, u64),
    /// The path it tells of.
    pub(crate) told: &'a PathResult,
    /// The transfer.
    pub(crate) cell: &'a Cell,
    /// Whether loss or an early exit of start-up has a part in the transfer.
    pub(crate) matters: bool,
}

impl Forecast<'_> {
    /// Whether another control was captured than is foretold.
    pub(crate) fn crosses(&self) -> bool {
        self.source.0 != self.cell.control
    }

    /// Whether the capture told what decides on loss: rate, round trip and buffer.
    pub(crate) fn told_all(&self) -> bool {
        let told = self.told;
        told.rate_bit_s.is_some() && told.rtt_ms.is_some() && told.buffer_packets.is_some()
    }
}

impl<'a> Foretold<'a> {
    /// Every forecast from every capture that could be read.
    pub(crate) fn forecasts(&'a self) -> impl Iterator<Item = Forecast<'a>> {
        self.folder.paths.iter().zip(&self.on_true_path).zip(&self.told).flat_map(|((path, truth), told)| {
            let answers = told
                .iter()
                .filter_map(|told| Some(((told.control.as_str(), told.bytes), told.answer.as_ref().ok()?)));
            answers.flat_map(move |(source, answer)| {
                answer.cells.iter().zip(truth).map(move |(cell, truth)| Forecast {
                    path,
                    source,
                    told: &answer.path,
                    cell,
                    matters: truth.matters(),
                })
            })
        })
    }
}

/// The errors of a group of forecasts.
#[derive(Default)]
pub(crate) struct Score {
    /// How many there are.
    pub(crate) cells: usize,
    /// Of them, those whose path was told well enough for a number.
    pub(crate) answered: usize,
    /// Absolute relative errors of the medians, ascending.
    errors: Vec<f64>,
    /// Intervals that hold the truth.
    covered: usize,
    /// Widths of the intervals as shares of the truth, ascending.
    widths: Vec<f64>,
}

impl Score {
    /// Scores cells.
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

    /// The absolute error below which a share `p` of the answered cells lies.
    pub(crate) fn error(&self, p: f64) -> Option<f64> {
        (!self.errors.is_empty()).then(|| quantile(&self.errors, p))
    }

    /// Median width of the intervals.
    pub(crate) fn width(&self) -> Option<f64> {
        (!self.widths.is_empty()).then(|| quantile(&self.widths, 0.5))
    }

    /// Share of the answered cells whose interval holds the truth; `None` where intervals have no width.
    pub(crate) fn coverage(&self) -> Option<f64> {
        (self.width()? > 0.0).then(|| self.covered as f64 / self.answered as f64)
    }
}

/// One value of the path over the captures that tell it.
#[derive(Default)]
pub(crate) struct Value {
    /// Errors in the unit of the value's aim, with their sign.
    pub(crate) errors: Vec<f64>,
    /// Captures that cannot tell.
    pub(crate) unknown: usize,
    /// Intervals that hold the truth.
    pub(crate) covered: usize,
    /// Within the aim.
    pub(crate) within: usize,
}

impl Value {
    /// Takes up what one capture tells in `field`, against the truth; `scale` divides the error, `aim` bounds it.
    pub(crate) fn take(&mut self, told: &PathResult, field: &str, truth: f64, scale: f64, aim: f64) {
        let estimate = told.estimates.iter().find(|estimate| estimate.field == field);
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

    /// The absolute error below which a share `p` lies.
    pub(crate) fn error(&self, p: f64) -> Option<f64> {
        let mut errors: Vec<f64> = self.errors.iter().map(|error| error.abs()).collect();
        errors.sort_by(f64::total_cmp);
        (!errors.is_empty()).then(|| quantile(&errors, p))
    }
}
