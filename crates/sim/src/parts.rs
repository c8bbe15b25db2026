//! Parts of a network that nothing couples: no link, no shared state, no condition for the end of the run. Each runs as an engine of
//! its own, and the outcomes together are those of one run of the whole.

use crate::config::{FlowConfig, Network};
use crate::part::Part;
use crate::schedule::WinnerTree;
use crate::shared::Shared;
use firstflight_schemes::registry::AnyPhase;
use std::collections::BTreeMap;

/// Expected link crossings from which on a run is worth threads: they take a hundred times as long as it takes to start one.
pub(crate) const WORTH_THREADS: f64 = 300_000.0;

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
