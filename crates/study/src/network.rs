//! From a scenario to what the simulator runs: random draws made, paths found, units turned into the engine's.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use firstflight_control::contract::Signals;
use firstflight_control::host::chain::Chain;
use firstflight_control::units::{Nanos, Rate};
use firstflight_net::queue::red::RedConfig;
use firstflight_net::random::Stream;
use firstflight_net::trace::Trace;
use firstflight_scenario as scenario;
use firstflight_scenario::{
    Dist, Endpoints, FlowGroup, Graph, Limit, LinkTrace, Profile, Queue, Scenario, Schedule, Start,
};
use firstflight_sim::config::{FlowConfig, LinkConfig, Network, QueueConfig, UdpConfig};
use firstflight_sim::dumbbell::{Dumbbell, Paths};
use firstflight_sim::receiver::AckPolicy;
use firstflight_sim::sender::Sender;
use firstflight_sim::sender::app::AppConfig;
use firstflight_sim::sender::rto::RtoConfig;
use firstflight_sim::sender::stack::{IdleRestart, ReceiveWindow, Recovery, Stack};

use crate::draw::{draw, draw_time};
use crate::sharing;

/// A run without a duration ends here, whatever is left: a connection whose path is dead retries for ever.
const LONGEST: Nanos = Nanos::from_secs(4 * 3600);

/// A receive window of no limit, in segments: beyond what a SACK block can say.
const UNLIMITED_WINDOW: u64 = 1_000_000;

/// Segments that Linux acknowledges at once at the start in any case: 16 (`TCP_MAX_QUICKACKS`).
const LINUX_QUICK_ACKS: u32 = 16;

/// What the simulator cannot do of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The key that asks for it: `flow[0].startup`.
    pub key: String,
    /// Why it cannot be had, in full.
    pub why: String,
}

/// A scenario as the simulator runs it.
#[derive(Clone, Debug)]
pub struct Built {
    /// What is simulated.
    pub network: Network,
    /// For each flow of the network, the index of its group in the scenario.
    pub group: Vec<usize>,
    /// For each flow, the label of its chain of schemes.
    pub scheme: Vec<String>,
    /// For each flow, its payload bytes; `None` is unlimited.
    pub size: Vec<Option<u64>>,
    /// For each flow, the bandwidth-delay product of its path in segments.
    pub bdp: Vec<f64>,
    /// For each flow, the packets its path holds beside the BDP: the smallest queue limit's.
    pub buffer: Vec<f64>,
    /// The links results speak of: those of the scenario, not the access links of flows.
    pub named_links: Vec<usize>,
}

/// Builds one run of `scenario` under `seed`.
///
/// # Errors
/// [`Refusal`] if a flow asks for what the simulator does not have.
pub fn build(scenario: &Scenario, seed: u64, grid: Nanos) -> Result<Built, Refusal> {
    let mut wires = Wires::new(scenario);
    let ecn = wires.marks();
    let mut built = Built {
        network: Network {
            links: vec![],
            flows: vec![],
            udp: vec![],
            seed,
            end: scenario.duration.unwrap_or(LONGEST),
            until_finished: scenario.duration.is_none(),
            grid,
        },
        group: vec![],
        scheme: vec![],
        size: vec![],
        bdp: vec![],
        buffer: vec![],
        named_links: vec![],
    };
    sharing::check(&scenario.flows)?;
    for (index, group) in scenario.flows.iter().enumerate() {
        check(group, index)?;
        let starts = starts(group, seed);
        for (number, start) in (0..group.count).zip(starts) {
            let name = group.flow_name(number);
            let flow = flow(scenario, group, &name, start, seed, ecn, &mut wires);
            built.size.push(flow.app.bytes);
            built.group.push(index);
            built.scheme.push(group.scheme.label());
            let (bdp, buffer) = wires.capacity(&flow.forward, &flow.reverse, scenario.packet.size);
            built.bdp.push(bdp);
            built.buffer.push(buffer);
            built.network.flows.push(flow);
        }
    }
    for source in &scenario.udp {
        let path = wires.bare_path(source.endpoints);
        let on = on_periods(
            source,
            built.network.end,
            &mut Stream::named(seed, &format!("on-off {}", source.name)),
        );
        let size = scenario.packet.size as u16;
        built.network.udp.push(UdpConfig { name: source.name.clone(), path, size, rate: source.rate, on });
    }
    built.named_links = (0..wires.named).collect();
    built.network.links = wires.links;
    Ok(built)
}

