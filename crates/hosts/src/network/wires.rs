//! Links of a run, and the paths of flows over them.

use std::sync::Arc;

use firstflight_contract::{Nanos, Rate};
use firstflight_net::lanes::LanesConfig;
use firstflight_net::queue::Room;
use firstflight_net::queue::codel::CodelConfig;
use firstflight_net::queue::fq_codel::FqCodelConfig;
use firstflight_net::queue::red::RedConfig;
use firstflight_net::rate_trace::RateTrace;
use firstflight_net::token_bucket::BucketConfig;
use firstflight_scenario as scenario;
use firstflight_scenario::{Endpoints, Graph, Limit, LinkTrace, Queue, Scenario, Schedule};
use firstflight_sim::config::{LinkConfig, QueueConfig};
use firstflight_sim::dumbbell::{Dumbbell, Paths};

use super::routers;
use super::routes::Routes;

/// Links of a run, and the paths of flows over them.
pub(super) struct Wires<'a> {
    pub(super) links: Vec<LinkConfig>,
    /// Number of links that the scenario names; access links follow.
    pub(super) named: usize,
    kind: Kind<'a>,
    packet: u32,
}

enum Kind<'a> {
    Dumbbell(&'a scenario::Path),
    Graph { graph: &'a Graph, routes: Routes<'a> },
}

impl<'a> Wires<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Self {
        let packet = scenario.packet.size;
        match &scenario.network {
            scenario::Network::Dumbbell(path) => {
                let queue = || queue(&path.queue, path.buffer, path.rate, packet);
                let mut links = Dumbbell::new(path.rate, path.access_rate, path.rtt, queue(), queue()).links;
                let trace = path.trace.as_ref().map(trace);
                for link in &mut links {
                    link.trace.clone_from(&trace);
                    link.shaper = path.shaper.map(bucket);
                    (link.loss, link.loss_burst) = (path.loss, path.loss_burst);
                    link.lanes = path.reorder.map(lanes);
                }
                Self { named: links.len(), links, kind: Kind::Dumbbell(path), packet }
            }
            scenario::Network::Graph(graph) => {
                let links = graph.links.iter().map(|link| LinkConfig {
                    trace: link.trace.as_ref().map(trace),
                    shaper: link.shaper.map(bucket),
                    loss: link.loss,
                    loss_burst: link.loss_burst,
                    lanes: link.reorder.map(lanes),
                    ..LinkConfig::new(
                        &link.name,
                        link.rate,
                        link.delay,
                        queue(&link.queue, link.buffer, link.rate, packet),
                    )
                });
                let links: Vec<_> = links.collect();
                let kind = Kind::Graph { graph, routes: Routes::new(graph) };
                Self { named: links.len(), links, kind, packet }
            }
        }
    }

    /// Whether any queue marks packets; flows are then ECN-capable.
    pub(super) fn marks(&self) -> bool {
        self.links.iter().any(|link| match link.queue {
            QueueConfig::Red(red) | QueueConfig::Choke(red) => red.ecn,
            QueueConfig::Codel(codel, _) | QueueConfig::FqCodel(FqCodelConfig { codel, .. }) => codel.ecn,
            QueueConfig::Unlimited
            | QueueConfig::Packets(_)
            | QueueConfig::Bytes(_)
            | QueueConfig::Policer(..)
            | QueueConfig::Router(..)
            | QueueConfig::Priority(_) => false,
        })
    }

    /// Adds access links for a flow, with `extra` propagation delay spread over them, and returns its paths.
    pub(super) fn attach(&mut self, name: &str, endpoints: &Endpoints, extra: Nanos) -> Paths {
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
            (Kind::Graph { graph, .. }, &Endpoints::Nodes { from, to }) => {
                let rates = [graph.nodes[from].access_rate, graph.nodes[to].access_rate];
                let forward = self.bare_path(&Endpoints::Nodes { from, to });
                let reverse = self.bare_path(&Endpoints::Nodes { from: to, to: from });
                let quarter = Nanos(extra.0 / 4);
                let mut access = |side: &str, rate: Rate, delay: Nanos| {
                    let name = format!("{name}.{side}");
                    self.links.push(LinkConfig::new(name, rate, delay, QueueConfig::Unlimited));
                    self.links.len() - 1
                };
                let wrap = |first: usize, middle: Vec<usize>, last: usize| {
                    std::iter::once(first).chain(middle).chain([last]).collect()
                };
                let (a, b) = (access("in", rates[0], quarter), access("out", rates[1], quarter));
                let (c, d) = (access("back-in", rates[1], quarter), access("back-out", rates[0], quarter));
                Paths { forward: wrap(a, forward, b), reverse: wrap(c, reverse, d) }
            }
            (Kind::Dumbbell(_), Endpoints::Nodes { .. } | Endpoints::Pairs(_))
            | (Kind::Graph { .. }, Endpoints::Path(_) | Endpoints::Pairs(_)) => {
                unreachable!("the endpoints of one flow match the kind of network")
            }
        }
    }

    /// Links of the scenario between two endpoints.
    pub(super) fn bare_path(&mut self, endpoints: &Endpoints) -> Vec<usize> {
        match (&mut self.kind, endpoints) {
            (Kind::Dumbbell(_), Endpoints::Path(scenario::Direction::Forward)) => vec![0],
            (Kind::Dumbbell(_), Endpoints::Path(scenario::Direction::Reverse)) => vec![1],
            (Kind::Graph { routes, .. }, &Endpoints::Nodes { from, to }) => routes.path(from, to),
            (Kind::Dumbbell(_), Endpoints::Nodes { .. } | Endpoints::Pairs(_))
            | (Kind::Graph { .. }, Endpoints::Path(_) | Endpoints::Pairs(_)) => {
                unreachable!("the endpoints of one flow match the kind of network")
            }
        }
    }

    /// Bandwidth-delay product of a path and limit of the queue at its slowest link, both in packets.
    pub(super) fn capacity(&self, forward: &[usize], reverse: &[usize], packet: u32) -> (f64, f64) {
        let delay = |path: &[usize]| path.iter().map(|&link| self.links[link].delay.0).sum::<u64>();
        let narrowest = forward.iter().min_by_key(|&&link| self.links[link].rate).expect("a path has links");
        let link = &self.links[*narrowest];
        let bdp = link.rate.bytes_in(Nanos(delay(forward) + delay(reverse))) as f64 / f64::from(packet);
        (bdp, limit_packets(link, f64::from(self.packet)))
    }
}

