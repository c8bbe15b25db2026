//! Any bytes as the GraphML file of a scenario: an error, or a network whose rates, delays and costs are within the
//! format's limits.

use firstflight_scenario::{Network, limits, load};

use crate::scratch::holding;
use crate::{Form, Target, refused};

pub(crate) const TARGET: Target = Target {
    name: "graphml",
    about: "bytes of a GraphML file, read by a scenario: rates, delays and costs within their limits",
    run,
    longest: 64 << 10,
    form: Form::Text(&[
        "<graphml>",
        "</graphml>",
        "<graph edgedefault=\"directed\">",
        "<graph>",
        "</graph>",
        "<node id=\"a\">",
        "</node>",
        "<edge source=\"a\" target=\"b\">",
        "</edge>",
        "<data key=\"r\">",
        "</data>",
        "<key id=\"r\" for=\"edge\" attr.name=\"rate\"/>",
        "<key id=\"r\" for=\"edge\" attr.name=\"rate\"><default>1 Mbit/s</default></key>",
        "<!DOCTYPE graphml SYSTEM \"x\">",
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
        "<node id=\"a::b\">",
        "attr.name=\"LinkSpeedRaw\"",
        "attr.name=\"Latitude\"",
        "attr.name=\"Longitude\"",
        "attr.name=\"delay\"",
        "attr.name=\"cost\"",
        "attr.name=\"subnet\"",
        "attr.name=\"name\"",
        "10 Gbit/s",
        "0 bit/s",
        "1 ms",
        "NaN",
        "91",
        "1e308",
        "-180",
        "inf",
        "<!DOCTYPE x [",
        "<!ENTITY a \"b\">",
        "&a;",
        "<?xml version=\"1.0\"?>",
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
    ]),
};

const SCENARIO: &str = r#"
duration = "1 s"
[topology]
kind = "graphml"
file = "fuzz.graphml"
rate = "1 Gbit/s"
delay = "1 ms"
buffer = "100 packets"
"#;

fn run(bytes: &[u8]) {
    let folder = holding(&[("fuzz.graphml", bytes), ("fuzz.toml", SCENARIO.as_bytes())]);
    let loaded = match load(&folder.join("fuzz.toml")) {
        Ok(loaded) => loaded,
        Err(error) => return refused(error),
    };
    let Network::Graph(graph) = &loaded.scenario.network else { panic!("a file of a graph makes a graph") };
    assert!(graph.nodes.len() <= limits::NODES && graph.links.len() <= limits::LINKS);
    for link in &graph.links {
        assert!((1..=limits::RATE.0).contains(&link.rate.0), "{link:?}");
        assert!(link.delay <= limits::DELAY && link.cost <= limits::COST, "{link:?}");
        assert!(
            link.from < graph.nodes.len() && link.to < graph.nodes.len() && link.from != link.to,
            "{link:?}"
        );
    }
}
