//! `[topology]`: generated and imported graphs, and their traffic.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use firstflight_contract::{Nanos, Rate};

use super::hop::{Hop, access, hop, hop_or, usual_access};
use super::values;
use crate::format;
use crate::limits;
use crate::model::{Endpoints, Graph, Limit, Link, Node, Packet};
use crate::topology::flat::{Chance, Level};
use crate::topology::graphml::{self, Place};
use crate::topology::transit_stub::TransitStub;
use firstflight_document::quantity::show_time;
use firstflight_document::{Error, Item, Problem, Table};
use firstflight_random::Dist;
use firstflight_random::Stream;

/// Traffic of a topology.
#[derive(Default)]
pub(super) struct Traffic<'a> {
    /// Default of `from`; empty if flows must give it.
    pub(super) from: Vec<usize>,
    /// Default of `to`.
    pub(super) to: Vec<usize>,
    /// Cross traffic, and for each of its groups the suffix of the name and the endpoints.
    pub(super) cross: Option<(Item<'a>, Vec<(String, Endpoints)>)>,
}

pub(super) fn read<'a>(item: &Item<'a>, packet: Packet) -> Result<(Graph, Traffic<'a>), Error> {
    let table = item.variant()?;
    match table.need("kind")?.word()? {
        "parking-lot" => parking_lot(&table, packet),
        "three-router" => three_router(&table, packet),
        "graphml" => graphml(&table, packet),
        "transit-stub" => transit_stub(&table, packet),
        other => unreachable!("the format has no topology {other}"),
    }
}

/// One group of cross traffic; each flow draws one of these pairs.
fn cross_on<'a>(
    table: &Table<'a>,
    pairs: Vec<(usize, usize)>,
) -> Option<(Item<'a>, Vec<(String, Endpoints)>)> {
    let ends = match pairs[..] {
        [(from, to)] => Endpoints::Nodes { from, to },
        _ => Endpoints::Pairs(pairs),
    };
    table.get("cross").map(|cross| (cross, vec![(String::new(), ends)]))
}

fn parking_lot<'a>(table: &Table<'a>, packet: Packet) -> Result<(Graph, Traffic<'a>), Error> {
    let hops = table.need("hops")?.integer()?;
    let rate = table.need("rate")?.rate()?;
    let rtt = table.need("rtt")?.time()?;
    let shared = hop(table, packet, Some(rate.bytes_in(rtt)))?;
    let access_rate = access(table, rate)?;
    let nodes = (0..=hops).map(|i| Node { name: format!("r{i}"), access_rate, subnet: None }).collect();
    // The last nanosecond of an odd RTT is on the way back, and the rest of an uneven division goes to the later hops, so the
    // sum is exact.
    let there = Nanos(rtt.0 / 2);
    let share = |way: Nanos, i: u64| {
        let upto = |n: u64| (u128::from(way.0) * u128::from(n) / u128::from(hops)) as u64;
        Nanos(upto(i + 1) - upto(i))
    };
    let links = (0..hops).flat_map(|i| {
        let (near, far) = (i as usize, i as usize + 1);
        [(near, far, share(there, i)), (far, near, share(rtt - there, i))]
    });
    let links = links.map(|(from, to, delay)| Link {
        name: format!("r{from}-r{to}"),
        from,
        to,
        rate,
        trace: None,
        delay,
        cost: 1,
        buffer: shared.buffer,
        queue: shared.queue,
        shaper: None,
        loss: shared.loss,
        loss_burst: shared.loss_burst,
        drop: Arc::default(),
        reorder: None,
    });
    let graph = Graph { nodes, links: links.collect() };
    let hops = hops as usize;
    let each = (0..hops).map(|hop| (hop.to_string(), Endpoints::Nodes { from: hop, to: hop + 1 })).collect();
    let cross = table.get("cross").map(|cross| (cross, each));
    Ok((graph, Traffic { from: vec![0], to: vec![hops], cross }))
}

/// A graph under construction, with links in both directions.
struct Builder {
    nodes: Vec<Node>,
    links: Vec<Link>,
}

impl Builder {
    fn node(&mut self, name: String, subnet: Option<&str>, access_rate: Rate) -> usize {
        self.nodes.push(Node { name, access_rate, subnet: subnet.map(String::from) });
        self.nodes.len() - 1
    }

    fn join(&mut self, (a, b): (usize, usize), rate: Rate, delay: Nanos, cost: u64, hop: &Hop) {
        for (from, to) in [(a, b), (b, a)] {
            self.links.push(Link {
                name: format!("{}-{}", self.nodes[from].name, self.nodes[to].name),
                from,
                to,
                rate,
                trace: None,
                delay,
                cost,
                buffer: hop.buffer,
                queue: hop.queue,
                shaper: None,
                loss: hop.loss,
                loss_burst: hop.loss_burst,
                drop: Arc::default(),
                reorder: None,
            });
        }
    }

    fn graph(self) -> Graph {
        Graph { nodes: self.nodes, links: self.links }
    }
}