/// Limit of the queue of a link in packets of `packet` bytes; infinite if the queue has none.
pub(super) fn limit_packets(link: &LinkConfig, packet: f64) -> f64 {
    let room = |room: Room| match room {
        Room::Packets(limit) => limit.into(),
        Room::Bytes(limit) => limit as f64 / packet,
    };
    match link.queue {
        QueueConfig::Unlimited => f64::INFINITY,
        QueueConfig::Packets(limit) => limit.into(),
        QueueConfig::Bytes(limit) => limit as f64 / packet,
        QueueConfig::Policer(_, limit)
        | QueueConfig::Router(_, limit)
        | QueueConfig::Priority(limit)
        | QueueConfig::Codel(_, limit)
        | QueueConfig::FqCodel(FqCodelConfig { room: limit, .. }) => room(limit),
        QueueConfig::Red(red) | QueueConfig::Choke(red) => red.limit.into(),
    }
}

fn trace(trace: &LinkTrace) -> Arc<RateTrace> {
    Arc::new(match &*trace.schedule {
        Schedule::Opportunities(times) => RateTrace::opportunities(times.iter().map(|time| time.0).collect()),
        Schedule::Rates(steps) => {
            RateTrace::rates(steps.iter().map(|(from, rate)| (from.0, rate.0)).collect())
        }
    })
}

fn bucket(scenario::Shaper { rate, burst }: scenario::Shaper) -> BucketConfig {
    BucketConfig { rate, burst }
}

fn lanes(scenario::Reorder { share, burst, delay }: scenario::Reorder) -> LanesConfig {
    LanesConfig { share, burst, delay }
}

fn room(limit: Limit) -> Room {
    match limit {
        Limit::Packets(n) => Room::Packets(n.min(u32::MAX.into()) as u32),
        Limit::Bytes(n) => Room::Bytes(n),
    }
}

fn queue(queue: &Queue, limit: Limit, rate: Rate, packet: u32) -> QueueConfig {
    let packets = |n: u64| n.min(u32::MAX.into()) as u32;
    match (queue, limit) {
        (Queue::DropTail, Limit::Packets(n)) => QueueConfig::Packets(packets(n)),
        (Queue::DropTail, Limit::Bytes(n)) => QueueConfig::Bytes(n),
        (Queue::Router(router), limit) => routers::queue(*router, room(limit)),
        (Queue::Policer(scenario::Policer { rate, burst }), limit) => {
            QueueConfig::Policer(BucketConfig { rate: *rate, burst: *burst }, room(limit))
        }
        (Queue::Priority, limit) => QueueConfig::Priority(room(limit)),
        (Queue::Codel(codel), limit) => QueueConfig::Codel(self::codel(codel), room(limit)),
        (Queue::FqCodel(fq), limit) => QueueConfig::FqCodel(FqCodelConfig {
            codel: self::codel(&fq.codel),
            quantum: fq.quantum.min(u32::MAX.into()) as u32,
            flows: fq.flows,
            room: room(limit),
        }),
        (Queue::Red(red), limit) => QueueConfig::Red(self::red(red, limit, rate, packet)),
        (Queue::Choke(red), limit) => QueueConfig::Choke(self::red(red, limit, rate, packet)),
    }
}

fn codel(codel: &scenario::Codel) -> CodelConfig {
    CodelConfig { target: codel.target.0, interval: codel.interval.0, ecn: codel.ecn }
}

fn red(red: &scenario::Red, limit: Limit, rate: Rate, packet: u32) -> RedConfig {
    let packets = |n: u64| n.min(u32::MAX.into()) as u32;
    RedConfig {
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
        mean_bytes: red.mean_packet,
        typical_ns: rate.time_for(red.mean_packet.unwrap_or(packet).into()).0,
    }
}
