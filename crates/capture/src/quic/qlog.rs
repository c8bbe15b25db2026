//! Reader of qlog: the log that one end of a connection of QUIC writes (draft-marx-qlog-main-schema-00 to draft-ietf-quic-qlog-main-schema-12,
//! with the events of the drafts beside them).
//!
//! Drafts and stacks differ in the nesting of events, in names, units and in numbers that are strings; all are read. Events are read one
//! by one, and only packets with data, acknowledgements and losses are kept.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;

use firstflight_contract::Nanos;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::{Event, MAX_EVENTS, Opening, Place, Recorded, Source};
use crate::side::Side;

/// First byte of a record of a JSON text sequence (RFC 7464).
const RECORD: u8 = 0x1e;
/// Longest event, or other part of a log that is read at once, bytes.
const LONGEST: u64 = 4 << 20;
/// Maximum number of connections of one file.
const MAX_LOGS: usize = 1 << 12;

/// Whether these are the first bytes of a qlog: those of a JSON text sequence, or of a JSON object that names qlog. The name stands within the
/// first hundred bytes of the logs of most stacks.
pub fn is_qlog(head: &[u8]) -> bool {
    let named = || head.windows(4).any(|word| word == b"qlog");
    is_json(head) && (first_byte(head) == Some(RECORD) || named())
}

/// Whether these are the first bytes of a JSON object, or of a JSON text sequence.
pub(crate) fn is_json(head: &[u8]) -> bool {
    matches!(first_byte(head), Some(RECORD | b'{'))
}

/// First byte behind a byte order mark and white space.
fn first_byte(head: &[u8]) -> Option<u8> {
    let head = head.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(head);
    head.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

/// Content of a file.
#[derive(Debug, Default)]
pub(crate) struct Content {
    pub(crate) connections: Vec<Recorded>,
    pub(crate) warnings: Vec<String>,
    /// Events read.
    pub(crate) events: u64,
}

/// Reason why a file is no qlog.
#[derive(Debug)]
pub(crate) enum Failure {
    Io(io::Error),
    /// JSON of another kind, or no JSON: the reason.
    NotQlog(String),
}

/// Reads a log. `goes_on` is asked after each event; if not, the rest is left out.
pub(crate) fn read(input: impl Read, goes_on: &mut dyn FnMut() -> bool) -> Result<Content, Failure> {
    let mut input = BufReader::new(input);
    let mut logs = Logs { goes_on, ..Logs::new(&mut || true) };
    let head = input.fill_buf().map_err(Failure::Io)?;
    let sequence = first_byte(head) == Some(RECORD);
    if head.starts_with(&[0xef, 0xbb, 0xbf]) {
        input.consume(3);
    }
    if sequence {
        read_sequence(&mut input, &mut logs)?
    } else {
        read_json(input, &mut logs)?
    }
    if !logs.is_qlog {
        return Err(Failure::NotQlog("a JSON file without traces or a version of qlog".into()));
    }
    Ok(logs.finish())
}

/// Records that begin with [`RECORD`].
fn read_sequence(input: &mut impl BufRead, logs: &mut Logs<'_>) -> Result<(), Failure> {
    let mut record = vec![];
    loop {
        record.clear();
        let read = input.by_ref().take(LONGEST).read_until(RECORD, &mut record).map_err(Failure::Io)?;
        if read == 0 {
            return Ok(());
        }
        let ended = record.pop_if(|last| *last == RECORD).is_some();
        let text = record.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match serde_json::from_slice::<Value>(text) {
            Ok(value) => logs.record(&value),
            Err(_) if !logs.is_qlog => return Err(Failure::NotQlog("the first record is no JSON".into())),
            // The last record of a log whose writer was ended.
            Err(error) if !ended && error.is_eof() => {
                logs.truncated = true;
                return Ok(());
            }
            Err(_) => logs.bad += 1,
        }
        if logs.stopped() {
            return Ok(());
        }
    }
}

/// One object with all traces; or a header and events, each a value.
fn read_json(input: impl Read, logs: &mut Logs<'_>) -> Result<(), Failure> {
    let left = Rc::new(Cell::new(LONGEST));
    logs.left = Rc::clone(&left);
    let limited = Limited { inner: input, left };
    let mut json = serde_json::Deserializer::from_reader(limited);
    let mut result = Top(logs).deserialize(&mut json);
    if result.is_ok() {
        for value in json.into_iter::<Value>() {
            logs.left.set(LONGEST);
            match value {
                Ok(value) => logs.record(&value),
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
            if logs.stopped() {
                return Ok(());
            }
        }
    }
    logs.end_trace();
    match result {
        Ok(()) => Ok(()),
        Err(_) if logs.stopped => Ok(()),
        Err(error) if error.is_io() => Err(Failure::Io(error.into())),
        Err(error) if !logs.is_qlog => Err(Failure::NotQlog(format!("no JSON: {error}"))),
        Err(error) if error.is_eof() => {
            logs.truncated = true;
            Ok(())
        }
        Err(error) => {
            logs.broken = Some(error.to_string());
            Ok(())
        }
    }
}

/// Reader that fails beyond a number of bytes, which each part of a log sets anew.
struct Limited<R> {
    inner: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let left = self.left.get().checked_sub(read as u64);
        self.left
            .set(left.ok_or_else(|| io::Error::other(format!("an event is longer than {LONGEST} bytes")))?);
        Ok(read)
    }
}

/// Logs of a file while it is read.
struct Logs<'a> {
    goes_on: &'a mut dyn FnMut() -> bool,
    left: Rc<Cell<u64>>,
    is_qlog: bool,
    truncated: bool,
    broken: Option<String>,
    stopped: bool,
    /// Records that are no JSON.
    bad: u64,
    /// Fields of the trace that is read.
    common: Common,
    /// Logs of the trace that is read, by their group.
    open: Vec<Log>,
    content: Content,
    /// Events of connections beyond [`MAX_LOGS`].
    beyond: u64,
    /// Traces that a network wrote, between the ends.
    of_network: u64,
}

