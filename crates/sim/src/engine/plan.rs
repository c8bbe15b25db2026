//! Preparation of a run.

use super::Mode;
use crate::config::{FlowConfig, Network};
use crate::groups::Groups;
use crate::part::Numbers;
use crate::route::{Routes, Waits};
use crate::shared::Shared;
use std::sync::Arc;

/// Preparation of a run: compiled routes and the end condition.
pub(crate) struct Plan {
    pub(super) routes: Routes,
    /// Number of finite flows, if the run ends with the last of them.
    pub(super) finite: Option<usize>,
    pub(super) after_last: AfterLast,
    /// The stages and endpoints that this run processes, if others process the rest.
    pub(super) share: Option<Share>,
}

/// The part of a run that one of several threads processes.
#[derive(Clone)]
pub(super) struct Share {
    pub(super) groups: Arc<Groups>,
    pub(super) group: u8,
}

impl Share {
    /// Whether this is all, or `of` says that number `index` belongs to it.
    pub(super) fn has(share: Option<&Self>, of: impl Fn(&Groups) -> &[u8], index: usize) -> bool {
        share.is_none_or(|share| of(&share.groups)[index] == share.group)
    }
}

/// The rest of a run that ends with its last finite flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterLast {
    /// It ends at that moment: no stage has run ahead.
    Ends,
    /// It goes on, for few events, if any, are left.
    Drains,
    /// It is left, wherever the stages are: only the times of the flows count.
    Leaves,
}

impl Plan {
    pub(crate) fn new(network: &Network, mode: Mode) -> Self {
        // A run that ends with its last finite flow must not run ahead of that moment, so every hop waits for
        // the clock. If no other traffic remains, the run simply drains; not so with a flow that a lifetime ends, whose
        // packets are on their way.
        let count = |is: fn(&FlowConfig) -> bool| network.flows.iter().filter(|&flow| is(flow)).count();
        let mortal = count(|flow| flow.app.lifetime.is_some());
        let finite = count(|flow| flow.app.bytes.is_some() || flow.app.lifetime.is_some());
        let waits = network.until_finished && finite > 0;
        let drains = waits && finite == network.flows.len() && mortal == 0 && network.udp.is_empty();
        let waits_everywhere = mode == Mode::PerHop || waits && !drains;
        Self {
            routes: Self::routes(network, waits_everywhere),
            finite: waits.then_some(finite),
            after_last: if drains { AfterLast::Drains } else { AfterLast::Ends },
            share: None,
        }
    }

    /// The plan of the group of this number. The run ends with the flows whose senders belong to the group.
    pub(crate) fn of_group(&self, network: &Network, groups: &Arc<Groups>, group: u8) -> Self {
        let is_own = |&(flow, config): &(usize, &FlowConfig)| {
            groups.senders[flow] == group && config.app.bytes.is_some()
        };
        let finite = network.flows.iter().enumerate().filter(is_own).count();
        Self {
            routes: self.routes.of_group(&groups.stages, group),
            finite: self.finite.map(|_| finite),
            after_last: self.after_last,
            share: Some(Share { groups: Arc::clone(groups), group }),
        }
    }

    pub(crate) fn compiled(&self) -> &Routes {
        &self.routes
    }

    /// The plan of a part of a network. Its queues number flows as the whole network does.
    pub(crate) fn of_part(network: &Network, numbers: Numbers) -> Self {
        let mut plan = Self::new(network, Mode::Fused);
        plan.routes.numbers = numbers;
        plan
    }

    /// The plan for the times of the flows that end: whatever else has run ahead when the last of them ends is of no use.
    pub(crate) fn for_times(network: &Network) -> Self {
        let after_last = AfterLast::Leaves;
        Self { routes: Self::routes(network, false), after_last, ..Self::new(network, Mode::Fused) }
    }

    fn routes(network: &Network, waits_everywhere: bool) -> Routes {
        let at = if waits_everywhere {
            Waits::Everywhere
        } else if Shared::is_needed(network) {
            Waits::AtMeetingsAndSenders
        } else {
            Waits::AtMeetings
        };
        Routes::compile(network, at)
    }
}
