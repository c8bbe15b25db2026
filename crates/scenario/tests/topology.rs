//! Generated graphs: the three-router network and transit-stub graphs.

use std::collections::{BTreeMap, BTreeSet};

use firstflight_contract::{Nanos, Rate};
use firstflight_scenario::*;

fn read(topology: &str) -> (Graph, Scenario) {
    let text =
        format!("duration = \"20 s\"\n[packet]\nsize = \"1000 B\"\n[topology]\n{topology}\n[[flow]]\n");
    let scenario = parse(&text, "graph.toml").unwrap_or_else(|error| panic!("{error}")).scenario;
    match &scenario.network {
        Network::Graph(graph) => (graph.clone(), scenario),
        other => panic!("{other:?}"),
    }
}

fn refused(topology: &str) -> String {
    let text = format!("duration = \"20 s\"\n[topology]\n{topology}\n[[flow]]\n");
    parse(&text, "graph.toml").unwrap_err().to_string()
}

#[test]
fn the_three_router_network_is_that_of_yu_and_newman_where_nothing_is_said() {
    let (graph, scenario) = read("kind = \"three-router\"\n[topology.cross]\nname = \"x\"");
    let names: Vec<_> = graph.nodes.iter().map(|node| &node.name[..]).collect();
    let hosts =
        ["c1", "c2", "c3", "c4", "c5", "xs1", "xs2", "xs3", "xs4", "xs5", "xc1", "xc2", "xc3", "xc4", "xc5"];
    assert_eq!(names, [&["s", "r1", "r2", "r3"], &hosts[..]].concat());
    // Figure 2: the server and the sources at r1, the clients at r3, the sinks at r2.
    let at = |name: &str| match name.trim_end_matches(char::is_numeric) {
        "s" | "xs" => "r1",
        "xc" => "r2",
        _ => "r3",
    };
    let expected: BTreeSet<_> =
        ["s"].iter().chain(&hosts).map(|host| format!("{}-{host}", at(host))).collect();
    let down = graph.links.iter().filter(|link| (1..4).contains(&link.from) && !(1..4).contains(&link.to));
    assert_eq!(down.map(|link| link.name.clone()).collect::<BTreeSet<_>>(), expected);
    // 20 Mbit/s and 50 ms between routers, 50 packets everywhere, each link both ways.
    let core: Vec<_> = graph.links.iter().filter(|link| link.name.matches('r').count() == 2).collect();
    let links: Vec<_> = core.iter().map(|link| &link.name[..]).collect();
    assert_eq!(links, ["r1-r2", "r2-r1", "r2-r3", "r3-r2"]);
    assert!(core.iter().all(|link| (link.rate, link.delay) == (Rate(20_000_000), Nanos::from_millis(50))));
    assert!(
        graph.links.iter().all(|link| link.buffer == Limit::Packets(50) && link.queue == Queue::DropTail)
    );
    assert_eq!(graph.links.len(), 2 * (2 + 1 + 15));
    // An end of a flow is its host: a burst reaches the host's own queue at once.
    assert!(graph.nodes.iter().all(|node| node.access_rate == Rate(100_000_000_000_000)));
    // The server sends to a client, cross traffic from each source to its own sink.
    let pairs = |from: [usize; 5], to: [usize; 5]| Endpoints::Pairs(from.into_iter().zip(to).collect());
    assert_eq!(scenario.flows[0].endpoints, pairs([0; 5], [4, 5, 6, 7, 8]));
    assert_eq!(scenario.flows[1].name, "x");
    assert_eq!(scenario.flows[1].endpoints, pairs([9, 10, 11, 12, 13], [14, 15, 16, 17, 18]));
}

#[test]
fn the_parts_of_a_three_router_network_can_be_set() {
    let (graph, scenario) = read(
        "kind = \"three-router\"\nclients = 1\npairs = 2\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\nside_rate = \"9 Mbit/s\"\n\
         side_delay = \"5 ms\"\naccess_rate = \"7 Mbit/s\"\nbuffer = \"1 BDP\"\nloss = 0.01",
    );
    assert_eq!(graph.nodes.len(), 4 + 1 + 2 * 2);
    assert!(graph.nodes.iter().all(|node| node.access_rate == Rate(7_000_000)));
    // 8 Mbit/s x 2 x (5 + 20 + 20 + 5) ms = 100 000 bytes: 100 packets.
    assert!(graph.links.iter().all(|link| link.buffer == Limit::Packets(100)));
    let lossy: Vec<_> = graph.links.iter().filter(|link| link.loss > 0.0).map(|link| link.delay.0).collect();
    assert_eq!(lossy, [20_000_000; 4]);
    assert!(graph.links.iter().filter(|link| link.loss == 0.0).all(|link| link.rate == Rate(9_000_000)));
    assert_eq!(scenario.flows[0].endpoints, Endpoints::Nodes { from: 0, to: 4 });
}

