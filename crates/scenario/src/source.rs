//! A file under the reader's eyes: tables and values that know where they stand.

use core::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Error, Problem, clipped, nearest};
use crate::format::{Kind, Section, kinds};
use crate::limits;
use crate::quantity::QuantityError;
use crate::trace::{LinkTrace, LoadError, text_beside};

/// The text of a file and its name.
pub(crate) struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
    /// Where the files are that it names; `None` if it is in no file itself.
    pub folder: Option<&'a Path>,
}

impl Source<'_> {
    /// Line and column of a byte, both from 1.
    pub(crate) fn place(&self, at: usize) -> (usize, usize) {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// What stands there, on one line and not too long.
    pub(crate) fn excerpt(&self, span: &Range<usize>) -> Option<String> {
        Some(clipped(&self.text.get(span.clone())?.split_whitespace().collect::<Vec<_>>().join(" ")))
    }

    pub(crate) fn syntax(&self, error: &toml::de::Error) -> Error {
        let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
        let place = error.span().map(|span| self.place(span.start));
        Error::new(self.file, place, "", Problem::Syntax(message))
    }
}

/// A table, its keys already checked against the format.
#[derive(Clone)]
pub(crate) struct Table<'a> {
    source: &'a Source<'a>,
    path: String,
    span: Range<usize>,
    entries: &'a DeTable<'a>,
    section: &'static Section,
}

/// A value, with what the format says of it.
#[derive(Clone)]
pub(crate) struct Item<'a> {
    source: &'a Source<'a>,
    path: String,
    span: Range<usize>,
    pub value: &'a DeValue<'a>,
    pub kind: &'static Kind,
}

impl<'a> Table<'a> {
    pub(crate) fn root(
        source: &'a Source<'a>,
        document: &'a Spanned<DeTable<'a>>,
        section: &'static Section,
    ) -> Result<Self, Error> {
        Self::new(source, String::new(), 0..0, document.get_ref(), section)
    }

    fn new(
        source: &'a Source<'a>,
        path: String,
        span: Range<usize>,
        entries: &'a DeTable<'a>,
        section: &'static Section,
    ) -> Result<Self, Error> {
        let table = Self { source, path, span, entries, section };
        let known = |name: &str| section.keys.iter().find(|key| key.name == name);
        let mut keys: Vec<_> = entries.iter().collect();
        keys.sort_by_key(|(key, _)| key.span().start);
        for (name, value) in keys {
            let item = |kind| Item {
                source,
                path: table.child(name.get_ref()),
                span: value.span(),
                value: value.get_ref(),
                kind,
            };
            if known(name.get_ref()).is_none() {
                let names = section.keys.iter().map(|key| key.name);
                return Err(item(&Kind::Text)
                    .fail(Problem::UnknownKey)
                    .with_place(source.place(name.span().start))
                    .expecting(Some(format!("one of: {}", names.clone().collect::<Vec<_>>().join(", "))))
                    .near(nearest(name.get_ref(), names)));
            }
        }
        Ok(table)
    }

    fn child(&self, name: &str) -> String {
        if self.path.is_empty() { name.into() } else { format!("{}.{name}", self.path) }
    }

    /// The value of a key, if it is given.
    pub(crate) fn get(&self, name: &str) -> Option<Item<'a>> {
        let key = self.section.key(name);
        let value = self.entries.get(name)?;
        Some(Item {
            source: self.source,
            path: self.child(name),
            span: value.span(),
            value: value.get_ref(),
            kind: &key.kind,
        })
    }

    /// The value of a key that must be given.
    pub(crate) fn need(&self, name: &str) -> Result<Item<'a>, Error> {
        self.get(name).ok_or_else(|| self.missing(name))
    }

    /// The error that a key is missing.
    pub(crate) fn missing(&self, name: &str) -> Error {
        self.fail(Problem::Missing, Some(self.section.key(name).kind.describe())).with_key(self.child(name))
    }

    /// An error about the table as a whole.
    pub(crate) fn fail(&self, problem: Problem, expected: Option<String>) -> Error {
        let place = Some(self.source.place(self.span.start));
        Error::new(self.source.file, place, &*self.path, problem).expecting(expected)
    }

    /// The one key that is given, of a table whose keys exclude each other.
    pub(crate) fn only(&self) -> Result<(&'static str, Item<'a>), Error> {
        let given: Vec<_> =
            self.section.keys.iter().filter_map(|key| Some((key.name, self.get(key.name)?))).collect();
        match <[_; 1]>::try_from(given) {
            Ok([one]) => Ok(one),
            Err(several) => Err(self.fail(
                Problem::Impossible(format!("{} of its keys are given", several.len())),
                Some(format!(
                    "exactly one of: {}",
                    self.section.keys.iter().map(|k| k.name).collect::<Vec<_>>().join(", ")
                )),
            )),
        }
    }
}

