//! Which connections know of each other, and how what they know becomes a plan.

use std::collections::{BTreeMap, BTreeSet};

use firstflight_contract::Signals;
use firstflight_paths::Policy;
use firstflight_paths::policy::PolicyError;
use firstflight_scenario::{FlowGroup, SchemeSpec};
use firstflight_sim::config::Sharing;

use crate::host::Refusal;
use crate::network::{Built, Site};

/// The clusters of a run, numbered in the order in which flows name them.
#[derive(Default)]
pub(crate) struct Clusters {
    numbers: BTreeMap<String, u32>,
    /// The policies of each cluster, and the label of the scheme that brought the last.
    memories: BTreeMap<u32, (Vec<Policy>, String)>,
    /// Clusters, and the groups whose policies they know.
    known: BTreeSet<(u32, usize)>,
}

impl Clusters {
    /// What ties a flow of `group`, the scenario's group number `index` from the table `place`, to others.
    ///
    /// # Errors
    /// If its policy cannot be, or wants what its cluster remembers kept in another way than the policy of another flow.
    pub(crate) fn join(
        &mut self,
        group: &FlowGroup,
        index: usize,
        place: &str,
        site: &Site,
    ) -> Result<Sharing, Refusal> {
        let next = self.numbers.len() as u32;
        let cluster = *self.numbers.entry(site.cluster.clone()).or_insert(next);
        let refuse = |why| Refusal { key: format!("{place}.startup"), why };
        let policy = policy(&group.scheme).map_err(|error| refuse(error.to_string()))?;
        if let Some(policy) = policy
            && self.known.insert((cluster, index))
        {
            let label = group.scheme.label();
            let (policies, other) = self.memories.entry(cluster).or_default();
            policies.push(policy);
            Policy::settings_for(policies.iter())
                .map_err(|conflict| refuse(format!("{label} and {other} are of one cluster: {conflict}")))?;
            *other = label;
        }
        Ok(Sharing { cluster, destination: site.destination as u32, policy })
    }
}

/// The policy of the scheme that follows plans, if one does.
fn policy(scheme: &SchemeSpec) -> Result<Option<Policy>, PolicyError> {
    let follows = |phase: &&firstflight_scenario::PhaseSpec| phase.build().info().needs.has(Signals::PLAN);
    let phase = scheme.phases().iter().find(follows);
    phase.map(|phase| Policy::new(phase.label(), phase.params())).transpose()
}

/// Refuses a group whose scheme lives on what other connections know, or on a window it shares with them, if none of its
/// flows has another in its cluster: it would run as slow start. Where some have, the scheme has to live with those that have
/// not. A connection that goes on after an idle time has its own past.
pub(crate) fn check_company(built: &Built, place: impl Fn(usize) -> String) -> Result<(), Refusal> {
    let flows = &built.network.flows;
    let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
    for flow in flows {
        *sizes.entry(flow.sharing.cluster).or_default() += 1;
    }
    let accompanied: BTreeSet<usize> = flows
        .iter()
        .zip(&built.group)
        .filter(|(flow, _)| sizes[&flow.sharing.cluster] > 1)
        .map(|(_, &group)| group)
        .collect();
    for (flow, &group) in flows.iter().zip(&built.group) {
        let needs = flow.chain.needs();
        let learns = needs.has(Signals::PLAN) && flow.app.pauses.is_empty();
        if (learns || needs.has(Signals::SHARED_WINDOW)) && !accompanied.contains(&group) {
            let why =
                format!("{} needs other connections in its cluster, and there are none", flow.chain.label());
            return Err(Refusal { key: format!("{}.startup", place(group)), why });
        }
    }
    Ok(())
}
