//! Time series of flows, recorded by an observer of the simulator.

use std::collections::VecDeque;

use firstflight_contract::Rate;
use firstflight_net::link::Passage;
use firstflight_net::serialisation::transmission;
use firstflight_results::Series;
use firstflight_sim::config::{LinkConfig, Network};
use firstflight_sim::observe::{Kind, Observer, Seen};
use firstflight_sim::outcome::Outcome;
use firstflight_sim::sender::Sender;

/// Most points of the series of one flow. At this number every other point is dropped and the spacing doubled.
const MOST_POINTS: usize = 20_000;
/// Most points of the series of all flows together, as long as each flow has at least [`FEWEST_POINTS`].
const MOST_POINTS_OF_ALL: usize = 200_000;
const FEWEST_POINTS: usize = 100;

/// One flow over time, and the events at the first link. Times are seconds since the flow's start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traced {
    /// Time series of the flow.
    pub(crate) series: Series,
    /// Times at which packets of the flow were dropped or lost.
    pub(crate) losses_s: Vec<f64>,
    /// Times at which packets of the flow were retransmitted.
    pub(crate) retransmits_s: Vec<f64>,
}

/// Most points of each of `flows` flows.
pub(crate) fn most_points(flows: usize) -> usize {
    (MOST_POINTS_OF_ALL / flows.max(1)).clamp(FEWEST_POINTS, MOST_POINTS)
}

/// Observer that records flows over time, and the queue of the first link. Calls must come in order of time: `Mode::PerHop`.
#[derive(Clone)]
pub(crate) struct SeriesRecorder {
    /// Number of the first recorded flow; the others follow it.
    first: u32,
    flows: Vec<Recorded>,
    /// Most points of each flow.
    most: usize,
    /// Rate of the first link; `None` if it varies.
    rate: Option<Rate>,
    /// End of the last transmission.
    free_at: u64,
    delay: u64,
    /// Times at which the transmissions of the waiting packets begin.
    waiting: VecDeque<u64>,
    /// Number of waiting packets, where the link has a dequeue-time queue.
    at_dequeue: u32,
}

/// One flow while it is recorded.
#[derive(Clone, Default)]
struct Recorded {
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

impl Recorded {
    fn add(&mut self, point: Point, most: usize) {
        self.points.push(point);
        if self.points.len() >= most {
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            let span = point.at - self.points[0].at;
            self.spacing = 2 * span / most as u64;
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

impl SeriesRecorder {
    /// Records one flow of the network.
    pub(crate) fn of_flow(network: &Network, flow: u32) -> Self {
        Self::new(&network.links[0], flow, 1, MOST_POINTS)
    }

    /// Records every flow of the network.
    pub(crate) fn of_all(network: &Network) -> Self {
        let flows = network.flows.len();
        Self::new(&network.links[0], 0, flows as u32, most_points(flows))
    }

    /// The recorded flows of a run with this outcome.
    pub(crate) fn finish(self, outcome: &Outcome) -> Vec<Traced> {
        let recorded = outcome.flows[self.first as usize..].iter().zip(self.flows);
        recorded.map(|(flow, recorded)| recorded.finish(flow.start.unwrap_or(0))).collect()
    }

    fn new(link: &LinkConfig, first: u32, count: u32, most: usize) -> Self {
        Self {
            first,
            flows: (0..count).map(|_| Recorded::default()).collect(),
            most,
            rate: link.trace.is_none().then_some(link.rate),
            free_at: 0,
            delay: link.delay.0,
            waiting: VecDeque::new(),
            at_dequeue: 0,
        }
    }

    /// The record of a flow, if the flow is recorded.
    fn recorded(&mut self, flow: u32) -> Option<&mut Recorded> {
        self.flows.get_mut(flow.checked_sub(self.first)? as usize)
    }

    fn note_loss(&mut self, at: u64, packet: Seen, passage: Passage) {
        let lost = matches!(passage, Passage::Dropped | Passage::LostOnWire);
        if lost
            && packet.kind == Kind::Data
            && let Some(recorded) = self.recorded(packet.flow)
        {
            recorded.losses.push(at);
        }
    }

    fn forget_started(&mut self, now: u64) {
        while self.waiting.front().is_some_and(|&start| start <= now) {
            self.waiting.pop_front();
        }
    }
}

impl Observer for SeriesRecorder {
    const ON: bool = true;

    fn sent(&mut self, at: u64, packet: Seen, retransmission: bool) {
        if retransmission
            && packet.kind == Kind::Data
            && let Some(recorded) = self.recorded(packet.flow)
        {
            recorded.retransmits.push(at);
        }
    }

    fn offered(&mut self, at: u64, link: u32, packet: Seen, passage: Passage) {
        self.note_loss(at, packet, passage);
        let (0, Passage::Arrives(arrival) | Passage::Marked(arrival)) = (link, passage) else { return };
        let end = arrival - self.delay;
        let start = match self.rate {
            Some(rate) => end - transmission(rate, packet.size),
            None => self.free_at.max(at),
        };
        self.free_at = end;
        self.forget_started(at);
        if start > at {
            self.waiting.push_back(start);
        }
    }

    fn queued(&mut self, _at: u64, link: u32, _packet: Seen) {
        self.at_dequeue += u32::from(link == 0);
    }

    fn left(&mut self, at: u64, link: u32, packet: Seen, _since: u64, passage: Passage) {
        self.at_dequeue -= u32::from(link == 0);
        self.note_loss(at, packet, passage);
    }

    fn acted(&mut self, at: u64, flow: u32, sender: &Sender) {
        let most = self.most;
        let Some(recorded) = self.recorded(flow) else { return };
        if recorded.points.last().is_some_and(|last| at < last.at + recorded.spacing) {
            return;
        }
        self.forget_started(at);
        let queue = self.waiting.len() as f64 + f64::from(self.at_dequeue);
        let info = sender.info();
        let arrived =
            sender.app().bytes_in(sender.acked(), sender.mss()) + u64::from(info.sacked) * sender.mss();
        let point = Point {
            at,
            cwnd: info.cwnd,
            ssthresh: info.ssthresh,
            in_flight: info.in_flight.into(),
            queue,
            delivered: arrived as f64,
        };
        if let Some(recorded) = self.recorded(flow) {
            recorded.add(point, most);
        }
    }
}
