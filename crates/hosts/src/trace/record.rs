//! Recording of every connection at its sender: packets sent and received, and registers.
//!
//! All events are kept: about 150 bytes per segment sent.

use std::sync::Arc;

use firstflight_contract::Rate;
use firstflight_net::link::Passage;
use firstflight_sim::config::{FlowConfig, Network};
use firstflight_sim::observe::{Kind, Observer, Seen};
use firstflight_sim::packet::{self, Blocks};
use firstflight_sim::sender::Sender;
use firstflight_sim::sender::info::CaState;

use super::sizes::Sizes;
use super::transit::Transit;

/// Minimum interval between records of the registers, nanoseconds: one millisecond.
pub const METRICS_EVERY: u64 = 1_000_000;

/// Sequence number of a SYN, in place of a segment number.
pub(super) const SYN: u32 = u32::MAX;

/// Recording of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Name of the run and of its files.
    pub name: String,
    /// Connections, in the order of the scenario.
    pub flows: Vec<FlowRecording>,
}

/// Recording of one connection.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRecording {
    /// Name in results.
    pub name: String,
    /// Chain of schemes.
    pub scheme: String,
    /// Payload of a full segment, bytes; of QUIC the UDP payload of its first datagrams.
    pub mss: u32,
    /// Bytes of a full datagram of QUIC behind the UDP header that carry no data. Zero of TCP.
    pub overhead: u32,
    /// Whether the connection begins with a handshake.
    pub handshake: bool,
    /// Whether the receiver sends selective ACKs.
    pub sack: bool,
    /// Whether packets carry timestamps.
    pub timestamps: bool,
    /// Whether data is sent as ECN-capable.
    pub ecn: bool,
    /// Largest receive window, bytes.
    pub window: u64,
    /// Events at the sender, in order of time, nanoseconds.
    pub events: Vec<(u64, Event)>,
    /// Data of the segments.
    sizes: Sizes,
}

/// An event at a sender. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A SYN was sent.
    Syn,
    /// The answer to the SYN arrived.
    SynAck {
        /// Time at which it left the receiver.
        sent: u64,
        /// Time at which the echoed packet left the sender.
        echo: u64,
        /// Receive window that it offers, bytes.
        window: u64,
    },
    /// A data segment was sent.
    Data(Data),
    /// An ACK arrived.
    Ack(AckArrival),
    /// The registers changed.
    Metrics(Metrics),
    /// The congestion state changed. States have Linux's names.
    State {
        /// Previous state.
        old: &'static str,
        /// New state.
        new: &'static str,
    },
    /// Start-up ended.
    StartupExit {
        /// Window before any reduction, bytes.
        cwnd: u64,
        /// Reason, as in results.
        reason: &'static str,
    },
}

/// A data segment sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Number of the segment.
    pub segment: u32,
    /// Data of the application, bytes. A datagram of QUIC without data, such as a probe of the path MTU, has none.
    pub payload: u32,
    /// Payload of TCP or UDP, bytes: of QUIC with its headers and tags.
    pub carried: u32,
    /// Whether this is a retransmission.
    pub retransmission: bool,
    /// Whether the application has no more data for now.
    pub push: bool,
    /// Whether it is sent as ECN-capable.
    pub ecn_capable: bool,
    /// Whether it reports a window reduction after a mark (CWR).
    pub reduced: bool,
    /// Time at which the latest packet received by the sender had left the receiver; zero if there is none.
    pub echo: u64,
}

/// An ACK that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckArrival {
    /// Next expected segment.
    pub next: u32,
    /// SACK blocks beyond it, newest first, `[start, end)`; an empty block ends the list.
    pub blocks: Blocks,
    /// Whether it echoes a mark (ECE).
    pub echoes_mark: bool,
    /// Time at which it left the receiver.
    pub sent: u64,
    /// Time at which the echoed segment (RFC 7323's TS.Recent) left the sender.
    pub echo: u64,
    /// Receive window that it offers beyond `next`, bytes.
    pub window: u64,
}

