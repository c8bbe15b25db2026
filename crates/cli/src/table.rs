//! Plain-text tables.

use firstflight_report::{printable, wrap};

/// Alignment of a column.
#[derive(Clone, Copy)]
pub(crate) enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

/// Space between two columns.
const GAP: &str = "  ";

/// Width of the output in columns if it goes into a file or a pipe.
const COLUMNS: usize = 120;

/// Width of the terminal in columns; [`COLUMNS`] if the output is no terminal.
pub(crate) fn terminal_columns() -> usize {
    console::Term::stdout().size_checked().map_or(COLUMNS, |(_, columns)| columns.into())
}

/// A table that fits the terminal; see [`fitted`].
pub(crate) fn table<const N: usize>(columns: [(&str, Align); N], rows: &[[String; N]]) -> String {
    fitted(columns, rows, terminal_columns())
}

/// A table of at most `width` columns, with two spaces between columns and no trailing spaces. Cells are escaped. A column
/// without any text is left out.
///
/// Each row is one line if the table fits so. Otherwise headings and words are wrapped, in the widest columns first. Where
/// not even that fits, each row is a paragraph that names the value of each column. Only a word longer than a line makes a
/// line longer than `width`.
pub(crate) fn fitted<const N: usize>(
    columns: [(&str, Align); N],
    rows: &[[String; N]],
    width: usize,
) -> String {
    let rows: Vec<[String; N]> = rows.iter().map(|row| row.each_ref().map(|cell| printable(cell))).collect();
    match widths(&columns, &rows, width) {
        Some(widths) => {
            let heading = columns.map(|(name, _)| name.to_owned());
            std::iter::once(&heading).chain(&rows).map(|row| lines(row, &columns, &widths)).collect()
        }
        None => rows.iter().map(|row| paragraph(row, &columns, width)).collect(),
    }
}

/// Widths of the columns, zero of one without any text; `None` if the table cannot be made as narrow as `width`.
fn widths<const N: usize>(
    columns: &[(&str, Align); N],
    rows: &[[String; N]],
    width: usize,
) -> Option<[usize; N]> {
    let length = |text: &str| text.chars().count();
    let longest_word = |text: &str| text.split(' ').map(length).max().unwrap_or(0);
    let largest = |i: usize, of_cell: &dyn Fn(&str) -> usize, heading: usize| {
        rows.iter().map(|row| of_cell(&row[i])).chain([heading]).max().unwrap_or(0)
    };
    let natural: [usize; N] = std::array::from_fn(|i| largest(i, &length, length(columns[i].0)));
    // Only words are wrapped; a number and its unit stay on one line.
    let least: [usize; N] = std::array::from_fn(|i| {
        let of_cell: &dyn Fn(&str) -> usize = match columns[i].1 {
            Align::Left => &longest_word,
            Align::Right => &length,
        };
        largest(i, of_cell, longest_word(columns[i].0))
    });
    let shown = natural.iter().filter(|width| **width > 0).count();
    let room = width.saturating_sub(GAP.len() * shown.saturating_sub(1));
    let capped = |cap: usize| -> [usize; N] { std::array::from_fn(|i| natural[i].min(cap).max(least[i])) };
    let fits = |cap: &usize| capped(*cap).iter().sum::<usize>() <= room;
    let widest = natural.into_iter().max().unwrap_or(0);
    (0..=widest).rev().find(fits).map(capped)
}

/// One row as lines.
fn lines<const N: usize>(row: &[String; N], columns: &[(&str, Align); N], widths: &[usize; N]) -> String {
    let cells: [Vec<String>; N] = std::array::from_fn(|i| wrap(&row[i], widths[i]));
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let mut out = String::new();
    for line in 0..height {
        let set = |i: usize| {
            let (text, width) = (cells[i].get(line).map_or("", String::as_str), widths[i]);
            match columns[i].1 {
                Align::Left => format!("{text:<width$}"),
                Align::Right => format!("{text:>width$}"),
            }
        };
        out += (0..N).filter(|i| widths[*i] > 0).map(set).collect::<Vec<_>>().join(GAP).trim_end();
        out.push('\n');
    }
    out
}

/// One row as a paragraph: its first cell, and below it the other columns and their values.
fn paragraph<const N: usize>(row: &[String; N], columns: &[(&str, Align); N], width: usize) -> String {
    let named = row.iter().zip(columns).skip(1).filter(|(cell, _)| !cell.is_empty());
    let value = |(cell, (name, align)): (&String, &(&str, Align))| match align {
        Align::Left => format!("{name}: {cell}"),
        // A number and its unit stay on one line.
        Align::Right => format!("{name}: {}", cell.replace(' ', "\u{a0}")),
    };
    let values: Vec<String> = named.map(value).collect();
    let below = wrap(&values.join("; "), width.saturating_sub(GAP.len()));
    let below = below.iter().map(|line| format!("{GAP}{line}\n").replace('\u{a0}', " "));
    std::iter::once(format!("{}\n", row[0])).chain(below).collect()
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
    fn a_column_without_any_text_is_left_out_with_its_gap() {
        let rows = [["a", "", "10"], ["b", "", "9"]].map(|row| row.map(str::to_owned));
        let columns = [("name", Align::Left), ("", Align::Right), ("n", Align::Right)];
        assert_eq!(fitted(columns, &rows, 8), "name   n\na     10\nb      9\n");
    }

    const FRUIT: [(&str, Align); 3] =
        [("name", Align::Left), ("mean count", Align::Right), ("what it is", Align::Left)];

    fn fruit(width: usize) -> String {
        let rows = [["apple", "10 kg", "a round fruit of a tree"], ["fig", "9 kg", "sweet"]];
        fitted(FRUIT, &rows.map(|row| row.map(str::to_owned)), width)
    }

    #[test]
    fn a_table_is_wrapped_in_its_widest_columns_first_and_numbers_stay_whole() {
        assert_eq!(
            fruit(42),
            "name   mean count  what it is\napple       10 kg  a round fruit of a tree\nfig          9 kg  sweet\n"
        );
        assert_eq!(
            fruit(41),
            "name   mean count  what it is\napple       10 kg  a round fruit of a\n                   tree\n\
             fig          9 kg  sweet\n"
        );
        // 5 columns of names and of numbers, 5 for "round", and two gaps are the least.
        assert_eq!(
            fruit(19),
            "name    mean  what\n       count  it is\napple  10 kg  a\n              round\n              fruit\n              \
             of a\n              tree\nfig     9 kg  sweet\n"
        );
    }

    #[test]
    fn a_table_that_is_still_too_wide_becomes_paragraphs() {
        assert_eq!(
            fruit(18),
            "apple\n  mean count:\n  10 kg; what it\n  is: a round\n  fruit of a tree\nfig\n  mean count:\n  9 kg; what it\n  is: sweet\n"
        );
    }

    #[test]
    fn cells_are_escaped_before_they_are_aligned() {
        let text =
            table([("name", Align::Left), ("n", Align::Right)], &[["a\n\u{1b}b".to_owned(), "1".to_owned()]]);
        assert_eq!(text, "name           n\na\\u{a}\\u{1b}b  1\n");
    }
}
