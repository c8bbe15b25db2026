//! Which connections know of each other, and how what they know becomes a plan.

use std::collections::BTreeMap;

use firstflight_control::contract::Signals;
use firstflight_paths::Policy;
use firstflight_paths::policy::PolicyError;
use firstflight_scenario::{FlowGroup, SchemeSpec};
use firstflight_sim::config::Sharing;

use crate::network::Refusal;

/// What ties the flows of `group`, one of `groups`, to others. Call [`check`] first.
pub(crate) fn sharing(groups: &[FlowGroup], group: &FlowGroup) -> Sharing {
    let cluster = cluster(groups, group);
    let policy = policy(&group.scheme).expect("policies are checked before flows are built");
    Sharing { cluster, destination: cluster, policy }
}

/// Refuses a policy that cannot be, and two in one cluster that want what it remembers kept in two ways.
pub(crate) fn check(groups: &[FlowGroup]) -> Result<(), Refusal> {
    let mut memories: BTreeMap<u32, (Vec<Policy>, String)> = BTreeMap::new();
    for (index, group) in groups.iter().enumerate() {
        let refuse = |why| Refusal { key: format!("flow[{index}].startup"), why };
        let Some(policy) = policy(&group.scheme).map_err(|error| refuse(error.to_string()))? else {
            continue;
        };
        let label = group.scheme.label();
        let (policies, other) = memories.entry(cluster(groups, group)).or_default();
        policies.push(policy);
        Policy::settings_for(policies.iter())
            .map_err(|conflict| refuse(format!("{label} and {other} are of one cluster: {conflict}")))?;
        *other = label;
    }
    Ok(())
}

/// The policy of the scheme that follows plans, if one does.
fn policy(scheme: &SchemeSpec) -> Result<Option<Policy>, PolicyError> {
    let follows = |phase: &&firstflight_scenario::PhaseSpec| phase.build().info().needs.has(Signals::PLAN);
    let phase = scheme.phases().iter().find(follows);
    phase.map(|phase| Policy::new(phase.label(), phase.params())).transpose()
}

/// The number of the cluster that a group's flows belong to: groups of one cluster name have one, and so have groups
/// without a name that run between the same ends.
fn cluster(groups: &[FlowGroup], group: &FlowGroup) -> u32 {
    let same = |other: &FlowGroup| match (&group.cluster, &other.cluster) {
        (Some(name), Some(other)) => name == other,
        (None, None) => group.endpoints == other.endpoints,
        _ => false,
    };
    groups.iter().position(same).map_or(0, |index| index as u32)
}
