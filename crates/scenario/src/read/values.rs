//! Values that only scenarios have.

use std::path::Path;

use firstflight_document::quantity::{self, Amount, Depth};
use firstflight_document::{Error, Item, Problem, file, is_name};
use firstflight_random::Dist;

use crate::format::{Kind, TRACE};
use crate::limits;
use crate::model::Limit;
use crate::trace::LinkTrace;
use crate::trace::columns::{Columns, RateUnit, TimeUnit};

/// The trace in the file that the value names, with the columns if it is a table, or the trace itself.
pub(crate) fn trace(item: &Item<'_>) -> Result<LinkTrace, Error> {
    if let Some(trace) = item.value().as_own::<LinkTrace>() {
        return Ok(trace.clone());
    }
    let (file, columns) = match item.value().as_table() {
        None => (item.text()?, Columns::default()),
        Some(_) => {
            let table = item.table(&TRACE)?;
            let text = |key| table.get(key).map(|item| item.text().map(String::from)).transpose();
            let word = |key| table.get(key).map(|item| item.word()).transpose();
            let columns = Columns {
                column: text("column")?,
                unit: word("unit")?.and_then(RateUnit::of),
                time: text("time")?,
                time_unit: word("time_unit")?.and_then(TimeUnit::of),
                text: None,
            };
            match (table.get("file"), table.get("text")) {
                (Some(_), Some(text)) => {
                    return Err(text
                        .invalid("the trace is given twice")
                        .expecting("only one of file and text"));
                }
                (None, Some(text)) => {
                    return LinkTrace::inline(text.text()?, columns).map_err(|error| in_text(&text, &error));
                }
                _ => (table.need("file")?.text()?, columns),
            }
        }
    };
    LinkTrace::load(file, folder(item)?, columns).map_err(|error| {
        // A file that cannot be read has no place in it.
        if error.place.file.is_empty() { item.fail(error.problem.clone()) } else { error }
    })
}

/// An error of a trace's line, at the text in which the line stands.
fn in_text(text: &Item<'_>, error: &Error) -> Error {
    let line = error.place.position.map_or(1, |(line, _)| line);
    let placed = text.fail_in_line(line, &error.problem).near(error.nearest.as_deref());
    match &error.expected {
        Some(expected) => placed.expecting(expected),
        None => placed,
    }
}

/// The text of the file that the value names, and the name of the file in errors.
pub(crate) fn attached(item: &Item<'_>) -> Result<(String, String), Error> {
    file::text_beside(item.text()?, folder(item)?, limits::FILE)
        .map_err(|why| item.fail(Problem::Unreadable(why)))
}

/// A transfer: an amount that one connection can send.
pub(crate) fn transfer(item: &Item<'_>, packet: u32) -> Result<u64, Error> {
    match item.amount(packet)? {
        n if n.div_ceil(packet.into()) > limits::SEGMENTS => {
            Err(item.out_of_range(&format!("above the limit of {} packets", limits::SEGMENTS)))
        }
        n => Ok(n),
    }
}

/// A window: an amount from one packet to [`limits::WINDOW`] packets.
pub(crate) fn window(item: &Item<'_>, packet: u32) -> Result<u64, Error> {
    match item.amount(packet)? {
        n if n < packet.into() => {
            Err(item.out_of_range(&format!("less than one packet, which carries {packet} bytes")))
        }
        n if n / u64::from(packet) > limits::WINDOW => {
            Err(item.out_of_range(&format!("above the limit of {} packets", limits::WINDOW)))
        }
        n => Ok(n),
    }
}

/// The name of a link, which has room for `suffix` too.
pub(crate) fn link_name<'a>(item: &Item<'a>, suffix: &str) -> Result<&'a str, Error> {
    match item.text()? {
        name if is_name(name, limits::LINK_NAME - suffix.len()) => Ok(name),
        _ => Err(item.out_of_range("not a name")),
    }
}

/// A fixed value or a distribution of them.
pub(crate) fn dist<'a, T: PartialOrd>(
    item: &Item<'a>,
    read: impl Fn(&Item<'a>) -> Result<T, Error>,
) -> Result<Dist<T>, Error> {
    let Kind::Either(_, section) = *item.kind() else {
        unreachable!("{:?} is not a distribution", item.kind())
    };
    if item.value().as_table().is_none() {
        return read(item).map(Dist::Fixed);
    }
    let (law, item) = item.table(section)?.only()?;
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

/// A buffer of at least one packet of `packet` bytes, on a path that holds `bdp` bytes.
pub(crate) fn buffer(item: &Item<'_>, packet: u32, bdp: Option<u64>) -> Result<Limit, Error> {
    let wide = u128::from(packet);
    let (bytes, limit) = match depth(item, bdp)? {
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
        return Err(item.out_of_range(&format!("{packets} packets; the limit is {}", limits::QUEUE)));
    }
    if bytes < wide {
        return Err(item.out_of_range(&format!("{bytes} bytes, less than one packet of {packet} bytes")));
    }
    Ok(limit)
}

/// A threshold on an average queue, in packets.
pub(crate) fn threshold(item: &Item<'_>, packet: u32, bdp: Option<u64>) -> Result<f64, Error> {
    if let Some(Ok(packets)) = item.value().as_str().map(quantity::parse_packets_f64) {
        return Ok(packets);
    }
    let bytes = match depth(item, bdp)? {
        Depth::Amount(amount) => amount.bytes(packet) as f64,
        Depth::Bdp(millionths) => millionths as f64 / 1e6 * bdp.unwrap_or(0) as f64,
    };
    Ok(bytes / f64::from(packet))
}

/// Folder of the files that the scenario names.
fn folder<'a>(item: &Item<'a>) -> Result<&'a Path, Error> {
    let nowhere = || item.invalid("a scenario that is not in a file cannot name a file without a folder");
    item.folder().ok_or_else(nowhere)
}

/// A depth, on a path that holds `bdp` bytes.
fn depth(item: &Item<'_>, bdp: Option<u64>) -> Result<Depth, Error> {
    match item.quantity(quantity::parse_depth)? {
        Depth::Bdp(_) if bdp.is_none() => {
            Err(item.invalid("a single link has no BDP: give packets or bytes"))
        }
        depth => Ok(depth),
    }
}
