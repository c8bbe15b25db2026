//! What is wrong with a scenario, and where.

use core::fmt;

use crate::quantity::QuantityError;

/// The one thing that was found wrong; its parts are those of [`Fault`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Fault>);

/// What an [`Error`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file as the caller named it.
    pub file: String,
    /// Line and column, both from 1; the column counts characters. Not set if the file could not be read.
    pub place: Option<(usize, usize)>,
    /// The key with the tables it is in, `flow[0].start`; empty where no key is concerned.
    pub key: String,
    /// The value as written.
    pub value: Option<String>,
    /// What is wrong.
    pub problem: Problem,
    /// What would have been right.
    pub expected: Option<String>,
    /// The valid name nearest to the one written.
    pub nearest: Option<String>,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The file could not be read.
    Unreadable(String),
    /// The text is not TOML.
    Syntax(String),
    /// There is no such key.
    UnknownKey,
    /// A key that must be there is not.
    Missing,
    /// The value has another type.
    WrongType(&'static str),
    /// The value is not such a quantity.
    Quantity(QuantityError),
    /// There is no such word, label or node.
    UnknownName(String),
    /// It has a meaning, but this version does not do it.
    NotBuilt(String),
    /// The value is impossible; why.
    Impossible(String),
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
            Self::UnknownName(name) => write!(f, "there is no \"{}\"", clipped(name)),
            Self::NotBuilt(what) => write!(f, "not built yet: {what}"),
            Self::Impossible(why) => write!(f, "{why}"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        match (&self.key[..], &self.value) {
            ("", _) => {}
            (key, None) => write!(f, ": {}", clipped(key))?,
            (key, Some(value)) => write!(f, ": {} = {}", clipped(key), clipped(value))?,
        }
        write!(f, ": {}", self.problem)?;
        if let Some(expected) = &self.expected {
            write!(f, "; expected {expected}")?;
        }
        if let Some(nearest) = &self.nearest {
            write!(f, "; did you mean \"{nearest}\"?")?;
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

impl Error {
    pub(crate) fn new(
        file: &str,
        place: Option<(usize, usize)>,
        key: impl Into<String>,
        problem: Problem,
    ) -> Self {
        let (file, key) = (file.into(), key.into());
        Self(Box::new(Fault { file, place, key, value: None, problem, expected: None, nearest: None }))
    }

    pub(crate) fn with_place(mut self, place: (usize, usize)) -> Self {
        self.0.place = Some(place);
        self
    }

    pub(crate) fn with_key(mut self, key: String) -> Self {
        self.0.key = key;
        self
    }

    pub(crate) fn with_value(mut self, value: Option<String>) -> Self {
        self.0.value = value;
        self
    }

    pub(crate) fn expecting(mut self, expected: Option<String>) -> Self {
        self.0.expected = expected;
        self
    }

    pub(crate) fn near(mut self, nearest: Option<&str>) -> Self {
        self.0.nearest = nearest.map(String::from);
        self
    }
}

/// As much of `text` as a message has room for.
pub(crate) fn clipped(text: &str) -> String {
    match text.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text.into(),
    }
}

/// The name nearest to `written`, if one is near enough to be meant.
///
/// Near enough is an optimal string alignment distance (insertion, deletion, substitution, swap of neighbours)
/// of at most a third of the longer name, or one, that leaves some of the name; or else the shortest name that
/// has all of `written` in it. Case does not count.
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
/// Longer than any name there is; the distance takes time with the square of it.
const LONGEST_NAME: usize = 64;