/// Registers of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Data in flight (RFC 6675's pipe), bytes.
    pub in_flight: u64,
    /// Slow-start threshold, bytes; `None` is infinite.
    pub ssthresh: Option<u64>,
    /// Smoothed RTT, nanoseconds; zero before the first sample.
    pub srtt: u64,
    /// Smallest RTT, nanoseconds; zero before the first sample.
    pub min_rtt: u64,
    /// Pacing rate, bits per second; `None` if not paced.
    pub pacing: Option<u64>,
}

impl FlowRecording {
    /// A recording without events.
    pub fn new(config: &FlowConfig, scheme: &str) -> Self {
        let stack = &config.stack;
        Self {
            name: config.name.clone(),
            scheme: scheme.into(),
            mss: stack.mss,
            overhead: stack.rules.datagrams.map_or(0, |datagrams| datagrams.usual_overhead()),
            handshake: stack.handshake,
            sack: stack.recovery.is_selective(),
            timestamps: stack.rules.timestamps,
            ecn: stack.ecn,
            window: u64::from(stack.receive_window.largest()) * u64::from(stack.mss),
            events: vec![],
            sizes: Sizes::new(stack.mss),
        }
    }

    /// Data before `segment`, which is at most one past the highest segment sent, bytes.
    pub fn offset(&self, segment: u32) -> u64 {
        self.sizes.offset(segment)
    }

    /// Records the data of a segment that leaves for the first time, bytes. Segments come in the order of their numbers.
    pub fn note_size(&mut self, segment: u32, data: u32) {
        self.sizes.note(segment, data);
    }
}

/// Observer that records all connections. Calls must come in order of time: `Mode::PerHop`.
#[derive(Clone)]
pub(crate) struct PacketRecorder {
    flows: Vec<Watched>,
    /// Packets sent by the senders, and how many may be.
    sent: u64,
    most: u64,
}

/// A connection while it runs.
#[derive(Clone)]
struct Watched {
    recording: FlowRecording,
    header: u32,
    data: Transit<Stamps>,
    acks: Transit<Stamps>,
    /// One past the highest segment sent.
    highest: u32,
    /// The receiver's TS.Recent, as a transmission time, and Last.ACK.sent (RFC 7323 section 4.3).
    receiver: (u64, u32),
    /// The sender's TS.Recent.
    echo: u64,
    state: Option<CaState>,
    exited: bool,
    /// Last recorded registers and their time.
    shown: (u64, Metrics),
    /// Changed registers that are not recorded yet.
    due: Option<Metrics>,
}

#[derive(Clone, Copy)]
struct Stamps {
    sent: u64,
    echo: u64,
}

impl Watched {
    fn new(config: &FlowConfig, scheme: &str) -> Self {
        Self {
            recording: FlowRecording::new(config, scheme),
            header: config.header,
            data: Transit::new(&config.forward),
            acks: Transit::new(&config.reverse),
            highest: 0,
            receiver: (0, 0),
            echo: 0,
            state: None,
            exited: false,
            shown: (0, Metrics::default()),
            due: None,
        }
    }

    fn push(&mut self, at: u64, event: Event) {
        self.show_due(at);
        self.recording.events.push((at, event));
    }

    fn sent(&mut self, at: u64, packet: Seen, retransmission: bool) {
        let stamps = Stamps { sent: at, echo: self.echo };
        self.data.enter(stamps);
        if packet.seq == SYN {
            return self.push(at, Event::Syn);
        }
        if packet.seq >= self.highest {
            self.highest = packet.seq + 1;
            self.recording.note_size(packet.seq, packet.payload);
        }
        let has = |flag: u64| packet.flags & flag != 0;
        let data = Data {
            segment: packet.seq,
            payload: packet.payload,
            carried: packet.size - self.header,
            retransmission,
            push: has(packet::PUSH_SYN),
            ecn_capable: has(packet::ECT),
            reduced: has(packet::CWR_ECE),
            echo: self.echo,
        };
        self.push(at, Event::Data(data));
    }

    /// Updates the receiver's TS.Recent when data arrives.
    fn received(&mut self, packet: Seen) {
        let Stamps { sent, .. } = self.data.arrived();
        let (recent, last_ack) = &mut self.receiver;
        if sent >= *recent && (packet.seq == SYN || packet.seq <= *last_ack) {
            *recent = sent;
        }
    }

