//! The networks of clients in a capture, each with the connections that show its path.

use firstflight_capture::{Capture, Connection, Group, Sizes, bottlenecks};

use firstflight_results::ConnectionResult;

use super::captured::{largest, name};
use super::{Input, Known, Request};

/// Networks that are answered: those with most data. Each takes seconds.
const MOST: usize = 12;

/// Connections of a network that show its path: those with most data.
const MOST_CONNECTIONS: usize = 16;

/// Connections of each network that are shown beside their re-runs: those with most data. A page with all of them would have
/// megabytes.
const SHOWN: usize = 3;

/// A network with less data than this share of that of the first is not answered: its weight could not be seen in the result.
const LEAST_SHARE: f64 = 1e-3;

/// Transfers count at a size if theirs is within this factor of it: half a decade to either side, so that sizes a decade apart
/// share no transfer.
fn near() -> f64 {
    10_f64.sqrt()
}

/// The networks of a capture.
pub(super) struct Networks<'a> {
    /// Those that are answered, by their data, the most first.
    pub(super) answered: Vec<Network<'a>>,
    /// Number of further networks, and their share of the captured data.
    pub(super) further: (usize, f64),
}

/// A network of clients whose connections crossed one bottleneck.
pub(super) struct Network<'a> {
    /// Its address and prefix, and the number of its bottleneck if there are several.
    pub(super) name: String,
    /// Its address and prefix, if it has a single bottleneck.
    pub(super) route: Option<String>,
    /// Its largest connections, by the time of their first packet.
    pub(super) connections: Vec<&'a Connection>,
    /// Connections that carried data.
    pub(super) count: u64,
    /// Data bytes of all of them, in both directions.
    pub(super) bytes: u64,
    /// Transfers of its client network.
    transfers: &'a Sizes,
    /// Share of them that crossed its bottleneck.
    share: f64,
    /// Name of the capture.
    pub(super) file: &'a str,
    /// Values of the path that the user knows.
    pub(super) known: &'a Known,
}

impl<'a> Networks<'a> {
    /// The networks of the request's capture; `None` unless there are several with enough data.
    pub(super) fn of(request: &'a Request) -> Option<Self> {
        let Input::Capture { file, capture, known } = &request.input else { return None };
        let all: u64 = capture.groups.iter().map(Group::bytes).sum();
        let shown = |group: &&Group| group.network.is_some() && !group.kept.is_empty();
        let most = capture.groups.iter().find(shown).map_or(0, Group::bytes);
        let enough = |group: &&Group| shown(group) && group.bytes() as f64 >= LEAST_SHARE * most as f64;
        let groups: Vec<&Group> = capture.groups.iter().filter(enough).collect();
        if groups.len() < 2 {
            return None;
        }
        let paths = groups.iter().take(MOST).flat_map(|group| paths(capture, group, &file.name, known));
        let mut answered: Vec<Network<'a>> = paths.collect();
        answered.sort_by_key(|network| std::cmp::Reverse(network.bytes));
        let covered = |answered: &[Network<'_>]| answered.iter().map(|one| one.bytes as f64).sum::<f64>();
        let paths = answered.len();
        answered.truncate(MOST);
        let beyond = capture.groups.len() - groups.len().min(MOST) + paths - answered.len();
        let share = (1.0 - covered(&answered) / all as f64).max(0.0);
        Some(Self { answered, further: (beyond, share) })
    }
}

/// The paths of a network, each with its share of the network's data. Data, connections and transfers of a network are known in
/// total, and divided as the data of the connections that show the paths.
fn paths<'a>(capture: &'a Capture, group: &'a Group, file: &'a str, known: &'a Known) -> Vec<Network<'a>> {
    let mut kept = group.kept.clone();
    kept.sort_by_key(|&index| std::cmp::Reverse(capture.connections[index].observed.bytes));
    kept.truncate(MOST_CONNECTIONS);
    kept.sort_unstable();
    let connections: Vec<&Connection> = kept.iter().map(|&index| &capture.connections[index]).collect();
    let data = |some: &[&Connection]| some.iter().map(|one| one.observed.bytes.max(1) as f64).sum::<f64>();
    let all = data(&connections);
    let bottlenecks = bottlenecks(&connections);
    let network = group.network.map_or_else(String::new, |network| network.to_string());
    let single = bottlenecks.len() == 1;
    let path = |(connections, number): (Vec<&'a Connection>, usize)| {
        let share = if single { 1.0 } else { data(&connections) / all };
        let of = |total: u64| (total as f64 * share).round() as u64;
        Network {
            name: if single { network.clone() } else { format!("{network} path {number}") },
            route: single.then(|| network.clone()),
            connections,
            count: if single { group.connections } else { of(group.connections).max(1) },
            bytes: if single { group.bytes() } else { of(group.bytes()) },
            transfers: group.transfers(),
            share,
            file,
            known,
        }
    };
    bottlenecks.into_iter().zip(1..).map(path).collect()
}

impl Network<'_> {
    /// Indices of the connections that a report of all networks shows, ascending.
    pub(super) fn shown(&self) -> Vec<usize> {
        let mut shown = largest(&self.connections, (0..self.connections.len()).collect());
        shown.truncate(SHOWN);
        shown.sort_unstable();
        shown
    }

    /// Whether these are the results of the connections shown.
    pub(super) fn shows(&self, results: &[ConnectionResult]) -> bool {
        let names = results.iter().map(|result| result.name.as_str());
        names.eq(self.shown().into_iter().map(|index| name(self.connections[index])))
    }

    /// Number of its transfers whose size is within a factor of the square root of ten of `size`.
    pub(super) fn transfers_near(&self, size: u64) -> f64 {
        count_near(self.transfers, size) as f64 * self.share
    }
}

/// Transfers whose size is within a factor of [`near`] of `size`. The mean of a class of sizes stands for all of its transfers.
fn count_near(sizes: &Sizes, size: u64) -> u64 {
    let within = |mean: f64| mean >= size as f64 / near() && mean <= size as f64 * near();
    let classes = sizes.classes().filter(|class| within(class.bytes as f64 / class.count as f64));
    classes.map(|class| class.count).sum()
}
