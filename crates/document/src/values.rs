//! Values of each kind.

use firstflight_contract::{Nanos, Rate};

use crate::error::{Error, Problem, QuantityProblem, nearest};
use crate::format::{Floor, Kind, Section};
use crate::limits;
use crate::quantity;
use crate::source::{Item, Table};
use crate::tree::Value;

impl<'a> Table<'a> {
    /// The tables of an array of tables, at most `most`; none if the key is not given.
    ///
    /// # Errors
    /// [`Error`] at this place, with the valid values.
    pub fn tables(&self, name: &str, most: usize) -> Result<Vec<Item<'a>>, Error> {
        let Some(item) = self.get(name) else { return Ok(vec![]) };
        let tables = item.elements()?;
        match tables.len() {
            n if n > most => Err(item.invalid(format!("{n} of them; the limit is {most}")).with_value(None)),
            _ => Ok(tables),
        }
    }
}

impl<'a> Item<'a> {
    /// A quantity, which this function reads.
    ///
    /// # Errors
    /// [`Error`] at this place, with the valid values.
    pub fn quantity<T>(&self, parse: impl Fn(&str) -> Result<T, Error>) -> Result<T, Error> {
        if let Value::Integer(_) | Value::Float(_) = self.value() {
            return Err(self.fail(Problem::Quantity(QuantityProblem::NoUnit)));
        }
        parse(self.text()?).map_err(|error| {
            let here = self.fail(error.problem.clone());
            let near = error.nearest.as_deref().or(here.nearest.as_deref()).map(String::from);
            here.near(near.as_deref())
        })
    }

    /// The error that the value is out of range for this reason.
    pub fn out_of_range(&self, why: &str) -> Error {
        self.fail(Problem::Invalid(why.into()))
    }

    /// A rate above zero.
    ///
    /// # Errors
    /// [`Error`] at this place, with the valid values.
    pub fn rate(&self) -> Result<Rate, Error> {
        match self.quantity(quantity::parse_rate)? {
            Rate(0) => Err(self.out_of_range("a rate of zero carries nothing")),
            rate => Ok(rate),
        }
    }

    /// A time or a delay, as the key's kind.
    ///
    /// # Errors
    /// [`Error`] at this place, with the valid values.
    ///
    /// # Panics
    /// If the key is not for one.
    pub fn time(&self) -> Result<Nanos, Error> {
        let (floor, most) = match self.kind() {
            Kind::Time(floor) | Kind::Either(Kind::Time(floor), _) => (*floor, limits::TIME),
            Kind::Delay(floor) | Kind::Either(Kind::Delay(floor), _) => (*floor, limits::DELAY),
            other => unreachable!("{other:?} is not a time"),
        };
        let time = self.quantity(quantity::parse_time)?;
        if floor == Floor::AboveZero && time == Nanos::ZERO {
            return Err(self.out_of_range("zero"));
        }
        if time > most {
            return Err(self.out_of_range("too long"));
        }
        Ok(time)
    }

    /// A size above zero, bytes.
    ///
    /// # Errors
    /// [`Error`] at this place, with the valid values.
    pub fn bytes(&self) -> Result<u64, Error> {
        match self.quantity(quantity::parse_bytes)? {
            0 => Err(self.out_of_range("zero")),
            n => Ok(n),
        }
    }

    /// An amount in bytes, where a full packet has `packet` bytes.
    ///
    /// # Errors
    /// [`Error`] at this place, with the valid values.
    pub fn amount(&self, packet: u32) -> Result<u64, Error> {
        match self.quantity(quantity::parse_amount)?.bytes(packet) {
            0 => Err(self.out_of_range("zero")),
            n => Ok(n),
        }
    }

    /// Whether the value is the word that the key allows in place of a quantity.
    pub fn is_word(&self) -> bool {
        self.value().as_str().is_some_and(|text| self.kind().word() == Some(text))
    }

    /// A whole number in the range of the key's kind.
    ///
    /// # Errors
    /// [`Error`] at this place, with the valid values.
    ///
    /// # Panics
    /// If the key is not for one.
    pub fn integer(&self) -> Result<u64, Error> {
        let (min, max) = match *self.kind() {
            Kind::Integer { min, max } | Kind::Either(&Kind::Integer { min, max }, _) => (min, max),
            Kind::Count { max } => (1, max),
            other => unreachable!("{other:?} is not an integer"),
        };
        let number = match self.value() {
            Value::Integer(number) => *number,
            Value::Float(_) => return Err(self.out_of_range("not a whole number")),
            _ => return Err(self.wrong_type()),
        };
        match u64::try_from(number) {
            Ok(n) if (min..=max).contains(&n) => Ok(n),
            _ => Err(self.out_of_range("out of range")),
        }
    }

