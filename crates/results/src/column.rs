//! Columns: name, type, unit, documentation, and whether a value may be null.

use firstflight_contract::Exit;

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name, with the unit as its last word where it has one.
    pub name: String,
    /// Type of the values.
    pub kind: Kind,
    /// Unit; empty where there is none.
    pub unit: &'static str,
    /// Meaning, and the meaning of null where a value may be null.
    pub doc: String,
    /// Whether a value may be null.
    pub nullable: bool,
    /// Range of its numbers.
    pub range: Range,
}

/// Range of the numbers of a field or column. No number is infinite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Zero or more.
    Positive,
    /// From 0 to 1.
    Share,
    /// Any sign: a difference, or an end of an interval.
    Any,
}

impl Range {
    /// Whether a number lies in the range.
    pub fn holds(self, number: f64) -> bool {
        number.is_finite()
            && match self {
                Self::Positive => number >= 0.0,
                Self::Share => (0.0..=1.0).contains(&number),
                Self::Any => true,
            }
    }

    /// The range in documentation.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Positive => ">= 0",
            Self::Share => "0 to 1",
            Self::Any => "any",
        }
    }
}

/// Type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// True or false.
    Bool,
    /// Unsigned integer of 64 bits.
    Unsigned,
    /// Floating-point number of 64 bits.
    Real,
    /// UTF-8 text.
    Text,
    /// List of unsigned integers; may be empty, never null.
    Unsigneds,
    /// List of floating-point numbers; may be empty, never null.
    Reals,
}

impl Kind {
    /// Whether the values are numbers, or lists of numbers.
    pub const fn is_number(self) -> bool {
        !matches!(self, Self::Bool | Self::Text)
    }

    /// Name of the type in documentation.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Unsigned => "uint64",
            Self::Real => "double",
            Self::Text => "string",
            Self::Unsigneds => "list of uint64",
            Self::Reals => "list of double",
        }
    }
}

/// One value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// Of [`Kind::Bool`].
    Bool(bool),
    /// Of [`Kind::Unsigned`].
    Unsigned(u64),
    /// Of [`Kind::Real`].
    Real(f64),
    /// Of [`Kind::Text`].
    Text(String),
    /// Of [`Kind::Unsigneds`].
    Unsigneds(Vec<u64>),
    /// Of [`Kind::Reals`].
    Reals(Vec<f64>),
}

/// A Rust type that is the value of one column.
pub trait Cell {
    /// The column's type.
    const KIND: Kind;
    /// Whether the value may be null.
    const NULLABLE: bool = false;
    /// The value.
    fn value(&self) -> Value;
}

/// A struct whose fields are columns. The macro `object` implements it.
pub trait Record {
    /// Name of the object in documentation.
    const NAME: &'static str;
    /// Meaning of the object.
    const DOC: &'static str;
    /// Every field of the JSON object, in its order.
    fn fields() -> Vec<Field>;
    /// Appends the columns, their names after `prefix`; all nullable if `absent` says when the whole object is null.
    fn columns(columns: &mut Vec<Column>, prefix: &str, absent: Option<&str>);
    /// Appends the values of the columns; all null for no row.
    fn cells(row: Option<&Self>, cells: &mut Vec<Value>);
}

/// One field of a JSON object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Key.
    pub name: &'static str,
    /// Type in words; another object by its name in square brackets.
    pub kind: String,
    /// Unit; empty where there is none.
    pub unit: &'static str,
    /// Meaning.
    pub doc: &'static str,
    /// Whether the value may be null.
    pub nullable: bool,
    /// Range of its numbers.
    pub range: Range,
}

/// A Rust type that is the value of a JSON field.
pub trait Json {
    /// Whether the value may be null.
    const NULLABLE: bool = false;
    /// Name of the type in documentation.
    fn word() -> String;
}

macro_rules! cells {
    ($($type:ty, $word:literal, $kind:ident, $self:ident => $value:expr;)+) => {$(
        impl Cell for $type {
            const KIND: Kind = Kind::$kind;
            fn value(&$self) -> Value {
                Value::$kind($value)
            }
        }
        impl Json for $type {
            fn word() -> String {
                $word.into()
            }
        }
    )+};
}

cells! {
    bool, "boolean", Bool, self => *self;
    u32, "integer", Unsigned, self => u64::from(*self);
    u64, "integer", Unsigned, self => *self;
    f64, "number", Real, self => *self;
    String, "string", Text, self => self.clone();
    Exit, "string", Text, self => self.label().into();
}

impl Cell for Vec<f64> {
    const KIND: Kind = Kind::Reals;
    fn value(&self) -> Value {
        Value::Reals(self.clone())
    }
}

impl<T: Cell> Cell for Option<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;
    fn value(&self) -> Value {
        self.as_ref().map_or(Value::Null, Cell::value)
    }
}

impl<T: Json> Json for Option<T> {
    const NULLABLE: bool = true;
    fn word() -> String {
        T::word()
    }
}

impl<T: Json> Json for Vec<T> {
    fn word() -> String {
        format!("array of {}", T::word())
    }
}

/// Names of small numbers, by number.
pub(crate) const NUMBERS: [&str; 6] = ["no", "one", "two", "three", "four", "five"];

impl<T: Json, const N: usize> Json for [T; N] {
    fn word() -> String {
        format!("array of {} {}s", NUMBERS[N], T::word())
    }
}

impl<A: Json, B: Json> Json for (A, B) {
    fn word() -> String {
        format!("pair of {} and {}", A::word(), B::word())
    }
}
