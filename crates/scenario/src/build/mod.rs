//! A scenario from Rust, with the checks and errors of a file.
//!
//! Every table of the format is a builder, and every key is a setter of the same name. Quantities are typed
//! ([`Rate`](firstflight_contract::Rate), [`Nanos`](firstflight_contract::Nanos), [`Duration`](core::time::Duration),
//! [`Amount`](firstflight_document::quantity::Amount)) or text with a unit. [`Builder::build`] checks the whole scenario as the reader
//! checks a file; the place of an error is the key.
//!
//! ```
//! use firstflight_scenario::Scenario;
//! use firstflight_scenario::build::{Flow, Path};
//!
//! let path = Path::new("40 Mbit/s", "100 ms", "1 BDP").queue("codel").loss(1e-4);
//! let flow = Flow::new().startup("hystart++").avoidance("cubic").size("300 KB");
//! let scenario = Scenario::builder().path(path).flow(flow).seed(1).build()?;
//! assert_eq!(scenario.flows[0].scheme.label(), "hystart+++cubic");
//!
//! let path = Path::new("40 mbps", "100 ms", "1 BDP");
//! let error = Scenario::builder().path(path).build().unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "path.rate = \"40 mbps\": \"mbps\" is refused because it counts bytes in tc and bits elsewhere: for bits, write \
//!      \"40 Mbit/s\"; expected a rate above zero such as \"40 Mbit/s\""
//! );
//! # Ok::<(), firstflight_scenario::Error>(())
//! ```

mod given;
mod tables;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use firstflight_schemes::catalogue::Schemes;

#[cfg(test)]
pub(crate) use given::Given;
pub use given::{Every, Law, ValueOf, every, kind};
pub(crate) use tables::setters;
pub use tables::*;

use crate::model::Scenario;
use crate::read::read;
use firstflight_document::{Error, Source, Tree, Value};

impl Scenario {
    /// A builder of a scenario.
    pub fn builder() -> Builder {
        Builder { root: Tree::default(), folder: None, schemes: Schemes::built_in() }
    }

    /// A builder that has all values of this scenario.
    ///
    /// ```
    /// # use firstflight_scenario::{Scenario, build::Flow, preset::preset};
    /// let cable = preset("cable")?.load().scenario;
    /// let with_transfer = cable.to_builder().flow(Flow::new().size("1 MB")).build()?;
    /// assert_eq!(with_transfer.network, cable.network);
    /// # Ok::<(), firstflight_scenario::Error>(())
    /// ```
    pub fn to_builder(&self) -> Builder {
        Builder { root: self.to_tree(), ..Self::builder() }
    }
}

/// A scenario under construction.
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    root: Tree,
    folder: Option<PathBuf>,
    schemes: Schemes,
}

impl Builder {
    fn set(mut self, key: &str, value: Value) -> Self {
        self.root.set(key, value);
        self
    }

    fn push(mut self, key: &str, table: Tree) -> Self {
        self.root.push(key, table);
        self
    }

    /// Title; default empty.
    pub fn title(self, title: impl Into<String>) -> Self {
        self.set("title", Value::Text(title.into()))
    }

    /// Time at which the run stops; default when every flow has finished.
    pub fn duration(self, duration: impl ValueOf<kind::Time>) -> Self {
        self.set("duration", duration.given().0)
    }

    /// Seed of every random stream of the run; default 1.
    pub fn seed(self, seed: u64) -> Self {
        self.set("seed", Value::Integer(seed.into()))
    }

    /// Packet sizes on the wire.
    pub fn packet(self, packet: Packet) -> Self {
        self.set("packet", Value::Table(packet.0))
    }

    /// The network: a dumbbell.
    pub fn path(self, path: Path) -> Self {
        self.set("path", Value::Table(path.0))
    }

    /// The network: a graph that is generated or imported.
    pub fn topology(self, topology: impl Into<Topology>) -> Self {
        self.set("topology", Value::Table(topology.into().0))
    }

    /// Adds a node of a graph.
    pub fn node(self, node: Node) -> Self {
        self.push("node", node.0)
    }

    /// Adds a link of a graph.
    pub fn link(self, link: Link) -> Self {
        self.push("link", link.0)
    }

    /// Adds a group of TCP flows.
    pub fn flow(self, flow: Flow) -> Self {
        self.push("flow", flow.0)
    }

    /// Adds TCP connections that send small messages.
    pub fn telnet(self, telnet: Telnet) -> Self {
        self.push("telnet", telnet.0)
    }

    /// Adds sessions of web pages.
    pub fn web(self, web: Web) -> Self {
        self.push("web", web.0)
    }

    /// Adds a source of UDP packets.
    pub fn udp(self, udp: Udp) -> Self {
        self.push("udp", udp.0)
    }

    /// Folder of the files that the scenario names.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Catalogue of the schemes whose labels are valid; default the registered schemes.
    pub fn schemes(mut self, schemes: Schemes) -> Self {
        self.schemes = schemes;
        self
    }

    /// The scenario.
    ///
    /// # Errors
    /// The first [`Error`] found, as in a file; its place is the key.
    pub fn build(&self) -> Result<Scenario, Error> {
        let folder = self.folder.as_deref();
        read(&Source { folder, known: Some(&self.schemes), ..Source::default() }, &self.root)
    }
}

/// A scheme with parameters: `startup` or `avoidance` as a table.
///
/// ```
/// # use firstflight_scenario::build::{Flow, Phase};
/// let limited = Phase::new("limited-slow-start").with("max_ssthresh", "50 packets");
/// let flow = Flow::new().startup(limited);
/// ```
#[derive(Clone, Debug)]
pub struct Phase(pub(crate) Tree);

impl Phase {
    /// The scheme of this label, with its defaults.
    pub fn new(label: &str) -> Self {
        let mut table = Tree::default();
        table.set("kind", Value::text(label));
        Self(table)
    }

    /// The same scheme with this value of a parameter.
    #[must_use]
    pub fn with(mut self, parameter: &str, value: impl ValueOf<kind::Parameter>) -> Self {
        self.0.set(parameter, value.given().0);
        self
    }
}