    fn acknowledged(&mut self, at: u64, packet: Seen) {
        let Stamps { sent, echo } = self.acks.arrived();
        self.echo = self.echo.max(sent);
        let window = u64::from(packet.offered) * u64::from(self.recording.mss);
        if packet.flags & packet::PUSH_SYN != 0 {
            return self.push(at, Event::SynAck { sent, echo, window });
        }
        let echoes_mark = packet.flags & packet::CWR_ECE != 0;
        let ack = AckArrival { next: packet.seq, blocks: packet.blocks, echoes_mark, sent, echo, window };
        self.push(at, Event::Ack(ack));
    }

    fn acted(&mut self, at: u64, sender: &Sender) {
        if sender.app().established_at().is_none() {
            return;
        }
        let info = sender.info();
        let old = self.state.unwrap_or(CaState::Open);
        if info.state != old {
            self.push(at, Event::State { old: word(old), new: word(info.state) });
        }
        self.state = Some(info.state);
        if let Some(exit) = sender.chain.startup_exit().filter(|_| !self.exited) {
            self.exited = true;
            self.push(at, Event::StartupExit { cwnd: exit.cwnd, reason: exit.reason.label() });
        }
        self.show_due(at);
        let bytes = |segments: f64| (segments * sender.mss() as f64).round() as u64;
        let now = Metrics {
            cwnd: bytes(info.cwnd),
            in_flight: u64::from(info.in_flight) * sender.mss(),
            ssthresh: info.ssthresh.map(bytes),
            srtt: info.srtt,
            min_rtt: info.min_rtt,
            pacing: (info.pacing != Rate::NONE).then_some(info.pacing.0),
        };
        self.due = (now != self.shown.1).then_some(now);
        if self.shown.1 == Metrics::default() || at >= self.shown.0 + METRICS_EVERY {
            self.show(at);
        }
    }

    /// Records the pending registers at the end of the interval, unless the sender acts before.
    fn show_due(&mut self, before: u64) {
        let next = self.shown.0 + METRICS_EVERY;
        if next <= before {
            self.show(next);
        }
    }

    fn show(&mut self, at: u64) {
        if let Some(metrics) = self.due.take() {
            self.shown = (at, metrics);
            self.recording.events.push((at, Event::Metrics(metrics)));
        }
    }

    fn finish(mut self) -> FlowRecording {
        self.show_due(u64::MAX);
        // A host that needs time for an ACK acts after the arrival of the next one.
        self.recording.events.sort_by_key(|(at, _)| *at);
        self.recording
    }
}

/// Linux's names of the congestion states.
fn word(state: CaState) -> &'static str {
    match state {
        CaState::Open => "open",
        CaState::Disorder => "disorder",
        CaState::Cwr => "cwr",
        CaState::Recovery => "recovery",
        CaState::Loss => "loss",
    }
}

impl PacketRecorder {
    /// Records the connections of the network; `schemes` are the labels of their chains. The run stops if the connections send more
    /// than `most` packets.
    pub(crate) fn of(network: &Network, schemes: &[Arc<str>], most: u64) -> Self {
        let flows = network.flows.iter().zip(schemes).map(|(config, scheme)| Watched::new(config, scheme));
        Self { flows: flows.collect(), sent: 0, most }
    }

    /// The recording of a run of this name; `None` if the run stopped for want of room.
    pub(crate) fn finish(self, name: &str) -> Option<Recording> {
        if self.is_full() {
            return None;
        }
        let flows = self.flows.into_iter().map(Watched::finish).collect();
        Some(Recording { name: name.into(), flows })
    }

    /// Packets of the same direction; `None` for a datagram.
    fn transit(&mut self, packet: Seen) -> Option<&mut Transit<Stamps>> {
        // A datagram has the number of its source, and a run may have no connection.
        let flow = self.flows.get_mut(packet.flow as usize)?;
        match packet.kind {
            Kind::Data => Some(&mut flow.data),
            Kind::Ack => Some(&mut flow.acks),
            Kind::Udp => None,
        }
    }
}

impl Observer for PacketRecorder {
    const ON: bool = true;