/// Refuses what a group asks for and the simulator does not have.
fn check(group: &FlowGroup, index: usize) -> Result<(), Refusal> {
    let refuse = |key: &str, why: String| Err(Refusal { key: format!("flow[{index}].{key}"), why });
    let needs = chain(group).needs();
    let label = group.scheme.label();
    if needs.has(Signals::HANDSHAKE) && !group.handshake {
        let why =
            format!("{label} needs the RTT of a handshake, and this flow has none; set handshake = true");
        return refuse("startup", why);
    }
    let rack = stack(group, 1000, 0, false).recovery.is_rack();
    if needs.has(Signals::RATE) && !rack {
        let why = format!(
            "{label} needs delivery-rate samples, which only senders of profile linux take, with recovery sack or newreno"
        );
        return refuse("startup", why);
    }
    let sharing = group.profile == Profile::Rfc && group.recovery == scenario::Recovery::Sack;
    if needs.has(Signals::SHARED_WINDOW) && !sharing {
        let why = format!(
            "{label} shares its window with other connections, which the simulator does under profile rfc with recovery sack"
        );
        return refuse("startup", why);
    }
    let missing = needs.missing_from(Sender::OFFERED.and(Signals::SHARED_WINDOW).and(Signals::PLAN));
    if missing != Signals::NONE {
        let names: Vec<_> = missing.names().collect();
        let why = format!("{label} needs {}, which the simulator does not have", names.join(" and "));
        return refuse("startup", why);
    }
    if group.receiver_reads != scenario::Reads::Eager {
        return refuse("receiver_reads", "the simulator's receiving application reads eagerly".into());
    }
    Ok(())
}

/// The chain of a group's schemes, ready to start.
fn chain(group: &FlowGroup) -> Chain {
    let phases = group.scheme.build_in(group.profile.stack());
    Chain::new(phases).expect("a scheme read from a scenario makes a chain")
}

fn flow(
    scenario: &Scenario,
    group: &FlowGroup,
    name: &str,
    start: Nanos,
    seed: u64,
    ecn: bool,
    wires: &mut Wires<'_>,
) -> FlowConfig {
    let stream = |what: &str| Stream::named(seed, &format!("{what} {name}"));
    let extra = draw_time(group.extra_rtt, &mut stream("extra-rtt"));
    let paths = wires.attach(name, group.endpoints, extra);
    let mss = scenario.packet.payload(group.profile);
    let header = group.profile.stack().header;
    // ns-2's clock ticks at a random moment of each connection.
    let phase = draw(Dist::Uniform(0, group.rto_granularity.0.saturating_sub(1)), &mut stream("clock"));
    FlowConfig {
        name: name.into(),
        forward: paths.forward,
        reverse: paths.reverse,
        stack: stack(group, mss, phase, ecn),
        chain: chain(group),
        sharing: sharing::sharing(&scenario.flows, group),
        app: AppConfig {
            start: start.0,
            bytes: group.size.map(|size| draw(size, &mut stream("size")).max(1)),
            pauses: pauses(group, &mut stream("idle")),
            lifetime: group.lifetime.map(|lifetime| draw_time(lifetime, &mut stream("lifetime")).0),
        },
        header,
        ack_size: scenario.packet.ack(group.profile) as u16,
        ack_policy: ack_policy(group, mss),
    }
}

/// The idle times between the transfers of one connection.
fn pauses(group: &FlowGroup, stream: &mut Stream) -> Vec<u64> {
    let Some(rounds) = group.rounds else { return vec![] };
    let longest = rounds.idle.saturating_add(rounds.jitter);
    (1..rounds.count).map(|_| draw_time(Dist::Uniform(rounds.idle, longest), stream).0).collect()
}

