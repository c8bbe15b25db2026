//! Traces of a file: their common fields, and the log of each connection.

use std::cell::Cell;
use std::rc::Rc;

use serde_json::Value;

use super::clock::{Format, Line, Reference};
use super::connection::Log;
use super::steps::Mended;
use super::value::{number, packet_number, packet_type, word};
use super::{Content, MAX_LOGS};

/// Logs of a file while it is read.
pub(super) struct Logs<'a> {
    goes_on: &'a mut dyn FnMut() -> bool,
    pub(super) left: Rc<Cell<u64>>,
    pub(super) is_qlog: bool,
    pub(super) truncated: bool,
    pub(super) broken: Option<String>,
    pub(super) stopped: bool,
    /// Records that are no JSON.
    pub(super) bad: u64,
    /// Fields of the trace that is read.
    pub(super) common: Common,
    /// Logs of the trace that is read, by their group.
    open: Vec<Log>,
    content: Content,
    /// Events of connections beyond [`MAX_LOGS`].
    beyond: u64,
    /// Traces that a network wrote, between the ends.
    of_network: u64,
    /// Traces of another protocol than QUIC, and its name.
    of_another: (u64, String),
}

/// Fields that hold for all events of a trace.
#[derive(Clone, Debug)]
pub(super) struct Common {
    /// Nanoseconds of a unit of time.
    unit: f64,
    reference: Reference,
    format: Format,
    /// Names of the fields of events that are arrays.
    fields: Vec<String>,
    vantage: Option<Vantage>,
    group: String,
    /// Protocol of the trace, if it is named and is not QUIC.
    other: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vantage {
    Client,
    Server,
    Network,
}

impl Default for Common {
    fn default() -> Self {
        Self {
            unit: 1e6,
            reference: Reference::default(),
            format: Format::Relative,
            fields: ["relative_time", "category", "event", "data"].map(String::from).to_vec(),
            vantage: None,
            group: String::new(),
            other: None,
        }
    }
}

/// The first of these protocols, if none of them is QUIC.
fn other_protocol(protocols: &Value) -> Option<String> {
    let named = || protocols.as_array().into_iter().flatten().filter_map(Value::as_str);
    let quic = named().any(|name| name.to_ascii_uppercase().starts_with("QUIC"));
    named().next().filter(|_| !quic).map(str::to_owned)
}

impl Common {
    /// Takes a field of a trace, or those of an object within it.
    pub(super) fn take(&mut self, key: &str, value: &Value) {
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
            "time_format" => self.format = Format::named(value.as_str()),
            "reference_time" => self.reference = Reference::of(value),
            "event_fields" => {
                let words = value.as_array().into_iter().flatten();
                self.fields =
                    words.map(|word| word.as_str().unwrap_or_default().to_ascii_lowercase()).collect();
            }
            "group_id" => self.group = word(value),
            "protocol_types" | "protocol_type" => self.other = other_protocol(value),
            _ => {}
        }
    }
}

/// Whether a field of this name is that of the header of a qlog.
pub(super) fn is_header(key: &str) -> bool {
    ["qlog_version", "qlog_format", "file_schema"].contains(&key)
}

impl<'a> Logs<'a> {
    pub(super) fn new(goes_on: &'a mut dyn FnMut() -> bool) -> Self {
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
            of_another: (0, String::new()),
        }
    }

    pub(super) fn stopped(&mut self) -> bool {
        self.stopped = self.stopped || !(self.goes_on)();
        self.stopped
    }

    /// A record of a sequence: its header, or an event.
    pub(super) fn record(&mut self, value: &Value) {
        let Some(object) = value.as_object() else { return self.event(value) };
        if !object.keys().any(|key| is_header(key)) {
            return self.event(value);
        }
        self.is_qlog = true;
        self.end_trace();
        for (key, value) in object.get("trace").and_then(Value::as_object).into_iter().flatten() {
            self.common.take(key, value);
        }
    }

    pub(super) fn event(&mut self, value: &Value) {
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
        let unit = self.common.unit;
        let reference = self.common.reference.nanos(unit);
        let Some(log) = self.log(group, &name, data) else { return };
        let line = if Log::is_timed(&name) {
            log.clock.add(time * unit, reference, format)
        } else {
            Some(Line::default())
        };
        match line {
            Some(line) => log.event(line, &name, data, unit),
            None => log.beyond += 1,
        }
    }

    /// The log of a group to which an event belongs: the latest connection of the group, or the one that this event opens.
    fn log(&mut self, group: String, name: &str, data: &Value) -> Option<&mut Log> {
        let sent = name == "packet_sent";
        let initial = || (sent || name == "packet_received") && packet_type(data) == "initial";
        let known = self.open.iter().rposition(|log| log.group == group);
        let known =
            known.filter(|place| !self.open[*place].is_followed_by(initial(), sent, packet_number(data)));
        let place = match known {
            Some(place) => place,
            None if self.open.len() + self.content.connections.len() < MAX_LOGS => {
                self.open.push(Log { group, vantage: self.common.vantage, ..Log::default() });
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
    pub(super) fn end_trace(&mut self) {
        let common = std::mem::take(&mut self.common);
        let open = std::mem::take(&mut self.open).into_iter();
        let open: Vec<(Mended, Log)> = open.map(|log| (log.clock.mend(), log)).collect();
        // Times may be before those to which they are relative.
        let origin =
            open.iter().filter_map(|(mended, _)| mended.least()).min().map_or(0, |least| least.min(0));
        for (mended, mut log) in open {
            // Some stacks write it behind the events.
            log.vantage = common.vantage;
            if let Some(other) = &common.other {
                self.of_another = (self.of_another.0 + 1, other.clone());
                continue;
            }
            if common.vantage == Some(Vantage::Network) {
                self.of_network += 1;
                continue;
            }
            let number = self.content.connections.len();
            match log.finish(number, &mended, origin, &mut self.content.warnings) {
                Ok(recorded) => self.content.connections.push(recorded),
                Err(why) => self.content.warnings.push(why),
            }
        }
    }

    pub(super) fn finish(mut self) -> Content {
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
        let network = traces(self.of_network, "of the network between the ends", "that of the sender");
        say(self.of_network > 0, network);
        let (count, name) = self.of_another;
        let of = format!("of {name} by protocol_types");
        let another = traces(count, &of, "a qlog of QUIC, or a capture");
        say(count > 0, another);
        Content { connections, warnings, events }
    }
}

/// Sentence on traces of a log that are not those of a sender.
fn traces(count: u64, of: &str, expected: &str) -> String {
    let (noun, are) = if count == 1 { ("trace", "is") } else { ("traces", "are") };
    format!("{count} {noun} of the log {are} {of} and {are} left out; expected {expected}")
}
