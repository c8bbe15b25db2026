//! Graphs from GraphML files (graphml.graphdrawing.org), such as those of the Internet Topology Zoo (S. Knight and others,
//! "The Internet Topology Zoo", IEEE JSAC 29(9), 2011).
//!
//! These attributes of a file are read, by their `attr.name`: of an edge `rate`, `delay` and `cost`, or the Zoo's
//! `LinkSpeedRaw`; of a node `name` and `subnet`, and the Zoo's `Latitude` and `Longitude`, from which an edge without a delay
//! gets the delay of light in fibre over the great circle.

use std::collections::BTreeMap;

use firstflight_contract::{Nanos, Rate};
use roxmltree::{Document, Node};

use crate::error::{Error, nearest};
use crate::limits;
use crate::quantity::{parse_rate, parse_time};

/// Network of a file.
#[derive(Debug)]
pub(crate) struct Drawing {
    pub(crate) places: Vec<Place>,
    pub(crate) edges: Vec<Edge>,
}

/// A node.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) subnet: Option<String>,
    /// Latitude and longitude, degrees.
    position: Option<(f64, f64)>,
}

/// An edge.
#[derive(Debug)]
pub(crate) struct Edge {
    /// Indices of places.
    pub(crate) ends: (usize, usize),
    /// Whether the edge has one direction only.
    pub(crate) directed: bool,
    pub(crate) rate: Option<Rate>,
    /// Delay of the file, or of the distance between the ends.
    pub(crate) delay: Option<Nanos>,
    pub(crate) cost: Option<u64>,
}

/// Light in fibre takes 5 us for a kilometre: two thirds of its speed in vacuum.
const NS_PER_KM: f64 = 5_000.0;
/// The mean radius of the earth, km.
const EARTH: f64 = 6_371.0;

/// Reads the text of a file; `file` is its name in errors.
pub(crate) fn parse(text: &str, file: &str) -> Result<Drawing, Error> {
    let document = Document::parse(text).map_err(|error| {
        let at = error.pos();
        let place = (at.row as usize, at.col as usize);
        Error::invalid(format!("not XML: {error}")).in_file(file, Some(place))
    })?;
    let source = Source { document: &document, file };
    let root = document.root_element();
    let graph = root.children().find(|node| node.has_tag_name_of("graph"));
    let Some(graph) = graph.filter(|_| root.has_tag_name_of("graphml")) else {
        return source.refuse(root, "this is not GraphML: expected a graphml element with a graph in it");
    };
    let names = attribute_names(root);
    let directed = graph.attribute("edgedefault") == Some("directed");
    let (mut places, mut ids) = (vec![], BTreeMap::new());
    for node in graph.children().filter(|node| node.has_tag_name_of("node")) {
        let Some(id) = node.attribute("id") else { return source.refuse(node, "this node has no id") };
        let data = data(node, &names);
        let name = *data.get("name").unwrap_or(&id);
        source.check_name(node, name)?;
        if places.iter().any(|other: &Place| other.name == name) || ids.contains_key(id) {
            return source.refuse(node, &format!("there is another node \"{name}\""));
        }
        let subnet = data.get("subnet").map(|subnet| (*subnet).to_owned());
        subnet.as_ref().map_or(Ok(()), |subnet| source.check_name(node, subnet))?;
        let degrees = |key| data.get(key).and_then(|text| text.parse::<f64>().ok()).filter(|x| x.is_finite());
        ids.insert(id, places.len());
        let position = degrees("Latitude").zip(degrees("Longitude"));
        places.push(Place { name: name.to_owned(), subnet, position });
        if places.len() > limits::NODES {
            return source.refuse(node, &format!("more than {} nodes", limits::NODES));
        }
    }
    let mut edges = vec![];
    for node in graph.children().filter(|node| node.has_tag_name_of("edge")) {
        let end = |key| source.end(node, key, &ids);
        let ends = (end("source")?, end("target")?);
        if ends.0 == ends.1 {
            return source.refuse(node, "this edge leads from a node to itself");
        }
        let data = data(node, &names);
        let quantity = |key: &str, why: String| source.error(node, &format!("{key}: {why}"));
        let rate = match (data.get("rate"), data.get("LinkSpeedRaw")) {
            (Some(text), _) => Some(parse_rate(text).map_err(|why| quantity("rate", why.to_string()))?),
            (None, Some(text)) => Some(raw_speed(text).ok_or_else(|| {
                quantity("LinkSpeedRaw", format!("\"{text}\" is not a number of bits a second"))
            })?),
            (None, None) => None,
        };
        let delay = match data.get("delay") {
            Some(text) => Some(parse_time(text).map_err(|why| quantity("delay", why.to_string()))?),
            None => places[ends.0].position.zip(places[ends.1].position).map(|(a, b)| light(a, b)),
        };
        if delay.is_some_and(|delay| delay > limits::DELAY) {
            return source.refuse(node, "delay: out of range");
        }
        let cost = data.get("cost").map(|text| {
            let cost = text.parse().ok().filter(|cost| (1..=limits::COST).contains(cost));
            cost.ok_or_else(|| quantity("cost", format!("\"{text}\" is not a whole number above zero")))
        });
        let directed = match node.attribute("directed") {
            Some(word) => word == "true",
            None => directed,
        };
        edges.push(Edge { ends, directed, rate, delay, cost: cost.transpose()? });
        if edges.len() > limits::LINKS / 2 {
            return source.refuse(node, &format!("more than {} edges", limits::LINKS / 2));
        }
    }
    if edges.is_empty() {
        return source.refuse(graph, "this graph has no edges");
    }
    Ok(Drawing { places, edges })
}

