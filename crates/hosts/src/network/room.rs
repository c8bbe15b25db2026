//! The memory of a run: room for the traffic that is drawn when the run is built, and the estimate of the whole run.
//!
//! The constants were measured as peak resident memory, see `docs/reliability.md`, and rounded up. Those of what results
//! list cover its tables.

use std::collections::BTreeSet;

use firstflight_contract::{Nanos, Rate};
use firstflight_scenario::{FlowGroup, Interval, Network as Topology, Scenario, Source, UdpSource};
use firstflight_sim::config::{FlowConfig, LinkConfig, QueueConfig};

use super::wires::limit_packets;
use super::{Built, place};
use crate::host::{Observe, Refusal};
use crate::memory::{self, Estimate, READING};
use crate::trace::most_points;

/// A connection without its path, bytes: its ends and its results.
pub(super) const CONNECTION: u64 = ENDS + RESULT;
/// A write of an application after its first, with its results, bytes.
pub(super) const WRITE: u64 = 100;
/// An on-period of a UDP source, bytes.
pub(super) const PERIOD: u64 = 48;
/// The two ends of a connection, bytes: those of QUIC with the largest start-up scheme.
const ENDS: u64 = 6_000;
/// Results of a connection, bytes.
const RESULT: u64 = 2_000;
/// A link on the path of a connection, bytes: its leg, and its feed of packets.
const HOP: u64 = 300;
/// A link, bytes, and its results.
const LINK: u64 = 2_000;
const LINK_RESULT: u64 = 1_000;
/// A flow queue of FQ-CoDel, bytes.
const FLOW_QUEUE: u64 = 150;
/// A packet in flight, bytes: in queues, and in the records of its sender and its receiver.
const IN_FLIGHT: u64 = 200;
/// A time at which deliveries are recorded, bytes.
pub(crate) const DELIVERY: u64 = 128;
/// A point of a time series, bytes.
const POINT: u64 = 450;
/// A sent packet that is recorded, with its ACK, bytes.
pub(crate) const RECORDED: u64 = 250;

/// Room for traffic that is drawn.
pub(super) struct Room {
    left: u64,
    limit: u64,
    out: bool,
}

impl Room {
    /// Room for `limit` bytes.
    pub(super) fn of(limit: u64) -> Self {
        Self { left: limit, limit, out: false }
    }

    /// Takes `bytes`; whether they were there. Nothing can be taken after that failed.
    pub(super) fn take(&mut self, bytes: u64) -> bool {
        self.out |= bytes > self.left;
        self.left = self.left.saturating_sub(bytes);
        !self.out
    }

    /// # Errors
    /// [`Refusal`] of `key` if `bytes`, the mean of what is to be drawn, do not fit.
    pub(super) fn foresee(&self, bytes: f64, key: impl FnOnce() -> String) -> Result<(), Refusal> {
        match bytes > self.left as f64 {
            true => Err(memory::refusal(&key(), &format!("{} of memory", memory::size(bytes)), self.limit)),
            false => Ok(()),
        }
    }

    /// # Errors
    /// [`Refusal`] of `key` if there was not enough room.
    pub(super) fn check(&self, key: impl FnOnce() -> String) -> Result<(), Refusal> {
        match self.out {
            true => Err(memory::refusal(&key(), "more memory than the limit", self.limit)),
            false => Ok(()),
        }
    }
}

/// Mean memory of the connections and writes of a group in a run that ends at `end`.
pub(super) fn mean_of_group(group: &FlowGroup, end: Nanos) -> f64 {
    let connections = group.expected(Some(end));
    let writes = match group.source {
        Source::Flow => group.rounds.map_or(0.0, |rounds| f64::from(rounds.count) - 1.0),
        Source::Telnet(Interval::Tcplib) => 0.0,
        Source::Telnet(Interval::Law(law)) => {
            let lasts = group.lifetime.map_or(f64::INFINITY, |lifetime| lifetime.mean());
            lasts.min(end.0 as f64) / law.mean().max(1.0)
        }
        Source::Web(pages) if pages.persistent => f64::from(pages.pages) * pages.objects.mean(),
        Source::Web(_) => 0.0,
    };
    connections * (CONNECTION as f64 + writes * WRITE as f64)
}

