//! Sources: groups of TCP flows, and UDP sources.

use firstflight_contract::Nanos;

use super::scheme;
use super::values;
use crate::format;
use crate::limits;
use crate::model::{Endpoints, FlowGroup, Growth, OnOff, Packet, PartialAcks, Processor, Reads, UdpSource};
use crate::profile::{InitialWindow, Profile, Stack};
use crate::scheme::SchemeSpec;
use crate::stack;
use firstflight_document::quantity::show_time;
use firstflight_document::{Error, Item, Table};

/// One connection without end with the stack of the table: the common part of all sources of TCP traffic.
pub(super) fn stack(
    table: &Table<'_>,
    name: String,
    endpoints: Endpoints,
    packet: Packet,
) -> Result<FlowGroup, Error> {
    let profile = table.get("profile").map_or(Ok(Profile::Rfc), |item| item.choice(Profile::from_word))?;
    let stack = profile.stack();
    if let Some(least) = stack.rules.datagrams.map(|datagrams| stack.header + datagrams.first)
        && packet.size < least
    {
        let item = table.get("profile").expect("no other profile is the default");
        let why = format!("QUIC needs packets of {least} bytes or more, and packet.size is {}", packet.size);
        return Err(item.invalid(why));
    }
    let payload = packet.payload(profile);
    let mut at = Reading { table, name, endpoints, profile, stack, payload, offered: stack.receive_window };
    if table.get("receive_window").is_some() {
        at.offered = at.window("receive_window")?;
    }
    let group = stack::read(&at)?;
    let group = FlowGroup { processor: processor(table, &group)?, ..group };
    if let (Some(item), Some((why, expected))) =
        (table.get("initial_pace"), group.initial_pace_conflict(payload))
    {
        return Err(item.invalid(why).expecting(expected));
    }
    match table.get("partial_acks") {
        Some(item) if !group.has_partial_acks() => {
            let why = format!(
                "only recovery newreno takes it, and not under profiles {}: this is {}, {}",
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

/// A table whose keys of the stack are read.
pub(crate) struct Reading<'a> {
    table: &'a Table<'a>,
    pub(crate) name: String,
    pub(crate) endpoints: Endpoints,
    pub(crate) profile: Profile,
    /// Defaults.
    pub(crate) stack: &'static Stack,
    /// Bytes of data in a full packet.
    pub(crate) payload: u32,
    /// The receive window.
    pub(crate) offered: Option<u64>,
}

impl<'a> Reading<'a> {
    /// The value of a key that may be absent.
    pub(crate) fn optional<T>(
        &self,
        key: &str,
        read: impl Fn(&Item<'a>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        self.table.get(key).map(|item| read(&item)).transpose()
    }

    /// The value of a key, or its default.
    pub(crate) fn value<T>(
        &self,
        key: &str,
        usual: T,
        read: impl Fn(&Item<'a>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        Ok(self.optional(key, read)?.unwrap_or(usual))
    }

    pub(crate) fn choice<T>(
        &self,
        key: &str,
        usual: T,
        from_word: impl Fn(&str) -> Option<T>,
    ) -> Result<T, Error> {
        self.value(key, usual, |item| item.choice(&from_word))
    }

    /// A window; none if it is absent or unlimited.
    pub(crate) fn window(&self, key: &str) -> Result<Option<u64>, Error> {
        self.value(key, None, |item| {
            if item.is_word() { Ok(None) } else { values::window(item, self.payload).map(Some) }
        })
    }

    /// A part of the retransmission timeout, at most the largest timeout of the stack.
    pub(crate) fn timeout(&self, key: &str, usual: Nanos) -> Result<Nanos, Error> {
        self.value(key, usual, |item| match item.time()? {
            time if time > self.stack.max_rto => {
                let (most, word) = (show_time(self.stack.max_rto), self.profile.word());
                let why = format!("above the largest retransmission timeout of profile {word}, {most}");
                Err(item.invalid(why).expecting(format!("a time above zero and at most {most}")))
            }
            time => Ok(time),
        })
    }

    pub(crate) fn scheme(&self) -> Result<SchemeSpec, Error> {
        scheme::read(self.table, self.stack)
    }

    pub(crate) fn initial_window(&self) -> Result<u64, Error> {
        self.value("initial_window", self.stack.initial_window.bytes(self.payload), |item| {
            match item.value().as_str().and_then(InitialWindow::from_word) {
                Some(rule) => Ok(rule.bytes(self.payload)),
                None => values::window(item, self.payload),
            }
        })
    }

    /// The first receive window; it is at most the window to which it opens.
    pub(crate) fn first_offer(&self) -> Result<Option<u64>, Error> {
        let offered = self.offered;
        if self.table.get("initial_receive_window").is_none() {
            let usual = self.stack.initial_receive_window;
            return Ok(usual.filter(|first| offered.is_none_or(|offered| *first < offered)));
        }
        let first = self.window("initial_receive_window")?;
        match (first, offered) {
            (Some(first), Some(most)) if first > most => Err(self
                .table
                .need("initial_receive_window")?
                .invalid(format!("larger than receive_window, {most} B, to which it opens"))),
            _ => Ok(first),
        }
    }

    /// The bytes that wake the receiving application, at most the largest window.
    pub(crate) fn reads(&self) -> Result<Reads, Error> {
        self.value("receiver_reads", Reads::Eager, |item| {
            let most = limits::WINDOW * u64::from(self.payload);
            match item.is_word() {
                true => Ok(Reads::Eager),
                false => match item.bytes()? {
                    n if n > most => {
                        let packets = limits::WINDOW;
                        Err(item.invalid(format!("above the largest window, {packets} packets or {most} B")))
                    }
                    n => Ok(Reads::Every(n)),
                },
            }
        })
    }

    pub(crate) fn growth(&self) -> Result<Growth, Error> {
        self.value("byte_counting", self.stack.growth, |item| {
            Ok(if item.flag()? { Growth::ByteCounting } else { Growth::PerAck })
        })
    }

    /// The send buffer, which stacks of QUIC have.
    pub(crate) fn send_buffer(&self) -> Result<Option<u64>, Error> {
        let Some(item) = self.table.get("send_buffer") else { return Ok(self.stack.send_buffer) };
        if !self.stack.is_quic() {
            let why = format!("only stacks of QUIC have it, and this is {}", self.profile.word());
            let quic = Profile::ALL.iter().filter(|it| it.stack().is_quic()).map(|it| it.word());
            let quic: Vec<_> = quic.collect();
            let expected = format!("one of the profiles {}, or no send_buffer", quic.join(", "));
            return Err(item.invalid(why).expecting(expected));
        }
        self.window("send_buffer")
    }

    /// Whether the stack paces, where it can.
    pub(crate) fn paced(&self) -> Result<bool, Error> {
        self.value("paced", false, |item| match item.flag()? {
            true if !self.stack.can_pace() => {
                let (can, word) = (Profile::with(Stack::can_pace), self.profile.word());
                let why = format!("only profile {can} paces whatever the scheme, and this is {word}");
                Err(item.invalid(why).expecting(format!("profile = \"{can}\", or no paced")))
            }
            paced => Ok(paced),
        })
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

pub(super) fn udp(
    table: &Table<'_>,
    name: String,
    endpoints: Endpoints,
    packet: Packet,
) -> Result<UdpSource, Error> {
    let on_off = |item: Item<'_>| {
        let table = item.table(&format::ON_OFF)?;
        let period = |key| values::dist(&table.need(key)?, Item::time);
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
