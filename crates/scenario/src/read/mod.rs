//! Reading: from the text of a file, or from a builder, to a [`Scenario`].

mod ends;
pub(crate) mod flow;
mod graph;
mod hop;
mod network;
mod scheme;
mod topology;
mod traffic;
pub(crate) mod values;

use std::path::Path;

use firstflight_contract::Nanos;
use firstflight_schemes::catalogue::Schemes;

use crate::format;
use crate::limits;
use crate::model::{FlowGroup, Packet, Scenario};
use crate::profile::Profile;
use crate::scheme::BUILT_IN;
use firstflight_document::file::read_text;
use firstflight_document::{Error, Places, Problem, Source, Table, Tree};

/// A scenario and the places of its keys in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The experiment.
    pub scenario: Scenario,
    /// Places of the keys.
    pub places: Places,
}

/// A scenario that is not from a file: its keys have no places.
impl From<Scenario> for Loaded {
    fn from(scenario: Scenario) -> Self {
        Self { scenario, places: Places::default() }
    }
}

impl From<&Scenario> for Loaded {
    fn from(scenario: &Scenario) -> Self {
        scenario.clone().into()
    }
}

impl Scenario {
    /// Reads a scenario from the text of a scenario file. The scenario may not name other files.
    ///
    /// # Errors
    /// The first [`Error`] found, with its line.
    pub fn from_text(text: &str) -> Result<Self, Error> {
        Ok(parse(text, "scenario")?.scenario)
    }
}

/// Reads a scenario from `text`; `file` is its name in errors. The scenario may not name other files.
///
/// # Errors
/// The first [`Error`] found.
pub fn parse(text: &str, file: &str) -> Result<Loaded, Error> {
    parse_with(text, file, BUILT_IN)
}

/// As [`parse`], with the schemes of a catalogue.
///
/// # Errors
/// As [`parse`].
pub fn parse_with(text: &str, file: &str, schemes: &Schemes) -> Result<Loaded, Error> {
    parse_in(None, text, file, schemes)
}

/// As [`parse_with`]; the names of other files are relative to `folder`, if there is one.
///
/// # Errors
/// As [`parse`].
pub fn parse_in(folder: Option<&Path>, text: &str, file: &str, schemes: &Schemes) -> Result<Loaded, Error> {
    let source = Source { file, text: Some(text), folder, known: Some(schemes) };
    let tree = source.tree()?;
    Ok(Loaded { scenario: read(&source, &tree)?, places: Places::of(&source, &tree) })
}

/// Reads the scenario in the file at `path`; the names of other files in it are relative to its folder.
///
/// # Errors
/// The first [`Error`] found; [`Problem::Unreadable`] if the file does not exist, is not a regular file or is not UTF-8.
pub fn load(path: &Path) -> Result<Loaded, Error> {
    load_with(path, BUILT_IN)
}

/// As [`load`], with the schemes of a catalogue.
///
/// # Errors
/// As [`load`].
pub fn load_with(path: &Path, schemes: &Schemes) -> Result<Loaded, Error> {
    let file = path.display().to_string();
    let text = read_text(path, limits::FILE).map_err(|why| unreadable(&file, why))?;
    parse_in(Some(path.parent().unwrap_or(Path::new(""))), &text, &file, schemes)
}

fn unreadable(file: &str, why: String) -> Error {
    Error::new(Problem::Unreadable(why)).in_file(file, None)
}

