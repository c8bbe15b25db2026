//! Settings that a bottleneck, a hop of a parking lot and a link share: rate, buffer, queue, loss, overtaking.

use std::sync::Arc;

use firstflight_contract::Rate;
use firstflight_net::settings::{Conflict, Field, Key, Needed};

use super::values;
use crate::format;
use crate::limits;
use crate::model::{Limit, Packet, Queue, Reorder, Shaper};
use crate::trace::LinkTrace;
use firstflight_document::quantity::show_bytes;
use firstflight_document::{Error, Item, Table};

/// Default rate of access links: ten times the rate behind them, or the largest rate of the format.
pub(super) fn usual_access(fastest: Rate) -> Rate {
    Rate(10 * fastest.0).min(limits::RATE)
}

/// A rate; or a trace, with its mean rate.
pub(super) fn supply(table: &Table<'_>) -> Result<(Rate, Option<LinkTrace>), Error> {
    let Some(item) = table.get("trace") else { return Ok((table.need("rate")?.rate()?, None)) };
    if table.get("rate").is_some() {
        return Err(item.invalid("the rate is given twice").expecting("only one of rate and trace"));
    }
    let trace = values::trace(&item)?;
    Ok((trace.schedule.mean(), Some(trace)))
}

pub(super) fn access(table: &Table<'_>, fastest: Rate) -> Result<Rate, Error> {
    table.get("access_rate").map_or(Ok(usual_access(fastest)), |item| item.rate())
}

/// Buffer, queue and loss of a bottleneck, a hop or a link.
pub(super) struct Hop {
    pub(super) buffer: Limit,
    pub(super) queue: Queue,
    pub(super) loss: f64,
    pub(super) loss_burst: f64,
}

pub(super) fn hop(table: &Table<'_>, packet: Packet, bdp: Option<u64>) -> Result<Hop, Error> {
    table.need("buffer")?;
    hop_or(table, packet, bdp, Limit::Packets(1))
}

/// As [`hop`], where `usual` is the default of the buffer.
pub(super) fn hop_or(
    table: &Table<'_>,
    packet: Packet,
    bdp: Option<u64>,
    usual: Limit,
) -> Result<Hop, Error> {
    let (loss, loss_burst) = table.get("loss").map_or(Ok((0.0, 1.0)), |item| self::loss(&item))?;
    Ok(Hop {
        buffer: table.get("buffer").map_or(Ok(usual), |item| values::buffer(&item, packet.size, bdp))?,
        queue: table.get("queue").map_or(Ok(Queue::DropTail), |item| queue(&item, packet, bdp))?,
        loss,
        loss_burst,
    })
}

/// Share of random losses, and the mean length of their runs.
fn loss(item: &Item<'_>) -> Result<(f64, f64), Error> {
    if item.value().as_table().is_none() {
        return Ok((item.number()?, 1.0));
    }
    let table = item.table(&format::LOSS)?;
    let (mean, item) = (table.need("mean")?.number()?, table.need("burst")?);
    Ok((mean, burst(&item, mean, "losses")?))
}

/// Numbers of the packets that are lost; none if the table states none.
pub(super) fn drops(table: &Table<'_>) -> Result<Arc<[u32]>, Error> {
    let Some(item) = table.get("drop") else { return Ok(Arc::default()) };
    let elements = item.elements()?;
    let expected = format!("1 to {} ascending numbers", limits::DROPS);
    if elements.is_empty() || elements.len() > limits::DROPS {
        return Err(item.invalid(format!("{} numbers", elements.len())).expecting(expected));
    }
    let mut numbers: Vec<u32> = vec![];
    for element in elements {
        let number = element.integer()? as u32;
        if let Some(&before) = numbers.last().filter(|before| **before >= number) {
            return Err(element
                .invalid(format!("not above {before}, the number before it"))
                .expecting(expected));
        }
        numbers.push(number);
    }
    Ok(numbers.into())
}

/// Mean length of the runs of packets that are chosen with probability `mean`.
fn burst(item: &Item<'_>, mean: f64, what: &str) -> Result<f64, Error> {
    let burst = item.number()?;
    let independent = 1.0 / (1.0 - mean);
    if burst != 1.0 && burst * (1.0 - mean) <= 1.0 {
        let why = format!("at this mean, independent {what} already come in runs of {independent} packets");
        return Err(item
            .invalid(why)
            .expecting(format!("1 for independent {what}, or more than {independent}")));
    }
    Ok(burst)
}

/// Overtaking behind the line, if the table has it.
pub(super) fn reorder(table: &Table<'_>) -> Result<Option<Reorder>, Error> {
    let Some(item) = table.get("reorder") else { return Ok(None) };
    let table = item.table(&format::REORDER)?;
    let share = table.need("share")?.number()?;
    Ok(Some(Reorder {
        share,
        delay: table.need("delay")?.time()?,
        burst: table.get("burst").map_or(Ok(1.0), |item| burst(&item, share, "choices"))?,
    }))
}

