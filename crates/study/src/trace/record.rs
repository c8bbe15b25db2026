//! Every connection as its sender saw it: what it sent, what reached it, and its registers.
//!
//! All of it is kept: some 150 bytes for each segment that was sent.

use std::collections::VecDeque;

use firstflight_contract::Rate;
use firstflight_net::link::Passage;
use firstflight_sim::config::{FlowConfig, Network};
use firstflight_sim::engine::Mode;
use firstflight_sim::observe::{Kind, Observer, Seen};
use firstflight_sim::outcome::{Outcome, simulate_observed};
use firstflight_sim::packet::{self, Blocks};
use firstflight_sim::sender::Sender;
use firstflight_sim::sender::info::CaState;
use firstflight_sim::sender::stack::ReceiveWindow;

/// Registers are recorded at most once in this time, nanoseconds: a millisecond.
pub const METRICS_EVERY: u64 = 1_000_000;

/// A handshake's packet, in place of a segment number.
const SYN: u32 = u32::MAX;

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// What it is of; names its files.
    pub name: String,
    /// Its connections, in the order of the scenario.
    pub flows: Vec<FlowRecording>,
}

/// One connection.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRecording {
    /// Its name in results.
    pub name: String,
    /// The chain of schemes it ran.
    pub scheme: String,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Whether a handshake opened it.
    pub handshake: bool,
    /// Whether its receiver reports selective ACKs.
    pub sack: bool,
    /// Whether its packets carry timestamps.
    pub timestamps: bool,
    /// Whether its data is sent as ECN-capable.
    pub ecn: bool,
    /// The largest receive window, bytes.
    pub window: u64,
    /// What happened at the sender, in order of time, nanoseconds.
    pub events: Vec<(u64, Event)>,
    /// Segments that are not full, and the payload bytes missing up to their end.
    short: Vec<(u32, u64)>,
}

/// What happened at a sender. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The opening packet of a handshake left.
    Syn,
    /// The answer to it arrived, which had left the receiver at `sent` and echoes the opening packet's time.
    SynAck {
        /// When it left the receiver.
        sent: u64,
        /// When the packet it echoes had left the sender.
        echo: u64,
        /// What it offers, bytes.
        window: u64,
    },
    /// A data segment left.
    Data(Data),
    /// An ACK arrived.
    Ack(Ack),
    /// Registers have changed.
    Metrics(Metrics),
    /// The congestion state has changed, in Linux's words.
    State {
        /// The one before.
        old: &'static str,
        /// The one that begins.
        new: &'static str,
    },
    /// Start-up has ended.
    StartupExit {
        /// The window then, before any reduction, bytes.
        cwnd: u64,
        /// Why, in the words of the results.
        reason: &'static str,
    },
}

/// A data segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Its number.
    pub segment: u32,
    /// Its payload, bytes.
    pub payload: u32,
    /// Whether it had been sent before.
    pub again: bool,
    /// Whether the application has no more for now.
    pub push: bool,
    /// Whether it is sent as ECN-capable.
    pub ecn_capable: bool,
    /// Whether it says that the window was reduced for a mark (CWR).
    pub reduced: bool,
    /// When the latest packet that reached the sender had left the receiver; zero if none has.
    pub echo: u64,
}

/// An ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The next segment expected.
    pub next: u32,
    /// Segments beyond it that have arrived, newest first, `[start, end)`; an empty block ends the list.
    pub blocks: Blocks,
    /// Whether it echoes a mark (ECE).
    pub echoes_mark: bool,
    /// When it left the receiver.
    pub sent: u64,
    /// When the segment that it echoes (RFC 7323's TS.Recent) had left the sender.
    pub echo: u64,
    /// What it offers beyond `next`, bytes.
    pub window: u64,
}

