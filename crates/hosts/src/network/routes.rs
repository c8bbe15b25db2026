//! Paths of least cost: E. Dijkstra, "A note on two problems in connexion with graphs", Numerische Mathematik 1, 1959.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use firstflight_scenario::Graph;

/// Paths of a graph; the tree of each sending node is computed once.
pub(super) struct Routes<'a> {
    graph: &'a Graph,
    /// Links that leave each node, in the order of the file.
    leaving: Vec<Vec<usize>>,
    /// For each sending node, the last link of the path to every other node.
    trees: BTreeMap<usize, Vec<Option<usize>>>,
}

impl<'a> Routes<'a> {
    pub(super) fn new(graph: &'a Graph) -> Self {
        let mut leaving = vec![vec![]; graph.nodes.len()];
        for (index, link) in graph.links.iter().enumerate() {
            leaving[link.from].push(index);
        }
        Self { graph, leaving, trees: BTreeMap::new() }
    }

    /// Path of least cost; ties are broken by the number of links, then by the order of the links in the
    /// file.
    pub(super) fn path(&mut self, from: usize, to: usize) -> Vec<usize> {
        let (graph, leaving) = (self.graph, &self.leaving);
        let came_by = self.trees.entry(from).or_insert_with(|| tree(graph, leaving, from));
        let mut path = vec![];
        let mut node = to;
        while node != from {
            let link = came_by[node].expect("a valid scenario connects the nodes of its flows");
            path.push(link);
            node = graph.links[link].from;
        }
        path.reverse();
        path
    }
}

fn tree(graph: &Graph, leaving: &[Vec<usize>], from: usize) -> Vec<Option<usize>> {
    let mut came_by = vec![None; graph.nodes.len()];
    // Cost, then number of links.
    let mut best = vec![(u64::MAX, u32::MAX); graph.nodes.len()];
    best[from] = (0, 0);
    // Of equal paths the one found first continues first.
    let mut found = 0;
    let mut open = BinaryHeap::from([Reverse((best[from], found, from))]);
    while let Some(Reverse((so_far, _, node))) = open.pop() {
        if so_far > best[node] {
            continue;
        }
        for &index in &leaving[node] {
            let link = &graph.links[index];
            let this_way = (so_far.0 + link.cost, so_far.1 + 1);
            if this_way < best[link.to] {
                best[link.to] = this_way;
                came_by[link.to] = Some(index);
                found += 1;
                open.push(Reverse((this_way, found, link.to)));
            }
        }
    }
    came_by
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstflight_scenario::{Network, parse};

    /// Path in a graph with these links, given as from, to and cost.
    fn path(links: &[(&str, &str, u64)], from: usize, to: usize) -> Vec<usize> {
        let node = |name| format!("[[node]]\nname = \"{name}\"\n");
        let link = |(index, &(from, to, cost)): (usize, &(&str, &str, u64))| {
            format!(
                "[[link]]\nname = \"l{index}\"\nfrom = \"{from}\"\nto = \"{to}\"\ncost = {cost}\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nbuffer = \"9 packets\"\n"
            )
        };
        let text: String =
            ["a", "b", "c", "d"].map(node).concat() + &links.iter().enumerate().map(link).collect::<String>();
        match parse(&text, "graph").expect("a graph").scenario.network {
            Network::Graph(graph) => Routes::new(&graph).path(from, to),
            Network::Dumbbell(_) => unreachable!("the file has nodes"),
        }
    }

    #[test]
    fn the_cheapest_path_is_taken_then_the_shortest_then_the_first_in_the_file() {
        let (a, d) = (0, 3);
        // Direct for 5, via b for 2 + 2, via c for 2 + 2: b comes first.
        let by_cost = [("a", "d", 5), ("a", "b", 2), ("a", "c", 2), ("c", "d", 2), ("b", "d", 2)];
        assert_eq!(path(&by_cost, a, d), [1, 4]);
        // Direct for 4 has the same cost and is shorter.
        assert_eq!(path(&[("a", "b", 2), ("b", "d", 2), ("a", "d", 4), ("a", "c", 1)], a, d), [2]);
        // The first of two equal links.
        assert_eq!(path(&[("a", "b", 1), ("b", "d", 1), ("b", "d", 1), ("c", "d", 1)], a, d), [0, 1]);
        // A detour over many cheap links.
        assert_eq!(path(&[("a", "d", 9), ("a", "b", 1), ("b", "c", 1), ("c", "d", 1)], a, d), [1, 2, 3]);
    }

    #[test]
    fn with_policy_routing_stub_domains_carry_only_their_own_traffic() {
        let text = "duration = \"1 s\"\n[topology]\nkind = \"transit-stub\"\ntop = { n = 2 }\ntransit = { n = 4 }\nts_edges = 9\nss_edges = 9\nrouting = ";
        // Number of paths between stub nodes that cross a third stub domain or leave their common domain.
        let strays = |routing: &str| {
            let scenario = parse(&format!("{text}\"{routing}\""), "graph").expect("a scenario").scenario;
            let Network::Graph(graph) = scenario.network else { unreachable!("a topology is a graph") };
            let mut routes = Routes::new(&graph);
            let domain = |node: usize| graph.nodes[node].subnet.as_deref().unwrap_or_default();
            let stubs: Vec<usize> =
                (0..graph.nodes.len()).filter(|&i| domain(i).starts_with("s-")).step_by(5).collect();
            let ends = stubs.iter().flat_map(|&a| stubs.iter().map(move |&b| (a, b)));
            ends.filter(|&(a, b)| {
                let mut on_the_way = routes.path(a, b).into_iter().map(|link| domain(graph.links[link].to));
                on_the_way.any(|at| {
                    let own = at == domain(a) || at == domain(b);
                    !own && (at.starts_with("s-") || domain(a) == domain(b))
                })
            })
            .count()
        };
        assert_eq!(strays("policy"), 0);
        // With equal costs for all links such paths exist.
        assert!(strays("hops") > 0);
    }
}
