//! Events of a log: packets with their frames, losses, transport parameters, and the sender's registers.

use firstflight_contract::Nanos;
use serde_json::Value;

use super::super::flow_control::{Credit, Limits};
use super::super::{Data, Event, MAX_EVENTS, Place};
use super::clock::{Line, Mark};
use super::connection::{Log, Opener};
use super::in_flight::Change;
use super::value::{address, endpoint, field, integer, is_of_data, number, packet_number, packet_type};

impl Log {
    /// Whether an event of this name has to do with packets, so that its time counts.
    pub(super) fn is_timed(name: &str) -> bool {
        ["packet_sent", "packet_received", "packet_lost"].contains(&name) || is_metrics(name)
    }

    /// Takes an event. A unit of the log's times has `unit` nanoseconds.
    pub(super) fn event(&mut self, at: Line, name: &str, data: &Value, unit: f64) {
        match name {
            "packet_sent" => self.packet(at, data, true),
            "packet_received" => self.packet(at, data, false),
            "packet_lost" => self.lost(at, data),
            name if is_metrics(name) => self.metrics(at, data, unit),
            "parameters_set" | "parameters_restored" => {
                let owner = data.get("owner").or(data.get("initiator")).and_then(Value::as_str);
                match owner {
                    // Parameters of one end limit the other.
                    Some("remote") => self.credit[0].announce(limits(data)),
                    Some("local") => self.credit[1].announce(limits(data)),
                    _ => {}
                }
            }
            "connection_started" => self.addresses = [address(data, true), address(data, false)],
            // The first datagram of a log names both ends.
            "datagram_received" | "datagram_sent" => self.datagram(name == "datagram_sent", data),
            _ => {}
        }
    }

    fn push(&mut self, at: Line, local: bool, event: Event) {
        if self.events.len() < MAX_EVENTS {
            self.events.push((at, local, event));
        } else {
            self.beyond += 1;
        }
    }

    fn change(&mut self, at: Line, change: Change) {
        if self.changes.len() < 2 * MAX_EVENTS {
            self.changes.push((at, change));
        }
    }

    fn lost(&mut self, at: Line, data: &Value) {
        let Some(number) = packet_number(data) else { return };
        let of_data = is_of_data(data);
        self.change(at, Change::Lost(number, of_data));
        if of_data {
            // The acknowledging side is the other one.
            self.push(at, false, Event::Lost(number));
        }
    }

    fn metrics(&mut self, at: Line, data: &Value, unit: f64) {
        if let Some(rtt) = data.get("min_rtt").and_then(number).filter(|rtt| *rtt > 0.0) {
            self.min_rtt = Some(Nanos((rtt * unit).min(1e18) as u64));
        }
        if let Some(bytes) = field(&[(data, "bytes_in_flight")]) {
            self.change(at, Change::InFlight(bytes));
        }
        self.registers
            .take(field(&[(data, "congestion_window"), (data, "cwnd")]), field(&[(data, "ssthresh")]));
    }

    /// Takes the length of a datagram, where a log has one event for each: that of a packet that fills it lacks the tag in some stacks.
    fn datagram(&mut self, local: bool, data: &Value) {
        let end = |name: &str| data.get(name).and_then(endpoint);
        let (from, to) = (end("addr_from"), end("addr_to"));
        let [own, other] = if local { [from, to] } else { [to, from] };
        self.addresses = [self.addresses[0].or(own), self.addresses[1].or(other)];
        let alone = std::mem::take(&mut self.sent_since_datagram) == 1;
        let Some(len) = field(&[(data, "byte_length")]).and_then(|len| u32::try_from(len).ok()) else {
            return;
        };
        if local
            && alone
            && let Some((_, true, Event::Sent { size, .. })) =
                self.events.iter_mut().rev().find(|(_, local, _)| *local).filter(|_| self.last_sent_is_data)
        {
            *size = len;
        }
    }