/// A sender's registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// In flight (RFC 6675's pipe), bytes.
    pub in_flight: u64,
    /// Slow-start threshold, bytes; `None` is infinite.
    pub ssthresh: Option<u64>,
    /// Smoothed RTT, nanoseconds; zero before the first sample.
    pub srtt: u64,
    /// Smallest RTT, nanoseconds; zero before the first sample.
    pub min_rtt: u64,
    /// Pacing rate, bits per second; `None` where nothing is paced.
    pub pacing: Option<u64>,
}

impl FlowRecording {
    fn new(config: &FlowConfig, scheme: &str) -> Self {
        let stack = &config.stack;
        Self {
            name: config.name.clone(),
            scheme: scheme.into(),
            mss: stack.mss,
            handshake: stack.handshake,
            sack: stack.recovery.is_selective(),
            timestamps: stack.timestamps,
            ecn: stack.ecn,
            window: u64::from(stack.receive_window.limit) * u64::from(stack.mss),
            events: vec![],
            short: vec![],
        }
    }

    /// Payload bytes before `segment`, which is no further than one past the highest that was sent.
    pub fn offset(&self, segment: u32) -> u64 {
        let before = self.short.partition_point(|&(short, _)| short < segment);
        let missing = before.checked_sub(1).map_or(0, |last| self.short[last].1);
        u64::from(segment) * u64::from(self.mss) - missing
    }

    /// A segment is sent for the first time.
    fn note_size(&mut self, segment: u32, payload: u32) {
        let missing = self.short.last().map_or(0, |&(_, missing)| missing);
        self.short.push((segment, missing + u64::from(self.mss - payload)));
    }
}

/// Simulates `network` and records all its connections; `schemes` are the labels of what they run.
pub(crate) fn record(network: &Network, name: &str, schemes: &[String]) -> (Outcome, Recording) {
    let flows = network.flows.iter().zip(schemes).map(|(config, scheme)| Watched::new(config, scheme));
    let recorder = Recorder { flows: flows.collect() };
    let (outcome, recorder) = simulate_observed(network, Mode::PerHop, recorder);
    let flows = recorder.flows.into_iter().map(Watched::finish).collect();
    (outcome, Recording { name: name.into(), flows })
}

struct Recorder {
    flows: Vec<Watched>,
}

/// A connection while it runs.
struct Watched {
    recording: FlowRecording,
    header: u32,
    window: ReceiveWindow,
    data: Journey,
    acks: Journey,
    /// One past the highest segment sent.
    highest: u32,
    /// The receiver's TS.Recent and Last.ACK.sent (RFC 7323 section 4.3), the former as a time of sending.
    receiver: (u64, u32),
    /// The sender's TS.Recent.
    echo: u64,
    state: Option<CaState>,
    exited: bool,
    /// What was last recorded, and when.
    shown: (u64, Metrics),
    /// What has changed since, too soon to be recorded.
    due: Option<Metrics>,
}

/// Packets of one direction on their way, so that each is known by when it left. Links keep their order.
struct Journey {
    path: Vec<usize>,
    /// What has left hop `i - 1`, or the sender, and not reached hop `i`.
    into: Vec<VecDeque<Stamps>>,
    /// What waits at hop `i`, where that holds its packets, with the time since when.
    waiting: Vec<VecDeque<(u64, Stamps)>>,
}

#[derive(Clone, Copy)]
struct Stamps {
    sent: u64,
    echo: u64,
}

impl Journey {
    fn new(path: &[usize]) -> Self {
        let (into, waiting) = (vec![VecDeque::new(); path.len() + 1], vec![VecDeque::new(); path.len()]);
        Self { path: path.to_vec(), into, waiting }
    }

    fn hop(&self, link: u32) -> usize {
        self.path.iter().position(|&own| own == link as usize).expect("a link of its path")
    }

    fn offered(&mut self, link: u32, passage: Passage) {
        let hop = self.hop(link);
        let stamps = self.into[hop].pop_front().expect("a packet on its way there");
        self.pass(hop, stamps, passage);
    }

    fn queued(&mut self, at: u64, link: u32) {
        let hop = self.hop(link);
        let stamps = self.into[hop].pop_front().expect("a packet on its way there");
        self.waiting[hop].push_back((at, stamps));
    }