    /// A finite number without unit.
    ///
    /// # Errors
    /// [`Error`] at this place, with the valid values.
    pub fn any_number(&self) -> Result<f64, Error> {
        let number = match self.value() {
            Value::Integer(n) => i64::try_from(*n).ok().map(|n| n as f64),
            Value::Float(x) => Some(*x),
            _ => return Err(self.wrong_type()),
        };
        number.filter(|x| x.is_finite()).ok_or_else(|| self.out_of_range("out of range"))
    }

    /// A number in the range of the key's kind.
    ///
    /// # Errors
    /// [`Error`] at this place, with the valid values.
    ///
    /// # Panics
    /// If the key is not for one.
    pub fn number(&self) -> Result<f64, Error> {
        let (Kind::Number(range) | Kind::Either(Kind::Number(range), _)) = self.kind() else {
            unreachable!("{:?} is not a number", self.kind())
        };
        match self.any_number()? {
            x if range.contains(x) => Ok(x),
            _ => Err(self.out_of_range("out of range")),
        }
    }

    /// A name.
    ///
    /// # Errors
    /// [`Error`] at this place, with the valid values.
    pub fn name(&self) -> Result<&'a str, Error> {
        match self.text()? {
            name if is_name(name, limits::NAME) => Ok(name),
            _ => Err(self.out_of_range("not a name")),
        }
    }

    /// The name, or the names of an array.
    ///
    /// # Errors
    /// [`Error`] at this place, with the valid values.
    pub fn names(&self) -> Result<Vec<Item<'a>>, Error> {
        let alone = self.of_kind(&Kind::Name);
        match self.value() {
            Value::Array(names) if names.is_empty() => Err(self.out_of_range("it is empty")),
            Value::Array(_) => alone.elements(),
            _ => Ok(vec![alone]),
        }
    }

    /// The word, one of those that the key allows.
    ///
    /// # Errors
    /// [`Error`] at this place, with the valid values.
    ///
    /// # Panics
    /// If the key allows none.
    pub fn word(&self) -> Result<&'static str, Error> {
        let (Kind::Word(words) | Kind::Either(Kind::Word(words), _)) = self.kind() else {
            unreachable!("{:?} allows no word", self.kind())
        };
        let text = self.text()?;
        if let Some(word) = words.iter().find(|word| **word == text) {
            return Ok(word);
        }
        let expected = format!("one of: {}", words.join(", "));
        let near = nearest(text, words.iter().copied());
        Err(self.fail(Problem::UnknownName { what: "", name: text.into() }).expecting(expected).near(near))
    }

    /// The variant of an enum whose words the key allows.
    ///
    /// # Errors
    /// [`Error`] at this place, with the valid values.
    ///
    /// # Panics
    /// If `from_word` refuses a word that the key allows.
    pub fn choice<T>(&self, from_word: impl Fn(&str) -> Option<T>) -> Result<T, Error> {
        Ok(from_word(self.word()?).expect("the format lists the words of the enum"))
    }

    /// Two values in rising order.
    ///
    /// # Errors
    /// [`Error`] at this place, with the valid values.
    ///
    /// # Panics
    /// If the key is not for one.
    pub fn pair<T: PartialOrd>(&self, read: impl Fn(&Item<'a>) -> Result<T, Error>) -> Result<(T, T), Error> {
        let Kind::Pair(of) = self.kind() else { unreachable!("{:?} is not a pair", self.kind()) };
        let elements = self.elements()?;
        let [low, high] = &elements[..] else {
            return Err(self.out_of_range(&format!("{} values", elements.len())));
        };
        let (low, high) = (read(&low.of_kind(of))?, read(&high.of_kind(of))?);
        if low > high {
            return Err(self.out_of_range("the second is below the first"));
        }
        Ok((low, high))
    }

    /// The table that the key allows.
    ///
    /// # Panics
    /// If the key is not for one.
    pub fn section(&self) -> &'static Section {
        match self.kind() {
            Kind::Table(section) | Kind::Tables(section) | Kind::Either(_, section) => section,
            other => unreachable!("{other:?} is not a table"),
        }
    }
}

/// Whether `text` is a name of at most `most` characters.
pub fn is_name(text: &str, most: usize) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && text.len() <= most && text.chars().all(fits)
}
