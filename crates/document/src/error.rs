//! The one shape of errors: place, problem, expected, nearest.
//!
//! [`Error`] is the error of this crate and of every crate above it.

use core::fmt;

use crate::tree::quoted;

/// An error in input: its place, the problem, what is expected there, and the nearest valid name.
///
/// `Display` prints one line: `base.toml:4:8: path.rate = "40": the unit is missing; expected a rate above zero such as
/// "40 Mbit/s"`. The parts are those of [`Fault`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Fault>);

/// The parts of an [`Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Place of the problem.
    pub place: Place,
    /// The problem.
    pub problem: Problem,
    /// Description of the valid values there.
    pub expected: Option<String>,
    /// The valid name nearest to the one written.
    pub nearest: Option<String>,
}

/// Place of a problem.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file as the caller named it; empty if the input is no file.
    pub file: String,
    /// Line and column, both from 1; the column counts characters.
    pub position: Option<(usize, usize)>,
    /// The key with the tables that contain it, `flow[0].start`, or an option; empty if the problem concerns no key.
    pub key: String,
    /// The value as written.
    pub value: Option<String>,
}

/// Kind of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The file could not be read.
    Unreadable(String),
    /// The text is not TOML.
    Syntax(String),
    /// The key does not exist.
    UnknownKey,
    /// A required key is absent.
    Missing,
    /// The value has another type.
    WrongType(&'static str),
    /// The value is not a quantity of this kind.
    Quantity(QuantityProblem),
    /// The name does not exist.
    UnknownName {
        /// Kind of the name, `scheme`; empty if the place makes it clear.
        what: &'static str,
        /// The name as written.
        name: String,
    },
    /// The name is reserved for something that this version does not have.
    NotImplemented(String),
    /// The value is invalid for this reason.
    Invalid(String),
}

/// Reason why a text is not a quantity of the wanted kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuantityProblem {
    /// The text does not begin with a decimal number.
    NotANumber,
    /// The number is below zero.
    Negative,
    /// The number has no unit.
    NoUnit,
    /// The unit does not exist for this kind of quantity.
    UnknownUnit {
        /// The unit as written.
        unit: String,
        /// The valid units.
        units: Vec<&'static str>,
    },
    /// The unit means bits to some tools and bytes to others: `mbps`.
    AmbiguousUnit {
        /// The unit as written.
        unit: String,
        /// The quantity in bits.
        bits: String,
    },
    /// The quantity is not a whole number of this base unit.
    NotWhole(&'static str),
    /// The quantity is above the limit of the format.
    TooLarge {
        /// The largest valid value.
        limit: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => write!(f, "cannot be read: {why}"),
            Self::Syntax(why) => write!(f, "not TOML: {why}"),
            Self::UnknownKey => write!(f, "no such key"),
            Self::Missing => write!(f, "missing"),
            Self::WrongType(found) => write!(f, "{found}"),
            Self::Quantity(why) => write!(f, "{why}"),
            Self::UnknownName { what: "", name } => write!(f, "there is no {}", clipped(&quoted(name))),
            Self::UnknownName { what, name } => write!(f, "there is no {what} {}", clipped(&quoted(name))),
            Self::NotImplemented(what) => write!(f, "not implemented: {what}"),
            Self::Invalid(why) => write!(f, "{why}"),
        }
    }
}

