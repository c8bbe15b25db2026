//! Files of other formats in the notation of scenarios: the same quantities, the same checks, the same errors.

use toml::de::DeTable;

use crate::error::Error;
use crate::format::Section;
use crate::limits;
use crate::read::too_long;
use crate::scheme::BUILT_IN;
use crate::source::Source;
pub use crate::source::{Item, Table};
use crate::tree::Tree;

/// Reads the text of a file whose root is `section`; `file` is its name in errors.
///
/// # Errors
/// The first [`Error`] found: of the syntax, of the keys of the root, or of `read`.
pub fn read<T>(
    text: &str,
    file: &str,
    section: &'static Section,
    read: impl FnOnce(&Table<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    if text.len() as u64 > limits::FILE {
        return Err(too_long(file));
    }
    let source = Source { file, text: Some(text), folder: None, schemes: BUILT_IN };
    let document = DeTable::parse(text).map_err(|error| source.syntax(&error))?;
    let tree = Tree::of_toml(document.get_ref());
    read(&Table::root(&source, &tree, section)?)
}