/// Number of nodes in each subnet of a graph.
fn subnets(graph: &Graph) -> BTreeMap<&str, u64> {
    let mut sizes = BTreeMap::new();
    for node in &graph.nodes {
        *sizes.entry(node.subnet.as_deref().expect("every node is in a domain")).or_default() += 1;
    }
    sizes
}

#[test]
fn a_transit_stub_graph_has_as_many_nodes_as_gt_itm_says() {
    // Top x transit x (1 + stubs x stub).
    let (small, _) = read("kind = \"transit-stub\"");
    assert_eq!(small.nodes.len(), 8 * (1 + 4 * 6));
    let (large, _) = read("kind = \"transit-stub\"\ntop = { n = 3 }\nstubs = 3\nstub = { n = 8 }");
    assert_eq!(large.nodes.len(), 3 * 8 * (1 + 3 * 8));
    // Hosts are behind the nodes: ten times as fast as the links, if nothing is said.
    assert!(small.nodes.iter().all(|node| node.access_rate == Rate(100_000_000)));
    let (given, _) = read("kind = \"transit-stub\"\naccess_rate = \"3 Mbit/s\"");
    assert!(given.nodes.iter().all(|node| node.access_rate == Rate(3_000_000)));
    for (graph, domains, stubs) in [(&small, 1, 8 * 4), (&large, 3, 3 * 8 * 3)] {
        let sizes = subnets(graph);
        assert_eq!(sizes.keys().filter(|name| name.starts_with("t-")).count(), domains);
        assert_eq!(sizes.keys().filter(|name| name.starts_with("s-")).count(), stubs);
        // Sizes are spread about their mean.
        assert!(sizes.values().collect::<BTreeSet<_>>().len() > 2, "{sizes:?}");
    }
}

#[test]
fn every_node_reaches_every_other_and_a_stub_domain_hangs_on_one_link() {
    for seed in 1..6 {
        let (graph, _) = read(&format!("kind = \"transit-stub\"\nseed = {seed}"));
        assert!((1..graph.nodes.len()).all(|node| graph.reaches(0, node) && graph.reaches(node, 0)));
        let subnet = |node: usize| graph.nodes[node].subnet.as_deref().unwrap();
        for stub in subnets(&graph).keys().filter(|name| name.starts_with("s-")) {
            let out =
                graph.links.iter().filter(|link| subnet(link.from) == *stub && subnet(link.to) != *stub);
            let to: Vec<_> = out.map(|link| &graph.nodes[link.to].name[..]).collect();
            // Stub domain s-0-3-1 hangs on transit node t-0-3.
            let transit = format!("t-{}", stub[2..].rsplit_once('-').unwrap().0);
            assert_eq!(to, [transit]);
        }
    }
}

#[test]
fn with_every_chance_one_the_links_can_be_counted() {
    let (graph, _) = read(
        "kind = \"transit-stub\"\ntop = { n = 2 }\ntransit = { n = 5, alpha = 1 }\nstub = { n = 5, alpha = 1 }",
    );
    // All pairs of each domain, one link for each stub domain, and between the two transit domains one drawn from either
    // side, which may be the same.
    let inside: u64 = subnets(&graph).values().map(|n| n * (n - 1) / 2).sum();
    let stubs = 2 * 5 * 4;
    let two_way = graph.links.len() as u64 / 2;
    assert!((inside + stubs + 1..=inside + stubs + 2).contains(&two_way), "{two_way}");
    let (more, _) = read(
        "kind = \"transit-stub\"\ntop = { n = 2 }\ntransit = { n = 5, alpha = 1 }\nstub = { n = 5, alpha = 1 }\nts_edges = 7\nss_edges = 9",
    );
    let extra = more.links.len() as u64 / 2 - two_way;
    assert!((14..=16).contains(&extra), "{extra}");
}