/// A document, and its name in errors.
struct Source<'a> {
    document: &'a Document<'a>,
    file: &'a str,
}

impl Source<'_> {
    fn error(&self, node: Node<'_, '_>, why: &str) -> Error {
        let at = self.document.text_pos_at(node.range().start);
        let place = (at.row as usize, at.col as usize);
        Error::invalid(why).in_file(self.file, Some(place))
    }

    fn refuse<T>(&self, node: Node<'_, '_>, why: &str) -> Result<T, Error> {
        Err(self.error(node, why))
    }

    fn check_name(&self, node: Node<'_, '_>, name: &str) -> Result<(), Error> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > limits::NAME || !name.chars().all(fits) {
            let why = format!("\"{name}\" is not a name: letters, digits, - and _, up to {}", limits::NAME);
            return self.refuse(node, &why);
        }
        Ok(())
    }

    /// Index of the place at an end of an edge.
    fn end(&self, edge: Node<'_, '_>, key: &str, ids: &BTreeMap<&str, usize>) -> Result<usize, Error> {
        let Some(id) = edge.attribute(key) else {
            return self.refuse(edge, &format!("this edge has no {key}"));
        };
        ids.get(id).copied().ok_or_else(|| {
            let near = nearest(id, ids.keys().copied());
            let near = near.map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
            self.error(edge, &format!("{key}: there is no node \"{id}\"{near}"))
        })
    }
}

trait LocalName {
    /// Whether the node is an element of this name in any namespace: files declare different namespaces.
    fn has_tag_name_of(&self, name: &str) -> bool;
}

impl LocalName for Node<'_, '_> {
    fn has_tag_name_of(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

/// Attribute name of each key of the file.
fn attribute_names<'a>(root: Node<'a, '_>) -> BTreeMap<&'a str, &'a str> {
    let keys = root.children().filter(|node| node.has_tag_name_of("key"));
    keys.filter_map(|key| key.attribute("id").zip(key.attribute("attr.name"))).collect()
}

/// The attributes of a node or an edge.
fn data<'a>(of: Node<'a, '_>, names: &BTreeMap<&'a str, &'a str>) -> BTreeMap<&'a str, &'a str> {
    let data = of.children().filter(|node| node.has_tag_name_of("data"));
    data.filter_map(|data| {
        let name = names.get(data.attribute("key")?)?;
        Some((*name, data.text().unwrap_or_default().trim()))
    })
    .collect()
}

fn raw_speed(text: &str) -> Option<Rate> {
    let speed = text.parse::<f64>().ok().filter(|speed| (1.0..=limits::RATE.0 as f64).contains(speed));
    speed.map(|speed| Rate(speed as u64))
}

/// Delay of light in fibre between two places on the globe: the haversine formula.
fn light(a: (f64, f64), b: (f64, f64)) -> Nanos {
    let ((lat_a, lon_a), (lat_b, lon_b)) =
        ((a.0.to_radians(), a.1.to_radians()), (b.0.to_radians(), b.1.to_radians()));
    let half = |x: f64| {
        let sine = libm::sin(x / 2.0);
        sine * sine
    };
    let h = half(lat_b - lat_a) + libm::cos(lat_a) * libm::cos(lat_b) * half(lon_b - lon_a);
    Nanos((2.0 * EARTH * libm::asin(libm::sqrt(h.min(1.0))) * NS_PER_KM) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#"<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="edge" attr.name="rate" attr.type="string"/>
<key id="d1" for="edge" attr.name="delay" attr.type="string"/>
<key id="d2" for="node" attr.name="Latitude" attr.type="double"/>
<key id="d3" for="node" attr.name="Longitude" attr.type="double"/>
<key id="d4" for="edge" attr.name="LinkSpeedRaw" attr.type="double"/>
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
                "net.graphml:10:1: target: there is no node \"bc\"; did you mean \"bb\"?",
            ),
            (
                "<node id=\"a\"/><node id=\"b\"/>\n<edge source=\"a\" target=\"b\"><data key=\"d0\">40</data></edge>",
                "net.graphml:10:1: rate: ",
            ),
            (
                "<node id=\"a\"/>\n<edge source=\"a\" target=\"a\"/>",
                "net.graphml:10:1: this edge leads from a node to itself",
            ),
            ("<node id=\"New York\"/>", "net.graphml:9:1: \"New York\" is not a name"),
            ("<node id=\"a\"/>", "net.graphml:8:1: this graph has no edges"),
            ("<node", "net.graphml:"),
        ] {
            let error = read(body).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
        let other = parse("<html/>", "page.html").unwrap_err().to_string();
        assert!(other.starts_with("page.html:1:1: this is not GraphML"), "{other}");
    }
}
