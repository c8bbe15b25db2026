//! Keys of a file: the names of attributes, their defaults, and the values of a node or an edge.

use std::collections::BTreeMap;

use roxmltree::Node;

use super::{LocalName, Source};
use firstflight_document::{Error, clipped, nearest};

/// Attributes that are read.
const READ: [&str; 10] = [
    "rate",
    "delay",
    "cost",
    "LinkSpeedRaw",
    "LinkSpeed",
    "LinkSpeedUnits",
    "Latitude",
    "Longitude",
    "name",
    "subnet",
];
/// The first attributes that are read: those that are numbers have their meaning in any case of letters.
const NUMBERS: usize = 8;

/// The attribute of this name that is read.
fn read(name: &str) -> Option<&'static str> {
    let own = READ.iter().find(|known| **known == name);
    own.or_else(|| READ[..NUMBERS].iter().find(|known| known.eq_ignore_ascii_case(name))).copied()
}

/// Elements that have attributes here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Domain {
    Node,
    Edge,
}

/// A default of a key.
struct Default<'a> {
    /// The value of `for`.
    of: &'a str,
    name: &'a str,
    value: String,
}

/// Keys of a file.
pub(super) struct Keys<'a> {
    /// Attribute name of each id.
    names: BTreeMap<&'a str, &'a str>,
    defaults: Vec<Default<'a>>,
}

/// Values by attribute name.
pub(super) struct Values<'a> {
    given: BTreeMap<&'a str, String>,
    defaults: BTreeMap<&'a str, &'a str>,
}

impl Values<'_> {
    /// The value that the element has.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(String::as_str)
    }

    /// The default of the key.
    pub(super) fn default(&self, name: &str) -> Option<&str> {
        self.defaults.get(name).copied()
    }

    /// The value, or the default.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.given(name).or_else(|| self.default(name))
    }
}

impl<'a> Keys<'a> {
    /// The keys of a file. A key without `attr.name`, which GraphML's core does not have, is named by its id.
    pub(super) fn read(source: &Source<'_>, root: Node<'a, '_>) -> Result<Self, Error> {
        let (mut names, mut defaults): (_, Vec<Default<'_>>) = (BTreeMap::new(), vec![]);
        for key in root.children().filter(|node| node.has_tag_name_of("key")) {
            let Some(id) = key.attribute("id") else { return source.refuse(key, "this key has no id") };
            let name = key.attribute("attr.name").unwrap_or(id);
            let name = read(name).unwrap_or(name);
            if names.insert(id, name).is_some() {
                return source.refuse(key, &format!("there is another key \"{}\"", clipped(id)));
            }
            let default = key.children().find(|node| node.has_tag_name_of("default"));
            let Some(default) = default.filter(|_| READ.contains(&name)) else { continue };
            let value = text(source, default, name)?;
            let of = key.attribute("for").unwrap_or("all");
            if value.is_empty() {
                continue;
            }
            if defaults.iter().any(|other| other.name == name && other.of == of) {
                return source.refuse(key, &format!("{name} has two defaults"));
            }
            defaults.push(Default { of, name, value });
        }
        Ok(Self { names, defaults })
    }

    /// The attributes of a node or an edge.
    pub(super) fn values(
        &self,
        source: &Source<'_>,
        of: Node<'a, '_>,
        domain: Domain,
    ) -> Result<Values<'_>, Error> {
        let mut given = BTreeMap::new();
        for data in of.children().filter(|node| node.has_tag_name_of("data")) {
            let Some(id) = data.attribute("key") else { return source.refuse(data, "this data has no key") };
            let Some(&name) = self.names.get(id) else {
                let why = format!("data: there is no key \"{}\"", clipped(id));
                return Err(source.error(data, &why).near(nearest(id, self.names.keys().copied())));
            };
            if READ.contains(&name) && given.insert(name, text(source, data, name)?).is_some() {
                return source.refuse(data, &format!("{name} is given twice"));
            }
        }
        let word = match domain {
            Domain::Node => "node",
            Domain::Edge => "edge",
        };
        // A default of this kind of elements comes after one of all elements, and replaces it.
        let mut own: Vec<_> = self.defaults.iter().filter(|one| one.of == word || one.of == "all").collect();
        own.sort_by_key(|one| one.of == word);
        let defaults = own.into_iter().map(|one| (one.name, &*one.value)).collect();
        Ok(Values { given, defaults })
    }
}

/// The text of an element, without comments.
fn text(source: &Source<'_>, of: Node<'_, '_>, name: &str) -> Result<String, Error> {
    if let Some(inner) = of.children().find(Node::is_element) {
        return source.refuse(inner, &format!("{name}: expected text, not an element"));
    }
    let parts = of.children().filter(Node::is_text).filter_map(|part| part.text());
    Ok(parts.collect::<String>().trim().to_owned())
}
