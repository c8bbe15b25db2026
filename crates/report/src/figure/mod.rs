//! Figures as SVG: panels of lines, points and ticks stacked over one horizontal axis.
//!
//! A figure is data, and drawing is a pure function: the same figure gives the same bytes on every machine, because
//! positions are computed with arithmetic and a portable logarithm only. Colours follow the viewer's light or dark
//! setting. Lines are simplified to the resolution of a screen, so that the picture of a long run is small enough for
//! version control.

mod draw;
mod line;
mod look;
mod ratios;
mod scale;
mod scheme;
mod sequence;
mod style;
mod tradeoff;

pub(crate) use look::Look;
pub use ratios::{Ratios, Row};
pub use scheme::{BASELINE, scheme};
pub(crate) use sequence::sequence;
pub use style::{Pattern, Tone};
pub use tradeoff::{Choice, Tradeoff};

/// A drawing of one or more panels.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Title, in bold.
    pub title: String,
    /// Subtitle, in smaller type below the title; empty for none.
    pub subtitle: String,
    /// Horizontal axis, shared by all panels.
    pub x: Axis,
    /// Panels from top to bottom; at least one.
    pub panels: Vec<Panel>,
}

/// One plot area.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Height of the plot area, pixels.
    pub height: u32,
    /// Vertical axis.
    pub y: Axis,
    /// Marks in drawing order; later marks cover earlier ones.
    pub marks: Vec<Mark>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Quantity and unit: `time, s`.
    pub title: String,
    /// Ends of the axis, the smaller first; marks beyond them are clipped. `None` includes zero and every mark, with
    /// some space above.
    pub range: Option<[f64; 2]>,
    /// Spacing of numbers.
    pub spacing: Spacing,
}

/// Spacing of numbers on an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// Equal differences have equal lengths.
    #[default]
    Linear,
    /// Equal ratios have equal lengths; numbers that are not above zero are not drawn.
    Logarithmic,
}

/// A line, points or ticks in a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Name in the legend; `None` for no entry.
    pub name: Option<String>,
    /// Colour.
    pub tone: Tone,
    /// Dash of a line, form of dots; other shapes have none.
    pub pattern: Pattern,
    /// Shape and data.
    pub shape: Shape,
}

/// The shape of a mark, in units of the axes. Numbers are finite.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A line through points in ascending order of x; `None` for y interrupts it.
    Line {
        /// Points as (x, y).
        points: Vec<(f64, Option<f64>)>,
        /// Course between two points.
        course: Course,
        /// Stroke.
        stroke: Stroke,
    },
    /// A horizontal line across the panel.
    Level {
        /// Height on the vertical axis.
        y: f64,
        /// Stroke.
        stroke: Stroke,
    },
    /// Dots of the form of their pattern, each with a label that may be empty.
    Points(Vec<Point>),
    /// Hollow rings at (x, y), for published values.
    Rings(Vec<(f64, f64)>),
    /// Crosses at (x, y), for values of another simulator.
    Crosses(Vec<(f64, f64)>),
    /// Vertical bars (x, low, high), for intervals.
    Bars(Vec<(f64, f64, f64)>),
    /// Short ticks at these x, hanging from the top of the panel.
    Ticks(Vec<f64>),
}

/// Course of a line between two points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// A straight line.
    Straight,
    /// A step: a value holds until the next one.
    Steps,
}

/// Stroke of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// For the subject of the figure.
    Solid,
    /// For comparison.
    Thin,
    /// For limits and thresholds.
    Dashed,
}

/// A dot.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Position on the horizontal axis.
    pub x: f64,
    /// Position on the vertical axis.
    pub y: f64,
    /// Text beside the dot; empty for none.
    pub label: String,
}

impl Figure {
    /// The figure as an SVG document, 760 pixels wide.
    ///
    /// # Panics
    /// If it has no panel.
    pub fn svg(&self) -> String {
        draw::document(self)
    }

    /// The figure as an element of a page, which defines its colours; `label` describes it. A page may have one.
    pub(crate) fn element(&self, label: &str) -> String {
        draw::element(self, label)
    }
}
