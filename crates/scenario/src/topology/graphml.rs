//! Graphs from GraphML files (graphml.graphdrawing.org), such as those of the Internet Topology Zoo (S. Knight and others,
//! "The Internet Topology Zoo", IEEE JSAC 29(9), 2011).
//!
//! These attributes of a file are read, by their `attr.name`: of an edge `rate`, `delay` and `cost`, or the Zoo's
//! `LinkSpeedRaw`; of a node `name` and `subnet`, and the Zoo's `Latitude` and `Longitude`, from which an edge without a delay
//! gets the delay of light in fibre over the great circle.

use std::collections::BTreeMap;

use firstflight_contract::{Nanos, Rate};
use roxmltree::{Document, Node};

use crate::error::{Error, Problem, clipped, nearest, token};
use crate::format::{Floor, Kind};
use crate::limits;
use crate::quantity::{parse_rate, parse_time};
use crate::read::is_name;
use crate::source::position;

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
    if let Some(at) = too_deep(text) {
        let why = format!("elements are nested more than {DEEPEST} deep");
        return Err(Error::invalid(why).in_file(file, Some(position(text, at))));
    }
    let document = Document::parse(text).map_err(|error| {
        let at = error.pos();
        let place = (at.row as usize, at.col as usize);
        Error::invalid(format!("not XML: {}", token(&error.to_string()))).in_file(file, Some(place))
    })?;
    let source = Source { document: &document, file };
    let root = document.root_element();
    let graph = root.children().find(|node| node.has_tag_name_of("graph"));
    let Some(graph) = graph.filter(|_| root.has_tag_name_of("graphml")) else {
        return source.refuse(root, "this is not GraphML: expected a graphml element with a graph in it");
    };
    let names = attribute_names(root);
    let (mut places, mut ids): (Vec<Place>, _) = (vec![], BTreeMap::new());
    for node in graph.children().filter(|node| node.has_tag_name_of("node")) {
        let Some(id) = node.attribute("id") else { return source.refuse(node, "this node has no id") };
        let place = source.place(node, id, &names)?;
        if places.iter().any(|other| other.name == place.name) || ids.contains_key(id) {
            return source.refuse(node, &format!("there is another node \"{}\"", place.name));
        }
        ids.insert(id, places.len());
        places.push(place);
        if places.len() > limits::NODES {
            return source.refuse(node, &format!("more than {} nodes", limits::NODES));
        }
    }
    let directed = match graph.attribute("edgedefault") {
        None => false,
        Some(word) => source.either(graph, "edgedefault", word, ["directed", "undirected"])?,
    };
    let mut edges = vec![];
    for node in graph.children().filter(|node| node.has_tag_name_of("edge")) {
        edges.push(source.edge(node, directed, &names, (&places, &ids))?);
        if edges.len() > limits::LINKS / 2 {
            return source.refuse(node, &format!("more than {} edges", limits::LINKS / 2));
        }
    }
    if edges.is_empty() {
        return source.refuse(graph, "this graph has no edges");
    }
    Ok(Drawing { places, edges })
}

/// Elements within elements that are read; the parser needs stack for each level.
const DEEPEST: usize = 256;

/// The byte of the element that lies too deep, if there is one. Elements are counted as a parser meets them; where the text
/// is not XML, the count does not matter, since the parser refuses the text there.
fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(begin) = text[at..].find('<').map(|offset| at + offset) {
        let rest = &text[begin..];
        let after = |open: &str, close: &str| match rest[open.len()..].find(close) {
            Some(offset) => begin + open.len() + offset + close.len(),
            None => text.len(),
        };
        at = match rest.as_bytes().get(1) {
            Some(b'!') if rest.starts_with("<!--") => after("<!--", "-->"),
            Some(b'!') if rest.starts_with("<![CDATA[") => after("<![CDATA[", "]]>"),
            Some(b'?') => after("<?", "?>"),
            Some(b'!') => begin + 2,
            Some(b'/') => {
                depth = depth.saturating_sub(1);
                begin + 2
            }
            _ => {
                let end = end_of_tag(rest);
                depth += usize::from(!rest[..end].ends_with('/'));
                begin + end
            }
        };
        if depth > DEEPEST {
            return Some(begin);
        }
    }
    None
}

