//! One connection as qlog (draft-ietf-quic-qlog-main-schema): JSON text sequences (RFC 7464) of the QlogFileSeq schema.
//!
//! The header also has the two fields by which tools for drafts up to 0.3, such as qvis, recognise a file; the drafts
//! allow additional fields. The events are those of TCP, in namespaces of this project: see `docs/traces.md`.

use std::io::{self, Write};

use firstflight_hosts::trace::record::{AckArrival, Data, Event, FlowRecording, Metrics, Recording};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// URIs of the event schemas; the last part of each is the namespace.
const SCHEMAS: [&str; 3] =
    ["firstflight:qlog/transport", "firstflight:qlog/recovery", "firstflight:qlog/firstflight"];

/// Place at which the events of a connection were seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vantage<'a> {
    /// Name: `firstflight simulator, sender`.
    pub name: &'a str,
    /// Protocol of the connection: `TCP`.
    pub protocol: &'a str,
}

impl Vantage<'_> {
    /// A sender of the simulator.
    pub const SIMULATOR: Self = Self { name: "firstflight simulator, sender", protocol: "TCP" };
}

/// Writes the events at the sender of `flow`, a connection of `recording`.
///
/// # Errors
/// Errors of `out`.
pub fn qlog(
    recording: &Recording,
    flow: &FlowRecording,
    vantage: Vantage<'_>,
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    write(out, &header(recording, flow, vantage))?;
    let mut log =
        Log { flow, segments: vec![], sent: 0, received: 0, una: 0, rtt: None, written: Map::new() };
    for (at, event) in &flow.events {
        if let Some((name, data)) = log.event(*at, event) {
            write(out, &Record { time: ms(*at), name, data })?;
        }
    }
    Ok(())
}

/// An event record.
#[derive(Serialize)]
struct Record {
    time: f64,
    name: &'static str,
    data: Value,
}

/// Writes a record: separator, JSON text, line feed.
fn write(out: &mut (dyn Write + Send), record: &impl Serialize) -> io::Result<()> {
    out.write_all(b"\x1e")?;
    serde_json::to_writer(&mut *out, record)?;
    out.write_all(b"\n")
}

fn header(recording: &Recording, flow: &FlowRecording, vantage: Vantage<'_>) -> Value {
    json!({
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "title": format!("{} {}", recording.name, flow.name),
        "trace": {
            "title": format!("{} {}", flow.name, flow.scheme),
            "vantage_point": { "name": vantage.name, "type": "client" },
            "event_schemas": SCHEMAS,
            "common_fields": {
                "group_id": flow.name,
                "protocol_types": [vantage.protocol],
                "time_format": "relative_to_epoch",
                // Simulated time starts at zero with the run.
                "reference_time": { "clock_type": "monotonic", "epoch": "unknown" },
            },
        },
    })
}

/// Nanoseconds as milliseconds, exact to the nanosecond up to 100 days.
fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// State from which packet numbers, acknowledged ranges and the latest RTT are derived. TCP has no packet numbers.
struct Log<'a> {
    flow: &'a FlowRecording,
    segments: Vec<Segment>,
    /// Packets sent and received so far.
    sent: u64,
    received: u64,
    /// First unacknowledged segment.
    una: u32,
    /// Latest RTT, nanoseconds.
    rtt: Option<u64>,
    /// Value last written for each metric.
    written: Map<String, Value>,
}

/// Last transmission of a segment.
#[derive(Clone, Copy)]
struct Segment {
    /// Packet number.
    number: u64,
    /// Time, nanoseconds.
    at: u64,
    retransmitted: bool,
    acked: bool,
}

