//! Quantities as people write them: a decimal number and its unit, `40 Mbit/s`, `1.5 s`, `300 KB`, `0.5 BDP`.
//!
//! Reading is exact: a number that is not a whole count of the base unit (bit/s, ns, byte, packet) is an error,
//! never rounded. Writing gives back the same quantity.

use core::fmt;

use firstflight_contract::{Nanos, Rate};

use crate::error::clipped;
use crate::limits;

/// Units of rates, with their bits per second.
pub const RATE_UNITS: &[(&str, u64)] = &[
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Tbit/s", 1_000_000_000_000),
];

/// Units of times, with their nanoseconds.
pub const TIME_UNITS: &[(&str, u64)] =
    &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("min", 60_000_000_000)];

/// Units of sizes, with their bytes.
pub const BYTE_UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("KB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
];

/// Units of packet counts.
pub const PACKET_UNITS: &[(&str, u64)] = &[("packets", 1), ("packet", 1)];

/// The unit of bandwidth-delay products, in millionths.
pub const BDP_UNITS: &[(&str, u64)] = &[("BDP", 1_000_000)];

/// An amount of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Bytes; of payload or on the wire, as the place says.
    Bytes(u64),
    /// Full packets.
    Packets(u64),
}

impl Amount {
    /// The amount in bytes, where a full packet counts for `packet` bytes.
    pub const fn bytes(self, packet: u32) -> u64 {
        match self {
            Self::Bytes(n) => n,
            Self::Packets(n) => n * packet as u64,
        }
    }
}

/// The depth of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// In bytes or packets.
    Amount(Amount),
    /// In millionths of the path's bandwidth-delay product.
    Bdp(u64),
}

/// Why a text is not the quantity that was wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuantityError {
    /// It does not begin with a decimal number.
    NotANumber,
    /// It is below zero.
    Negative,
    /// It has a number but no unit.
    NoUnit,
    /// There is no such unit.
    UnknownUnit {
        /// As written.
        unit: String,
        /// The units that fit here.
        units: Vec<&'static str>,
    },
    /// `mbps` and its kin.
    AmbiguousUnit {
        /// As written.
        unit: String,
        /// The unit in bits.
        bits: &'static str,
    },
    /// It is not a whole number of this base unit.
    NotWhole(&'static str),
    /// It is beyond what the format takes.
    TooLarge {
        /// The largest value taken.
        limit: String,
    },
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber => write!(f, "not a number with a unit"),
            Self::Negative => write!(f, "negative"),
            Self::NoUnit => write!(f, "the unit is missing"),
            Self::UnknownUnit { unit, units } => {
                write!(f, "there is no unit \"{}\" here, only {}", clipped(unit), units.join(", "))
            }
            Self::AmbiguousUnit { unit, bits } => write!(
                f,
                "\"{unit}\" is refused because it counts bytes in tc and bits elsewhere: write \"{bits}\""
            ),
            Self::NotWhole(unit) => write!(f, "not a whole number of {unit}"),
            Self::TooLarge { limit } => write!(f, "more than {limit}, the most that is taken"),
        }
    }
}

impl core::error::Error for QuantityError {}

/// Reads a rate, which may be zero.
///
/// # Errors
/// [`QuantityError`] if `text` is not a rate.
pub fn parse_rate(text: &str) -> Result<Rate, QuantityError> {
    let (number, unit) = split(text)?;
    // Its kin are spelt in every case there is.
    if let Some(&(_, bits)) = AMBIGUOUS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) {
        return Err(QuantityError::AmbiguousUnit { unit: unit.into(), bits });
    }
    let scale = find(unit, &[RATE_UNITS])?;
    number.times(scale, limits::RATE.0, "bit/s", || show_rate(limits::RATE)).map(Rate)
}

/// Reads a time, which may be zero.
///
/// # Errors
/// [`QuantityError`] if `text` is not a time.
pub fn parse_time(text: &str) -> Result<Nanos, QuantityError> {
    let (number, unit) = split(text)?;
    let scale = find(unit, &[TIME_UNITS])?;
    number.times(scale, limits::TIME.0, "nanoseconds", || show_time(limits::TIME)).map(Nanos)
}

/// Reads an amount of bytes, which may be zero.
///
/// # Errors
/// [`QuantityError`] if `text` is not a number of bytes.
pub fn parse_bytes(text: &str) -> Result<u64, QuantityError> {
    let (number, unit) = split(text)?;
    bytes(number, find(unit, &[BYTE_UNITS])?)
}

/// Reads an amount of bytes or packets, which may be zero.
///
/// # Errors
/// [`QuantityError`] if `text` is not an amount.
pub fn parse_amount(text: &str) -> Result<Amount, QuantityError> {
    let (number, unit) = split(text)?;
    amount(number, unit, &[BYTE_UNITS, PACKET_UNITS])
}

