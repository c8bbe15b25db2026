//! One flow over time, seen by an observer of the simulator.

use std::collections::VecDeque;

use firstflight_net::link::Passage;
use firstflight_sim::config::{LinkConfig, Network};
use firstflight_sim::engine::Mode;
use firstflight_sim::observe::{Kind, Observer, Seen};
use firstflight_sim::outcome::{Outcome, simulate_observed};
use firstflight_sim::sender::Sender;

use firstflight_results::Series;

/// Points a series holds before every other one is dropped and the spacing doubled.
const MOST_POINTS: usize = 20_000;

/// What one flow did, with what happened at the first link.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traced {
    /// The series, times since the flow's start.
    pub(crate) series: Series,
    /// When packets of the flow were dropped or lost.
    pub(crate) losses_s: Vec<f64>,
    /// When packets of the flow were sent again.
    pub(crate) retransmits_s: Vec<f64>,
}

/// Simulates `network` and records one of its flows, and the queue of its first link.
pub(crate) fn simulate_traced(network: &Network, flow: u32) -> (Outcome, Traced) {
    // One event a hop: everything comes in order of time.
    let recorder = Recorder::new(&network.links[0], flow);
    let (outcome, recorder) = simulate_observed(network, Mode::PerHop, recorder);
    let start = outcome.flows[flow as usize].start.unwrap_or(0);
    (outcome, recorder.finish(start))
}

struct Recorder {
    /// The flow that is recorded.
    flow: u32,
    /// At a constant rate.
    serialisation_ns_per_byte: Option<f64>,
    /// When the last transmission ends.
    free_at: u64,
    delay: u64,
    /// When the packets that wait at the link will begin to be transmitted.
    waiting: VecDeque<u64>,
    /// How many wait, where the link holds its packets.
    held: u32,
    spacing: u64,
    points: Vec<Point>,
    losses: Vec<u64>,
    retransmits: Vec<u64>,
}

#[derive(Clone, Copy)]
struct Point {
    at: u64,
    cwnd: f64,
    ssthresh: Option<f64>,
    in_flight: f64,
    queue: f64,
    delivered: f64,
}

impl Recorder {
    fn new(link: &LinkConfig, flow: u32) -> Self {
        Self {
            flow,
            serialisation_ns_per_byte: link.trace.is_none().then_some(8e9 / link.rate.0 as f64),
            free_at: 0,
            delay: link.delay.0,
            waiting: VecDeque::new(),
            held: 0,
            spacing: 0,
            points: vec![],
            losses: vec![],
            retransmits: vec![],
        }
    }

    fn forget_started(&mut self, now: u64) {
        while self.waiting.front().is_some_and(|&start| start <= now) {
            self.waiting.pop_front();
        }
    }

    fn finish(self, start: u64) -> Traced {
        let since = |at: u64| at.saturating_sub(start) as f64 * 1e-9;
        let column = |value: fn(&Point) -> f64| self.points.iter().map(value).collect();
        let times = |all: &[u64]| all.iter().map(|&at| since(at)).collect();
        Traced {
            series: Series {
                time_s: self.points.iter().map(|point| since(point.at)).collect(),
                cwnd_packets: column(|p| p.cwnd),
                ssthresh_packets: self.points.iter().map(|point| point.ssthresh).collect(),
                in_flight_packets: column(|p| p.in_flight),
                queue_packets: column(|p| p.queue),
                delivered_bytes: column(|p| p.delivered),
            },
            losses_s: times(&self.losses),
            retransmits_s: times(&self.retransmits),
        }
    }
}

impl Observer for Recorder {
    const ON: bool = true;

    fn sent(&mut self, at: u64, packet: Seen, retransmission: bool) {
        if retransmission && packet.flow == self.flow && packet.kind == Kind::Data {
            self.retransmits.push(at);
        }
    }

    fn offered(&mut self, at: u64, link: u32, packet: Seen, passage: Passage) {
        let lost = matches!(passage, Passage::Dropped | Passage::LostOnWire);
        if lost && packet.flow == self.flow && packet.kind == Kind::Data {
            self.losses.push(at);
        }
        let (0, Passage::Arrives(arrival) | Passage::Marked(arrival)) = (link, passage) else { return };
        let end = arrival - self.delay;
        let start = match self.serialisation_ns_per_byte {
            Some(per_byte) => end - (f64::from(packet.size) * per_byte).round() as u64,
            None => self.free_at.max(at),
        };
        self.free_at = end;
        self.forget_started(at);
        if start > at {
            self.waiting.push_back(start);
        }
    }

    fn queued(&mut self, _at: u64, link: u32, _packet: Seen) {
        self.held += u32::from(link == 0);
    }

    fn left(&mut self, at: u64, link: u32, packet: Seen, _since: u64, passage: Passage) {
        self.held -= u32::from(link == 0);
        let lost = matches!(passage, Passage::Dropped | Passage::LostOnWire);
        if lost && packet.flow == self.flow && packet.kind == Kind::Data {
            self.losses.push(at);
        }
    }

    fn acted(&mut self, at: u64, flow: u32, sender: &Sender) {
        if flow != self.flow || self.points.last().is_some_and(|last| at < last.at + self.spacing) {
            return;
        }
        self.forget_started(at);
        let info = sender.info();
        let arrived =
            sender.app().bytes_in(sender.acked(), sender.mss()) + u64::from(info.sacked) * sender.mss();
        self.points.push(Point {
            at,
            cwnd: info.cwnd,
            ssthresh: info.ssthresh,
            in_flight: info.in_flight.into(),
            queue: self.waiting.len() as f64 + f64::from(self.held),
            delivered: arrived as f64,
        });
        if self.points.len() >= MOST_POINTS {
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            let span = at - self.points[0].at;
            self.spacing = 2 * span / MOST_POINTS as u64;
        }
    }
}