    fn left(&mut self, link: u32, since: u64, passage: Passage) {
        let hop = self.hop(link);
        let place =
            self.waiting[hop].iter().position(|&(joined, _)| joined == since).expect("it waits there");
        let (_, stamps) = self.waiting[hop].remove(place).expect("a place in the queue");
        self.pass(hop, stamps, passage);
    }

    fn pass(&mut self, hop: usize, stamps: Stamps, passage: Passage) {
        if matches!(passage, Passage::Arrives(_) | Passage::Marked(_)) {
            self.into[hop + 1].push_back(stamps);
        }
    }

    fn arrived(&mut self) -> Stamps {
        let last = self.into.last_mut().expect("the end of a path");
        last.pop_front().expect("a packet on its way there")
    }
}

impl Watched {
    fn new(config: &FlowConfig, scheme: &str) -> Self {
        Self {
            recording: FlowRecording::new(config, scheme),
            header: config.header,
            window: config.stack.receive_window,
            data: Journey::new(&config.forward),
            acks: Journey::new(&config.reverse),
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

    fn sent(&mut self, at: u64, packet: Seen, again: bool) {
        let stamps = Stamps { sent: at, echo: self.echo };
        self.data.into[0].push_back(stamps);
        if packet.seq == SYN {
            return self.push(at, Event::Syn);
        }
        let payload = packet.size - self.header;
        if packet.seq >= self.highest {
            self.highest = packet.seq + 1;
            if payload < self.recording.mss {
                self.recording.note_size(packet.seq, payload);
            }
        }
        let has = |flag: u64| packet.flags & flag != 0;
        let data = Data {
            segment: packet.seq,
            payload,
            again,
            push: has(packet::PUSH_SYN),
            ecn_capable: has(packet::ECT),
            reduced: has(packet::CWR_ECE),
            echo: self.echo,
        };
        self.push(at, Event::Data(data));
    }

    /// Data reaches the receiver.
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
        let window = u64::from(self.window.at(packet.seq)) * u64::from(self.recording.mss);
        if packet.flags & packet::PUSH_SYN != 0 {
            return self.push(at, Event::SynAck { sent, echo, window });
        }
        let echoes_mark = packet.flags & packet::CWR_ECE != 0;
        let ack = Ack { next: packet.seq, blocks: packet.blocks, echoes_mark, sent, echo, window };
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

    /// What has changed since the last record holds still at the moment when the next may be made: that is, unless
    /// the sender acts before.
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
        self.recording
    }
}

/// Linux's words for its states.
fn word(state: CaState) -> &'static str {
    match state {
        CaState::Open => "open",
        CaState::Disorder => "disorder",
        CaState::Cwr => "cwr",
        CaState::Recovery => "recovery",
        CaState::Loss => "loss",
    }
}

impl Observer for Recorder {
    const ON: bool = true;

    fn sent(&mut self, at: u64, packet: Seen, retransmission: bool) {
        let flow = packet.flow as usize;
        match packet.kind {
            Kind::Data => self.flows[flow].sent(at, packet, retransmission),
            Kind::Ack => {
                let flow = &mut self.flows[flow];
                flow.receiver.1 = packet.seq;
                flow.acks.into[0].push_back(Stamps { sent: at, echo: flow.receiver.0 });
            }
            Kind::Udp => {}
        }
    }

    fn offered(&mut self, _at: u64, link: u32, packet: Seen, passage: Passage) {
        let flow = packet.flow as usize;
        match packet.kind {
            Kind::Data => self.flows[flow].data.offered(link, passage),
            Kind::Ack => self.flows[flow].acks.offered(link, passage),
            Kind::Udp => {}
        }
    }

    fn queued(&mut self, at: u64, link: u32, packet: Seen) {
        let flow = packet.flow as usize;
        match packet.kind {
            Kind::Data => self.flows[flow].data.queued(at, link),
            Kind::Ack => self.flows[flow].acks.queued(at, link),
            Kind::Udp => {}
        }
    }

