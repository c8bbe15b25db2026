//! State that connections of a run share: a memory of the path, or one window for all of them.

mod memory;
mod window;

use crate::config::{FlowConfig, Network};
use crate::flow::Flow;
use memory::Memory;
use window::SharedWindows;

/// State that connections share.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    windows: SharedWindows,
    memory: Memory,
}

impl Shared {
    /// Whether any connection of `network` uses state of another.
    pub(crate) fn is_needed(network: &Network) -> bool {
        network.flows.iter().any(Self::is_used_by)
    }

    /// Whether the connection uses state of others.
    pub(crate) fn is_used_by(flow: &FlowConfig) -> bool {
        window::shares(flow) || flow.sharing.policy.is_some()
    }

    /// The shared state of the connections of `network`, still empty.
    pub(crate) fn of(network: &Network) -> Self {
        Self { windows: SharedWindows::of(network), memory: Memory::of(network) }
    }

    /// A flow is about to act at `at`.
    pub(crate) fn before(&mut self, at: u64, flow: usize, flows: &mut [Flow]) {
        self.windows.lend(at, flow, flows);
        self.memory.advise(at, flow, &mut flows[flow].sender);
    }

    /// It has acted.
    pub(crate) fn after(&mut self, at: u64, flow: usize, flows: &mut [Flow]) {
        self.windows.take_back(at, flow, flows);
        self.memory.report(at, flow, &flows[flow].sender);
    }

    /// The flow that may send a segment now, of those that share a window with `of`.
    pub(crate) fn grant(&mut self, at: u64, of: usize, flows: &mut [Flow]) -> Option<usize> {
        self.windows.grant(at, of, flows)
    }

    /// A flow has sent because it was its turn.
    pub(crate) fn sent(&mut self, flow: usize, flows: &[Flow]) {
        self.windows.count(flow, flows);
    }
}
