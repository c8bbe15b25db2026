//! Parts of a network that nothing couples: no link, no shared state, no condition for the end of the run. Each runs as an engine of
//! its own, and the outcomes together are those of one run of the whole.

use crate::config::{FlowConfig, Network, UdpConfig};
use crate::schedule::WinnerTree;
use crate::shared::Shared;
use firstflight_schemes::registry::AnyPhase;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Expected link crossings from which on a run is worth threads: they take a hundred times as long as it takes to start one.
pub(crate) const WORTH_THREADS: f64 = 300_000.0;

/// Flows, sources and links of one part, by their numbers in the whole network, ascending.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Part {
    pub(crate) flows: Vec<usize>,
    pub(crate) udp: Vec<usize>,
    pub(crate) links: Vec<usize>,
}

/// Numbers by which queues tell flows and sources apart: those of the whole network, since a queue may hash them.
#[derive(Clone, Debug)]
pub(crate) enum Numbers {
    /// The network is the whole, with so many flows; sources follow them.
    Whole(u32),
    /// The network is a part. The second number is that of the flows of the whole.
    Part(Arc<Part>, u32),
}

impl Numbers {
    /// Number of a flow in the whole network.
    pub(crate) fn of_flow(&self, flow: u32) -> u32 {
        match self {
            Self::Whole(_) => flow,
            Self::Part(part, _) => part.flows[flow as usize] as u32,
        }
    }

    /// Number of a source in the whole network, after those of the flows in pairs.
    pub(crate) fn of_udp(&self, source: u32) -> u32 {
        match self {
            Self::Whole(flows) => 2 * flows + source,
            Self::Part(part, flows) => 2 * flows + part.udp[source as usize] as u32,
        }
    }
}

impl Part {
    fn whole(network: &Network) -> Self {
        Self {
            flows: (0..network.flows.len()).collect(),
            udp: (0..network.udp.len()).collect(),
            links: (0..network.links.len()).collect(),
        }
    }

    /// The part as a network of its own. Relative orders are those of the whole, which settle equal times.
    pub(crate) fn network<'a>(&self, whole: &'a Network) -> Cow<'a, Network> {
        if self.flows.len() == whole.flows.len() && self.links.len() == whole.links.len() {
            return Cow::Borrowed(whole);
        }
        let place = |link: &usize| self.links.binary_search(link).expect("a part has the links of its paths");
        let path = |links: &[usize]| links.iter().map(place).collect::<Vec<_>>();
        let flow = |&flow: &usize| {
            let flow = &whole.flows[flow];
            FlowConfig { forward: path(&flow.forward), reverse: path(&flow.reverse), ..flow.clone() }
        };
        let udp =
            |&source: &usize| UdpConfig { path: path(&whole.udp[source].path), ..whole.udp[source].clone() };
        Cow::Owned(Network {
            links: self.links.iter().map(|&link| whole.links[link].clone()).collect(),
            flows: self.flows.iter().map(flow).collect(),
            udp: self.udp.iter().map(udp).collect(),
            stop: whole.stop.clone(),
            ..*whole
        })
    }

    /// Expected link crossings: each flow has an equal share of each of its links, and sends no more than it writes.
    pub(crate) fn expected_hops(&self, whole: &Network) -> f64 {
        let mut users = vec![0_u32; self.links.len()];
        let place = |link: usize| self.links.binary_search(&link).expect("a part has the links of its paths");
        let flows = || self.flows.iter().map(|&flow| &whole.flows[flow]);
        flows().flat_map(|flow| &flow.forward).for_each(|&link| users[place(link)] += 1);
        let of_flow = |flow: &FlowConfig| {
            let size = f64::from(flow.stack.mss + flow.header) * 8e9;
            let app = &flow.app;
            let lasts = whole.end.0.saturating_sub(app.start).min(app.lifetime.unwrap_or(u64::MAX)) as f64;
            let share = |&link: &usize| {
                whole.links[link].rate.0 as f64 * lasts / size / f64::from(users[place(link)])
            };
            let writes = app.bytes.map_or(f64::INFINITY, |bytes| {
                let further = app.pauses.len() as u64 * bytes;
                let all = if app.sizes.is_empty() { further } else { app.sizes.iter().sum() };
                (bytes + all) as f64 / f64::from(flow.stack.mss)
            });
            let packets = flow.forward.iter().map(share).fold(writes, f64::min);
            packets * (flow.forward.len() + flow.reverse.len()) as f64
        };
        let of_udp = |source: &UdpConfig| {
            let on: u64 =
                source.on.iter().map(|(from, until)| until.0.min(whole.end.0).saturating_sub(from.0)).sum();
            source.rate.0 as f64 * on as f64 / (f64::from(source.size) * 8e9) * source.path.len() as f64
        };
        let udp = self.udp.iter().map(|&source| of_udp(&whole.udp[source]));
        flows().map(of_flow).chain(udp).sum()
    }
}

