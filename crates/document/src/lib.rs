//! Files in the notation of scenarios: tables of keys, quantities, one shape of errors, schema and reference.
//!
//! A format declares its tables once ([`format::Section`]). [`read`] looks keys up there, and the JSON Schema and the reference are
//! made of the same rows.

pub mod calendar;
mod error;
pub mod file;
pub mod format;
pub mod limits;
mod places;
pub mod quantity;
pub mod reference;
pub mod schema;
pub mod seconds;
mod source;
mod tree;
mod values;

pub use error::{Error, Fault, Place, Problem, QuantityProblem, clipped, nearest, token};
pub use places::Places;
pub use source::{Item, Source, Table, position};
pub use tree::{Entry, Node, Own, Tree, Value, quoted};
pub use values::is_name;

/// Reads the text of a file whose root is `section`; `file` is its name in errors.
///
/// # Errors
/// The first [`Error`] found: of the syntax, of the keys of the root, or of `read`.
pub fn read<T>(
    text: &str,
    file: &str,
    section: &'static format::Section,
    read: impl FnOnce(&Table<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let source = Source { file, text: Some(text), ..Source::default() };
    read(&Table::root(&source, &source.tree()?, section)?)
}
