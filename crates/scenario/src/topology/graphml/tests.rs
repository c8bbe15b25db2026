//! Files as GraphML's specification and its writers have them.

use super::scan::DEEPEST;
use super::*;

const HEAD: &str = r#"<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="edge" attr.name="rate" attr.type="string"/>
<key id="d1" for="edge" attr.name="delay" attr.type="string"/>
<key id="d2" for="node" attr.name="Latitude" attr.type="double"/>
<key id="d3" for="node" attr.name="Longitude" attr.type="double"/>
<key id="d4" for="edge" attr.name="LinkSpeedRaw" attr.type="double"/>
<key id="d5" for="edge" attr.name="cost" attr.type="int"/>
<graph edgedefault="undirected">
"#;

fn read(body: &str) -> Result<Drawing, String> {
    parse(&format!("{HEAD}{body}</graph></graphml>"), "net.graphml").map_err(|error| error.to_string())
}

#[test]
fn edges_have_the_rates_and_delays_that_the_file_gives() {
    let drawing = read(
        r#"<node id="a"/><node id="b"/><edge source="a" target="b"><data key="d0">40 Mbit/s</data><data key="d1">5 ms</data></edge>"#,
    )
    .unwrap();
    let edge = &drawing.edges[0];
    assert_eq!((edge.rate, edge.delay), (Some(Rate(40_000_000)), Some(Nanos::from_millis(5))));
    assert!(!edge.directed && edge.cost.is_none());
}