    fn sent(&mut self, at: u64, packet: Seen, retransmission: bool) {
        let flow = packet.flow as usize;
        match packet.kind {
            Kind::Data => {
                self.sent += 1;
                self.flows[flow].sent(at, packet, retransmission);
            }
            Kind::Ack => {
                let flow = &mut self.flows[flow];
                flow.receiver.1 = packet.seq;
                flow.acks.enter(Stamps { sent: at, echo: flow.receiver.0 });
            }
            Kind::Udp => {}
        }
    }

    fn offered(&mut self, _at: u64, link: u32, packet: Seen, passage: Passage) {
        if let Some(transit) = self.transit(packet) {
            transit.offered(link, passage);
        }
    }

    fn queued(&mut self, at: u64, link: u32, packet: Seen) {
        if let Some(transit) = self.transit(packet) {
            transit.queued(at, link);
        }
    }

    fn left(&mut self, _at: u64, link: u32, packet: Seen, since: u64, passage: Passage) {
        if let Some(transit) = self.transit(packet) {
            transit.left(link, since, passage);
        }
    }

    fn arrived(&mut self, at: u64, packet: Seen) {
        let flow = packet.flow as usize;
        match packet.kind {
            Kind::Data => self.flows[flow].received(packet),
            Kind::Ack => self.flows[flow].acknowledged(at, packet),
            Kind::Udp => {}
        }
    }

    fn acted(&mut self, at: u64, flow: u32, sender: &Sender) {
        self.flows[flow as usize].acted(at, sender);
    }

