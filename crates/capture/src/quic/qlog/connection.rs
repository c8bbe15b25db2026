//! Log of one connection, and the connection that it shows.

use std::net::{Ipv4Addr, SocketAddr};

use firstflight_contract::Nanos;

use super::super::flow_control::Credit;
use super::super::{Event, MAX_EVENTS, Opening, Recorded, Source};
use super::clock::{Clock, Line};
use super::in_flight::{Change, acknowledged};
use super::logs::Vantage;
use super::steps::Mended;
use crate::clock;
use crate::registers::Registers;
use crate::seconds::Seconds;
use crate::side::Side;

/// Log of one connection.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) group: String,
    pub(super) vantage: Option<Vantage>,
    pub(super) clock: Clock,
    /// Line, whether this end sent the packet, event.
    pub(super) events: Vec<(Line, bool, Event)>,
    pub(super) ranges: Vec<(u64, u64)>,
    /// Addresses of this end and the other.
    pub(super) addresses: [Option<SocketAddr>; 2],
    pub(super) handshake: Vec<Opener>,
    /// Flow control of this end and of the other, as senders.
    pub(super) credit: [Credit; 2],
    pub(super) registers: Registers,
    /// Least round trip that this end measured.
    pub(super) min_rtt: Option<Nanos>,
    /// Whether this end and the other have sent data.
    pub(super) began: [bool; 2],
    /// Whether a packet has frames, and the number of packets with an acknowledgement.
    pub(super) framed: bool,
    pub(super) reported: u32,
    /// Changes of the bytes in flight, while no packet has frames.
    pub(super) changes: Vec<(Line, Change)>,
    /// Packets that this end sent since its last datagram, and whether the last of them has data.
    pub(super) sent_since_datagram: u32,
    pub(super) last_sent_is_data: bool,
    /// Packets without a size, and those beyond [`MAX_EVENTS`].
    pub(super) sizeless: u64,
    pub(super) beyond: u64,
    /// Length of the connection IDs in the packets of this end and of the other.
    pub(super) ids: [Option<u32>; 2],
}

/// Packet of the handshake.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opener {
    pub(super) at: Line,
    pub(super) local: bool,
    pub(super) initial: bool,
    /// Whether it answers packets of the other side.
    pub(super) answers: bool,
    pub(super) size: u32,
}

impl Log {
    /// Whether the log is that of the client.
    pub(super) fn is_client(&self) -> bool {
        match self.vantage {
            Some(vantage) => vantage == Vantage::Client,
            // The end that sent the first packet of the handshake.
            None => self.handshake.first().is_some_and(|first| first.local),
        }
    }

    /// Whether an Initial packet with this number opens another connection of the same group.
    pub(super) fn is_followed_by(&self, initial: bool, local: bool, number: Option<u64>) -> bool {
        initial
            && number == Some(0)
            && local == self.is_client()
            && self.events.iter().any(|(_, _, event)| matches!(event, Event::Sent { .. }))
    }

