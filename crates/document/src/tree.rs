//! Input as a tree of tables, arrays and values: from a file, with the place of each, or from a builder.

use core::any::Any;
use core::fmt::{self, Debug, Display, Write};
use core::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toml_writer::{ToTomlKey, ToTomlValue, TomlKeyBuilder, TomlStringBuilder};

/// A value and its bytes in the text of the file; an empty range in a tree that a builder made.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Its bytes in the text.
    pub span: Range<usize>,
}

/// A value of the format.
#[derive(Clone, Debug)]
pub enum Value {
    /// A text.
    Text(String),
    /// A whole number; one that TOML cannot represent is `i128::MAX`, above every limit of the format.
    Integer(i128),
    /// A number with decimals.
    Float(f64),
    /// `true` or `false`.
    Flag(bool),
    /// A date.
    Date(String),
    /// An array.
    Array(Vec<Node>),
    /// A table.
    Table(Tree),
    /// A value in memory that only the format knows, from a builder.
    Own(Arc<dyn Own>),
}

/// A value that only a format knows.
pub trait Own: Any + Debug + Send + Sync {
    /// Its name in errors: `this is a scheme`.
    fn is(&self) -> &'static str;
    /// The value as TOML on one line.
    fn toml(&self) -> String;
}

/// A table: its keys in the order of the text.
#[derive(Clone, Debug, Default)]
pub struct Tree(Vec<Entry>);

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Name.
    pub name: String,
    /// Its bytes in the text.
    pub name_span: Range<usize>,
    /// Value.
    pub node: Node,
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        Self { value, span: 0..0 }
    }
}

impl Tree {
    /// Every key with its value.
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// The value of a key, if it is given.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.0.iter().find(|entry| entry.name == name).map(|entry| &entry.node)
    }

    /// The tree as a TOML document.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        let (tables, values): (Vec<_>, Vec<_>) =
            self.0.iter().partition(|entry| entry.node.value.is_under_heading());
        for Entry { name, node, .. } in values {
            let _ = writeln!(out, "{} = {}", key(name), node.value);
        }
        for Entry { name, node, .. } in tables {
            match &node.value {
                Value::Array(tables) => tables.iter().for_each(|table| {
                    let _ = write!(out, "\n[[{}]]\n{}", key(name), table.value.lines());
                }),
                table => {
                    let _ = write!(out, "\n[{}]\n{}", key(name), table.lines());
                }
            }
        }
        out
    }

    /// Sets a key, in place of an earlier value.
    pub fn set(&mut self, name: &str, value: Value) {
        self.0.retain(|entry| entry.name != name);
        self.0.push(Entry { name: name.into(), name_span: 0..0, node: value.into() });
    }

    /// Removes a key.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|entry| entry.name != name);
    }

    /// Adds a table to the array of tables `name`.
    pub fn push(&mut self, name: &str, table: Self) {
        let added = Node::from(Value::Table(table));
        match self.0.iter_mut().find(|entry| entry.name == name) {
            Some(Entry { node: Node { value: Value::Array(tables), .. }, .. }) => tables.push(added),
            _ => self.set(name, Value::Array(vec![added])),
        }
    }

    /// The tree of a TOML document.
    pub(crate) fn of_toml(table: &DeTable<'_>) -> Self {
        let mut entries: Vec<_> = table
            .iter()
            .map(|(name, value)| Entry {
                name: name.get_ref().to_string(),
                name_span: name.span(),
                node: Node::of_toml(value),
            })
            .collect();
        entries.sort_by_key(|entry| entry.name_span.start);
        Self(entries)
    }
}

impl Node {
    fn of_toml(value: &Spanned<DeValue<'_>>) -> Self {
        let plain = match value.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(n) => {
                Value::Integer(i128::from_str_radix(n.as_str(), n.radix()).unwrap_or(i128::MAX))
            }
            DeValue::Float(x) => Value::Float(x.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(flag) => Value::Flag(*flag),
            DeValue::Datetime(date) => Value::Date(date.to_string()),
            DeValue::Array(values) => Value::Array(values.iter().map(Self::of_toml).collect()),
            DeValue::Table(table) => Value::Table(Tree::of_toml(table)),
        };
        Self { value: plain, span: value.span() }
    }
}

impl Value {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// An array.
    pub fn array(values: impl IntoIterator<Item = Self>) -> Self {
        Self::Array(values.into_iter().map(Node::from).collect())
    }

    /// A value that only the format knows.
    pub fn own(value: impl Own) -> Self {
        Self::Own(Arc::new(value))
    }

    /// The value of this type, if the format made one.
    pub fn as_own<T: Own>(&self) -> Option<&T> {
        let Self::Own(own) = self else { return None };
        let any: &dyn Any = &**own;
        any.downcast_ref()
    }

    /// A table of these keys.
    pub fn table<'a>(entries: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        let mut table = Tree::default();
        for (name, value) in entries {
            table.set(name, value);
        }
        Self::Table(table)
    }

    /// Whether the value is a table or an array of tables, which a file has under headings.
    fn is_under_heading(&self) -> bool {
        match self {
            Self::Table(_) => true,
            Self::Array(values) => {
                !values.is_empty() && values.iter().all(|node| node.value.as_table().is_some())
            }
            _ => false,
        }
    }

    /// The keys of a table, one on each line.
    fn lines(&self) -> String {
        let entries = self.as_table().map_or(&[][..], Tree::entries);
        entries.iter().fold(String::new(), |mut out, entry| {
            let _ = writeln!(out, "{} = {}", key(&entry.name), entry.node.value);
            out
        })
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The table, if it is one.
    pub const fn as_table(&self) -> Option<&Tree> {
        match self {
            Self::Table(table) => Some(table),
            _ => None,
        }
    }
}

/// The value as TOML on one line.
impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{}", quoted(text)),
            Self::Integer(n) => write!(f, "{n}"),
            Self::Float(x) => write!(f, "{x:?}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Date(date) => write!(f, "{date}"),
            Self::Array(values) => {
                f.write_str("[")?;
                for (at, node) in values.iter().enumerate() {
                    write!(f, "{}{}", if at == 0 { "" } else { ", " }, node.value)?;
                }
                f.write_str("]")
            }
            Self::Table(table) => write!(f, "{table}"),
            Self::Own(own) => f.write_str(&own.toml()),
        }
    }
}

impl Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (at, entry) in self.0.iter().enumerate() {
            write!(f, "{} {} = {}", if at == 0 { "" } else { "," }, key(&entry.name), entry.node.value)?;
        }
        f.write_str(" }")
    }
}

/// `text` in TOML's notation, on one line.
pub fn quoted(text: &str) -> String {
    TomlStringBuilder::new(text).as_basic().to_toml_value()
}

/// A name in TOML's notation.
pub(crate) fn key(name: &str) -> String {
    TomlKeyBuilder::new(name).as_default().to_toml_key()
}
