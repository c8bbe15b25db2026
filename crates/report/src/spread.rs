//! The two things that may stand beside a median: its own interval, and the range of a further transfer.

use firstflight_results::{Completion, PathResult};

/// Meaning of the ranges beside the medians of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// 95 % interval of the median, where the path is given.
    Median,
    /// Range of a further transfer over the path of a capture.
    Further,
}

impl Spread {
    pub(crate) fn of(path: &PathResult) -> Self {
        if path.inferred_from.is_some() { Self::Further } else { Self::Median }
    }

    /// Lower and upper end, seconds.
    pub(crate) fn ends(self, completion: &Completion) -> [f64; 2] {
        match self {
            Self::Median => completion.ci95,
            Self::Further => [completion.quantiles[0], completion.quantiles[4]],
        }
    }

    /// Name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Median => "interval of the median (95\u{a0}%)",
            Self::Further => "range of a further transfer (90\u{a0}%)",
        }
    }
}