/// Fields that hold for all events of a trace.
#[derive(Clone, Debug)]
struct Common {
    /// Nanoseconds of a unit of time.
    unit: f64,
    reference: f64,
    format: Format,
    /// Names of the fields of events that are arrays.
    fields: Vec<String>,
    vantage: Option<Vantage>,
    group: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Absolute,
    Relative,
    Delta,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vantage {
    Client,
    Server,
    Network,
}

impl Default for Common {
    fn default() -> Self {
        Self {
            unit: 1e6,
            reference: 0.0,
            format: Format::Relative,
            fields: ["relative_time", "category", "event", "data"].map(String::from).to_vec(),
            vantage: None,
            group: String::new(),
        }
    }
}

impl Common {
    /// Takes the fields of this object, whatever else it has.
    fn take(&mut self, key: &str, value: &Value) {
        match key {
            "common_fields" | "configuration" => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    self.take(key, value);
                }
            }
            "vantage_point" => {
                let word = value.get("type").or(Some(value)).and_then(Value::as_str).unwrap_or_default();
                self.vantage = match word.to_ascii_lowercase().as_str() {
                    "client" => Some(Vantage::Client),
                    "server" => Some(Vantage::Server),
                    "network" => Some(Vantage::Network),
                    _ => self.vantage,
                };
            }
            "time_units" => self.unit = if value.as_str() == Some("us") { 1e3 } else { 1e6 },
            "time_format" => {
                self.format = match value.as_str() {
                    Some("absolute") => Format::Absolute,
                    Some("delta" | "relative_to_previous_event") => Format::Delta,
                    _ => Format::Relative,
                }
            }
            "reference_time" => self.reference = number(value).unwrap_or(0.0),
            "event_fields" => {
                let words = value.as_array().into_iter().flatten();
                self.fields =
                    words.map(|word| word.as_str().unwrap_or_default().to_ascii_lowercase()).collect();
            }
            "group_id" => self.group = word(value),
            _ => {}
        }
    }
}

/// Log of one connection.
#[derive(Debug, Default)]
struct Log {
    group: String,
    /// Time, whether this end sent the packet, event.
    events: Vec<(Nanos, bool, Event)>,
    ranges: Vec<(u64, u64)>,
    /// Addresses of this end and the other.
    addresses: [Option<SocketAddr>; 2],
    handshake: Vec<Opener>,
    latest: Nanos,
    /// Time by which the clock was set back so far.
    back: Nanos,
    times_back: u64,
    /// Packets without a size, and those beyond [`MAX_EVENTS`].
    sizeless: u64,
    beyond: u64,
    /// Length of the connection IDs in the packets of this end and of the other.
    ids: [Option<u32>; 2],
}