fn stack(group: &FlowGroup, mss: u32, phase: u64, ecn: bool) -> Stack {
    let (ns2, linux) = (group.profile == Profile::Ns2, group.profile == Profile::Linux);
    // Clocks of a millisecond or finer are as good as exact beside any timeout.
    let coarse = group.rto_granularity > Nanos::from_millis(1);
    Stack {
        mss,
        recovery: match group.recovery {
            scenario::Recovery::Tahoe => Recovery::Tahoe,
            scenario::Recovery::Reno => Recovery::Reno,
            scenario::Recovery::Sack if linux => Recovery::Rack { sack: true },
            scenario::Recovery::NewReno if linux => Recovery::Rack { sack: false },
            scenario::Recovery::NewReno => Recovery::NewReno,
            scenario::Recovery::Sack => Recovery::Sack,
        },
        ns2,
        initial_window: segments(group.initial_window, mss),
        initial_ssthresh: group.initial_ssthresh.map(|bytes| segments(bytes, mss)),
        receive_window: receive_window(group, mss),
        growth_per_ack: match group.growth {
            scenario::Growth::PerAck => 1,
            scenario::Growth::ByteCounting => 2,
            scenario::Growth::AllAcked => u32::MAX,
        },
        grow_only_when_limited: !ns2,
        decrease_from_window: group.profile != Profile::Rfc,
        limited_transmit: group.limited_transmit,
        rtt_per_ack: !ns2,
        timestamps: linux,
        rto: RtoConfig {
            // RFC 6298 (2.1): 1 s; ns-2: rtxcur_init_ 3.0.
            initial: Nanos::from_secs(if ns2 { 3 } else { 1 }).0,
            min: group.min_rto.0,
            max: Nanos::from_secs(if linux { 120 } else { 60 }).0,
            granularity: if coarse || linux { group.rto_granularity.0 } else { 1 },
            phase: if coarse && !linux { phase } else { 0 },
        },
        idle_restart: match group.idle_restart {
            scenario::IdleRestart::Restart => IdleRestart::Restart,
            scenario::IdleRestart::Keep => IdleRestart::Keep,
        },
        ecn,
        handshake: group.handshake,
    }
}

/// What the receiver offers, in segments of `mss` bytes.
fn receive_window(group: &FlowGroup, mss: u32) -> ReceiveWindow {
    let limit = segments(group.receive_window.unwrap_or(u64::MAX), mss);
    ReceiveWindow { first: group.initial_receive_window.map_or(limit, |first| segments(first, mss)), limit }
}

/// Whole segments in a window.
fn segments(bytes: u64, mss: u32) -> u32 {
    (bytes / u64::from(mss)).clamp(1, UNLIMITED_WINDOW) as u32
}

fn ack_policy(group: &FlowGroup, mss: u32) -> AckPolicy {
    let timer = group.delayed_ack_timer.0;
    match group.receiver {
        scenario::Receiver::AckEveryPacket => AckPolicy { every: 1, quick: 0, timer },
        // ns-2's DelAck sink acknowledges the very first packet at once.
        scenario::Receiver::Delayed => {
            AckPolicy { every: 2, quick: u32::from(group.profile == Profile::Ns2), timer }
        }
        scenario::Receiver::QuickAckThenDelayed => {
            // Every segment that opens the window is acknowledged at once (`tcp_grow_window` sets `quick`).
            let quick = receive_window(group, mss).opening().max(LINUX_QUICK_ACKS);
            AckPolicy { every: 2, quick, timer }
        }
    }
}

/// When the flows of a group start, in their order.
fn starts(group: &FlowGroup, seed: u64) -> Vec<Nanos> {
    let mut stream = Stream::named(seed, &format!("start {}", group.name));
    let mut clock = Nanos::ZERO;
    (0..u64::from(group.count))
        .map(|i| match group.start {
            Start::At(at) => at,
            Start::Every(gap) => Nanos(gap.0.saturating_mul(i)),
            Start::Exponential(mean) => {
                clock = clock.saturating_add(draw_time(Dist::Exponential(mean), &mut stream));
                clock
            }
            Start::Uniform(from, until) => draw_time(Dist::Uniform(from, until), &mut stream),
        })
        .collect()
}

