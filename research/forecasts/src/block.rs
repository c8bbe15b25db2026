//! Generated blocks of pages.

use std::path::Path;

/// Line that ends a generated block.
const END: &str = "<!-- end of generated -->";

/// Replaces the block of a file that begins with the line `begin` by `text`.
///
/// # Errors
/// A sentence, if the file cannot be read or written, or has no such block.
pub fn write(file: &Path, begin: &str, text: &str) -> Result<(), String> {
    let at = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
    let old = std::fs::read_to_string(file).map_err(|error| at(&error))?;
    let block = old.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = block.ok_or_else(|| at(&format!("expected {begin} and {END}")))?;
    let new = format!("{before}{begin}\n\n{}\n{END}{after}", text.trim_end());
    std::fs::write(file, new).map_err(|error| at(&error))
}