    fn is_full(&self) -> bool {
        self.sent > self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::build;
    use firstflight_contract::Nanos;
    use firstflight_scenario::parse;
    use firstflight_sim::engine::Mode;
    use firstflight_sim::outcome::simulate_observed;

    const MS: u64 = 1_000_000;

    fn recorded(path: &str, flow: &str) -> FlowRecording {
        recorded_with("1000 B", path, flow)
    }

    fn recorded_with(size: &str, path: &str, flow: &str) -> FlowRecording {
        let text =
            format!("[path]\nrtt = \"100 ms\"\n{path}\n[packet]\nsize = \"{size}\"\n[[flow]]\n{flow}\n");
        let loaded = parse(&text, "test.toml").expect("a valid scenario");
        let built = build(&loaded.scenario, 1, Nanos::from_secs(1)).expect("the simulator can run it");
        let recorder = PacketRecorder::of(&built.network, &built.scheme, u64::MAX);
        let (_, recorder) = simulate_observed(&built.network, Mode::PerHop, recorder);
        let mut recording = recorder.finish("test").expect("room for all");
        recording.flows.remove(0)
    }

    #[test]
    fn a_transfer_of_two_full_segments_and_a_short_one_matches_a_hand_calculation() {
        // 8 Mbit/s: 1000 bytes take 1 ms on the bottleneck and 0.1 ms on each of two access links of 80
        // Mbit/s; 40 bytes take 40 and 4 us. A SYN and its answer: 100 ms + 2 (4 + 40 + 4) us = 100.096 ms.
        let flow = recorded(
            "rate = \"8 Mbit/s\"\nbuffer = \"100 packets\"",
            "profile = \"rfc\"\nsize = \"2000 B\"\nreceive_window = \"21 packets\"\nreceiver = \"delayed-ack\"",
        );
        assert_eq!((flow.mss, flow.handshake, flow.timestamps), (960, true, false));
        let (opened, window) = (100_096_000, 20_160);
        let events = |wanted: fn(&Event) -> bool| {
            flow.events.iter().filter(move |(_, event)| wanted(event)).cloned().collect::<Vec<_>>()
        };
        let opening = events(|event| matches!(event, Event::Syn | Event::SynAck { .. }));
        assert_eq!(opening, [(0, Event::Syn), (opened, Event::SynAck { sent: opened / 2, echo: 0, window })]);
        // All three leave at once; the last carries 2000 - 2 x 960 = 80 bytes.
        let data = |segment, payload, push| {
            let (retransmission, ecn_capable, reduced, echo) = (false, false, false, opened / 2);
            let carried = payload;
            let data = Data { segment, payload, carried, retransmission, push, ecn_capable, reduced, echo };
            (opened, Event::Data(data))
        };
        let sent = events(|event| matches!(event, Event::Data(_)));
        assert_eq!(sent, [data(0, 960, false), data(1, 960, false), data(2, 80, true)]);
        assert_eq!([0, 1, 2, 3].map(|segment| flow.offset(segment)), [0, 960, 1920, 2000]);
        // The first reaches the receiver after 1.2 + 50 ms; the second, 1 ms later, is acknowledged at once.
        // The last, 120 bytes, leaves the bottleneck 120 us after the second and then takes 12 us where the
        // second took 100, so it arrives 32 us later; as the last it is acknowledged at once too. Its ACK
        // queues behind the first one on the bottleneck and arrives 40 us later.
        let ack = |sent, at, next| {
            let (blocks, echoes_mark, echo) = (Blocks::default(), false, opened);
            (at, Event::Ack(AckArrival { next, blocks, echoes_mark, sent, echo, window }))
        };
        let second = opened + 2_200_000 + 50 * MS;
        let first = second + 50_048_000;
        let expected = [ack(second, first, 2), ack(second + 32_000, first + 40_000, 3)];
        assert_eq!(events(|event| matches!(event, Event::Ack(_))), expected);
        // Records: the window is open, the first ACK, and the second ACK less than a millisecond later.
        let times: Vec<u64> =
            events(|event| matches!(event, Event::Metrics(_))).iter().map(|e| e.0).collect();
        assert_eq!(times, [opened, first, first + MS]);
    }

    #[test]
    fn growing_datagrams_cover_a_transfer_once() {
        for (buffer, loses) in [("400 packets", false), ("3 packets", true)] {
            let flow = recorded_with(
                "1500 B",
                &format!("rate = \"20 Mbit/s\"\nbuffer = \"{buffer}\""),
                "profile = \"quinn\"\nsize = \"300 KB\"",
            );
            let (mut sent, mut largest, mut control, mut repeated) = (0, 0, 0, 0);
            for (_, event) in &flow.events {
                let Event::Data(data) = event else { continue };
                if data.retransmission {
                    assert!(flow.offset(data.segment) + u64::from(data.payload) <= sent);
                    repeated += 1;
                    continue;
                }
                assert_eq!(flow.offset(data.segment), sent);
                sent += u64::from(data.payload);
                assert!(data.payload == 0 || data.payload < data.carried);
                (largest, control) = (largest.max(data.carried), control + u32::from(data.payload == 0));
            }
            let acked = flow.events.iter().filter_map(|(_, event)| match event {
                Event::Ack(ack) => Some(flow.offset(ack.next)),
                _ => None,
            });
            assert_eq!((sent, acked.max()), (300_000, Some(300_000)));
            // quinn-proto 0.11.19 searches up to 1452 bytes by halves: its probes are datagrams without data.
            assert_eq!((largest, control > 0, repeated > 0), (1452, true, loses));
        }
    }

    #[test]
    fn an_ack_echoes_the_segment_that_last_moved_the_left_edge() {
        // RFC 7323 section 4.3: an out-of-order segment does not change the echo, one that fills a hole does.
        let flow = recorded(
            "rate = \"10 Mbit/s\"\nbuffer = \"10 packets\"",
            "profile = \"linux\"\nsize = \"300 KB\"\nreceiver = \"ack-every-packet\"",
        );
        let mut sent = vec![];
        let (mut next, mut echo) = (0, 0);
        let (mut duplicates, mut filled) = (0, 0);
        for (at, event) in &flow.events {
            match event {
                Event::Data(data) if data.retransmission => sent[data.segment as usize] = *at,
                Event::Data(_) => sent.push(*at),
                Event::Ack(ack) => {
                    if ack.next > next {
                        // In order or into a hole: in both cases the segment at the left edge arrived.
                        echo = sent[next as usize];
                        filled += u32::from(ack.next > next + 1);
                    } else {
                        duplicates += 1;
                    }
                    assert_eq!(ack.echo, echo, "{ack:?} at {at}");
                    next = ack.next;
                }
                _ => {}
            }
        }
        assert!(duplicates > 10 && filled > 1, "{duplicates} {filled}");
    }
}
