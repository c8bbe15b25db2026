//! Transit-stub graphs as GT-ITM generates them.
//!
//! E. Zegura, K. Calvert, S. Bhattacharjee, "How to model an internetwork", INFOCOM 1996, section 3.2; the constants,
//! which the paper leaves open, are those of the authors' generator, GT-ITM (October 1996).

use super::flat::{Flat, Level, distance};
use firstflight_random::Stream;

/// Area of the plane for each node: `OVERALL_DENSITY_FACTOR`.
const AREA_PER_NODE: f64 = 80.0;

/// Area of the square of a stub domain for each node that it could have at most: `STUB_DENSITY_FACTOR`.
const STUB_AREA_PER_NODE: f64 = 16.0;

/// Side of the square of a transit domain, as a share of the plane's: `TRANSIT_SPREAD`.
const TRANSIT_SPREAD: f64 = 0.5;

/// Number of moves between sizes, for each size: `RANDMULT`.
const MOVES: usize = 3;

/// Parameters of a graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransitStub {
    /// The graph of transit domains.
    pub(crate) top: Level,
    /// A transit domain; `n` is the mean.
    pub(crate) transit: Level,
    /// A stub domain; `n` is the mean.
    pub(crate) stub: Level,
    /// Mean number of stub domains at a transit node.
    pub(crate) stubs: usize,
    /// Further links between a transit node and a stub node of another.
    pub(crate) ts_edges: usize,
    /// Further links between nodes of two stub domains.
    pub(crate) ss_edges: usize,
}

/// A node of the whole graph.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) name: String,
    /// Its domain.
    pub(crate) subnet: String,
    pub(crate) stub: bool,
    /// Transit node of a stub node; of a transit node, the node itself.
    transit: usize,
    at: (u64, u64),
}

/// A link of the whole graph, both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) ends: (usize, usize),
    /// Length in the plane, rounded.
    pub(crate) length: u64,
    /// Cost with which the cheapest path between two nodes of a domain stays in it, and no stub domain carries transit
    /// traffic.
    pub(crate) weight: u64,
}

/// A whole graph.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) places: Vec<Place>,
    pub(crate) edges: Vec<Edge>,
}

/// A domain while its graph is not yet part of the whole.
struct Domain {
    graph: Flat,
    /// For each of its nodes, the stub domains there, each with its place in the plane.
    stubs: Vec<Vec<Flat>>,
}

/// A level whose graph was never connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NeverConnected(pub(crate) &'static str);

impl TransitStub {
    /// Number of nodes of every graph.
    pub(crate) fn nodes(&self) -> usize {
        self.top.n * self.transit.n * (1 + self.stubs * self.stub.n)
    }

    /// Draws a graph.
    ///
    /// # Errors
    /// If the probabilities of a level are too small for a connected graph.
    pub(crate) fn draw(&self, draws: &mut Stream) -> Result<Graph, NeverConnected> {
        let plane = (self.nodes() as f64 * AREA_PER_NODE).sqrt().round_ties_even() as u64;
        let top = Flat::connected(self.top, self.top.n, plane, draws).ok_or(NeverConnected("top"))?;
        let mut domains = vec![];
        for (n, at) in spread(self.top.n, self.transit.n, draws).into_iter().zip(&top.at) {
            domains.push(self.domain(n, *at, plane, draws)?);
        }
        let weights = Weights::of(&top, &domains);
        let mut whole = Graph { places: vec![], edges: vec![] };
        let mut transit: Vec<Vec<usize>> = vec![];
        for (number, domain) in domains.iter().enumerate() {
            transit.push(whole.add_domain(number, domain, weights, draws));
        }
        // Every link between two domains is drawn once from either side.
        for &(a, b) in &top.edges {
            for (a, b) in [(a, b), (b, a)] {
                let ends =
                    (transit[a][draws.below(transit[a].len())], transit[b][draws.below(transit[b].len())]);
                whole.join(ends, weights.transit_transit);
            }
        }
        self.add_extra(&mut whole, &transit, weights, draws);
        Ok(whole)
    }

    /// A transit domain of `n` nodes about `at`, with its stub domains.
    fn domain(
        &self,
        n: usize,
        at: (u64, u64),
        plane: u64,
        draws: &mut Stream,
    ) -> Result<Domain, NeverConnected> {
        let side = (plane as f64 * TRANSIT_SPREAD).round_ties_even() as u64;
        let side = side + side % 2;
        let mut graph = Flat::connected(self.transit, n, side, draws).ok_or(NeverConnected("transit"))?;
        let corner = |x: u64| x.saturating_sub(side / 2).min(plane - side);
        shift(&mut graph, (corner(at.0), corner(at.1)));
        let stub_side = self.stub_side().min(plane);
        let mut stubs = vec![];
        for (count, &at) in spread(n, self.stubs, draws).into_iter().zip(&graph.at) {
            let mut here = vec![];
            for n in spread(count, self.stub.n, draws) {
                let mut stub =
                    Flat::connected(self.stub, n, stub_side, draws).ok_or(NeverConnected("stub"))?;
                let mut corner = |x: u64| {
                    let (least, most) = (x.saturating_sub(stub_side), x.min(plane - stub_side));
                    least + if most > least { draws.below((most - least) as usize) as u64 } else { 0 }
                };
                let corner = (corner(at.0), corner(at.1));
                shift(&mut stub, corner);
                here.push(stub);
            }
            stubs.push(here);
        }
        Ok(Domain { graph, stubs })
    }

