//! Values of each kind.

use firstflight_contract::{Nanos, Rate};

use crate::error::{Error, Problem, QuantityProblem, nearest};
use crate::format::{Floor, Kind, Section};
use crate::limits;
use crate::model::Limit;
use crate::quantity::{self, Amount, Depth};
use crate::source::{Item, Table};
use crate::tree::Value;
use firstflight_random::Dist;

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
    fn quantity<T>(&self, parse: impl Fn(&str) -> Result<T, Error>) -> Result<T, Error> {
        if let Value::Integer(_) | Value::Float(_) = self.value() {
            return Err(self.fail(Problem::Quantity(QuantityProblem::NoUnit)));
        }
        parse(self.text()?).map_err(|error| {
            let here = self.fail(error.problem.clone());
            let near = error.nearest.as_deref().or(here.nearest.as_deref()).map(String::from);
            here.near(near.as_deref())
        })
    }

    fn out_of_range(&self, why: &str) -> Error {
        self.fail(Problem::Invalid(why.into()))
    }

    pub(super) fn rate(&self) -> Result<Rate, Error> {
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
        let (floor, most) = match self.kind {
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

    pub(super) fn bytes(&self) -> Result<u64, Error> {
        match self.quantity(quantity::parse_bytes)? {
            0 => Err(self.out_of_range("zero")),
            n => Ok(n),
        }
    }

    /// An amount in bytes, where a full packet has `packet` bytes.
    pub(super) fn amount(&self, packet: u32) -> Result<u64, Error> {
        match self.quantity(quantity::parse_amount)?.bytes(packet) {
            0 => Err(self.out_of_range("zero")),
            n => Ok(n),
        }
    }

    /// A transfer: an amount that one connection can send.
    pub(super) fn transfer(&self, packet: u32) -> Result<u64, Error> {
        match self.amount(packet)? {
            n if n.div_ceil(packet.into()) > limits::SEGMENTS => {
                Err(self.out_of_range(&format!("above the limit of {} packets", limits::SEGMENTS)))
            }
            n => Ok(n),
        }
    }

    /// A window: an amount from one packet to [`limits::WINDOW`] packets.
    pub(super) fn window(&self, packet: u32) -> Result<u64, Error> {
        match self.amount(packet)? {
            n if n < packet.into() => {
                Err(self.out_of_range(&format!("less than one packet, which carries {packet} bytes")))
            }
            n if n / u64::from(packet) > limits::WINDOW => {
                Err(self.out_of_range(&format!("above the limit of {} packets", limits::WINDOW)))
            }
            n => Ok(n),
        }
    }

    /// Whether the value is the word that the key allows in place of a quantity.
    pub(super) fn is_word(&self) -> bool {
        self.value().as_str().is_some_and(|text| self.kind.word() == Some(text))
    }

    /// A whole number in the range of the key's kind.
    ///
    /// # Errors
    /// [`Error`] at this place, with the valid values.
    ///
    /// # Panics
    /// If the key is not for one.
    pub fn integer(&self) -> Result<u64, Error> {
        let (min, max) = match *self.kind {
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
    pub(super) fn any_number(&self) -> Result<f64, Error> {
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
        let (Kind::Number(range) | Kind::Either(Kind::Number(range), _)) = self.kind else {
            unreachable!("{:?} is not a number", self.kind)
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

    /// The name of a link, which has room for `suffix` too.
    pub(super) fn link_name(&self, suffix: &str) -> Result<&'a str, Error> {
        match self.text()? {
            name if is_name(name, limits::LINK_NAME - suffix.len()) => Ok(name),
            _ => Err(self.out_of_range("not a name")),
        }
    }

    /// The name, or the names of an array.
    pub(super) fn names(&self) -> Result<Vec<Item<'a>>, Error> {
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
        let (Kind::Word(words) | Kind::Either(Kind::Word(words), _)) = self.kind else {
            unreachable!("{:?} allows no word", self.kind)
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
    pub(super) fn pair<T: PartialOrd>(
        &self,
        read: impl Fn(&Item<'a>) -> Result<T, Error>,
    ) -> Result<(T, T), Error> {
        let Kind::Pair(of) = self.kind else { unreachable!("{:?} is not a pair", self.kind) };
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

    /// A fixed value or a distribution of them.
    pub(super) fn dist<T: PartialOrd>(
        &self,
        read: impl Fn(&Item<'a>) -> Result<T, Error>,
    ) -> Result<Dist<T>, Error> {
        let Kind::Either(_, section) = *self.kind else {
            unreachable!("{:?} is not a distribution", self.kind)
        };
        if self.value().as_table().is_none() {
            return read(self).map(Dist::Fixed);
        }
        let (law, item) = self.table(section)?.only()?;
        Ok(match law {
            "uniform" => {
                let (low, high) = item.pair(read)?;
                Dist::Uniform(low, high)
            }
            "exponential" => Dist::Exponential(read(&item)?),
            "lognormal" => {
                let table = item.table(item.section())?;
                let tail = |item: Item<'a>| {
                    let tail = item.table(item.section())?;
                    Ok::<_, Error>((read(&tail.need("from")?)?, tail.need("shape")?.number()?))
                };
                Dist::Lognormal {
                    median: read(&table.need("median")?)?,
                    sigma: table.need("sigma")?.number()?,
                    tail: table.get("tail").map(tail).transpose()?,
                }
            }
            law => {
                let pareto = item.table(item.section())?;
                let (mean, shape) = (read(&pareto.need("mean")?)?, pareto.need("shape")?.number()?);
                if law == "pareto" { Dist::Pareto { mean, shape } } else { Dist::ParetoII { mean, shape } }
            }
        })
    }

    /// The table that the key allows.
    pub(super) fn section(&self) -> &'static Section {
        match self.kind {
            Kind::Table(section) | Kind::Tables(section) | Kind::Either(_, section) => section,
            other => unreachable!("{other:?} is not a table"),
        }
    }

    /// A buffer of at least one packet of `packet` bytes, on a path that holds `bdp` bytes.
    pub(super) fn buffer(&self, packet: u32, bdp: Option<u64>) -> Result<Limit, Error> {
        let wide = u128::from(packet);
        let (bytes, limit) = match self.depth(bdp)? {
            Depth::Amount(Amount::Packets(n)) => (u128::from(n) * wide, Limit::Packets(n)),
            Depth::Amount(Amount::Bytes(n)) => (n.into(), Limit::Bytes(n)),
            Depth::Bdp(millionths) => {
                let bytes = u128::from(millionths) * u128::from(bdp.unwrap_or(0)) / 1_000_000;
                let packets = (bytes + wide / 2) / wide;
                (bytes, Limit::Packets(u64::try_from(packets).unwrap_or(u64::MAX)))
            }
        };
        if let Limit::Packets(packets) = limit
            && packets > limits::QUEUE
        {
            return Err(self.out_of_range(&format!("{packets} packets; the limit is {}", limits::QUEUE)));
        }
        if bytes < wide {
            return Err(self.out_of_range(&format!("{bytes} bytes, less than one packet of {packet} bytes")));
        }
        Ok(limit)
    }

    /// A threshold on an average queue, in packets.
    pub(super) fn threshold(&self, packet: u32, bdp: Option<u64>) -> Result<f64, Error> {
        if let Some(Ok(packets)) = self.value().as_str().map(quantity::parse_packets_f64) {
            return Ok(packets);
        }
        let bytes = match self.depth(bdp)? {
            Depth::Amount(amount) => amount.bytes(packet) as f64,
            Depth::Bdp(millionths) => millionths as f64 / 1e6 * bdp.unwrap_or(0) as f64,
        };
        Ok(bytes / f64::from(packet))
    }

    fn depth(&self, bdp: Option<u64>) -> Result<Depth, Error> {
        match self.quantity(quantity::parse_depth)? {
            Depth::Bdp(_) if bdp.is_none() => {
                Err(self.invalid("a single link has no BDP: give packets or bytes"))
            }
            depth => Ok(depth),
        }
    }
}

/// Whether `text` is a name of at most `most` characters.
pub(crate) fn is_name(text: &str, most: usize) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && text.len() <= most && text.chars().all(fits)
}