fn on_periods(source: &scenario::UdpSource, end: Nanos, stream: &mut Stream) -> Vec<(Nanos, Nanos)> {
    let Some(on_off) = source.on_off else { return vec![(source.start, end)] };
    let mut periods = vec![];
    let mut at = source.start;
    while at < end {
        let until = at.saturating_add(draw_time(on_off.on, stream).max(Nanos(1)));
        periods.push((at, until.min(end)));
        at = until.saturating_add(draw_time(on_off.off, stream).max(Nanos(1)));
    }
    periods
}

/// The links of a run, and how flows reach them.
struct Wires<'a> {
    links: Vec<LinkConfig>,
    /// How many of them the scenario names; access links follow.
    named: usize,
    kind: Kind<'a>,
    packet: u32,
}

enum Kind<'a> {
    Dumbbell(&'a scenario::Path),
    Graph { graph: &'a Graph, routes: BTreeMap<(usize, usize), Vec<usize>> },
}

impl<'a> Wires<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let packet = scenario.packet.size;
        match &scenario.network {
            scenario::Network::Dumbbell(path) => {
                let queue = || queue(&path.queue, path.buffer, path.rate, packet);
                let mut links = Dumbbell::new(path.rate, path.access_rate, path.rtt, queue(), queue()).links;
                let trace = path.trace.as_ref().map(trace);
                for link in &mut links {
                    link.trace.clone_from(&trace);
                    link.loss = path.loss;
                }
                Self { named: links.len(), links, kind: Kind::Dumbbell(path), packet }
            }
            scenario::Network::Graph(graph) => {
                let links = graph.links.iter().map(|link| LinkConfig {
                    name: link.name.clone(),
                    rate: link.rate,
                    trace: link.trace.as_ref().map(trace),
                    delay: link.delay,
                    queue: queue(&link.queue, link.buffer, link.rate, packet),
                    loss: link.loss,
                });
                let links: Vec<_> = links.collect();
                let kind = Kind::Graph { graph, routes: BTreeMap::new() };
                Self { named: links.len(), links, kind, packet }
            }
        }
    }

    /// Whether any queue marks: then flows are ECN-capable.
    fn marks(&self) -> bool {
        self.links.iter().any(|link| matches!(link.queue, QueueConfig::Red(red) if red.ecn))
    }

    /// Gives a flow its access links; `extra` propagation is spread over them.
    fn attach(&mut self, name: &str, endpoints: Endpoints, extra: Nanos) -> Paths {
        match (&mut self.kind, endpoints) {
            (Kind::Dumbbell(path), Endpoints::Path(direction)) => {
                let mut dumbbell = Dumbbell::resume(std::mem::take(&mut self.links), path.access_rate);
                let paths = dumbbell.attach(name, path.rtt.saturating_add(extra));
                self.links = dumbbell.links;
                match direction {
                    scenario::Direction::Forward => paths,
                    scenario::Direction::Reverse => Paths { forward: paths.reverse, reverse: paths.forward },
                }
            }
            (Kind::Graph { graph, .. }, Endpoints::Nodes { from, to }) => {
                let rates = [graph.nodes[from].access_rate, graph.nodes[to].access_rate];
                let forward = self.bare_path(Endpoints::Nodes { from, to });
                let reverse = self.bare_path(Endpoints::Nodes { from: to, to: from });
                let quarter = Nanos(extra.0 / 4);
                let mut access = |side: &str, rate: Rate, delay: Nanos| {
                    let name = format!("{name}.{side}");
                    self.links.push(LinkConfig {
                        name,
                        rate,
                        trace: None,
                        delay,
                        queue: QueueConfig::Unlimited,
                        loss: 0.0,
                    });
                    self.links.len() - 1
                };
                let wrap = |first: usize, middle: Vec<usize>, last: usize| {
                    std::iter::once(first).chain(middle).chain([last]).collect()
                };
                let (a, b) = (access("in", rates[0], quarter), access("out", rates[1], quarter));
                let (c, d) = (access("back-in", rates[1], quarter), access("back-out", rates[0], quarter));
                Paths { forward: wrap(a, forward, b), reverse: wrap(c, reverse, d) }
            }
            _ => unreachable!("a scenario's endpoints are of its network's kind"),
        }
    }

    /// The scenario's links between two endpoints.
    fn bare_path(&mut self, endpoints: Endpoints) -> Vec<usize> {
        match (&mut self.kind, endpoints) {
            (Kind::Dumbbell(_), Endpoints::Path(scenario::Direction::Forward)) => vec![0],
            (Kind::Dumbbell(_), Endpoints::Path(scenario::Direction::Reverse)) => vec![1],
            (Kind::Graph { graph, routes }, Endpoints::Nodes { from, to }) => {
                routes.entry((from, to)).or_insert_with(|| fewest_hops(graph, from, to)).clone()
            }
            _ => unreachable!("a scenario's endpoints are of its network's kind"),
        }
    }

    /// The bandwidth-delay product of a path, and the packets that its narrowest queue holds.
    fn capacity(&self, forward: &[usize], reverse: &[usize], packet: u32) -> (f64, f64) {
        let delay = |path: &[usize]| path.iter().map(|&link| self.links[link].delay.0).sum::<u64>();
        let narrowest = forward.iter().min_by_key(|&&link| self.links[link].rate).expect("a path has links");
        let link = &self.links[*narrowest];
        let bdp = link.rate.bytes_in(Nanos(delay(forward) + delay(reverse))) as f64 / f64::from(packet);
        let buffer = match link.queue {
            QueueConfig::Unlimited => f64::INFINITY,
            QueueConfig::Packets(limit) => limit.into(),
            QueueConfig::Bytes(limit) => limit as f64 / f64::from(self.packet),
            QueueConfig::Red(red) => red.limit.into(),
        };
        (bdp, buffer)
    }
}

