//! Figures as SVG: panels of lines, points and ticks stacked over one horizontal axis.
//!
//! A figure is data, and drawing it is a pure function: the same figure gives the same bytes on every machine, because
//! nothing but arithmetic, and logarithms that are the same everywhere, decides where a mark is. Colours follow the viewer's
//! light or dark setting. Lines are thinned to what a screen can tell apart, so that a picture of a long run stays
//! small enough to be kept under version control.

mod draw;
mod line;
mod scale;
mod style;

pub use style::Tone;

/// A drawing of one or more panels.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it shows, in bold.
    pub title: String,
    /// Under what conditions, in smaller type beneath; empty for nothing.
    pub subtitle: String,
    /// The horizontal axis, which all panels share.
    pub x: Axis,
    /// From top to bottom; at least one.
    pub panels: Vec<Panel>,
}

/// One plot area.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Height of the plot area, pixels.
    pub height: u32,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, later ones over earlier ones.
    pub marks: Vec<Mark>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it measures, with its unit: `time, s`.
    pub title: String,
    /// Its ends, the smaller first; marks beyond are cut off. `None` spans zero and every mark, with a little room
    /// above.
    pub range: Option<[f64; 2]>,
    /// How numbers are spaced.
    pub spacing: Spacing,
}

/// How an axis spaces numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// Evenly.
    #[default]
    Linear,
    /// By their ratios; numbers that are not above zero are not drawn.
    Logarithmic,
}

/// Something drawn in a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Its name in the legend; `None` leaves it out.
    pub name: Option<String>,
    /// Its colour.
    pub tone: Tone,
    /// What it is.
    pub shape: Shape,
}

/// The shape of a mark, in units of the axes. Numbers are finite.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A line through points in ascending order of x; `None` for y interrupts it.
    Line {
        /// The points.
        points: Vec<(f64, Option<f64>)>,
        /// How it leads from one to the next.
        course: Course,
        /// How it is drawn.
        stroke: Stroke,
    },
    /// A line across the panel at this y.
    Level {
        /// Where.
        y: f64,
        /// How it is drawn.
        stroke: Stroke,
    },
    /// Dots, each with a text beside it, which may be empty.
    Points(Vec<Point>),
    /// Hollow rings: what others printed.
    Rings(Vec<(f64, f64)>),
    /// Crosses: what another simulator gives.
    Crosses(Vec<(f64, f64)>),
    /// Upright bars from the second to the third number: intervals.
    Bars(Vec<(f64, f64, f64)>),
    /// Short ticks hanging from the top of the panel, at these x.
    Ticks(Vec<f64>),
}

/// How a line leads from one point to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// Straight.
    Straight,
    /// A value holds until the next one is reached: a register over time.
    Steps,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// What the figure is about.
    Solid,
    /// What it is compared with.
    Thin,
    /// A limit or a threshold.
    Dashed,
}

/// A dot.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Where, on the horizontal axis.
    pub x: f64,
    /// Where, on the vertical axis.
    pub y: f64,
    /// Text beside it; empty for none.
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
}
