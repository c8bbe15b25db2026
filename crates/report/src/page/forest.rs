//! Medians and intervals drawn beside the numbers, on one time axis for each table.

use firstflight_results::{Completion, SchemeResult};
use maud::{Markup, html};

use super::palette;
use crate::format::TimeScale;
use crate::spread::Spread;

/// Size in drawing units; the drawing is scaled to its column.
const WIDTH: f64 = 200.0;
const HEIGHT: f64 = 20.0;
/// Space for a mark at either end.
const MARGIN: f64 = 6.0;

/// Linear time axis from zero, so that lengths are proportional to times.
pub(super) struct Axis {
    end_s: f64,
    spread: Spread,
}

impl Axis {
    pub(super) fn over(results: &[&SchemeResult], spread: Spread) -> Self {
        let largest = |c: Completion| c.p95_ci95[1].max(c.p95).max(spread.ends(&c)[1]);
        let end_s = results.iter().filter_map(|r| r.completion_s).map(largest).fold(0.0, f64::max);
        Self { end_s: if end_s > 0.0 { end_s } else { 1.0 }, spread }
    }

    fn x(&self, seconds: f64) -> String {
        format!("{:.1}", MARGIN + seconds / self.end_s * (WIDTH - 2.0 * MARGIN))
    }

    /// Ends of the axis, for the column's heading.
    pub(super) fn heading(&self, scale: TimeScale) -> Markup {
        html! { span.axis { span { "0" } span { (scale.with_unit(self.end_s)) } } }
    }

    /// Median with what stands beside it, and the 95th percentile. The cells beside it list the same numbers, so screen readers
    /// skip the drawing.
    pub(super) fn mark(&self, completion: &Completion, colour: usize) -> Markup {
        let middle = HEIGHT / 2.0;
        let [low, high] = self.spread.ends(completion);
        html! {
            svg.forest.{ "c" (palette(colour)) } viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } aria-hidden="true" {
                line.rail x1=(MARGIN) x2=(WIDTH - MARGIN) y1=(middle) y2=(middle) {}
                line.tail x1=(self.x(completion.median)) x2=(self.x(completion.p95)) y1=(middle) y2=(middle) {}
                circle.p95 cx=(self.x(completion.p95)) cy=(middle) r="3.5" {}
                line.whisker x1=(self.x(low)) x2=(self.x(high)) y1=(middle) y2=(middle) {}
                line.whisker x1=(self.x(low)) x2=(self.x(low)) y1=(middle - 6.0) y2=(middle + 6.0) {}
                line.whisker x1=(self.x(high)) x2=(self.x(high)) y1=(middle - 6.0) y2=(middle + 6.0) {}
                circle.median cx=(self.x(completion.median)) cy=(middle) r="3" {}
            }
        }
    }
}