/// Length of a tag, up to its `>`, of which a quoted value may have some.
fn end_of_tag(tag: &str) -> usize {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    tag.len()
}

/// A document, and its name in errors.
struct Source<'a> {
    document: &'a Document<'a>,
    file: &'a str,
}

/// A number or a quantity of a node or an edge, as the file has it.
struct Attribute<'a> {
    source: &'a Source<'a>,
    /// The node or the edge.
    of: Node<'a, 'a>,
    /// Its name in errors: `node a`.
    whose: &'a str,
    key: &'static str,
    text: &'a str,
}

impl Attribute<'_> {
    fn wrong(&self, problem: Problem, expected: String) -> Error {
        let place = self.source.position(self.of);
        Error::new(problem)
            .in_file(self.source.file, Some(place))
            .at_key(format!("{}, {}", self.whose, self.key))
            .with_value(format!("\"{}\"", clipped(self.text)))
            .expecting(expected)
    }

    fn out_of_range(&self, expected: String) -> Error {
        self.wrong(Problem::Invalid("out of range".into()), expected)
    }

    /// A number from `low` to `high`.
    fn number(&self, low: f64, high: f64) -> Result<f64, Error> {
        let expected = || format!("a number from {low} to {high}");
        match self.text.parse::<f64>() {
            Ok(number) if (low..=high).contains(&number) => Ok(number),
            Ok(_) => Err(self.out_of_range(expected())),
            Err(_) => Err(self.wrong(Problem::Invalid("not a number".into()), expected())),
        }
    }

    /// A whole number from 1 to `most`, which may be written with a decimal point or an exponent.
    fn whole(&self, most: u64) -> Result<u64, Error> {
        let number = self.number(1.0, most as f64)?;
        match libm::trunc(number) == number {
            true => Ok(number as u64),
            false => Err(self.wrong(
                Problem::Invalid("not a whole number".into()),
                format!("a whole number from 1 to {most}"),
            )),
        }
    }

    /// A quantity that the format reads, at most `most`.
    fn quantity<T: PartialOrd>(
        &self,
        read: impl Fn(&str) -> Result<T, Error>,
        valid: impl Fn(&T) -> bool,
        kind: &Kind,
    ) -> Result<T, Error> {
        match read(self.text) {
            Ok(value) if valid(&value) => Ok(value),
            Ok(_) => Err(self.out_of_range(kind.describe())),
            Err(error) => {
                Err(self.wrong(error.problem.clone(), kind.describe()).near(error.nearest.as_deref()))
            }
        }
    }
}

impl<'a> Source<'a> {
    /// Line and column of an element.
    fn position(&self, node: Node<'_, '_>) -> (usize, usize) {
        let at = self.document.text_pos_at(node.range().start);
        (at.row as usize, at.col as usize)
    }

    fn error(&self, node: Node<'_, '_>, why: &str) -> Error {
        Error::invalid(why).in_file(self.file, Some(self.position(node)))
    }

    fn refuse<T>(&self, node: Node<'_, '_>, why: &str) -> Result<T, Error> {
        Err(self.error(node, why))
    }

    /// Whether `word` is the first of `words`, and not the second.
    fn either(&self, node: Node<'_, '_>, key: &str, word: &str, words: [&str; 2]) -> Result<bool, Error> {
        match words.iter().position(|known| *known == word) {
            Some(index) => Ok(index == 0),
            None => {
                let why = format!("{key}: there is no \"{}\"", clipped(word));
                Err(self.error(node, &why).expecting(format!("one of: {}", words.join(", "))))
            }
        }
    }

    fn check_name(&self, node: Node<'_, '_>, name: &str) -> Result<(), Error> {
        if !is_name(name, limits::NAME) {
            let why = format!(
                "\"{}\" is not a name: letters, digits, - and _, up to {}",
                clipped(name),
                limits::NAME
            );
            return self.refuse(node, &why);
        }
        Ok(())
    }

