//! Generated parts of the pages that describe a format.

use core::fmt::Write;

use crate::format::{Absent, Kind, Section};

/// The page with every generated part renewed, between its `<!-- generated: name -->` and `<!-- end -->` lines.
///
/// # Panics
/// If an end is missing.
pub fn renew(page: &str, part: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = page;
    while let Some((before, from)) = rest.split_once(OPEN) {
        let (name, after) = from.split_once(" -->\n").expect("a generated part is named on one line");
        let (_, after) = after.split_once(CLOSE).expect("a generated part ends");
        let _ = write!(out, "{before}{OPEN}{name} -->\n{}{CLOSE}", part(name));
        rest = after;
    }
    out + rest
}

const OPEN: &str = "<!-- generated: ";
const CLOSE: &str = "<!-- end -->";

/// Tables of the keys of these sections.
pub fn tables(sections: &[&Section]) -> String {
    tables_with(sections, |_| String::new())
}

/// The same; the text of `before` stands between the description of a section and its table.
pub fn tables_with(sections: &[&Section], before: impl Fn(&Section) -> String) -> String {
    let mut out = String::new();
    for section in sections {
        let _ = writeln!(out, "\n### {}\n\n{}\n", section.name, section.doc);
        out += &before(section);
        out.push_str("| Key | Takes | If absent | Meaning |\n|---|---|---|---|\n");
        for key in section.keys {
            let takes = match key.kind.bare() {
                Kind::Table(table) => format!("a table: {}", table.name),
                Kind::Variants(tables) => {
                    let names: Vec<_> = tables.iter().map(|table| table.name).collect();
                    format!("a table: {}", names.join(" or "))
                }
                Kind::Either(plain, table) => format!("{}, or a table: {}", plain.describe(), table.name),
                kind => kind.describe(),
            };
            let absent = match key.absent {
                Absent::Refused => "an error",
                Absent::Means(means) => means,
            };
            let _ = writeln!(out, "| `{}` | {takes} | {absent} | {} |", key.name, key.doc);
        }
    }
    out
}
