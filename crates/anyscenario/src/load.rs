//! The work that a scenario makes.

use firstflight_scenario::{FlowGroup, Network, Scenario, Source, UdpSource, limits};

/// Most hops of packets, estimated, that a scenario for tests may have. An auditor's log of as many takes some 100 MB.
pub(crate) const MOST: f64 = 1e6;

/// Estimated hops of packets over links in a run of `scenario`: what its sources send, or its links carry and every connection
/// begins with if that is less. A run without a duration may last [`limits::RUN`]: datagrams can keep the connections from
/// finishing.
pub(crate) fn hops(scenario: &Scenario) -> f64 {
    let end = scenario.duration.unwrap_or(limits::RUN).0 as f64;
    let crossed = links_of_a_path(&scenario.network) as f64;
    let of_group = |group: &FlowGroup| {
        let lasts = group.lifetime.map_or(end, |lifetime| lifetime.mean().min(end));
        let carried = bit_s(&scenario.network) * lasts / 8e9 / f64::from(scenario.packet.size);
        let payload = f64::from(scenario.packet.payload(group.profile));
        let begun = connections(scenario, group) * (group.initial_window as f64 / payload).max(1.0);
        // Every packet may have an ACK.
        2.0 * (carried + begun).min(crossed * written(scenario, group))
    };
    let of_source = |source: &UdpSource| crossed * source.rate.0 as f64 * end / 8e9 / f64::from(source.size);
    scenario.flows.iter().map(of_group).sum::<f64>() + scenario.udp.iter().map(of_source).sum::<f64>()
}

/// Mean number of connections of a group.
fn connections(scenario: &Scenario, group: &FlowGroup) -> f64 {
    group.expected(Some(scenario.duration.unwrap_or(limits::RUN)))
}

/// Mean number of packets that the connections of a group write; infinite if they never end.
fn written(scenario: &Scenario, group: &FlowGroup) -> f64 {
    let (Some(size), Source::Flow | Source::Web(_)) = (group.size, group.source) else {
        return f64::INFINITY;
    };
    let packets = size.mean() / f64::from(scenario.packet.payload(group.profile)) + 1.0;
    let objects = match group.source {
        Source::Web(pages) if pages.persistent => f64::from(pages.pages) * (pages.objects.mean() + 0.5),
        _ => 1.0,
    };
    let rounds = group.rounds.map_or(1, |rounds| rounds.count);
    connections(scenario, group) * objects * f64::from(rounds) * packets
}

/// Most links that a packet crosses, access links included.
fn links_of_a_path(network: &Network) -> usize {
    match network {
        Network::Dumbbell(_) => 3,
        Network::Graph(graph) => graph.nodes.len() + 1,
    }
}

/// Rate of all links together, bit/s; of a path, of both directions.
fn bit_s(network: &Network) -> f64 {
    match network {
        Network::Dumbbell(path) => 2.0 * path.rate.0 as f64,
        Network::Graph(graph) => graph.links.iter().map(|link| link.fastest().0 as f64).sum(),
    }
}

#[cfg(test)]
mod tests {
    use firstflight_scenario::parse;

    use super::*;

    fn hops_of(head: &str) -> f64 {
        let text = format!(
            "{head}\n[path]\nrate = \"100 Mbit/s\"\nrtt = \"30 ms\"\nbuffer = \"100 packets\"\n\
             [packet]\nsize = \"1500 B\"\n\
             [[flow]]\nprofile = \"ns2\"\nsize = \"1 packets\"\n\
             [[udp]]\nrate = \"200 Mbit/s\"\nsize = \"1250 B\"\n"
        );
        hops(&parse(&text, "").expect("a valid scenario").scenario)
    }

    #[test]
    fn datagrams_last_for_the_duration_or_for_the_longest_run() {
        // 20,000 datagrams a second over three links. A packet, another because the means are rounded up, and their ACKs, over
        // the same links.
        let flow = 3.0 * 2.0 * 2.0;
        assert_eq!(hops_of("duration = \"2 s\""), 3.0 * 20_000.0 * 2.0 + flow);
        assert_eq!(hops_of(""), 3.0 * 20_000.0 * 14_400.0 + flow);
        assert!(hops_of("") > MOST);
    }

    #[test]
    fn connections_without_end_send_what_links_carry() {
        // 16,666.7 packets of 1500 bytes in two seconds in each of two directions, and an initial window of four; as many ACKs.
        let text = "duration = \"2 s\"\n[path]\nrate = \"100 Mbit/s\"\nrtt = \"30 ms\"\nbuffer = \"100 packets\"\n[[flow]]\nprofile = \"rfc\"\ninitial_window = \"4 packets\"\n";
        let found = hops(&parse(text, "").expect("a valid scenario").scenario);
        assert!((found - 200_000.0 / 3.0 - 8.0).abs() < 1e-6, "{found}");
    }
}
