//! Bounds that make any scenario a run of milliseconds.

use firstflight_contract::Nanos;
use firstflight_scenario::{FlowGroup, Network, Scenario, Source};

/// Packets that a bounded run may have.
const PACKETS: f64 = 3_000.0;
/// Longest simulated time, seconds.
const LONGEST: f64 = 20.0;

/// Shortens a scenario to some thousand packets; `None` if it is too large for that in another way.
pub(crate) fn shortened(mut scenario: Scenario) -> Option<Scenario> {
    let payload = |flow: &FlowGroup| u64::from(scenario.packet.payload(flow.profile));
    let few = |flow: &FlowGroup| {
        flow.source == Source::Flow
            && flow.parallel <= 4
            && flow.count.is_some_and(|count| count <= 8)
            && flow.rounds.is_none_or(|rounds| rounds.count <= 100)
            && flow.initial_window / payload(flow) <= 2_000
    };
    let modest = scenario.flows.len() <= 6
        && scenario.udp.len() <= 6
        && scenario.flows.iter().all(few)
        && scenario.udp.iter().all(|udp| udp.on_off.is_none());
    let links = match &scenario.network {
        Network::Dumbbell(path) => path.rate.0 as f64,
        Network::Graph(graph) if graph.nodes.len() <= 24 => {
            graph.links.iter().map(|link| link.rate.0 as f64).fold(0.0, f64::max)
        }
        Network::Graph(_) => return None,
    };
    let sources: f64 = scenario.udp.iter().map(|udp| udp.rate.0 as f64 / f64::from(udp.size)).sum();
    let packets_s = 2.0 * links / f64::from(scenario.packet.size) / 8.0 + sources / 8.0;
    let seconds = (PACKETS / packets_s).clamp(1e-9, LONGEST);
    let most = Nanos((seconds * 1e9) as u64).max(Nanos(1));
    scenario.duration = Some(scenario.duration.map_or(most, |duration| duration.min(most)));
    modest.then_some(scenario)
}