/// Packet of the handshake.
#[derive(Clone, Copy, Debug)]
struct Opener {
    at: Nanos,
    local: bool,
    initial: bool,
    /// Whether it answers packets of the other side.
    answers: bool,
    size: u32,
}

/// Number, also one that is written as a string.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).filter(|number| number.is_finite())
}

fn integer(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl<'a> Logs<'a> {
    fn new(goes_on: &'a mut dyn FnMut() -> bool) -> Self {
        Self {
            goes_on,
            left: Rc::default(),
            is_qlog: false,
            truncated: false,
            broken: None,
            stopped: false,
            bad: 0,
            common: Common::default(),
            open: vec![],
            content: Content::default(),
            beyond: 0,
            of_network: 0,
        }
    }

    fn stopped(&mut self) -> bool {
        self.stopped = self.stopped || !(self.goes_on)();
        self.stopped
    }

    /// A record of a sequence: its header, or an event.
    fn record(&mut self, value: &Value) {
        let Some(object) = value.as_object() else { return self.event(value) };
        let is_header =
            ["qlog_version", "qlog_format", "file_schema"].iter().any(|key| object.contains_key(*key));
        if !is_header {
            return self.event(value);
        }
        self.is_qlog = true;
        self.end_trace();
        for (key, value) in object.get("trace").and_then(Value::as_object).into_iter().flatten() {
            self.common.take(key, value);
        }
    }

    fn event(&mut self, value: &Value) {
        self.content.events += 1;
        let field = |name: &str| match value {
            Value::Object(object) => object.get(name),
            Value::Array(fields) => {
                let place = self.common.fields.iter().position(|field| field == name)?;
                fields.get(place)
            }
            _ => None,
        };
        let times = [
            ("time", self.common.format),
            ("relative_time", Format::Relative),
            ("delta_time", Format::Delta),
        ];
        let time = times.into_iter().find_map(|(name, format)| Some((number(field(name)?)?, format)));
        let name = field("name").or(field("event_type")).or(field("event")).and_then(Value::as_str);
        let (Some((time, format)), Some(name), Some(data)) = (time, name, field("data")) else { return };
        // In arrays the field `time` is absolute, and so is a time of draft-02 without a format.
        let group = field("group_id").or(field("odcid")).map_or_else(|| self.common.group.clone(), word);
        let name = name.rsplit(':').next().unwrap_or(name).to_ascii_lowercase();
        let (unit, reference) = (self.common.unit, self.common.reference);
        let Some(log) = self.log(group) else { return };
        let at = log.time(time * unit, reference * unit, format);
        log.event(at, &name, data);
    }

    /// The log of a group.
    fn log(&mut self, group: String) -> Option<&mut Log> {
        let known = self.open.iter().rposition(|log| log.group == group);
        let place = match known {
            Some(place) => place,
            None if self.open.len() + self.content.connections.len() < MAX_LOGS => {
                self.open.push(Log { group, ..Log::default() });
                self.open.len() - 1
            }
            None => {
                self.beyond += 1;
                return None;
            }
        };
        self.open.get_mut(place)
    }

    /// Ends the trace whose events were read.
    fn end_trace(&mut self) {
        let common = std::mem::take(&mut self.common);
        for log in std::mem::take(&mut self.open) {
            if common.vantage == Some(Vantage::Network) {
                self.of_network += 1;
                continue;
            }
            let number = self.content.connections.len();
            match log.finish(common.vantage, number, &mut self.content.warnings) {
                Ok(recorded) => self.content.connections.push(recorded),
                Err(why) => self.content.warnings.push(why),
            }
        }
    }

    fn finish(mut self) -> Content {
        self.end_trace();
        let Content { mut warnings, connections, events } = self.content;
        let mut say = |holds: bool, sentence: String| warnings.extend(holds.then_some(sentence));
        say(self.stopped, format!("reading was stopped after {events} events; these are used"));
        say(self.truncated, format!("the log is truncated after {events} events; these are used"));
        let broken = self.broken.unwrap_or_default();
        say(
            !broken.is_empty(),
            format!("the log is damaged after {events} events; these are used ({broken})"),
        );
        say(self.bad > 0, format!("{} records of the log are no JSON and are left out", self.bad));
        let most = format!(
            "at most {MAX_LOGS} connections of a log are read; {} events of others are left out",
            self.beyond
        );
        say(self.beyond > 0, most);
        let network = format!(
            "{} traces of the log are of the network between the ends and are left out; expected that of the sender",
            self.of_network
        );
        say(self.of_network > 0, network);
        Content { connections, warnings, events }
    }
}

impl Log {
    /// Time of an event in nanoseconds. A clock that is set back goes on from the latest time before.
    fn time(&mut self, time: f64, reference: f64, format: Format) -> Nanos {
        /// Events are written up to this much later than their times.
        const LATE: Nanos = Nanos::from_secs(1);
        let nanos = |value: f64| Nanos(value.clamp(0.0, 9e18).round() as u64);
        let at = match format {
            Format::Absolute => nanos(time),
            Format::Relative => nanos(reference).saturating_add(nanos(time)),
            Format::Delta if self.latest == Nanos::ZERO => nanos(reference).saturating_add(nanos(time)),
            Format::Delta => return self.advance(self.latest.saturating_add(nanos(time))),
        };
        let mut shifted = at.saturating_add(self.back);
        if shifted.saturating_add(LATE) < self.latest {
            self.times_back += 1;
            self.back = self.latest.saturating_sub(at);
            shifted = self.latest;
        }
        self.advance(shifted)
    }

    fn advance(&mut self, at: Nanos) -> Nanos {
        self.latest = self.latest.max(at);
        at
    }

    fn event(&mut self, at: Nanos, name: &str, data: &Value) {
        match name {
            "packet_sent" => self.packet(at, data, true),
            "packet_received" => self.packet(at, data, false),
            "packet_lost" => {
                let header = data.get("header").unwrap_or(data);
                let number = header.get("packet_number").or(data.get("packet_number")).and_then(integer);
                if let Some(number) = number.filter(|_| is_of_data(data)) {
                    // The acknowledging side is the other one.
                    self.push(at, false, Event::Lost(number));
                }
            }
            "connection_started" => self.addresses = [address(data, true), address(data, false)],
            _ => {}
        }
    }

    fn push(&mut self, at: Nanos, local: bool, event: Event) {
        if self.events.len() < MAX_EVENTS {
            self.events.push((at, local, event));
        } else {
            self.beyond += 1;
        }
    }

    fn packet(&mut self, at: Nanos, data: &Value, local: bool) {
        /// Data packets are at least this long where the log lacks frames.
        const LEAST_DATA: u32 = 80;
        let nothing = Value::Null;
        let header = data.get("header").unwrap_or(&nothing);
        let raw = data.get("raw").unwrap_or(&nothing);
        let of = |parts: &[(&Value, &str)]| {
            parts.iter().find_map(|(part, name)| part.get(*name).and_then(integer))
        };
        let size = of(&[(raw, "length"), (header, "packet_size"), (data, "packet_size")])
            .or_else(|| Some(of(&[(raw, "payload_length"), (header, "payload_length")])? + 17));
        let size = size.and_then(|size| u32::try_from(size).ok()).filter(|size| (1..=65_535).contains(size));
        let number = of(&[(header, "packet_number"), (data, "packet_number")]);
        let frames = data.get("frames").and_then(Value::as_array);
        let kinds = || {
            frames.into_iter().flatten().filter_map(|frame| Some((frame, frame.get("frame_type")?.as_str()?)))
        };
        let acks = || kinds().filter(|(_, kind)| *kind == "ack").map(|(frame, _)| frame);
        if !is_of_data(data) {
            let kind = packet_type(data);
            if self.handshake.len() < 64 {
                let answers = acks().next().is_some() || kind != "initial";
                let opener =
                    Opener { at, local, initial: kind == "initial", answers, size: size.unwrap_or(0) };
                self.handshake.push(opener);
            }
            return;
        }
        if self.handshake.len() < 64 && self.handshake.iter().all(|one| one.local != local || one.initial) {
            self.handshake.push(Opener { at, local, initial: false, answers: true, size: size.unwrap_or(0) });
        }
        if let Some(id) = header.get("dcid").and_then(Value::as_str).filter(|id| id.len() <= 40) {
            self.ids[usize::from(!local)].get_or_insert(id.len() as u32 / 2);
        }
        for frame in acks() {
            let first = self.ranges.len();
            for range in frame.get("acked_ranges").and_then(Value::as_array).into_iter().flatten() {
                let bounds: Vec<u64> = match range {
                    Value::Array(bounds) => bounds.iter().filter_map(integer).collect(),
                    one => integer(one).into_iter().collect(),
                };
                if let (Some(&from), Some(&to)) = (bounds.first(), bounds.last()) {
                    self.ranges.push((from.min(to), from.max(to)));
                }
            }
            let count = self.ranges.len() - first;
            if self.ranges.len() > 4 * MAX_EVENTS {
                self.ranges.truncate(first);
                self.beyond += 1;
            } else if count > 0 {
                self.push(at, local, Event::Acked(first as u32, count as u32));
            }
        }
        let place = |(frame, kind): (&Value, &str)| {
            let field = |name: &str| frame.get(name).and_then(integer);
            match kind {
                "stream" => {
                    let first = field("stream_id").or(field("id")).zip(field("offset"));
                    let raw = frame.get("raw").unwrap_or(&nothing);
                    let len = field("length").or_else(|| of(&[(raw, "payload_length"), (raw, "length")]));
                    Some(first.map(|first| Place { first, len: len.unwrap_or(1) }))
                }
                // The data of DATAGRAM frames is not retransmitted (RFC 9221).
                "datagram" => Some(number.map(|number| Place { first: (u64::MAX, number), len: 1 })),
                _ => None,
            }
        };
        let carries = match frames {
            // Behind the rest of lost data stands what comes next.
            Some(_) => kinds().rev().find_map(place),
            None => size.filter(|size| *size >= LEAST_DATA).map(|_| None),
        };
        match (carries, number, size) {
            (Some(data), Some(number), Some(size)) => {
                self.push(at, local, Event::Sent { number, size, data })
            }
            (Some(_), ..) => self.sizeless += 1,
            (None, _, None) if frames.is_none() => self.sizeless += 1,
            (None, ..) => {}
        }
    }

    /// The connection, whose log is the one with this number in the file.
    ///
    /// # Errors
    /// A sentence, if it shows too little.
    fn finish(
        self,
        vantage: Option<Vantage>,
        number: usize,
        warnings: &mut Vec<String>,
    ) -> Result<Recorded, String> {
        let client = match vantage {
            Some(Vantage::Client) => true,
            Some(_) => false,
            // The end that sent the first packet of the handshake.
            None => self.handshake.first().is_some_and(|first| first.local),
        };
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
        let sent = |local: bool| {
            self.events
                .iter()
                .filter(move |(_, of, event)| *of == local && matches!(event, Event::Sent { .. }))
                .count()
        };
        if sent(true) + sent(false) == 0 {
            return Err(sizeless
                .unwrap_or_else(|| format!("{name}: the log has no packet with data; it is left out")));
        }
        warnings.extend(sizeless);
        warnings.extend(packets(
            self.beyond,
            &format!("events behind the first {MAX_EVENTS} of the log are left out"),
        ));
        warnings.extend(packets(
            self.times_back,
            "times of the log are before earlier ones; the times behind follow the times before",
        ));
        if sent(false) > sent(true) {
            warnings.push(format!(
                "{name}: the log is that of the receiver, which lacks the packets that were lost; expected that of the sender"
            ));
        }
        let mut events: Vec<(Nanos, Side, Event)> =
            self.events.iter().map(|&(at, local, event)| (at, side(local), event)).collect();
        events.sort_by_key(|(at, ..)| *at);
        let ids = if client { self.ids } else { [self.ids[1], self.ids[0]] };
        Ok(Recorded {
            client: of_client,
            server: of_server,
            source: Source::Qlog,
            opening: self.opening(client),
            ids: ids.map(|id| id.unwrap_or(8)),
            events,
            ranges: self.ranges,
            first: 0,
            open: 0.0,
        })
    }

    fn opening(&self, client: bool) -> Option<Opening> {
        let opened = self.handshake.iter().find(|one| one.local == client && one.initial)?.at;
        let answer = self.handshake.iter().find(|one| one.local != client && one.at >= opened)?;
        let confirms = |one: &&Opener| one.local == client && one.answers && one.at > answer.at;
        let confirmed = self.handshake.iter().find(confirms)?.at;
        // The size is that of a packet, without IP and UDP.
        let answer_len = answer.size + 28;
        Some(Opening { opened, answered: answer.at, confirmed, answer_len })
    }
}

/// Type of a packet in lower case, without its prefix.
fn packet_type(data: &Value) -> String {
    let kind = data.get("header").and_then(|header| header.get("packet_type")).or(data.get("packet_type"));
    kind.and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase()
}

/// Whether a packet is of the space of application data. A log without types has these only.
fn is_of_data(data: &Value) -> bool {
    matches!(packet_type(data).as_str(), "1rtt" | "0rtt" | "" | "onertt" | "short")
}

/// Address of this end (`local`) or of the other, as drafts name it.
fn address(data: &Value, local: bool) -> Option<SocketAddr> {
    let field = |value: &Value, names: &[&str]| names.iter().find_map(|name| value.get(name).cloned());
    let parse = |ip: Value, port: Option<Value>| {
        let ip: IpAddr = ip.as_str()?.parse().ok()?;
        let port =
            port.and_then(|port| integer(&port)).and_then(|port| u16::try_from(port).ok()).unwrap_or(0);
        Some(SocketAddr::new(ip, port))
    };
    let end = data.get(if local { "local" } else { "remote" });
    let nested = end.map(|end| field(end, &["address_v4", "address_v6"]).unwrap_or_else(|| end.clone()));
    if let Some(end) = nested {
        return parse(field(&end, &["ip", "ip_v4", "ip_v6"])?, field(&end, &["port", "port_v4", "port_v6"]));
    }
    let [ip, port] = if local { ["src_ip", "src_port"] } else { ["dst_ip", "dst_port"] };
    parse(data.get(ip)?.clone(), data.get(port).cloned())
}

/// The object at the top of a file.
struct Top<'a, 'b>(&'a mut Logs<'b>);
/// The list of traces.
struct Traces<'a, 'b>(&'a mut Logs<'b>);
/// One trace.
struct Trace<'a, 'b>(&'a mut Logs<'b>);
/// The events of a trace.
struct Events<'a, 'b>(&'a mut Logs<'b>);

macro_rules! seed {
    ($name:ident, $deserialize:ident) => {
        impl<'de> DeserializeSeed<'de> for $name<'_, '_> {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
                json.$deserialize(self)
            }
        }
    };
}

