//! The rate of an edge: `rate` with a unit, or the Zoo's speed of a link, which it writes as `LinkSpeedRaw` in bits per second, as
//! `LinkSpeed` with `LinkSpeedUnits`, or as both.

use firstflight_contract::Rate;

use super::keys::Values;
use super::{Attribute, Error, Kind, Problem, Source, limits, parse_rate};
use roxmltree::Node;

const RAW: &str = "LinkSpeedRaw";
const SPEED: &str = "LinkSpeed";
const UNITS: &str = "LinkSpeedUnits";

/// The words of `LinkSpeedUnits`, and their bits per second.
const WORDS: [(&str, f64); 4] = [("K", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];

/// An edge whose rate is read.
pub(super) struct Speed<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) edge: Node<'a, 'a>,
    /// Its name in errors.
    pub(super) whose: &'a str,
    pub(super) values: &'a Values<'a>,
}

impl<'a> Speed<'a> {
    /// The rate. What the edge has comes before any default; of either `rate` comes first.
    pub(super) fn read(&self) -> Result<Option<Rate>, Error> {
        for is_given in [true, false] {
            let value = |key| if is_given { self.values.given(key) } else { self.values.default(key) };
            if let Some(text) = value("rate") {
                let rate =
                    self.attribute("rate", text).quantity(parse_rate, |rate| rate.0 > 0, &Kind::Rate)?;
                return Ok(Some(rate));
            }
            let raw = value(RAW)
                .map(|text| self.attribute(RAW, text).whole(limits::RATE.0).map(Rate))
                .transpose()?;
            let scaled = value(SPEED).map(|text| self.scaled(text)).transpose()?;
            return Ok(Some(match (raw, scaled) {
                (Some(raw), Some(scaled)) if raw != scaled => return Err(self.differs(raw, scaled)),
                (Some(rate), _) | (None, Some(rate)) => rate,
                (None, None) => continue,
            }));
        }
        Ok(None)
    }

    fn attribute(&self, key: &'static str, text: &'a str) -> Attribute<'a> {
        Attribute { source: self.source, of: self.edge, whose: self.whose, key, text }
    }

    /// `LinkSpeed` in the unit of `LinkSpeedUnits`, to the nearest bit per second.
    fn scaled(&self, text: &'a str) -> Result<Rate, Error> {
        let units = self.values.get(UNITS).unwrap_or_default();
        let Some(&(_, bits)) = WORDS.iter().find(|(word, _)| *word == units) else {
            let expected = format!("one of: {}", WORDS.map(|(word, _)| word).join(", "));
            let problem = Problem::Invalid(format!("this is no unit of {SPEED}"));
            return Err(self.attribute(UNITS, units).wrong(problem, expected));
        };
        let most = limits::RATE.0 as f64 / bits;
        let number = self.attribute(SPEED, text).number(1.0 / bits, most)?;
        Ok(Rate(libm::round(number * bits) as u64))
    }

    fn differs(&self, raw: Rate, scaled: Rate) -> Error {
        let why = format!("{}: {RAW} is {} bit/s, {SPEED} is {} bit/s", self.whose, raw.0, scaled.0);
        self.source.error(self.edge, &why).expecting("the same speed in both, or one of them")
    }
}