/// Mean memory of the on-periods of a source in a run that ends at `end`.
pub(super) fn mean_of_periods(source: &UdpSource, end: Nanos) -> f64 {
    let cycle = source.on_off.map_or(f64::INFINITY, |on_off| on_off.on.mean() + on_off.off.mean());
    end.0 as f64 / cycle.max(1.0) * PERIOD as f64
}

/// Key that makes the connections and the writes of a group many.
pub(super) fn key_of_many(scenario: &Scenario, index: usize) -> String {
    let group = &scenario.flows[index];
    let key = match group.source {
        Source::Flow if group.rounds.is_some() => "rounds",
        Source::Flow if group.parallel > 1 => "parallel",
        Source::Flow => "count",
        Source::Telnet(_) => "interval",
        Source::Web(_) => "objects",
    };
    format!("{}.{key}", place(scenario, index))
}

/// Estimated memory of a run. Without a duration the end of the run is unknown: neither the deliveries nor the recorded packets
/// of connections that write without end are part of the estimate.
pub(crate) fn estimate(scenario: &Scenario, built: &Built, observe: &Observe) -> Estimate {
    let mut estimate = Estimate::default();
    connections(scenario, built, &mut estimate);
    links(scenario, built, observe, &mut estimate);
    in_flight(scenario, built, &mut estimate);
    let flows = built.network.flows.len();
    if scenario.duration.is_some() {
        let deliveries = built.network.flows.iter().map(|flow| deliveries(built, flow)).sum::<f64>();
        // Deliveries at the usual times are many only because the run is long.
        let key = if observe.grid == Observe::default().grid { "duration" } else { "grid" };
        estimate.add(key, 0.0, deliveries * DELIVERY as f64);
    }
    if observe.samples {
        estimate.add("samples", (most_points(flows) * flows) as f64 * POINT as f64, 0.0);
    }
    if observe.flow.is_some() {
        estimate.add("samples", most_points(1) as f64 * POINT as f64, 0.0);
    }
    if observe.packets {
        let sent = sent(scenario, built);
        estimate.add("trace", sent * RECORDED as f64, 0.0);
    }
    estimate
}

fn connections(scenario: &Scenario, built: &Built, estimate: &mut Estimate) {
    let mut groups = vec![(0.0, 0.0); scenario.flows.len()];
    for (flow, &group) in built.network.flows.iter().zip(&built.group) {
        let hops = (flow.forward.len() + flow.reverse.len()) as u64;
        let (working, kept): &mut (f64, f64) = &mut groups[group];
        *working += (ENDS + HOP * hops) as f64;
        *kept += (RESULT + WRITE * flow.app.pauses.len() as u64) as f64;
    }
    for (index, (working, kept)) in groups.into_iter().enumerate() {
        estimate.add(key_of_many(scenario, index), working, kept);
    }
    for (index, source) in built.network.udp.iter().enumerate() {
        let bytes = ENDS + PERIOD * source.on.len() as u64 + HOP * source.path.len() as u64;
        estimate.add(format!("udp[{index}].on_off"), bytes as f64, 0.0);
    }
}

fn links(scenario: &Scenario, built: &Built, observe: &Observe, estimate: &mut Estimate) {
    let named = || built.named_links.iter().map(|&index| &built.network.links[index]);
    let queues = |link: &LinkConfig| match link.queue {
        QueueConfig::FqCodel(fq) => u64::from(fq.flows),
        _ => 0,
    };
    let queues: u64 = named().map(queues).sum();
    estimate.add(format!("{}.queue", table(scenario)), (queues * FLOW_QUEUE) as f64, 0.0);
    let count = built.named_links.len() as f64;
    estimate.add("link", count * LINK as f64, count * LINK_RESULT as f64);
    let read = named().filter(|link| observe.links.includes(&link.name)).count();
    let readings = read as f64 * observe.links.times.len() as f64;
    estimate.add("readings", 0.0, readings * READING as f64);
}

/// Table of the file that holds the links.
fn table(scenario: &Scenario) -> &'static str {
    match scenario.network {
        Topology::Dumbbell(_) => "path",
        Topology::Graph(_) => "link",
    }
}

