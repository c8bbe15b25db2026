//! Generated networks carry traffic, and their flows are grouped by bottleneck.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use firstflight_contract::Nanos;
use firstflight_hosts::network::build;
use firstflight_hosts::progress::Silent;
use firstflight_hosts::run::{RunOptions, run};
use firstflight_hosts::simulator::Simulator;
use firstflight_results::RunResult;
use firstflight_scenario::{Loaded, load, parse};

const GRID: Nanos = Nanos::from_secs(1);

fn scenario(name: &str) -> Loaded {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    load(&folder.join(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn result(loaded: &Loaded) -> RunResult {
    run(&Simulator, loaded, &RunOptions { grid: GRID, ..RunOptions::default() }, &Silent)
        .unwrap_or_else(|error| panic!("{error}"))
        .result
}

/// Clusters of a group's flows.
fn clusters(loaded: &Loaded, group: &str) -> BTreeSet<String> {
    let built = build(&loaded.scenario, 1, GRID).expect("the simulator can run it");
    let flows = built.network.flows.iter().zip(&built.site);
    let of_group = flows.filter(|(flow, _)| flow.name.starts_with(group));
    of_group.map(|(_, site)| site.cluster.clone()).collect()
}

#[test]
fn the_links_between_the_three_routers_are_the_bottleneck() {
    let loaded = scenario("three-router.toml");
    let result = result(&loaded);
    let used = |name: &str| result.links.iter().find(|link| link.name == name).expect("a link").utilization;
    // Both groups share r1-r2, and only traffic to clients continues to r3; every other link is ten times as
    // fast.
    assert!(used("r1-r2") > 0.5 && used("r1-r2") > used("r2-r3") && used("r2-r3") > used("s-r1"));
    assert!(result.flows.iter().filter(|flow| flow.delivered_packets > 0).count() > 60);
    assert_eq!(clusters(&loaded, "client"), ["s>c/".to_string()].into());
    assert_eq!(clusters(&loaded, "cross"), ["xs/>xc/".to_string()].into());
}

#[test]
fn flows_to_one_stub_domain_of_a_transit_stub_graph_share_a_cluster() {
    let loaded = scenario("transit-stub.toml");
    let result = result(&loaded);
    assert!(result.flows.iter().filter(|flow| flow.delivered_packets > 0).count() > 50);
    let built = build(&loaded.scenario, 1, GRID).expect("the simulator can run it");
    for (flow, site) in built.network.flows.iter().zip(&built.site) {
        let last = built.network.links[flow.forward[flow.forward.len() - 2]].name.clone();
        let (_, to) = site.cluster.split_once('>').expect("derived from the topology");
        // The flow's last named link leads to a node of the subnet: t-0-1-s-0-1-2-3 to s-0-1-2.
        assert!(
            last.rsplit_once('-').is_some_and(|(link, _)| link.ends_with(to.trim_end_matches('/'))),
            "{last} {to}"
        );
    }
}

#[test]
fn a_dumbbell_is_one_cluster_per_direction_unless_a_cluster_is_given() {
    let text = "duration = \"1 s\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"10 ms\"\nbuffer = \"9 packets\"\n\
                [[flow]]\nname = \"there\"\n[[flow]]\nname = \"back\"\ndirection = \"reverse\"\n\
                [[flow]]\nname = \"said\"\ncluster = \"site-a\"\n";
    let loaded = parse(text, "text").expect("a scenario");
    let of = |group| clusters(&loaded, group).into_iter().next().expect("a flow");
    assert_eq!([of("there"), of("back"), of("said")], [">forward", ">reverse", "site-a"]);
}

#[test]
fn a_graph_from_a_file_has_the_delays_of_its_distances() {
    let loaded = scenario("graphml.toml");
    let built = build(&loaded.scenario, 1, GRID).expect("the simulator can run it");
    // Seattle, Denver, Chicago, Boston: 1640.7 + 1477.7 + 1365.5 km by the law of cosines, 44.839 ms round
    // trip in fibre; at 40 Mbit/s 149.46 packets of 1500 bytes.
    assert!((built.bdp[0] - 149.46).abs() < 0.01, "{}", built.bdp[0]);
    let crossed: Vec<&str> =
        built.network.flows[1].forward.iter().map(|&link| &built.network.links[link].name[..]).collect();
    assert_eq!(crossed[1..3], ["boston-chicago", "chicago-houston"]);
    assert!(result(&loaded).flows.iter().all(|flow| flow.completion_s.is_some()));
}

#[test]
fn a_scheme_that_needs_other_connections_is_refused_if_its_flows_are_alone() {
    let loaded = |count: u32, startup: &str| {
        let ends = "from = \"r\"\nto = [\"b\", \"c\"]\n";
        let link = |to: &str| {
            format!(
                "[[link]]\nfrom = \"r\"\nto = \"{to}\"\nboth = true\nrate = \"1 Mbit/s\"\ndelay = \"9 ms\"\nbuffer = \"9 packets\"\n"
            )
        };
        let nodes = ["r", "b", "c"].map(|name| format!("[[node]]\nname = \"{name}\"\n")).concat();
        let flow = format!("[[flow]]\ncount = {count}\nstartup = \"{startup}\"\n{ends}");
        let text = format!("duration = \"1 s\"\n{nodes}{}{}{flow}", link("b"), link("c"));
        parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}")).scenario
    };
    // The seed decides the number of flows per destination: of 2 flows 2 or 1 + 1, of 3 flows 3 or 2 + 1.
    let mut met = BTreeSet::new();
    for (count, seed) in [2, 3].into_iter().flat_map(|count| (1..=8).map(move |seed| (count, seed))) {
        let mut sizes: BTreeMap<String, u32> = BTreeMap::new();
        for site in build(&loaded(count, "slow-start"), seed, GRID).expect("slow start has no needs").site {
            *sizes.entry(site.cluster).or_default() += 1;
        }
        let refused = build(&loaded(count, "liss"), seed, GRID).err().map(|refusal| refusal.key);
        let largest = sizes.into_values().max();
        assert_eq!(refused, (largest == Some(1)).then(|| "flow[0].startup".to_string()), "{count}, {seed}");
        met.insert((count, largest));
    }
    assert_eq!(met.len(), 4, "{met:?}");
}

#[test]
fn datagrams_without_ends_go_to_one_random_node_of_the_topology() {
    let text = "duration = \"1 s\"\n[topology]\nkind = \"three-router\"\nclients = 3\n[[udp]]\nrate = \"1 Mbit/s\"\n";
    let loaded = parse(text, "").unwrap_or_else(|error| panic!("{error}"));
    let ends: BTreeSet<String> = (0..50)
        .map(|seed| {
            let network = build(&loaded.scenario, seed, GRID).expect("the simulator can run it").network;
            let names: Vec<&str> =
                network.udp[0].path.iter().map(|&link| &*network.links[link].name).collect();
            assert_eq!(names[..3], ["s-r1", "r1-r2", "r2-r3"]);
            names[3].to_owned()
        })
        .collect();
    assert_eq!(ends, ["r3-c1", "r3-c2", "r3-c3"].map(String::from).into());
}
