//! Figures and tables of a paper, drawn from measured values.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::expression::{Chain, parse};

/// A `[[figure]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Name of the picture.
    pub id: String,
    /// Place in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// Title.
    pub title: String,
    /// Remarks.
    #[serde(default)]
    pub about: String,
    /// Whether the figure can be drawn from runs; if not, `about` has the reason.
    #[serde(default = "yes")]
    pub shown: bool,
    /// Name of the horizontal axis.
    #[serde(default)]
    pub x: String,
    /// Whether the horizontal axis is logarithmic.
    #[serde(default)]
    pub log_x: bool,
    /// Panels, from top to bottom.
    #[serde(default, rename = "panel")]
    pub panels: Vec<Panel>,
    /// Points that the paper prints.
    #[serde(default)]
    pub printed: Vec<Printed>,
}

fn yes() -> bool {
    true
}

/// One plot area: a line for every point of the other axis, or of the others together.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// Vertical quantity, with its unit.
    pub y: String,
    /// Expression that is drawn.
    pub show: Shown,
    /// Whether the vertical axis is logarithmic.
    #[serde(default)]
    pub log_y: bool,
}

/// Points printed in the paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    /// Index of the panel, from 0.
    #[serde(default)]
    pub panel: usize,
    /// Name of the line.
    pub line: String,
    /// Points: horizontal and vertical value.
    pub points: Vec<[f64; 2]>,
}

/// A `[[table]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Name of the table.
    pub id: String,
    /// Place in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// Title.
    pub title: String,
    /// Remarks.
    #[serde(default)]
    pub about: String,
    /// Whether the table can be made from runs; if not, `about` has the reason.
    #[serde(default = "yes")]
    pub shown: bool,
    /// Axis whose points are rows; empty for one row.
    #[serde(default)]
    pub rows: String,
    /// Axis whose points are columns; empty for one column.
    #[serde(default)]
    pub columns: String,
    /// Expression that is shown.
    #[serde(default)]
    pub show: Option<Shown>,
    /// Decimals.
    #[serde(default = "one")]
    pub digits: usize,
    /// Values printed in the paper, by row; not a number where the paper prints nothing.
    #[serde(default)]
    pub printed: BTreeMap<String, Vec<f64>>,
}

fn one() -> usize {
    1
}

/// An expression in a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Shown {
    /// Text as written.
    pub text: String,
    /// The text, parsed; not a comparison.
    pub chain: Chain,
}

impl TryFrom<String> for Shown {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let chain = parse(&text)?;
        match chain.then.is_empty() {
            true => Ok(Self { text, chain }),
            false => Err(format!("\"{text}\": a comparison cannot be drawn")),
        }
    }
}
