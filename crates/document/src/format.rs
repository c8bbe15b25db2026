//! A format: its tables with their keys, kinds of values, defaults and meaning. The reader looks keys up here; the JSON Schema and
//! the reference are generated from the same rows.

use serde_json::Value;

use crate::limits;
use crate::quantity::show_time;

/// A table of the format.
#[derive(Debug)]
pub struct Section {
    /// Heading in the reference.
    pub name: &'static str,
    /// Description.
    pub doc: &'static str,
    /// Keys.
    pub keys: &'static [Key],
}

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name.
    pub name: &'static str,
    /// Valid values.
    pub kind: Kind,
    /// Default, or whether the key is required.
    pub absent: Absent,
    /// Meaning.
    pub doc: &'static str,
}

/// Default of a key.
#[derive(Clone, Copy, Debug)]
pub enum Absent {
    /// The key is required.
    Refused,
    /// The default in words.
    Means(&'static str),
}

/// Valid values of a key.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Any text.
    Text,
    /// Letters, digits, `-` and `_`.
    Name,
    /// A name, or several in an array.
    Names,
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Integer {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// A whole number above zero, or `unlimited`.
    Count {
        /// Largest.
        max: u64,
    },
    /// A number without unit.
    Number(Range),
    /// A rate above zero.
    Rate,
    /// A time; zero is valid or not.
    Time(Floor),
    /// A propagation delay; zero is valid or not.
    Delay(Floor),
    /// A number of bytes above zero.
    Bytes,
    /// A number of packets or bytes above zero.
    Amount,
    /// An amount, or `unlimited`.
    AmountOrUnlimited,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A kind of the format's own.
    Custom(&'static Custom),
    /// A kind that stands once in the schema, under this name.
    Shared(&'static str, &'static Kind),
    /// Two quantities, the second not below the first.
    Pair(&'static Kind),
    /// An array of at least one of these.
    List(&'static Kind),
    /// A table of any keys, at least one, with these values.
    Map(&'static Kind),
    /// A value of any of these types.
    Any(&'static [Type]),
    /// A plain value, or a table.
    Either(&'static Kind, &'static Section),
    /// A table.
    Table(&'static Section),
    /// Any number of tables.
    Tables(&'static Section),
    /// One of these tables; the key `kind` selects it.
    Variants(&'static [&'static Section]),
}

/// A kind of values that a format has of its own; the format reads them.
#[derive(Debug)]
pub struct Custom {
    /// Name of the kind.
    pub name: &'static str,
    /// Description for error messages and the reference.
    pub describe: fn() -> String,
    /// The valid word in place of a quantity.
    pub word: Option<&'static str>,
    /// Schema of a value.
    pub schema: fn() -> Value,
}

/// A type of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A text.
    Text,
    /// A number.
    Number,
    /// `true` or `false`.
    Flag,
    /// An array.
    Array,
    /// A table.
    Table,
}

impl Type {
    fn describe(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Number => "a number",
            Self::Flag => "true or false",
            Self::Array => "an array",
            Self::Table => "a table",
        }
    }
}

/// No limit, in place of an amount.
pub const UNLIMITED: &str = "unlimited";

/// Whether zero is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floor {
    /// Zero is valid.
    Zero,
    /// Zero is not valid.
    AboveZero,
}

/// The range of a number without unit.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Lower bound.
    pub min: f64,
    /// Whether the lower bound is valid.
    pub min_taken: bool,
    /// Upper bound.
    pub max: f64,
    /// Whether the upper bound is valid.
    pub max_taken: bool,
}

impl Range {
    /// Whether `x` is in the range; NaN is not.
    pub fn contains(&self, x: f64) -> bool {
        (x > self.min || self.min_taken && x == self.min) && (x < self.max || self.max_taken && x == self.max)
    }
}

impl Section {
    /// The key `name`.
    ///
    /// # Panics
    /// If there is none: the reader asks only for keys of the format.
    pub(crate) fn key(&'static self, name: &str) -> &'static Key {
        self.keys.iter().find(|key| key.name == name).expect("the reader asks only for keys of the format")
    }

    /// Words of the key `kind` that select this variant.
    pub(crate) fn kind_words(&self) -> &'static [&'static str] {
        match self.keys.iter().find(|key| key.name == "kind").map(|key| &key.kind) {
            Some(Kind::Word(words)) => words,
            _ => &[],
        }
    }
}

/// Valid values of the key `kind` of variants.
pub(crate) fn kinds(variants: &[&Section]) -> String {
    let words = variants.iter().flat_map(|section| section.kind_words()).copied();
    format!("one of: {}", words.collect::<Vec<_>>().join(", "))
}

/// Description of a name of at most `most` characters.
pub fn named(most: usize) -> String {
    format!("a name of 1 to {most} letters, digits, \"-\" and \"_\"")
}

impl Kind {
    /// The kind itself, without its name in the schema.
    pub const fn bare(&self) -> &Self {
        match self {
            Self::Shared(_, of) => of,
            own => own,
        }
    }

    /// The valid word in place of a quantity.
    pub(crate) fn word(&self) -> Option<&'static str> {
        match self {
            Self::AmountOrUnlimited | Self::Count { .. } => Some(UNLIMITED),
            Self::Custom(own) => own.word,
            Self::Shared(_, of) | Self::Either(of, _) => of.word(),
            _ => None,
        }
    }

    /// Description for error messages and the reference.
    pub fn describe(&self) -> String {
        match self {
            Self::Text => "a text".into(),
            Self::Name => named(limits::NAME),
            Self::Names => format!("{}, or an array of these", Self::Name.describe()),
            Self::Flag => "true or false".into(),
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::Count { max } => format!("\"unlimited\", or a whole number from 1 to {max}"),
            Self::Number(range) => {
                let bound = |taken, x: f64| if taken { format!("{x}") } else { format!("{x} (exclusive)") };
                format!(
                    "a number from {} to {}",
                    bound(range.min_taken, range.min),
                    bound(range.max_taken, range.max)
                )
            }
            Self::Rate => "a rate above zero such as \"40 Mbit/s\"".into(),
            Self::Time(Floor::Zero) => "a time such as \"100 ms\"".into(),
            Self::Time(Floor::AboveZero) => "a time above zero such as \"100 ms\"".into(),
            Self::Delay(floor) => {
                let above = if *floor == Floor::Zero { "" } else { "above zero and " };
                format!("a delay {above}of at most {} such as \"100 ms\"", show_time(limits::DELAY))
            }
            Self::Bytes => "a size above zero such as \"1000 B\" or \"64 KiB\"".into(),
            Self::Amount => "an amount above zero such as \"10 packets\" or \"300 KB\"".into(),
            Self::AmountOrUnlimited => {
                "\"unlimited\", or an amount such as \"32 packets\" or \"300 KB\"".into()
            }
            Self::Word(words) => format!("one of: {}", words.join(", ")),
            Self::Custom(own) => (own.describe)(),
            Self::Shared(_, of) => of.describe(),
            Self::List(of) => format!("an array of at least one, each {}", of.describe()),
            Self::Map(of) => format!("a table of keys, each with {}", of.describe()),
            Self::Any(types) => types.iter().map(|one| one.describe()).collect::<Vec<_>>().join(", or "),
            Self::Pair(of) => format!("two values in rising order, each {}", of.describe()),
            Self::Either(plain, table) => {
                let keys: Vec<_> = table.keys.iter().map(|k| k.name).collect();
                format!("{}, or a table of: {}", plain.describe(), keys.join(", "))
            }
            Self::Table(_) => "a table".into(),
            Self::Tables(table) => format!("an array of tables, each under {}", table.name),
            Self::Variants(tables) => format!("a table whose kind is {}", kinds(tables)),
        }
    }
}

/// The row of a required key.
pub const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, absent: Absent::Refused, doc }
}

/// The row of a key with a default.
pub const fn optional(name: &'static str, kind: Kind, means: &'static str, doc: &'static str) -> Key {
    Key { name, kind, absent: Absent::Means(means), doc }
}

/// The kind of these words.
pub const fn words(words: &'static [&'static str]) -> Kind {
    Kind::Word(words)
}

/// Keys of two lists.
pub const fn joined<const N: usize>(first: &[Key], second: &[Key]) -> [Key; N] {
    let mut all = [first[0]; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < first.len() { first[i] } else { second[i - first.len()] };
        i += 1;
    }
    all
}

/// A time above zero.
pub const TIME: Kind = Kind::Time(Floor::AboveZero);
/// A time.
pub const TIME_OR_ZERO: Kind = Kind::Time(Floor::Zero);
/// A propagation delay.
pub const DELAY: Kind = Kind::Delay(Floor::Zero);
