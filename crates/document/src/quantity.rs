//! Quantities as text: a decimal number and its unit, `40 Mbit/s`, `1.5 s`, `300 KB`, `0.5 BDP`.
//!
//! Reading is exact: a number that is not a whole count of the base unit (bit/s, ns, byte, packet) is an error and never
//! rounded. Writing a quantity and reading the text gives the same quantity.

use firstflight_contract::{Nanos, Rate};

use crate::error::{Error, Problem, QuantityProblem, nearest};
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

/// Unit of bandwidth-delay products, in millionths.
pub const BDP_UNITS: &[(&str, u64)] = &[("BDP", 1_000_000)];

/// Amount of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Bytes: payload or bytes on the wire, as the key defines.
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

/// Depth of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// In bytes or packets.
    Amount(Amount),
    /// In millionths of the path's bandwidth-delay product.
    Bdp(u64),
}

impl From<QuantityProblem> for Error {
    fn from(problem: QuantityProblem) -> Self {
        Self::new(Problem::Quantity(problem))
    }
}

/// Reads a rate, which may be zero.
///
/// # Errors
/// [`Problem::Quantity`] if `text` is not a rate.
pub fn parse_rate(text: &str) -> Result<Rate, Error> {
    let (number, unit) = split(text)?;
    // Tools spell these units in upper and lower case.
    if let Some(&(_, bits)) = AMBIGUOUS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) {
        let bits = format!("{} {bits}", number.text);
        return Err(QuantityProblem::AmbiguousUnit { unit: unit.into(), bits }.into());
    }
    let scale = find(&number, unit, &[RATE_UNITS])?;
    Ok(Rate(number.times(scale, limits::RATE.0, "bit/s", || show_rate(limits::RATE))?))
}

/// Reads a time, which may be zero.
///
/// # Errors
/// [`Problem::Quantity`] if `text` is not a time.
pub fn parse_time(text: &str) -> Result<Nanos, Error> {
    let (number, unit) = split(text)?;
    let scale = find(&number, unit, &[TIME_UNITS])?;
    Ok(Nanos(number.times(scale, limits::TIME.0, "nanoseconds", || show_time(limits::TIME))?))
}

/// Reads a number of bytes, which may be zero.
///
/// # Errors
/// [`Problem::Quantity`] if `text` is not a number of bytes.
pub fn parse_bytes(text: &str) -> Result<u64, Error> {
    let (number, unit) = split(text)?;
    let scale = find(&number, unit, &[BYTE_UNITS])?;
    Ok(bytes(number, scale)?)
}

/// Reads an amount of bytes or packets, which may be zero.
///
/// # Errors
/// [`Problem::Quantity`] if `text` is not an amount.
pub fn parse_amount(text: &str) -> Result<Amount, Error> {
    let (number, unit) = split(text)?;
    amount(number, unit, &[BYTE_UNITS, PACKET_UNITS])
}

/// Reads the depth of a buffer, which may be zero.
///
/// # Errors
/// [`Problem::Quantity`] if `text` is not the depth of a buffer.
pub fn parse_depth(text: &str) -> Result<Depth, Error> {
    let (number, unit) = split(text)?;
    let Some(&(_, scale)) = BDP_UNITS.iter().find(|(name, _)| *name == unit) else {
        return Ok(Depth::Amount(amount(number, unit, &[BYTE_UNITS, PACKET_UNITS, BDP_UNITS])?));
    };
    let limit = || "1000 BDP".into();
    Ok(Depth::Bdp(number.times(scale, limits::BDP_MILLIONTHS, "millionths of a BDP", limit)?))
}

/// Reads a number of packets, which may have decimals.
///
/// # Errors
/// [`Problem::Quantity`] if `text` is not a number of packets.
pub fn parse_packets_f64(text: &str) -> Result<f64, Error> {
    let (number, unit) = split(text)?;
    find(&number, unit, &[PACKET_UNITS])?;
    let packets = number.text.parse::<f64>().map_err(|_| QuantityProblem::NotANumber)?;
    if packets > limits::PACKETS as f64 {
        return Err(too_many_packets().into());
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
    /// Negative power of ten by which `digits` is multiplied.
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
    ) -> Result<u64, QuantityProblem> {
        let too_large = || QuantityProblem::TooLarge { limit: limit() };
        let scaled = self.digits.checked_mul(unit.into()).ok_or_else(too_large)?;
        let divisor = 10u128.pow(self.scale);
        if !scaled.is_multiple_of(divisor) {
            return Err(QuantityProblem::NotWhole(base));
        }
        u64::try_from(scaled / divisor).ok().filter(|&n| n <= most).ok_or_else(too_large)
    }
}

fn split(text: &str) -> Result<(Decimal<'_>, &str), QuantityProblem> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err(QuantityProblem::Negative);
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim_start());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return Err(QuantityProblem::NotANumber);
    }
    if unit.is_empty() {
        return Err(QuantityProblem::NoUnit);
    }
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let (digits, scale) = if whole.len() > 19 {
        // Above u64 in any unit.
        (u128::MAX, 0)
    } else if fraction.len() > 18 {
        // No unit has that many decimals: not a whole number of any, whatever the digits.
        (1, 38)
    } else {
        (
            format!("0{whole}{fraction}").parse().map_err(|_| QuantityProblem::NotANumber)?,
            fraction.len() as u32,
        )
    };
    Ok((Decimal { digits, scale, text: number }, unit))
}

