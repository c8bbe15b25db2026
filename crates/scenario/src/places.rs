//! Where every key of a file stands, for hosts that must refuse one.

use core::ops::Range;
use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

use crate::error::{Error, Problem};
use crate::source::Source;

/// Where every key of a file stands. A host that cannot do what a key asks refuses it with an error from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    file: String,
    text: String,
    spans: BTreeMap<String, Range<usize>>,
}

impl Places {
    pub(crate) fn of(source: &Source<'_>, root: &DeTable<'_>) -> Self {
        let mut spans = BTreeMap::new();
        let mut open: Vec<_> = root.iter().map(|(name, value)| (name.get_ref().to_string(), value)).collect();
        while let Some((path, value)) = open.pop() {
            match value.get_ref() {
                DeValue::Table(table) => {
                    open.extend(
                        table.iter().map(|(name, value)| (format!("{path}.{}", name.get_ref()), value)),
                    );
                }
                DeValue::Array(array) => {
                    open.extend(array.iter().enumerate().map(|(i, value)| (format!("{path}[{i}]"), value)));
                }
                _ => {}
            }
            spans.insert(path, value.span());
        }
        Self { file: source.file.into(), text: source.text.into(), spans }
    }

    /// The error that a host cannot do what `key` (`flow[0].recovery`) asks; `why` says it in full.
    ///
    /// Where the file does not give the key, the error points at the innermost table around it that it does give.
    pub fn refuse(&self, key: &str, why: impl Into<String>) -> Error {
        let source = Source { file: &self.file, text: &self.text, folder: None };
        let around = core::iter::successors(Some(key), |path| path.rfind(['.', '[']).map(|end| &path[..end]));
        let mut given = around.filter_map(|path| Some((path, self.spans.get(path)?)));
        let found = given.next();
        let place = found.map(|(_, span)| source.place(span.start));
        let value = found.filter(|(path, _)| *path == key).and_then(|(_, span)| source.excerpt(span));
        Error::new(&self.file, place, key, Problem::Impossible(why.into())).with_value(value)
    }
}
