//! Links of a run, and the paths of flows over them.

use std::sync::Arc;

use firstflight_contract::{Nanos, Rate};
use firstflight_net::lanes::LanesConfig;
use firstflight_net::queue::{Place, Room};
use firstflight_net::rate_trace::RateTrace;
use firstflight_net::token_bucket::BucketConfig;
use firstflight_scenario as scenario;
use firstflight_scenario::{Endpoints, Graph, Limit, LinkTrace, Queue, Scenario, Schedule};
use firstflight_sim::alike::Alike;
use firstflight_sim::config::{LinkConfig, LinkKind, QueueConfig};
use firstflight_sim::dumbbell::{Dumbbell, Paths};

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
                    link.drop = Arc::clone(&path.drop);
                    link.lanes = path.reorder.map(lanes);
                }
                Self { named: links.len(), links, kind: Kind::Dumbbell(path), packet }
            }
            scenario::Network::Graph(graph) => {
                let links = graph.links.iter().map(|link| LinkConfig {
                    name: link.name.clone(),
                    rate: link.rate,
                    delay: link.delay,
                    kind: Alike::from(LinkKind {
                        trace: link.trace.as_ref().map(trace),
                        shaper: link.shaper.map(bucket),
                        loss: link.loss,
                        loss_burst: link.loss_burst,
                        drop: Arc::clone(&link.drop),
                        lanes: link.reorder.map(lanes),
                        ..queue(&link.queue, link.buffer, link.rate, packet).into()
                    }),
                });
                let links: Vec<_> = links.collect();
                let kind = Kind::Graph { graph, routes: Routes::new(graph) };
                Self { named: links.len(), links, kind, packet }
            }
        }
    }

    /// Whether any queue marks packets; flows are then ECN-capable.
    pub(super) fn marks(&self) -> bool {
        match &self.kind {
            Kind::Dumbbell(path) => path.queue.marks(),
            Kind::Graph { graph, .. } => graph.links.iter().any(|link| link.queue.marks()),
        }
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
    match link.queue.room() {
        None => f64::INFINITY,
        Some(Room::Packets(limit)) => limit.into(),
        Some(Room::Bytes(limit)) => limit as f64 / packet,
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
    queue.at(&Place { room: room(limit), rate, packet })
}
