//! One connection as qlog (draft-ietf-quic-qlog-main-schema): JSON text sequences (RFC 7464) of the QlogFileSeq schema.
//!
//! The header also has the two fields by which tools of the drafts up to 0.3 know a file, qvis among them; the drafts
//! allow further fields. The events are TCP's, in namespaces of their own: see `docs/traces.md`.

use std::io::{self, Write};

use firstflight_study::trace::record::{Ack, Data, Event, FlowRecording, Metrics, Recording};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The namespaces of the events, each with the URI of its schema.
const SCHEMAS: [&str; 3] =
    ["firstflight:qlog/transport", "firstflight:qlog/recovery", "firstflight:qlog/firstflight"];

/// Writes what happened at the sender of `flow`, a connection of `recording`.
///
/// # Errors
/// Those of `out`.
pub fn qlog(recording: &Recording, flow: &FlowRecording, out: &mut (dyn Write + Send)) -> io::Result<()> {
    write(out, &header(recording, flow))?;
    let mut log = Log { flow, segments: vec![], sent: 0, received: 0, una: 0, rtt: None, shown: Map::new() };
    for (at, event) in &flow.events {
        if let Some((name, data)) = log.event(*at, event) {
            write(out, &Record { time: ms(*at), name, data })?;
        }
    }
    Ok(())
}

/// An event.
#[derive(Serialize)]
struct Record {
    time: f64,
    name: &'static str,
    data: Value,
}

/// A record: a separator, a JSON text, a line feed.
fn write(out: &mut (dyn Write + Send), record: &impl Serialize) -> io::Result<()> {
    out.write_all(b"\x1e")?;
    serde_json::to_writer(&mut *out, record)?;
    out.write_all(b"\n")
}

fn header(recording: &Recording, flow: &FlowRecording) -> Value {
    json!({
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "title": format!("{} {}", recording.name, flow.name),
        "trace": {
            "title": format!("{} {}", flow.name, flow.scheme),
            "vantage_point": { "name": "firstflight simulator, sender", "type": "client" },
            "event_schemas": SCHEMAS,
            "common_fields": {
                "group_id": flow.name,
                "protocol_types": ["TCP"],
                "time_format": "relative_to_epoch",
                // Simulated time begins with the run.
                "reference_time": { "clock_type": "monotonic", "epoch": "unknown" },
            },
        },
    })
}

/// Nanoseconds as milliseconds, exact to the nanosecond up to 100 days.
fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// What qlog's packet numbers, which TCP does not have, and its latest RTT need to know of the past.
struct Log<'a> {
    flow: &'a FlowRecording,
    segments: Vec<Segment>,
    /// Packets sent and received so far.
    sent: u64,
    received: u64,
    /// First segment not acknowledged.
    una: u32,
    rtt: Option<u64>,
    /// The values last told of each register.
    shown: Map<String, Value>,
}

/// The last sending of a segment.
#[derive(Clone, Copy)]
struct Segment {
    number: u64,
    at: u64,
    again: bool,
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
        let sent = Segment { number: self.sent, at, again: data.again, acked: false };
        match self.segments.get_mut(data.segment as usize) {
            Some(segment) => *segment = Segment { acked: segment.acked, ..sent },
            // The first sendings of segments come in order.
            None => self.segments.push(sent),
        }
        let wire = super::packet::data_length(self.flow, data);
        json!({
            "header": self.number_sent(),
            "raw": { "length": wire, "payload_length": data.payload },
            "offset": self.flow.offset(data.segment),
            "retransmission": data.again,
        })
    }

    fn ack(&mut self, at: u64, ack: &Ack) -> Value {
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
            // Karn's rule: of what was sent twice nobody knows which sending is acknowledged.
            self.rtt = if newest.again { self.rtt } else { Some(at - newest.at) };
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

    /// The registers that have changed; `None` if none has.
    fn metrics(&mut self, metrics: &Metrics) -> Option<Value> {
        let Metrics { cwnd, in_flight, ssthresh, srtt, min_rtt, pacing } = *metrics;
        let time = |ns: u64| (ns > 0).then(|| json!(ms(ns)));
        let registers = [
            ("congestion_window", Some(json!(cwnd))),
            ("bytes_in_flight", Some(json!(in_flight))),
            ("ssthresh", ssthresh.map(Value::from)),
            ("smoothed_rtt", time(srtt)),
            ("min_rtt", time(min_rtt)),
            ("latest_rtt", self.rtt.and_then(time)),
            ("pacing_rate", pacing.map(Value::from)),
        ];
        let mut changed = Map::new();
        for (name, value) in registers {
            let Some(value) = value else { continue };
            if self.shown.get(name) != Some(&value) {
                self.shown.insert(name.into(), value.clone());
                changed.insert(name.into(), value);
            }
        }
        (!changed.is_empty()).then_some(Value::Object(changed))
    }
}

/// Packet numbers as ranges, first and last included; a number alone is a range of one.
fn ranges(mut numbers: Vec<u64>) -> Vec<Vec<u64>> {
    numbers.sort_unstable();
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    runs.map(|run| if run.len() == 1 { vec![run[0]] } else { vec![run[0], run[run.len() - 1]] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_row_make_a_range() {
        assert_eq!(ranges(vec![7, 3, 4, 5, 9]), [vec![3, 5], vec![7], vec![9]]);
        assert_eq!(ranges(vec![1, 2]), [vec![1, 2]]);
    }
}
