//! Plain-text tables.

use firstflight_report::printable;

/// Alignment of a column.
#[derive(Clone, Copy)]
pub(crate) enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

/// A table with one line per row, two spaces between columns and no trailing spaces. Cells are escaped.
pub(crate) fn table<const N: usize>(columns: [(&str, Align); N], rows: &[[String; N]]) -> String {
    let rows: Vec<[String; N]> = rows.iter().map(|row| row.each_ref().map(|cell| printable(cell))).collect();
    let width = |i: usize| {
        let cells = rows.iter().map(|row| row[i].chars().count());
        cells.chain([columns[i].0.chars().count()]).max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let mut out = String::new();
    let mut line = |cells: [&str; N]| {
        let set = |(i, cell): (usize, &str)| match columns[i].1 {
            Align::Left => format!("{cell:<width$}", width = widths[i]),
            Align::Right => format!("{cell:>width$}", width = widths[i]),
        };
        let text = cells.into_iter().enumerate().map(set).collect::<Vec<_>>().join("  ");
        out.push_str(text.trim_end());
        out.push('\n');
    };
    line(columns.map(|(name, _)| name));
    for row in &rows {
        line(std::array::from_fn(|i| &*row[i]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_aligned_left_and_numbers_right() {
        let rows = [["a".to_owned(), "10".to_owned()], ["longer".to_owned(), "9".to_owned()]];
        let text = table([("name", Align::Left), ("n", Align::Right)], &rows);
        assert_eq!(text, "name     n\na       10\nlonger   9\n");
    }
    #[test]
    fn cells_are_escaped_before_they_are_aligned() {
        let text =
            table([("name", Align::Left), ("n", Align::Right)], &[["a\n\u{1b}b".to_owned(), "1".to_owned()]]);
        assert_eq!(text, "name           n\na\\u{a}\\u{1b}b  1\n");
    }
}