seed!(Top, deserialize_map);
seed!(Traces, deserialize_seq);
seed!(Trace, deserialize_map);
seed!(Events, deserialize_seq);

impl<'de> Visitor<'de> for Top<'_, '_> {
    type Value = ();

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("a qlog")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.0.left.set(LONGEST);
            match key.as_str() {
                "traces" => {
                    self.0.is_qlog = true;
                    map.next_value_seed(Traces(self.0))?;
                }
                "trace" => {
                    let trace: Value = map.next_value()?;
                    for (key, value) in trace.as_object().into_iter().flatten() {
                        self.0.common.take(key, value);
                    }
                }
                key => {
                    self.0.is_qlog |= ["qlog_version", "qlog_format", "file_schema"].contains(&key);
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Traces<'_, '_> {
    type Value = ();

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("a list of traces")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Trace(self.0))?.is_some() {
            self.0.end_trace();
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Trace<'_, '_> {
    type Value = ();

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("a trace")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.0.left.set(LONGEST);
            match key.as_str() {
                "events" => map.next_value_seed(Events(self.0))?,
                key => {
                    let value: Value = map.next_value()?;
                    self.0.common.take(key, &value);
                }
            }
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Events<'_, '_> {
    type Value = ();

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.0.left.set(LONGEST);
        while let Some(event) = seq.next_element::<Value>()? {
            self.0.left.set(LONGEST);
            self.0.event(&event);
            if self.0.stopped() {
                return Err(serde::de::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}