    fn place(&self, node: Node<'_, '_>, id: &str, names: &Names<'_>) -> Result<Place, Error> {
        let data = data(node, names);
        let name = *data.get("name").unwrap_or(&id);
        self.check_name(node, name)?;
        let subnet = data.get("subnet").copied();
        subnet.map_or(Ok(()), |subnet| self.check_name(node, subnet))?;
        let whose = format!("node {name}");
        let degrees = |key, most: f64| {
            let text = data.get(key)?;
            Some(Attribute { source: self, of: node, whose: &whose, key, text }.number(-most, most))
        };
        let latitude = degrees("Latitude", 90.0).transpose()?;
        let longitude = degrees("Longitude", 180.0).transpose()?;
        Ok(Place { name: name.into(), subnet: subnet.map(String::from), position: latitude.zip(longitude) })
    }

    fn edge(
        &self,
        node: Node<'_, '_>,
        directed: bool,
        names: &Names<'_>,
        (places, ids): (&[Place], &BTreeMap<&str, usize>),
    ) -> Result<Edge, Error> {
        let end = |key| self.end(node, key, ids);
        let ends = (end("source")?, end("target")?);
        if ends.0 == ends.1 {
            return self.refuse(node, "this edge leads from a node to itself");
        }
        let data = data(node, names);
        let whose = format!("edge {}-{}", places[ends.0].name, places[ends.1].name);
        let given =
            |key| data.get(key).map(|text| Attribute { source: self, of: node, whose: &whose, key, text });
        let rate = match (given("rate"), given("LinkSpeedRaw")) {
            (Some(rate), _) => Some(rate.quantity(parse_rate, |rate| rate.0 > 0, &Kind::Rate)?),
            (None, Some(speed)) => Some(Rate(speed.whole(limits::RATE.0)?)),
            (None, None) => None,
        };
        let delay = match given("delay") {
            Some(delay) => {
                let valid = |delay: &Nanos| *delay <= limits::DELAY;
                Some(delay.quantity(parse_time, valid, &Kind::Delay(Floor::Zero))?)
            }
            None => places[ends.0].position.zip(places[ends.1].position).map(|(a, b)| light(a, b)),
        };
        let cost = given("cost").map(|cost| cost.whole(limits::COST)).transpose()?;
        let directed = match node.attribute("directed") {
            Some(word) => self.either(node, "directed", word, ["true", "false"])?,
            None => directed,
        };
        Ok(Edge { ends, directed, rate, delay, cost })
    }

    /// Index of the place at an end of an edge.
    fn end(&self, edge: Node<'_, '_>, key: &str, ids: &BTreeMap<&str, usize>) -> Result<usize, Error> {
        let Some(id) = edge.attribute(key) else {
            return self.refuse(edge, &format!("this edge has no {key}"));
        };
        ids.get(id).copied().ok_or_else(|| {
            let why = format!("{key}: there is no node \"{}\"", clipped(id));
            self.error(edge, &why).near(nearest(id, ids.keys().copied()))
        })
    }
}

/// Attribute name of each key of a file.
type Names<'a> = BTreeMap<&'a str, &'a str>;

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
fn attribute_names<'a>(root: Node<'a, '_>) -> Names<'a> {
    let keys = root.children().filter(|node| node.has_tag_name_of("key"));
    keys.filter_map(|key| key.attribute("id").zip(key.attribute("attr.name"))).collect()
}

/// The attributes of a node or an edge.
fn data<'a>(of: Node<'a, '_>, names: &Names<'a>) -> BTreeMap<&'a str, &'a str> {
    let data = of.children().filter(|node| node.has_tag_name_of("data"));
    data.filter_map(|data| {
        let name = names.get(data.attribute("key")?)?;
        Some((*name, data.text().unwrap_or_default().trim()))
    })
    .collect()
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
            (
                "<node id=\"a\"/>\n<edge source=\"a\" target=\"a\"/>",
                "net.graphml:11:1: this edge leads from a node to itself",
            ),
            ("<node id=\"New York\"/>", "net.graphml:10:1: \"New York\" is not a name"),
            ("<node id=\"a\"/>", "net.graphml:9:1: this graph has no edges"),
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
        assert!(error.contains("directed: there is no \"yes\"; expected one of: true, false"), "{error}");
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
}
