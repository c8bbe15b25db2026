//! Graphs: declared link by link, and generated.

use firstflight_contract::{Nanos, Rate};
use firstflight_scenario::*;

const TRIANGLE: &str = r#"
duration = "20 s"
[packet]
size = "1000 B"
[[node]]
name = "a"
[[node]]
name = "b"
access_rate = "2 Gbit/s"
[[node]]
name = "c"
[[link]]
from = "a"
to = "b"
both = true
rate = "10 Mbit/s"
delay = "5 ms"
buffer = "20 packets"
[[link]]
name = "up"
from = "b"
to = "c"
rate = "20 Mbit/s"
delay = "0 ms"
buffer = "64 KiB"
queue = { kind = "red", min = "2.5 packets", max = "10 KB", ecn = true }
loss = 0.01
[[link]]
from = "c"
to = "b"
rate = "1 Mbit/s"
delay = "1 ms"
buffer = "20 packets"
[[flow]]
from = "a"
to = "c"
[[udp]]
rate = "1 Mbit/s"
from = "c"
to = "a"
"#;

fn graph(text: &str) -> (Graph, Scenario) {
    let scenario = parse(text, "graph.toml").unwrap().scenario;
    match &scenario.network {
        Network::Graph(graph) => (graph.clone(), scenario),
        other => panic!("{other:?}"),
    }
}

fn refused(text: &str) -> String {
    parse(text, "graph.toml").unwrap_err().to_string()
}

#[test]
fn links_are_one_way_unless_they_are_both() {
    let (graph, scenario) = graph(TRIANGLE);
    let ends: Vec<_> = graph.links.iter().map(|link| (&link.name[..], link.from, link.to)).collect();
    assert_eq!(ends, [("a-b", 0, 1), ("b-a", 1, 0), ("up", 1, 2), ("c-b", 2, 1)]);
    assert_eq!(graph.links[0].delay, graph.links[1].delay);
    assert_eq!(graph.links[2].buffer, Limit::Bytes(65_536));
    assert_eq!(graph.links[2].loss, 0.01);
    let red =
        Red { min: 2.5, max: 10.0, weight: 0.002, max_p: 0.1, gentle: true, ecn: true, mean_packet: None };
    assert_eq!(graph.links[2].queue, Queue::Red(red));
    assert_eq!(scenario.flows[0].endpoints, Endpoints::Nodes { from: 0, to: 2 });
    assert_eq!(scenario.udp[0].endpoints, Endpoints::Nodes { from: 2, to: 0 });
}

#[test]
fn a_node_is_reached_ten_times_as_fast_as_its_fastest_link_unless_it_says_otherwise() {
    let (graph, _) = graph(TRIANGLE);
    let rates: Vec<_> = graph.nodes.iter().map(|node| node.access_rate).collect();
    assert_eq!(rates, [Rate(100_000_000), Rate(2_000_000_000), Rate(200_000_000)]);
}

#[test]
fn a_flow_whose_acks_have_no_way_back_is_refused() {
    let one_way = TRIANGLE.replace("from = \"c\"\nto = \"b\"", "name = \"c-b\"\nfrom = \"a\"\nto = \"c\"");
    assert_eq!(refused(&one_way), "graph.toml:35:1: flow[0]: no links lead from \"c\" to \"a\"");
}

#[test]
fn impossible_graphs_are_refused() {
    for (from, to, message) in [
        (
            "to = \"c\"\nrate",
            "to = \"d\"\nrate",
            "graph.toml:22:6: link[1].to = \"d\": there is no \"d\"; expected the name of a [[node]]",
        ),
        (
            "to = \"c\"\nrate",
            "to = \"b\"\nrate",
            "graph.toml:22:6: link[1].to = \"b\": a link leads from one node to another",
        ),
        (
            "name = \"c\"\n",
            "name = \"b\"\n",
            "graph.toml:11:8: node[2].name = \"b\": there is another node of this name",
        ),
        (
            "name = \"up\"",
            "name = \"a-b\"",
            "graph.toml:1:1: two links are named \"a-b\"; expected a name for each",
        ),
        (
            "buffer = \"64 KiB\"",
            "buffer = \"1 BDP\"",
            "graph.toml:25:10: link[1].buffer = \"1 BDP\": a single link has no BDP: give packets or bytes",
        ),
        (
            "min = \"2.5 packets\", ",
            "",
            "graph.toml:26:9: link[1].queue.min: missing; expected a threshold such as \"5 packets\", \"10 KB\" or \"0.1 BDP\"",
        ),
        (
            "queue = { kind = \"red\", min = \"2.5 packets\", max = \"10 KB\", ecn = true }",
            "queue = \"red\"",
            "graph.toml:26:9: link[1].queue = \"red\": a single link has no BDP, so red needs min and max: give them in a table",
        ),
        (
            "[[udp]]",
            "[[node]]\nname = \"d\"\n[[udp]]",
            "graph.toml:37:1: node[3]: no link reaches or leaves \"d\"",
        ),
        (
            "from = \"a\"\nto = \"c\"\n[[udp]]",
            "to = \"c\"\n[[udp]]",
            "graph.toml:34:1: flow[0].from: missing; expected a name of 1 to 64 letters, digits, \"-\" and \"_\", or an array of these",
        ),
        (
            "from = \"a\"\nto = \"c\"\n[[udp]]",
            "from = \"c\"\nto = \"c\"\n[[udp]]",
            "graph.toml:34:1: flow[0]: its from and to are the same node, \"c\"; expected two nodes",
        ),
        (
            "from = \"a\"\nto = \"c\"\n[[udp]]",
            "direction = \"reverse\"\n[[udp]]",
            "graph.toml:35:13: flow[0].direction = \"reverse\": a graph has no direction: use from and to",
        ),
    ] {
        assert!(TRIANGLE.contains(from), "{from}");
        assert_eq!(refused(&TRIANGLE.replacen(from, to, 1)), message);
    }
}