fn three_router<'a>(table: &Table<'a>, packet: Packet) -> Result<(Graph, Traffic<'a>), Error> {
    let count =
        |key, usual| Ok::<_, Error>(table.get(key).map_or(Ok(usual), |item| item.integer())? as usize);
    let rate = table.get("rate").map_or(Ok(Rate(20_000_000)), |item| item.rate())?;
    let time = |key, usual| table.get(key).map_or(Ok(Nanos::from_millis(usual)), |item| item.time());
    let (delay, side_delay) = (time("delay", 50)?, time("side_delay", 1)?);
    let side_rate = table.get("side_rate").map_or(Ok(usual_access(rate)), |item| item.rate())?;
    let rtt = Nanos(4 * (delay.0 + side_delay.0));
    let core = hop_or(table, packet, Some(rate.bytes_in(rtt)), Limit::Packets(50))?;
    let side = Hop { loss: 0.0, loss_burst: 1.0, queue: core.queue, ..core };

    // The ends of flows are these hosts, as ns-2's agents are at its nodes: nothing is before their links.
    let access = table.get("access_rate").map_or(Ok(limits::RATE), |item| item.rate())?;
    let mut graph = Builder { nodes: vec![], links: vec![] };
    let server = graph.node("s".into(), None, access);
    let routers = [1, 2, 3].map(|i| graph.node(format!("r{i}"), None, access));
    graph.join((routers[0], routers[1]), rate, delay, 1, &core);
    graph.join((routers[1], routers[2]), rate, delay, 1, &core);
    graph.join((server, routers[0]), side_rate, side_delay, 1, &side);
    let mut hosts = |subnet: &str, router: usize, count: usize| -> Vec<usize> {
        let host = |i| {
            let host = graph.node(format!("{subnet}{i}"), Some(subnet), access);
            graph.join((router, host), side_rate, side_delay, 1, &side);
            host
        };
        (1..=count).map(host).collect()
    };
    let clients = hosts("c", routers[2], count("clients", 5)?);
    let pairs = count("pairs", 5)?;
    let (sources, sinks) = (hosts("xs", routers[0], pairs), hosts("xc", routers[1], pairs));
    let cross = cross_on(table, sources.into_iter().zip(sinks).collect());
    Ok((graph.graph(), Traffic { from: vec![server], to: clients, cross }))
}

fn graphml<'a>(table: &Table<'a>, packet: Packet) -> Result<(Graph, Traffic<'a>), Error> {
    let item = table.need("file")?;
    let shared = hop(table, packet, None)?;
    let rate_of = |key| table.get(key).map(|item| item.rate()).transpose();
    let (rate, access_rate) = (rate_of("rate")?, rate_of("access_rate")?);
    let delay = table.get("delay").map(|item| item.time()).transpose()?;
    let (text, named) = values::attached(&item)?;
    let drawing = graphml::parse(&text, &named)?;

    let mut fastest: BTreeMap<usize, Rate> = BTreeMap::new();
    let mut edges = vec![];
    for edge in &drawing.edges {
        let (a, b) = edge.ends;
        let lacks = |what: &str| {
            let [a, b] = [a, b].map(|end| &drawing.places[end].name);
            item.fail(Problem::Invalid(format!("the edge from {a} to {b} has no {what}")))
                .expecting(format!("a {what} in the file, or [topology] {what} for all edges without one"))
        };
        let rate = edge.rate.or(rate).ok_or_else(|| lacks("rate"))?;
        let delay = edge.delay.or(delay).ok_or_else(|| lacks("delay"))?;
        for end in [a, b] {
            let known = fastest.entry(end).or_insert(rate);
            *known = rate.max(*known);
        }
        edges.push((edge, rate, delay));
    }
    // A node without edges cannot carry traffic.
    let mut graph = Builder { nodes: vec![], links: vec![] };
    let mut index = BTreeMap::new();
    for (&place, &fastest) in &fastest {
        let Place { name, subnet, .. } = &drawing.places[place];
        let node = graph.node(name.clone(), subnet.as_deref(), access_rate.unwrap_or(usual_access(fastest)));
        index.insert(place, node);
    }
    for (edge, rate, delay) in edges {
        let ends = (index[&edge.ends.0], index[&edge.ends.1]);
        graph.join(ends, rate, delay, edge.cost.unwrap_or(1), &shared);
        if edge.directed {
            graph.links.pop();
        }
    }
    name_apart(&mut graph.links);
    Ok((graph.graph(), Traffic::default()))
}

/// Numbers links of equal names, from the second; a name that another link has is left out.
fn name_apart(links: &mut [Link]) {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for link in links {
        let time = times.entry(link.name.clone()).or_insert(1);
        let own = link.name.clone();
        while !taken.insert(link.name.clone()) {
            *time += 1;
            link.name = format!("{own}-{time}");
        }
    }
}

