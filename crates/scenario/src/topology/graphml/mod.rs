//! Graphs from GraphML files (graphml.graphdrawing.org), such as those of the Internet Topology Zoo (S. Knight and others,
//! "The Internet Topology Zoo", IEEE JSAC 29(9), 2011).
//!
//! These attributes of a file are read, by their `attr.name`: of an edge `rate`, `delay` and `cost`, or the Zoo's
//! `LinkSpeedRaw`, `LinkSpeed` and `LinkSpeedUnits`; of a node `name` and `subnet`, and the Zoo's `Latitude` and `Longitude`, from which an edge without a delay
//! gets the delay of light in fibre over the great circle.

mod keys;
mod scan;
mod speed;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use firstflight_contract::{Nanos, Rate};
use roxmltree::{Document, Node, ParsingOptions};

use crate::format::{Floor, Kind};
use crate::limits;
use firstflight_document::quantity::{parse_rate, parse_time};
use firstflight_document::{Error, Problem, clipped, is_name, nearest, token};
use keys::{Domain, Keys};

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
    foreign(text, file)?;
    scan::check(text, file)?;
    // The scan refused a DTD with entities; one that the file names is not fetched.
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let at = error.pos();
        let place = (at.row as usize, at.col as usize);
        Error::invalid(format!("not XML: {}", token(&error.to_string()))).in_file(file, Some(place))
    })?;
    let source = Source { document: &document, file };
    let root = document.root_element();
    let mut graphs = root.children().filter(|node| node.has_tag_name_of("graph"));
    let graph = graphs.next().filter(|_| root.has_tag_name_of("graphml"));
    let Some(graph) = graph else {
        return source.refuse(root, "this is not GraphML: expected a graphml element with a graph in it");
    };
    if let Some(second) = graphs.next() {
        return source.refuse(second, "this file has more than one graph; expected one");
    }
    let keys = Keys::read(&source, root)?;
    let mut found = Found::default();
    source.collect(graph, &mut found)?;
    let (places, ids) = source.places(&found.nodes, &keys)?;
    let mut edges = vec![];
    for &(node, directed) in &found.edges {
        let edge = source.edge(node, directed, &keys, (&places, &ids))?;
        // A path never takes an edge from a node to itself.
        if edge.ends.0 != edge.ends.1 {
            edges.push(edge);
        }
    }
    if edges.is_empty() {
        return source.refuse(graph, "this graph has no edges between two nodes");
    }
    Ok(Drawing { places, edges })
}

/// Names other formats of graphs, in which the same collections exist.
fn foreign(text: &str, file: &str) -> Result<(), Error> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let (found, expected) = match text.as_bytes().first() {
        None | Some(b'<') => return Ok(()),
        Some(b'{' | b'[') => ("JSON", "GraphML"),
        _ if is_gml(text) => {
            let by_networkx =
                "GraphML: nx.write_graphml(nx.read_gml(\"IN.gml\", label=\"id\"), \"OUT.graphml\")";
            ("GML", by_networkx)
        }
        _ => ("not XML", "GraphML"),
    };
    Err(Error::invalid(format!("this is {found}")).in_file(file, Some((1, 1))).expecting(expected))
}

/// Whether a text has the list `graph [` of GML.
fn is_gml(text: &str) -> bool {
    let mut words = text.split_whitespace().skip_while(|word| *word != "graph" && *word != "graph[");
    matches!((words.next(), words.next()), (Some("graph["), _) | (Some("graph"), Some("[")))
}

