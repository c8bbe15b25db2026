//! Sharing between connections: clusters of a run and the policies that turn shared measurements into plans.

use std::collections::{BTreeMap, BTreeSet};

use firstflight_contract::Signals;
use firstflight_paths::Policy;
use firstflight_paths::policy::PolicyError;
use firstflight_scenario::{FlowGroup, SchemeSpec};
use firstflight_sim::config::Sharing;

use crate::host::Refusal;
use crate::network::{Built, Site};

/// Clusters of a run, numbered in the order in which flows name them.
#[derive(Default)]
pub(crate) struct Clusters {
    numbers: BTreeMap<String, u32>,
    /// Policies of each cluster, and the label of the scheme that added the last one.
    memories: BTreeMap<u32, (Vec<Policy>, String)>,
    /// Pairs of cluster and group whose policy has been added.
    known: BTreeSet<(u32, usize)>,
}

impl Clusters {
    /// Relations of a flow of `group` to others. The group has the number `index` and comes from the table
    /// `place`.
    ///
    /// # Errors
    /// If the policy is invalid, or conflicts with that of another flow in the cluster.
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
                .map_err(|conflict| refuse(format!("{label} and {other} share a cluster: {conflict}")))?;
            *other = label;
        }
        Ok(Sharing { cluster, destination: site.destination as u32, policy })
    }
}

/// Policy of the scheme that follows plans, if there is one.
fn policy(scheme: &SchemeSpec) -> Result<Option<Policy>, PolicyError> {
    let follows = |phase: &&firstflight_scenario::PhaseSpec| phase.build().info().needs.has(Signals::PLAN);
    let phase = scheme.phases().iter().find(follows);
    phase.map(|phase| Policy::new(phase.label(), phase.params())).transpose()
}

/// Refuses a group whose scheme needs shared measurements or a shared window if none of its flows shares a
/// cluster with another flow: the scheme would run as slow start. If some of its flows do, the others are
/// accepted. A connection that continues after an idle time has measurements of its own.
pub(crate) fn check_company(built: &Built, place: impl Fn(usize) -> String) -> Result<(), Refusal> {
    let flows = &built.network.flows;
    let shares = |needs: Signals| needs.has(Signals::PLAN) || needs.has(Signals::SHARED_WINDOW);
    if flows.iter().any(|flow| shares(flow.chain.needs()))
        && let Some((_, &group)) = flows.iter().zip(&built.group).find(|(flow, _)| flow.stack.sack_walk > 0)
    {
        let why = "other connections of this run share state, in whose order no host delays ACKs".into();
        return Err(Refusal { key: format!("{}.sack_walk", place(group)), why });
    }
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
                format!("{} needs other connections in its cluster, but there are none", flow.chain.label());
            return Err(Refusal { key: format!("{}.startup", place(group)), why });
        }
    }
    Ok(())
}
