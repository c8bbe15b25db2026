//! Sources: groups of TCP flows, and UDP sources.

use firstflight_contract::Nanos;

use super::scheme;
use super::values::Values;
use crate::format;
use crate::limits;
use crate::model::{
    DataInSyn, Endpoints, FlowGroup, Growth, IdleRestart, OnOff, Packet, PartialAcks, Processor, Reads,
    Receiver, Recovery, Source, Start, UdpSource,
};
use crate::profile::{InitialWindow, Profile, Stack};
use firstflight_document::Error;
use firstflight_document::quantity::show_time;
use firstflight_document::{Item, Table};
use firstflight_random::Dist;

/// Smallest packet of QUIC on the wire: a datagram of 1200 bytes (RFC 9000 section 14) behind the headers of IPv4 and UDP.
const SMALLEST_QUIC: u32 = 1228;

/// One connection without end with the stack of the table: the common part of all sources of TCP traffic.
pub(super) fn stack(
    table: &Table<'_>,
    name: String,
    endpoints: Endpoints,
    packet: Packet,
) -> Result<FlowGroup, Error> {
    let profile = table.get("profile").map_or(Ok(Profile::Rfc), |item| item.choice(Profile::from_word))?;
    let stack = profile.stack();
    if stack.is_quic() && packet.size < SMALLEST_QUIC {
        let item = table.get("profile").expect("no other profile is the default");
        let why = format!(
            "QUIC needs packets of {SMALLEST_QUIC} bytes or more, and packet.size is {}",
            packet.size
        );
        return Err(item.invalid(why));
    }
    let payload = packet.payload(profile);
    let time = |key, default| table.get(key).map_or(Ok(default), |item| item.time());
    let timeout = |key, default| table.get(key).map_or(Ok(default), |item| timeout(&item, stack, profile));
    let flag = |key, default| table.get(key).map_or(Ok(default), |item| item.flag());
    let window = |key| match table.get(key) {
        Some(item) if !item.is_word() => item.window(payload).map(Some),
        _ => Ok(None),
    };
    let offered = match table.get("receive_window") {
        Some(_) => window("receive_window")?,
        None => stack.receive_window,
    };
    let group = FlowGroup {
        name,
        profile,
        count: Some(1),
        start: Start::At(Nanos::ZERO),
        size: None,
        lifetime: None,
        parallel: 1,
        source: Source::Flow,
        rounds: None,
        scheme: scheme::read(table, stack)?,
        recovery: table
            .get("recovery")
            .map_or(Ok(stack.recovery), |item| item.choice(Recovery::from_word))?,
        partial_acks: PartialAcks::Impatient,
        processor: None,
        initial_window: match table.get("initial_window") {
            Some(item) => match item.value().as_str().and_then(InitialWindow::from_word) {
                Some(rule) => rule.bytes(payload),
                None => item.window(payload)?,
            },
            None => stack.initial_window.bytes(payload),
        },
        initial_ssthresh: window("initial_ssthresh")?,
        receive_window: offered,
        initial_receive_window: match table.get("initial_receive_window") {
            Some(item) => first_offer(&item, payload, offered)?,
            None => {
                stack.initial_receive_window.filter(|first| offered.is_none_or(|offered| *first < offered))
            }
        },
        receiver: table
            .get("receiver")
            .map_or(Ok(stack.receiver), |item| item.choice(Receiver::from_word))?,
        delayed_ack_timer: time("delayed_ack_timer", stack.delayed_ack_timer)?,
        receiver_reads: match table.get("receiver_reads") {
            Some(item) if !item.is_word() => Reads::Every(reads(&item, payload)?),
            _ => Reads::Eager,
        },
        growth: match table.get("byte_counting").map(|item| item.flag()).transpose()? {
            Some(true) => Growth::ByteCounting,
            Some(false) => Growth::PerAck,
            None => stack.growth,
        },
        min_rto: timeout("min_rto", stack.min_rto)?,
        rto_granularity: timeout("rto_granularity", stack.rto_granularity)?,
        idle_restart: table
            .get("idle_restart")
            .map_or(Ok(stack.idle_restart), |item| item.choice(IdleRestart::from_word))?,
        paced: paced(table, profile)?,
        initial_pace: match table.get("initial_pace") {
            Some(item) => Some(item.window(payload)?),
            None => None,
        },
        limited_transmit: flag("limited_transmit", stack.limited_transmit)?,
        handshake: flag("handshake", stack.handshake)?,
        data_in_syn: table
            .get("data_in_syn")
            .map_or(Ok(DataInSyn::Never), |item| item.choice(DataInSyn::from_word))?,
        cluster: table.get("cluster").map(|item| item.name().map(String::from)).transpose()?,
        endpoints,
        extra_rtt: table
            .get("extra_rtt")
            .map_or(Ok(Dist::Fixed(Nanos::ZERO)), |item| item.dist(Item::time))?,
    };
    let group = FlowGroup { processor: processor(table, &group)?, ..group };
    if let (Some(item), Some((why, expected))) =
        (table.get("initial_pace"), group.initial_pace_conflict(payload))
    {
        return Err(item.invalid(why).expecting(expected));
    }
    match table.get("partial_acks") {
        Some(item) if !group.has_partial_acks() => {
            let why = format!(
                "only recovery newreno takes it, and not under profile {}: this is {}, {}",
                Profile::with(|stack| stack.rules.detects_by_time()),
                group.recovery.word(),
                profile.word()
            );
            Err(item.invalid(why))
        }
        Some(item) => Ok(FlowGroup { partial_acks: item.choice(PartialAcks::from_word)?, ..group }),
        None => Ok(group),
    }
}