impl Log<'_> {
    fn event(&mut self, at: u64, event: &Event) -> Option<(&'static str, Value)> {
        Some(match event {
            Event::Syn => ("transport:packet_sent", json!({ "header": self.number_sent(), "syn": true })),
            Event::SynAck { .. } => {
                ("transport:packet_received", json!({ "header": self.number_received(), "syn": true }))
            }
            Event::Data(data) => ("transport:packet_sent", self.data(at, data)),
            Event::Ack(ack) => ("transport:packet_received", self.ack(at, ack)),
            Event::Metrics(metrics) => ("recovery:metrics_updated", self.metrics(metrics)?),
            Event::State { old, new } => {
                ("firstflight:congestion_state_updated", json!({ "old": old, "new": new }))
            }
            Event::StartupExit { cwnd, reason } => {
                ("firstflight:startup_exited", json!({ "congestion_window": cwnd, "trigger": reason }))
            }
        })
    }

    fn number_sent(&mut self) -> Value {
        self.sent += 1;
        json!({ "packet_number": self.sent - 1 })
    }

    fn number_received(&mut self) -> Value {
        self.received += 1;
        json!({ "packet_number": self.received - 1 })
    }

    fn data(&mut self, at: u64, data: &Data) -> Value {
        let sent = Segment { number: self.sent, at, retransmitted: data.retransmission, acked: false };
        match self.segments.get_mut(data.segment as usize) {
            Some(segment) => *segment = Segment { acked: segment.acked, ..sent },
            // First transmissions come in the order of the segments.
            None => self.segments.push(sent),
        }
        let wire = super::packet::data_length(self.flow, data);
        json!({
            "header": self.number_sent(),
            "raw": { "length": wire, "payload_length": data.payload },
            "offset": self.flow.offset(data.segment),
            "retransmission": data.retransmission,
        })
    }

    fn ack(&mut self, at: u64, ack: &AckArrival) -> Value {
        let blocks = ack.blocks.iter().copied().take_while(|(start, end)| start < end);
        let mut newly = vec![];
        for (start, end) in std::iter::once((self.una, ack.next)).chain(blocks.clone()) {
            for segment in &mut self.segments[start.min(end) as usize..end as usize] {
                if !std::mem::replace(&mut segment.acked, true) {
                    newly.push(segment.number);
                }
            }
        }
        if ack.next > self.una {
            let newest = self.segments[ack.next as usize - 1];
            // Karn's rule: an ACK of a retransmitted segment is ambiguous and gives no RTT sample.
            self.rtt = if newest.retransmitted { self.rtt } else { Some(at - newest.at) };
            self.una = ack.next;
        }
        let offset = |segment: u32| self.flow.offset(segment);
        let sack: Vec<_> = blocks.map(|(start, end)| [offset(start), offset(end)]).collect();
        let acknowledged = offset(ack.next);
        let mut event = json!({
            "header": self.number_received(),
            "raw": { "length": super::packet::ack_length(self.flow, ack) },
            "ack": acknowledged,
        });
        if !sack.is_empty() {
            event["sack"] = json!(sack);
        }
        if !newly.is_empty() {
            event["frames"] = json!([{ "frame_type": "ack", "acked_ranges": ranges(newly) }]);
        }
        event
    }

    /// Metrics that have changed; `None` if none has.
    fn metrics(&mut self, metrics: &Metrics) -> Option<Value> {
        let Metrics { cwnd, in_flight, ssthresh, srtt, min_rtt, pacing } = *metrics;
        let time = |ns: u64| (ns > 0).then(|| json!(ms(ns)));
        let current = [
            ("congestion_window", Some(json!(cwnd))),
            ("bytes_in_flight", Some(json!(in_flight))),
            ("ssthresh", ssthresh.map(Value::from)),
            ("smoothed_rtt", time(srtt)),
            ("min_rtt", time(min_rtt)),
            ("latest_rtt", self.rtt.and_then(time)),
            ("pacing_rate", pacing.map(Value::from)),
        ];
        let mut changed = Map::new();
        for (name, value) in current {
            let Some(value) = value else { continue };
            if self.written.get(name) != Some(&value) {
                self.written.insert(name.into(), value.clone());
                changed.insert(name.into(), value);
            }
        }
        (!changed.is_empty()).then_some(Value::Object(changed))
    }
}

/// Packet numbers as inclusive ranges; a single number is a range with one element.
fn ranges(mut numbers: Vec<u64>) -> Vec<Vec<u64>> {
    numbers.sort_unstable();
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    runs.map(|run| if run.len() == 1 { vec![run[0]] } else { vec![run[0], run[run.len() - 1]] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_numbers_form_a_range() {
        assert_eq!(ranges(vec![7, 3, 4, 5, 9]), [vec![3, 5], vec![7], vec![9]]);
        assert_eq!(ranges(vec![1, 2]), [vec![1, 2]]);
    }
}
