//! Settings that a bottleneck, a hop of a parking lot and a link share: rate, buffer, queue, loss, overtaking.

use firstflight_contract::Rate;

use super::values::Values;
use crate::format::{self, QueueKind};
use crate::limits;
use crate::model::{Codel, FqCodel, Limit, Packet, Policer, Queue, Red, Reorder, Router, Shaper};
use crate::trace::LinkTrace;
use firstflight_document::Error;
use firstflight_document::quantity::show_bytes;
use firstflight_document::{Item, Table};

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
    let trace = item.trace()?;
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
        buffer: table.get("buffer").map_or(Ok(usual), |item| item.buffer(packet.size, bdp))?,
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
    let chosen = match &table {
        Some(table) => table.need("kind")?.choice(QueueKind::from_word)?,
        None => item.choice(QueueKind::from_word)?,
    };
    let kind = chosen.word();
    let given = |key: &&str| table.as_ref().and_then(|table| table.get(key));
    let own = format::QUEUE_KEYS.iter().find(|(other, _)| *other == kind).map_or(&[][..], |(_, keys)| keys);
    let others = format::QUEUE_KEYS.iter().flat_map(|(_, keys)| *keys).filter(|key| !own.contains(key));
    if let Some(item) = others.filter_map(&given).next() {
        let what = if own.is_empty() { "parameters" } else { "such parameter" };
        return Err(item.invalid(format!("{kind} has no {what}")));
    }
    if let Some(mut router) = Router::by_label(kind) {
        for (name, value) in router.params() {
            if let Some(item) = given(&name) {
                *value = item.number()?;
            }
        }
        return Ok(Queue::Router(router));
    }
    match chosen {
        QueueKind::DropTail => Ok(Queue::DropTail),
        QueueKind::Priority => Ok(Queue::Priority),
        QueueKind::Red => red(item, table.as_ref(), packet, bdp).map(Queue::Red),
        QueueKind::Choke => red(item, table.as_ref(), packet, bdp).map(Queue::Choke),
        QueueKind::Policer => policer(item, table.as_ref(), packet).map(Queue::Policer),
        QueueKind::Codel => codel(table.as_ref()).map(Queue::Codel),
        QueueKind::FqCodel => fq_codel(table.as_ref()).map(Queue::FqCodel),
        QueueKind::QuickStart | QueueKind::Xcp | QueueKind::Vcp => {
            unreachable!("{kind} is the label of a router")
        }
    }
}

fn codel(table: Option<&Table<'_>>) -> Result<Codel, Error> {
    let usual = Codel::STANDARD;
    let given = |key| table.and_then(|table| table.get(key));
    Ok(Codel {
        target: given("target").map_or(Ok(usual.target), |item| item.time())?,
        interval: given("interval").map_or(Ok(usual.interval), |item| item.time())?,
        ecn: given("ecn").map_or(Ok(usual.ecn), |item| item.flag())?,
    })
}

fn fq_codel(table: Option<&Table<'_>>) -> Result<FqCodel, Error> {
    let usual = FqCodel::STANDARD;
    let given = |key| table.and_then(|table| table.get(key));
    Ok(FqCodel {
        codel: codel(table)?,
        quantum: given("quantum").map_or(Ok(usual.quantum), |item| quantum(&item))?,
        flows: given("flows").map_or(Ok(usual.flows), |item| item.integer().map(|n| n as u32))?,
    })
}

fn quantum(item: &Item<'_>) -> Result<u64, Error> {
    match item.bytes()? {
        n if n > limits::QUANTUM => Err(item.invalid(format!("above the limit of {} B", limits::QUANTUM))),
        n => Ok(n),
    }
}

fn policer(item: &Item<'_>, table: Option<&Table<'_>>, packet: Packet) -> Result<Policer, Error> {
    let Some(table) = table else {
        return Err(item.invalid("a policer needs rate and burst: give them in a table"));
    };
    let (rate, burst) = bucket(table, packet)?;
    Ok(Policer { rate, burst })
}

/// The shaper of a link with this queue, if the table has one.
pub(super) fn shaper(table: &Table<'_>, packet: Packet, queue: &Queue) -> Result<Option<Shaper>, Error> {
    let Some(item) = table.get("shaper") else { return Ok(None) };
    if !matches!(queue, Queue::DropTail | Queue::Red(_) | Queue::Policer(_)) {
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

/// RED's parameters; the defaults of the thresholds are those of the path.
fn red(item: &Item<'_>, table: Option<&Table<'_>>, packet: Packet, bdp: Option<u64>) -> Result<Red, Error> {
    let usual = bdp.map(|bdp| Red::for_bdp(packets(bdp, packet)));
    let rest = Red::for_bdp(0.0);
    let Some(table) = table else {
        return match usual {
            Some(red) => ordered(red, item, None),
            None => {
                Err(item.invalid("a single link has no BDP, so RED needs min and max: give them in a table"))
            }
        };
    };
    let threshold = |key, default: Option<f64>| match (table.get(key), default) {
        (Some(item), _) => item.threshold(packet.size, bdp),
        (None, Some(default)) => Ok(default),
        (None, None) => Err(table.missing(key)),
    };
    let red = Red {
        min: threshold("min", usual.map(|red| red.min))?,
        max: threshold("max", usual.map(|red| red.max))?,
        weight: table.get("weight").map_or(Ok(rest.weight), |item| item.number())?,
        max_p: table.get("max_p").map_or(Ok(rest.max_p), |item| item.number())?,
        gentle: table.get("gentle").map_or(Ok(rest.gentle), |item| item.flag())?,
        ecn: table.get("ecn").map_or(Ok(rest.ecn), |item| item.flag())?,
        mean_packet: table.get("mean_packet").map(mean_packet).transpose()?,
    };
    ordered(red, item, Some(table))
}

/// Mean size of a packet in RED's byte mode.
fn mean_packet(item: Item<'_>) -> Result<u32, Error> {
    let bytes = item.bytes()?;
    if !(1..=limits::PACKET).contains(&bytes) {
        let expected = format!("\"1 B\" to \"{} B\"", limits::PACKET);
        return Err(item.invalid("not the size of a packet").expecting(expected));
    }
    Ok(bytes as u32)
}

fn packets(bytes: u64, packet: Packet) -> f64 {
    bytes as f64 / f64::from(packet.size)
}

/// Refuses thresholds that are out of order, at `max` if it is given, else at `min`, else at the queue.
fn ordered(red: Red, queue: &Item<'_>, table: Option<&Table<'_>>) -> Result<Red, Error> {
    if red.min < red.max {
        return Ok(red);
    }
    let given = |key| table.and_then(|table| table.get(key));
    let item = given("max").or_else(|| given("min")).unwrap_or_else(|| queue.clone());
    Err(item.invalid(format!("RED's max ({} packets) is not above its min ({} packets)", red.max, red.min)))
}