fn transit_stub<'a>(table: &Table<'a>, packet: Packet) -> Result<(Graph, Traffic<'a>), Error> {
    let count =
        |key, usual| Ok::<_, Error>(table.get(key).map_or(Ok(usual), |item| item.integer())? as usize);
    let kind = TransitStub {
        top: level(table, "top", Level { n: 1, chance: Chance::Random, alpha: 1.0 })?,
        transit: level(table, "transit", Level { n: 8, chance: Chance::Random, alpha: 0.6 })?,
        stub: level(table, "stub", Level { n: 6, chance: Chance::Random, alpha: 0.42 })?,
        stubs: count("stubs", 4)?,
        ts_edges: count("ts_edges", 0)?,
        ss_edges: count("ss_edges", 0)?,
    };
    let transit_nodes = kind.top.n as u128 * kind.transit.n as u128;
    let nodes = transit_nodes * (1 + kind.stubs as u128 * kind.stub.n as u128);
    // Refused at the first of these keys that is given.
    let refuse = |keys: &[&str], why: String| {
        Err(table.first_given(keys).map_or_else(|| table.invalid(&*why), |item| item.invalid(&*why)))
    };
    if nodes > limits::NODES as u128 {
        let why = format!("this makes {nodes} nodes; the limit is {}", limits::NODES);
        return refuse(&["stubs", "stub", "transit", "top"], why);
    }
    if transit_nodes < 2 && kind.ts_edges > 0 {
        return refuse(&["ts_edges"], "ts_edges need at least two transit nodes".into());
    }
    if transit_nodes * (kind.stubs as u128) < 2 && (kind.ss_edges > 0 || table.get("cross").is_some()) {
        return refuse(&["ss_edges", "cross"], "ss_edges and cross need at least two stub domains".into());
    }
    let seed = table.get("seed").map_or(Ok(1), |item| item.integer())?;
    let routing = table.get("routing").map_or(Ok("policy"), |item| item.word())?;
    let rate = table.get("rate").map_or(Ok(Rate(10_000_000)), |item| item.rate())?;
    let shared = hop_or(table, packet, None, Limit::Packets(50))?;
    let delay = match table.get("delay") {
        Some(item) => values::dist(&item, Item::time)?,
        None => Dist::Fixed(Nanos::from_millis(10)),
    };

    let mut draws = Stream::seeded(seed);
    let drawn = kind.draw(&mut draws).map_err(|never| {
        let why = format!(
            "none of a hundred graphs at level \"{}\" was connected: its alpha is too small",
            never.0
        );
        table.get(never.0).map_or_else(|| table.invalid(&*why), |item| item.invalid(&*why))
    })?;
    if 2 * drawn.edges.len() > limits::LINKS {
        let why = format!("this makes {} links; the limit is {}", 2 * drawn.edges.len(), limits::LINKS);
        return refuse(&["ss_edges", "ts_edges", "stubs", "stub", "transit", "top"], why);
    }
    let access_rate = access(table, rate)?;
    let mut graph = Builder { nodes: vec![], links: vec![] };
    for place in &drawn.places {
        graph.node(place.name.clone(), Some(&place.subnet), access_rate);
    }
    for edge in &drawn.edges {
        let delay = match delay {
            Dist::Fixed(unit) => Nanos(unit.0.saturating_mul(edge.length)),
            law => law.quantile(draws.unit()),
        };
        if delay > limits::DELAY {
            let [a, b] = [edge.ends.0, edge.ends.1].map(|end| &drawn.places[end].name);
            let why = format!(
                "the link from {a} to {b} would have a delay of {}; the limit is {}",
                show_time(delay),
                show_time(limits::DELAY)
            );
            return Err(table.need("delay")?.invalid(why));
        }
        let cost = match routing {
            "policy" => edge.weight,
            "hops" => 1,
            "delay" => delay.0.max(1),
            other => unreachable!("the format has no routing by {other}"),
        };
        graph.join(edge.ends, rate, delay, cost, &shared);
    }
    let pairs = count("pairs", 25)?;
    let cross = match table.get("cross") {
        Some(_) => cross_on(table, drawn.stub_pairs(pairs, &mut draws)),
        None => None,
    };
    let stubs = (0..drawn.places.len()).filter(|&i| drawn.places[i].stub).collect();
    Ok((graph.graph(), Traffic { from: vec![0], to: stubs, cross }))
}

fn level(table: &Table<'_>, key: &str, usual: Level) -> Result<Level, Error> {
    let Some(item) = table.get(key) else { return Ok(usual) };
    let table = item.table(&format::LEVEL)?;
    let beta = table.get("beta").map(|item| item.number()).transpose()?;
    Ok(Level {
        n: table.get("n").map_or(Ok(usual.n as u64), |item| item.integer())? as usize,
        chance: match table.get("method").map_or(Ok("random"), |item| item.word())? {
            "random" => Chance::Random,
            "waxman" => Chance::Waxman { beta: beta.unwrap_or(1.0) },
            "exponential" => Chance::Exponential,
            other => unreachable!("the format has no method {other}"),
        },
        alpha: table.get("alpha").map_or(Ok(usual.alpha), |item| item.number())?,
    })
}
