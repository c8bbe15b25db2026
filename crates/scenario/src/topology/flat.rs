//! Flat random graphs: nodes at random places of a square, random links.
//!
//! B. Waxman, "Routing of multipoint connections", IEEE JSAC 6(9), 1988, and the variants of E. Zegura, K. Calvert,
//! S. Bhattacharjee, "How to model an internetwork", INFOCOM 1996, section 2.1.

use std::collections::BTreeSet;

use firstflight_random::Stream;

/// Number of draws after which a graph counts as never connected.
const TRIES: u32 = 100;

/// Probability of a link between two nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chance {
    /// `alpha` at any distance.
    Random,
    /// `alpha exp(-d / (beta L))`.
    Waxman { beta: f64 },
    /// `alpha exp(-d / (L - d))`.
    Exponential,
}

/// Parameters of the graphs of a level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    /// Nodes, or their mean number.
    pub(crate) n: usize,
    pub(crate) chance: Chance,
    pub(crate) alpha: f64,
}

/// A graph in a plane of integer coordinates.
#[derive(Clone, Debug)]
pub(crate) struct Flat {
    pub(crate) at: Vec<(u64, u64)>,
    /// Undirected, the smaller index first.
    pub(crate) edges: Vec<(usize, usize)>,
}

impl Flat {
    /// A connected graph of `n` nodes in a square of side `scale`; `None` if none of a hundred was connected.
    pub(crate) fn connected(level: Level, n: usize, scale: u64, draws: &mut Stream) -> Option<Self> {
        (0..TRIES).map(|_| Self::draw(level, n, scale, draws)).find(|graph| graph.diameter().is_some())
    }

    fn draw(level: Level, n: usize, scale: u64, draws: &mut Stream) -> Self {
        let mut taken = BTreeSet::new();
        let mut at = vec![];
        while at.len() < n {
            let place = (draws.below(scale as usize) as u64, draws.below(scale as usize) as u64);
            if taken.insert(place) {
                at.push(place);
            }
        }
        let diagonal = scale as f64 * core::f64::consts::SQRT_2;
        let mut edges = vec![];
        for i in 0..n {
            for j in i + 1..n {
                let d = distance(at[i], at[j]);
                let chance = match level.chance {
                    Chance::Random => level.alpha,
                    Chance::Waxman { beta } => level.alpha * libm::exp(-d / (beta * diagonal)),
                    Chance::Exponential => level.alpha * libm::exp(-d / (diagonal - d)),
                };
                if draws.unit() < chance {
                    edges.push((i, j));
                }
            }
        }
        Self { at, edges }
    }

    /// Largest number of links on a shortest path between two nodes; `None` if two nodes have no path.
    pub(crate) fn diameter(&self) -> Option<u64> {
        let mut next = vec![vec![]; self.at.len()];
        for &(a, b) in &self.edges {
            next[a].push(b);
            next[b].push(a);
        }
        let mut most = 0;
        for from in 0..self.at.len() {
            let mut hops = vec![None; self.at.len()];
            hops[from] = Some(0);
            let mut order = vec![from];
            let mut done = 0;
            while let Some(&node) = order.get(done) {
                done += 1;
                for &other in &next[node] {
                    if hops[other].is_none() {
                        hops[other] = hops[node].map(|n: u64| n + 1);
                        order.push(other);
                    }
                }
            }
            if order.len() < self.at.len() {
                return None;
            }
            // Breadth first: the last one reached is a farthest one.
            most = most.max(order.last().and_then(|&last| hops[last]).unwrap_or(0));
        }
        Some(most)
    }
}

/// The Euclidean distance.
pub(crate) fn distance(a: (u64, u64), b: (u64, u64)) -> f64 {
    let square = |x: u64, y: u64| (x.abs_diff(y) * x.abs_diff(y)) as f64;
    (square(a.0, b.0) + square(a.1, b.1)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(n: usize, edges: &[(usize, usize)]) -> Flat {
        Flat { at: (0..n as u64).map(|i| (i, 0)).collect(), edges: edges.to_vec() }
    }

    #[test]
    fn the_diameter_of_a_row_is_its_links_that_of_a_ring_half_of_them_and_that_of_two_parts_none() {
        assert_eq!(graph(4, &[(0, 1), (1, 2), (2, 3)]).diameter(), Some(3));
        assert_eq!(graph(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)]).diameter(), Some(3));
        assert_eq!(graph(1, &[]).diameter(), Some(0));
        assert_eq!(graph(4, &[(0, 1), (2, 3)]).diameter(), None);
    }

    fn mean_edges(chance: Chance, alpha: f64) -> f64 {
        let mut draws = Stream::seeded(7);
        let level = Level { n: 20, chance, alpha };
        let edges = (0..400).map(|_| Flat::draw(level, 20, 100, &mut draws).edges.len()).sum::<usize>();
        edges as f64 / 400.0
    }

    #[test]
    fn a_random_graph_has_alpha_of_all_links() {
        // 190 pairs at 0.42: 79.8, standard error sqrt(190 * 0.42 * 0.58 / 400) = 0.34; five of them.
        assert!((mean_edges(Chance::Random, 0.42) - 79.8).abs() < 1.7);
        assert_eq!(mean_edges(Chance::Random, 1.0), 190.0);
    }

    #[test]
    fn far_nodes_are_less_often_joined_where_distance_counts() {
        // Two random points of a square of side a lie 0.5214 a apart in the mean (Santalo 1976, eq. 3.68), here 52.1, with
        // second moment a^2 / 3 and so a deviation of 24.8. With L = 141.4 and beta 10 the exponent is small, and to second
        // order the mean of exp(-x) is 1 - 0.0369 + (0.0369^2 + 0.0175^2) / 2 = 0.9639: 183.1 of 190 pairs.
        let waxman = mean_edges(Chance::Waxman { beta: 10.0 }, 1.0);
        assert!((waxman - 183.1).abs() < 1.0, "{waxman}");
        // exp(-d / (L - d)) is below exp(-d / L), Waxman's with beta 1.
        assert!(mean_edges(Chance::Exponential, 1.0) < mean_edges(Chance::Waxman { beta: 1.0 }, 1.0));
    }
}