/// Processor time of selective ACKs.
fn processor(table: &Table<'_>, group: &FlowGroup) -> Result<Option<Processor>, Error> {
    let (walk, backlog) = (table.get("sack_walk"), table.get("ack_backlog"));
    let Some(item) = walk.as_ref().or(backlog.as_ref()) else { return Ok(None) };
    if !group.has_processor() {
        let why = format!(
            "only profile {} with recovery sack takes it: this is {}, {}",
            Profile::with(Stack::has_scoreboard),
            group.profile.word(),
            group.recovery.word()
        );
        return Err(item.invalid(why));
    }
    let Some(walk) = walk else {
        return Err(item
            .invalid("ACKs wait only for a host that needs time")
            .expecting("sack_walk beside it"));
    };
    let backlog = backlog.map(|item| item.integer()).transpose()?;
    Ok(Some(Processor { walk: walk.time()?, backlog: backlog.map(|acks| acks as u32) }))
}

/// Whether the stack paces, where it can.
fn paced(table: &Table<'_>, profile: Profile) -> Result<bool, Error> {
    let Some(item) = table.get("paced") else { return Ok(false) };
    match item.flag()? {
        true if !profile.stack().can_pace() => {
            let can = Profile::with(Stack::can_pace);
            let why = format!("only profile {can} paces whatever the scheme, and this is {}", profile.word());
            Err(item.invalid(why).expecting(format!("profile = \"{can}\", or no paced")))
        }
        paced => Ok(paced),
    }
}

/// A part of the retransmission timeout, at most the largest timeout of the stack.
fn timeout(item: &Item<'_>, stack: &Stack, profile: Profile) -> Result<Nanos, Error> {
    match item.time()? {
        time if time > stack.max_rto => {
            let most = show_time(stack.max_rto);
            let why =
                format!("above the largest retransmission timeout of profile {}, {most}", profile.word());
            Err(item.invalid(why).expecting(format!("a time above zero and at most {most}")))
        }
        time => Ok(time),
    }
}

/// The bytes that wake the receiving application, at most the largest window.
fn reads(item: &Item<'_>, payload: u32) -> Result<u64, Error> {
    let most = limits::WINDOW * u64::from(payload);
    match item.bytes()? {
        n if n > most => {
            Err(item.invalid(format!("above the largest window, {} packets or {most} B", limits::WINDOW)))
        }
        n => Ok(n),
    }
}

/// The first receive window; it is at most the window to which it opens.
fn first_offer(item: &Item<'_>, payload: u32, offered: Option<u64>) -> Result<Option<u64>, Error> {
    if item.is_word() {
        return Ok(None);
    }
    let first = item.window(payload)?;
    match offered {
        Some(most) if first > most => {
            Err(item.invalid(format!("larger than receive_window, {most} B, to which it opens")))
        }
        _ => Ok(Some(first)),
    }
}

pub(super) fn udp(
    table: &Table<'_>,
    name: String,
    endpoints: Endpoints,
    packet: Packet,
) -> Result<UdpSource, Error> {
    let on_off = |item: Item<'_>| {
        let table = item.table(&format::ON_OFF)?;
        let period = |key| table.need(key)?.dist(Item::time);
        Ok::<_, Error>(OnOff { on: period("on")?, off: period("off")? })
    };
    let size = table.get("size").map_or(Ok(packet.size), |item| datagram(&item, packet))?;
    let rate = table.need("rate")?;
    if rate.rate()?.time_for(size.into()) == Nanos::ZERO {
        return Err(rate.invalid(format!("more than one packet of {size} B in each nanosecond")));
    }
    Ok(UdpSource {
        name,
        rate: rate.rate()?,
        size,
        start: table.get("start").map_or(Ok(Nanos::ZERO), |item| item.time())?,
        on_off: table.get("on_off").map(on_off).transpose()?,
        endpoints,
    })
}

/// Size of a datagram, at most a full packet: buffers in bytes have room for a full packet.
fn datagram(item: &Item<'_>, packet: Packet) -> Result<u32, Error> {
    match item.bytes()? {
        n if n > packet.size.into() => {
            Err(item.invalid(format!("larger than a full packet, {} B: [packet] has the size", packet.size)))
        }
        n => Ok(n as u32),
    }
}
