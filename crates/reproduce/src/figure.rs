//! Figures and tables of a paper, as they are drawn from what is measured.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::expression::{Chain, parse};

/// A `[[figure]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Names its picture.
    pub id: String,
    /// Where in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// What it shows.
    pub title: String,
    /// What must be known to read it.
    #[serde(default)]
    pub about: String,
    /// Whether it can be drawn from runs; if not, `about` says why.
    #[serde(default = "yes")]
    pub shown: bool,
    /// The axis that is horizontal.
    #[serde(default)]
    pub x: String,
    /// Whether that is logarithmic.
    #[serde(default)]
    pub log_x: bool,
    /// From top to bottom.
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
    /// What is vertical, with its unit.
    pub y: String,
    /// What is drawn.
    pub show: Shown,
    /// Whether the vertical axis is logarithmic.
    #[serde(default)]
    pub log_y: bool,
}

/// Points as printed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    /// In which panel, the first being 0.
    #[serde(default)]
    pub panel: usize,
    /// Of which line.
    pub line: String,
    /// The points.
    pub points: Vec<[f64; 2]>,
}

/// A `[[table]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Its name.
    pub id: String,
    /// Where in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// What it shows.
    pub title: String,
    /// What must be known to read it.
    #[serde(default)]
    pub about: String,
    /// Whether it can be made from runs; if not, `about` says why.
    #[serde(default = "yes")]
    pub shown: bool,
    /// The axis whose points are rows; without it, one row.
    #[serde(default)]
    pub rows: String,
    /// The axis whose points are columns.
    #[serde(default)]
    pub columns: String,
    /// What it shows.
    #[serde(default)]
    pub show: Option<Shown>,
    /// Decimals.
    #[serde(default = "one")]
    pub digits: usize,
    /// By row, what the paper prints; not a number where it prints nothing.
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
    /// As it was written.
    pub text: String,
    /// The same, read; it is no comparison.
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