#[test]
fn a_graph_of_100_nodes_is_as_dense_as_the_one_gt_itm_made_for_ns_2() {
    // ns-2.35's tcl/ex/hts100-0.tcl, "100 386 transtub(0,3,0,0,{4,89,3,1.000},{1,44,3,0.600},{8,46,3,0.420})": 193 links, of
    // which 6 between transit domains are there twice. Over ten seeds the mean is within three standard errors if one
    // graph's deviation is 10, the square root of what 12 stub domains of 28 pairs vary at 0.42, and as much for their sizes.
    let links = |seed| {
        let kind =
            "kind = \"transit-stub\"\nstubs = 3\ntop = { n = 4 }\ntransit = { n = 1 }\nstub = { n = 8 }";
        read(&format!("{kind}\nseed = {seed}")).0.links.len() as f64 / 2.0
    };
    let mean = (1..=10).map(links).sum::<f64>() / 10.0;
    assert!((mean - 187.0).abs() < 3.0 * 10.0 * (1.0 + 0.1_f64).sqrt(), "{mean}");
}

#[test]
fn a_seed_makes_one_graph_and_another_makes_another() {
    let graph = |seed: u64| read(&format!("kind = \"transit-stub\"\nseed = {seed}")).0;
    assert_eq!(graph(3), graph(3));
    assert_ne!(graph(3), graph(4));
    // The seed of the run is not that of the graph.
    let text = "seed = 7\nduration = \"20 s\"\n[topology]\nkind = \"transit-stub\"\nseed = 3\n[[flow]]\n";
    assert_eq!(parse(text, "").unwrap().scenario.network, Network::Graph(graph(3)));
}

#[test]
fn delays_follow_distances_or_a_distribution() {
    let (far, _) = read("kind = \"transit-stub\"\ndelay = \"10 ms\"");
    // A plane of side sqrt(200 x 80) = 126 units: whole units, and none beyond its diagonal of 179.
    assert!(far.links.iter().all(|link| link.delay.0 % 10_000_000 == 0 && link.delay.0 <= 1_790_000_000));
    let mean = far.links.iter().map(|link| link.delay.0 as f64 / 1e7).sum::<f64>() / far.links.len() as f64;
    // Nearly all links lie in stub domains, squares of side 68: 4 + 3 (8 + 3) = 37 stub domains at most, 6 + 3 x 37 = 117 nodes,
    // sqrt(16 x 117) = 43. Two random points of a square of side a lie 0.5214 a apart: 22.6.
    assert!((19.0..30.0).contains(&mean), "{mean}");
    let (even, _) = read("kind = \"transit-stub\"\ndelay = { uniform = [\"1 ms\", \"3 ms\"] }");
    assert!(even.links.iter().all(|link| (1_000_000..=3_000_000).contains(&link.delay.0)));
    for pair in even.links.chunks(2) {
        assert_eq!((pair[0].from, pair[0].to, pair[0].delay), (pair[1].to, pair[1].from, pair[1].delay));
    }
}

#[test]
fn the_cost_of_a_link_is_its_policy_weight_or_one_or_its_delay() {
    let with = |routing: &str| {
        let kind = "kind = \"transit-stub\"\ntop = { n = 2, alpha = 1 }\ntransit = { n = 3, alpha = 1 }";
        read(&format!("{kind}\nstub = {{ n = 3, alpha = 1 }}\nss_edges = 20\nrouting = \"{routing}\"")).0
    };
    let graph = with("policy");
    let subnet = |node: usize| graph.nodes[node].subnet.as_deref().unwrap();
    // Every diameter is 1: W_tt = 1/2 + 1 = 1, W_ts = (1 x 1)/2 + 1 + (2 x 1)/2 + 1 = 1 + 2 = 3, W_ss = 1 + 2 x 3 = 7.
    for link in &graph.links {
        let (from, to) = (subnet(link.from), subnet(link.to));
        let weight = match [from, to].map(|name| &name[..1]) {
            _ if from == to => 1,
            ["t", "t"] => 1,
            ["s", "s"] => 7,
            _ => 3,
        };
        assert_eq!(link.cost, weight, "{}", link.name);
    }
    assert!(with("hops").links.iter().all(|link| link.cost == 1));
    assert!(with("delay").links.iter().all(|link| link.cost == link.delay.0.max(1)));
}

#[test]
fn cross_traffic_runs_between_random_stub_nodes_of_two_domains() {
    let (graph, scenario) = read(
        "kind = \"transit-stub\"\npairs = 40\n[topology.cross]\nstart = { exponential = \"1 s\" }\ncount = 9",
    );
    let Endpoints::Pairs(pairs) = &scenario.flows[1].endpoints else { panic!("{:?}", scenario.flows[1]) };
    assert_eq!(pairs.len(), 40);
    let subnet = |node: usize| graph.nodes[node].subnet.as_deref().unwrap();
    assert!(
        pairs.iter().all(|&(a, b)| subnet(a) != subnet(b)
            && subnet(a).starts_with('s')
            && subnet(b).starts_with('s'))
    );
    // A flow without ends of its own: from the first transit node to any stub node.
    let Endpoints::Pairs(pairs) = &scenario.flows[0].endpoints else { panic!("{:?}", scenario.flows[0]) };
    assert_eq!(pairs.len(), 8 * 4 * 6);
    assert!(pairs.iter().all(|&(from, _)| graph.nodes[from].name == "t-0-0"));
}

