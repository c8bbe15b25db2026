//! Sizes and times of traffic: transfers, telnet, web.

use firstflight_contract::Nanos;

use super::values;
use crate::format;
use crate::limits;
use crate::model::{FlowGroup, Interval, Packet, Pages, Rounds, Source, Start};
use firstflight_document::{Error, Item, Table};
use firstflight_random::Dist;

/// A group of `[[flow]]`: its stack, and the transfers of the table.
pub(super) fn transfers(
    table: &Table<'_>,
    stack: FlowGroup,
    packet: Packet,
    duration: Option<Nanos>,
) -> Result<FlowGroup, Error> {
    let start = table.get("start").map_or(Ok(Start::At(Nanos::ZERO)), |item| start(&item))?;
    let group = FlowGroup {
        count: count(table, start, &stack.name, duration)?,
        start,
        size: match table.get("size") {
            Some(item) if !item.is_word() => Some(size(&item, &stack, packet)?),
            _ => None,
        },
        lifetime: table.get("lifetime").map(|item| values::dist(&item, Item::time)).transpose()?,
        parallel: table.get("parallel").map_or(Ok(1), |item| item.integer())? as u32,
        rounds: table.get("rounds").map(|item| rounds(&item)).transpose()?,
        ..stack
    };
    if let (Some(Dist::Fixed(size)), Some(rounds)) = (group.size, group.rounds) {
        let each = size.div_ceil(packet.payload(group.profile).into());
        if each * u64::from(rounds.count) > limits::SEGMENTS {
            let why = format!(
                "{} transfers of {each} packets; the limit is {} packets",
                rounds.count,
                limits::SEGMENTS
            );
            return Err(table.need("rounds")?.invalid(why));
        }
    }
    let endless = group.size.is_none() && group.lifetime.is_none();
    ends(table, &group, endless, "a size, a lifetime, or a duration", duration)?;
    Ok(group)
}

/// A group of `[[telnet]]`.
pub(super) fn telnet(
    table: &Table<'_>,
    stack: FlowGroup,
    packet: Packet,
    duration: Option<Nanos>,
) -> Result<FlowGroup, Error> {
    let interval = match table.get("interval") {
        Some(item) if item.value().as_table().is_some() => Interval::Law(values::dist(&item, Item::time)?),
        Some(item) => item.word().map(|_| Interval::Tcplib)?,
        None => Interval::Tcplib,
    };
    let one = Dist::Fixed(packet.payload(stack.profile).into());
    let group = FlowGroup {
        count: Some(table.get("count").map_or(Ok(1), |item| item.integer())? as u32),
        start: table.get("start").map_or(Ok(Start::At(Nanos::ZERO)), |item| start(&item))?,
        size: Some(table.get("size").map_or(Ok(one), |item| size(&item, &stack, packet))?),
        lifetime: table.get("lifetime").map(|item| values::dist(&item, Item::time)).transpose()?,
        source: Source::Telnet(interval),
        ..stack
    };
    ends(table, &group, group.lifetime.is_none(), "a lifetime or a duration", duration)?;
    Ok(group)
}

/// A group of `[[web]]`. The defaults are those of the web traffic in the measurements of Jump Start: D. Liu and others,
/// "Congestion control without a startup phase", PFLDnet 2007.
pub(super) fn web(table: &Table<'_>, stack: FlowGroup, packet: Packet) -> Result<FlowGroup, Error> {
    let number = |key| table.get(key).map_or(Ok(1), |item| item.integer()).map(|n| n as u32);
    let gap = |key, usual| {
        let usual = Dist::Exponential(Nanos::from_millis(usual));
        table.get(key).map_or(Ok(usual), |item| values::dist(&item, Item::time))
    };
    let payload: u64 = packet.payload(stack.profile).into();
    let objects = Dist::ParetoII { mean: 4.0, shape: 1.5 };
    let size_of_object = Dist::ParetoII { mean: 4 * payload, shape: 1.2 };
    let source = Source::Web(Pages {
        pages: number("pages")?,
        page_gap: gap("page_gap", 500)?,
        objects: table.get("objects").map_or(Ok(objects), |item| values::dist(&item, Item::number))?,
        object_gap: gap("object_gap", 50)?,
        persistent: table.get("connections").map(|item| item.word()).transpose()? == Some("persistent"),
    });
    let group = FlowGroup {
        count: Some(number("sessions")?),
        start: table.get("start").map_or(Ok(Start::At(Nanos::ZERO)), |item| start(&item))?,
        size: Some(table.get("size").map_or(Ok(size_of_object), |item| size(&item, &stack, packet))?),
        parallel: number("parallel")?,
        source,
        ..stack
    };
    match (source, table.get("parallel")) {
        (Source::Web(Pages { persistent: false, .. }), Some(item)) => Err(item
            .invalid("each object has a connection of its own: parallel needs connections = \"persistent\"")),
        _ => Ok(group),
    }
}

/// Number of flows; `None` for all that start before the run ends.
fn count(table: &Table<'_>, start: Start, name: &str, duration: Option<Nanos>) -> Result<Option<u32>, Error> {
    let arrive = matches!(start, Start::Every(_) | Start::Exponential(_));
    match table.get("count") {
        Some(item) if !item.is_word() => return Ok(Some(item.integer()? as u32)),
        Some(item) if !arrive => {
            return Err(
                item.invalid("unlimited flows must arrive one by one: start needs every or exponential")
            );
        }
        None if !arrive => return Ok(Some(1)),
        _ => {}
    }
    match duration {
        Some(_) => Ok(None),
        None => {
            let why = format!("the flows of \"{name}\" never stop arriving, and nothing ends the run");
            Err(table.invalid(why).expecting("a count or a duration"))
        }
    }
}

/// Refuses a group that never ends the run.
fn ends(
    table: &Table<'_>,
    group: &FlowGroup,
    endless: bool,
    expected: &str,
    duration: Option<Nanos>,
) -> Result<(), Error> {
    if !endless || duration.is_some() {
        return Ok(());
    }
    let why = format!("the flows of \"{}\" never finish, and nothing ends the run", group.name);
    Err(table.invalid(why).expecting(expected))
}

fn size(item: &Item<'_>, stack: &FlowGroup, packet: Packet) -> Result<Dist<u64>, Error> {
    values::dist(item, |item| values::transfer(item, packet.payload(stack.profile)))
}

fn rounds(item: &Item<'_>) -> Result<Rounds, Error> {
    let table = item.table(&format::ROUNDS)?;
    Ok(Rounds {
        count: table.need("count")?.integer()? as u32,
        idle: table.need("idle")?.time()?,
        jitter: table.get("jitter").map_or(Ok(Nanos::ZERO), |item| item.time())?,
    })
}

fn start(item: &Item<'_>) -> Result<Start, Error> {
    if item.value().as_table().is_none() {
        return item.time().map(Start::At);
    }
    let (law, item) = item.table(&format::START)?.only()?;
    Ok(match law {
        "every" => Start::Every(item.time()?),
        "exponential" => Start::Exponential(item.time()?),
        "uniform" => {
            let (low, high) = item.pair(Item::time)?;
            Start::Uniform(low, high)
        }
        other => unreachable!("the format has no starts by {other}"),
    })
}
