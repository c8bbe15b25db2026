//! What goes to standard output.

use std::io::{self, Write};

use serde::Serialize;

use crate::failure::Failure;

/// Prints `text` as it is.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::from_stdout)
}

/// Prints `value` as JSON on one line.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(&json_line(value))
}

/// `value` as a line of JSON.
pub(crate) fn json_line(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("results have text keys and finite numbers or null");
    text + "\n"
}
