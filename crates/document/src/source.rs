//! Tables and values of the input, each with its place and the format's definition of it.

use core::any::Any;
use core::ops::Range;
use std::path::Path;

use toml::de::DeTable;

use crate::error::{Error, Problem, QuantityProblem, clipped, nearest, token};
use crate::format::{Kind, Section, kinds};
use crate::limits;
use crate::tree::{Node, Tree, Value, key};

/// An input: the text of a file, or a tree that a builder made.
#[derive(Clone, Copy, Default)]
pub struct Source<'a> {
    /// Name of the file in errors; empty for a builder.
    pub file: &'a str,
    /// Text of the file; `None` for a builder.
    pub text: Option<&'a str>,
    /// Folder of the files that the input names; `None` if the input may name none.
    pub folder: Option<&'a Path>,
    /// Knowledge of the format's readers beside the text, such as the names that are valid.
    pub known: Option<&'a dyn Any>,
}

impl Source<'_> {
    /// The tables of the text.
    ///
    /// # Errors
    /// [`Problem::Syntax`]; [`Problem::Unreadable`] if the text is too long.
    pub fn tree(&self) -> Result<Tree, Error> {
        let text = self.text.unwrap_or_default();
        if text.len() as u64 > limits::FILE {
            let why = format!("it is longer than the limit of {} bytes", limits::FILE);
            return Err(Error::new(Problem::Unreadable(why)).in_file(self.file, None));
        }
        let document = DeTable::parse(text).map_err(|error| self.syntax(&error))?;
        Ok(Tree::of_toml(document.get_ref()))
    }

    /// Line and column of a byte of the text, both from 1.
    fn position(&self, at: usize) -> Option<(usize, usize)> {
        Some(position(self.text?, at))
    }

    /// The value as errors show it: as written, on one line, and not too long.
    fn shown(&self, node: &Node) -> String {
        match self.text {
            Some(text) => excerpt(text, &node.span).unwrap_or_default(),
            None => clipped(&node.value.to_string()),
        }
    }

    fn syntax(&self, error: &toml::de::Error) -> Error {
        let position = error.span().and_then(|span| self.position(span.start));
        Error::new(Problem::Syntax(token(error.message()))).in_file(self.file, position)
    }
}

/// Line and column of a byte of `text`, both from 1.
pub fn position(text: &str, at: usize) -> (usize, usize) {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// These bytes of `text` on one line, and not too long.
pub(crate) fn excerpt(text: &str, span: &Range<usize>) -> Option<String> {
    Some(clipped(&text.get(span.clone())?.split_whitespace().collect::<Vec<_>>().join(" ")))
}

/// A table whose keys exist in the format.
#[derive(Clone)]
pub struct Table<'a> {
    source: &'a Source<'a>,
    path: String,
    span: Range<usize>,
    entries: &'a Tree,
    section: &'static Section,
}

/// A value and the kind of values that the format allows for its key.
#[derive(Clone)]
pub struct Item<'a> {
    source: &'a Source<'a>,
    path: String,
    node: &'a Node,
    kind: &'static Kind,
}

impl<'a> Table<'a> {
    /// The root of a document.
    ///
    /// # Errors
    /// [`Problem::UnknownKey`] for a key that `section` lacks.
    pub fn root(source: &'a Source<'a>, entries: &'a Tree, section: &'static Section) -> Result<Self, Error> {
        Self::new(source, String::new(), 0..0, entries, section)
    }

    fn new(
        source: &'a Source<'a>,
        path: String,
        span: Range<usize>,
        entries: &'a Tree,
        section: &'static Section,
    ) -> Result<Self, Error> {
        let table = Self { source, path, span, entries, section };
        let names = section.keys.iter().map(|key| key.name);
        let unknown = entries.entries().iter().find(|entry| names.clone().all(|name| name != entry.name));
        let Some(entry) = unknown else { return Ok(table) };
        let path = table.child(&entry.name);
        let item = Item { source, path, node: &entry.node, kind: &Kind::Text };
        Err(item
            .fail(Problem::UnknownKey)
            .in_file(source.file, source.position(entry.name_span.start))
            .expecting(format!("one of: {}", names.clone().collect::<Vec<_>>().join(", ")))
            .near(nearest(&entry.name, names)))
    }

    fn child(&self, name: &str) -> String {
        if self.path.is_empty() { key(name) } else { format!("{}.{}", self.path, key(name)) }
    }

