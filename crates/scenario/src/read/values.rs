//! Values that only scenarios have.

use std::path::Path;

use firstflight_document::quantity::{self, Amount, Depth};
use firstflight_document::{Error, Item, Problem, Table, file, is_name};
use firstflight_random::Dist;
use firstflight_schemes::catalogue::Schemes;

use crate::format::{Kind, TRACE};
use crate::limits;
use crate::model::Limit;
use crate::scheme::BUILT_IN;
use crate::trace::LinkTrace;
use crate::trace::columns::{Columns, RateUnit, TimeUnit};

/// The schemes whose labels are valid.
pub(super) fn schemes<'a>(table: &Table<'a>) -> &'a Schemes {
    table.known().unwrap_or(BUILT_IN)
}

/// Readers of values that only scenarios have.
pub(crate) trait Values<'a> {
    /// The schemes whose labels are valid.
    fn schemes(&self) -> &'a Schemes;
    /// The trace in the file that the value names, with the columns if it is a table, or the trace itself.
    fn trace(&self) -> Result<LinkTrace, Error>;
    /// The text of the file that the value names, and the name of the file in errors.
    fn attached(&self) -> Result<(String, String), Error>;
    /// A transfer: an amount that one connection can send.
    fn transfer(&self, packet: u32) -> Result<u64, Error>;
    /// A window: an amount from one packet to [`limits::WINDOW`] packets.
    fn window(&self, packet: u32) -> Result<u64, Error>;
    /// The name of a link, which has room for `suffix` too.
    fn link_name(&self, suffix: &str) -> Result<&'a str, Error>;
    /// A fixed value or a distribution of them.
    fn dist<T: PartialOrd>(&self, read: impl Fn(&Item<'a>) -> Result<T, Error>) -> Result<Dist<T>, Error>;
    /// A buffer of at least one packet of `packet` bytes, on a path that holds `bdp` bytes.
    fn buffer(&self, packet: u32, bdp: Option<u64>) -> Result<Limit, Error>;
    /// A threshold on an average queue, in packets.
    fn threshold(&self, packet: u32, bdp: Option<u64>) -> Result<f64, Error>;
}

impl<'a> Values<'a> for Item<'a> {
    fn schemes(&self) -> &'a Schemes {
        self.known().unwrap_or(BUILT_IN)
    }

    fn trace(&self) -> Result<LinkTrace, Error> {
        if let Some(trace) = self.value().as_own::<LinkTrace>() {
            return Ok(trace.clone());
        }
        let (file, columns) = match self.value().as_table() {
            None => (self.text()?, Columns::default()),
            Some(_) => {
                let table = self.table(&TRACE)?;
                let text = |key| table.get(key).map(|item| item.text().map(String::from)).transpose();
                let word = |key| table.get(key).map(|item| item.word()).transpose();
                let columns = Columns {
                    column: text("column")?,
                    unit: word("unit")?.and_then(RateUnit::of),
                    time: text("time")?,
                    time_unit: word("time_unit")?.and_then(TimeUnit::of),
                };
                (table.need("file")?.text()?, columns)
            }
        };
        LinkTrace::load(file, folder(self)?, columns).map_err(|error| {
            // A file that cannot be read has no place in it.
            if error.place.file.is_empty() { self.fail(error.problem.clone()) } else { error }
        })
    }

    fn attached(&self) -> Result<(String, String), Error> {
        file::text_beside(self.text()?, folder(self)?, limits::FILE)
            .map_err(|why| self.fail(Problem::Unreadable(why)))
    }

    fn transfer(&self, packet: u32) -> Result<u64, Error> {
        match self.amount(packet)? {
            n if n.div_ceil(packet.into()) > limits::SEGMENTS => {
                Err(self.out_of_range(&format!("above the limit of {} packets", limits::SEGMENTS)))
            }
            n => Ok(n),
        }
    }

    fn window(&self, packet: u32) -> Result<u64, Error> {
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

    fn link_name(&self, suffix: &str) -> Result<&'a str, Error> {
        match self.text()? {
            name if is_name(name, limits::LINK_NAME - suffix.len()) => Ok(name),
            _ => Err(self.out_of_range("not a name")),
        }
    }

    fn dist<T: PartialOrd>(&self, read: impl Fn(&Item<'a>) -> Result<T, Error>) -> Result<Dist<T>, Error> {
        let Kind::Either(_, section) = *self.kind() else {
            unreachable!("{:?} is not a distribution", self.kind())
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

    fn buffer(&self, packet: u32, bdp: Option<u64>) -> Result<Limit, Error> {
        let wide = u128::from(packet);
        let (bytes, limit) = match depth(self, bdp)? {
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

    fn threshold(&self, packet: u32, bdp: Option<u64>) -> Result<f64, Error> {
        if let Some(Ok(packets)) = self.value().as_str().map(quantity::parse_packets_f64) {
            return Ok(packets);
        }
        let bytes = match depth(self, bdp)? {
            Depth::Amount(amount) => amount.bytes(packet) as f64,
            Depth::Bdp(millionths) => millionths as f64 / 1e6 * bdp.unwrap_or(0) as f64,
        };
        Ok(bytes / f64::from(packet))
    }
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