fn queue(item: &Item<'_>, packet: Packet, bdp: Option<u64>) -> Result<Queue, Error> {
    let table = item.value().as_table().map(|_| item.table(&format::QUEUE)).transpose()?;
    let path = bdp.map_or(0.0, |bdp| bdp as f64 / f64::from(packet.size));
    let known = |word: &str| Queue::usual(word, path);
    let mut queue = match &table {
        Some(table) => table.need("kind")?.choice(known)?,
        None => item.choice(known)?,
    };
    let (label, own) = (queue.label(), queue.keys());
    let given = |key: &str| table.as_ref().and_then(|table| table.get(key));
    let others = format::QUEUE
        .keys
        .iter()
        .filter(|key| key.name != "kind" && own.iter().all(|own| own.name != key.name));
    if let Some(item) = others.filter_map(|key| given(key.name)).next() {
        let what = if own.is_empty() { "parameters" } else { "such parameter" };
        return Err(item.invalid(format!("{label} has no {what}")));
    }
    let needed =
        |key: &Key| key.needed == Needed::Always || key.needed == Needed::WithoutBdp && bdp.is_none();
    let names: Vec<_> = own.iter().filter(|key| needed(key)).map(|key| key.name).collect();
    if !names.is_empty() && table.is_none() {
        let cause = if own.iter().any(|key| key.needed == Needed::Always) {
            ""
        } else {
            "a single link has no BDP, so "
        };
        let names = names.join(" and ");
        return Err(item.invalid(format!("{cause}{label} needs {names}: give them in a table")));
    }
    for (key, field) in queue.fields() {
        match (given(key.name), &table) {
            (Some(item), _) => set(field, &item, packet, bdp)?,
            (None, Some(table)) if needed(key) => return Err(table.missing(key.name)),
            _ => {}
        }
    }
    queue.check(packet.size).map_err(|Conflict { keys, why, least }| {
        let item = keys.iter().find_map(|key| given(key)).unwrap_or_else(|| item.clone());
        match least {
            None => item.invalid(why),
            Some(least) => item.invalid(why).expecting(format!("at least \"{}\"", show_bytes(least))),
        }
    })?;
    Ok(queue)
}

/// Reads a setting.
fn set(field: Field<'_>, item: &Item<'_>, packet: Packet, bdp: Option<u64>) -> Result<(), Error> {
    match field {
        Field::Flag(flag) => *flag = item.flag()?,
        Field::Share(share) => *share = item.number()?,
        Field::Time(time) => *time = item.time()?,
        Field::Bytes(bytes) => *bytes = item.bytes()?,
        Field::Size(size) => *size = Some(size_of_packet(item)?),
        Field::Rate(rate) => *rate = item.rate()?,
        Field::Threshold(threshold) => *threshold = values::threshold(item, packet.size, bdp)?,
        Field::Count(count) => *count = item.integer()? as u32,
    }
    Ok(())
}

/// The shaper of a link with this queue, if the table has one.
pub(super) fn shaper(table: &Table<'_>, packet: Packet, queue: &Queue) -> Result<Option<Shaper>, Error> {
    let Some(item) = table.get("shaper") else { return Ok(None) };
    if !queue.takes_a_shaper() {
        let why = format!("a shaper needs to know on arrival when packets leave: not with {}", queue.label());
        return Err(item.invalid(why).with_value(None).expecting("queue = drop-tail, red or policer"));
    }
    let (rate, burst) = bucket(&item.table(&format::SHAPER)?, packet)?;
    Ok(Some(Shaper { rate, burst }))
}

/// Rate and burst of a token bucket.
fn bucket(table: &Table<'_>, packet: Packet) -> Result<(Rate, u64), Error> {
    let (rate, item) = (table.need("rate")?.rate()?, table.need("burst")?);
    let burst = item.bytes()?;
    if burst < packet.size.into() {
        let why = format!("less than one packet of {} bytes, so none would pass", packet.size);
        return Err(item.invalid(why).expecting(format!("at least \"{}\"", show_bytes(packet.size.into()))));
    }
    Ok((rate, burst))
}

/// The size of a packet.
fn size_of_packet(item: &Item<'_>) -> Result<u32, Error> {
    let bytes = item.bytes()?;
    if !(1..=limits::PACKET).contains(&bytes) {
        let expected = format!("\"1 B\" to \"{} B\"", limits::PACKET);
        return Err(item.invalid("not the size of a packet").expecting(expected));
    }
    Ok(bytes as u32)
}