    fn left(&mut self, _at: u64, link: u32, packet: Seen, since: u64, passage: Passage) {
        let flow = packet.flow as usize;
        match packet.kind {
            Kind::Data => self.flows[flow].data.left(link, since, passage),
            Kind::Ack => self.flows[flow].acks.left(link, since, passage),
            Kind::Udp => {}
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::build;
    use firstflight_contract::Nanos;
    use firstflight_scenario::parse;

    const MS: u64 = 1_000_000;

    fn recorded(path: &str, flow: &str) -> FlowRecording {
        let text =
            format!("[path]\nrtt = \"100 ms\"\n{path}\n[packet]\nsize = \"1000 B\"\n[[flow]]\n{flow}\n");
        let loaded = parse(&text, "test.toml").expect("a valid scenario");
        let built = build(&loaded.scenario, 1, Nanos::from_secs(1)).expect("the simulator can run it");
        let (_, mut recording) = record(&built.network, "test", &built.scheme);
        recording.flows.remove(0)
    }

    #[test]
    fn a_transfer_of_two_segments_and_a_bit_by_hand() {
        // 8 Mbit/s: 1000 bytes take 1 ms on the bottleneck and 0.1 ms on each of two access links of 80 Mbit/s; 40
        // bytes take 40 and 4 us. A SYN and its answer: 100 ms + 2 (4 + 40 + 4) us = 100.096 ms.
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
            let (again, ecn_capable, reduced, echo) = (false, false, false, opened / 2);
            (opened, Event::Data(Data { segment, payload, again, push, ecn_capable, reduced, echo }))
        };
        let sent = events(|event| matches!(event, Event::Data(_)));
        assert_eq!(sent, [data(0, 960, false), data(1, 960, false), data(2, 80, true)]);
        assert_eq!([0, 1, 2, 3].map(|segment| flow.offset(segment)), [0, 960, 1920, 2000]);
        // The first reaches the receiver after 1.2 + 50 ms, the second 1 ms later and is acknowledged at once. The
        // last, 120 bytes, follows it on the bottleneck for 120 us and then takes 12 us where the second took 100: 32
        // us behind, so it is there 32 us later; being the last it is acknowledged at once too. Its ACK finds the
        // first one's on the bottleneck, and comes 40 us behind it.
        let ack = |sent, at, next| {
            let (blocks, echoes_mark, echo) = (Blocks::default(), false, opened);
            (at, Event::Ack(Ack { next, blocks, echoes_mark, sent, echo, window }))
        };
        let second = opened + 2_200_000 + 50 * MS;
        let first = second + 50_048_000;
        let expected = [ack(second, first, 2), ack(second + 32_000, first + 40_000, 3)];
        assert_eq!(events(|event| matches!(event, Event::Ack(_))), expected);
        // The window is open, then the first ACK comes, then the second, less than a millisecond after it.
        let times: Vec<u64> =
            events(|event| matches!(event, Event::Metrics(_))).iter().map(|e| e.0).collect();
        assert_eq!(times, [opened, first, first + MS]);
    }

    #[test]
    fn an_ack_echoes_the_segment_that_last_moved_the_left_edge() {
        // RFC 7323 section 4.3: a segment out of order does not change what is echoed, one that fills a hole does.
        let flow = recorded(
            "rate = \"10 Mbit/s\"\nbuffer = \"10 packets\"",
            "profile = \"linux\"\nsize = \"300 KB\"\nreceiver = \"ack-every-packet\"",
        );
        let mut sent = vec![];
        let (mut next, mut echo) = (0, 0);
        let (mut duplicates, mut filled) = (0, 0);
        for (at, event) in &flow.events {
            match event {
                Event::Data(data) if data.again => sent[data.segment as usize] = *at,
                Event::Data(_) => sent.push(*at),
                Event::Ack(ack) => {
                    if ack.next > next {
                        // In order, or into a hole: either way it is the segment at the edge that arrived.
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