    fn packet(&mut self, at: Line, data: &Value, local: bool) {
        /// Data packets are at least this long where the log lacks frames.
        const LEAST_DATA: u32 = 80;
        /// No packet has more.
        const LONGEST_DATA: u64 = 65_535;
        let nothing = Value::Null;
        let header = data.get("header").unwrap_or(&nothing);
        let raw = data.get("raw").unwrap_or(&nothing);
        let size = field(&[
            (raw, "length"),
            (header, "packet_size"),
            (data, "packet_size"),
            // Where nothing else has it, the length of a header is that of the packet.
            (header, "length"),
        ]);
        let size = size.or_else(|| Some(field(&[(raw, "payload_length"), (header, "payload_length")])? + 17));
        let size = size.and_then(|size| u32::try_from(size).ok()).filter(|size| (1..=65_535).contains(size));
        let number = packet_number(data);
        let frames = data.get("frames").and_then(Value::as_array);
        let of_data = is_of_data(data);
        let has_frames = frames.is_some();
        self.framed |= has_frames;
        self.sent_since_datagram += u32::from(local);
        if local {
            self.last_sent_is_data = false;
        }
        if !self.framed {
            let sent = number.zip(size).map(|(number, size)| Change::Sent(number, size, of_data));
            if let Some(change) = if local { sent } else { Some(Change::Received) } {
                self.change(at, change);
            }
        }
        let frames = || {
            frames.into_iter().flatten().filter_map(|frame| Some((frame, frame.get("frame_type")?.as_str()?)))
        };
        let acks = || frames().filter(|(_, kind)| *kind == "ack").map(|(frame, _)| frame);
        if !of_data {
            let kind = packet_type(data);
            let answers = acks().next().is_some() || kind != "initial";
            self.open(Opener { at, local, initial: kind == "initial", answers, size: size.unwrap_or(0) });
            return;
        }
        if self.handshake.iter().all(|one| one.local != local || one.initial) {
            self.open(Opener { at, local, initial: false, answers: true, size: size.unwrap_or(0) });
        }
        if let Some(id) = header.get("dcid").and_then(Value::as_str).filter(|id| id.len() <= 40) {
            self.ids[usize::from(!local)].get_or_insert(id.len() as u32 / 2);
        }
        // A frame of one end raises the limit of the other.
        let credit = &mut self.credit[usize::from(local)];
        let raised = frames().fold(false, |raised, (frame, kind)| raise(credit, frame, kind) || raised);
        self.reported += u32::from(acks().next().is_some());
        if !local && let Some(highest) = acks().flat_map(bounds).map(|(_, highest)| highest).max() {
            self.clock.mark(Mark::Acked(highest));
        }
        for frame in acks() {
            self.acknowledge(at, local, frame);
        }
        if raised && acks().next().is_none() {
            let room = self.room(!local);
            self.push(at, local, Event::Acked { first: 0, count: 0, room });
        }
        let place = |(frame, kind): (&Value, &str)| match kind {
            "stream" => {
                let first = field(&[(frame, "stream_id"), (frame, "id")]).zip(field(&[(frame, "offset")]));
                let raw = frame.get("raw").unwrap_or(&nothing);
                let len = field(&[(frame, "length"), (raw, "payload_length"), (raw, "length")]);
                Some(first.map(|first| Place { first, len: len.unwrap_or(1).min(LONGEST_DATA) }))
            }
            // The data of DATAGRAM frames is not retransmitted (RFC 9221).
            "datagram" => Some(number.map(|number| Place { first: (u64::MAX, number), len: 1 })),
            _ => None,
        };
        // Before its first data, an end may send what the transport parameters of the other let it.
        let stream = frames().find(|(_, kind)| *kind == "stream");
        let stream = stream.and_then(|(frame, _)| field(&[(frame, "stream_id"), (frame, "id")]));
        let credit = &self.credit[usize::from(!local)];
        let limit = stream.and_then(|id| credit.room_before(id, local == self.is_client()));
        for (frame, _) in frames().filter(|(_, kind)| *kind == "stream") {
            if let Some(Some(Place { first: (id, offset), len })) = place((frame, "stream")) {
                let ends = frame.get("fin").and_then(Value::as_bool) == Some(true);
                self.credit[usize::from(!local)].send(id, offset.saturating_add(len), ends);
            }
        }
        let carries = if has_frames {
            // Behind the rest of lost data stands what comes next.
            frames().rev().find_map(place)
        } else {
            size.filter(|size| *size >= LEAST_DATA).map(|_| None)
        };
        if local && let Some(number) = number {
            self.clock.mark(Mark::Sent { number, has_data: carries.is_some() });
        }
        match (carries, number, size) {
            (Some(data), Some(number), Some(size)) => {
                let began = std::mem::replace(&mut self.began[usize::from(!local)], true);
                if let Some(limit) = limit.filter(|_| !began) {
                    self.push(at, !local, Event::Allowed(u32::try_from(limit).unwrap_or(u32::MAX)));
                }
                self.last_sent_is_data |= local;
                let data = data.map_or(Data::Unknown, Data::Last);
                self.push(at, local, Event::Sent { number, size, data });
            }
            (Some(_), ..) => self.sizeless += 1,
            (None, _, None) if !has_frames && local => self.sizeless += 1,
            (None, ..) => {}
        }
    }