fn trace(trace: &LinkTrace) -> Arc<Trace> {
    Arc::new(match &*trace.schedule {
        Schedule::Opportunities(times) => {
            Trace::opportunities(times.iter().map(|ms| ms * 1_000_000).collect())
        }
        Schedule::Rates(steps) => Trace::rates(steps.iter().map(|(from, rate)| (from.0, rate.0)).collect()),
    })
}

fn queue(queue: &Queue, limit: Limit, rate: Rate, packet: u32) -> QueueConfig {
    let packets = |n: u64| n.min(u32::MAX.into()) as u32;
    match (queue, limit) {
        (Queue::DropTail, Limit::Packets(n)) => QueueConfig::Packets(packets(n)),
        (Queue::DropTail, Limit::Bytes(n)) => QueueConfig::Bytes(n),
        (Queue::Red(red), limit) => QueueConfig::Red(RedConfig {
            min: red.min,
            max: red.max,
            weight: red.weight,
            max_p: red.max_p,
            gentle: red.gentle,
            ecn: red.ecn,
            wait: true,
            limit: match limit {
                Limit::Packets(n) => packets(n),
                Limit::Bytes(n) => packets((n / u64::from(packet)).max(1)),
            },
            typical_ns: rate.time_for(packet.into()).0,
        }),
    }
}

/// The path of fewest links; of several, the one whose links come first in the file.
fn fewest_hops(graph: &Graph, from: usize, to: usize) -> Vec<usize> {
    let mut came_by: Vec<Option<usize>> = vec![None; graph.nodes.len()];
    let mut open = VecDeque::from([from]);
    while let Some(node) = open.pop_front() {
        for (index, link) in graph.links.iter().enumerate().filter(|(_, link)| link.from == node) {
            if link.to != from && came_by[link.to].is_none() {
                came_by[link.to] = Some(index);
                open.push_back(link.to);
            }
        }
    }
    let mut path = vec![];
    let mut node = to;
    while node != from {
        let link = came_by[node].expect("the scenario was read only if its flows' nodes are connected");
        path.push(link);
        node = graph.links[link].from;
    }
    path.reverse();
    path
}