/// Scale of a unit.
fn find(number: &Decimal<'_>, unit: &str, tables: &[&'static [(&'static str, u64)]]) -> Result<u64, Error> {
    let all = || tables.iter().copied().flatten();
    match all().find(|(name, _)| *name == unit) {
        Some(&(_, scale)) => Ok(scale),
        None => {
            let units: Vec<_> = all().map(|&(name, _)| name).collect();
            let near = valid_spelling(number, unit, &units);
            let problem = QuantityProblem::UnknownUnit { unit: unit.into(), units };
            Err(Error::from(problem).near(near.as_deref()))
        }
    }
}

/// Spellings of units in other programs, in lower case: the factor and the unit of this format.
const SPELLINGS: &[(&str, u64, &str)] = &[
    ("bit", 1, "bit/s"),
    ("kbit", 1, "kbit/s"),
    ("mbit", 1, "Mbit/s"),
    ("gbit", 1, "Gbit/s"),
    ("tbit", 1, "Tbit/s"),
    ("kb/s", 1, "kbit/s"),
    ("mb/s", 1, "Mbit/s"),
    ("gb/s", 1, "Gbit/s"),
    ("tb", 1000, "GB"),
    ("tib", 1024, "GiB"),
    ("bytes", 1, "B"),
    ("byte", 1, "B"),
    ("k", 1, "KB"),
    ("m", 1, "MB"),
    ("g", 1, "GB"),
    ("m", 1, "min"),
    ("sec", 1, "s"),
    ("secs", 1, "s"),
    ("seconds", 1, "s"),
    ("second", 1, "s"),
    ("msec", 1, "ms"),
    ("usec", 1, "us"),
    ("\u{b5}s", 1, "us"),
    ("\u{3bc}s", 1, "us"),
    ("mn", 1, "min"),
    ("mins", 1, "min"),
    ("minutes", 1, "min"),
    ("minute", 1, "min"),
    ("pkts", 1, "packets"),
    ("pkt", 1, "packets"),
];

/// The quantity in a valid unit: with another spelling of the same unit, or with a unit of nearly the same name, if the
/// names are long enough to be a slip of the hand: `TB` is no slip of `KB`.
fn valid_spelling(number: &Decimal<'_>, unit: &str, units: &[&'static str]) -> Option<String> {
    const SLIP: usize = 4;
    let lower = unit.to_lowercase();
    let same = units.iter().find(|name| name.to_lowercase() == lower).map(|name| (1, *name));
    let other = || {
        let spelling = SPELLINGS.iter().find(|(name, _, to)| *name == lower && units.contains(to));
        spelling.map(|&(_, factor, to)| (factor, to))
    };
    let slip = || Some((1, nearest(unit, units.iter().copied().filter(|name| name.len() >= SLIP))?));
    let (factor, name) = same.or_else(other).or_else(slip)?;
    if factor == 1 {
        return Some(format!("{} {name}", number.text));
    }
    // A number that is not whole in the smaller unit has no short spelling there.
    let scaled = number.digits.checked_mul(factor.into())?;
    let divisor = 10u128.pow(number.scale);
    scaled.is_multiple_of(divisor).then(|| format!("{} {name}", scaled / divisor))
}

fn bytes(number: Decimal<'_>, scale: u64) -> Result<u64, QuantityProblem> {
    number.times(scale, limits::BYTES, "bytes", || show_bytes(limits::BYTES))
}

fn amount(
    number: Decimal<'_>,
    unit: &str,
    tables: &[&'static [(&'static str, u64)]],
) -> Result<Amount, Error> {
    if PACKET_UNITS.iter().any(|(name, _)| *name == unit) {
        return match number.times(1, limits::PACKETS, "packets", String::new) {
            Err(QuantityProblem::TooLarge { .. }) => Err(too_many_packets().into()),
            n => Ok(n.map(Amount::Packets)?),
        };
    }
    let scale = find(&number, unit, tables)?;
    Ok(bytes(number, scale).map(Amount::Bytes)?)
}

fn too_many_packets() -> QuantityProblem {
    QuantityProblem::TooLarge { limit: format!("{} packets", limits::PACKETS) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_spellings_are_refused_with_the_valid_one() {
        let near = |error: Error| error.nearest.clone().unwrap_or_default();
        let rate = |text| near(parse_rate(text).expect_err("refused"));
        assert_eq!(
            ["10 mbit/s", "10mbit", "1.5 MBIT/S", "10 Mbits/s", "10 Mb/s"].map(rate),
            ["10 Mbit/s", "10 Mbit/s", "1.5 Mbit/s", "10 Mbit/s", "10 Mbit/s"]
        );
        let bytes = |text| near(parse_bytes(text).expect_err("refused"));
        assert_eq!(
            ["1 TB", "1.5TB", "2 TiB", "3 kb", "3 k", "7 PB", "0.0000000001 TB"].map(bytes),
            ["1000 GB", "1500 GB", "2048 GiB", "3 KB", "3 KB", "", ""]
        );
        let time = |text| near(parse_time(text).expect_err("refused"));
        assert_eq!(
            ["3 m", "1 week", "20 msec", "5 \u{b5}s", "2 Min", "1.5 sec"].map(time),
            ["3 min", "", "20 ms", "5 us", "2 min", "1.5 s"]
        );
        let ambiguous = parse_rate("10Mbps").expect_err("refused").to_string();
        assert!(ambiguous.ends_with("write \"10 Mbit/s\""), "{ambiguous}");
    }
}