    fn open(&mut self, opener: Opener) {
        if self.handshake.len() < 64 {
            self.handshake.push(opener);
        }
    }

    /// Bytes that this end (`local`) or the other may send.
    fn room(&self, local: bool) -> Option<u32> {
        let room = self.credit[usize::from(!local)].room(local == self.is_client());
        room.map(|room| u32::try_from(room).unwrap_or(u32::MAX))
    }

    /// Takes an ACK frame.
    fn acknowledge(&mut self, at: Line, local: bool, frame: &Value) {
        let first = self.ranges.len();
        self.ranges.extend(bounds(frame));
        let count = self.ranges.len() - first;
        if self.ranges.len() > 4 * MAX_EVENTS {
            self.ranges.truncate(first);
            self.beyond += 1;
        } else if count > 0 {
            let room = self.room(!local);
            self.push(at, local, Event::Acked { first: first as u32, count: count as u32, room });
        }
    }
}

fn is_metrics(name: &str) -> bool {
    ["metrics_updated", "recovery_metrics_updated", "metric_update"].contains(&name)
}

/// Ranges of an ACK frame, both ends included.
fn bounds(frame: &Value) -> impl Iterator<Item = (u64, u64)> + '_ {
    let ranges = frame.get("acked_ranges").and_then(Value::as_array).into_iter().flatten();
    ranges.filter_map(|range| {
        let bounds: Vec<u64> = match range {
            Value::Array(bounds) => bounds.iter().filter_map(integer).collect(),
            one => integer(one).into_iter().collect(),
        };
        let (&from, &to) = (bounds.first()?, bounds.last()?);
        Some((from.min(to), from.max(to)))
    })
}

/// Limits in the transport parameters of an end.
fn limits(parameters: &Value) -> Limits {
    let of = |name: &str| field(&[(parameters, name)]);
    let streams =
        ["bidi_remote", "bidi_local", "uni"].map(|kind| of(&format!("initial_max_stream_data_{kind}")));
    Limits { connection: of("initial_max_data"), streams }
}

/// Takes a frame of the other end. Returns whether it raises a limit.
fn raise(credit: &mut Credit, frame: &Value, kind: &str) -> bool {
    let Some(limit) = field(&[(frame, "maximum"), (frame, "maximum_data"), (frame, "max")]) else {
        return false;
    };
    match kind {
        "max_data" => credit.raise(limit),
        "max_stream_data" => {
            let id = field(&[(frame, "stream_id"), (frame, "id")]);
            id.is_some_and(|id| credit.raise_stream(id, limit))
        }
        _ => false,
    }
}