    fn stub_side(&self) -> u64 {
        // The most nodes that spreading could give a transit domain, a transit node in stubs, and a stub domain.
        let transit = self.transit.n + MOVES * self.top.n;
        let stubs = self.stubs + MOVES * transit;
        let nodes = self.stub.n + MOVES * stubs;
        (nodes as f64 * STUB_AREA_PER_NODE).sqrt().round_ties_even() as u64
    }

    fn add_extra(&self, whole: &mut Graph, transit: &[Vec<usize>], weights: Weights, draws: &mut Stream) {
        let stubs: Vec<usize> = (0..whole.places.len()).filter(|&i| whole.places[i].stub).collect();
        for _ in 0..self.ts_edges {
            let domain = &transit[draws.below(transit.len())];
            let node = domain[draws.below(domain.len())];
            let stub = loop {
                let stub = stubs[draws.below(stubs.len())];
                if whole.places[stub].transit != node {
                    break stub;
                }
            };
            whole.join((node, stub), weights.transit_stub);
        }
        for _ in 0..self.ss_edges {
            whole.join(whole.stub_pair(&stubs, draws), weights.stub_stub);
        }
    }
}

impl Graph {
    /// `count` random pairs of stub nodes, the two of a pair in different stub domains, of which there are at least two.
    pub(crate) fn stub_pairs(&self, count: usize, draws: &mut Stream) -> Vec<(usize, usize)> {
        let stubs: Vec<usize> = (0..self.places.len()).filter(|&i| self.places[i].stub).collect();
        (0..count).map(|_| self.stub_pair(&stubs, draws)).collect()
    }

    fn stub_pair(&self, stubs: &[usize], draws: &mut Stream) -> (usize, usize) {
        loop {
            let pair = (stubs[draws.below(stubs.len())], stubs[draws.below(stubs.len())]);
            if self.places[pair.0].subnet != self.places[pair.1].subnet {
                return pair;
            }
        }
    }

    /// Adds a transit domain and its stub domains; returns the indices of its transit nodes.
    fn add_domain(
        &mut self,
        number: usize,
        domain: &Domain,
        weights: Weights,
        draws: &mut Stream,
    ) -> Vec<usize> {
        let subnet = format!("t-{number}");
        let transit: Vec<usize> = (0..domain.graph.at.len()).map(|i| self.places.len() + i).collect();
        self.add_flat(&domain.graph, &subnet, None);
        for (k, stubs) in domain.stubs.iter().enumerate() {
            for (j, stub) in stubs.iter().enumerate() {
                let first = self.places.len();
                self.add_flat(stub, &format!("s-{number}-{k}-{j}"), Some(transit[k]));
                self.join((transit[k], first + draws.below(stub.at.len())), weights.transit_stub);
            }
        }
        transit
    }

    fn add_flat(&mut self, graph: &Flat, subnet: &str, transit: Option<usize>) {
        let first = self.places.len();
        for (i, &at) in graph.at.iter().enumerate() {
            self.places.push(Place {
                name: format!("{subnet}-{i}"),
                subnet: subnet.into(),
                stub: transit.is_some(),
                transit: transit.unwrap_or(first + i),
                at,
            });
        }
        for &(a, b) in &graph.edges {
            self.join((first + a, first + b), 1);
        }
    }

    /// A link between two nodes, unless there is one.
    fn join(&mut self, (a, b): (usize, usize), weight: u64) {
        let ends = (a.min(b), a.max(b));
        if self.edges.iter().all(|edge| edge.ends != ends) {
            let length = distance(self.places[a].at, self.places[b].at).round_ties_even() as u64;
            self.edges.push(Edge { ends, length, weight });
        }
    }
}

/// Weights of links outside domains; links inside weigh 1. With `D` the largest diameters in hops and half(x) = x / 2 + 1,
/// above which two links already outweigh x:
/// `W_tt = half(D_transit)`, `W_ts = half(D_top W_tt) + half((D_top + 1) D_transit)`, `W_ss = D_stub + 2 W_ts`.
#[derive(Clone, Copy, Debug)]
struct Weights {
    transit_transit: u64,
    transit_stub: u64,
    stub_stub: u64,
}

impl Weights {
    fn of(top: &Flat, domains: &[Domain]) -> Self {
        let half = |x: u64| x / 2 + 1;
        let largest = |graphs: &mut dyn Iterator<Item = &Flat>| {
            graphs.map(|graph| graph.diameter().expect("a graph in use is connected")).max().unwrap_or(0)
        };
        let of_top = largest(&mut std::iter::once(top));
        let of_transit = largest(&mut domains.iter().map(|domain| &domain.graph));
        let of_stub = largest(&mut domains.iter().flat_map(|domain| domain.stubs.iter().flatten()));
        let transit_transit = half(of_transit);
        let transit_stub = half(of_top * transit_transit) + half((of_top + 1) * of_transit);
        Self { transit_transit, transit_stub, stub_stub: of_stub + 2 * transit_stub }
    }
}

fn shift(graph: &mut Flat, by: (u64, u64)) {
    for at in &mut graph.at {
        *at = (at.0 + by.0, at.1 + by.1);
    }
}

/// `count` sizes with the given mean: units move from one size to another, and no size falls to zero.
fn spread(count: usize, mean: usize, draws: &mut Stream) -> Vec<usize> {
    let mut sizes = vec![mean; count];
    for _ in 0..MOVES * count {
        let (from, to) = (draws.below(count), draws.below(count));
        if sizes[from] > 1 {
            sizes[from] -= 1;
            sizes[to] += 1;
        }
    }
    sizes
}