    /// The [`Source::known`] of this type.
    pub fn known<T: Any>(&self) -> Option<&'a T> {
        self.source.known?.downcast_ref()
    }

    /// The value of a key, if it is given.
    pub fn get(&self, name: &str) -> Option<Item<'a>> {
        let key = self.section.key(name);
        let node = self.entries.get(name)?;
        Some(Item { source: self.source, path: self.child(name), node, kind: key.kind.bare() })
    }

    /// The value of the first of these keys that is given.
    pub fn first_given(&self, names: &[&str]) -> Option<Item<'a>> {
        names.iter().find(|name| self.entries.get(name).is_some()).and_then(|name| self.get(name))
    }

    /// The value of a required key.
    ///
    /// # Errors
    /// [`Problem::Missing`].
    pub fn need(&self, name: &str) -> Result<Item<'a>, Error> {
        self.get(name).ok_or_else(|| self.missing(name))
    }

    /// The error that a key is missing.
    pub fn missing(&self, name: &str) -> Error {
        self.fail(Problem::Missing).expecting(self.section.key(name).kind.describe()).at_key(self.child(name))
    }

    /// An error about the table as a whole.
    pub fn fail(&self, problem: Problem) -> Error {
        Error::new(problem)
            .in_file(self.source.file, self.source.position(self.span.start))
            .at_key(&*self.path)
    }

    /// The error that the table as a whole is invalid for this reason.
    pub fn invalid(&self, why: impl Into<String>) -> Error {
        self.fail(Problem::Invalid(why.into()))
    }

    /// The one key that is given, of a table whose keys exclude each other.
    ///
    /// # Errors
    /// [`Problem::Invalid`] if none or several are given.
    pub fn only(&self) -> Result<(&'static str, Item<'a>), Error> {
        let given: Vec<_> =
            self.section.keys.iter().filter_map(|key| Some((key.name, self.get(key.name)?))).collect();
        match <[_; 1]>::try_from(given) {
            Ok([one]) => Ok(one),
            Err(several) => {
                let names = self.section.keys.iter().map(|key| key.name).collect::<Vec<_>>().join(", ");
                Err(self
                    .invalid(format!("{} of its keys are given", several.len()))
                    .expecting(format!("exactly one of: {names}")))
            }
        }
    }
}

