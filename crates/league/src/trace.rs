//! The trace of a grid, placed within the grid.

use firstflight_document::Error;
use toml::{Table, Value};

/// Puts the text of the trace that the grid's path names in place of the file's name; `text_of` gives the text of a file.
pub(crate) fn place_trace(
    grid: &mut Table,
    text_of: impl FnOnce(&str) -> Result<String, Error>,
) -> Result<(), Error> {
    let path = grid.get_mut("base").and_then(|base| base.get_mut("path"));
    let Some(trace) = path.and_then(|path| path.get_mut("trace")) else { return Ok(()) };
    let keys = match trace {
        Value::String(file) => Table::from_iter([("file".to_owned(), Value::String(file.clone()))]),
        Value::Table(keys) => keys.clone(),
        _ => return Ok(()),
    };
    let Some(Value::String(file)) = keys.get("file") else { return Ok(()) };
    let text = text_of(file)?;
    let others =
        keys.iter().filter(|(key, _)| *key != "file").map(|(key, value)| (key.clone(), value.clone()));
    *trace = Value::Table(others.chain([("text".to_owned(), Value::String(text))]).collect());
    Ok(())
}