#[test]
fn an_edge_without_a_delay_has_that_of_light_in_fibre() {
    // London 51.5074 N 0.1278 W and New York 40.7128 N 74.0060 W are 5570 km apart on the great circle: 27.85 ms.
    let place = |id, lat, lon| {
        format!(r#"<node id="{id}"><data key="d2">{lat}</data><data key="d3">{lon}</data></node>"#)
    };
    let edge = r#"<edge source="ldn" target="nyc"><data key="d4">10000000000.0</data></edge>"#;
    let body = place("ldn", 51.5074, -0.1278) + &place("nyc", 40.7128, -74.006) + edge;
    let edge = &read(&body).unwrap().edges[0];
    let ms = edge.delay.unwrap().0 as f64 / 1e6;
    assert!((ms / 27.85 - 1.0).abs() < 0.002, "{ms}");
    assert_eq!(edge.rate, Some(Rate(10_000_000_000)));
}

#[test]
fn an_error_has_its_line() {
    for (body, message) in [
        (
            "<node id=\"a\"/><node id=\"bb\"/>\n<edge source=\"a\" target=\"bc\"/>",
            "net.graphml:11:1: target: there is no node \"bc\"; did you mean \"bb\"?",
        ),
        (
            "<node id=\"a\"/><node id=\"b\"/>\n<edge source=\"a\" target=\"b\"><data key=\"d0\">40</data></edge>",
            "net.graphml:11:1: edge a-b, rate = \"40\": the unit is missing; expected a rate above zero",
        ),
        ("<node id=\"New York\"/>", "net.graphml:10:1: \"New York\" is not a name"),
        ("<node id=\"a\"/>", "net.graphml:9:1: this graph has no edges between two nodes"),
        ("<node", "net.graphml:"),
    ] {
        let error = read(body).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
    let other = parse("<html/>", "page.html").unwrap_err().to_string();
    assert!(other.starts_with("page.html:1:1: this is not GraphML"), "{other}");
}

#[test]
fn a_number_is_in_range_or_named() {
    let node = |key, value| format!("<node id=\"a\"><data key=\"{key}\">{value}</data></node>");
    let edge = |key, value| {
        format!(
            "<node id=\"a\"/><node id=\"b\"/>\n<edge source=\"a\" target=\"b\"><data key=\"{key}\">{value}</data></edge>"
        )
    };
    for (body, message) in [
        (
            edge("d0", "0 bit/s"),
            "net.graphml:11:1: edge a-b, rate = \"0 bit/s\": out of range; expected a rate above zero such as \"40 Mbit/s\"",
        ),
        (
            edge("d0", "101 Tbit/s"),
            "net.graphml:11:1: edge a-b, rate = \"101 Tbit/s\": above the limit of 100 Tbit/s",
        ),
        (
            edge("d1", "3601 s"),
            "net.graphml:11:1: edge a-b, delay = \"3601 s\": out of range; expected a delay of at most 3600 s",
        ),
        (
            edge("d4", "NaN"),
            "net.graphml:11:1: edge a-b, LinkSpeedRaw = \"NaN\": out of range; expected a number from 1 to 100000000000000",
        ),
        (edge("d4", "0.5"), "net.graphml:11:1: edge a-b, LinkSpeedRaw = \"0.5\": out of range"),
        (edge("d4", "1.5"), "net.graphml:11:1: edge a-b, LinkSpeedRaw = \"1.5\": not a whole number"),
        (
            edge("d5", "0"),
            "net.graphml:11:1: edge a-b, cost = \"0\": out of range; expected a number from 1 to 1000000000000000",
        ),
        (edge("d5", "x"), "net.graphml:11:1: edge a-b, cost = \"x\": not a number"),
        (
            node("d2", "91"),
            "net.graphml:10:1: node a, Latitude = \"91\": out of range; expected a number from -90 to 90",
        ),
        (node("d2", "1e308"), "net.graphml:10:1: node a, Latitude = \"1e308\": out of range"),
        (node("d2", "NaN"), "net.graphml:10:1: node a, Latitude = \"NaN\": out of range"),
        (
            node("d3", "-180.1"),
            "net.graphml:10:1: node a, Longitude = \"-180.1\": out of range; expected a number from -180 to 180",
        ),
        (node("d3", ""), "net.graphml:10:1: node a, Longitude = \"\": not a number"),
    ] {
        let error = read(&body).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
    let edge = read(&edge("d5", "1000000000000000")).unwrap().edges.remove(0);
    assert_eq!(edge.cost, Some(limits::COST));
}

#[test]
fn words_other_than_those_of_graphml_are_refused() {
    let nodes = "<node id=\"a\"/><node id=\"b\"/>";
    let error = read(&format!("{nodes}<edge source=\"a\" target=\"b\" directed=\"yes\"/>")).unwrap_err();
    assert!(error.contains("directed: there is no \"yes\"; expected one of: true, 1, false, 0"), "{error}");
}

#[test]
fn nested_elements_are_counted_before_they_are_parsed() {
    let nested = |levels: usize| {
        let inside =
            "<x a='>'><!--></x>--><![CDATA[</x>]]><?p </x>?><y/>".repeat(levels) + &"</x>".repeat(levels);
        format!(
            "<graphml><graph>{inside}<node id=\"a\"/><node id=\"b\"/><edge source=\"a\" target=\"b\"/></graph></graphml>"
        )
    };
    // `graphml` and `graph` are two of the levels.
    assert_eq!(parse(&nested(DEEPEST - 2), "deep").unwrap().edges.len(), 1);
    for levels in [DEEPEST - 1, 16_000, 100_000] {
        let error = parse(&nested(levels), "deep").unwrap_err().to_string();
        assert!(error.starts_with("deep:1:"), "{error}");
        assert!(error.ends_with("elements are nested more than 256 deep"), "{error}");
    }
}

/// The head of the files of GraphML 1.0.
fn whole(keys: &str, body: &str) -> Result<Drawing, String> {
    let text = format!(
        "<?xml version=\"1.0\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n{keys}{body}\n</graphml>"
    );
    parse(&text, "net.graphml").map_err(|error| error.to_string())
}

const MBIT: u64 = 1_000_000;

#[test]
fn an_element_without_data_has_the_default_of_its_key() {
    // As networkx 3.6.1 writes it: nx.Graph() with graph["edge_default"], an edge with a rate, one with a delay.
    let keys = r#"
  <key id="d1" for="edge" attr.name="delay" attr.type="string">
    <default>20 ms</default>
  </key>
  <key id="d0" for="edge" attr.name="rate" attr.type="string">
    <default>1 Mbit/s</default>
  </key>"#;
    let body = r#"
  <graph edgedefault="undirected">
    <node id="a" /><node id="b" /><node id="c" />
    <edge source="a" target="b">
      <data key="d0">10 Mbit/s</data>
    </edge>
    <edge source="b" target="c">
      <data key="d1">5 ms</data>
    </edge>
  </graph>"#;
    let edges = whole(keys, body).unwrap().edges;
    let found: Vec<_> = edges.iter().map(|edge| (edge.rate, edge.delay)).collect();
    let ms = |ms| Some(Nanos::from_millis(ms));
    assert_eq!(found, [(Some(Rate(10 * MBIT)), ms(20)), (Some(Rate(MBIT)), ms(5))]);
}

#[test]
fn a_default_counts_for_the_elements_of_its_key_and_after_what_an_element_has() {
    let graph = |edge: &str, node: &str| {
        format!(
            "<graph edgedefault=\"undirected\"><node id=\"a\">{node}</node><node id=\"b\"/>\
             <edge source=\"a\" target=\"b\">{edge}</edge></graph>"
        )
    };
    let key = |id: &str, of: &str, name: &str, default: &str| {
        format!("<key id=\"{id}\" {of} attr.name=\"{name}\"><default>{default}</default></key>")
    };
    let edge = |keys: &str, edge: &str| whole(keys, &graph(edge, "")).unwrap().edges.remove(0);
    // The default of nodes is not one of edges; a key without `for` is for all elements.
    assert_eq!(edge(&key("r", "for=\"node\"", "rate", "1 Mbit/s"), "").rate, None);
    assert_eq!(edge(&key("r", "", "rate", "1 Mbit/s"), "").rate, Some(Rate(MBIT)));
    let both = key("r", "for=\"all\"", "rate", "1 Mbit/s") + &key("e", "for=\"edge\"", "rate", "2 Mbit/s");
    assert_eq!(edge(&both, "").rate, Some(Rate(2 * MBIT)));
    // The Zoo's speed of an edge comes before the default of the rate, and is a default itself.
    let speed = "<key id=\"s\" for=\"edge\" attr.name=\"LinkSpeedRaw\"><default>3000000</default></key>";
    let rate = key("r", "for=\"edge\"", "rate", "1 Mbit/s");
    assert_eq!(edge(&format!("{rate}{speed}"), "<data key=\"s\">4e6</data>").rate, Some(Rate(4 * MBIT)));
    assert_eq!(edge(&format!("{rate}{speed}"), "").rate, Some(Rate(MBIT)));
    assert_eq!(edge(speed, "").rate, Some(Rate(3 * MBIT)));
    // GraphML's core has no attr.name: the key is named by its id. An empty default is none.
    assert_eq!(
        edge("<key id=\"rate\" for=\"edge\"><default>1 Mbit/s</default></key>", "").rate,
        Some(Rate(MBIT))
    );
    assert_eq!(
        edge("<key id=\"r\" attr.name=\"rate\"><default xml:space=\"preserve\"/></key>", "").rate,
        None
    );
    let subnet = key("n", "for=\"node\"", "subnet", "east");
    let places = whole(&subnet, &graph("", "<data key=\"n\">west</data>")).unwrap().places;
    let subnets: Vec<_> = places.iter().map(|place| place.subnet.as_deref()).collect();
    assert_eq!(subnets, [Some("west"), Some("east")]);
}

#[test]
fn comments_and_cdata_are_part_of_no_value() {
    for (data, rate) in [
        ("<![CDATA[10 Mbit/s]]>", 10),
        ("<!-- one way -->10 Mbit/s", 10),
        ("1<!-- x -->0 <![CDATA[Mbit/s]]><?p?>", 10),
        ("&#49;0 Mbit/s", 10),
        ("\n  10\u{20}Mbit/s\n", 10),
    ] {
        let body = format!(
            "<node id=\"a\"/><node id=\"b\"/><edge source=\"a\" target=\"b\"><data key=\"d0\">{data}</data></edge>"
        );
        assert_eq!(read(&body).unwrap().edges[0].rate, Some(Rate(rate * MBIT)), "{data}");
    }
    let inner = "<node id=\"a\"/><node id=\"b\"/>\n<edge source=\"a\" target=\"b\"><data key=\"d0\"><b>1</b> Mbit/s</data></edge>";
    assert_eq!(read(inner).unwrap_err(), "net.graphml:11:44: rate: expected text, not an element");
}

#[test]
fn directions_are_booleans_of_xml_schema() {
    for (word, directed) in
        [("true", true), ("1", true), (" true ", true), ("false", false), ("0", false), ("\n0", false)]
    {
        for (usual, other) in [("directed", true), ("undirected", false)] {
            let body = |attribute: &str| {
                let edge = format!("<edge source=\"a\" target=\"b\" {attribute}/>");
                format!("<graph edgedefault=\" {usual} \"><node id=\"a\"/><node id=\"b\"/>{edge}</graph>")
            };
            let edge = |attribute: &str| whole("", &body(attribute)).unwrap().edges.remove(0).directed;
            assert_eq!(edge(&format!("directed=\"{word}\"")), directed, "{word:?}");
            assert_eq!(edge(""), other);
        }
    }
}

#[test]
fn nodes_of_nested_graphs_are_nodes_and_their_groups_too() {
    // As yEd writes groups: ids with the group before `::`; each graph has directions of its own.
    let body = r#"<graph edgedefault="undirected" id="G"><node id="n0"/>
<node id="n1" yfiles.foldertype="group"><graph edgedefault="directed" id="n1:"><node id="n1::n0"/><node id="n1::n1"/>
<edge id="n1::e0" source="n1::n0" target="n1::n1"/></graph></node>
<node id="n2"><graph id="n2:" edgedefault="undirected"><node id="n2::h"/></graph></node>
<edge source="n0" target="n1::n1"/><edge source="n2::h" target="n1"/></graph>"#;
    let drawing = whole("", body).unwrap();
    let names: Vec<_> = drawing.places.iter().map(|place| &*place.name).collect();
    // A name that two groups have gets its group; `n1::n1` is the last part of the group's id `n1`, too.
    assert_eq!(names, ["n0", "n1", "n1-n0", "n1-n1", "n2", "h"]);
    let edges: Vec<_> = drawing.edges.iter().map(|edge| (edge.ends, edge.directed)).collect();
    assert_eq!(edges, [((2, 3), true), ((0, 3), false), ((5, 1), false)]);
}

#[test]
fn an_edge_from_a_node_to_itself_is_checked_and_carries_nothing() {
    let nodes = "<node id=\"a\"/><node id=\"b\"/>";
    let drawing = read(&format!(
        "{nodes}<edge source=\"b\" target=\"b\"/><edge source=\"a\" target=\"b\"/><edge source=\"a\" target=\"a\"/>"
    ));
    assert_eq!(drawing.unwrap().edges.iter().map(|edge| edge.ends).collect::<Vec<_>>(), [(0, 1)]);
    let error = read(&format!("{nodes}<edge source=\"b\" target=\"b\"><data key=\"d0\">x</data></edge>"));
    assert!(error.unwrap_err().contains("edge b-b, rate = \"x\""));
    let error = read("<node id=\"a\"/><edge source=\"a\" target=\"a\"/>").unwrap_err();
    assert!(error.ends_with("this graph has no edges between two nodes"), "{error}");
}

#[test]
fn a_dtd_by_name_is_not_fetched_and_one_in_the_file_is_refused() {
    let graph = "<graphml><graph edgedefault=\"undirected\"><node id=\"a\"/><node id=\"b\"/>\
                 <edge source=\"a\" target=\"b\"/></graph></graphml>";
    let read = |dtd: &str| {
        parse(&format!("\u{feff}<?xml version=\"1.0\"?>\n{dtd}{graph}"), "net.graphml")
            .map_err(|e| e.to_string())
    };
    for dtd in [
        "<!DOCTYPE graphml SYSTEM \"http://graphml.graphdrawing.org/dtds/1.0rc/graphml.dtd\">",
        "<!DOCTYPE graphml PUBLIC \"-//x//[y]>//EN\" 'graphml.dtd' >",
        "<!-- <!DOCTYPE x [ --><!DOCTYPE graphml>",
    ] {
        assert_eq!(read(dtd).map(|drawing| drawing.edges.len()), Ok(1), "{dtd}");
    }
    let refused = "net.graphml:2:1: a DTD that is written in the file is not read";
    for dtd in [
        "<!DOCTYPE graphml [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]>",
        "<!DOCTYPE graphml SYSTEM \"<!--\" [<!ENTITY a \"-->\">]>",
        "<!DOCTYPE graphml [<!ATTLIST edge directed CDATA \"true\">]>",
    ] {
        let error = read(dtd).unwrap_err();
        assert!(error.starts_with(refused), "{error}");
    }
}

#[test]
fn elements_that_would_change_the_graph_are_refused_by_name() {
    let nodes =
        "<graph edgedefault=\"undirected\">\n<node id=\"a\"><port name=\"p\"/></node><node id=\"b\"/>";
    let edge = "<edge source=\"a\" target=\"b\" sourceport=\"p\"/>";
    // A port is a place on a node: the edge leads to the node.
    assert_eq!(whole("", &format!("{nodes}{edge}</graph>")).unwrap().edges.len(), 1);
    for (body, message) in [
        (
            format!("{nodes}\n<hyperedge><endpoint node=\"a\"/><endpoint node=\"b\"/></hyperedge></graph>"),
            "net.graphml:5:1: a hyperedge is not read",
        ),
        (format!("{nodes}{edge}</graph>\n<graph/>"), "net.graphml:5:1: this file has more than one graph"),
        (
            format!("{nodes}<edge source=\"a\" target=\"b\">\n<graph/></edge></graph>"),
            "net.graphml:5:1: a graph within an edge is not read",
        ),
        (
            format!("{nodes}{edge}\n<locator href=\"x\"/></graph>"),
            "net.graphml:5:1: a locator, which names another file, is not read",
        ),
        (
            format!("{nodes}\n<key id=\"r\" attr.name=\"rate\"/>{edge}</graph>"),
            "net.graphml:5:1: a key within a graph",
        ),
        (
            format!(
                "{nodes}<edge source=\"a\" target=\"b\">\n<data key=\"rate\">1 Mbit/s</data></edge></graph>"
            ),
            "net.graphml:5:1: data: there is no key \"rate\"",
        ),
    ] {
        let error = whole("", &body).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
    let twice = "<key id=\"r\" attr.name=\"rate\"/><key id=\"q\" attr.name=\"rate\"/>";
    let body = format!(
        "{nodes}<edge source=\"a\" target=\"b\"><data key=\"r\">1 Mbit/s</data>\n<data key=\"q\">2 Mbit/s</data></edge></graph>"
    );
    assert_eq!(whole(twice, &body).unwrap_err(), "net.graphml:5:1: rate is given twice");
}

#[test]
fn a_file_of_igraph_names_its_nodes_by_an_attribute() {
    // As igraph 1.0.0 writes it.
    let keys = r#"<!-- Created by igraph -->
  <key id="v_name" for="node" attr.name="name" attr.type="string"/>
  <key id="e_rate" for="edge" attr.name="rate" attr.type="string"/>
  <key id="e_cost" for="edge" attr.name="cost" attr.type="double"/>"#;
    let body = r#"
  <graph id="G" edgedefault="directed">
    <node id="n0">
      <data key="v_name">a</data>
    </node>
    <node id="n1">
      <data key="v_name">b</data>
    </node>
    <edge source="n0" target="n1">
      <data key="e_rate">10 Mbit/s</data>
      <data key="e_cost">2</data>
    </edge>
  </graph>"#;
    let drawing = whole(keys, body).unwrap();
    assert_eq!((&*drawing.places[0].name, &*drawing.places[1].name), ("a", "b"));
    let edge = &drawing.edges[0];
    assert_eq!((edge.rate, edge.cost, edge.directed), (Some(Rate(10 * MBIT)), Some(2), true));
}

#[test]
fn the_zoos_speed_is_read_with_its_units_where_there_is_no_raw_one() {
    let keys = ["LinkSpeed", "LinkSpeedUnits", "LinkSpeedRaw", "LinkLabel"]
        .map(|name| format!("<key id=\"{name}\" for=\"edge\" attr.name=\"{name}\" attr.type=\"string\"/>"))
        .concat();
    let read = |data: &[(&str, &str)]| {
        let data: String =
            data.iter().map(|(key, text)| format!("<data key=\"{key}\">{text}</data>")).collect();
        let body = format!(
            "<graph edgedefault=\"undirected\"><node id=\"a\"/><node id=\"b\"/>\n\
             <edge source=\"a\" target=\"b\">{data}</edge></graph>"
        );
        whole(&keys, &body).map(|drawing| drawing.edges[0].rate)
    };
    // Edges of the Zoo's Garr, which has both forms.
    for (data, rate) in [
        (&[("LinkSpeed", "155"), ("LinkSpeedUnits", "M"), ("LinkLabel", "155 Mbps")][..], 155 * MBIT),
        (&[("LinkLabel", "2.5 Gbps"), ("LinkSpeedUnits", "G"), ("LinkSpeed", "2.5")], 2500 * MBIT),
        (&[("LinkSpeed", "9.6"), ("LinkSpeedUnits", "K")], 9_600),
        (&[("LinkSpeed", "1"), ("LinkSpeedUnits", "G"), ("LinkSpeedRaw", "1000000000.0")], 1000 * MBIT),
        (&[("LinkSpeedRaw", "34000000.0"), ("LinkSpeedUnits", "M")], 34 * MBIT),
    ] {
        assert_eq!(read(data), Ok(Some(Rate(rate))), "{data:?}");
    }
    assert_eq!(read(&[("LinkLabel", "&lt; 10 Gbps")]), Ok(None));
    for (data, message) in [
        (
            &[("LinkSpeed", "155")][..],
            "net.graphml:4:1: edge a-b, LinkSpeedUnits = \"\": this is no unit of LinkSpeed; expected one of: K, M, G, T",
        ),
        (
            &[("LinkSpeed", "155"), ("LinkSpeedUnits", "Mbps")],
            "net.graphml:4:1: edge a-b, LinkSpeedUnits = \"Mbps\": this is no unit",
        ),
        (
            &[("LinkSpeed", "fast"), ("LinkSpeedUnits", "M")],
            "net.graphml:4:1: edge a-b, LinkSpeed = \"fast\": not a number",
        ),
        (
            &[("LinkSpeed", "1"), ("LinkSpeedUnits", "G"), ("LinkSpeedRaw", "1000000")],
            "net.graphml:4:1: edge a-b: LinkSpeedRaw is 1000000 bit/s, LinkSpeed is 1000000000 bit/s; expected the same",
        ),
    ] {
        let error = read(data).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn numbers_are_read_in_any_case_of_their_names() {
    let keys = ["latitude", "LONGITUDE", "Delay", "NAME"]
        .map(|name| format!("<key id=\"{name}\" attr.name=\"{name}\"/>"))
        .concat();
    let node = |id, place| {
        format!(
            "<node id=\"{id}\"><data key=\"latitude\">0</data><data key=\"LONGITUDE\">{place}</data>\
             <data key=\"NAME\">New York</data></node>"
        )
    };
    let edges = "<edge source=\"a\" target=\"b\"/><edge source=\"a\" target=\"b\"><data key=\"Delay\">3 ms</data></edge>";
    let body = format!("<graph edgedefault=\"undirected\">{}{}{edges}</graph>", node("a", 0), node("b", 1));
    let drawing = whole(&keys, &body).unwrap();
    // A degree of the equator is 6371 km x pi / 180 = 111.194927 km, 555.974633 us.
    let delays: Vec<_> = drawing.edges.iter().map(|edge| edge.delay).collect();
    assert_eq!(delays, [Some(Nanos(555_974)), Some(Nanos::from_millis(3))]);
    assert_eq!(drawing.places[0].name, "a");
}

#[test]
fn a_file_of_another_format_is_named() {
    for (text, message) in [
        ("graph [\n node [ id 0 ]\n]", "net.gml:1:1: this is GML; expected GraphML: nx.write_graphml("),
        (
            "Creator \"sndlib\"\nVersion \"1.0\"\n\ngraph\n[\n]",
            "net.gml:1:1: this is GML; expected GraphML: nx.write",
        ),
        ("{\"nodes\": []}", "net.gml:1:1: this is JSON; expected GraphML"),
        ("graph { a -- b }", "net.gml:1:1: this is not XML; expected GraphML"),
    ] {
        let error = parse(text, "net.gml").unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}
