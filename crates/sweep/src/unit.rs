//! Values of factors as numbers with a unit, for columns and for ranges.

use firstflight_contract::{Nanos, Rate};
use firstflight_document::quantity::{
    Amount, Depth, parse_depth, parse_rate, parse_time, show_bytes, show_rate, show_time,
};
use toml::Value;

/// Kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Rate,
    Time,
    Bytes,
    Packets,
    Bdp,
    Whole,
    Number,
    /// No number: a label, a flag, a table.
    Word,
}

const NANOS: f64 = 1e9;
const MILLION: f64 = 1e6;

impl Unit {
    /// The kind of a value, and its number in the unit of [`Unit::name`].
    pub(super) fn read(value: &Value) -> (Self, f64) {
        match value {
            Value::Integer(number) => (Self::Whole, *number as f64),
            Value::Float(number) if number.is_finite() => (Self::Number, *number),
            Value::String(text) => Self::read_text(text),
            _ => (Self::Word, 0.0),
        }
    }

    fn read_text(text: &str) -> (Self, f64) {
        if let Ok(Rate(rate)) = parse_rate(text) {
            return (Self::Rate, rate as f64);
        }
        if let Ok(Nanos(time)) = parse_time(text) {
            return (Self::Time, time as f64 / NANOS);
        }
        match parse_depth(text) {
            Ok(Depth::Amount(Amount::Bytes(bytes))) => (Self::Bytes, bytes as f64),
            Ok(Depth::Amount(Amount::Packets(packets))) => (Self::Packets, packets as f64),
            Ok(Depth::Bdp(millionths)) => (Self::Bdp, millionths as f64 / MILLION),
            Err(_) => (Self::Word, 0.0),
        }
    }

    /// The kind that holds values of both kinds.
    pub(super) fn with(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Whole | Self::Number, Self::Whole | Self::Number) => Self::Number,
            _ => Self::Word,
        }
    }

    /// A number of this kind as a value of a scenario, rounded to what the format can hold.
    pub(super) fn show(self, number: f64) -> Value {
        let whole = |number: f64| number.round() as u64;
        match self {
            Self::Rate => show_rate(Rate(whole(number))).into(),
            Self::Time => show_time(Nanos(whole(number * NANOS))).into(),
            Self::Bytes => show_bytes(whole(number)).into(),
            Self::Packets => format!("{} packets", whole(number)).into(),
            Self::Bdp => format!("{:.6} BDP", number).into(),
            Self::Whole => Value::Integer(number.round() as i64),
            Self::Number | Self::Word => Value::Float(number),
        }
    }

    /// The unit in documentation; empty if there is none.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rate => "bit/s",
            Self::Time => "s",
            Self::Bytes => "bytes",
            Self::Packets => "packets",
            Self::Bdp => "BDP",
            Self::Whole | Self::Number | Self::Word => "",
        }
    }

    /// The last word of a column's name.
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::Rate => "_bit_s",
            Self::Time => "_s",
            Self::Bytes => "_bytes",
            Self::Packets => "_packets",
            Self::Bdp => "_bdp",
            Self::Whole | Self::Number | Self::Word => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_their_unit_and_come_back_as_written() {
        for (text, unit, number) in [
            ("40 Mbit/s", Unit::Rate, 40e6),
            ("100 ms", Unit::Time, 0.1),
            ("300 KB", Unit::Bytes, 300e3),
            ("50 packets", Unit::Packets, 50.0),
            ("0.500000 BDP", Unit::Bdp, 0.5),
        ] {
            let value = Value::from(text);
            assert_eq!(Unit::read(&value), (unit, number), "{text}");
            assert_eq!(unit.show(number), value);
        }
        for word in [Value::from("drop-tail"), Value::from(true), Value::from(vec!["a"])] {
            assert_eq!(Unit::read(&word).0, Unit::Word, "{word}");
        }
        assert_eq!(Unit::Whole.with(Unit::Number), Unit::Number);
        assert_eq!(Unit::Packets.with(Unit::Bdp), Unit::Word);
    }
}