impl<'a> Item<'a> {
    /// An error about this value.
    pub(crate) fn fail(&self, problem: Problem) -> Error {
        let written = self.value.as_str().unwrap_or_default();
        let nearest = match &problem {
            Problem::Quantity(QuantityError::UnknownUnit { unit, units }) => {
                nearest(unit, units.iter().copied())
            }
            Problem::Quantity(QuantityError::NotANumber) => nearest(written, self.kind.word()),
            _ => None,
        };
        let excerpt = self.source.excerpt(&self.span);
        // A table under a heading is no value to show.
        let value = excerpt.filter(|text| !self.value.is_table() || text.starts_with('{'));
        Error::new(self.source.file, Some(self.source.place(self.span.start)), &*self.path, problem)
            .with_value(value)
            .expecting(Some(self.kind.describe()))
            .near(nearest)
    }

    /// An error about this value that says all there is to say.
    pub(crate) fn impossible(&self, why: impl Into<String>) -> Error {
        self.fail(Problem::Impossible(why.into())).expecting(None)
    }

    /// The error that the value has the wrong type.
    pub(crate) fn wrong_type(&self) -> Error {
        self.fail(Problem::WrongType(match self.value {
            DeValue::String(_) => "this is a text",
            DeValue::Integer(_) | DeValue::Float(_) => "this is a number",
            DeValue::Boolean(_) => "this is a flag",
            DeValue::Datetime(_) => "this is a date",
            DeValue::Array(_) => "this is an array",
            DeValue::Table(_) => "this is a table",
        }))
    }

    /// The same value read as another kind.
    pub(crate) fn of_kind(&self, kind: &'static Kind) -> Self {
        Self { kind, ..self.clone() }
    }

    pub(crate) fn text(&self) -> Result<&'a str, Error> {
        match self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong_type()),
        }
    }

    /// The trace in the file that the value names.
    pub(crate) fn trace(&self) -> Result<LinkTrace, Error> {
        LinkTrace::load(self.text()?, self.folder()?).map_err(|error| match error {
            LoadError::Unreadable(why) => self.fail(Problem::Unreadable(why)),
            LoadError::Wrong(error) => error,
        })
    }

    /// The text of the file that it names, and what errors call that.
    pub(crate) fn attached(&self) -> Result<(String, String), Error> {
        text_beside(self.text()?, self.folder()?, limits::FILE)
            .map_err(|why| self.fail(Problem::Unreadable(why)))
    }

    /// Where files are that the scenario names.
    fn folder(&self) -> Result<&Path, Error> {
        let nowhere = || self.impossible("a text that is in no file itself cannot name one");
        self.source.folder.ok_or_else(nowhere)
    }

    pub(crate) fn flag(&self) -> Result<bool, Error> {
        self.value.as_bool().ok_or_else(|| self.wrong_type())
    }

    /// The value as a table of the format.
    pub(crate) fn table(&self, section: &'static Section) -> Result<Table<'a>, Error> {
        match self.value {
            DeValue::Table(entries) => {
                Table::new(self.source, self.path.clone(), self.span.clone(), entries, section)
            }
            _ => Err(self.wrong_type()),
        }
    }

    /// The value as the table of the format that its key `kind` says.
    pub(crate) fn variant(&self) -> Result<Table<'a>, Error> {
        let Kind::Variants(sections) = *self.kind else { unreachable!("{:?} has no variants", self.kind) };
        let DeValue::Table(entries) = self.value else { return Err(self.wrong_type()) };
        let Some(value) = entries.get("kind") else {
            let table = Table {
                source: self.source,
                path: self.path.clone(),
                span: self.span.clone(),
                entries,
                section: sections[0],
            };
            return Err(table.missing("kind").expecting(Some(kinds(sections))));
        };
        let item = Item {
            source: self.source,
            path: format!("{}.kind", self.path),
            span: value.span(),
            value: value.get_ref(),
            kind: &sections[0].key("kind").kind,
        };
        let refused = |error: Error| error.expecting(Some(kinds(sections)));
        let word = item.text().map_err(refused)?;
        let words = || sections.iter().flat_map(|section| section.kind_words()).copied();
        match sections.iter().find(|section| section.kind_words().contains(&word)) {
            Some(section) => self.table(section),
            None => Err(refused(item.fail(Problem::UnknownName(word.into()))).near(nearest(word, words()))),
        }
    }

    /// The value as a table whose keys are not known to the format.
    pub(crate) fn members(&self) -> Option<Vec<(&'a str, Item<'a>)>> {
        let DeValue::Table(entries) = self.value else { return None };
        let mut members: Vec<_> = entries
            .iter()
            .map(|(name, value)| {
                let path = format!("{}.{}", self.path, name.get_ref());
                (&**name.get_ref(), Item { path, span: value.span(), value: value.get_ref(), ..self.clone() })
            })
            .collect();
        members.sort_by_key(|(_, item)| item.span.start);
        Some(members)
    }

    /// The elements of an array.
    pub(crate) fn elements(&self) -> Result<Vec<Item<'a>>, Error> {
        let DeValue::Array(array) = self.value else { return Err(self.wrong_type()) };
        let element = |(index, value): (usize, &'a Spanned<DeValue<'a>>)| Item {
            path: format!("{}[{index}]", self.path),
            span: value.span(),
            value: value.get_ref(),
            ..self.clone()
        };
        Ok(array.iter().enumerate().map(element).collect())
    }
}