    /// The connection, whose log is the one with this number in the file. Its `mended` times begin at the time `origin`.
    ///
    /// # Errors
    /// A sentence, if it shows too little.
    pub(super) fn finish(
        mut self,
        number: usize,
        mended: &Mended,
        origin: i64,
        warnings: &mut Vec<String>,
    ) -> Result<Recorded, String> {
        let client = self.is_client();
        let [local, remote] = self.addresses;
        // Connections without addresses differ by their ports.
        let port = u16::try_from(number).unwrap_or(u16::MAX);
        let unknown = |port: u16| SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port);
        let of_client = if client { local } else { remote }.unwrap_or(unknown(port.saturating_add(1024)));
        let of_server = if client { remote } else { local }.unwrap_or(unknown(443));
        let name = format!("{of_server} - {of_client}");
        let side = |local: bool| if local == client { Side::First } else { Side::Second };
        let packets = |holds: u64, sentence: &str| (holds > 0).then(|| format!("{name}: {holds} {sentence}"));
        let sizeless = packets(
            self.sizeless,
            "packets of the log have no size or number and are left out; expected raw.length or header.packet_size",
        );
        let sent = |log: &Self, local: bool| {
            let own = log.events.iter().filter(move |(_, of, _)| *of == local);
            own.filter(|(.., event)| matches!(event, Event::Sent { .. })).count()
        };
        let (own, others) = (sent(&self, true), sent(&self, false));
        if own + others == 0 {
            return Err(sizeless
                .unwrap_or_else(|| format!("{name}: the log has no packet with data; it is left out")));
        }
        if self.mixes_connections() {
            return Err(format!(
                "{name}: packet numbers repeat: the log mixes connections whose group_id is {:?}; it is left out; expected one file or one \
                 group_id for each connection",
                self.group
            ));
        }
        warnings.extend(sizeless);
        if self.reported == 0 && own > 0 {
            let inferred = self.acknowledge_by_bytes_in_flight();
            warnings.push(if inferred {
                format!("{name}: the log has no frames: acknowledgements follow from bytes_in_flight")
            } else {
                format!(
                    "{name}: the log has no acknowledgements; expected packet_received with frames, or metrics_updated with bytes_in_flight"
                )
            });
        }
        warnings.extend(packets(
            self.beyond,
            &format!("events behind the first {MAX_EVENTS} of the log are left out"),
        ));
        warnings.extend(
            clock::warning("the log's clock", &mended.steps).map(|sentence| format!("{name}: {sentence}")),
        );
        if let Some(first) = self.clock.unusable.first().and_then(|line| mended.time(*line, origin)) {
            let begin = mended.time(Line::default(), origin).unwrap_or_default();
            warnings.extend(packets(
                self.clock.unusable.len() as u64,
                &format!(
                    "times of the log, the first at {:.3} s, are beyond any clock and are not used; the packets there have no round trip",
                    first.saturating_sub(begin).as_secs_f64()
                ),
            ));
        }
        let receiver = others > own;
        if receiver {
            warnings.push(format!(
                "{name}: the log is that of the receiver: lost packets are those whose data is missing, and queues before the bottleneck are not \
                 seen; the log of the sender shows both"
            ));
        }
        let time = |line: Line| mended.time(line, origin);
        let timed = |&(line, local, event): &(Line, bool, Event)| Some((time(line)?, side(local), event));
        let mut events: Vec<(Nanos, Side, Event)> = self.events.iter().filter_map(timed).collect();
        events.sort_by_key(|(at, ..)| *at);
        let ids = if client { self.ids } else { [self.ids[1], self.ids[0]] };
        Ok(Recorded {
            client: of_client,
            server: of_server,
            source: Source::Qlog,
            opening: self.opening(client, receiver, time),
            ids: ids.map(|id| id.unwrap_or(8)),
            epochs: mended.epochs(origin),
            events,
            ranges: self.ranges,
            places: vec![],
            first: 0,
            open: 0.0,
            arrives: receiver.then_some(side(false)),
            registers: (!receiver).then_some(self.registers).filter(Registers::is_known),
        })
    }

    /// Whether this end sent two packets with one number.
    fn mixes_connections(&self) -> bool {
        let mut numbers: Vec<u64> = self
            .events
            .iter()
            .filter_map(|(_, local, event)| match event {
                Event::Sent { number, .. } if *local => Some(*number),
                _ => None,
            })
            .collect();
        numbers.sort_unstable();
        numbers.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Adds the acknowledgements that the bytes in flight show. Returns whether there are any.
    fn acknowledge_by_bytes_in_flight(&mut self) -> bool {
        let all = acknowledged(&self.changes);
        for (at, numbers) in &all {
            let first = self.ranges.len() as u32;
            self.ranges.extend(numbers.iter().map(|number| (*number, *number)));
            let acked = Event::Acked { first, count: numbers.len() as u32, room: None };
            self.events.push((*at, false, acked));
        }
        !all.is_empty()
    }

    /// The handshake. The other end's computation of keys lengthens its round trip, which for a sender the round trips of data show; a
    /// `receiver` has the least one that it measured.
    fn opening(&self, client: bool, receiver: bool, time: impl Fn(Line) -> Option<Nanos>) -> Option<Opening> {
        let timed = || self.handshake.iter().filter_map(|one| Some((time(one.at)?, one)));
        let (opened, _) = timed().find(|(_, one)| one.local == client && one.initial)?;
        let (answered, answer) = timed().find(|(at, one)| one.local != client && *at >= opened)?;
        let least = self.min_rtt.filter(|_| receiver && client);
        let opened = least.map_or(opened, |least| opened.max(answered.saturating_sub(least)));
        let (confirmed, _) =
            timed().find(|(at, one)| one.local == client && one.answers && *at > answered)?;
        // The size is that of a packet, without IP and UDP.
        let answer_len = answer.size + 28;
        Some(Opening { opened, answered, confirmed, answer_len })
    }
}