#[test]
fn flows_call_nodes_by_name_by_subnet_or_by_what_subnets_begin_with() {
    let ends = |from: &str, to: &str| {
        let text = format!(
            "duration = \"20 s\"\n[topology]\nkind = \"transit-stub\"\n[[flow]]\nfrom = {from}\nto = {to}\n"
        );
        let scenario = parse(&text, "graph.toml").map_err(|error| error.to_string())?.scenario;
        let Network::Graph(graph) = scenario.network else { unreachable!() };
        let name = |node: usize| graph.nodes[node].name.clone();
        Ok::<_, String>(match &scenario.flows[0].endpoints {
            Endpoints::Pairs(pairs) => pairs.iter().map(|&(a, b)| (name(a), name(b))).collect::<Vec<_>>(),
            &Endpoints::Nodes { from, to } => vec![(name(from), name(to))],
            Endpoints::Path(_) => unreachable!(),
        })
    };
    assert_eq!(ends("\"t-0-0\"", "\"s-0-0-0-0\"").unwrap(), [("t-0-0".into(), "s-0-0-0-0".into())]);
    let domain = ends("\"t-0-1\"", "\"s-0-2-0\"").unwrap();
    assert!(domain.len() > 1 && domain.iter().all(|(_, to)| to.starts_with("s-0-2-0-")));
    assert_eq!(ends("\"t-0-0\"", "\"s\"").unwrap().len(), 192);
    let paired = ends("[\"t-0-0\", \"t-0-1\"]", "[\"t-0-2\", \"t-0-3\"]").unwrap();
    assert_eq!(paired, [("t-0-0".into(), "t-0-2".into()), ("t-0-1".into(), "t-0-3".into())]);
    assert_eq!(
        ends("[\"t-0-0\", \"t-0-1\"]", "[\"t-0-2\", \"t-0-3\", \"t-0-4\"]").unwrap_err(),
        "graph.toml:4:1: flow[0]: from has 2 nodes and to has 3; expected one node, or equal numbers"
    );
    assert_eq!(
        ends("[\"t-0-0\", \"t-0-91\"]", "\"s\"").unwrap_err(),
        "graph.toml:5:18: flow[0].from[1] = \"t-0-91\": there is no \"t-0-91\"; expected the name of a node or of a subnet; did you mean \"t-0-1\"?"
    );
}

#[test]
fn graphs_that_cannot_be_made_are_refused() {
    for (topology, message) in [
        (
            "kind = \"transit-stub\"\nstub = { n = 20, alpha = 0.01 }",
            "graph.toml:4:8: topology.stub = { n = 20, alpha = 0.01 }: none of a hundred graphs at level \"stub\" was connected: its alpha is too small",
        ),
        (
            "kind = \"transit-stub\"\nstubs = 90",
            "graph.toml:4:9: topology.stubs = 90: this makes 4328 nodes; the limit is 2000",
        ),
        (
            "kind = \"transit-stub\"\ntransit = { n = 1 }\nts_edges = 1",
            "graph.toml:5:12: topology.ts_edges = 1: ts_edges need at least two transit nodes",
        ),
        (
            "kind = \"transit-stub\"\ntransit = { n = 1 }\nstubs = 1\nss_edges = 1",
            "graph.toml:6:12: topology.ss_edges = 1: ss_edges and cross need at least two stub domains",
        ),
        (
            "kind = \"transit-stub\"\nstub = { alpha = 0 }",
            "graph.toml:4:18: topology.stub.alpha = 0: out of range; expected a number from 0 (exclusive) to 1",
        ),
        (
            "kind = \"three-router\"\nclients = 0",
            "graph.toml:4:11: topology.clients = 0: out of range; expected a whole number from 1 to 500",
        ),
        (
            "kind = \"three-router\"\n[topology.cross]\nto = \"c\"",
            "graph.toml:5:6: topology.cross.to = \"c\": the topology defines the endpoints of its cross traffic",
        ),
    ] {
        assert_eq!(refused(topology), message);
    }
}