const PARKING_LOT: &str = r#"
duration = "20 s"
[packet]
size = "1000 B"
[topology]
kind = "parking-lot"
hops = 3
rate = "8 Mbit/s"
rtt = "100000001 ns"
buffer = "0.5 BDP"
queue = "red"
[topology.cross]
count = 2
avoidance = "reno"
[[flow]]
name = "long"
[[flow]]
name = "short"
from = "r1"
to = "r0"
"#;

#[test]
fn a_parking_lot_is_a_row_of_routers_with_flows_that_cross_each_hop() {
    let (graph, scenario) = graph(PARKING_LOT);
    let names: Vec<_> = graph.nodes.iter().map(|node| &node.name[..]).collect();
    assert_eq!(names, ["r0", "r1", "r2", "r3"]);
    let links: Vec<_> = graph.links.iter().map(|link| &link.name[..]).collect();
    assert_eq!(links, ["r0-r1", "r1-r0", "r1-r2", "r2-r1", "r2-r3", "r3-r2"]);
    // 8 Mbit/s x 100.000001 ms = 100 000.001 bytes: half of them are 50 packets, a tenth 10, three tenths 30.
    assert!(graph.links.iter().all(|link| link.buffer == Limit::Packets(50)));
    let red =
        Red { min: 10.0, max: 30.0, weight: 0.002, max_p: 0.1, gentle: true, ecn: false, mean_packet: None };
    assert!(graph.links.iter().all(|link| link.queue == Queue::Red(red)));

    let flows: Vec<_> = scenario.flows.iter().map(|f| (&f.name[..], f.count, f.endpoints.clone())).collect();
    let nodes = |from, to| Endpoints::Nodes { from, to };
    assert_eq!(
        flows,
        [
            ("long", Some(1), nodes(0, 3)),
            ("short", Some(1), nodes(1, 0)),
            ("cross0", Some(2), nodes(0, 1)),
            ("cross1", Some(2), nodes(1, 2)),
            ("cross2", Some(2), nodes(2, 3)),
        ]
    );
}

#[test]
fn the_hops_of_a_parking_lot_share_its_rtt_to_the_nanosecond() {
    let (graph, _) = graph(PARKING_LOT);
    let way =
        |parity: usize| graph.links.iter().skip(parity).step_by(2).map(|link| link.delay.0).sum::<u64>();
    assert_eq!((way(0), way(1)), (50_000_000, 50_000_001));
    // 50 000 000 / 3 = 16 666 666.67
    assert!(graph.links.iter().all(|link| link.delay.0.abs_diff(16_666_667) <= 1), "{:?}", graph.links);
    assert_eq!(graph.links[0].delay, Nanos(16_666_666));
}

#[test]
fn topologies_and_keys_that_make_no_sense_are_refused() {
    for (from, to, message) in [
        (
            "\"parking-lot\"",
            "\"parkinglot\"",
            "graph.toml:6:8: topology.kind = \"parkinglot\": there is no \"parkinglot\"; expected one of: parking-lot, three-router, transit-stub, graphml; did you mean \"parking-lot\"?",
        ),
        (
            "kind = \"parking-lot\"\n",
            "",
            "graph.toml:5:1: topology.kind: missing; expected one of: parking-lot, three-router, transit-stub, graphml",
        ),
        (
            "hops = 3",
            "hops = 3\nclients = 3",
            "graph.toml:8:1: topology.clients = 3: no such key; expected one of: kind, hops, rate, rtt, buffer, queue, loss, access_rate, cross",
        ),
        (
            "hops = 3",
            "hops = 0",
            "graph.toml:7:8: topology.hops = 0: out of range; expected a whole number from 1 to 500",
        ),
        (
            "count = 2",
            "from = \"r0\"",
            "graph.toml:13:8: topology.cross.from = \"r0\": the topology defines the endpoints of its cross traffic",
        ),
        (
            "count = 2",
            "count = 50000",
            "graph.toml:13:9: topology.cross.count = 50000: these make 100002 flows in all; the limit is 100000",
        ),
        (
            "from = \"r1\"",
            "from = \"r4\"",
            "graph.toml:19:8: flow[1].from = \"r4\": there is no \"r4\"; expected the name of a node or of a subnet; did you mean \"r0\"?",
        ),
    ] {
        assert!(PARKING_LOT.contains(from), "{from}");
        assert_eq!(refused(&PARKING_LOT.replacen(from, to, 1)), message);
    }
}
