//! Markdown tables, padded for reading on a terminal.

use std::fmt::Write as _;

/// Headings, and rows with as many cells.
pub struct Table {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates an empty table; the first column is text, the others are numbers.
    pub fn new(headings: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { headings: headings.into_iter().map(Into::into).collect(), rows: vec![] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        assert_eq!(cells.len(), self.headings.len(), "a row must have a cell per heading");
        self.rows.push(cells);
    }

    /// The table as text, followed by an empty line.
    pub fn text(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().chain([&self.headings]).map(|row| row[column].chars().count());
            cells.max().unwrap_or(0).max(3)
        };
        let widths: Vec<usize> = (0..self.headings.len()).map(width).collect();
        let mut text = String::new();
        line(&mut text, &self.headings, &widths);
        for (column, width) in widths.iter().enumerate() {
            let rule = if column == 0 { "-".repeat(width + 2) } else { "-".repeat(width + 1) + ":" };
            let _ = write!(text, "|{rule}");
        }
        text.push_str("|\n");
        for row in &self.rows {
            line(&mut text, row, &widths);
        }
        text.push('\n');
        text
    }
}

fn line(text: &mut String, cells: &[String], widths: &[usize]) {
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let padding = " ".repeat(width - cell.chars().count());
        let _ = match column {
            0 => write!(text, "| {cell}{padding} "),
            _ => write!(text, "| {padding}{cell} "),
        };
    }
    text.push_str("|\n");
}

/// A number, or a dash for none.
pub fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("–".into(), |x| format!("{x:.digits$}"))
}

/// A share in per cent, or a dash for none.
pub fn percent(share: Option<f64>, digits: usize) -> String {
    number(share.map(|share| share * 100.0), digits)
}

/// A share in per cent with its sign.
pub fn signed(value: Option<f64>, digits: usize) -> String {
    value.map_or("–".into(), |x| format!("{:+.digits$}", x * 100.0))
}
