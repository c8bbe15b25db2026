//! What is wrong with a paper's files.

use thiserror::Error;

/// One thing wrong in one file.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{file}: {what}")]
pub struct PaperError {
    /// The file, as seen from the folder of the papers.
    pub file: String,
    /// Where in it, what is wrong, and what was expected.
    pub what: String,
}

impl PaperError {
    pub(crate) fn new(file: impl Into<String>, what: impl Into<String>) -> Self {
        // A parser's message is several lines with an arrow beneath: one line is enough.
        let what: String = what.into();
        let what = what.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
        Self { file: file.into(), what }
    }
}
