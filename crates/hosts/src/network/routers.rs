//! Routers that take part in congestion control: their configuration, and the schemes that need them.

use firstflight_contract::Signals;
use firstflight_net::router::RouterConfig;
use firstflight_scenario::FlowGroup;
use firstflight_sim::config::{LinkConfig, QueueConfig};

use super::stack::chain;
use crate::host::Refusal;

/// Refuses routers on links whose rate changes.
pub(super) fn check_traces(links: &[LinkConfig]) -> Result<(), Refusal> {
    let varies = |link: &&LinkConfig| link.trace.is_some() && matches!(link.queue, QueueConfig::Router(..));
    match links.iter().find(varies) {
        Some(link) => Err(Refusal {
            key: "queue".into(),
            why: format!("a router must know the rate of its link, but the rate of {} changes", link.name),
        }),
        None => Ok(()),
    }
}

/// Refuses a scheme that needs a kind of router that its path lacks.
pub(super) fn check<'a>(
    group: &FlowGroup,
    place: &str,
    path: impl Iterator<Item = &'a LinkConfig>,
) -> Result<(), Refusal> {
    let needs = chain(group).needs();
    let routers: Vec<_> = path
        .map(|link| match link.queue {
            QueueConfig::Router(config, _) => Some(config),
            _ => None,
        })
        .collect();
    let refuse = |key: &str, why: &str| {
        Err(Refusal { key: format!("{place}.{key}"), why: format!("{} {why}", group.scheme.label()) })
    };
    // One router without Quick-Start makes a request fail, as on a real path; without any such router no
    // request can succeed.
    if needs.has(Signals::GRANT) && !routers.iter().any(|r| matches!(r, Some(RouterConfig::QuickStart(_)))) {
        return refuse(
            "startup",
            "needs a router that grants rates on its path; give a link queue = \"quick-start\"",
        );
    }
    // Between routers that give feedback, one without it would overflow.
    if needs.has(Signals::FEEDBACK) && !routers.iter().all(|r| matches!(r, Some(RouterConfig::Xcp(_)))) {
        return refuse(
            "avoidance",
            "needs XCP at every router on its path; give all its links queue = \"xcp\"",
        );
    }
    if needs.has(Signals::LOAD) && !routers.iter().all(|r| matches!(r, Some(RouterConfig::Vcp(_)))) {
        return refuse(
            "avoidance",
            "needs VCP at every router on its path; give all its links queue = \"vcp\"",
        );
    }
    Ok(())
}