impl fmt::Display for QuantityProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber => write!(f, "not a number with a unit"),
            Self::Negative => write!(f, "negative"),
            Self::NoUnit => write!(f, "the unit is missing"),
            Self::UnknownUnit { unit, units } => {
                write!(f, "there is no unit {} here, only {}", clipped(&quoted(unit)), units.join(", "))
            }
            Self::AmbiguousUnit { unit, bits } => write!(
                f,
                "\"{unit}\" is refused because it counts bytes in tc and bits elsewhere: for bits, write \"{bits}\""
            ),
            Self::NotWhole(unit) => write!(f, "not a whole number of {unit}"),
            Self::TooLarge { limit } => write!(f, "above the limit of {limit}"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", clipped_to(LONGEST_FILE, &self.file))?;
        if let Some((line, column)) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        if self.key.is_empty() {
            return Ok(());
        }
        let separator = if self.file.is_empty() { "" } else { ": " };
        write!(f, "{separator}{}", clipped(&self.key))?;
        match &self.value {
            Some(value) => write!(f, " = {}", clipped(value)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Error {
    /// No part is longer than a message has room for, whatever texts of others it contains.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place.to_string();
        if !place.is_empty() {
            write!(f, "{place}: ")?;
        }
        write!(f, "{}", clipped_to(LONGEST_PROBLEM, &self.problem.to_string()))?;
        if let Some(expected) = &self.expected {
            write!(f, "; expected {}", clipped_to(LONGEST_EXPECTED, expected))?;
        }
        if let Some(nearest) = &self.nearest {
            write!(f, "; did you mean \"{}\"?", clipped(nearest))?;
        }
        Ok(())
    }
}

impl core::error::Error for Error {}

impl core::ops::Deref for Error {
    type Target = Fault;
    fn deref(&self) -> &Fault {
        &self.0
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self(Box::new(fault))
    }
}

impl Error {
    /// An error without place, expectation and nearest name.
    pub fn new(problem: Problem) -> Self {
        Fault { place: Place::default(), problem, expected: None, nearest: None }.into()
    }

    /// The error that something is invalid for this reason.
    pub fn invalid(why: impl Into<String>) -> Self {
        Self::new(Problem::Invalid(why.into()))
    }

    /// The error that a name does not exist: the valid names are expected, and the nearest of them is proposed.
    pub fn unknown_name<'a>(
        what: &'static str,
        name: &str,
        valid: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Self {
        let near = nearest(name, valid.clone());
        let names: Vec<_> = valid.into_iter().collect();
        Self::new(Problem::UnknownName { what, name: name.into() })
            .expecting(format!("one of: {}", names.join(", ")))
            .near(near)
    }

    /// The same error in `file`, at line and column if they are known.
    pub fn in_file(mut self, file: &str, position: Option<(usize, usize)>) -> Self {
        self.0.place.file = file.into();
        self.0.place.position = position;
        self
    }

    /// The same error at this key or option.
    pub fn at_key(mut self, key: impl Into<String>) -> Self {
        self.0.place.key = key.into();
        self
    }

    /// The same error at a value as written, or at none.
    pub fn with_value(mut self, value: impl Into<Option<String>>) -> Self {
        self.0.place.value = value.into();
        self
    }

    /// The same error with this expectation.
    pub fn expecting(mut self, expected: impl Into<String>) -> Self {
        self.0.expected = Some(expected.into());
        self
    }

    /// The same error without an expectation.
    pub fn without_expectation(mut self) -> Self {
        self.0.expected = None;
        self
    }

    /// The same error with this nearest name, or none.
    pub fn near(mut self, nearest: Option<&str>) -> Self {
        self.0.nearest = nearest.map(String::from);
        self
    }
}

/// `text` as a message shows it: at most 80 characters, of a longer text its beginning and its length.
pub fn clipped(text: &str) -> String {
    clipped_to(LONGEST_VALUE, text)
}

/// `text` with at most `most` characters: of a longer text its beginning and its length.
fn clipped_to(most: usize, text: &str) -> String {
    if text.char_indices().nth(most).is_none() {
        return text.into();
    }
    let length = format!("… ({} characters)", text.chars().count());
    cut(text, most - length.chars().count()).to_owned() + &length
}

/// `text`, each word at most 20 characters: a message about the syntax of a file shows no more of its content.
pub fn token(text: &str) -> String {
    let word = |word: &str| match cut(word, LONGEST_TOKEN) {
        whole if whole.len() == word.len() => word.to_owned(),
        beginning => format!("{beginning}…"),
    };
    text.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// The first `most` characters of `text`.
fn cut(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

/// The name nearest to `written`, if one is near enough.
///
/// Near enough is an optimal string alignment distance (insertion, deletion, substitution, swap of neighbours) of at most a
/// third of the longer name, or of one, that leaves some of the name; or else the shortest name that contains all of
/// `written`. Case does not count.
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_lowercase();
    if !(1..=LONGEST_NAME).contains(&written.len()) {
        return None;
    }
    let rank = |name: &str| {
        let lower = name.to_lowercase();
        let distance = strsim::osa_distance(&written, &lower);
        let close = distance < name.len() && distance <= 1.max(name.len().max(written.len()) / 3);
        match (close, written.len() >= SHORTEST_PART && lower.contains(&written)) {
            (true, _) => Some((0, distance)),
            (false, true) => Some((1, name.len())),
            (false, false) => None,
        }
    };
    names
        .into_iter()
        .filter_map(|name| Some((rank(name)?, name)))
        .min_by_key(|&(rank, _)| rank)
        .map(|(_, name)| name)
}

/// Fewer letters than this are part of too many names.
const SHORTEST_PART: usize = 3;
/// Longer than any valid name; the computation of the distance takes time with the square of the length.
const LONGEST_NAME: usize = 64;
/// Characters of a value in a message.
const LONGEST_VALUE: usize = 80;
/// Characters of a problem in a message, among them what it quotes.
const LONGEST_PROBLEM: usize = 800;
/// Characters of an expectation in a message: a list of all schemes and more.
const LONGEST_EXPECTED: usize = 2000;
/// Characters of the name of a file in a message.
const LONGEST_FILE: usize = 1000;
/// Characters of a word from a file whose syntax is wrong.
const LONGEST_TOKEN: usize = 20;
