//! A part of a network as a network of its own.

use crate::config::{FlowConfig, Network, UdpConfig};
use std::borrow::Cow;
use std::sync::Arc;

/// Flows, sources and links of one part, by their numbers in the whole network, ascending.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Part {
    pub(crate) flows: Vec<usize>,
    pub(crate) udp: Vec<usize>,
    pub(crate) links: Vec<usize>,
}

/// Numbers of flows and sources at queues. A queue may hash the numbers: a part keeps those of the whole network.
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
    /// The whole network.
    pub(crate) fn whole(network: &Network) -> Self {
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
