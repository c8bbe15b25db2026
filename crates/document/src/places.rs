//! Places of the keys of a file, for hosts that must refuse one.

use core::ops::Range;
use std::collections::BTreeMap;

use crate::error::{Error, Problem};
use crate::source::{Source, excerpt, position};
use crate::tree::{Tree, Value};

/// Places of the keys of a file; none for a scenario that is not from a file.
///
/// A host that does not support the value of a key refuses it with an error from here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    file: String,
    text: String,
    spans: BTreeMap<String, Range<usize>>,
}

impl Places {
    /// The places of the keys of `root`, which is the tree of `source`.
    pub fn of(source: &Source<'_>, root: &Tree) -> Self {
        let mut spans = BTreeMap::new();
        let mut open: Vec<_> = root.entries().iter().map(|entry| (entry.name.clone(), &entry.node)).collect();
        while let Some((path, node)) = open.pop() {
            match &node.value {
                Value::Table(table) => {
                    let entries = table.entries().iter();
                    open.extend(entries.map(|entry| (format!("{path}.{}", entry.name), &entry.node)));
                }
                Value::Array(array) => {
                    let elements = array.iter().enumerate();
                    open.extend(elements.map(|(i, node)| (format!("{path}[{i}]"), node)));
                }
                _ => {}
            }
            spans.insert(path, node.span.clone());
        }
        Self { file: source.file.into(), text: source.text.unwrap_or_default().into(), spans }
    }

    /// Whether the file gives `key` (`telnet[0].interval`) or a table around it.
    pub fn gives(&self, key: &str) -> bool {
        around(key).any(|path| self.spans.contains_key(path))
    }

    /// The error that a host does not support the value of `key` (`flow[0].recovery`); `why` is the reason as a whole
    /// sentence.
    ///
    /// If the file does not give the key, the error is at the innermost table around it that the file gives.
    pub fn refuse(&self, key: &str, why: impl Into<String>) -> Error {
        let mut given = around(key).filter_map(|path| Some((path, self.spans.get(path)?)));
        let found = given.next();
        let place = found.map(|(_, span)| position(&self.text, span.start));
        let value = found.filter(|(path, _)| *path == key).and_then(|(_, span)| excerpt(&self.text, span));
        Error::new(Problem::Invalid(why.into())).in_file(&self.file, place).at_key(key).with_value(value)
    }
}

/// A key and the tables around it, the innermost first.
fn around(key: &str) -> impl Iterator<Item = &str> {
    core::iter::successors(Some(key), |path| path.rfind(['.', '[']).map(|end| &path[..end]))
}
