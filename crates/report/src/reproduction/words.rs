//! The page of words: each with its tolerance, and every line that uses it beside the paper's sentence.

use firstflight_reproduce::judge::Judged;
use firstflight_reproduce::library::Library;

use super::markdown::{cell, text};
use super::summary::link;

pub(super) fn page(library: &Library, judged: &[Judged]) -> String {
    let mut out = String::from(
        "# Words and tolerances\n\nOne table for all papers (`papers/words.toml`), fixed before runs are judged. A statement names a word and \
         has no tolerance of its own.\n\n",
    );
    for (name, word) in library.words.iter() {
        out += &format!("## {}\n\n{}.\n\n", text(name), text(&word.means));
        let uses = |row: &&Judged| row.statements.iter().any(|one| one.word.as_deref() == Some(name));
        let rows: Vec<&Judged> = judged.iter().filter(uses).collect();
        if !word.quoted {
            let names: Vec<String> = rows.iter().map(|row| link(library, row)).collect();
            out +=
                &format!("Lines: {}.\n\n", if names.is_empty() { "none".into() } else { names.join(", ") });
            continue;
        }
        out += "| line | the paper's sentence |\n|---|---|\n";
        for row in rows {
            out +=
                &format!("| {} | {} |\n", link(library, row), cell(row.says.as_deref().unwrap_or_default()));
        }
        out += "\n";
    }
    out
}