/// Packets in flight: what windows, sizes, buffers and the time of the run allow, whichever is least. Slow start may exceed
/// a path twofold before a loss is known.
fn in_flight(scenario: &Scenario, built: &Built, estimate: &mut Estimate) {
    let network = &built.network;
    let size = f64::from(scenario.packet.size);
    let (mut first, mut by_ends) = (0.0, 0.0);
    let mut longest = Nanos::ZERO;
    for (index, flow) in network.flows.iter().enumerate() {
        let window = f64::from(flow.stack.receive_window.limit).min(packets_of(flow));
        let initial = f64::from(flow.stack.initial_window).min(window);
        first += initial;
        by_ends += window.min(initial + 2.0 * (built.bdp[index] + built.buffer[index]));
        let path = flow.forward.iter().chain(&flow.reverse);
        longest = longest.max(Nanos(path.map(|&link| network.links[link].longest_delay().0).sum()));
    }
    let named = || built.named_links.iter().map(|&index| &network.links[index]);
    let holds = |link: &LinkConfig| limit_packets(link, size) + link.rate.bytes_in(longest) as f64 / size;
    let by_links = first + 2.0 * named().map(holds).sum::<f64>();
    // An acknowledged packet releases two at most.
    let by_time = first + 2.0 * named().map(|link| carried(built, link, size)).sum::<f64>();
    let tcp = by_ends.min(by_links).min(by_time);
    let udp: f64 = network
        .udp
        .iter()
        .map(|source| {
            let on: u64 = source.on.iter().map(|(from, until)| until.0 - from.0).sum();
            let offered = source.rate.0 as f64 / 8e9 * on as f64 / f64::from(source.size);
            let held = |&link: &usize| {
                let link = &network.links[link];
                limit_packets(link, size)
                    + link.rate.bytes_in(link.longest_delay()) as f64 / f64::from(source.size)
            };
            offered.min(source.path.iter().map(held).sum::<f64>())
        })
        .sum();
    estimate.add(format!("{}.buffer", table(scenario)), (tcp + udp) * IN_FLIGHT as f64, 0.0);
}

/// Packets that a link can carry until the end of the run.
fn carried(built: &Built, link: &LinkConfig, size: f64) -> f64 {
    let bytes = |rate: Rate| rate.0 as f64 / 8e9 * built.network.end.0 as f64;
    // No other queue passes less than the link carries.
    let policer = match link.queue {
        QueueConfig::Policer(bucket, _) => Some(bucket),
        _ => None,
    };
    let passed = policer.iter().chain(&link.shaper).map(|bucket| bucket.burst as f64 + bytes(bucket.rate));
    passed.fold(bytes(link.rate), f64::min) / size
}

/// Packets that a connection's application writes; infinite if it never ends.
fn packets_of(flow: &FlowConfig) -> f64 {
    let Some(first) = flow.app.bytes else { return f64::INFINITY };
    let mss = f64::from(flow.stack.mss);
    let packets = |bytes: u64| (bytes as f64 / mss).ceil();
    let later: f64 = match flow.app.sizes.is_empty() {
        true => packets(first) * flow.app.pauses.len() as f64,
        false => flow.app.sizes.iter().map(|&bytes| packets(bytes)).sum(),
    };
    packets(first) + later
}

/// Times at which the deliveries of a flow are recorded.
fn deliveries(built: &Built, flow: &FlowConfig) -> f64 {
    (built.network.end.0.saturating_sub(flow.app.start) / built.network.grid.0) as f64
}

/// Data packets that all connections send, where that can be known: what they write or the links can carry, with a quarter for
/// retransmissions.
fn sent(scenario: &Scenario, built: &Built) -> f64 {
    let known = |packets: &f64| scenario.duration.is_some() || packets.is_finite();
    let written: f64 = built.network.flows.iter().map(packets_of).filter(known).sum();
    let size = f64::from(scenario.packet.size);
    // Flows over the same narrowest link share it.
    let narrowest =
        |flow: &FlowConfig| flow.forward.iter().copied().min_by_key(|&link| built.network.links[link].rate);
    let narrow: BTreeSet<usize> = built.network.flows.iter().filter_map(narrowest).collect();
    let carried: f64 = narrow.iter().map(|&link| carried(built, &built.network.links[link], size)).sum();
    1.25 * written.min(carried)
}