/// The parts of `network`, in the order of their first links; one part if it is not divided.
pub(crate) fn of(network: &Network) -> Vec<Part> {
    let undivided = || vec![Part::whole(network)];
    if ends_beside_others(network) || clock_is_short(network) || has_own_schemes(network) {
        return undivided();
    }
    let shares = Shared::is_needed(network);
    let parts = connected(network, shares);
    // Connections that share state keep another order of the events of an instant, and so do those beside them.
    let is_alike = |part: &Part| part.flows.iter().any(|&flow| Shared::is_used_by(&network.flows[flow]));
    if shares && !parts.iter().all(is_alike) { undivided() } else { parts }
}

/// Puts the parts with most work first, so that no thread begins one when the others have ended. Returns the expected link crossings of
/// each.
pub(crate) fn sort(parts: &mut [Part], network: &Network) -> Vec<f64> {
    let mut hops: Vec<(f64, Part)> =
        parts.iter_mut().map(|part| (part.expected_hops(network), std::mem::take(part))).collect();
    hops.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let put = |(place, (hops, part)): (&mut Part, (f64, Part))| {
        *place = part;
        hops
    };
    parts.iter_mut().zip(hops).map(put).collect()
}

/// Whether the run ends with the last of some flows, while others go on: how far these have come by then is only known when all
/// have kept the same clock.
fn ends_beside_others(network: &Network) -> bool {
    let ends = |flow: &FlowConfig| flow.app.bytes.is_some() || flow.app.lifetime.is_some();
    let drains = |flow: &FlowConfig| flow.app.bytes.is_some() && flow.app.lifetime.is_none();
    network.until_finished
        && network.flows.iter().any(ends)
        && !(network.udp.is_empty() && network.flows.iter().all(drains))
}

/// Whether the clock of the whole may end before the run. That of a part ends later, since an event's time and the number of its
/// feed share 64 bits.
fn clock_is_short(network: &Network) -> bool {
    let of_flow = |flow: &FlowConfig| flow.forward.len() + flow.reverse.len() + 2;
    let flows: usize = network.flows.iter().map(of_flow).sum();
    let udp: usize = network.udp.iter().map(|source| source.path.len() + 1).sum();
    // A link has up to two feeds behind it, and one for the events of its queue.
    network.end.0 > WinnerTree::horizon_of(flows + udp + 3 * network.links.len())
}

/// Whether a scheme is from outside the registry. Its objects may share state that the engine does not know of.
pub(crate) fn has_own_schemes(network: &Network) -> bool {
    let is_own = |phase: &AnyPhase| matches!(phase, AnyPhase::Custom(_));
    network.flows.iter().any(|flow| flow.chain.phases().any(is_own))
}

/// Disjoint sets of numbers, each with its smallest as root.
pub(crate) struct Sets(Vec<usize>);

impl Sets {
    /// So many numbers, each in a set of its own.
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    pub(crate) fn root(&mut self, mut of: usize) -> usize {
        while self.0[of] != of {
            self.0[of] = self.0[self.0[of]];
            of = self.0[of];
        }
        of
    }

    pub(crate) fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}

/// Parts that share no link, and no cluster if connections share state. Links without traffic are with the first part.
fn connected(network: &Network, by_cluster: bool) -> Vec<Part> {
    let mut sets = Sets::new(network.links.len());
    let mut clusters = BTreeMap::new();
    for flow in &network.flows {
        let first = flow.forward[0];
        flow.forward.iter().chain(&flow.reverse).for_each(|&link| sets.join(first, link));
        if by_cluster {
            sets.join(first, *clusters.entry(flow.sharing.cluster).or_insert(first));
        }
    }
    for source in &network.udp {
        source.path.windows(2).for_each(|pair| sets.join(pair[0], pair[1]));
    }
    let mut numbers = BTreeMap::new();
    let firsts = network.flows.iter().map(|flow| flow.forward[0]);
    for first in firsts.chain(network.udp.iter().filter_map(|source| source.path.first().copied())) {
        numbers.insert(sets.root(first), 0);
    }
    (0..).zip(numbers.values_mut()).for_each(|(number, of)| *of = number);
    let mut parts = vec![Part::default(); numbers.len().max(1)];
    for (index, flow) in network.flows.iter().enumerate() {
        parts[numbers[&sets.root(flow.forward[0])]].flows.push(index);
    }
    for (index, source) in network.udp.iter().enumerate() {
        let part = source.path.first().map_or(0, |&first| numbers[&sets.root(first)]);
        parts[part].udp.push(index);
    }
    for link in 0..network.links.len() {
        parts[numbers.get(&sets.root(link)).copied().unwrap_or(0)].links.push(link);
    }
    parts
}