/// Reads a scenario from a tree: the one way from input to [`Scenario`], with every check, for files and for builders.
pub(crate) fn read(source: &Source<'_>, tree: &Tree) -> Result<Scenario, Error> {
    let root = &Table::root(source, tree, &format::ROOT)?;
    let title = root.get("title").map_or(Ok(""), |item| item.text())?.into();
    let duration = root.get("duration").map(|item| item.time()).transpose()?;
    let seed = root.get("seed").map_or(Ok(1), |item| item.integer())?;
    let packet = match root.get("packet") {
        Some(item) => packet(&item.table(&format::PACKET)?)?,
        None => DEFAULT_PACKET,
    };
    let (network, topology) = network::read(root, packet)?;

    let mut names = Names::default();
    let mut flows = vec![];
    for (index, item) in root.tables("flow", limits::GROUPS)?.iter().enumerate() {
        let table = item.table(&format::FLOW)?;
        let name = names.of(&table, &format!("flow{index}"), "")?;
        let endpoints = ends::endpoints(&table, &network, &topology)?;
        let stack = flow::stack(&table, name, endpoints, packet)?;
        flows.push(traffic::transfers(&table, stack, packet, duration)?);
        enough(&table, &flows, duration)?;
    }
    if let Some((cross, groups)) = &topology.cross {
        let table = cross.table(&format::FLOW)?;
        if let Some(item) = ["from", "to", "direction"].iter().find_map(|key| table.get(key)) {
            return Err(item.invalid("the topology defines the endpoints of its cross traffic"));
        }
        if flows.len() + groups.len() > limits::GROUPS {
            let (own, more) = (flows.len(), groups.len());
            let why =
                format!("{own} groups of flows and {more} of cross traffic; the limit is {}", limits::GROUPS);
            return Err(cross.invalid(why));
        }
        for (suffix, endpoints) in groups {
            let name = names.of(&table, "cross", suffix)?;
            let stack = flow::stack(&table, name, endpoints.clone(), packet)?;
            flows.push(traffic::transfers(&table, stack, packet, duration)?);
            enough(&table, &flows, duration)?;
        }
    }
    for (index, item) in root.tables("telnet", limits::GROUPS)?.iter().enumerate() {
        let table = item.table(&format::TELNET)?;
        let name = names.of(&table, &format!("telnet{index}"), "")?;
        let endpoints = ends::endpoints(&table, &network, &topology)?;
        let stack = flow::stack(&table, name, endpoints, packet)?;
        flows.push(traffic::telnet(&table, stack, packet, duration)?);
        enough(&table, &flows, duration)?;
    }
    for (index, item) in root.tables("web", limits::GROUPS)?.iter().enumerate() {
        let table = item.table(&format::WEB)?;
        let name = names.of(&table, &format!("web{index}"), "")?;
        let endpoints = ends::endpoints(&table, &network, &topology)?;
        let stack = flow::stack(&table, name, endpoints, packet)?;
        flows.push(traffic::web(&table, stack, packet)?);
        enough(&table, &flows, duration)?;
    }
    let mut udp = vec![];
    for (index, item) in root.tables("udp", limits::GROUPS)?.iter().enumerate() {
        let table = item.table(&format::UDP)?;
        let name = names.of(&table, &format!("udp{index}"), "")?;
        let endpoints = ends::endpoints(&table, &network, &topology)?;
        udp.push(flow::udp(&table, name, endpoints, packet)?);
    }

    if duration.is_none() && flows.is_empty() && !udp.is_empty() {
        return Err(root.missing("duration"));
    }
    Ok(Scenario { title, duration, seed, network, packet, flows, udp })
}

/// Refuses the last of `flows`, which is from `table`, if the mean number of flows is above the limit.
fn enough(table: &Table<'_>, flows: &[FlowGroup], duration: Option<Nanos>) -> Result<(), Error> {
    match flows.iter().map(|flow| flow.expected(duration)).sum::<f64>() {
        total if total > limits::FLOWS as f64 => {
            let why = format!("these make {:.0} flows in all; the limit is {}", total.ceil(), limits::FLOWS);
            let cause = table.first_given(&["sessions", "count", "pages", "objects", "parallel", "start"]);
            Err(cause.map_or_else(|| table.invalid(&*why), |item| item.invalid(&*why)))
        }
        _ => Ok(()),
    }
}

const DEFAULT_PACKET: Packet = Packet { size: 1500, ack_size: None };

fn packet(table: &Table<'_>) -> Result<Packet, Error> {
    let bytes = |key| {
        let Some(item) = table.get(key) else { return Ok(None) };
        match item.bytes()? {
            n if n > limits::PACKET => {
                Err(item.invalid(format!("a packet has at most {} bytes, headers included", limits::PACKET)))
            }
            n => Ok(Some(n as u32)),
        }
    };
    let size = bytes("size")?.unwrap_or(DEFAULT_PACKET.size);
    // Datagrams of QUIC have a size of their own, which the flow checks.
    let tcp = Profile::ALL.iter().map(|profile| profile.stack()).filter(|stack| !stack.is_quic());
    let most = tcp.map(|stack| stack.header).max().unwrap_or(0);
    match table.get("size") {
        Some(item) if size <= most => {
            Err(item.invalid(format!("headers take up to {most} bytes, so nothing is left for data")))
        }
        _ => Ok(Packet { size, ack_size: bytes("ack_size")? }),
    }
}

/// Names in use.
#[derive(Default)]
struct Names(std::collections::BTreeSet<String>);

impl Names {
    /// The `name` of `table`, or `default`, with `suffix`; each name is unique.
    fn of(&mut self, table: &Table<'_>, default: &str, suffix: &str) -> Result<String, Error> {
        let given = table.get("name");
        let name = [given.as_ref().map_or(Ok(default), |item| item.name())?, suffix].concat();
        if name.len() > limits::NAME {
            let why =
                format!("with its number it has {} characters; the limit is {}", name.len(), limits::NAME);
            return Err(given.map_or_else(|| table.invalid(&*why), |item| item.invalid(&*why)));
        }
        if self.0.insert(name.clone()) {
            return Ok(name);
        }
        let why = format!("there is another \"{name}\"");
        Err(match given {
            Some(item) => item.invalid(why),
            None => table.invalid(why).expecting("a name of its own"),
        })
    }
}