/// Elements of a graph and of the graphs within its nodes.
#[derive(Default)]
struct Found<'a> {
    nodes: Vec<Node<'a, 'a>>,
    /// Edges, each with whether edges of its graph are directed.
    edges: Vec<(Node<'a, 'a>, bool)>,
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

    /// Whether `word` is one of the first words, and not of the second. White space around it does not count (XML Schema,
    /// part 2, section 4.3.6).
    fn either(&self, node: Node<'_, '_>, key: &str, word: &str, words: [&[&str]; 2]) -> Result<bool, Error> {
        match words.iter().position(|known| known.contains(&word.trim())) {
            Some(index) => Ok(index == 0),
            None => {
                let why = format!("{key}: there is no \"{}\"", clipped(word));
                Err(self.error(node, &why).expecting(format!("one of: {}", words.concat().join(", "))))
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

    /// Adds the elements of a graph, and those of the graphs within its nodes. The scan bounds the depth.
    fn collect(&self, graph: Node<'a, 'a>, found: &mut Found<'a>) -> Result<(), Error> {
        let directed = match graph.attribute("edgedefault") {
            None => false,
            Some(word) => self.either(graph, "edgedefault", word, [&["directed"], &["undirected"]])?,
        };
        for element in graph.children().filter(Node::is_element) {
            match element.tag_name().name() {
                "node" => {
                    found.nodes.push(element);
                    self.bounded(element, found.nodes.len(), limits::NODES, "nodes")?;
                    self.is_here(element)?;
                    for inner in element.children().filter(|child| child.has_tag_name_of("graph")) {
                        self.collect(inner, found)?;
                    }
                }
                "edge" => {
                    if let Some(inner) = element.children().find(|child| child.has_tag_name_of("graph")) {
                        return self
                            .refuse(inner, "a graph within an edge is not read; expected it in a node");
                    }
                    found.edges.push((element, directed));
                    self.bounded(element, found.edges.len(), limits::LINKS / 2, "edges")?;
                }
                "hyperedge" => {
                    return self.refuse(element, "a hyperedge is not read; expected edges between two nodes");
                }
                "key" => return self.refuse(element, "a key within a graph; expected it before the graph"),
                _ => {}
            }
        }
        self.is_here(graph)
    }

    fn bounded(&self, at: Node<'_, '_>, count: usize, most: usize, what: &str) -> Result<(), Error> {
        if count > most { self.refuse(at, &format!("more than {most} {what}")) } else { Ok(()) }
    }

    /// Refuses an element whose content is in another file.
    fn is_here(&self, of: Node<'_, '_>) -> Result<(), Error> {
        match of.children().find(|child| child.has_tag_name_of("locator")) {
            Some(locator) => self.refuse(locator, "a locator, which names another file, is not read"),
            None => Ok(()),
        }
    }

    /// The nodes as places, and the index of each id.
    fn places(
        &self,
        nodes: &[Node<'a, 'a>],
        keys: &Keys<'a>,
    ) -> Result<(Vec<Place>, BTreeMap<&'a str, usize>), Error> {
        let (mut ids, mut last): (_, BTreeMap<&str, usize>) = (BTreeMap::new(), BTreeMap::new());
        for (index, &node) in nodes.iter().enumerate() {
            let Some(id) = node.attribute("id") else { return self.refuse(node, "this node has no id") };
            if ids.insert(id, index).is_some() {
                return self.refuse(node, &format!("there is another node \"{}\"", clipped(id)));
            }
            *last.entry(last_part(id)).or_default() += 1;
        }
        let (mut places, mut names) = (vec![], BTreeSet::new());
        for &node in nodes {
            let id = node.attribute("id").unwrap_or_default();
            // `group::node`, as yEd and igraph's readers have it.
            let name = if last[last_part(id)] == 1 { last_part(id).into() } else { id.replace("::", "-") };
            let place = self.place(node, &name, keys)?;
            if !names.insert(place.name.clone()) {
                return self.refuse(node, &format!("there is another node \"{}\"", place.name));
            }
            places.push(place);
        }
        Ok((places, ids))
    }

    fn place(&self, node: Node<'a, '_>, usual: &str, keys: &Keys<'a>) -> Result<Place, Error> {
        let values = keys.values(self, node, Domain::Node)?;
        let name = values.get("name").unwrap_or(usual);
        self.check_name(node, name)?;
        let subnet = values.get("subnet");
        subnet.map_or(Ok(()), |subnet| self.check_name(node, subnet))?;
        let whose = format!("node {name}");
        let degrees = |key, most: f64| {
            let text = values.get(key)?;
            Some(Attribute { source: self, of: node, whose: &whose, key, text }.number(-most, most))
        };
        let latitude = degrees("Latitude", 90.0).transpose()?;
        let longitude = degrees("Longitude", 180.0).transpose()?;
        Ok(Place { name: name.into(), subnet: subnet.map(String::from), position: latitude.zip(longitude) })
    }

    fn edge(
        &self,
        node: Node<'a, '_>,
        directed: bool,
        keys: &Keys<'a>,
        (places, ids): (&[Place], &BTreeMap<&str, usize>),
    ) -> Result<Edge, Error> {
        let end = |key| self.end(node, key, ids);
        let ends = (end("source")?, end("target")?);
        let values = keys.values(self, node, Domain::Edge)?;
        let whose = format!("edge {}-{}", places[ends.0].name, places[ends.1].name);
        let attribute = |key, text| Attribute { source: self, of: node, whose: &whose, key, text };
        let rate = speed::Speed { source: self, edge: node, whose: &whose, values: &values }.read()?;
        let delay = match values.get("delay") {
            Some(text) => {
                let valid = |delay: &Nanos| *delay <= limits::DELAY;
                Some(attribute("delay", text).quantity(parse_time, valid, &Kind::Delay(Floor::Zero))?)
            }
            None => places[ends.0].position.zip(places[ends.1].position).map(|(a, b)| light(a, b)),
        };
        let cost = values.get("cost").map(|text| attribute("cost", text).whole(limits::COST)).transpose()?;
        let directed = match node.attribute("directed") {
            Some(word) => self.either(node, "directed", word, [&["true", "1"], &["false", "0"]])?,
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

trait LocalName {
    /// Whether the node is an element of this name in any namespace: files declare different namespaces.
    fn has_tag_name_of(&self, name: &str) -> bool;
}

impl LocalName for Node<'_, '_> {
    fn has_tag_name_of(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

/// The part of an id behind its groups: `b` of `g::b`.
fn last_part(id: &str) -> &str {
    id.rsplit("::").next().unwrap_or(id)
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