/// Reads the depth of a buffer, which may be zero.
///
/// # Errors
/// [`QuantityError`] if `text` is not one.
pub fn parse_depth(text: &str) -> Result<Depth, QuantityError> {
    let (number, unit) = split(text)?;
    match BDP_UNITS.iter().find(|(name, _)| *name == unit) {
        Some(&(_, scale)) => number
            .times(scale, limits::BDP_MILLIONTHS, "millionths of a BDP", || "1000 BDP".into())
            .map(Depth::Bdp),
        None => amount(number, unit, &[BYTE_UNITS, PACKET_UNITS, BDP_UNITS]).map(Depth::Amount),
    }
}

/// Reads a possibly fractional number of packets.
///
/// # Errors
/// [`QuantityError`] if `text` is not one.
pub fn parse_packets_f64(text: &str) -> Result<f64, QuantityError> {
    let (number, unit) = split(text)?;
    find(unit, &[PACKET_UNITS])?;
    let packets = number.text.parse::<f64>().map_err(|_| QuantityError::NotANumber)?;
    if packets > limits::PACKETS as f64 {
        return Err(too_many_packets());
    }
    Ok(packets)
}

/// Writes a rate exactly, in the largest unit not above it.
pub fn show_rate(rate: Rate) -> String {
    show(rate.0, RATE_UNITS, "bit/s")
}

/// Writes a time exactly, in the largest unit up to seconds not above it.
pub fn show_time(time: Nanos) -> String {
    show(time.0, &TIME_UNITS[..4], "s")
}

/// Writes a number of bytes exactly, in the largest decimal unit not above it.
pub fn show_bytes(bytes: u64) -> String {
    show(bytes, &[BYTE_UNITS[0], BYTE_UNITS[1], BYTE_UNITS[3], BYTE_UNITS[5]], "B")
}

const AMBIGUOUS: &[(&str, &str)] =
    &[("bps", "bit/s"), ("kbps", "kbit/s"), ("mbps", "Mbit/s"), ("gbps", "Gbit/s"), ("tbps", "Tbit/s")];

/// A decimal number, kept exact.
struct Decimal<'a> {
    digits: u128,
    /// Power of ten that `digits` is to be divided by.
    scale: u32,
    text: &'a str,
}

impl Decimal<'_> {
    fn times(
        &self,
        unit: u64,
        most: u64,
        base: &'static str,
        limit: impl Fn() -> String,
    ) -> Result<u64, QuantityError> {
        let too_large = || QuantityError::TooLarge { limit: limit() };
        let scaled = self.digits.checked_mul(unit.into()).ok_or_else(too_large)?;
        let divisor = 10u128.pow(self.scale);
        if !scaled.is_multiple_of(divisor) {
            return Err(QuantityError::NotWhole(base));
        }
        u64::try_from(scaled / divisor).ok().filter(|&n| n <= most).ok_or_else(too_large)
    }
}

fn split(text: &str) -> Result<(Decimal<'_>, &str), QuantityError> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err(QuantityError::Negative);
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim_start());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return Err(QuantityError::NotANumber);
    }
    if unit.is_empty() {
        return Err(QuantityError::NoUnit);
    }
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let (digits, scale) = if whole.len() > 19 {
        // Beyond u64 in any unit.
        (u128::MAX, 0)
    } else if fraction.len() > 18 {
        // No unit has that many decimals: not a whole number of any, whatever the digits.
        (1, 38)
    } else {
        (format!("0{whole}{fraction}").parse().map_err(|_| QuantityError::NotANumber)?, fraction.len() as u32)
    };
    Ok((Decimal { digits, scale, text: number }, unit))
}

fn find(unit: &str, tables: &[&'static [(&'static str, u64)]]) -> Result<u64, QuantityError> {
    let all = || tables.iter().copied().flatten();
    match all().find(|(name, _)| *name == unit) {
        Some(&(_, scale)) => Ok(scale),
        None => Err(QuantityError::UnknownUnit {
            unit: unit.into(),
            units: all().map(|&(name, _)| name).collect(),
        }),
    }
}

fn bytes(number: Decimal<'_>, scale: u64) -> Result<u64, QuantityError> {
    number.times(scale, limits::BYTES, "bytes", || show_bytes(limits::BYTES))
}

fn amount(
    number: Decimal<'_>,
    unit: &str,
    tables: &[&'static [(&'static str, u64)]],
) -> Result<Amount, QuantityError> {
    if PACKET_UNITS.iter().any(|(name, _)| *name == unit) {
        return match number.times(1, limits::PACKETS, "packets", String::new) {
            Err(QuantityError::TooLarge { .. }) => Err(too_many_packets()),
            n => n.map(Amount::Packets),
        };
    }
    bytes(number, find(unit, tables)?).map(Amount::Bytes)
}

fn too_many_packets() -> QuantityError {
    QuantityError::TooLarge { limit: format!("{} packets", limits::PACKETS) }
}

fn show(value: u64, units: &[(&str, u64)], zero: &str) -> String {
    let Some(&(unit, scale)) = units.iter().rev().find(|&&(_, scale)| scale <= value) else {
        return format!("0 {zero}");
    };
    let (whole, rest) = (value / scale, value % scale);
    if rest == 0 {
        return format!("{whole} {unit}");
    }
    let fraction = format!("{rest:0width$}", width = scale.ilog10() as usize);
    format!("{whole}.{} {unit}", fraction.trim_end_matches('0'))
}