impl<'a> Item<'a> {
    /// The value.
    pub const fn value(&self) -> &'a Value {
        &self.node.value
    }

    /// The [`Source::known`] of this type.
    pub fn known<T: Any>(&self) -> Option<&'a T> {
        self.source.known?.downcast_ref()
    }

    /// Its kind.
    pub const fn kind(&self) -> &'static Kind {
        self.kind
    }

    /// Its line in the file, from 1; `None` if the input is no text.
    pub fn line(&self) -> Option<u32> {
        self.source.position(self.node.span.start).map(|(line, _)| line as u32)
    }

    /// The error that line `line` of this text, from 1, has this problem: at its line of the file if the text stands there line by line,
    /// else at the value.
    pub fn fail_in_line(&self, line: usize, problem: &Problem) -> Error {
        let error = self.invalid(format!("line {line} of the text: {problem}")).with_value(None);
        match self.line_of_text(line) {
            Some(of_file) => error.in_file(self.source.file, Some((of_file, 1))),
            None => error,
        }
    }

    /// Line of the file, from 1, in which line `line` of this text stands.
    fn line_of_text(&self, line: usize) -> Option<usize> {
        let written = self.source.text?.get(self.node.span.clone())?;
        let quotes = ["\"\"\"", "'''"].into_iter().find(|quotes| written.starts_with(quotes))?;
        let inner = written.strip_prefix(quotes)?.strip_suffix(quotes)?;
        // A line break behind the quotes is no part of the text.
        let leading = usize::from(inner.starts_with('\n') || inner.starts_with("\r\n"));
        let own = self.value().as_str()?.lines().nth(line - 1)?;
        (inner.lines().nth(leading + line - 1)? == own)
            .then(|| self.source.position(self.node.span.start).map(|(first, _)| first + leading + line - 1))
            .flatten()
    }

    /// An error about this value.
    pub fn fail(&self, problem: Problem) -> Error {
        let near = match (&problem, self.value().as_str()) {
            (Problem::Quantity(QuantityProblem::NotANumber), Some(text)) => nearest(text, self.kind.word()),
            _ => None,
        };
        Error::new(problem)
            .in_file(self.source.file, self.source.position(self.node.span.start))
            .at_key(&*self.path)
            .with_value(self.shown())
            .expecting(self.kind.describe())
            .near(near)
    }

    /// The value as errors show it; none for a table under a heading.
    fn shown(&self) -> Option<String> {
        let heading = |table: &Tree| match self.source.text {
            Some(_) => !self.source.shown(self.node).starts_with('{'),
            None => !self.path.contains('.') || table.entries().is_empty(),
        };
        match self.value() {
            Value::Table(table) if heading(table) => None,
            _ => Some(self.source.shown(self.node)),
        }
    }

    /// The error that this value is invalid for a reason that leaves no expectation to add.
    pub fn invalid(&self, why: impl Into<String>) -> Error {
        self.fail(Problem::Invalid(why.into())).without_expectation()
    }

    /// The error that the value has the wrong type.
    pub(crate) fn wrong_type(&self) -> Error {
        self.fail(Problem::WrongType(match self.value() {
            Value::Text(_) => "this is a text",
            Value::Integer(_) | Value::Float(_) => "this is a number",
            Value::Flag(_) => "this is a flag",
            Value::Date(_) => "this is a date",
            Value::Array(_) => "this is an array",
            Value::Table(_) => "this is a table",
            Value::Own(own) => own.is(),
        }))
    }

    /// The same value read as another kind.
    pub fn of_kind(&self, kind: &'static Kind) -> Self {
        Self { kind, ..self.clone() }
    }

    /// The value as a text.
    ///
    /// # Errors
    /// [`Problem::WrongType`].
    pub fn text(&self) -> Result<&'a str, Error> {
        self.value().as_str().ok_or_else(|| self.wrong_type())
    }

    /// Folder of the files that the document names, if it may name any.
    pub fn folder(&self) -> Option<&'a Path> {
        self.source.folder
    }

    /// The value as a flag.
    ///
    /// # Errors
    /// [`Problem::WrongType`].
    pub fn flag(&self) -> Result<bool, Error> {
        match self.value() {
            Value::Flag(flag) => Ok(*flag),
            _ => Err(self.wrong_type()),
        }
    }

    /// The value as a table of the format.
    ///
    /// # Errors
    /// [`Problem::WrongType`]; [`Problem::UnknownKey`] for a key that `section` lacks.
    pub fn table(&self, section: &'static Section) -> Result<Table<'a>, Error> {
        let entries = self.value().as_table().ok_or_else(|| self.wrong_type())?;
        Table::new(self.source, self.path.clone(), self.node.span.clone(), entries, section)
    }

    /// The value as the table of the format that its key `kind` selects.
    ///
    /// # Errors
    /// [`Problem::WrongType`]; [`Problem::Missing`] or [`Problem::UnknownName`] of `kind`; [`Problem::UnknownKey`].
    ///
    /// # Panics
    /// If the key is not for one.
    pub fn variant(&self) -> Result<Table<'a>, Error> {
        let Kind::Variants(sections) = *self.kind else { unreachable!("{:?} has no variants", self.kind) };
        let (source, path) = (self.source, self.path.clone());
        let entries = self.value().as_table().ok_or_else(|| self.wrong_type())?;
        let Some(node) = entries.get("kind") else {
            let table = Table { source, path, span: self.node.span.clone(), entries, section: sections[0] };
            return Err(table.missing("kind").expecting(kinds(sections)));
        };
        let kind = &sections[0].key("kind").kind;
        let item = Item { source, path: format!("{path}.kind"), node, kind };
        let word = item.text().map_err(|error| error.expecting(kinds(sections)))?;
        let words = || sections.iter().flat_map(|section| section.kind_words()).copied();
        match sections.iter().find(|section| section.kind_words().contains(&word)) {
            Some(section) => self.table(section),
            None => {
                let problem = Problem::UnknownName { what: "", name: word.into() };
                Err(item.fail(problem).expecting(kinds(sections)).near(nearest(word, words())))
            }
        }
    }

    /// The members of a table whose keys the format does not list.
    pub fn members(&self) -> Option<Vec<(&'a str, Item<'a>)>> {
        let table = self.value().as_table()?;
        let member = |entry: &'a crate::tree::Entry| {
            let path = format!("{}.{}", self.path, key(&entry.name));
            (&*entry.name, Item { path, node: &entry.node, ..self.clone() })
        };
        Some(table.entries().iter().map(member).collect())
    }

    /// The elements of an array.
    ///
    /// # Errors
    /// [`Problem::WrongType`].
    pub fn elements(&self) -> Result<Vec<Item<'a>>, Error> {
        let Value::Array(array) = self.value() else { return Err(self.wrong_type()) };
        let kind = if let Kind::List(of) = self.kind { of } else { self.kind };
        let element =
            |(index, node)| Item { path: format!("{}[{index}]", self.path), node, kind, ..self.clone() };
        Ok(array.iter().enumerate().map(element).collect())
    }
}
